//! Steps that make one answer of many: what is found in them, and what they become.

mod findings;
mod identity;
mod nodes;
use crate::world;

use convoke_plan::plan::{Node, Plan, Workflow};
use world::{compiled, shown};

fn plan(text: &str) -> Plan {
    let result = compiled(text.trim_start_matches('\n'));
    assert!(result.diagnostics.is_empty(), "{}", shown(&result));
    result.plan.expect("a file without findings has a plan")
}

fn node<'a>(workflow: &'a Workflow, name: &str) -> &'a Node {
    let found = workflow.nodes.iter().find(|node| &*node.name == name);
    found.unwrap_or_else(|| panic!("no node `{name}`: {:?}", names(workflow)))
}

fn names(workflow: &Workflow) -> Vec<&str> {
    workflow.nodes.iter().map(|node| &*node.name).collect()
}
