//! Named resources that steps need must have a limit before a run starts: without one, the steps would wait for ever.

use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_engine::{Limits, Stated};
use convoke_plan::{Node, Plan};

/// Refuses a plan whose steps need what is not there, or more than there will ever be.
pub fn require(plan: &Plan, limits: &Limits) -> Result<(), CommandFailure> {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    let needs = nodes.flat_map(|node| node.resources.iter().map(move |(name, amount)| (node, name, *amount)));
    for (node, name, amount) in needs {
        match limits.resources.iter().find(|(known, _)| known == &**name) {
            None => return Err(unknown(node, name, limits)),
            Some((_, stated)) if amount > stated.limit => return Err(too_much(node, name, amount, stated)),
            Some(_) => {}
        }
    }
    Ok(())
}

fn unknown(node: &Node, name: &str, limits: &Limits) -> CommandFailure {
    let known: Vec<_> = limits.resources.iter().map(|(known, _)| known.as_str()).collect();
    let words = format!("{} needs `{name}`, and no configuration says how much of it there is", at(node));
    let failure = CommandFailure::new(Exit::Refused, words);
    let failure = match convoke_model::nearest(name, known.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None if known.is_empty() => failure,
        None => failure.hint(format!("resources with a limit: {}", known.join(", "))),
    };
    failure.hint(format!("say it in convoke.toml: limits.resources.{name} = N"))
}

fn too_much(node: &Node, name: &str, amount: u64, stated: &Stated) -> CommandFailure {
    let Stated { limit, origin } = stated;
    let words = format!("{} needs {amount} of `{name}`, and there will never be more than {limit}", at(node));
    CommandFailure::new(Exit::Refused, words)
        .hint(format!("limits.resources.{name} = {limit} is said in {origin}"))
}

fn at(node: &Node) -> String {
    format!("{}:{}: step `{}`", node.place.file, node.place.line, node.name)
}
