//! What was spent today, told to a table that does not know it.
//!
//! All processes count budgets of a day in the table that they share, and that one is void once the machine was restarted. The
//! journals are not: whoever finds a table that was never told reads today's, once. Two that find it at the same time take
//! turns.

use super::sharing::table_path;
use crate::changes;
use crate::clock;
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::stored::{self, Stored};
use crate::tape::REPLAYED;
use convoke_capacity::Capacity;
use convoke_engine::budget::{Spending, Spent};
use convoke_engine::{DayBudget, Limits, midnight};
use convoke_journal::{StateDir, private_file, write_private};
use convoke_model::{Event, TaskId, Timestamp};
use convoke_schedule::Scheduler;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// Which table was told of which budgets.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Told {
    table: String,
    budgets: Vec<String>,
}

/// Tells the table what was spent today, if nobody has.
pub fn make_known(
    console: &Console,
    state: &StateDir,
    table: &Capacity,
    limits: &Limits,
) -> Result<(), CommandFailure> {
    let budgets = DayBudget::all(limits);
    if budgets.is_empty() || untold(state, &budgets).is_empty() {
        return Ok(());
    }
    let alone = private_file(&state.path().join("today.lock"))?;
    alone.lock().map_err(|error| unwritable(&error))?;
    let untold = untold(state, &budgets);
    let now = clock::now();
    let spent = spent_since(console, state, midnight(now), &untold)?;
    for (budget, spent) in untold.iter().zip(spent) {
        if budget.make_known(table, spent, now)? {
            note(state, budget)?;
        }
    }
    Ok(())
}

/// The budgets that the table was not told of.
fn untold<'a>(state: &StateDir, budgets: &'a [DayBudget]) -> Vec<&'a DayBudget> {
    let told = told(state);
    budgets.iter().filter(|budget| !told.budgets.iter().any(|name| name == budget.name())).collect()
}

/// What this table was told of.
fn told(state: &StateDir) -> Told {
    let text = std::fs::read(path(state)).unwrap_or_default();
    let told: Told = serde_json::from_slice(&text).unwrap_or_default();
    let table = identity(state);
    if told.table == table { told } else { Told { table, budgets: Vec::new() } }
}

fn note(state: &StateDir, budget: &DayBudget) -> Result<(), CommandFailure> {
    let mut told = told(state);
    told.budgets.push(budget.name().to_owned());
    let draft = path(state).with_extension("partial");
    write_private(&draft, &serde_json::to_vec(&told).expect("names are data"))?;
    std::fs::rename(draft, path(state)).map_err(|error| unwritable(&error))
}

fn path(state: &StateDir) -> PathBuf {
    state.path().join("today.json")
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

/// Whose tasks are, by their names; nobody's where nobody asks, or the plan cannot be read any more.
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
