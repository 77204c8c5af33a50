//! A plan for people: what runs when, what decides its length, what bounds it.

use crate::paint::Paint;
use crate::view::format;
use convoke_model::{Budget, WhenSpent};
use convoke_plan::view::{Levels, PlacedNode, levels};
use convoke_plan::{Kind, Limits, NodeIx, Plan, Workflow};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Every workflow of the plan, the root first. So many attempts at once hold for the run, whatever a file asks for.
pub fn text(plan: &Plan, at_once: u32, paint: Paint) -> String {
    let parts: Vec<_> = plan.workflows.iter().map(|workflow| one(plan, workflow, at_once, paint)).collect();
    parts.join("\n")
}

fn one(plan: &Plan, workflow: &Workflow, at_once: u32, paint: Paint) -> String {
    let levels = levels(plan, workflow, &BTreeMap::new());
    let mut text = format!("{} ({})\n", paint.strong(&workflow.name), workflow.file);
    for (number, names) in levels.levels.iter().enumerate() {
        writeln!(text, "  level {}", number + 1).expect("text takes text");
        for node in levels.nodes.iter().filter(|node| !is_group(node) && names.contains(&node.name)) {
            text.push_str(&row(node, &levels));
            text.push_str(&merged(workflow, &node.name));
        }
    }
    writeln!(text, "  critical path: {}", levels.critical_path.join(" -> ")).expect("text takes text");
    writeln!(text, "  parallelism: {}", parallelism(&levels)).expect("text takes text");
    text.push_str(&budgets_of_groups(&levels));
    writeln!(text, "  limits: {}", limits(&workflow.limits, at_once)).expect("text takes text");
    text
}

/// What a merge takes, where it takes the outputs of groups.
fn merged(workflow: &Workflow, name: &str) -> String {
    let merges = workflow.nodes.iter().filter(|node| *node.name == *name);
    let sources = merges.flat_map(|node| match &node.kind {
        Kind::Reduce(reduce) => reduce.of.as_slice(),
        _ => &[],
    });
    sources.filter_map(|of| entries(workflow, *of)).map(|line| format!("      merges {line}\n")).collect()
}

/// The entries that a group gives to a merge.
fn entries(workflow: &Workflow, of: NodeIx) -> Option<String> {
    let node = workflow.node(of);
    match &node.kind {
        Kind::Parallel(_) => Some(format!("{}: one entry per member", node.name)),
        Kind::ForEach(each) => Some(match &workflow.node(each.body).kind {
            Kind::Parallel(group) => {
                let last = group.members.last().map_or("", |last| &*workflow.node(*last).name);
                format!("{}: one entry per item, the output of {last}", node.name)
            }
            Kind::ForEach(_) => format!("{}: one entry per item, all outputs of its own items", node.name),
            _ => format!("{}: one entry per item", node.name),
        }),
        _ => None,
    }
}

/// Groups are on no level of their own, so what they may spend is said below.
fn budgets_of_groups(levels: &Levels) -> String {
    let groups = levels.nodes.iter().filter(|node| is_group(node));
    let line = |node: &PlacedNode| {
        node.budget.as_ref().map(|limit| format!("  budget of {}: {}\n", node.name, budget(limit)))
    };
    groups.filter_map(line).collect()
}

/// What a budget allows, and what follows when it is spent.
fn budget(budget: &Budget) -> String {
    let tokens = budget.tokens.map(|tokens| format!("{tokens} tokens"));
    let amounts: Vec<_> = budget.micros.map(format::money).into_iter().chain(tokens).collect();
    let then = match &budget.when_spent {
        _ if budget.audit => "audit".to_owned(),
        WhenSpent::Queue => "then queue".to_owned(),
        WhenSpent::Degrade(model) => format!("then {model}"),
        WhenSpent::Ask => "then ask".to_owned(),
        WhenSpent::Stop => "then stop".to_owned(),
    };
    format!("{} ({then})", amounts.join(" and "))
}

/// What a node may spend and needs, if it says so.
fn demands(node: &PlacedNode) -> String {
    let budget = node.budget.as_ref().map(|limit| format!("  budget {}", budget(limit)));
    let resources: Vec<_> = node.resources.iter().map(|(name, amount)| format!("{amount} {name}")).collect();
    let needs = (!resources.is_empty()).then(|| format!("  uses {}", resources.join(", ")));
    budget.into_iter().chain(needs).collect()
}

fn is_group(node: &PlacedNode) -> bool {
    matches!(node.kind, "parallel" | "for_each")
}

/// One step. What runs per item under the name of its fan-out stands for both.
fn row(node: &PlacedNode, levels: &Levels) -> String {
    let demands = demands(node);
    let fan_out = levels.nodes.iter().find(|group| is_group(group) && group.name == node.name);
    let within = match (&node.within, fan_out) {
        (Some(_), Some(_)) => "  per item".to_owned(),
        (Some(group), None) => format!("  in {group}"),
        (None, _) => String::new(),
    };
    let after = fan_out.map_or(&node.after, |group| &group.after);
    let after = if after.is_empty() { String::new() } else { format!("  after {}", after.join(", ")) };
    let persona = node.persona.as_ref().map(|persona| format!("  as {persona}")).unwrap_or_default();
    let line = format!("    {:<28} {:<10}{persona}{within}{after}{demands}", node.name, node.kind);
    let starts = node.starts.iter().map(|edge| format!("      from {}: {}\n", edge.from, edge.when));
    format!("{}\n{}", line.trim_end(), starts.collect::<String>())
}

fn parallelism(levels: &Levels) -> String {
    let steps = format::plural(levels.work as u64, "step");
    format!("{:.2} ({steps}, longest chain {})", levels.parallelism, levels.critical_length)
}

fn limits(limits: &Limits, at_once: u32) -> String {
    let iterations = match limits.iterations_stated {
        true => format!("{} iterations", limits.max_iterations),
        false => format!("{} visits of a step", limits.max_iterations),
    };
    let mut parts = vec![iterations, format!("{} tasks", limits.max_tasks)];
    parts.extend(limits.timeout_ms.map(|millis| format::duration(std::time::Duration::from_millis(millis))));
    parts.extend(limits.budget.as_ref().map(budget));
    parts.extend(limits.max_concurrency.map(|number| format!("{} at once", number.min(at_once))));
    parts.join(", ")
}
