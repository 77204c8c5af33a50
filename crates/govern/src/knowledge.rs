//! What is known of how many calls at once a service is good for, as plain data; the rules are in `learn`.
//!
//! All processes of a machine can know the same: it fits into a few words, and a [`Lesson`] changes it in one step,
//! whoever teaches it. Times are microseconds on one clock, which those who share it agree on.

use crate::adapt::Reason;

/// A calm is at least this many round trips.
const CALM_TRIPS: u64 = 16;
/// And this many pauses.
pub(crate) const CALM_PAUSES: u64 = 20;
/// And at most ten minutes, in microseconds.
const LONGEST_CALM: u64 = 600_000_000;

/// What an earlier run knew is tried further after a minute at the earliest, in microseconds.
const FIRST_CALM: u64 = 60_000_000;

/// More calls at once than anybody makes.
const NO_LIMIT: u64 = u32::MAX as u64;

/// One call, as whoever learns sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    /// How many were in flight with it when it began.
    pub level: u64,
    /// How many were when it ended.
    pub level_after: u64,
    pub began: u64,
    pub ended: u64,
}

/// A limit before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Before.
    pub from: u64,
    /// After.
    pub to: u64,
}

/// A refusal, or a call that took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Push {
    /// It says where the border is; slowness does not.
    pub border: bool,
    /// For how long the service is left alone, in microseconds.
    pub pause: u64,
    /// How much of the limit is kept, in thousandths.
    pub keeps: u64,
}

/// What one call teaches everybody who asks the same service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lesson {
    /// When it was made, in microseconds.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// `None`: it was answered.
    pub push: Option<Push>,
    /// Why the limit changes, if it does.
    pub reason: Reason,
}

impl Lesson {
    /// On a clock that shows so many microseconds more, or less.
    pub fn shifted(self, by: i64) -> Lesson {
        let (began, ended) = (self.began.saturating_add_signed(by), self.ended.saturating_add_signed(by));
        Lesson { began, ended, ..self }
    }
}

/// What is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knowledge {
    limit: u64,
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
}

impl Knowledge {
    /// Nothing is known, and so many at once are tried.
    pub(crate) fn from_start(limit: u64) -> Knowledge {
        Knowledge {
            limit,
            known: None,
            cut_at: None,
            good: 0,
            calm_until: 0,
            calm: 0,
            answers: 0,
            told: limit,
            round_trip: 0,
        }
    }

    /// As many at once as are good, as far as is known.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The highest number that is believed to be good; `None` before the first refusal.
    pub fn known(&self) -> Option<u64> {
        self.known
    }

    /// The limit of which people were told last.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// Goes on from what was known earlier.
    pub fn remember(&mut self, limit: u64, known: Option<u64>, now: u64) {
        (self.limit, self.told, self.known) = (limit, limit, known);
        self.calm_until = now + FIRST_CALM;
    }

    /// Takes a lesson, while so many calls were under way. Says how the limit has changed, once per window or round trip.
    pub fn take(&mut self, lesson: &Lesson, under_way: u64) -> Option<Change> {
        let (level, level_after) = (under_way.max(1), under_way.max(1));
        let call = Call { level, level_after, began: lesson.began, ended: lesson.ended };
        match lesson.push {
            None => self.succeed(call, NO_LIMIT),
            Some(push) => self.push_back(call, push, NO_LIMIT),
        }
    }

    /// On a clock that shows so many microseconds more, or less.
    pub fn shifted(mut self, by: i64) -> Knowledge {
        self.cut_at = self.cut_at.map(|at| at.saturating_add_signed(by));
        self.calm_until = self.calm_until.saturating_add_signed(by);
        self
    }

    /// As words; all zero for nothing at all.
    pub fn to_words(&self) -> [u64; 12] {
        let known = self.known.map_or(0, |known| known + 1);
        let cut_at = self.cut_at.map_or(0, |at| at + 1);
        let (calm, round) = (self.calm, self.round_trip);
        [self.limit, known, cut_at, self.good, self.calm_until, calm, self.answers, self.told, round, 0, 0, 0]
    }

    /// From words.
    pub fn of_words(words: &[u64; 12]) -> Knowledge {
        let [limit, known, cut_at, good, calm_until, calm, answers, told, round_trip, ..] = *words;
        if limit == 0 {
            return Knowledge::from_start(NO_LIMIT);
        }
        let (known, cut_at) = (known.checked_sub(1), cut_at.checked_sub(1));
        Knowledge { limit, known, cut_at, good, calm_until, calm, answers, told, round_trip }
    }

    /// Whether a call began before the last cut, or at the same moment.
    pub(crate) fn is_earlier(&self, call: Call) -> bool {
        self.cut_at.is_some_and(|cut| call.began <= cut)
    }

    pub(crate) fn succeed(&mut self, call: Call, most: u64) -> Option<Change> {
        self.time(call);
        if self.is_earlier(call) || call.level.max(call.level_after) * 2 < self.told {
            return None;
        }
        self.answers += 1;
        let goal = self.known.unwrap_or(most).min(most);
        if self.limit < goal {
            self.limit += 1;
        }
        if self.answers < self.told.min(self.limit) {
            return None;
        }
        self.answers = 0;
        if self.limit >= goal {
            self.try_further(call.ended, most);
        }
        self.tell()
    }

    /// A window of answers at what is known to be good.
    fn try_further(&mut self, now: u64, most: u64) {
        if now < self.calm_until || self.limit >= most {
            return;
        }
        if self.known.is_some_and(|known| self.limit > known) {
            self.calm = 0;
        }
        self.known = self.known.map(|_| self.limit);
        self.limit = (self.limit + (self.limit / 16).max(1)).min(most);
    }

    pub(crate) fn push_back(&mut self, call: Call, push: Push, most: u64) -> Option<Change> {
        if self.is_earlier(call) {
            self.refine(push);
            return None;
        }
        let tried = self.known.is_some_and(|known| call.level > known);
        let from = self.limit.min(most);
        self.good = call.level_after.saturating_sub(1).max(1);
        self.limit = (call.level_after.clamp(1, from) * push.keeps / 1_000).max(1);
        self.known = Some(if push.border { self.good.max(self.limit) } else { self.limit });
        self.cut_at = Some(call.ended);
        self.stay_calm(tried, call.ended, push.pause);
        self.answers = 0;
        self.told = self.limit;
        Some(Change { from, to: self.limit })
    }

    /// Further refusals of the same round: each says that one less was good.
    fn refine(&mut self, push: Push) {
        if push.border {
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

    fn refusal(began: u64) -> Lesson {
        let push = Some(Push { border: true, pause: 1_000, keeps: 700 });
        Lesson { began, ended: began + 100, push, reason: Reason::RateLimited }
    }

    #[test]
    fn several_who_are_refused_at_once_learn_one_limit_between_them() {
        let mut known = Knowledge::of_words(&[0; 12]);
        assert_eq!(known.known(), None);
        // Three processes with a hundred calls each; forty of all are taken.
        for (refused, under_way) in (41..=300).rev().enumerate() {
            known = Knowledge::of_words(&known.to_words());
            let change = known.take(&refusal(0), under_way);
            assert_eq!(change.is_some(), refused == 0);
        }
        assert_eq!((known.limit(), known.known()), (40, Some(40)));
    }

    #[test]
    fn words_and_another_clock_keep_everything() {
        let mut known = Knowledge::from_start(9);
        known.take(&refusal(5_000), 9);
        assert_eq!(Knowledge::of_words(&known.to_words()), known);
        assert_eq!(known.shifted(700).shifted(-700), known);
        assert!(known.shifted(700).cut_at > known.cut_at);
    }
}
