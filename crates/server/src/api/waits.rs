//! Why a task waits: each permit that it lacks, who holds it, and when it may come.
//!
//! What the task waits for is in its run's journal; who holds that is in the table that processes share, and which task each holder runs is in
//! the holder's own journal. A moment is told where one is known: a time that was set, the end of a pause, or what attempts of the holding
//! run take on average. Otherwise nothing is told.

use super::at::now;
use crate::following::{Hub, Seen};
use crate::shapes::{HolderOf, WaitsFor};
use convoke_capacity::{Capacity, LeaseView, ResourceView, Snapshot};
use convoke_model::{RunId, TaskId, Timestamp};
use convoke_view::{Phase, Wait};
use std::collections::HashMap;
use std::time::Duration;

/// Holders that are named.
const MOST_HOLDERS: usize = 50;

/// Runs whose journals are read for what they hold.
const MOST_RUNS: usize = 5;

/// What a task of a run waits for, by its journal.
pub(super) fn of(seen: &Seen, task: &TaskId) -> Option<Wait> {
    match &seen.picture.state.tasks.get(task)?.phase {
        Phase::Waiting(wait) => Some(wait.clone()),
        _ => None,
    }
}

/// In full, with holders. Waits for the disk.
pub(super) fn told(hub: &Hub, run: &RunId, wait: &Wait, words: &str) -> Vec<WaitsFor> {
    let plain = |until| vec![WaitsFor { text: words.to_owned(), limit: None, holders: Vec::new(), until }];
    match wait {
        Wait::Capacity(on) => {
            let table = Capacity::observe(&hub.host.capacity_table(&hub.state)).ok().flatten();
            let permits = table.map(|table| permits(hub, &table, run, on)).unwrap_or_default();
            if permits.is_empty() { plain(None) } else { permits }
        }
        Wait::Retry(at) | Wait::Until(at) => plain(Some(*at)),
        Wait::Person(_) | Wait::Children => plain(None),
    }
}

/// The one that the run names, and of the demand that waits with it each other one that is used up.
fn permits(hub: &Hub, table: &Snapshot, run: &RunId, on: &str) -> Vec<WaitsFor> {
    let mut runs = Runs { hub, known: HashMap::new() };
    lacking(table, run, on).into_iter().map(|resource| permit(&mut runs, table, resource)).collect()
}

fn lacking<'a>(table: &'a Snapshot, run: &RunId, on: &str) -> Vec<&'a ResourceView> {
    let is_own = |run_of: &str| *run_of == *run.0;
    let mut demands = table.waiters.iter().filter(|waiter| is_own(&waiter.run) && !waiter.granted);
    let demand = demands.find(|waiter| waiter.amounts.iter().any(|(name, _)| name == on));
    let wanted = |name: &str| {
        let amounts = demand.iter().flat_map(|waiter| &waiter.amounts);
        amounts.filter(|(of, _)| of == name).map(|(_, amount)| u64::from(*amount)).next()
    };
    let is_lacking = |resource: &&ResourceView| {
        resource.name == on
            || wanted(&resource.name).is_some_and(|amount| {
                let used = u64::from(resource.in_use) + u64::from(resource.quarantined) + resource.lingering;
                resource.paused_for.is_some() || used + amount > u64::from(resource.limit)
            })
    };
    let mut lacking: Vec<&ResourceView> = table.resources.iter().filter(is_lacking).collect();
    lacking.sort_by_key(|resource| resource.name != on);
    lacking
}

fn permit(runs: &mut Runs<'_>, table: &Snapshot, resource: &ResourceView) -> WaitsFor {
    let holds = |lease: &&LeaseView| lease.amounts.iter().any(|(name, _)| *name == resource.name);
    let mut leases: Vec<&LeaseView> = table.leases.iter().filter(holds).collect();
    leases.sort_by_key(|lease| std::cmp::Reverse(lease.age));
    let (_, factor) = crate::shapes::unit_of(&resource.name);
    let amount = |units: u64| match factor {
        1 => convoke_view::words::count(units),
        _ => convoke_view::words::money(units * factor),
    };
    let used = amount(u64::from(resource.in_use) + u64::from(resource.quarantined) + resource.lingering);
    let text = match resource.paused_for {
        Some(_) => format!("{}: it pauses, {} waiting", resource.name, resource.waiting),
        None => format!(
            "{}: {used} of {} in use, {} waiting",
            resource.name,
            amount(resource.limit.into()),
            resource.waiting
        ),
    };
    let releases = leases.iter().filter_map(|lease| runs.left(lease)).min();
    let until = resource.paused_for.or(resource.eases_in).or(releases);
    let holders = leases.into_iter().take(MOST_HOLDERS).map(|lease| HolderOf {
        run: (!lease.run.is_empty()).then(|| lease.run.clone()),
        task: runs.task(lease).map(|task| task.to_string()),
        held_ms: crate::shapes::millis(lease.age),
    });
    let limit = Some(resource.name.clone());
    WaitsFor { text, limit, holders: holders.collect(), until: until.map(from_now) }
}

fn from_now(time: Duration) -> Timestamp {
    Timestamp(now().0.saturating_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)))
}

/// Runs that hold something, each looked at once.
struct Runs<'a> {
    hub: &'a Hub,
    known: HashMap<String, Held>,
}

/// What a run that holds something tells of it.
#[derive(Default)]
struct Held {
    tasks: HashMap<u64, TaskId>,
    /// What an attempt of it takes on average, where some have ended.
    usual: Option<Duration>,
}

impl Runs<'_> {
    fn of(&mut self, run: &str) -> Option<&Held> {
        if !self.known.contains_key(run) {
            if self.known.len() >= MOST_RUNS {
                return None;
            }
            let follower = self.hub.holder(run);
            let held = follower.map(|follower| follower.look(held)).unwrap_or_default();
            self.known.insert(run.to_owned(), held);
        }
        self.known.get(run)
    }

    fn task(&mut self, lease: &LeaseView) -> Option<TaskId> {
        self.of(&lease.run)?.tasks.get(&lease.token).cloned()
    }

    /// How long an attempt still takes, if it takes what others took. One that is late already tells nothing.
    fn left(&mut self, lease: &LeaseView) -> Option<Duration> {
        self.of(&lease.run)?.usual?.checked_sub(lease.age)
    }
}

fn held(seen: &Seen) -> Held {
    let ran = seen.picture.table.rows().iter().filter(|row| row.attempts > 0 && !row.ran.is_zero());
    let (count, all) =
        ran.fold((0, Duration::ZERO), |(count, all), row| (count + row.attempts, all + row.ran));
    Held { tasks: seen.leases.clone(), usual: (count > 0).then(|| all / count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_capacity::WaiterView;

    fn resource(name: &str, limit: u32, in_use: u32) -> ResourceView {
        ResourceView {
            name: name.to_owned(),
            limit,
            origin: String::new(),
            by_hand: false,
            window: None,
            in_use,
            quarantined: 0,
            lingering: 0,
            eases_in: None,
            paused_for: None,
            waiting: 1,
        }
    }

    #[test]
    fn a_demand_lacks_what_is_used_up_and_names_are_whole() {
        let waiter = WaiterView {
            ticket: 1,
            pid: 1,
            label: String::new(),
            run: "r".to_owned(),
            amounts: vec![
                ("model m".to_owned(), 1),
                ("model m2".to_owned(), 1),
                ("budget of the day (money)".to_owned(), 3),
            ],
            age: Duration::ZERO,
            granted: false,
        };
        let table = Snapshot {
            resources: vec![
                resource("budget of the day (money)", 10, 8),
                resource("model m", 2, 2),
                resource("model m2", 2, 1),
                resource("model", 1, 1),
            ],
            waiters: vec![waiter],
            ..Snapshot::default()
        };
        let names = |run: &str| {
            let lacking = lacking(&table, &RunId(run.into()), "model m");
            lacking.into_iter().map(|resource| resource.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names("r"), ["model m", "budget of the day (money)"]);
        assert_eq!(names("other"), ["model m"], "another run's demand is not its own");
    }
}
