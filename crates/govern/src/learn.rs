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
//!
//! What is known is plain data, so that all processes of a machine can know the same (`lesson`).

use crate::adapt::Outcome;
use crate::knowledge::{Call, Change, Knowledge, Push};
use crate::penalty::Penalty;

/// What a learner knows of one resource.
#[derive(Debug)]
pub(crate) struct Learner {
    pub knowledge: Knowledge,
    most: u64,
    pub penalty: Penalty,
}

impl Learner {
    pub fn new(start: u64, most: u64) -> Learner {
        Learner { knowledge: Knowledge::from_start(start.clamp(1, most)), most, penalty: Penalty::default() }
    }

    pub fn limit(&self) -> u64 {
        self.knowledge.limit().min(self.most)
    }

    pub fn known(&self) -> Option<u64> {
        self.knowledge.known()
    }

    /// The most that configuration allows has changed.
    pub fn set_most(&mut self, most: u64) {
        self.most = most;
    }

    /// Goes on from what an earlier run knew.
    pub fn remember(&mut self, limit: u64, known: Option<u64>, now: u64) {
        self.knowledge.remember(limit.clamp(1, self.most), known, now);
    }

    /// An answer. Says how the limit has grown, once per window.
    pub fn succeed(&mut self, call: Call) -> Option<Change> {
        self.knowledge.succeed(call, self.most)
    }

    /// A refusal, or a call that took too long: how it weighs.
    pub fn weigh(&mut self, call: Call, outcome: Outcome, pause: u64) -> Push {
        let keeps = self.penalty.keeps(call.ended);
        if !self.knowledge.is_earlier(call) {
            self.penalty.add(outcome, call.ended);
        }
        Push { border: matches!(outcome, Outcome::RateLimited { .. }), pause, keeps }
    }

    /// Says how far the limit has fallen, once per round trip.
    pub fn push_back(&mut self, call: Call, push: Push) -> Option<Change> {
        self.knowledge.push_back(call, push, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::CALM_PAUSES;

    const LIMITED: Outcome = Outcome::RateLimited { retry_after: None };

    impl Learner {
        fn refused(&mut self, call: Call, pause: u64) -> Option<Change> {
            let push = self.weigh(call, LIMITED, pause);
            self.push_back(call, push)
        }
    }

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
        let first = learner.refused(Call { level_after: 300, ..call(60, 0) }, 1_000);
        assert_eq!(first, Some(Change { from: 300, to: 210 }));
        // Whichever they are: the provider met them in another order.
        for level in (1..=300).step_by(2).chain((2..=300).step_by(2)).take(259) {
            assert_eq!(learner.refused(call(level, 0), 1_000), None);
        }
        assert_eq!((learner.limit(), learner.known()), (40, Some(40)));
        assert!(learner.refused(call(40, 200), 1_000).is_some(), "the next round may cut again");
    }

    #[test]
    fn comes_back_to_what_is_known_and_stays_for_a_while() {
        let mut learner = Learner::new(40, 300);
        learner.refused(call(41, 0), 1_000);
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
            learner.refused(call(1, round * 1_000), 0);
            assert_eq!(learner.limit(), 1);
        }
        (0..99).for_each(|_| {
            learner.succeed(call(3, 1_000_000_000));
        });
        assert_eq!(learner.limit(), 3);
    }
}
