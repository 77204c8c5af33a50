//! What answers say: the limit comes back as fast as it fell, and tries further.
//!
//! The limit comes back by one for each answer up to what is known to be good. From there it tries a little further after a calm
//! time, which is short after the first refusal and doubles with each try that fails, so that trying costs few refusals.
//! Where a trial has shown that less is good and not how much, half the way back is tried with each full window.
//!
//! Answers count only if the limit was really in use: a process that sends little learns nothing about more.

use crate::learning::knowledge::{Call, Change, Knowledge};

impl Knowledge {
    /// An answer. Says how the limit has grown, once per window.
    pub(crate) fn succeed(&mut self, call: Call, most: u64) -> Option<Change> {
        self.time(call);
        self.answered_after_refusals(call);
        if !self.is_of_now(call) {
            return None;
        }
        if self.silent > 0 {
            return self.come_back(call, most);
        }
        self.count(call, false);
        if self.trial.is_some() {
            return self.answered_in_trial(call.ended);
        }
        if call.level.max(call.level_after) * 2 < self.told.min(self.limit) {
            return None;
        }
        self.answers += 1;
        let good = self.known.unwrap_or(most).min(most);
        if self.limit < good {
            self.limit += 1;
        }
        if self.answers < self.told.min(self.limit) {
            return None;
        }
        self.answers = 0;
        self.returned = false;
        if self.limit >= good {
            self.try_further(call.ended, most);
        }
        self.tell()
    }

    /// The first answer of a service that refused everything: it did not mind the number.
    fn come_back(&mut self, call: Call, most: u64) -> Option<Change> {
        self.silent = 0;
        self.returned = true;
        self.limit = self.goal.min(most).max(1);
        self.known = Some(self.limit);
        self.answers = 0;
        self.calm_until = call.ended;
        self.tell()
    }

    /// A window of answers at what is known to be good.
    fn try_further(&mut self, now: u64, most: u64) {
        if self.limit >= most || (now < self.calm_until && !self.searching) {
            return;
        }
        if self.known.is_some_and(|known| self.limit > known) {
            self.calm = 0;
        }
        self.known = self.known.map(|_| self.limit);
        let little = (self.limit / 16).max(1);
        let half_way = self.goal.saturating_sub(self.limit) / 2;
        let step = if self.searching { half_way.max(little) } else { little };
        self.searching &= half_way > little;
        self.limit = (self.limit + step).min(most);
    }

    fn time(&mut self, call: Call) {
        let took = call.ended.saturating_sub(call.began);
        self.round_trip = if self.round_trip == 0 { took } else { (7 * self.round_trip + took) / 8 };
    }
}
