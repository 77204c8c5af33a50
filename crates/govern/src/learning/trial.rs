//! Do refusals depend on the number of calls at once? A trial finds out: fewer are made for a while.
//!
//! If it is the number, the service answers as many as before, and refuses fewer or none. If it is chance, a fault, or the
//! load of others, it refuses the same part of fewer. Then there is no reason to make fewer: the limit goes back to where it was,
//! and the part that is refused is usual for a while.

use crate::learning::knowledge::{Change, Knowledge};
use crate::learning::tally::Tally;

/// A trial that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trial {
    /// How many calls were in flight before.
    pub from: u64,
    /// The calls of the trial.
    pub tally: Tally,
}

/// The fewest calls of a trial, and the most.
const CALLS: (u64, u64) = (48, 320);

/// Where fewer thousandths are refused, three quarters of the calls show as much as half of them.
const MANY: u64 = 200;

/// A trial is long enough for about so many refusals, if these depend on nothing.
const REFUSALS: u64 = 5;

/// For so many calls a finding is believed; then, if refusals go on, it is tried again.
const BELIEVED: u64 = 2_048;

/// Where fewer helps, nothing beyond the limit before is tried for so many round trips.
const CALM_TRIPS: u64 = 16;

impl Knowledge {
    /// Makes fewer calls for a while than were in flight: less of a limit that was not used would show nothing.
    pub(crate) fn begin_trial(&mut self, from: u64) {
        // Those that are in flight may yet be answered.
        self.doubted.calls += from;
        let fewer = if self.doubted.thousandths() < MANY { from * 3 / 4 } else { from / 2 };
        self.known = Some(self.limit);
        self.limit = self.limit.min(fewer).max(1);
        self.trial = Some(Trial { from, tally: Tally::default() });
    }

    /// A call of a trial was refused.
    pub(crate) fn refused_in_trial(&mut self, now: u64) -> Option<Change> {
        self.trial.as_mut()?.tally.add(true);
        self.conclude(now)
    }

    /// A call of a trial was answered.
    pub(crate) fn answered_in_trial(&mut self, now: u64) -> Option<Change> {
        self.trial.as_mut()?.tally.add(false);
        self.conclude(now)
    }

    fn conclude(&mut self, now: u64) -> Option<Change> {
        let Trial { from, tally } = self.trial?;
        let before = self.doubted.thousandths().clamp(1, 1_000);
        let enough = (REFUSALS * 1_000 / before).clamp(CALLS.0, CALLS.1);
        if tally.calls < enough {
            return None;
        }
        self.trial = None;
        let fewer_helps = tally.thousandths() <= border(from, self.limit, before);
        if !fewer_helps {
            let before = self.known.unwrap_or(from).max(from);
            self.usual = tally.together(self.doubted);
            self.believed = BELIEVED;
            self.limit = self.goal.clamp(before, 2 * before);
        }
        self.known = Some(self.limit);
        (self.goal, self.searching) = (from.max(self.limit), fewer_helps);
        self.recent = tally;
        (self.strikes, self.doubted, self.answers) = (0, Tally::default(), 0);
        // What was refused before is found again at once, and not passed soon.
        self.calm = if fewer_helps { (2 * self.calm).max(CALM_TRIPS * self.round_trip) } else { 0 };
        self.calm_until = now + self.calm;
        self.tell()
    }
}

/// Thousandths that are refused in a trial, half way between what the number and what chance would give. A service that can
/// do so much and no more answers as many of fewer calls.
fn border(from: u64, now: u64, before: u64) -> u64 {
    let answered = (1_000 - before) * from / now.max(1);
    (1_000_u64.saturating_sub(answered) + before) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_border_lies_between_what_load_and_what_chance_would_give() {
        assert_eq!(border(60, 30, 50), 25, "by load none, by chance fifty");
        assert_eq!(border(16, 8, 875), 812, "by load 750, by chance 875");
    }
}
