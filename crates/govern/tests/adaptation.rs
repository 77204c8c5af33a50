//! What is learned from calls: breakers with probes, limits that providers name, what is kept of it.

use crate::kit;

use convoke_govern::{
    Admission, Amount, BreakerRules, Counts, Demand, Governor, Learned, LearnedLimit, Origin, Outcome, Rank,
    ResourceId, Rules, Spec, Used,
};
use convoke_model::{Class, Failure, LimitReason, LimitSetting, Timestamp};
use kit::{NOW, ask, free, grant};
use std::time::Duration;

const SECOND: u64 = 1_000_000;

const RULES: BreakerRules = BreakerRules {
    failures: 5,
    successes: 3,
    cool_down: Duration::from_secs(30),
    longest: Duration::from_secs(600),
};

fn call(governor: &mut Governor, key: u64, needs: &[Amount], outcome: Outcome, now: u64) -> usize {
    let now = Timestamp(now);
    governor.demand(Demand { key, rank: Rank::default(), needs }, now).expect("taken");
    assert_eq!(governor.admit(now), Admission::Granted(key));
    governor.release(key, Used::AsReserved, outcome, now).expect("it holds a permit").len()
}

/// F-V2: a dead provider stops its own calls and no others, and is asked again by one call at a time.
#[test]
fn a_dead_provider_is_left_alone_and_probed() {
    let mut governor = Governor::with(Rules::default());
    let slots = governor.add(Spec::slots("slots", 9)).expect("a limit");
    let dead = governor.add(Spec::breaker_only("provider:dead", RULES)).expect("a breaker");
    let fine = governor.add(Spec::breaker_only("provider:fine", RULES)).expect("a breaker");
    let (to_dead, to_fine) =
        ([Amount::of(slots, 1), Amount::of(dead, 1)], [Amount::of(slots, 1), Amount::of(fine, 1)]);
    for key in 0..4 {
        assert_eq!(call(&mut governor, key, &to_dead, Outcome::TimedOut, NOW.0), 0);
    }
    assert_eq!(call(&mut governor, 4, &to_dead, Outcome::TimedOut, NOW.0), 1, "the fifth failure opens it");
    (10..13).for_each(|key| ask(&mut governor, key, Rank::default(), &to_dead).expect("taken"));
    let opens = Timestamp(NOW.0 + 30 * SECOND);
    assert_eq!(governor.admit(NOW), Admission::Blocked { key: 10, on: dead, until: Some(opens) });
    ask(&mut governor, 20, Rank::default(), &to_fine).expect("taken");
    assert_eq!(grant(&mut governor), Some(20), "others are not affected");
    assert_eq!(governor.admit(opens), Admission::Granted(10));
    assert_eq!(
        governor.admit(opens),
        Admission::Blocked { key: 11, on: dead, until: None },
        "one probe at a time"
    );
    for key in [10, 11, 12] {
        let adapted = governor.release(key, Used::AsReserved, Outcome::Succeeded, opens).expect("held");
        let closed = adapted.first().is_some_and(|adapted| adapted.reason == LimitReason::BreakerClosed);
        assert_eq!(closed, key == 12, "the third success closes it");
        let next = governor.admit(opens);
        assert!(key == 12 || next == Admission::Granted(key + 1), "{next:?}");
    }
}

#[test]
fn what_headers_say_is_an_upper_bound() {
    let mut governor = Governor::with(Rules::default());
    let requests = governor.add(Spec::per_minute("requests", 100, Counts::Arrivals)).expect("a limit");
    let seen = governor.limits_seen(requests, Some(50), Some(48), NOW).expect("it is less");
    assert_eq!(
        (seen.from, seen.to, seen.reason, seen.setting),
        (100, 50, LimitReason::HeadersSeen, LimitSetting::Limit)
    );
    assert_eq!(governor.limits_seen(requests, Some(50), None, NOW), None, "nothing new");
    let standing = &governor.explain(NOW)[0];
    assert_eq!((standing.effective, standing.effective_origin), (50, Origin::Provider));
    assert_eq!(standing.used, 2, "somebody else uses the same key");
    assert_eq!(governor.limits_seen(requests, Some(500), None, NOW).map(|seen| seen.to), Some(100));
}

#[test]
fn a_rate_says_when_there_is_room() {
    let mut governor = Governor::with(Rules::default());
    let requests = governor.add(Spec::per_minute("requests", 2, Counts::Arrivals)).expect("a limit");
    let needs = [Amount::of(requests, 1)];
    (0..3).for_each(|key| ask(&mut governor, key, Rank::default(), &needs).expect("taken"));
    assert_eq!((grant(&mut governor), grant(&mut governor)), (Some(0), Some(1)));
    assert_eq!(governor.admit(NOW), Admission::Blocked { key: 2, on: requests, until: None });
    governor.arrived(0, NOW).expect("it holds a permit");
    let room = Timestamp(NOW.0 + 60 * SECOND);
    assert_eq!(governor.admit(NOW), Admission::Blocked { key: 2, on: requests, until: Some(room) });
    free(&mut governor, 0);
    assert_eq!(governor.admit(room), Admission::Granted(2), "though the first two may still be running");
}

fn learning(start: u64) -> (Governor, ResourceId) {
    let mut governor = Governor::with(Rules::default());
    let model = governor.add(Spec::slots("model", 100).learn_from(start)).expect("a limit");
    (governor, model)
}

#[test]
fn a_refusal_pauses_the_service_for_every_call_and_says_so() {
    let (mut governor, model) = learning(10);
    let needs = [Amount::of(model, 1)];
    (0..12).for_each(|key| ask(&mut governor, key, Rank::default(), &needs).expect("taken"));
    (0..10).for_each(|key| assert_eq!(grant(&mut governor), Some(key)));
    let refused = Outcome::RateLimited { retry_after: Some(Duration::from_secs(7)) };
    let told: Vec<_> = (6..10)
        .rev()
        .flat_map(|key| governor.release(key, Used::Nothing, refused, NOW).expect("held"))
        .collect();
    let told: Vec<_> = told.iter().map(|a| (a.setting, a.from, a.to, a.reason)).collect();
    let until = NOW.0 + 7 * SECOND;
    let expected = [
        (LimitSetting::Limit, 10, 8, LimitReason::RateLimited),
        (LimitSetting::PausedUntil, 0, until, LimitReason::RateLimited),
        (LimitSetting::Limit, 8, 6, LimitReason::RateLimited),
    ];
    assert_eq!(told, expected, "one of ten is a stray, two are a limit, four ask everybody to wait");
    (0..6).for_each(|key| free(&mut governor, key));
    match governor.admit(NOW) {
        Admission::Blocked { until: Some(opens), .. } => assert!(opens.0 >= until, "never earlier"),
        other => panic!("{other:?}"),
    }
    assert_eq!(governor.explain(NOW)[0].paused_until, Some(Timestamp(until)));
}

#[test]
fn failures_have_outcomes() {
    let of = |class| Outcome::of(&Failure::new(class, "x"));
    assert_eq!(of(Class::RateLimit), Outcome::RateLimited { retry_after: None });
    assert_eq!(of(Class::InvalidOutput), Outcome::Invalid, "an answer, and no use");
    assert_eq!(of(Class::Cancelled), Outcome::Unknown);
    assert_eq!(of(Class::Permission), Outcome::Unknown, "a revoked key is not a busy provider");
}

#[test]
fn an_operator_can_change_what_is_learned_within() {
    let (mut governor, model) = learning(80);
    governor.set_limit(model, 40, Origin::Operator, NOW).expect("a limit");
    let standing = &governor.explain(NOW)[0];
    assert_eq!((standing.effective, standing.effective_origin), (40, Origin::Operator));
    governor.set_limit(model, 200, Origin::Operator, NOW).expect("a limit");
    let standing = &governor.explain(NOW)[0];
    assert_eq!((standing.effective, standing.effective_origin), (80, Origin::Learned));
}

#[test]
fn what_is_too_old_is_forgotten() {
    let (mut governor, resource) = learning(10);
    assert_eq!(governor.learned(Timestamp(0)), Learned::default(), "nobody has asked for less");
    let name = governor.name(resource).to_owned();
    let limit = LearnedLimit { limit: 10, known: Some(10), at: Timestamp(0) };
    let learned = Learned([(name, limit)].into());
    let (mut fresh, _) = learning(20);
    assert_eq!(fresh.remember(&learned, Timestamp(8 * 86_400 * SECOND)), []);
    assert_eq!(fresh.remember(&learned, Timestamp(6 * 86_400 * SECOND)).len(), 1);
    assert_eq!(governor.remember(&learned, Timestamp(SECOND)), [], "nothing has changed");
}

/// Answers that are of no use are failures for a breaker, and answers for a limit that is learned.
#[test]
fn invalid_answers_open_a_breaker() {
    let mut governor = Governor::with(Rules::default());
    let step = governor.add(Spec::breaker_only("step", BreakerRules::default())).expect("a breaker");
    let needs = [Amount::of(step, 1)];
    for key in 0..2 {
        assert_eq!(call(&mut governor, key, &needs, Outcome::Invalid, NOW.0), 0);
        assert_eq!(governor.broken_until(step, NOW), None);
    }
    assert_eq!(call(&mut governor, 2, &needs, Outcome::Invalid, NOW.0), 1, "the third opens it");
    assert_eq!(governor.broken_until(step, NOW), Some(Timestamp(NOW.0 + 30 * SECOND)));
}
