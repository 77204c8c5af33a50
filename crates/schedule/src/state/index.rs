//! What the scheduler looks up in a plan again and again, computed once.

use crate::composite::{Composite, Composites};
use convoke_model::hash::HashMap;
use convoke_plan::{Kind, Need, NodeIx, Plan, Workflow};
use std::sync::Arc;

/// One workflow's look-up tables.
pub(crate) struct WorkflowIndex {
    pub by_name: HashMap<Arc<str>, NodeIx>,
    /// For each node, the nodes that need it, or an item of it.
    pub dependents: Vec<Vec<NodeIx>>,
    /// Whether a node only lives inside a group, a for_each or a hook.
    pub inner: Vec<bool>,
    /// For each node, the merges that take its output as it arrives.
    pub arrivals: Vec<Vec<NodeIx>>,
    /// For each node, what its tasks are as composites, if they are.
    pub composites: Vec<Option<Arc<dyn Composite>>>,
    /// Whether there is such a merge.
    pub collects: bool,
    /// What merges call the nodes that they merge, where they say so.
    pub titles: HashMap<NodeIx, Arc<str>>,
    /// Whether the workflow or a step of it has a budget.
    pub budgeted: bool,
    /// For each phase that edges lead back to, its further rounds, in order.
    pub rounds: HashMap<NodeIx, Vec<NodeIx>>,
    /// For each node, the nodes that it needs, sorted, each with its position in the node's list.
    needs: Vec<Vec<(NodeIx, u32)>>,
}

impl WorkflowIndex {
    /// The positions, among the needs of a node, of those for another one or for items of it.
    pub fn needs(&self, by: NodeIx, of: NodeIx) -> impl Iterator<Item = usize> {
        let needs = &self.needs[by.0 as usize];
        let begin = needs.partition_point(|(needed, _)| *needed < of);
        needs[begin..].iter().take_while(move |(needed, _)| *needed == of).map(|(_, at)| *at as usize)
    }
}

/// Look-up tables of all workflows of a plan.
pub(crate) fn index(plan: &Plan, composites: &Composites) -> Vec<WorkflowIndex> {
    plan.workflows.iter().map(|workflow| index_workflow(workflow, composites)).collect()
}

fn index_workflow(workflow: &Workflow, composites: &Composites) -> WorkflowIndex {
    let composites: Vec<Option<Arc<dyn Composite>>> =
        workflow.nodes.iter().map(|node| composites.of(node)).collect();
    let by_name = workflow.indexed().map(|(ix, node)| (node.name.clone(), ix)).collect();
    let mut dependents = vec![Vec::new(); workflow.nodes.len()];
    let mut needs = vec![Vec::new(); workflow.nodes.len()];
    let mut inner = vec![false; workflow.nodes.len()];
    let mut arrivals = vec![Vec::new(); workflow.nodes.len()];
    for (ix, node) in workflow.indexed() {
        let taken = composites[ix.0 as usize].as_ref().map(|composite| composite.streams_from(node));
        taken.into_iter().flatten().for_each(|of| arrivals[of.0 as usize].push(ix));
        for need in &node.needs {
            let known: &mut Vec<NodeIx> = &mut dependents[need.node.0 as usize];
            // Needs of one node come one after the other.
            if known.last() != Some(&ix) {
                known.push(ix);
            }
        }
        needs[ix.0 as usize] = needs_by_node(&node.needs);
        members(&node.kind).iter().for_each(|member| inner[member.0 as usize] = true);
    }
    let collects = arrivals.iter().any(|merges| !merges.is_empty());
    let all = workflow.nodes.iter().zip(&composites);
    let titles =
        all.flat_map(|(node, composite)| composite.iter().flat_map(|composite| composite.titles(node)));
    let titles = titles.collect();
    let budgeted =
        workflow.limits.budget.is_some() || workflow.nodes.iter().any(|node| node.budget.is_some());
    let rounds = further_rounds(workflow);
    WorkflowIndex {
        by_name,
        dependents,
        inner,
        arrivals,
        composites,
        collects,
        titles,
        budgeted,
        rounds,
        needs,
    }
}

fn further_rounds(workflow: &Workflow) -> HashMap<NodeIx, Vec<NodeIx>> {
    let mut rounds: HashMap<NodeIx, Vec<NodeIx>> = HashMap::default();
    for (ix, node) in workflow.indexed() {
        if let Some(round) = node.round() {
            rounds.entry(round.of).or_default().push(ix);
        }
    }
    rounds
}

fn needs_by_node(needs: &[Need]) -> Vec<(NodeIx, u32)> {
    let mut sorted: Vec<(NodeIx, u32)> =
        needs.iter().enumerate().map(|(position, need)| (need.node, position as u32)).collect();
    sorted.sort_unstable();
    sorted
}

fn members(kind: &Kind) -> &[NodeIx] {
    match kind {
        Kind::Parallel(group) => &group.members,
        Kind::ForEach(each) => std::slice::from_ref(&each.body),
        _ => &[],
    }
}
