//! What is known of how many calls at once a service is good for, as plain data; the rules are in `learn`, `cut`, `grow`
//! and `trial`.
//!
//! All processes of a machine can know the same: it fits into a few words, and a [`Sample`] changes it in one step,
//! whichever process reports it. Times are microseconds on one clock, the same for all of them.

use crate::learning::in_a_row::InARow;
use crate::learning::tally::Tally;
use crate::learning::trial::Trial;
use convoke_model::LimitReason;

/// What an earlier run knew is tried further after a minute at the earliest, in microseconds.
const FIRST_CALM: u64 = 60_000_000;

/// More calls at once than any process makes.
const NO_LIMIT: u64 = u32::MAX as u64;

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
    /// For how long the service asks to be left alone, in microseconds; 0 if it asks for nothing.
    pub pause: u64,
    /// The most calls that the reporting process makes at once; the limit before the first refusal.
    pub most: u64,
}

/// How one call fared, for every process that asks the same service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When it was made, in microseconds.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// How many calls its process had under way when it was made.
    pub level: u64,
    /// `None`: it was answered.
    pub push: Option<Push>,
    /// Why the limit changes, if it does.
    pub reason: LimitReason,
}

impl Sample {
    /// On a clock that shows so many microseconds more, or less.
    pub fn shifted(self, by: i64) -> Sample {
        let (began, ended) = (self.began.saturating_add_signed(by), self.ended.saturating_add_signed(by));
        Sample { began, ended, ..self }
    }
}

/// The calls that were in flight when one of them was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Round {
    /// The moment of that refusal; calls that began later are of the next round.
    pub at: u64,
    /// How many they were, and how many of them were refused so far.
    pub tally: Tally,
    /// The limit was cut because of them.
    pub cut: bool,
}

/// What is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knowledge {
    pub(crate) limit: u64,
    /// The highest number that is believed to be good; unknown before the first cut.
    pub(crate) known: Option<u64>,
    /// The limit before the cuts that are not over yet.
    pub(crate) goal: u64,
    pub(crate) round: Option<Round>,
    /// The moment of the last cut; answers to calls that began before it say nothing about the limit after it.
    pub(crate) cut_at: Option<u64>,
    /// The refusals since which nothing that was asked later was answered.
    pub(crate) in_a_row: Option<InARow>,
    /// Rounds in a row in which every call was refused: it is not the number that the service minds.
    pub(crate) silent: u64,
    /// The service has answered again after that, and not yet a whole window.
    pub(crate) returned: bool,
    /// A trial has shown that less is good, and not yet how much.
    pub(crate) searching: bool,
    /// Cuts at numbers that were believed to be good, since it was last found out why.
    pub(crate) strikes: u64,
    /// Calls since the first of these cuts.
    pub(crate) doubted: Tally,
    pub(crate) trial: Option<Trial>,
    /// What the last trial has found: so many are refused whatever the number.
    pub(crate) usual: Tally,
    /// For how many more calls that is believed.
    pub(crate) believed: u64,
    /// Calls at numbers that are believed to be good, the last few hundred.
    pub(crate) recent: Tally,
    /// Until then the limit stays at what is known.
    pub(crate) calm_until: u64,
    /// How long the last calm was.
    pub(crate) calm: u64,
    /// Answers of the current window, which is as many as the limit.
    pub(crate) answers: u64,
    /// The limit of which people were told last.
    pub(crate) told: u64,
    pub(crate) round_trip: u64,
}

impl Knowledge {
    /// Nothing is known, and so many at once are tried.
    pub(crate) fn from_start(limit: u64) -> Knowledge {
        Knowledge { limit, told: limit, goal: limit, ..Knowledge::of_parts(&[0; 19]) }
    }

    /// As many at once as are good, as far as is known.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The highest number that is believed to be good; `None` before the first cut.
    pub fn known(&self) -> Option<u64> {
        self.known
    }

    /// What the next run may begin with: not the moment's limit, which may be that of a trial or of a silent service.
    pub(crate) fn lasting(&self) -> Option<u64> {
        let unsettled = self.silent > 0 || self.trial.is_some();
        self.known.map(|known| if unsettled { known.max(self.goal) } else { known })
    }

    /// Whether any call was refused, or a limit is known from earlier: only then does an answer say something new.
    pub(crate) fn was_refused(&self) -> bool {
        self.known.is_some() || self.round.is_some()
    }

    /// The limit of which people were told last.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// Goes on from what was known earlier.
    pub fn remember(&mut self, limit: u64, known: Option<u64>, now: u64) {
        (self.limit, self.told, self.goal, self.known) = (limit, limit, limit, known);
        self.calm_until = now + FIRST_CALM;
    }

    /// Takes a sample, while so many calls were under way. Says how the limit has changed, where people are told.
    pub fn take(&mut self, sample: &Sample, under_way: u64) -> Option<Change> {
        let level_after = under_way.max(1);
        let call = Call {
            level: sample.level.max(level_after),
            level_after,
            began: sample.began,
            ended: sample.ended,
        };
        match sample.push {
            None => self.succeed(call, NO_LIMIT),
            Some(push) => self.push_back(call, push),
        }
    }

    /// On a clock that shows so many microseconds more, or less.
    pub fn shifted(mut self, by: i64) -> Knowledge {
        let at = |at: u64| at.saturating_add_signed(by);
        self.round = self.round.map(|round| Round { at: at(round.at), ..round });
        self.cut_at = self.cut_at.map(at);
        self.in_a_row = self.in_a_row.map(|row| row.shifted(by));
        self.calm_until = at(self.calm_until);
        self
    }

    /// As words; all zero for nothing at all.
    pub fn to_words(&self) -> [u64; 19] {
        let round = self.round.map_or([0, 0], |round| [round.at + 1, round.tally.to_word()]);
        let cut = self.round.is_some_and(|round| round.cut);
        let [since, in_a_row] = InARow::to_words(self.in_a_row);
        let (from, tried) = self.trial.map_or((0, 0), |trial| (trial.from, trial.tally.to_word()));
        [
            self.limit,
            self.known.map_or(0, |known| known + 1),
            self.goal,
            round[0],
            round[1],
            self.silent << 32 | self.strikes << 3 | flags([cut, self.returned, self.searching]),
            self.doubted.to_word(),
            from,
            tried,
            self.usual.to_word(),
            self.believed,
            self.recent.to_word(),
            self.calm_until,
            self.calm,
            self.answers << 32 | self.told,
            self.round_trip,
            since,
            in_a_row,
            self.cut_at.map_or(0, |at| at + 1),
        ]
    }

    /// From words.
    pub fn of_words(words: &[u64; 19]) -> Knowledge {
        match words[0] {
            0 => Knowledge::from_start(NO_LIMIT),
            _ => Knowledge::of_parts(words),
        }
    }

    fn of_parts(words: &[u64; 19]) -> Knowledge {
        let [limit, known, goal, at, round, counts, doubted, from, tried, usual, believed, ..] = *words;
        let [.., recent, calm_until, calm, told, round_trip, since, in_a_row, cut_at] = *words;
        let (tally, cut) = (Tally::of_word(round), counts & 1 == 1);
        Knowledge {
            limit,
            known: known.checked_sub(1),
            goal,
            round: at.checked_sub(1).map(|at| Round { at, tally, cut }),
            cut_at: cut_at.checked_sub(1),
            in_a_row: InARow::of_words([since, in_a_row]),
            silent: counts >> 32,
            returned: counts & 2 == 2,
            searching: counts & 4 == 4,
            strikes: (counts & u64::from(u32::MAX)) >> 3,
            doubted: Tally::of_word(doubted),
            trial: (from > 0).then_some(Trial { from, tally: Tally::of_word(tried) }),
            usual: Tally::of_word(usual),
            believed,
            recent: Tally::of_word(recent),
            calm_until,
            calm,
            answers: told >> 32,
            told: told & u64::from(u32::MAX),
            round_trip,
        }
    }

    /// Whether a call that is refused was in flight when the last round of refusals began.
    pub(crate) fn is_of_round(&self, call: Call) -> bool {
        self.round.is_some_and(|round| call.began <= round.at)
    }

    /// Whether a call began under the limit of now.
    pub(crate) fn is_of_now(&self, call: Call) -> bool {
        self.cut_at.is_none_or(|at| call.began > at)
    }

    pub(crate) fn tell(&mut self) -> Option<Change> {
        let change = Change { from: self.told, to: self.limit };
        self.told = self.limit;
        (change.from != change.to).then_some(change)
    }
}

fn flags(flags: [bool; 3]) -> u64 {
    flags.into_iter().rev().fold(0, |word, flag| word << 1 | u64::from(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(began: u64) -> Sample {
        let push = Some(Push { pause: 1_000, most: 300 });
        Sample { began, ended: began + 100, level: 1, push, reason: LimitReason::RateLimited }
    }

    #[test]
    fn several_who_are_refused_at_once_learn_one_limit_between_them() {
        let mut known = Knowledge::of_words(&[0; 19]);
        assert_eq!(known.known(), None);
        // Three processes with a hundred calls each; forty of all are taken.
        for under_way in (41..=300).rev() {
            known = Knowledge::of_words(&known.to_words());
            known.take(&refusal(0), under_way);
        }
        assert_eq!((known.limit(), known.known()), (40, Some(40)));
    }

    #[test]
    fn words_and_another_clock_keep_everything() {
        let mut known = Knowledge::from_start(9);
        known.strikes = 1;
        known.take(&refusal(5_000), 9);
        known.usual = Tally { calls: 90, refused: 7 };
        known.trial = Some(Trial { from: 9, tally: Tally { calls: 3, refused: 1 } });
        assert_eq!(Knowledge::of_words(&known.to_words()), known);
        assert_eq!(known.shifted(700).shifted(-700), known);
        assert!(known.shifted(700).round.unwrap().at > known.round.unwrap().at);
    }
}
