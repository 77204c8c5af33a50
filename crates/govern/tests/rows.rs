//! A breaker beside many calls at once: errors by chance never open it, a service that is gone opens it soon.
//!
//! Calls live on a simulated clock; errors come back at once, as late as answers, or later.

use crate::kit::Dice;
use convoke_govern::{
    Admission, Amount, BreakerRules, Demand, Governor, Outcome, Rank, ResourceId, Spec, Used,
};
use convoke_model::{LimitReason, Timestamp};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const MS: u64 = 1_000;
const ANSWER: u64 = 100 * MS;

/// A fan-out against a service that fails at random, or is gone from some moment on.
struct FanOut {
    governor: Governor,
    needs: [ResourceId; 2],
    dice: Dice,
    /// Of a hundred calls so many fail, and after how long.
    failing: u64,
    error: u64,
    /// From when on every call fails.
    gone: u64,
    /// What happens next: an item asks again, or its call comes back, failed or not.
    agenda: BinaryHeap<Reverse<(u64, u64, Option<bool>)>>,
    waiting: Vec<u64>,
    now: u64,
    left: u64,
    /// Calls that were made since the service was gone, and those that came back of them.
    made: u64,
    failed: u64,
    opened: u64,
}

impl FanOut {
    fn new(items: u64, at_once: u64, failing: u64, error: u64, seed: u64) -> FanOut {
        let mut governor = Governor::new(u32::try_from(at_once).unwrap());
        let step = governor.add(Spec::breaker_only("breaker:step", BreakerRules::default())).unwrap();
        let needs = [governor.resource("slots").unwrap(), step];
        let (dice, agenda, waiting) = (Dice::seeded(seed), BinaryHeap::new(), (0..items).collect());
        FanOut {
            governor,
            needs,
            dice,
            failing,
            error,
            gone: u64::MAX,
            agenda,
            waiting,
            now: 0,
            left: items,
            made: 0,
            failed: 0,
            opened: 0,
        }
    }

    /// Until all items are answered, or the breaker opens.
    fn run(mut self) -> FanOut {
        while self.left > 0 && self.opened == 0 {
            let needs = self.needs.map(|need| Amount::of(need, 1));
            for key in std::mem::take(&mut self.waiting) {
                let demand = Demand { key, rank: Rank::default(), needs: &needs };
                self.governor.demand(demand, Timestamp(self.now)).unwrap();
            }
            while let Admission::Granted(key) = self.governor.admit(Timestamp(self.now)) {
                self.call(key);
            }
            let Reverse((at, key, ended)) = self.agenda.pop().expect("something is under way");
            self.now = at;
            match ended {
                None => self.waiting.push(key),
                Some(fails) => self.come_back(key, fails),
            }
        }
        self
    }

    fn call(&mut self, key: u64) {
        let is_gone = self.now >= self.gone;
        let fails = is_gone || self.dice.roll(100) < self.failing;
        self.made += u64::from(is_gone);
        let takes = if fails { self.error } else { ANSWER / 2 + self.dice.roll(ANSWER) };
        self.agenda.push(Reverse((self.now + takes, key, Some(fails))));
    }

    fn come_back(&mut self, key: u64, fails: bool) {
        let outcome = if fails { Outcome::Failed } else { Outcome::Succeeded };
        let learned = self.governor.release(key, Used::AsReserved, outcome, Timestamp(self.now)).unwrap();
        self.opened += learned.iter().filter(|one| one.reason == LimitReason::BreakerOpened).count() as u64;
        if fails {
            self.failed += 1;
            let again = self.now + 500 * MS + self.dice.roll(1_000 * MS);
            self.agenda.push(Reverse((again, key, None)));
        } else {
            self.left -= 1;
        }
    }
}

/// 15 % of all calls fail, of 200 items with 60 and with 200 at once; errors come at once, as late as answers, later.
#[test]
fn errors_by_chance_open_no_breaker_of_a_fan_out() {
    for at_once in [60, 200] {
        for error in [MS, ANSWER, 3 * ANSWER] {
            let opened: Vec<_> = (0..100)
                .filter(|seed| FanOut::new(200, at_once, 15, error, *seed).run().opened > 0)
                .collect();
            assert!(
                opened.is_empty(),
                "{at_once} at once, errors after {error} us: opened for seeds {opened:?}"
            );
        }
    }
}

/// One by one, three failures in a row are enough, whatever was before.
#[test]
fn calls_that_are_made_one_by_one_need_three_failures() {
    for seed in 0..50 {
        let mut service = FanOut::new(1_000, 1, 5, MS, seed);
        service.gone = 2_000 * MS;
        let (now, ended) = (service.gone, service.run());
        assert!(ended.opened == 1 && (ended.now < now || ended.made <= 3), "{} calls", ended.made);
        let mut gone = FanOut::new(10, 1, 0, MS, seed);
        gone.gone = 0;
        assert_eq!(gone.run().made, 3);
    }
}

/// A service that is gone opens it when the calls that were under way have failed, also where it has failed at random before.
#[test]
fn a_service_that_is_gone_opens_it_when_what_was_under_way_has_failed() {
    for at_once in [2, 5, 60, 200] {
        for failing in [0, 15] {
            for seed in 0..10 {
                let mut service = FanOut::new(20 * at_once + 100, at_once, failing, ANSWER, seed);
                service.gone = 1_000 * MS;
                let ended = service.run();
                assert_eq!(ended.opened, 1);
                let most = 3 * at_once.max(8);
                assert!(ended.made <= most, "{at_once} at once, {failing} %: {} calls", ended.made);
            }
        }
    }
}
