//! How many calls at once a provider is good for, from how calls fare.
//!
//! Refusals take one off the limit each (`cut`), answers bring it back (`grow`), and where the two contradict each other there is
//! a trial (`trial`). What is known is plain data, so that all processes of a machine can know the same (`knowledge`).

use crate::learning::knowledge::{Call, Change, Knowledge, Push};

/// The shortest wait after a refusal that names none, in microseconds.
const SHORTEST: u64 = 500_000;

/// The longest.
const LONGEST: u64 = 30_000_000;

/// What a learner knows of one resource.
#[derive(Debug)]
pub(crate) struct Learner {
    pub knowledge: Knowledge,
    most: u64,
}

impl Learner {
    pub fn new(start: u64, most: u64) -> Learner {
        Learner { knowledge: Knowledge::from_start(start.clamp(1, most)), most }
    }

    pub fn limit(&self) -> u64 {
        self.knowledge.limit().min(self.most)
    }

    /// What the next run may begin with.
    pub fn lasting(&self) -> Option<u64> {
        self.knowledge.lasting().map(|lasting| lasting.min(self.most))
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

    /// How long to wait when the provider names no time: twice as long for each round in a row without any answer.
    pub fn wait(&self) -> u64 {
        (SHORTEST << self.knowledge.silent.min(10)).min(LONGEST)
    }

    /// A refusal, or a call that took too long, as others are told of it.
    pub fn push(&self, pause: u64) -> Push {
        Push { pause, most: self.most }
    }

    /// Says how far the limit has fallen, where that is worth telling.
    pub fn push_back(&mut self, call: Call, push: Push) -> Option<Change> {
        self.knowledge.push_back(call, push)
    }

    /// Whether the provider is to be left alone for a while.
    pub fn is_crowded(&self) -> bool {
        self.knowledge.is_crowded()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Learner {
        fn known(&self) -> Option<u64> {
            self.knowledge.known()
        }

        fn refused(&mut self, call: Call, pause: u64) -> Option<Change> {
            let push = self.push(pause);
            self.push_back(call, push)
        }

        fn is_refused_at(&mut self, left: u64) {
            self.refused(Call { level_after: left, ..call(46, 0) }, 1_000);
        }

        fn answers(&mut self, count: u64, began: u64) {
            for _ in 0..count {
                self.succeed(call(self.limit(), began));
            }
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
    fn falls_by_as_many_as_are_refused_and_says_so_a_few_times() {
        let mut learner = Learner::new(300, 300);
        // Whichever they are: the provider met them in another order than that in which they were made.
        let levels = (1..=300).step_by(2).chain((2..=300).step_by(2));
        let refused = |(level, left)| learner.refused(Call { level_after: left, ..call(level, 0) }, 1_000);
        let told: Vec<_> = levels.zip((41..=300).rev()).filter_map(refused).collect();
        assert!(told.len() <= 8 && told[0].from == 300, "{told:?}");
        assert_eq!((learner.limit(), learner.known()), (40, Some(40)));
        assert!(learner.is_crowded());
    }

    #[test]
    fn one_error_is_a_stray_however_many_are_in_flight() {
        for level in [1, 2, 10, 60] {
            let mut learner = Learner::new(60, 60);
            assert_eq!(learner.refused(call(level, 0), 1_000), None);
            assert_eq!((learner.limit(), learner.known()), (60, None));
            assert!(!learner.is_crowded(), "nobody else has to wait for it");
        }
    }

    #[test]
    fn one_in_a_hundred_is_no_reason() {
        let mut learner = Learner::new(60, 60);
        learner.answers(500, 0);
        for round in 1..20 {
            assert_eq!(learner.refused(call(60, round * 1_000), 1_000), None);
            learner.answers(120, round * 1_000 + 200);
        }
        assert_eq!((learner.limit(), learner.known()), (60, None));
    }

    #[test]
    fn when_everything_is_refused_the_first_answer_brings_everything_back() {
        let mut learner = Learner::new(60, 60);
        (1..=60).rev().for_each(|left| learner.is_refused_at(left));
        assert_eq!(learner.limit(), 1);
        assert_eq!(learner.lasting(), Some(60), "a later run does not begin with one");
        let waits: Vec<_> =
            (1..4).map(|round| (learner.refused(call(1, round * 1_000), 0), learner.wait()).1).collect();
        assert_eq!(waits, [4 * SHORTEST, 8 * SHORTEST, 16 * SHORTEST]);
        assert_eq!(learner.succeed(call(1, 9_000)), Some(Change { from: 1, to: 60 }));
    }

    #[test]
    fn comes_back_to_what_is_known_and_then_tries_further() {
        let mut learner = Learner::new(46, 300);
        (41..=46).rev().for_each(|left| learner.is_refused_at(left));
        assert_eq!((learner.limit(), learner.known()), (40, Some(40)));
        learner.answers(39, 200);
        assert_eq!(learner.limit(), 40);
        learner.answers(1, 20_000);
        assert_eq!(learner.limit(), 42, "after a calm time");
        learner.refused(call(42, 30_000), 0);
        assert_eq!((learner.limit(), learner.known()), (40, Some(40)), "a try that fails was none");
    }

    #[test]
    fn never_below_one_nor_above_the_most() {
        let mut learner = Learner::new(2, 3);
        for round in 0..9 {
            learner.refused(call(1, round * 1_000), 0);
            assert!(learner.limit() >= 1);
        }
        learner.answers(99, 1_000_000_000);
        assert_eq!(learner.limit(), 3);
    }
}
