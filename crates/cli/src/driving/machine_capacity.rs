//! This process's part in what all processes of one state directory share.

use crate::failure::CommandFailure;
use convoke_capacity::{Capacity, Error, Identity, Options};
use convoke_engine::{Limits, Shares, Stated};
use convoke_handover::folder_key;
use convoke_journal::StateDir;
use convoke_model::RunId;
use convoke_plan::{Kind, Node, Plan, Span};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A command without a time limit may go on for this long after its process was stopped.
const ANY_TIME: Duration = Duration::from_secs(24 * 3600);

/// How long a run waits at its start for a process that has the table for itself and does not go on.
const PATIENCE: Duration = Duration::from_secs(30);

/// The name of attempts at once, of all processes together.
pub const MACHINE: &str = "machine";

/// Where the table is.
pub fn table_path(state: &StateDir) -> PathBuf {
    state.path().join("capacity")
}

/// Takes part for a run, whose attempts are bounded by `machine` together with those of all others. A process that is
/// stopped for longer than `lease` is cut off from its services.
pub fn take_part(
    state: &StateDir,
    run: &RunId,
    plan: &Plan,
    machine: &Stated,
    lease: Duration,
) -> Result<(Shares, Option<String>), CommandFailure> {
    let options = Options { max_call_time: longest_call(plan), ..Options::default() };
    let table = open(state, &plan.root().name, &run.0, options)?;
    let remark = patiently(|| agree(&table, machine)).map_err(unusable)?;
    Ok((Shares { table: Arc::new(table), time_to_live: lease }, remark))
}

/// Limits as `convoke capacity set` has set them for the live machine, which goes over the configuration.
pub fn as_set(mut limits: Limits, state: &StateDir) -> Limits {
    if limits.resources.is_empty() && limits.tenants.is_empty() {
        return limits;
    }
    let path = table_path(state);
    let table = path.exists().then(|| Capacity::observe(&path).ok().flatten()).flatten().unwrap_or_default();
    let set = |name: String| {
        let found = table.resources.iter().find(|resource| resource.by_hand && resource.name == name)?;
        Some(Stated { limit: found.limit.into(), origin: found.origin.clone() })
    };
    for (name, stated) in &mut limits.resources {
        *stated = set(format!("resource:{name}")).unwrap_or_else(|| stated.clone());
    }
    for tenant in limits.tenants.iter_mut().filter(|tenant| tenant.concurrency.is_some()) {
        tenant.concurrency = set(format!("tenant:{}", tenant.name)).or(tenant.concurrency.take());
    }
    limits
}

/// Takes part without a run of its own.
pub fn watch(state: &StateDir, label: &str) -> Result<Capacity, CommandFailure> {
    open(state, label, "", Options::default())
}

fn open(state: &StateDir, label: &str, run: &str, options: Options) -> Result<Capacity, CommandFailure> {
    let here = std::env::current_dir().unwrap_or_default().display().to_string();
    let identity = Identity { label: label.to_owned(), run: run.to_owned(), working_dir: folder_key(&here) };
    patiently(|| Capacity::open(&table_path(state), &identity, options.clone())).map_err(unusable)
}

/// A process that was stopped while it held the table mostly continues soon: a run need not fail for that.
fn patiently<T>(mut act: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let begin = Instant::now();
    loop {
        match act() {
            // It has waited already before it says so.
            Err(Error::Stuck { .. }) if begin.elapsed() < PATIENCE => {}
            result => return result,
        }
    }
}

/// A stated limit goes over the default. Answers with a remark where another limit is in force than the stated one.
fn agree(table: &Capacity, machine: &Stated) -> Result<Option<String>, Error> {
    let limit = u32::try_from(machine.limit).unwrap_or(u32::MAX);
    let defined = table.define(MACHINE, limit, &machine.origin)?;
    let ours_is_stated = machine.origin != DEFAULT || limit > defined.limit;
    if defined.limit != limit && defined.origin == DEFAULT && ours_is_stated {
        table.restate_limit(MACHINE, limit, &machine.origin)?;
        return Ok(None);
    }
    let differs = defined.limit != limit && machine.origin != DEFAULT;
    Ok(differs.then(|| {
        let (in_force, origin) = (defined.limit, defined.origin);
        format!("machine_concurrency {in_force} is in force ({origin}); this process asked for {limit}")
    }))
}

const DEFAULT: &str = "default";

/// The longest time that anything which a run begins can go on by itself.
pub fn longest_call(plan: &Plan) -> Duration {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    nodes.map(longest).max().unwrap_or_default().max(Options::default().max_call_time)
}

fn longest(node: &Node) -> Duration {
    match (&node.kind, &node.timeout) {
        (Kind::Agent(agent), _) => agent.settings.request_timeout,
        (Kind::Script(_) | Kind::Tool(_), Some(Span::Millis(limit))) => Duration::from_millis(*limit),
        (Kind::Script(_) | Kind::Tool(_), _) => ANY_TIME,
        _ => Duration::ZERO,
    }
}

fn unusable(error: convoke_capacity::Error) -> CommandFailure {
    let message = format!("what processes share cannot be used: {error}");
    let failure = CommandFailure { message, ..CommandFailure::from(error) };
    match failure.hints.is_empty() {
        true => failure.hint("`convoke instances` lists the processes that take part"),
        false => failure,
    }
}
