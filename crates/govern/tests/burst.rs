//! A burst of refusals, as an engine meets it: the governor is asked again only when something ends or is due.

use convoke_govern::{Admission, Amount, BreakerRules, Demand, Governor, Outcome, Rank, Spec, Used};
use convoke_model::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

#[test]
fn a_burst_that_is_refused_does_not_leave_the_line_idle() {
    let mut governor = Governor::new(300);
    let slots = governor.resource("slots").unwrap();
    let model =
        governor.add(Spec::slots("model", 300).learn_from(300).breaker(BreakerRules::default())).unwrap();
    let needs = [Amount::of(slots, 1), Amount::of(model, 1)];
    let rank = Rank::default();
    let at = |micros: u64| Timestamp(1_000_000_000 + micros);
    (0..3_000).for_each(|key| governor.demand(Demand { key, rank, needs: &needs }, at(0)).unwrap());
    // What is due: ends of calls, and demands that come back. The provider meets a burst in another order than it was made
    // in, so whom it refuses has nothing to do with how many were in flight before.
    let mut due: BTreeMap<(u64, u64), bool> = BTreeMap::new();
    let mut burst: Vec<u64> = Vec::new();
    let (mut now, mut open, mut done, mut refused) = (0, 0_u64, 0, 0);
    while done < 3_000 {
        let mut opens = None;
        loop {
            match governor.admit(at(now)) {
                Admission::Granted(key) => {
                    open += 1;
                    burst.push(key);
                }
                Admission::Blocked { until, .. } => {
                    opens = until.map(|until| until.0 - at(0).0);
                    break;
                }
                _ => break,
            }
        }
        let before = open - burst.len() as u64;
        burst.reverse();
        for (place, key) in burst.drain(..).enumerate() {
            let good = before + (place as u64) < 40;
            due.insert((now + if good { 200_000 } else { 3_000 }, key), good);
        }
        let next = due.keys().next().map(|(time, _)| *time);
        now = [next, opens].into_iter().flatten().min().expect("somebody is under way, or will be").max(now);
        while let Some((&(time, key), &good)) = due.iter().next()
            && time <= now
        {
            due.remove(&(time, key));
            open -= 1;
            let retry_after = Some(Duration::from_secs(1));
            let outcome = if good { Outcome::Succeeded } else { Outcome::RateLimited { retry_after } };
            governor.release(key, Used::AsReserved, outcome, at(now)).unwrap();
            done += u64::from(good);
            refused += u64::from(!good);
            if !good {
                governor.demand(Demand { key, rank, needs: &needs }, at(now)).unwrap();
            }
        }
        assert!(now < 60_000_000, "{done} done, {refused} refused after a minute");
    }
    assert!(now < 20_000_000 && refused < 600, "{now} µs, {refused} refused");
}
