//! Keeping free what a large demand needs, once smaller ones have passed it often enough.
//!
//! A demand that is short of something does not stop others that fit. But each time that others are granted what a lane
//! is short of, the lane is passed; after `Rules::passes` times, all that one of its demands needs is kept free for it.
//! Those who run go on; nobody new takes what is kept. So it starts at the latest when those who hold its resources now
//! have ended. Lanes that hold back do so in order: an earlier one does not wait for a later one, so they cannot block
//! each other. Nothing is kept for what cannot come by waiting alone: a shut door, an open breaker, a spent budget, a
//! need above the limit of the moment.

use crate::governor::Governor;
use crate::spec::ResourceId;

impl Governor {
    /// Others were granted something: counts for those who are short of it.
    pub(crate) fn count_passes(&mut self, granted: u32, now: u64) {
        for at in 0..self.survey.blocked.len() {
            let (lane, on) = self.survey.blocked[at];
            if self.lanes[granted].needs(on) {
                self.lanes[lane].passes += 1;
                self.hold_back(lane, now);
            }
        }
    }

    fn hold_back(&mut self, lane: u32, now: u64) {
        let often = self.lanes[lane].passes >= self.rules.passes;
        if !often || self.holds.contains(&lane) || !self.will_fit(lane, now) {
            return;
        }
        self.holds.push(lane);
        for need in &self.lanes[lane].needs {
            self.resources[need.resource.index()].held_back += need.count;
        }
    }

    /// Nothing is kept for a lane any more.
    pub(crate) fn let_go(&mut self, lane: u32) {
        let Some(at) = self.holds.iter().position(|other| *other == lane) else { return };
        self.holds.remove(at);
        for need in &self.lanes[lane].needs {
            self.resources[need.resource.index()].held_back -= need.count;
        }
    }

    /// What is kept back would be kept for too long.
    pub(crate) fn drop_hopeless_holds(&mut self, now: u64) {
        let mut at = 0;
        while let Some(lane) = self.holds.get(at).copied() {
            if self.will_fit(lane, now) {
                at += 1;
            } else {
                self.let_go(lane);
            }
        }
    }

    fn will_fit(&mut self, lane: u32, now: u64) -> bool {
        let needs = &self.lanes[lane].needs;
        needs.iter().all(|need| self.resources[need.resource.index()].will_fit(need.count, now))
    }

    /// How much of a resource a lane may not take, because it is kept for others.
    #[inline]
    pub(crate) fn kept_from(&self, lane: u32, resource: ResourceId) -> u64 {
        if self.holds.is_empty() {
            return 0;
        }
        match self.holds.iter().position(|other| *other == lane) {
            None => self.resources[resource.index()].held_back,
            Some(at) => self.holds[..at].iter().map(|earlier| self.lanes[*earlier].need(resource)).sum(),
        }
    }
}
