//! Which nodes a node or a workflow may run: those that its budget pays for.
//!
//! Follows groups, sub-workflows and the helpers that a step asks. Each node is named once, in the order in which it is met.

use super::{Kind, Node, NodeIx, Plan, WorkflowIx};
use std::collections::HashSet;

/// Those of a whole workflow and of what it calls.
pub(crate) fn nodes_in(plan: &Plan, workflow: WorkflowIx) -> Vec<(WorkflowIx, NodeIx)> {
    let mut walk = Walk { plan, seen: HashSet::new(), met: Vec::new() };
    walk.workflow(workflow);
    walk.met
}

/// A node and everything below it.
pub(crate) fn nodes_below(plan: &Plan, workflow: WorkflowIx, node: NodeIx) -> Vec<(WorkflowIx, NodeIx)> {
    let mut walk = Walk { plan, seen: HashSet::new(), met: Vec::new() };
    walk.node(workflow, node);
    walk.met
}

struct Walk<'a> {
    plan: &'a Plan,
    seen: HashSet<(WorkflowIx, NodeIx)>,
    met: Vec<(WorkflowIx, NodeIx)>,
}

impl Walk<'_> {
    fn workflow(&mut self, ix: WorkflowIx) {
        let nodes = 0..self.plan.workflow(ix).nodes.len() as u32;
        nodes.for_each(|node| self.node(ix, NodeIx(node)));
    }

    fn node(&mut self, workflow: WorkflowIx, ix: NodeIx) {
        if !self.seen.insert((workflow, ix)) {
            return;
        }
        self.met.push((workflow, ix));
        let node = self.plan.workflow(workflow).node(ix);
        if let Kind::SubPlan(sub) = &node.kind {
            self.workflow(sub.workflow);
        }
        below(node).into_iter().for_each(|ix| self.node(workflow, ix));
    }
}

/// What a node runs or asks on its way.
pub(super) fn below(node: &Node) -> Vec<NodeIx> {
    let mut below: Vec<NodeIx> = node.repairer.into_iter().collect();
    match &node.kind {
        Kind::Parallel(group) => below.extend(&group.members),
        Kind::ForEach(each) => below.push(each.body),
        Kind::Reduce(reduce) => {
            below.extend(reduce.merger);
            below.extend(reduce.rlm.iter().flat_map(|rlm| [rlm.writer, rlm.reader]));
        }
        Kind::Verify(verify) => below.extend([verify.assessor, verify.repairer]),
        Kind::Goal(goal) => below.extend(goal.roles.values().copied().chain([goal.item])),
        Kind::Phase(phase) => {
            below.push(phase.worker);
            below.extend(phase.children.iter().map(|child| child.worker));
        }
        _ => {}
    }
    below
}
