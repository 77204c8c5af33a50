//! Keeping free what a large demand needs, once smaller ones have passed it often enough.
//!
//! A demand that is short of something does not stop others that fit. But each time that others are granted what a lane
//! is short of, the lane is passed; after `Rules::passes` times, all that one of its demands needs is kept free for it.
//! Those who run go on; nobody new takes what is kept. So it starts at the latest when those who hold its resources now
//! have ended. Lanes that hold back do so in order: an earlier one does not wait for a later one, so they cannot block
//! each other. Nothing is kept for what cannot come by waiting alone: a shut door, an open breaker, a spent budget, a
//! need above the limit of the moment.

use crate::governor::Governor;
use crate::lane::Lane;
use crate::spec::Amount;

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
        let known = &self.lanes[lane];
        let often = known.passes >= self.rules.passes && known.kept_before.is_none();
        if !often || !self.will_fit(lane, now) {
            return;
        }
        self.holds.push(lane);
        let lane = &mut self.lanes[lane];
        let keep = |need: &Amount| {
            let kept = &mut self.resources[need.resource.index()].held_back;
            std::mem::replace(kept, *kept + need.count)
        };
        lane.kept_before = Some(lane.needs.iter().map(keep).collect());
    }

    /// Nothing is kept for a lane any more.
    pub(crate) fn let_go(&mut self, lane: u32) {
        if self.lanes[lane].kept_before.take().is_none() {
            return;
        }
        let at = self.holds.iter().position(|other| *other == lane).expect("it is kept for somebody");
        self.holds.remove(at);
        for need in 0..self.lanes[lane].needs.len() {
            let need = self.lanes[lane].needs[need];
            self.resources[need.resource.index()].held_back -= need.count;
            for later in &self.holds[at..] {
                self.lanes[*later].keep_less(need);
            }
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

    /// How much of its `at`-th need a lane may not take, because it is kept for others.
    #[inline]
    pub(crate) fn kept_from(&self, lane: u32, at: usize) -> u64 {
        let lane = &self.lanes[lane];
        match &lane.kept_before {
            None => self.resources[lane.needs[at].resource.index()].held_back,
            Some(kept) => kept[at],
        }
    }
}

impl Lane {
    /// One that was passed earlier keeps nothing any more.
    fn keep_less(&mut self, of: Amount) {
        let kept = self.kept_before.iter_mut().flatten();
        for (_, kept) in self.needs.iter().zip(kept).filter(|(need, _)| need.resource == of.resource) {
            *kept -= of.count;
        }
    }
}
