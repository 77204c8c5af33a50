//! Refusals in a row: no call was answered that began after the first of them. Is the service full, or does it refuse everything?
//!
//! Calls that were in flight before the first refusal may still be answered, and say nothing. Time in which nothing was asked
//! says nothing either: whether an answer is overdue counts from the first call that was refused since the last cut.

use crate::learning::knowledge::{Call, Knowledge};

/// Fewer refusals may be chance.
pub(crate) const FEW: u64 = 4;

/// The refusals since the last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InARow {
    /// When the first call was refused.
    pub since: u64,
    /// From when on an answer to a later call is due.
    pub due_from: u64,
    /// How many calls were refused that began later, up to [`FEW`].
    pub count: u64,
}

/// What they say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing yet.
    Open,
    /// The service takes the calls that are in flight, and no more.
    Full,
    /// An answer would be there by now, or none is under way: the service refuses everything.
    Silent,
}

impl InARow {
    /// As two words, of which the first is 0 for none.
    pub fn to_words(row: Option<InARow>) -> [u64; 2] {
        row.map_or([0, 0], |row| [row.since + 1, (row.due_from - row.since) << 8 | row.count])
    }

    pub fn of_words([since, rest]: [u64; 2]) -> Option<InARow> {
        let since = since.checked_sub(1)?;
        Some(InARow { since, due_from: since.saturating_add(rest >> 8), count: rest & 0xff })
    }

    /// On a clock that shows so many microseconds more, or less.
    pub fn shifted(self, by: i64) -> InARow {
        let (since, due_from) =
            (self.since.saturating_add_signed(by), self.due_from.saturating_add_signed(by));
        InARow { since, due_from, ..self }
    }

    /// With one more refused call.
    fn with(self, call: Call, cut_at: Option<u64>) -> InARow {
        if call.began <= self.since {
            return self;
        }
        let asked_again = self.count == 0 || cut_at.is_some_and(|at| self.due_from <= at && call.began > at);
        let due_from = if asked_again { call.began } else { self.due_from };
        InARow { due_from, count: (self.count + 1).min(FEW), ..self }
    }
}

impl Knowledge {
    /// One more call was refused.
    pub(crate) fn refused_in_a_row(&mut self, call: Call) -> Verdict {
        let first = InARow { since: call.ended, due_from: call.ended, count: 0 };
        let row = self.in_a_row.unwrap_or(first).with(call, self.cut_at);
        self.in_a_row = Some(row);
        let overdue = self.round_trip > 0 && call.ended >= row.due_from + 2 * self.round_trip;
        match row.count {
            ..FEW => Verdict::Open,
            _ if overdue || call.level_after <= 1 => Verdict::Silent,
            // How long an answer takes is not known. Those that are in flight were not refused.
            _ if self.round_trip == 0 => Verdict::Full,
            _ => Verdict::Open,
        }
    }

    /// A call was answered.
    pub(crate) fn answered_after_refusals(&mut self, call: Call) {
        self.in_a_row = self.in_a_row.filter(|row| call.began <= row.since);
    }
}
