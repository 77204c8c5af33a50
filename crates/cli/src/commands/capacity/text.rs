//! The shared table for people: limits, then their holders, then the waiting requests.

use super::runs::Waiting;
use crate::view::columns::Columns;
use crate::view::format;
use convoke_capacity::{LeaseState, ResourceView, Snapshot};
use convoke_engine::MONEY_UNIT;
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything, as three tables; the last two only if there is something in them.
pub fn table(snapshot: &Snapshot, inside: &[Waiting]) -> String {
    let mut parts = vec![limits(&snapshot.resources)];
    parts.extend(holders(snapshot));
    parts.extend(waiters(snapshot, inside));
    if snapshot.torn {
        parts.push("the table changed while it was looked at: parts may not fit together\n".to_owned());
    }
    parts.join("\n")
}

/// What the table has for a resource without a limit.
const NO_LIMIT: u32 = u32::MAX;

fn limits(resources: &[ResourceView]) -> String {
    let mut table =
        Columns::new(["LIMIT OF", "LIMIT", "IN USE", "QUARANTINED", "LINGERING", "WAITING", "STATE", "FROM"]);
    // A resource without a limit is worth a line only while it pauses.
    let is_unlimited = |resource: &&ResourceView| resource.limit == NO_LIMIT && resource.paused_for.is_none();
    for resource in resources.iter().filter(|resource| !is_unlimited(resource)) {
        table.add_row([
            resource.name.clone(),
            limit(resource),
            amount(&resource.name, resource.in_use.into()),
            amount(&resource.name, resource.quarantined.into()),
            amount(&resource.name, resource.lingering),
            resource.waiting.to_string(),
            resource
                .paused_for
                .map_or("open".to_owned(), |time| format!("paused for {}", format::duration(time))),
            resource.origin.clone(),
        ]);
    }
    table.text()
}

fn limit(resource: &ResourceView) -> String {
    match resource.window {
        Some(window) => {
            format!("{} in {}", amount(&resource.name, resource.limit.into()), format::duration(window))
        }
        None if resource.limit == NO_LIMIT => "-".to_owned(),
        None => resource.limit.to_string(),
    }
}

/// An amount as people say it: dollars where money is counted.
fn amount(of: &str, amount: u64) -> String {
    match of.contains("(money)") {
        true => format::money(amount * MONEY_UNIT),
        false => amount.to_string(),
    }
}

/// What one process holds of one resource.
#[derive(Default)]
struct Held {
    label: String,
    in_use: u32,
    quarantined: u32,
    longest: Duration,
}

fn holders(snapshot: &Snapshot) -> Option<String> {
    let mut held: BTreeMap<(&str, u32, &str), Held> = BTreeMap::new();
    for lease in &snapshot.leases {
        for (name, count) in &lease.amounts {
            let held = held.entry((name, lease.pid, &lease.run)).or_default();
            held.label.clone_from(&lease.label);
            held.longest = held.longest.max(lease.age);
            *(match lease.state {
                LeaseState::Quarantined => &mut held.quarantined,
                _ => &mut held.in_use,
            }) += count;
        }
    }
    let mut table = Columns::new(["HELD", "IN USE", "QUARANTINED", "PID", "RUN", "WORKFLOW", "LONGEST"]);
    for ((name, pid, run), held) in &held {
        table.add_row([
            (*name).to_owned(),
            amount(name, held.in_use.into()),
            amount(name, held.quarantined.into()),
            process(*pid),
            (*run).to_owned(),
            held.label.clone(),
            format::duration(held.longest),
        ]);
    }
    (!held.is_empty()).then(|| table.text())
}

fn waiters(snapshot: &Snapshot, inside: &[Waiting]) -> Option<String> {
    let mut waiting: BTreeMap<(u32, &str, String), (u32, Duration)> = BTreeMap::new();
    for waiter in snapshot.waiters.iter().filter(|waiter| !waiter.granted) {
        let entry = waiting.entry((waiter.pid, &waiter.run, wanted(&waiter.amounts))).or_default();
        *entry = (entry.0 + 1, entry.1.max(waiter.age));
    }
    let mut table = Columns::new(["WAITS FOR", "DEMANDS", "PID", "RUN", "LONGEST"]);
    for ((pid, run, wants), (demands, longest)) in &waiting {
        table.add_row([
            wants.clone(),
            demands.to_string(),
            process(*pid),
            (*run).to_owned(),
            format::duration(*longest),
        ]);
    }
    for waiting in inside {
        let Waiting { pid, run, on, demands } = waiting;
        table.add_row([on.clone(), demands.to_string(), process(*pid), run.clone(), "-".to_owned()]);
    }
    (!waiting.is_empty() || !inside.is_empty()).then(|| table.text())
}

fn wanted(amounts: &[(String, u32)]) -> String {
    let one = |(name, amount): &(String, u32)| format!("{} {name}", self::amount(name, (*amount).into()));
    amounts.iter().map(one).collect::<Vec<_>>().join(" + ")
}

/// A process that has gone has no number any more.
pub fn process(pid: u32) -> String {
    if pid == 0 { "gone".to_owned() } else { pid.to_string() }
}
