//! Forgetting resources that are over: the budget of a run that has ended, the slots of a team that is gone.
//!
//! A process that serves runs for months must not keep what they used. An id is given out again only when nothing refers
//! to it any more.

use crate::governor::Governor;
use crate::spec::ResourceId;

impl Governor {
    /// Forgets a resource. False, and nothing happens, while a demand holds it or waits for it, or a budget draws from it.
    pub fn retire(&mut self, resource: ResourceId) -> bool {
        let gone = self.resources[resource.index()].retired;
        if gone || self.is_parent(resource) || self.lanes.in_use().any(|lane| lane.needs(resource)) {
            return false;
        }
        self.lanes.forget_idle();
        let known = &mut self.resources[resource.index()];
        known.retired = true;
        self.names.remove(&known.name);
        self.retired.push(resource);
        true
    }

    fn is_parent(&self, resource: ResourceId) -> bool {
        self.names.values().any(|child| self.parent(*child) == Some(resource))
    }
}
