//! Cheaper models that the configuration's budgets go on with must have a price before a run starts: else what is asked of them
//! would be counted by nobody.

use crate::config::Config;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::{Budget, WhenSpent};
use convoke_plan::{Kind, Plan, Workflow};

/// Refuses a plan whose agents would be sent to a model without a price.
pub fn require(plan: &Plan, config: &Config) -> Result<(), CommandFailure> {
    let limits = &config.limits;
    let tenants = limits.tenants.iter().map(|tenant| (format!("tenants.{}", tenant.name), &tenant.budget));
    let budgets =
        [("day".to_owned(), &limits.day), ("run".to_owned(), &limits.run)].into_iter().chain(tenants);
    for (name, budget) in budgets {
        let unpriced = budget.as_ref().and_then(cheaper).filter(|model| !is_priced(plan, model));
        if let Some(model) = unpriced {
            return Err(refusal(&format!("budgets.{name}.degrade_to"), model, config));
        }
    }
    Ok(())
}

/// The model that a budget in money goes on with.
fn cheaper(budget: &Budget) -> Option<&str> {
    match &budget.when_spent {
        WhenSpent::Degrade(model) if budget.micros.is_some() => Some(model),
        _ => None,
    }
}

fn is_priced(plan: &Plan, model: &str) -> bool {
    let has_agents =
        |workflow: &&Workflow| workflow.nodes.iter().any(|node| matches!(node.kind, Kind::Agent(_)));
    plan.workflows.iter().filter(has_agents).all(|workflow| workflow.pricing.contains_key(model))
}

fn refusal(key: &str, model: &str, config: &Config) -> CommandFailure {
    let place =
        config.entries.iter().find(|entry| entry.key == key).map(|entry| format!("{}: ", entry.origin));
    let place = place.unwrap_or_default();
    let words = format!("{place}`{key}` names `{model}`, and no price of it is known");
    CommandFailure::new(Exit::Refused, words).hint(format!("say what it costs: [pricing.\"{model}\"]"))
}
