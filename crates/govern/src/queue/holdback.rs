//! Keeping free what a large demand needs, once smaller ones have passed it often enough.
//!
//! A demand that is short of something does not stop others that fit. But each time that others are granted what a lane
//! is short of, the lane is passed; after `Rules::passes` times, what one of its demands needs is kept free for it.
//! Permits that are out stay out; no new demand takes what is kept. As long as it is short of an amount that comes with
//! time (a rate, a budget), only such amounts are kept, because slots that wait for time would be idle; then its slots as well.
//! So it starts at the latest when that time has passed and the holders of its slots have ended.
//!
//! Lanes for which something is kept have an order, and an earlier one does not wait for what is kept for a later one;
//! so they cannot block each other. Nothing is kept for what cannot come by waiting alone: back-pressure, an open breaker,
//! a spent budget, a need above the limit of the moment.

use crate::governor::Governor;
use crate::queue::lane::Lane;
use crate::resource::Fit;
use crate::spec::{Amount, Kind, ResourceId};

/// What is kept free for a lane; one entry per need.
#[derive(Debug)]
pub(crate) struct Hold {
    /// How much is kept for lanes that come before this one.
    before: Vec<u64>,
    /// Whether this need is kept.
    kept: Vec<bool>,
}

impl Governor {
    /// A demand of lane `granted` was granted: counts a pass for each blocked lane that is short of something it took.
    pub(crate) fn count_passes(&mut self, granted: u32, now: u64) {
        for at in 0..self.survey.blocked.len() {
            let (lane, on) = self.survey.blocked[at];
            if self.lanes[granted].needs(on) {
                self.lanes[lane].passes += 1;
                self.begin_hold(lane, now);
            }
        }
    }

    fn begin_hold(&mut self, lane: u32, now: u64) {
        let known = &self.lanes[lane];
        let often = known.passes >= self.rules.passes && known.hold.is_none();
        if !often || !self.will_fit(lane, now) {
            return;
        }
        let needs = self.lanes[lane].needs.iter();
        let before: Vec<_> = needs.map(|need| self.resources[need.resource.index()].held_back).collect();
        let kept = vec![false; before.len()];
        self.lanes[lane].hold = Some(Hold { before, kept });
        self.holds.push(lane);
        self.keep_what_it_needs(self.holds.len() - 1, now);
    }

    /// Looks at all for whom something is kept: gives up what would be kept for too long, and keeps more where that is
    /// all that is missing.
    pub(crate) fn review_holds(&mut self, now: u64) {
        let mut at = 0;
        while let Some(lane) = self.holds.get(at).copied() {
            if self.will_fit(lane, now) {
                self.keep_what_it_needs(at, now);
                at += 1;
            } else {
                self.let_go(lane);
            }
        }
    }

    fn keep_what_it_needs(&mut self, at: usize, now: u64) {
        let lane = self.holds[at];
        let slots_too = !self.waits_for_time(lane, now);
        for need in 0..self.lanes[lane].needs.len() {
            let resource = self.lanes[lane].needs[need].resource;
            if slots_too || self.resources[resource.index()].kind != Kind::Slots {
                self.keep(at, need);
            }
        }
    }

    /// Whether a lane is short of anything but slots.
    fn waits_for_time(&mut self, lane: u32, now: u64) -> bool {
        (0..self.lanes[lane].needs.len()).any(|at| {
            let (need, kept) = (self.lanes[lane].needs[at], self.kept_from(lane, at));
            let resource = &mut self.resources[need.resource.index()];
            resource.kind != Kind::Slots && resource.fit(need.count, kept, now) != Fit::Fits
        })
    }

    fn keep(&mut self, at: usize, need: usize) {
        let lane = &mut self.lanes[self.holds[at]];
        let hold = lane.hold.as_mut().expect("something is kept for it");
        if std::mem::replace(&mut hold.kept[need], true) {
            return;
        }
        let need = lane.needs[need];
        self.resources[need.resource.index()].held_back += need.count;
        for later in &self.holds[at + 1..] {
            self.lanes[*later].earlier_keep(need.resource, |before| before + need.count);
        }
    }

    /// Nothing is kept for a lane any more.
    pub(crate) fn let_go(&mut self, lane: u32) {
        let Some(hold) = self.lanes[lane].hold.take() else { return };
        let at = self.holds.iter().position(|other| *other == lane).expect("something is kept for it");
        self.holds.remove(at);
        let needs: Vec<Amount> = self.lanes[lane].needs.to_vec();
        for need in needs.iter().zip(hold.kept).filter_map(|(need, kept)| kept.then_some(need)) {
            self.resources[need.resource.index()].held_back -= need.count;
            for later in &self.holds[at..] {
                self.lanes[*later].earlier_keep(need.resource, |before| before - need.count);
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
        match &lane.hold {
            None => self.resources[lane.needs[at].resource.index()].held_back,
            Some(hold) => hold.before[at],
        }
    }
}

impl Lane {
    /// What is kept for lanes before this one has changed.
    fn earlier_keep(&mut self, resource: ResourceId, change: impl Fn(u64) -> u64) {
        let before = self.hold.iter_mut().flat_map(|hold| &mut hold.before);
        let same = self.needs.iter().zip(before).filter(|(need, _)| need.resource == resource);
        same.for_each(|(_, before)| *before = change(*before));
    }
}
