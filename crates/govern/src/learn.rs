//! How many calls at once a provider is good for: additive increase, multiplicative decrease, with a memory.
//!
//! A call that is refused while n are in flight says that n is too many: the limit falls at once. What is known to be good
//! is n less all that are refused of those n, whichever they are: calls do not arrive in the order in which they were
//! made. From there the limit comes back quickly (one more for each answer) up to what is known to
//! be good, and stays there. Only after a calm time it tries further, a little for each full window of answers. A try
//! that fails costs a pause, so the calm is twenty times the last pause and doubles with each try that fails: what
//! trying costs stays below five in a hundred.
//!
//! One cut per round trip: a refusal of a call that began before the last cut says nothing about the limit after it.
//! Answers count only if the limit was really in use; who sends little learns nothing about more.

use crate::adapt::Outcome;
use crate::penalty::Penalty;

/// A calm is at least this many round trips.
const CALM_TRIPS: u64 = 16;
/// And this many pauses.
const CALM_PAUSES: u64 = 20;
/// And at most ten minutes, in microseconds.
const LONGEST_CALM: u64 = 600_000_000;

/// What an earlier run knew is tried further after a minute at the earliest, in microseconds.
const FIRST_CALM: u64 = 60_000_000;

/// One call, as the learner sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    /// How many were in flight with it when it began.
    pub level: u64,
    /// How many were when it ended.
    pub level_after: u64,
    pub began: u64,
    pub ended: u64,
}

/// What a learner knows of one resource.
#[derive(Debug)]
pub(crate) struct Learner {
    limit: u64,
    most: u64,
    /// The highest number that is believed to be good; unknown before the first refusal.
    known: Option<u64>,
    /// The moment of the last cut; calls that began before it are of an earlier round.
    cut_at: Option<u64>,
    /// How many of those in flight at that moment may still turn out to be good.
    good: u64,
    /// Until then the limit stays at what is known.
    calm_until: u64,
    /// How long the next calm is, at least.
    calm: u64,
    answers: u64,
    /// The limit when the window began, for whoever is told of changes.
    told: u64,
    round_trip: u64,
    pub penalty: Penalty,
}

/// A limit before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub from: u64,
    pub to: u64,
}

impl Learner {
    pub fn new(start: u64, most: u64) -> Learner {
        let limit = start.clamp(1, most);
        Learner {
            limit,
            most,
            known: None,
            cut_at: None,
            good: 0,
            calm_until: 0,
            calm: 0,
            answers: 0,
            told: limit,
            round_trip: 0,
            penalty: Penalty::default(),
        }
    }

    pub fn limit(&self) -> u64 {
        self.limit.min(self.most)
    }

    pub fn known(&self) -> Option<u64> {
        self.known
    }

    /// The most that configuration allows has changed.
    pub fn set_most(&mut self, most: u64) {
        self.most = most;
    }

    /// Goes on from what an earlier run knew.
    pub fn remember(&mut self, limit: u64, known: Option<u64>, now: u64) {
        self.limit = limit.clamp(1, self.most);
        self.told = self.limit;
        self.known = known;
        self.calm_until = now + FIRST_CALM;
    }

    /// Whether a call began before the last cut, or at the same moment.
    fn is_earlier(&self, call: Call) -> bool {
        self.cut_at.is_some_and(|cut| call.began <= cut)
    }

    /// An answer. Says how the limit has grown, once per window.
    pub fn succeed(&mut self, call: Call) -> Option<Change> {
        self.time(call);
        if self.is_earlier(call) || call.level.max(call.level_after) * 2 < self.told {
            return None;
        }
        self.answers += 1;
        let goal = self.known.unwrap_or(self.most).min(self.most);
        if self.limit < goal {
            self.limit += 1;
        }
        if self.answers < self.told.min(self.limit) {
            return None;
        }
        self.answers = 0;
        if self.limit >= goal {
            self.try_further(call.ended);
        }
        self.tell()
    }

    /// A window of answers at what is known to be good.
    fn try_further(&mut self, now: u64) {
        if now < self.calm_until || self.limit >= self.most {
            return;
        }
        if self.known.is_some_and(|known| self.limit > known) {
            self.calm = 0;
        }
        self.known = self.known.map(|_| self.limit);
        self.limit = (self.limit + (self.limit / 16).max(1)).min(self.most);
    }

    /// A refusal, or a call that took too long. Says how far the limit has fallen, once per round trip.
    pub fn push_back(&mut self, call: Call, outcome: Outcome, pause: u64) -> Option<Change> {
        if self.is_earlier(call) {
            self.refine(outcome);
            return None;
        }
        let tried = self.known.is_some_and(|known| call.level > known);
        let keeps = self.penalty.keeps(call.ended);
        self.penalty.add(outcome, call.ended);
        let from = self.limit();
        self.good = call.level_after.saturating_sub(1).max(1);
        self.limit = (call.level_after.clamp(1, from) * keeps / 1_000).max(1);
        self.known = Some(match outcome {
            Outcome::RateLimited { .. } => self.good.max(self.limit),
            // Slowness does not say where the border is.
            _ => self.limit,
        });
        self.cut_at = Some(call.ended);
        self.stay_calm(tried, call.ended, pause);
        self.answers = 0;
        self.told = self.limit;
        Some(Change { from, to: self.limit })
    }

    /// Further refusals of the same round: each says that one less was good.
    fn refine(&mut self, outcome: Outcome) {
        if matches!(outcome, Outcome::RateLimited { .. }) {
            self.good = self.good.saturating_sub(1).max(1);
            self.known = Some(self.known.map_or(self.good, |other| other.min(self.good)));
            self.limit = self.limit.min(self.good);
        }
    }

    /// A provider that takes less than it did is no try that failed.
    fn stay_calm(&mut self, tried: bool, now: u64, pause: u64) {
        let least = (CALM_PAUSES * pause).max(CALM_TRIPS * self.round_trip);
        let doubled = if tried { self.calm * 2 } else { 0 };
        self.calm = doubled.max(least).min(LONGEST_CALM);
        self.calm_until = now + pause + self.calm;
    }

    fn time(&mut self, call: Call) {
        let took = call.ended.saturating_sub(call.began);
        self.round_trip = if self.round_trip == 0 { took } else { (7 * self.round_trip + took) / 8 };
    }

    fn tell(&mut self) -> Option<Change> {
        let change = Change { from: self.told, to: self.limit };
        self.told = self.limit;
        (change.from != change.to).then_some(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITED: Outcome = Outcome::RateLimited { retry_after: None };

    fn call(level: u64, began: u64) -> Call {
        Call { level, level_after: level, began, ended: began + 100 }
    }

    #[test]
    fn grows_from_answers_only_when_in_use() {
        let mut learner = Learner::new(4, 100);
        (0..40).for_each(|_| assert_eq!(learner.succeed(call(1, 0)), None));
        assert_eq!(learner.limit(), 4);
        let grown: Vec<_> = (0..4).filter_map(|_| learner.succeed(call(4, 0))).collect();
        assert_eq!(grown, [Change { from: 4, to: 8 }]);
    }

    #[test]
    fn one_cut_per_round_trip_and_what_is_left_of_it_is_good() {
        let mut learner = Learner::new(300, 300);
        let first = learner.push_back(Call { level_after: 300, ..call(60, 0) }, LIMITED, 1_000);
        assert_eq!(first, Some(Change { from: 300, to: 210 }));
        // Whichever they are: the provider met them in another order.
        for level in (1..=300).step_by(2).chain((2..=300).step_by(2)).take(259) {
            assert_eq!(learner.push_back(call(level, 0), LIMITED, 1_000), None);
        }
        assert_eq!((learner.limit(), learner.known()), (40, Some(40)));
        assert!(learner.push_back(call(40, 200), LIMITED, 1_000).is_some(), "the next round may cut again");
    }

    #[test]
    fn comes_back_to_what_is_known_and_stays_for_a_while() {
        let mut learner = Learner::new(40, 300);
        learner.push_back(call(41, 0), LIMITED, 1_000);
        assert_eq!((learner.limit(), learner.known()), (28, Some(40)));
        (0..500).for_each(|_| {
            learner.succeed(call(learner.limit(), 200));
        });
        assert_eq!(learner.limit(), 40);
        let after_calm = 200 + 1_000 + CALM_PAUSES * 1_000;
        (0..40).for_each(|_| {
            learner.succeed(call(40, after_calm));
        });
        assert_eq!(learner.limit(), 42, "then it tries further");
    }

    #[test]
    fn never_below_one_nor_above_the_most() {
        let mut learner = Learner::new(2, 3);
        for round in 0..9 {
            learner.push_back(call(1, round * 1_000), LIMITED, 0);
            assert_eq!(learner.limit(), 1);
        }
        (0..99).for_each(|_| {
            learner.succeed(call(3, 1_000_000_000));
        });
        assert_eq!(learner.limit(), 3);
    }
}
