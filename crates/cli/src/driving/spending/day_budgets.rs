//! Budgets of a day: enters what was spent today into a capacity table that does not hold it yet.
//!
//! All processes count budgets of a day in the table that they share, and a restart of the machine makes that table void. The
//! journals stay: a process that finds a table without today's spending reads them, once. Two processes that find it at the same
//! time take turns.

use super::super::machine_capacity::table_path;
use crate::cassette::REPLAYED;
use crate::changes;
use crate::clock;
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::stored::{self, Stored};
use convoke_capacity::Capacity;
use convoke_engine::budget::{Spending, Spent};
use convoke_engine::{DayBudget, Limits, midnight};
use convoke_failpoint::failpoint;
use convoke_journal::{StateDir, private_file, replace_private};
use convoke_model::{Event, TaskId, Timestamp};
use convoke_schedule::Scheduler;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The budgets that were entered into a table.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Entered {
    table: String,
    budgets: Vec<String>,
}

/// Enters what was spent today, unless the table holds it.
pub fn enter(
    console: &Console,
    state: &StateDir,
    table: &Capacity,
    limits: &Limits,
) -> Result<(), CommandFailure> {
    let budgets = DayBudget::all(limits);
    if budgets.is_empty() || missing(state, &budgets).is_empty() {
        return Ok(());
    }
    let alone = private_file(&state.path().join("day-budgets.lock"))?;
    alone.lock().map_err(|error| unwritable(&error))?;
    failpoint!("day_budgets.locked");
    let missing = missing(state, &budgets);
    let now = clock::now();
    let spent = spent_since(console, state, midnight(now), &missing)?;
    for (budget, spent) in missing.iter().zip(spent) {
        if budget.make_known(table, spent, now)? {
            failpoint!("day_budgets.entered");
            note(state, budget)?;
            failpoint!("day_budgets.noted");
        }
    }
    Ok(())
}

/// The budgets that the table does not hold yet.
fn missing<'a>(state: &StateDir, budgets: &'a [DayBudget]) -> Vec<&'a DayBudget> {
    let entered = entered(state);
    budgets.iter().filter(|budget| !entered.budgets.iter().any(|name| name == budget.name())).collect()
}

/// The budgets that this table holds.
fn entered(state: &StateDir) -> Entered {
    let text = std::fs::read(path(state)).unwrap_or_default();
    let entered: Entered = serde_json::from_slice(&text).unwrap_or_default();
    let table = identity(state);
    if entered.table == table { entered } else { Entered { table, budgets: Vec::new() } }
}

fn note(state: &StateDir, budget: &DayBudget) -> Result<(), CommandFailure> {
    let mut entered = entered(state);
    entered.budgets.push(budget.name().to_owned());
    Ok(replace_private(&path(state), &serde_json::to_vec(&entered).expect("names are data"))?)
}

fn path(state: &StateDir) -> PathBuf {
    state.path().join("day-budgets.json")
}

/// A table is another one when the machine was restarted, or its file was made again.
fn identity(state: &StateDir) -> String {
    let file = std::fs::metadata(table_path(state)).ok();
    let made = file.as_ref().and_then(|file| file.created().ok()?.duration_since(UNIX_EPOCH).ok());
    let number = file.map(|file| file.ino()).unwrap_or_default();
    format!("{} {number} {}", stored::ourselves().boot, made.unwrap_or_default().as_nanos())
}

/// What all runs have spent of each budget since a moment.
fn spent_since(
    console: &Console,
    state: &StateDir,
    since: Timestamp,
    budgets: &[&DayBudget],
) -> Result<Vec<u64>, CommandFailure> {
    let mut sums = vec![0; budgets.len()];
    let rows = stored::list(state)?.into_iter();
    for row in rows.filter(|row| row.finished_at.is_none_or(|end| end >= since)) {
        match Stored::open(state, &row.id.0) {
            Ok(run) => add(state, &run, since, budgets, &mut sums),
            Err(failure) => console
                .warn(&format!("what run `{}` has spent today is not counted: {}", row.id, failure.message)),
        }
    }
    Ok(sums)
}

fn add(state: &StateDir, run: &Stored, since: Timestamp, budgets: &[&DayBudget], sums: &mut [u64]) {
    if is_played_back(run) {
        return;
    }
    let spending = Spending::of(&run.events);
    let today: Vec<&Spent> = spending.all().filter(|spent| spent.at >= since).collect();
    let tenants = tenants(state, run, budgets.iter().any(|budget| budget.tenant.is_some()));
    for (budget, sum) in budgets.iter().zip(sums) {
        let pays = |spent: &&&Spent| {
            budget.tenant.is_none() || tenants(&spent.task).as_deref() == budget.tenant.as_deref()
        };
        *sum += today.iter().filter(pays).map(|spent| budget.part(&spent.usage)).sum::<u64>();
    }
}

/// What is played back costs nothing.
fn is_played_back(run: &Stored) -> bool {
    matches!(run.events.first().map(|first| &first.event), Some(Event::RunStarted(started)) if started.metadata.contains_key(REPLAYED))
}

/// The tenants of tasks, by their names; none if no budget needs them, or if the plan cannot be read any more.
fn tenants(state: &StateDir, run: &Stored, wanted: bool) -> impl Fn(&TaskId) -> Option<Arc<str>> {
    let plan = wanted.then(|| run.reader.meta().ok()).flatten();
    let plan =
        plan.and_then(|meta| changes::stored_plan(state, &run.run, &meta, || Ok(run.events.clone())).ok());
    let scheduler = plan.map(|plan| Scheduler::new(Arc::new(plan)));
    move |task| scheduler.as_ref()?.budget_scopes_of(task).1
}

fn unwritable(error: &std::io::Error) -> CommandFailure {
    CommandFailure::new(crate::exit::Exit::State, format!("what was spent today cannot be noted: {error}"))
}
