//! The shared table for programs.

use super::runs::{self, Waiting};
use convoke_capacity::{LeaseState, LeaseView, ResourceView, Snapshot, WaiterView};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

/// The whole table. Where there is none, `table` is null and every list is empty.
pub fn table(path: &Path, snapshot: Option<&Snapshot>, inside: &[Waiting]) -> Value {
    let Some(snapshot) = snapshot else {
        return json!({"table": null, "limits": [], "leases": [], "waiting": []});
    };
    let counters = &snapshot.counters;
    json!({
        "table": path.display().to_string(),
        "limits": snapshot.resources.iter().map(|resource| limit(resource, snapshot)).collect::<Vec<_>>(),
        "leases": snapshot.leases.iter().map(lease).collect::<Vec<_>>(),
        "waiting": snapshot.waiters.iter().map(waiter).collect::<Vec<_>>(),
        "waiting_in_runs": inside.iter().map(runs::record).collect::<Vec<_>>(),
        "since_boot": {
            "grants": counters.grants,
            "releases": counters.releases,
            "double_releases": counters.double_releases,
            "late_releases": counters.late_releases,
            "stale_tokens": counters.stale_tokens,
            "double_consumes": counters.double_consumes,
            "lost_leases": counters.lost_leases,
            "quarantined": counters.quarantined,
            "reclaimed": counters.reclaimed,
            "takeovers": counters.takeovers,
            "recoveries": counters.recoveries,
            "stuck": counters.stuck,
        },
        "held_by": snapshot.held_by,
        "torn": snapshot.torn,
    })
}

fn limit(resource: &ResourceView, snapshot: &Snapshot) -> Value {
    let holders = snapshot.holders(&resource.name).into_iter().map(|holding| {
        json!({
            "pid": pid(holding.pid),
            "run": holding.run,
            "workflow": holding.label,
            "in_use": holding.in_use,
            "quarantined": holding.quarantined,
        })
    });
    json!({
        "name": resource.name,
        "limit": (resource.limit != u32::MAX).then_some(resource.limit),
        "origin": resource.origin,
        "set": resource.by_hand,
        "window_ms": resource.window.map(millis),
        "in_use": resource.in_use,
        "quarantined": resource.quarantined,
        "lingering": resource.lingering,
        "eases_in_ms": resource.eases_in.map(millis),
        "paused_for_ms": resource.paused_for.map(millis),
        "waiting": resource.waiting,
        "holders": holders.collect::<Vec<_>>(),
    })
}

fn lease(lease: &LeaseView) -> Value {
    json!({
        "token": lease.token,
        "pid": pid(lease.pid),
        "run": lease.run,
        "workflow": lease.label,
        "amounts": amounts(&lease.amounts),
        "state": state(lease.state),
        "age_ms": millis(lease.age),
        "left_ms": millis(lease.left),
    })
}

fn waiter(waiter: &WaiterView) -> Value {
    json!({
        "pid": pid(waiter.pid),
        "run": waiter.run,
        "workflow": waiter.label,
        "amounts": amounts(&waiter.amounts),
        "age_ms": millis(waiter.age),
        "granted": waiter.granted,
    })
}

fn state(state: LeaseState) -> &'static str {
    match state {
        LeaseState::Free => "free",
        LeaseState::Held => "held",
        LeaseState::Consumed => "consumed",
        LeaseState::Quarantined => "quarantined",
    }
}

fn amounts(amounts: &[(String, u32)]) -> Map<String, Value> {
    amounts.iter().map(|(name, amount)| (name.clone(), json!(amount))).collect()
}

/// A process that has gone has no number.
fn pid(pid: u32) -> Option<u32> {
    (pid != 0).then_some(pid)
}

/// Whole milliseconds.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
