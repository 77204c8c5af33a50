//! Bounds of pipelines that hold for a whole process, whatever a manifest says.

use crate::plan::{Kind, Phase, Plan};
use convoke_model::Violation;

/// The bounds; of these, a manifest's and a node's the least counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// How deep work may be handed down.
    pub recursive_depth: u32,
    /// How deep the topology of a phase may go.
    pub topology_depth: u32,
    /// Further tries after a failed validation.
    pub topology_retries: u32,
    /// How many children of one persona a parent may have at a time.
    pub relationship_children: u32,
    /// Attempts at one time; `None` means the run's own limit.
    pub concurrent: Option<u32>,
    /// What a violation of a contract comes to; `None` means what the manifest says.
    pub violation: Option<Violation>,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            recursive_depth: 3,
            topology_depth: 4,
            topology_retries: 2,
            relationship_children: 4,
            concurrent: None,
            violation: None,
        }
    }
}

impl Caps {
    /// How deep work may be handed down, under a manifest's bound.
    pub(in crate::compile) fn depth(&self, stated: Option<u64>) -> u32 {
        least(stated, self.recursive_depth.min(self.topology_depth))
    }

    /// Tries in all, under a manifest's bound of further ones.
    pub(in crate::compile) fn tries(&self, stated: Option<u64>) -> u32 {
        least(stated, self.topology_retries).saturating_add(1)
    }

    /// Children of one kind, under a relationship's bound.
    pub(in crate::compile) fn children(&self, stated: Option<u64>) -> u32 {
        least(stated, self.relationship_children)
    }
}

impl Plan {
    /// Puts its pipelines under the bounds of another process than the one that it was compiled in: of both the tighter
    /// counts, so a run that is resumed elsewhere never does more than either allows.
    pub fn bound_by(&mut self, caps: &Caps) {
        for workflow in &mut self.workflows {
            let cut = super::super::cuts::of_plan(workflow, caps);
            let Some(pipeline) = &mut workflow.pipeline else { continue };
            pipeline.cut.extend(cut);
            if caps.violation == Some(Violation::HardAbort) {
                pipeline.violation = Violation::HardAbort;
            }
            let limit = workflow.limits.max_concurrency;
            workflow.limits.max_concurrency = limit.into_iter().chain(caps.concurrent).min();
            for node in &mut workflow.nodes {
                if let Kind::Phase(phase) = &mut node.kind {
                    phase.bound_by(caps);
                }
            }
        }
    }
}

impl Phase {
    fn bound_by(&mut self, caps: &Caps) {
        self.max_tries = caps.tries(Some(u64::from(self.max_tries.saturating_sub(1))));
        self.max_depth = caps.depth(Some(u64::from(self.max_depth)));
        for role in &mut self.children {
            role.max_depth = caps.depth(Some(u64::from(role.max_depth)));
            role.max_children = caps.children(Some(u64::from(role.max_children)));
        }
    }
}

fn least(stated: Option<u64>, cap: u32) -> u32 {
    stated.map_or(cap, |stated| stated.min(u64::from(cap)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_bound_wins() {
        let caps = Caps { recursive_depth: 3, topology_depth: 2, topology_retries: 2, ..Caps::default() };
        assert_eq!((caps.depth(None), caps.depth(Some(1)), caps.depth(Some(9))), (2, 1, 2));
        assert_eq!((caps.tries(None), caps.tries(Some(0)), caps.tries(Some(9))), (3, 1, 3));
        assert_eq!((caps.children(None), caps.children(Some(2)), caps.children(Some(9))), (4, 2, 4));
    }
}
