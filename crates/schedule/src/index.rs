//! What the scheduler looks up in a plan again and again, computed once.

use convoke_plan::{Kind, NodeIx, Plan, Strategy, Workflow};
use std::collections::HashMap;
use std::sync::Arc;

/// One workflow's look-up tables.
#[derive(Debug)]
pub(crate) struct WorkflowIndex {
    pub by_name: HashMap<Arc<str>, NodeIx>,
    /// For each node, the nodes that need it, or an item of it.
    pub dependents: Vec<Vec<NodeIx>>,
    /// Whether a node only lives inside a group, a for_each or a hook.
    pub inner: Vec<bool>,
    /// For each node, the merges that take its output as it arrives.
    pub arrivals: Vec<Vec<NodeIx>>,
    /// Whether there is such a merge.
    pub collects: bool,
}

/// Look-up tables of all workflows of a plan.
pub(crate) fn index(plan: &Plan) -> Vec<WorkflowIndex> {
    plan.workflows.iter().map(index_workflow).collect()
}

fn index_workflow(workflow: &Workflow) -> WorkflowIndex {
    let by_name = workflow.indexed().map(|(ix, node)| (node.name.clone(), ix)).collect();
    let mut dependents = vec![Vec::new(); workflow.nodes.len()];
    let mut inner = vec![false; workflow.nodes.len()];
    let mut arrivals = vec![Vec::new(); workflow.nodes.len()];
    for (ix, node) in workflow.indexed() {
        if let Kind::Reduce(reduce) = &node.kind
            && reduce.strategy == Strategy::Progressive
        {
            let needed = node.needs.iter().map(|need| need.node).filter(|need| !reduce.of.contains(need));
            reduce.of.iter().copied().chain(needed).for_each(|of| arrivals[of.0 as usize].push(ix));
        }
        for need in &node.needs {
            let known: &mut Vec<NodeIx> = &mut dependents[need.node.0 as usize];
            // Needs of one node come one after the other.
            if known.last() != Some(&ix) {
                known.push(ix);
            }
        }
        members(&node.kind).iter().for_each(|member| inner[member.0 as usize] = true);
    }
    let collects = arrivals.iter().any(|merges| !merges.is_empty());
    WorkflowIndex { by_name, dependents, inner, arrivals, collects }
}

fn members(kind: &Kind) -> &[NodeIx] {
    match kind {
        Kind::Parallel(group) => &group.members,
        Kind::ForEach(each) => std::slice::from_ref(&each.body),
        _ => &[],
    }
}
