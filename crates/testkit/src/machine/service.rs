//! The model service that all processes ask: what it works on, counts, refuses and is paid for.
//!
//! It is the judge of what was promised to it: calls at once, requests and tokens per minute, money. It counts a call at any
//! moment between its arrival and its end; one whose connection was closed is paid for in full.

use super::agenda::Life;
use super::scenario::{INPUT, PRICE, Promised, WORST};
use convoke_model::Timestamp;
use convoke_schedule::TaskIx;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

const MINUTE: u64 = 60_000_000;
const DAY: u64 = 86_400_000_000;

/// A call that the service works on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub life: Life,
    pub task: TaskIx,
    pub attempt: u32,
    /// What comes back; `None`: it is refused.
    pub output: Option<u64>,
    counted: bool,
}

/// Tokens, and what they cost in millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bill {
    pub tokens: u64,
    pub micros: u64,
}

impl Bill {
    fn add(&mut self, tokens: u64) {
        self.tokens += tokens;
        self.micros += tokens * PRICE;
    }

    fn less(&mut self, tokens: u64) {
        self.tokens -= tokens;
        self.micros -= tokens * PRICE;
    }
}

/// What was counted in the last minute.
#[derive(Debug, Default)]
struct Window {
    counted: VecDeque<(Timestamp, u64)>,
    sum: u64,
}

impl Window {
    fn count(&mut self, count: u64, limit: Option<u64>, what: &str, now: Timestamp) {
        while let Some((at, old)) = self.counted.front().copied().filter(|(at, _)| at.0 + MINUTE <= now.0) {
            debug_assert!(at < now);
            self.sum -= old;
            self.counted.pop_front();
        }
        self.counted.push_back((now, count));
        self.sum += count;
        if let Some(limit) = limit {
            assert!(self.sum <= limit, "{} {what} within a minute, and {limit} are allowed", self.sum);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Service {
    last: u64,
    calls: BTreeMap<u64, Call>,
    promised: Promised,
    requests: Window,
    tokens: Window,
    /// By run: what has to be paid, at worst while that is not known.
    bills: BTreeMap<usize, Bill>,
    /// By day: what was counted.
    days: BTreeMap<u64, Bill>,
    pub most: usize,
}

impl Service {
    pub fn new(promised: Promised) -> Service {
        Service { promised, ..Service::default() }
    }

    pub fn in_flight(&self) -> usize {
        self.calls.len()
    }

    /// A call arrives. Until more is known it has used all that it may.
    pub fn arrive(
        &mut self,
        life: Life,
        task: TaskIx,
        attempt: u32,
        output: Option<u64>,
        now: Timestamp,
    ) -> u64 {
        self.last += 1;
        self.calls.insert(self.last, Call { life, task, attempt, output, counted: false });
        self.most = self.most.max(self.calls.len());
        if let Some(limit) = self.promised.at_once {
            assert!(self.calls.len() as u64 <= limit, "{} calls at once, {limit} are allowed", self.most);
        }
        self.requests.count(1, self.promised.requests, "requests", now);
        let bill = self.bills.entry(life.run).or_default();
        bill.add(WORST);
        if let Some(limit) = self.promised.run_tokens {
            assert!(bill.tokens <= limit, "a run spends {} tokens of {limit}", bill.tokens);
        }
        if let Some(limit) = self.promised.run_micros {
            assert!(bill.micros <= limit, "a run spends {} micros of {limit}", bill.micros);
        }
        self.last
    }

    /// The service counts what a call uses.
    pub fn count(&mut self, call: u64, now: Timestamp) {
        let Some(call) = self.calls.get_mut(&call) else { return };
        if std::mem::replace(&mut call.counted, true) {
            return;
        }
        let (run, used) = (call.life.run, call.output.map_or(0, |output| INPUT + output));
        self.bills.entry(run).or_default().less(WORST - used);
        self.charge(used, now);
    }

    fn charge(&mut self, used: u64, now: Timestamp) {
        self.tokens.count(used, self.promised.tokens, "tokens", now);
        let day = self.days.entry(now.0 / DAY).or_default();
        day.add(used);
        if let Some(limit) = self.promised.day_tokens {
            assert!(day.tokens <= limit, "{} tokens in a day, {limit} are allowed", day.tokens);
        }
        if let Some(limit) = self.promised.day_micros {
            assert!(day.micros <= limit, "{} micros in a day, {limit} are allowed", day.micros);
        }
    }

    /// A call has its answer. `None`: its connection was closed before.
    pub fn answer(&mut self, call: u64, now: Timestamp) -> Option<Call> {
        self.count(call, now);
        self.calls.remove(&call)
    }

    /// The connection of a call is closed. It is paid for in full.
    pub fn close(&mut self, call: u64, now: Timestamp) {
        if let Some(call) = self.calls.remove(&call)
            && !call.counted
        {
            self.charge(WORST, now);
        }
    }

    /// The calls of a process.
    pub fn of(&self, life: Life) -> Vec<u64> {
        self.calls.iter().filter(|(_, call)| call.life == life).map(|(number, _)| *number).collect()
    }

    /// What a run has to pay.
    pub fn bill(&self, run: usize) -> Bill {
        self.bills.get(&run).copied().unwrap_or_default()
    }
}

/// The longest that a call takes.
pub(super) const LONGEST: Duration = Duration::from_secs(25);
