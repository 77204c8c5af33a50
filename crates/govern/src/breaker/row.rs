//! How many failures in a row are a reason to leave something alone.
//!
//! Calls that are made one by one: as many as the rules say. Calls that overlap prove less:
//! - The failures that come back first are no row, because the calls beside them may succeed later. A row must be as long as
//!   there were calls under way while it lasted.
//! - The failures that come back last are no row, because calls that began with them or later have succeeded.
//! - What fails at random makes short rows by chance. A row must be so long that chance hardly ever makes it, by the share of
//!   failures that was seen before it.
//!
//! Kept true: every call that enters leaves once; a row of calls made one by one is never asked for more than the rules say.

use crate::adapt::Outcome;

/// A row counts if chance makes a longer one less often than this.
const RARE: f64 = 1e-6;

/// So many ends are remembered at most; then older ones count half.
const MEMORY: u32 = 256;

/// Failures since the last success, and what is known from before them.
#[derive(Debug, Default)]
pub(super) struct Row {
    failures: u32,
    /// The most calls under way at once since the row began.
    beside: u32,
    under_way: u32,
    /// The latest begin of a call that succeeded.
    alive: Option<u64>,
    /// Before the row: calls that came back, those of them that failed, and the most that were under way at once.
    ended: u32,
    failed: u32,
    crowd: u32,
}

impl Row {
    /// A call begins.
    pub fn enter(&mut self) {
        self.under_way += 1;
        self.beside = self.beside.max(self.under_way);
        self.crowd = self.crowd.max(self.under_way);
    }

    /// A call is over; how it fared does not count.
    pub fn leave(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// A call that began then is over and fared so.
    pub fn note(&mut self, outcome: Outcome, began: u64) {
        if outcome == Outcome::Succeeded {
            self.alive = self.alive.max(Some(began));
            self.remember(self.failures + 1, self.failures);
            self.failures = 0;
        } else if outcome.is_failure() {
            self.note_failure(began);
        }
        self.leave();
    }

    fn note_failure(&mut self, began: u64) {
        if self.alive.is_some_and(|alive| began <= alive) {
            return self.remember(1, 1);
        }
        if self.failures == 0 {
            self.beside = self.under_way;
        }
        self.failures += 1;
    }

    /// Whether it is long enough, where calls that are made one by one need `least` failures.
    pub fn is_long(&self, least: u32) -> bool {
        self.failures >= least.max(self.beside).max(self.not_by_chance().min(self.crowd))
    }

    /// What was seen counts no more; calls that are under way still are.
    pub fn forget(&mut self) {
        *self = Row { under_way: self.under_way, ..Row::default() };
    }

    /// The length of a row that chance hardly ever makes.
    fn not_by_chance(&self) -> u32 {
        if self.failed == 0 {
            return 1;
        }
        // Two more of each, because the share is known of few calls only.
        let share = f64::from(self.failed + 2) / f64::from(self.ended + 3);
        (RARE.ln() / share.ln()).ceil() as u32
    }

    fn remember(&mut self, ended: u32, failed: u32) {
        self.ended += ended;
        self.failed += failed;
        if self.ended >= MEMORY {
            (self.ended, self.failed) = (self.ended / 2, self.failed / 2);
            self.crowd = self.under_way.max(self.crowd / 2);
        }
    }
}
