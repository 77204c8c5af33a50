//! Money: reserved at the worst case, settled at what it cost, and what happens when it is gone.

use crate::kit;

use convoke_govern::{
    Admission, Amount, BudgetRules, Demand, Governor, Misconfigured, Outcome, Period, Rank, Refused,
    ResourceId, Rules, Spec, Used, WhenSpent,
};
use convoke_model::Timestamp;
use kit::{NOW, ask, free, grant};

const DAY: u64 = 86_400_000_000;

fn budget(limit: u64, rules: BudgetRules) -> (Governor, ResourceId) {
    let mut governor = Governor::with(Rules::default());
    let id = governor.add(Spec::budget("run", limit, rules)).expect("a budget");
    (governor, id)
}

fn settle(governor: &mut Governor, key: u64, used: Amount) {
    governor.release(key, Used::Amounts(&[used]), Outcome::Succeeded, NOW).expect("it holds a permit");
}

#[test]
fn the_worst_case_is_reserved_and_what_is_left_comes_back() {
    let (mut governor, run) = budget(32, BudgetRules::money());
    let needs = [Amount::of(run, 20)];
    ask(&mut governor, 1, Rank::default(), &needs).expect("taken");
    ask(&mut governor, 2, Rank::default(), &needs).expect("nothing is spent yet");
    assert_eq!(grant(&mut governor), Some(1));
    assert_eq!(governor.admit(NOW), Admission::Blocked { key: 2, on: run, until: None });
    settle(&mut governor, 1, Amount::of(run, 5));
    assert_eq!(grant(&mut governor), Some(2));
    settle(&mut governor, 2, Amount::of(run, 25));
    assert_eq!(governor.metrics(NOW).spent["run"], 30, "more than was reserved is told as it is");
}

#[test]
fn when_it_is_gone_the_answer_says_what_was_configured() {
    for then in [WhenSpent::Stop, WhenSpent::Ask, WhenSpent::Degrade("small".into())] {
        let (mut governor, run) =
            budget(32, BudgetRules { when_spent: then.clone(), ..BudgetRules::money() });
        let needs = [Amount::of(run, 20)];
        ask(&mut governor, 1, Rank::default(), &needs).expect("taken");
        ask(&mut governor, 2, Rank::default(), &needs).expect("taken");
        assert_eq!(grant(&mut governor), Some(1));
        assert!(matches!(governor.admit(NOW), Admission::Blocked { .. }), "the first one may cost less");
        settle(&mut governor, 1, Amount::of(run, 20));
        assert_eq!(governor.admit(NOW), Admission::Spent { key: 2, on: run, then: then.clone() });
        assert_eq!(governor.admit(NOW), Admission::Idle, "it waits no longer");
        let refused = ask(&mut governor, 3, Rank::default(), &needs);
        assert_eq!(refused, Err(Refused::Spent { resource: "run".into(), then }));
        ask(&mut governor, 4, Rank::default(), &[Amount::of(run, 12)]).expect("a cheaper one can be paid");
        assert_eq!(grant(&mut governor), Some(4));
    }
}

#[test]
fn a_queued_demand_waits_for_the_next_day() {
    let rules = BudgetRules { when_spent: WhenSpent::Queue, period: Period::Day, ..BudgetRules::tokens() };
    let (mut governor, day) = budget(30, rules);
    let needs = [Amount::of(day, 20)];
    let noon = Timestamp(10 * DAY + DAY / 2);
    governor.charge(Amount::of(day, 15), noon);
    governor.demand(Demand { key: 1, rank: Rank::default(), needs: &needs }, noon).expect("taken");
    let midnight = Timestamp(11 * DAY);
    assert_eq!(governor.admit(noon), Admission::Blocked { key: 1, on: day, until: Some(midnight) });
    assert_eq!(governor.admit(midnight), Admission::Granted(1));
}

#[test]
fn a_child_draws_from_its_parents_and_two_children_do_not_cost_twice() {
    let (mut governor, run) = budget(31, BudgetRules::money());
    let child = |name: &str, parent, limit, governor: &mut Governor| {
        let rules = BudgetRules { parent: Some(parent), ..BudgetRules::money() };
        governor.add(Spec::budget(name, limit, rules)).expect("a budget")
    };
    let group = child("group", run, 25, &mut governor);
    let role = child("role", run, 20, &mut governor);
    let sub = child("sub", group, 24, &mut governor);
    let needs = [Amount::of(sub, 18), Amount::of(role, 18)];
    ask(&mut governor, 1, Rank::default(), &needs).expect("taken");
    assert_eq!(grant(&mut governor), Some(1));
    let used: Vec<_> =
        governor.explain(NOW).into_iter().map(|standing| (standing.name, standing.used)).collect();
    let expected = ["run", "group", "role", "sub"].map(|name| (name.to_owned(), 18));
    assert_eq!(used, expected);
    ask(&mut governor, 2, Rank::default(), &[Amount::of(run, 14)]).expect("taken");
    assert_eq!(governor.admit(NOW), Admission::Blocked { key: 2, on: run, until: None });
    governor
        .release(1, Used::Amounts(&[Amount::of(sub, 9), Amount::of(role, 9)]), Outcome::Succeeded, NOW)
        .expect("it holds a permit");
    assert_eq!(governor.metrics(NOW).spent.values().copied().collect::<Vec<_>>(), [9; 4]);
    assert_eq!(grant(&mut governor), Some(2));
    free(&mut governor, 2);
    assert_eq!(governor.metrics(NOW).spent["run"], 23, "as reserved, if nobody says otherwise");
}

#[test]
fn what_an_earlier_process_has_spent_is_spent() {
    let (mut governor, run) = budget(31, BudgetRules::money());
    let rules = BudgetRules { parent: Some(run), ..BudgetRules::money() };
    let role = governor.add(Spec::budget("role", 31, rules)).expect("a budget");
    governor.charge(Amount::of(role, 25), NOW);
    assert_eq!(governor.metrics(NOW).spent, [("role".into(), 25), ("run".into(), 25)].into());
    let refused = ask(&mut governor, 1, Rank::default(), &[Amount::of(role, 7)]);
    assert!(matches!(refused, Err(Refused::Spent { .. })), "{refused:?}");
}

#[test]
fn an_auditing_budget_only_counts() {
    let (mut governor, run) = budget(10, BudgetRules { audit: true, ..BudgetRules::money() });
    for key in 0..5 {
        ask(&mut governor, key, Rank::default(), &[Amount::of(run, 8)]).expect("taken");
        assert_eq!(grant(&mut governor), Some(key));
        free(&mut governor, key);
    }
    let standing = &governor.explain(NOW)[0];
    assert_eq!((standing.used, standing.spent, standing.audit), (0, Some(40), Some(4)));
}

#[test]
fn a_call_that_never_began_costs_nothing() {
    let (mut governor, run) = budget(10, BudgetRules::money());
    ask(&mut governor, 1, Rank::default(), &[Amount::of(run, 8)]).expect("taken");
    assert_eq!(grant(&mut governor), Some(1));
    governor.release(1, Used::Nothing, Outcome::Unknown, NOW).expect("it holds a permit");
    assert_eq!(governor.explain(NOW)[0].used, 0);
}

#[test]
fn a_budget_draws_only_from_its_like() {
    let (mut governor, run) = budget(10, BudgetRules::money());
    let slots = governor.add(Spec::slots("slots", 1)).expect("a limit");
    for (name, rules) in [
        ("tokens", BudgetRules { parent: Some(run), ..BudgetRules::tokens() }),
        ("slots' child", BudgetRules { parent: Some(slots), ..BudgetRules::money() }),
    ] {
        assert_eq!(governor.add(Spec::budget(name, 1, rules)), Err(Misconfigured::Parent(name.into())));
    }
    assert_eq!(governor.add(Spec::slots("run", 1)), Err(Misconfigured::Twice("run".into())));
}
