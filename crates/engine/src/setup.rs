//! Beginning: a new run, or an old one where it stopped.
//!
//! Both replay a journal; a new run's is empty.

use crate::attempts::Attempts;
use crate::beginning::Beginning;
use crate::capacity::budget::spending::Spending;
use crate::capacity::client::CapacityClient;
use crate::capacity::limits::Limits;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::handle::{Handle, Watch};
use crate::project::Project;
use crate::run::{INBOX_PERIOD, METRICS_PERIOD, Run};
use crate::snapshot::{Keeper, RULES, is_boundary};
use crate::store::Store;
use crate::tenure::Tenure;
use convoke_agent::Executor;
use convoke_capacity::Capacity;
use convoke_failpoint::failpoint;
use convoke_journal::{Journal, Writer};
use convoke_model::{
    Digest, Event, JsonText, PlanChanged, RunReopened, RunStarted, RunStatus, Stamped, TaskId, Uptime,
};
use convoke_plan::Plan;
use convoke_schedule::{
    Changed, NotReopened, Outputs, Reopening, Reusable, Scheduler, StoredOutputs, changed, reopen,
    replayable, retry,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;

/// What a run needs.
pub struct Setup {
    /// The plan. On resume: the stored one, or the changed one that was accepted.
    pub plan: Arc<Plan>,
    /// Where events go. Owned by this process.
    pub journal: Box<dyn Journal>,
    /// Performs attempts.
    pub executor: Arc<dyn Executor>,
    /// New or old.
    pub start: Start,
    /// How it is driven.
    pub options: Options,
    /// Ends what an earlier owner's attempts left running: process id and start time.
    pub leftovers: Arc<dyn Fn(u32, u64) + Send + Sync>,
    /// The run's clock.
    pub clock: Clock,
    /// What all processes of the machine share; `None`: this run shares nothing.
    pub capacity: Option<Shares>,
    /// What it shares with other runs of its project, each place where some of that is kept.
    pub projects: Vec<Project>,
    /// The run whose outputs are taken where a task would come out the same.
    pub reusable: Option<Arc<Reusable>>,
}

/// A run's part in what all processes of the machine share.
pub struct Shares {
    /// The table, open.
    pub table: Arc<Capacity>,
    /// How long a lease lasts without a heartbeat.
    pub time_to_live: Duration,
}

/// New or old.
pub enum Start {
    /// A run that does not exist yet.
    Fresh(Box<RunStarted>),
    /// A run that is in the journal.
    Resume(Changes),
}

/// What to do about a workflow file that changed since the run was started.
#[derive(Debug, Clone)]
pub enum Changes {
    /// It has not changed.
    None,
    /// This is the plan it was started with; what changed since runs again.
    Accept {
        /// The plan that the journal was written under.
        before: Arc<Plan>,
    },
    /// It has not changed, and these tasks are done again, with what followed from them and nothing else that is finished.
    Retry(Vec<TaskId>),
}

/// How a run is driven.
#[derive(Debug, Clone)]
pub struct Options {
    /// Attempts at once.
    pub max_concurrency: u32,
    /// A person answers gates while the run lives; else it parks when nothing else is left.
    pub interactive: bool,
    /// How long the run waits for room on a full disk before it is given up, resumable.
    pub patience: Duration,
    /// Process id of the owner process.
    pub pid: u32,
    /// On which machine.
    pub host: String,
    /// What is limited besides what the workflow says about itself.
    pub limits: Limits,
}

/// Prepares a run: replays what there is and says what is about to happen. Nothing is on disk before `drive`.
pub fn prepare(setup: Setup) -> Result<(Run, Handle, Watch), EngineError> {
    let history = setup.journal.recover(RULES)?;
    // Nothing is left for a run that no journal names yet; what is sent from now on waits no longer than for any other.
    let first_poll = if history.is_empty() { INBOX_PERIOD } else { Duration::ZERO };
    let snapshots = Keeper::new(setup.journal.snapshot_taker(), &history);
    let clock = setup.clock.after(&history);
    let now = clock.now();
    failpoint!("engine.prepare.history_read");
    let survivors = end_leftovers(&history, &*setup.leftovers);
    failpoint!("engine.prepare.leftovers_ended");
    let owned = setup.options.claim(setup.journal.epoch(), clock.uptime(now));
    let limits = setup.options.limits_of(setup.capacity.is_some());
    let beginning = Beginning::of(
        &setup.plan,
        history,
        setup.start,
        (setup.options.max_concurrency, &limits),
        owned,
        &|digest| setup.journal.blob(digest).ok().flatten(),
    )
    .inspect_err(|error| settle_if_over(&setup.projects, error))?
    .reusing(setup.reusable);
    // Commands that went on for tasks that are over, or are told to stop, or are not in the plan any more.
    let given_up = survivors.into_iter().filter(|(task, _)| !beginning.attaches(task));
    given_up.for_each(|(_, (pid, start))| (setup.leftovers)(pid, start));
    let writer = Arc::new(Writer::new(setup.journal));
    // Facts need no limit: attempts send them, of which there are as many as permits, and an attempt waits for the answer
    // to each call and for each record to be on disk. A limit would be a deadlock: the run sends facts to itself.
    let (sender, facts) = unbounded_channel();
    // The run never waits for a watcher. Events that wait here are shared, not copied, and end with the run.
    let (watchers, watch) = unbounded_channel();
    let store = Store::of(writer.clone());
    let seen = seen(&setup.projects, &store);
    let (mut core, opening) = beginning.core(store, seen, now)?;
    core.same_places = crate::project::same_places(&setup.projects);
    let handle =
        Handle { facts: sender, clock: clock.clone(), rendering: core.scheduler.cancellation().clone() };
    let lease = setup.capacity.as_ref().map(|shares| shares.time_to_live);
    let client = client(setup.capacity, &handle)?;
    let tenure = Arc::new(Tenure::new(writer.clone(), lease));
    let run = Run {
        core,
        attempts: Attempts::new(
            setup.executor,
            handle.clone(),
            Some(watchers.clone()),
            writer.clone(),
            tenure.clone(),
            client.clone(),
        ),
        tenure,
        lost: None,
        client,
        writer,
        facts,
        handle: handle.clone(),
        projects: setup
            .projects
            .iter()
            .map(|project| (project.place.clone(), project.store.clone()))
            .collect(),
        clock,
        watchers: Some(watchers),
        interrupted_at: None,
        interactive: setup.options.interactive,
        patience: setup.options.patience,
        next_poll: tokio::time::Instant::now() + first_poll,
        next_metrics: tokio::time::Instant::now() + METRICS_PERIOD,
        mail: Vec::new(),
        opening,
        snapshots,
    };
    failpoint!("engine.prepare.done");
    Ok((run, handle, watch))
}

impl Options {
    /// This process is the owner from now on.
    fn claim(&self, epoch: u64, uptime: Option<Uptime>) -> Event {
        Event::RunOwned { epoch, pid: self.pid, host: self.host.clone(), uptime }
    }

    /// The machine's limit holds where processes share a table.
    fn limits_of(&self, shared: bool) -> Limits {
        let machine = self.limits.machine.clone().filter(|_| shared);
        Limits { machine, seed: self.pid.into(), ..self.limits.clone() }
    }
}

/// Takes part in what processes share, if the run does.
fn client(capacity: Option<Shares>, handle: &Handle) -> Result<Option<Arc<CapacityClient>>, EngineError> {
    let start = |shares: Shares| CapacityClient::start(shares.table, shares.time_to_live, handle.clone());
    Ok(capacity.map(start).transpose().map_err(EngineError::Thread)?.map(Arc::new))
}

/// What the run's projects are like at its beginning.
fn seen(projects: &[Project], store: &Store) -> Vec<Event> {
    let seen = projects.iter().map(|Project { place, state, .. }| {
        let context = store.payload(state.context.clone());
        Event::ProjectSeen { task: None, revision: state.revision, context, place: place.clone() }
    });
    seen.collect()
}

/// Settles the projects of a run that was killed between its end and its settlement, as far as that can be done now: the
/// process that resumes the run does it.
fn settle_if_over(projects: &[Project], error: &EngineError) {
    if let EngineError::Ended(NotReopened::EndedWell(RunStatus::Succeeded)) = error {
        projects.iter().for_each(|project| drop(project.store.settle(None)));
    }
}

/// The state that the journal stands for, and the events that reopen it where it had ended.
pub fn replay(
    plan: &Arc<Plan>,
    history: Vec<Stamped>,
    changes: &Changes,
    blob: &dyn Fn(&Digest) -> Option<JsonText>,
) -> Result<(Scheduler, Vec<Event>), EngineError> {
    let outputs = StoredOutputs(blob);
    let written_under = match changes {
        Changes::None | Changes::Retry(_) => plan,
        Changes::Accept { before } => before,
    };
    let reopens = |stamped: &Stamped| matches!(stamped.event, Event::RunFinished { .. });
    if matches!(changes, Changes::None) && !history.iter().any(reopens) {
        return Ok((fold(plan, history)?, Vec::new())); // the usual case needs no second fold, and no copy for it
    }
    let mut state = fold(written_under, history.clone())?;
    let (mut opening, mut ended) = (Vec::new(), None);
    if let Changes::Retry(tasks) = changes {
        opening.push(reopening(&state, retry(&state, tasks)?, &outputs));
        state = fold(plan, with(&history, &opening))?;
        say_who_asks(&mut opening, &state);
    } else if state.finished().is_some() {
        opening.push(reopening(&state, reopen(&state)?, &outputs));
        let reopened = fold(written_under, with(&history, &opening))?;
        say_who_asks(&mut opening, &reopened);
        ended = Some(std::mem::replace(&mut state, reopened));
    }
    if let Changes::Accept { .. } = changes {
        let Changed { dropped, opened, superseded } = changed(&state, plan);
        let superseded = ended.as_ref().unwrap_or(&state).view(&outputs).as_it_stood(superseded);
        let changed = PlanChanged { plan: plan.digest(), dropped, opened, superseded, asking: Vec::new() };
        opening.push(Event::PlanChanged(changed));
        state = fold(plan, with(&history, &opening))?;
        say_who_asks(&mut opening, &state);
    }
    // The reopening itself is applied again as the first event of the new owner, where it does no harm.
    Ok((state, opening))
}

/// The event that opens a run again.
pub(crate) fn reopening(state: &Scheduler, found: Reopening, outputs: &dyn Outputs) -> Event {
    let Reopening { tasks, restarted, retried, superseded, rewound, doubtful } = found;
    let superseded = state.view(outputs).as_it_stood(superseded);
    let (tasks, restarted) = (tasks.into_iter().collect(), restarted.into_iter().collect());
    let asking = Vec::new();
    Event::RunReopened(RunReopened { tasks, restarted, retried, superseded, rewound, doubtful, asking })
}

/// Has the last event say which questions are open in the state that it leads to. Nothing in the fold depends on it: it is for
/// readers that know the events alone.
fn say_who_asks(opening: &mut [Event], state: &Scheduler) {
    let asked = match opening.last_mut() {
        Some(Event::RunReopened(reopened)) => Some(&mut reopened.asking),
        Some(Event::PlanChanged(changed)) => Some(&mut changed.asking),
        _ => None,
    };
    if let Some(asking) = asked {
        *asking = state.asking();
    }
}

/// The history as it will be once these events are on disk.
pub(crate) fn with(history: &[Stamped], more: &[Event]) -> Vec<Stamped> {
    let last = history.last().map(|event| (event.seq, event.at)).unwrap_or_default();
    let stamp = |(n, event): (usize, &Event)| Stamped {
        seq: last.0 + 1 + n as u64,
        at: last.1,
        event: event.clone(),
    };
    history.iter().cloned().chain(more.iter().enumerate().map(stamp)).collect()
}

/// The fold of the events that still count. What the others have cost is spent all the same.
pub(crate) fn fold(plan: &Arc<Plan>, events: Vec<Stamped>) -> Result<Scheduler, EngineError> {
    fold_into(Scheduler::new(plan.clone()), events)
}

/// The same, into a scheduler that has seen nothing yet.
pub fn fold_into(mut scheduler: Scheduler, events: Vec<Stamped>) -> Result<Scheduler, EngineError> {
    if !events.iter().any(|stamped| is_boundary(&stamped.event)) {
        events.iter().try_for_each(|event| scheduler.apply(event))?;
        return Ok(scheduler);
    }
    let spent = Spending::of(&events).by_task();
    for stamped in &events {
        if let Event::GateOpened { task, question, .. } = &stamped.event {
            scheduler.has_asked(task, *question);
        }
    }
    let kept = replayable(events);
    kept.iter().try_for_each(|event| scheduler.apply(event))?;
    let counted = Spending::of(&kept).by_task();
    for (task, usage) in spent {
        let besides = counted.get(&task).map_or(usage, |counted| usage.less(counted));
        if !besides.is_zero() {
            scheduler.spent_besides(&task, &besides);
        }
    }
    Ok(scheduler)
}

/// Processes that a task left behind: id and start time.
type Processes = HashMap<TaskId, (u32, u64)>;

/// Ends processes of attempts that have no end in the journal, but for commands that outlive the engine.
fn end_leftovers(history: &[Stamped], end: &(dyn Fn(u32, u64) + Send + Sync)) -> Processes {
    let (mut alive, mut survivors) = (Processes::new(), Processes::new());
    for stamped in history {
        match &stamped.event {
            Event::ProcessStarted { task, pid, start, survives: false, .. } => {
                alive.insert(task.clone(), (*pid, *start));
            }
            Event::ProcessStarted { task, pid, start, survives: true, .. } => {
                survivors.insert(task.clone(), (*pid, *start));
            }
            Event::AttemptFinished { task, .. } | Event::AttemptFailed { task, .. } => {
                alive.remove(task);
                survivors.remove(task);
            }
            // What runs there belongs to the run that was copied.
            Event::RunForked(_) => {
                alive.clear();
                survivors.clear();
            }
            _ => {}
        }
    }
    alive.into_values().for_each(|(pid, start)| end(pid, start));
    survivors
}
