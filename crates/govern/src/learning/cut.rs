//! What refusals say: the limit falls by as many as were refused.
//!
//! A call that is refused while n are in flight says that one less was good. So of n that were in flight together, n less all
//! that are refused are good, whichever they are: calls do not arrive in the order in which they were made. Those that were in
//! flight when the first was refused are a *round*; a refusal of a call that began later begins the next one.
//!
//! Not every refusal is about the number:
//! - Two in a hundred are no overload where the number is believed to be good, nor is what a trial has found to be usual.
//! - Where every call of a round is refused, the service minds something else. It is left alone for as long as it says; the first
//!   answer brings back what there was.
//! - Where a number is refused that was just found to be good, there is a trial (`trial`).

use crate::learning::in_a_row::{FEW, Verdict};
use crate::learning::knowledge::{Call, Change, Knowledge, Push, Round};
use crate::learning::tally::Tally;

/// Where two in a hundred are refused or fewer, and the number is believed to be good, nothing is concluded from it.
const STRAYS: Tally = Tally { calls: 100, refused: 2 };

/// The last calls, over which strays are counted.
const RECENT: u64 = 1_024;

/// A service that refuses at least one in so many of those in flight asks to be left alone.
const CROWD: u64 = 3;

/// Cuts at numbers that were believed to be good, after which there is a trial.
const STRIKES: u64 = 3;

/// After as many round trips without a cut, earlier ones say nothing about the next.
const FORGIVEN: u64 = 32;

/// The first calm after a cut, in round trips; it doubles with each try that fails.
const FIRST_CALM_TRIPS: u64 = 2;
/// The longest calm, in round trips.
const LONGEST_CALM_TRIPS: u64 = 64;
/// Where trying costs a pause, the calm is so many pauses at least.
const CALM_PAUSES: u64 = 20;
/// The longest calm, in microseconds.
const LONGEST_CALM: u64 = 600_000_000;

impl Knowledge {
    /// A refusal. Says how far the limit has fallen, where that is worth telling.
    pub(crate) fn push_back(&mut self, call: Call, push: Push) -> Option<Change> {
        let (of_round, crowded) = (self.is_of_round(call), self.is_crowded());
        self.enter_round(call, of_round);
        if !crowded && self.is_crowded() {
            self.widen_round(call);
        }
        if !of_round && self.silent > 0 {
            self.silent += 1;
            return None;
        }
        if self.is_of_now(call) {
            self.count(call, true);
        }
        match self.refused_in_a_row(call) {
            Verdict::Open => {}
            Verdict::Full => return self.cut_to_those_in_flight(call, push),
            Verdict::Silent => return self.fall_silent(1),
        }
        if self.trial.is_some() && !self.is_crowded() {
            return if self.is_of_now(call) { self.refused_in_trial(call.ended) } else { None };
        }
        if self.is_chance(call) { None } else { self.cut(call, push) }
    }

    fn enter_round(&mut self, call: Call, of_round: bool) {
        match &mut self.round {
            Some(round) if of_round => {
                round.tally.refused += 1;
                round.tally.calls = round.tally.calls.max(round.tally.refused);
            }
            _ => {
                let tally = Tally { calls: call.level.max(call.level_after).max(1), refused: 1 };
                self.round = Some(Round { at: call.ended, tally, cut: false });
            }
        }
    }

    /// The service is to be left alone from now on, so no calls follow: all that are in flight are of this round, also those
    /// that began after its first refusal.
    fn widen_round(&mut self, call: Call) {
        if let Some(round) = &mut self.round {
            round.at = call.ended;
            round.tally.calls = round.tally.calls.max(round.tally.refused + call.level_after - 1);
        }
    }

    /// Calls are refused one after the other, and those that were in flight before are neither refused nor answered yet: the
    /// service takes these and no more.
    fn cut_to_those_in_flight(&mut self, call: Call, push: Push) -> Option<Change> {
        let from = self.limit.min(push.most.max(call.level_after));
        let first = self.round.is_some_and(|round| !round.cut);
        if first {
            self.begin_cut(call, from);
        }
        self.in_a_row = None;
        self.limit = from.min(call.level_after - 1);
        self.known = Some(self.limit);
        self.calm_until = call.ended + push.pause + self.calm;
        self.tell_fall(from, first)
    }

    /// Counts a call of now towards what is believed of the service.
    pub(crate) fn count(&mut self, call: Call, refused: bool) {
        self.believed = self.believed.saturating_sub(1);
        if self.believed == 0 {
            self.usual = Tally::default();
        }
        if self.strikes > 0 && self.trial.is_none() {
            self.doubted.add(refused);
        }
        if self.is_believed(call.level) {
            self.recent.add_fading(refused, RECENT);
        }
    }

    /// Whether so many at once are believed to be good.
    fn is_believed(&self, level: u64) -> bool {
        self.known.is_none_or(|known| level <= known)
    }

    /// Whether what was refused of this round is explained without the number.
    fn is_chance(&self, call: Call) -> bool {
        let round = self.round.map(|round| round.tally).unwrap_or_default();
        let usual = self.usual.by_chance(round.calls);
        !self.is_crowded() && round.refused <= usual.max(self.strays(call, round.calls))
    }

    /// How many of a round may be refused though nothing is wrong with the number: strays, where it is believed to be good; as
    /// many as there, where more is tried.
    fn strays(&self, call: Call, calls: u64) -> u64 {
        let recent = Tally { calls: self.recent.calls.max(calls), ..self.recent };
        match self.is_believed(call.level) {
            true if recent.refused <= STRAYS.by_chance(recent.calls).max(1) => STRAYS.by_chance(calls).max(1),
            true => 0,
            false => recent.by_chance(calls),
        }
    }

    /// Whether so much of the last round was refused that the service is to be left alone for a while.
    pub(crate) fn is_crowded(&self) -> bool {
        let Some(Round { tally, .. }) = self.round else { return false };
        self.silent > 0 || (tally.refused >= FEW && tally.refused * CROWD >= tally.calls)
    }

    /// Whether every call that was under way is refused, be it only one: no answer says otherwise.
    pub(crate) fn is_refused_whole(&self) -> bool {
        self.round.is_some_and(|round| round.tally.refused >= round.tally.calls)
    }

    fn cut(&mut self, call: Call, push: Push) -> Option<Change> {
        let Round { tally, cut, .. } = self.round?;
        let from = self.limit.min(push.most.max(call.level_after));
        let (first, tried) = (!cut, !self.is_believed(call.level) && !self.searching);
        if first {
            self.begin_cut(call, from);
        }
        if self.is_crowded() {
            // A try that fails like this costs a pause.
            self.calm = self.calm.max(CALM_PAUSES * push.pause).min(LONGEST_CALM);
            // And that many at once is neither chance nor usual.
            (self.usual, self.believed, self.trial) = (Tally::default(), 0, None);
        }
        self.calm_until = call.ended + push.pause + self.calm;
        if tally.refused >= tally.calls && call.level_after <= 1 {
            return self.fall_silent(from.saturating_sub(tally.refused).max(1));
        }
        let good = self.good(call, tally, from, first);
        // A try that fails goes back to what it began with.
        let before = self.known.filter(|_| tried).unwrap_or(good);
        self.limit = from.min(good).min(before).max(1);
        self.known = Some(self.limit);
        if first && self.strikes >= STRIKES {
            self.begin_trial(from.min(call.level.max(tally.calls)));
        }
        self.tell_fall(from, first)
    }

    /// How many are good, as far as this round shows.
    fn good(&self, call: Call, tally: Tally, from: u64, first: bool) -> u64 {
        let excess = tally.refused - self.usual.expected(tally.calls).min(tally.refused - 1);
        // Where few are in flight, they say little about many.
        let few = tally.calls * 2 < from && !self.is_crowded();
        match (few, first) {
            // Those that are in flight besides are not refused so far.
            (false, _) => tally.calls.saturating_sub(excess).max(call.level_after.saturating_sub(1)),
            (true, true) => from.saturating_sub(excess),
            (true, false) => from - 1,
        }
    }

    /// The first refusal of a round that is about the number.
    fn begin_cut(&mut self, call: Call, from: u64) {
        let tried = !self.is_believed(call.level);
        if call.ended > self.calm_until + FORGIVEN * self.round_trip {
            (self.strikes, self.doubted) = (0, Tally::default());
        }
        if self.strikes == 0 {
            self.goal = from;
        }
        self.strikes += u64::from(!tried);
        self.stay_calm(tried);
        (self.answers, self.searching) = (0, false);
        (self.cut_at, self.recent) = (Some(call.ended), Tally::default());
        if let Some(round) = &mut self.round {
            round.cut = true;
        }
    }

    /// Every call of a round was refused: calls are few until one is answered, and then as many as before. If that was tried
    /// just now, half of it.
    fn fall_silent(&mut self, limit: u64) -> Option<Change> {
        self.limit = limit;
        self.known.get_or_insert(limit);
        if self.silent == 0 {
            self.silent = 1;
            let collapsed =
                self.returned && self.round.is_some_and(|round| round.tally.calls * 2 > self.goal);
            self.goal = if collapsed { (self.goal / 2).max(1) } else { self.goal };
            (self.trial, self.strikes, self.returned) = (None, 0, false);
        }
        self.tell()
    }

    /// People are told of the first refusal and whenever a quarter is gone.
    fn tell_fall(&mut self, from: u64, first: bool) -> Option<Change> {
        if first {
            self.told = from;
        }
        if first || self.limit * 4 <= self.told * 3 { self.tell() } else { None }
    }

    /// A provider that takes less than it did is no try that failed.
    fn stay_calm(&mut self, tried: bool) {
        let least = FIRST_CALM_TRIPS * self.round_trip;
        let doubled = if tried { (self.calm * 2).min(LONGEST_CALM) } else { 0 };
        let longest = self.calm.max(LONGEST_CALM_TRIPS * self.round_trip);
        self.calm = doubled.max(least).min(longest);
    }
}
