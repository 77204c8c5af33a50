//! The nodes whose work a tenant may be charged for, wherever its label stands.
//!
//! The nearest label counts: a node's own, then those of the groups and steps around it, its workflow's, and those of everything
//! that the step stands in that calls the workflow. A workflow that is called from two places may have a tenant for each.
//! While a run goes on, `schedule` says the same of its tasks.

use super::below::below;
use crate::plan::{Kind, Node, NodeIx, Plan, Workflow, WorkflowIx};
use std::collections::HashSet;

/// Every node that a tenant may be charged for, in the order of the plan.
pub(crate) fn nodes_of_tenant(plan: &Plan, tenant: &str) -> Vec<(WorkflowIx, NodeIx)> {
    let mut walk = Walk { plan, tenant, seen: HashSet::new() };
    walk.workflow(WorkflowIx(0), false);
    let mut nodes: Vec<_> = walk.seen.into_iter().filter(|seen| seen.2).map(|(ix, at, _)| (ix, at)).collect();
    nodes.sort_by_key(|(ix, at)| (ix.0, at.0));
    nodes
}

/// Goes down from the root; of each place it is known whether the tenant is charged for it.
struct Walk<'a> {
    plan: &'a Plan,
    tenant: &'a str,
    seen: HashSet<(WorkflowIx, NodeIx, bool)>,
}

impl Walk<'_> {
    fn workflow(&mut self, ix: WorkflowIx, around: bool) {
        let workflow = self.plan.workflow(ix);
        let charged = self.is_charged(workflow.labels.tenant.as_deref(), around);
        on_top(workflow).into_iter().for_each(|at| self.node(ix, at, charged));
    }

    fn node(&mut self, workflow: WorkflowIx, at: NodeIx, around: bool) {
        let node: &Node = self.plan.workflow(workflow).node(at);
        let charged = self.is_charged(node.labels.tenant.as_deref(), around);
        if !self.seen.insert((workflow, at, charged)) {
            return;
        }
        if let Kind::SubPlan(sub) = &node.kind {
            self.workflow(sub.workflow, charged);
        }
        below(node).into_iter().for_each(|at| self.node(workflow, at, charged));
    }

    fn is_charged(&self, written: Option<&str>, around: bool) -> bool {
        written.map_or(around, |tenant| tenant == self.tenant)
    }
}

/// The nodes of a workflow that stand in no group and are asked by no step, with those that a route leads to besides.
fn on_top(workflow: &Workflow) -> Vec<NodeIx> {
    let inside: HashSet<NodeIx> = workflow.nodes.iter().flat_map(below).collect();
    let routes = workflow.nodes.iter().flat_map(leads_to);
    let reached: HashSet<NodeIx> = workflow.entry.iter().copied().chain(routes).collect();
    let nodes = workflow.indexed().map(|(at, _)| at);
    nodes.filter(|at| !inside.contains(at) || reached.contains(at)).collect()
}

fn leads_to(node: &Node) -> impl Iterator<Item = NodeIx> {
    node.routes.iter().filter_map(|route| route.to).chain(node.on_error.iter().filter_map(|route| route.to))
}
