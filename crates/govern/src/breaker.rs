//! Stops asking what does not answer, and asks again with one probe at a time.
//!
//! How many failures in a row it takes is `row`'s to say.

mod row;

use crate::adapt::Outcome;
use crate::spec::BreakerRules;
use convoke_model::LimitReason;
use row::Row;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Every call may pass.
    Closed,
    /// No call may pass until then.
    Open { until: u64 },
    /// One at a time; so many have succeeded.
    HalfOpen { probing: bool, successes: u32 },
}

/// A breaker of one resource.
#[derive(Debug)]
pub(crate) struct Breaker {
    rules: BreakerRules,
    state: State,
    row: Row,
    /// Times it has opened since it was last closed.
    opened: u32,
}

/// Whether a call may pass a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Free,
    /// Not before this moment; unknown while a probe is out.
    Wait(Option<u64>),
}

impl Breaker {
    pub fn new(rules: BreakerRules) -> Breaker {
        Breaker { rules, state: State::Closed, row: Row::default(), opened: 0 }
    }

    pub fn pass(&self, now: u64) -> Pass {
        match self.state {
            State::Open { until } if now < until => Pass::Wait(Some(until)),
            State::HalfOpen { probing: true, .. } => Pass::Wait(None),
            _ => Pass::Free,
        }
    }

    /// A call passes; true if it is a probe.
    pub fn enter(&mut self) -> bool {
        self.row.enter();
        match &mut self.state {
            State::Closed => false,
            State::Open { .. } => {
                self.state = State::HalfOpen { probing: true, successes: 0 };
                true
            }
            State::HalfOpen { probing, .. } => {
                *probing = true;
                true
            }
        }
    }

    /// The outcome of a call that passed, and when it began. Says what changed: why, and until when the breaker is open now.
    pub fn observe(
        &mut self,
        outcome: Outcome,
        probe: bool,
        began: u64,
        now: u64,
    ) -> Option<(LimitReason, u64)> {
        match &mut self.state {
            State::Closed if !probe => {
                self.row.note(outcome, began);
                self.row.is_long(self.rules.failures).then(|| self.open(now))
            }
            State::HalfOpen { probing, successes } if probe => {
                self.row.leave();
                *probing = false;
                if outcome == Outcome::Succeeded {
                    *successes += 1;
                    return (*successes >= self.rules.successes).then(|| self.close());
                }
                outcome.is_failure().then(|| self.open(now))
            }
            // Calls from before it opened say nothing new.
            _ => {
                self.row.leave();
                None
            }
        }
    }

    fn open(&mut self, now: u64) -> (LimitReason, u64) {
        let cool_down = self.rules.cool_down.saturating_mul(1 << self.opened.min(16)).min(self.rules.longest);
        let until = now.saturating_add(cool_down.as_micros() as u64);
        self.opened += 1;
        self.row.forget();
        self.state = State::Open { until };
        (LimitReason::BreakerOpened, until)
    }

    fn close(&mut self) -> (LimitReason, u64) {
        self.opened = 0;
        self.row.forget();
        self.state = State::Closed;
        (LimitReason::BreakerClosed, 0)
    }

    /// Until when it is open; none if it is closed or probing.
    pub fn open_until(&self, now: u64) -> Option<u64> {
        match self.state {
            State::Open { until } if now < until => Some(until),
            _ => None,
        }
    }

    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SECOND: u64 = 1_000_000;

    fn breaker() -> Breaker {
        Breaker::new(BreakerRules {
            failures: 3,
            successes: 2,
            cool_down: Duration::from_secs(10),
            longest: Duration::from_secs(15),
        })
    }

    fn broken() -> Breaker {
        let mut breaker = breaker();
        for _ in 0..3 {
            breaker.observe(Outcome::TimedOut, false, 0, 0);
        }
        breaker
    }

    #[test]
    fn failures_in_a_row_open_it_and_probes_close_it() {
        let mut breaker = broken();
        assert_eq!(breaker.pass(9 * SECOND), Pass::Wait(Some(10 * SECOND)));
        assert_eq!(breaker.pass(10 * SECOND), Pass::Free);
        assert!(breaker.enter());
        assert_eq!(breaker.pass(10 * SECOND), Pass::Wait(None), "one probe at a time");
        assert_eq!(breaker.observe(Outcome::Succeeded, true, 11 * SECOND, 11 * SECOND), None);
        assert!(breaker.enter());
        let closed = breaker.observe(Outcome::Succeeded, true, 12 * SECOND, 12 * SECOND);
        assert_eq!(closed, Some((LimitReason::BreakerClosed, 0)));
        assert!(breaker.is_closed() && !breaker.enter());
    }

    #[test]
    fn a_failed_probe_opens_it_for_longer() {
        let mut breaker = broken();
        breaker.enter();
        let opened = breaker.observe(Outcome::Failed, true, 10 * SECOND, 10 * SECOND);
        assert_eq!(opened, Some((LimitReason::BreakerOpened, 25 * SECOND)), "at most 15 seconds");
    }

    #[test]
    fn a_success_between_failures_keeps_it_closed_and_a_full_provider_is_alive() {
        let mut breaker = breaker();
        let outcomes =
            [Outcome::Failed, Outcome::Failed, Outcome::Succeeded, Outcome::Failed, Outcome::Failed];
        for (now, outcome) in (1..).zip(outcomes) {
            assert_eq!(breaker.observe(outcome, false, now, now), None);
        }
        let limited = Outcome::RateLimited { retry_after: None };
        assert_eq!(breaker.observe(limited, false, 6, 6), None);
        assert!(breaker.observe(Outcome::Failed, false, 7, 7).is_some());
    }

    #[test]
    fn what_was_under_way_when_it_opened_changes_nothing() {
        let mut breaker = broken();
        assert_eq!(breaker.observe(Outcome::Failed, false, SECOND, SECOND), None);
        assert_eq!(breaker.observe(Outcome::Succeeded, false, SECOND, SECOND), None);
        assert_eq!(breaker.pass(SECOND), Pass::Wait(Some(10 * SECOND)));
    }

    #[test]
    fn a_probe_that_was_cancelled_makes_room_for_another() {
        let mut breaker = broken();
        breaker.enter();
        assert_eq!(breaker.observe(Outcome::Unknown, true, 10 * SECOND, 10 * SECOND), None);
        assert_eq!(breaker.pass(10 * SECOND), Pass::Free);
    }
}
