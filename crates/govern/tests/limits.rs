//! Never above a limit, never idle with work that fits: a random life against a model that counts everything by hand.

use convoke_govern::{
    Admission, Amount, BudgetRules, Counts, Demand, Governor, Origin, Outcome, Rank, Refused, ResourceId,
    Rules, Spec, Used, WhenSpent,
};
use convoke_model::Timestamp;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
/// What settled amounts may count longer than a minute: one bucket of the window.
const GRAIN: u64 = MINUTE / 240;

#[derive(Debug, Clone)]
enum Step {
    Demand { class: u8, priority: u8, tenant: u8, needs: [u64; 5] },
    Withdraw(usize),
    Arrive(usize),
    Release { which: usize, percent: u64 },
    Wait(u64),
    Limit { which: usize, limit: u64 },
    Share(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let needs = [0u64..3, 0u64..3, 0u64..2, 0u64..9, 0u64..25];
    prop_oneof![
        6 => (0u8..3, 0u8..5, 0u8..3, needs).prop_map(|(class, priority, tenant, needs)| {
            Step::Demand { class, priority, tenant, needs }
        }),
        1 => any::<usize>().prop_map(Step::Withdraw),
        2 => any::<usize>().prop_map(Step::Arrive),
        6 => (any::<usize>(), 0u64..=100).prop_map(|(which, percent)| Step::Release { which, percent }),
        3 => (1u64..40 * SECOND).prop_map(Step::Wait),
        1 => (0usize..2, 1u64..6).prop_map(|(which, limit)| Step::Limit { which, limit }),
        1 => (0u64..8).prop_map(Step::Share),
    ]
}

/// A call that was granted.
#[derive(Debug, Clone)]
struct Call {
    needs: [u64; 5],
    began: u64,
    /// When the provider counted it as a request.
    arrived: Option<u64>,
    /// When it ended, and what it used of the rate of tokens and of the budget.
    ended: Option<(u64, u64, u64)>,
}

/// Slots, slots, requests per minute, tokens per minute, money of a role that draws from the run's.
struct Life {
    governor: Governor,
    ids: [ResourceId; 5],
    limits: [u64; 5],
    run_limit: u64,
    /// What the process holds of the first.
    share: u64,
    waiting: BTreeMap<u64, [u64; 5]>,
    calls: BTreeMap<u64, Call>,
    now: u64,
    next: u64,
}

impl Life {
    fn new() -> Life {
        let mut governor = Governor::with(Rules { passes: 4, ..Rules::default() });
        let rules = BudgetRules { when_spent: WhenSpent::Queue, ..BudgetRules::money() };
        let run = governor.add(Spec::budget("run", 90, rules.clone())).expect("a budget");
        let child = BudgetRules { parent: Some(run), ..rules };
        let ids = [
            governor.add(Spec::slots("slots", 4)).expect("a limit"),
            governor.add(Spec::slots("model", 3)).expect("a limit"),
            governor.add(Spec::per_minute("requests", 6, Counts::Arrivals)).expect("a limit"),
            governor.add(Spec::per_minute("tokens", 20, Counts::Ends)).expect("a limit"),
            governor.add(Spec::budget("role", 70, child)).expect("a budget"),
        ];
        let limits = [4, 3, 6, 20, 70];
        let (waiting, calls) = (BTreeMap::new(), BTreeMap::new());
        let (run_limit, share) = (90, u64::MAX);
        Life { governor, ids, limits, run_limit, share, waiting, calls, now: MINUTE, next: 0 }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Demand { class, priority, tenant, needs } => self.demand(class, priority, tenant, needs),
            Step::Withdraw(which) => self.withdraw(which),
            Step::Arrive(which) => self.arrive(which),
            Step::Release { which, percent } => self.release(which, percent),
            Step::Wait(time) => self.now += time,
            Step::Limit { which, limit } => {
                let set =
                    self.governor.set_limit(self.ids[which], limit, Origin::Operator, Timestamp(self.now));
                set.expect("one or more");
                self.limits[which] = limit;
            }
            Step::Share(held) => {
                self.governor.set_share(self.ids[0], Some(held));
                self.share = held;
            }
        }
    }

    /// What may be in use of each.
    fn bounds(&self) -> [u64; 5] {
        let mut bounds = self.limits;
        bounds[0] = bounds[0].min(self.share);
        bounds
    }

    fn demand(&mut self, class: u8, priority: u8, tenant: u8, needs: [u64; 5]) {
        let key = self.next;
        self.next += 1;
        let tenant = self.governor.tenant(&format!("tenant {tenant}"));
        let amounts: Vec<_> =
            self.ids.iter().zip(needs).filter(|(_, n)| *n > 0).map(|(id, n)| Amount::of(*id, n)).collect();
        let demand =
            Demand { key, rank: Rank { class, tenant, priority, path: 0, order: 0 }, needs: &amounts };
        match self.governor.demand(demand, Timestamp(self.now)) {
            Ok(()) => {
                self.waiting.insert(key, needs);
            }
            Err(Refused::NeverFits { .. }) => {
                let never = needs.iter().zip(self.limits).any(|(need, limit)| *need > limit);
                assert!(never, "{needs:?} was refused though it can fit into {:?}", self.limits);
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn withdraw(&mut self, which: usize) {
        let Some(key) = pick(self.waiting.keys(), which) else { return };
        assert!(self.governor.withdraw(key));
        assert!(!self.governor.withdraw(key));
        self.waiting.remove(&key);
    }

    fn running(&self) -> impl Iterator<Item = (&u64, &Call)> {
        self.calls.iter().filter(|(_, call)| call.ended.is_none())
    }

    fn arrive(&mut self, which: usize) {
        let Some(key) = pick(self.running().map(|(key, _)| key), which) else { return };
        self.governor.arrived(key, Timestamp(self.now)).expect("it holds a permit");
        self.calls.get_mut(&key).expect("it runs").arrived.get_or_insert(self.now);
    }

    fn release(&mut self, which: usize, percent: u64) {
        let Some(key) = pick(self.running().map(|(key, _)| key), which) else { return };
        let call = self.calls.get_mut(&key).expect("it runs");
        let (tokens, money) = (call.needs[3] * percent / 100, call.needs[4] * percent / 100);
        let used = [Amount::of(self.ids[3], tokens), Amount::of(self.ids[4], money)];
        let now = Timestamp(self.now);
        self.governor.release(key, Used::Amounts(&used), Outcome::Unknown, now).expect("it holds a permit");
        assert!(self.governor.release(key, Used::Nothing, Outcome::Unknown, now).is_err(), "only once");
        call.arrived.get_or_insert(self.now);
        call.ended = Some((self.now, tokens, money));
    }

    fn admit_all(&mut self) {
        loop {
            match self.governor.admit(Timestamp(self.now)) {
                Admission::Granted(key) => {
                    let needs = self.waiting.remove(&key).expect("who is granted waited");
                    let call = Call { needs, began: self.now, arrived: None, ended: None };
                    self.calls.insert(key, call);
                    let used = self.used(0);
                    for (at, need) in needs.iter().enumerate() {
                        let bound = self.bounds()[at];
                        assert!(*need == 0 || used[at] <= bound, "{at}: {used:?} of {bound}");
                    }
                    assert!(used[5] <= self.run_limit, "the run pays {} of {}", used[5], self.run_limit);
                }
                Admission::Blocked { until, .. } => {
                    assert!(until.is_none_or(|until| until.0 > self.now), "a moment ahead");
                    return self.nobody_fits();
                }
                Admission::Idle => return assert!(self.waiting.is_empty()),
                Admission::Spent { .. } => panic!("these budgets make work wait"),
            }
        }
    }

    /// What is in use of each, and of the run's budget, if settled amounts count for so much longer than a minute.
    fn used(&self, longer: u64) -> [u64; 6] {
        let mut used = [0; 6];
        for call in self.calls.values() {
            let recent = |at: u64| at + MINUTE + longer > self.now;
            let runs = u64::from(call.ended.is_none());
            used[0] += call.needs[0] * runs;
            used[1] += call.needs[1] * runs;
            used[2] += call.needs[2] * u64::from(call.arrived.is_none_or(recent));
            used[3] +=
                call.ended.map_or(call.needs[3], |(at, tokens, _)| if recent(at) { tokens } else { 0 });
            let money = call.ended.map_or(call.needs[4], |(_, _, money)| money);
            used[4] += money;
            used[5] += money;
        }
        used
    }

    fn nobody_fits(&mut self) {
        let used = self.used(GRAIN);
        let standing = self.governor.explain(Timestamp(self.now));
        let kept: Vec<u64> = standing.iter().map(|standing| standing.held_back).collect();
        let names = ["slots", "model", "requests", "tokens", "role"];
        let kept = names.map(|name| kept[standing.iter().position(|s| s.name == name).expect("known")]);
        let bounds = self.bounds();
        for (key, needs) in &self.waiting {
            let short = (0..5).any(|at| needs[at] > 0 && used[at] + kept[at] + needs[at] > bounds[at]);
            let short = short || needs[4] > 0 && used[5] + kept[4] + needs[4] > self.run_limit;
            assert!(short, "{key} fits and waits: {needs:?}, used {used:?} of {bounds:?}, kept {kept:?}");
        }
    }

    /// What a provider saw that counted every call at a moment of its own choice.
    fn provider_saw(
        &self,
        at: usize,
        moment: impl Fn(&Call) -> u64,
        count: impl Fn(&Call) -> u64,
        limit: u64,
    ) {
        let mut seen: Vec<_> = self.calls.values().map(|call| (moment(call), count(call))).collect();
        seen.sort_unstable();
        for (from, _) in &seen {
            let window: u64 =
                seen.iter().filter(|(m, _)| (*from..*from + MINUTE).contains(m)).map(|(_, n)| n).sum();
            assert!(window <= limit, "{at}: {window} of {limit} in a minute from {from}");
        }
    }
}

fn pick<'a>(keys: impl Iterator<Item = &'a u64>, which: usize) -> Option<u64> {
    let keys: Vec<_> = keys.collect();
    keys.get(which.checked_rem(keys.len())?).map(|key| **key)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn limits_hold_and_nobody_who_fits_waits(steps in prop::collection::vec(step(), 1..150), early in any::<bool>()) {
        let mut life = Life::new();
        for step in steps {
            life.take(step);
            life.admit_all();
            prop_assert_eq!(life.governor.waiting(), life.waiting.len());
            prop_assert_eq!(life.governor.held(), life.running().count());
        }
        let seen = |call: &Call| call.arrived.unwrap_or(life.now);
        let end = |call: &Call| call.ended.map_or(life.now, |(at, _, _)| at);
        let moment = |call: &Call, last: u64| if early { call.began } else { last };
        life.provider_saw(2, |call| moment(call, seen(call)), |call| call.needs[2], 6);
        life.provider_saw(3, |call| moment(call, end(call)), |call| call.ended.map_or(call.needs[3], |e| e.1), 20);
        life.provider_saw(
            3,
            |call| call.began + (end(call) - call.began) / 3,
            |call| call.ended.map_or(call.needs[3], |e| e.1),
            20,
        );
        let spent = life.governor.metrics(Timestamp(life.now)).spent;
        let paid: u64 = life.calls.values().filter_map(|call| call.ended).map(|(_, _, money)| money).sum();
        prop_assert_eq!((spent["role"], spent["run"]), (paid, paid));
    }
}

#[test]
fn who_waits_for_more_than_a_lowered_limit_is_told_and_waits_no_longer() {
    let mut governor = Governor::with(Rules::default());
    let gpu = governor.add(Spec::slots("gpu", 4)).unwrap();
    for (key, count) in [(1, 4), (2, 3), (3, 1)] {
        let needs = [Amount::of(gpu, count)];
        governor.demand(Demand { key, rank: Rank::default(), needs: &needs }, Timestamp(1)).unwrap();
    }
    assert_eq!(governor.admit(Timestamp(1)), Admission::Granted(1));
    assert_eq!(governor.impossible(Timestamp(2)), [], "all can be had one after the other");
    governor.set_limit(gpu, 2, Origin::Operator, Timestamp(3)).unwrap();
    let why = Refused::NeverFits { resource: "gpu".into(), count: 3, limit: 2 };
    assert_eq!(governor.impossible(Timestamp(3)), [(2, why)]);
    governor.release(1, Used::AsReserved, Outcome::Succeeded, Timestamp(4)).unwrap();
    assert_eq!(governor.admit(Timestamp(4)), Admission::Granted(3), "who fits goes on");
    assert_eq!(governor.waiting(), 0);
}
