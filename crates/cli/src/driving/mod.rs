//! Drives a run from this process: engine, watcher and signals, on one thread each.
//!
//! What a run is made of is settled before (`commands::run`, `commands::resume`); what its end means for the caller is
//! `conclusion`'s.

mod commands;
mod conclusion;
mod credentials;
pub mod destinations;
mod equipment;
mod goal_answer;
mod host;
pub mod machine_capacity;
mod network;
pub mod programs;
pub mod project;
#[cfg(feature = "knowledge")]
pub mod queries;
pub mod resources;
mod run_context;
mod saying;
mod signals;
mod spending;
pub mod survivors;
mod tools;
mod unconfined;
mod watchdog;
mod work_sharing;

use spending::day_budgets;
pub use spending::{admission, prices};

use crate::args::RunFlags;
use crate::clock;
use crate::cluster;
use crate::console::Console;
use crate::detaching;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::following::{self, Followings};
use crate::notifying::Notifier;
use crate::retention;
use crate::serving::Beside;
use crate::short_history::ShortHistory;
use crate::stored::{self, Stored};
use crate::watch::{GATHER, Update, Watcher, is_live};
use crate::workspaces;
use conclusion::Ended;
use convoke_engine::{
    Clock, EngineError, Handle, LearnedStatistics, Notice, Outcome, Run, Setup, Start, prepare,
};
use convoke_failpoint::failpoint;
use convoke_journal::{Journal, Sqlite, StateDir, stands};
use convoke_model::{RunId, RunStatus};
use convoke_plan::Plan;
use convoke_schedule::Reusable;
use convoke_view::{Doing, State};
use run_context::RunContext;
use saying::Publisher;
pub use signals::{Signal, Signals};
use std::cell::RefCell;
use std::fs::File;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use watchdog::Watchdog;
use work_sharing::WorkSharing;

pub use credentials::needed_secrets;
pub use equipment::{Equipment, limit_remark, registry, run_limit};
pub use host::Host;
pub use network::{network, network_remark};
pub use run_context::texts;
#[cfg(feature = "cluster")]
pub use run_context::{cluster_options, settings};

/// A run that is ready to be driven.
pub struct Drive<'a> {
    /// How we speak.
    pub console: &'a Console,
    /// Where runs are kept.
    pub state: StateDir,
    /// What to do.
    pub plan: Arc<Plan>,
    /// The journal, owned by this process.
    pub journal: Sqlite,
    /// New or old.
    pub start: Start,
    /// What its attempts are performed with.
    pub equipment: Equipment,
    /// How the user wants it.
    pub flags: &'a RunFlags,
    /// The run whose outputs are taken where a task would come out the same.
    pub reusable: Option<Arc<Reusable>>,
}

/// How driving a run came to its end.
struct Driven {
    outcome: Outcome,
    view: State,
    signal: Option<Signal>,
    /// What this process does for others, and is not to end in the middle of.
    share: Option<WorkSharing>,
    /// What was committed, where that is all of it.
    history: ShortHistory,
}

impl Drive<'_> {
    /// Drives the run and says how it ended.
    pub fn finish(self) -> Result<Exit, CommandFailure> {
        let (console, flags) = (self.console, self.flags);
        if !self.equipment.is_replay() {
            destinations::line(&self.plan, &console.config).iter().for_each(|line| console.say(line));
        }
        self.equipment.remark().iter().for_each(|remark| console.warn(remark));
        console.config.left_out.iter().for_each(|remark| console.warn(remark));
        self.equipment.unconfined().iter().for_each(|words| console.warn(words));
        limit_remark(&console.config, flags, &self.plan).iter().for_each(|remark| console.warn(remark));
        if cluster::is_entered() {
            return cluster::drive(self);
        }
        let (state, run) = (self.state.clone(), self.journal.run().clone());
        // What is played back was told of when it happened.
        let followings = if self.equipment.is_replay() {
            Followings::default()
        } else {
            following::spawn(console, &state)
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| CommandFailure::new(Exit::Failed, format!("cannot start: {error}")))?;
        let beside = flags.web.then(|| Beside::start(console, &state, &run)).transpose()?;
        let driven = runtime.block_on(self.drive(&run)).map_err(|failure| resumable(failure, &run))?;
        let Driven { outcome, view, signal, share, history } = match driven {
            Some(driven) => driven,
            None => recorded(&state, &run)?,
        };
        let RunFlags { allow_partial, in_words, skip_gates, .. } = *flags;
        let (state, run) = (&state, &run);
        failpoint!("run.before_conclusion");
        let exit = Ended { console, state, run, outcome, view, signal, allow_partial, in_words, skip_gates }
            .conclude();
        failpoint!("run.concluded");
        if let Some(share) = share {
            runtime.block_on(share.end(console, signal.is_some()));
        }
        stored::note_line(state, run, &history);
        followings.stop(following::AT_THE_END);
        retention::after_a_run(console, state);
        // What could still be in the air (a dropped connection, say) must not hold the end up.
        runtime.shutdown_background();
        beside.into_iter().for_each(|beside| beside.finish(console));
        exit
    }

    /// `None` if the run had come to an end before, from which nothing follows.
    async fn drive(self, run: &RunId) -> Result<Option<Driven>, CommandFailure> {
        let mut signals =
            Signals::listen().map_err(|error| CommandFailure::new(Exit::Failed, error.to_string()))?;
        let watchdog = Watchdog::start(run);
        let Drive { console, state, plan, journal, start, equipment, flags, reusable } = self;
        let resumed = matches!(start, Start::Resume(_));
        let context = RunContext {
            console,
            state: &state,
            plan: &plan,
            equipment: &equipment,
            flags,
            run,
            resumed,
            begins: journal.next_seq(),
        };
        equip(&context);
        let projects = project::of_run(console, &plan, run)?;
        let options = context.options();
        let capacity = context.capacity(&options)?;
        let share = context.share(capacity.as_ref())?;
        let (leases, executor) = workspaces::over(context.executor(share.as_ref()), &state, run);
        workspaces::clean_up(console, &state, run, &leases);
        let setup = Setup {
            executor,
            options,
            capacity,
            projects,
            plan: plan.clone(),
            journal: Box::new(journal),
            start,
            leftovers: Arc::new(|pid, start| {
                convoke_tools::end_leftovers(pid, start);
            }),
            clock: Clock::of(clock::machine(&stored::ourselves().boot)),
            reusable,
        };
        let (mut engine, handle, notices) = match prepare(setup) {
            Err(EngineError::Ended(_)) => return Ok(None),
            prepared => prepared?,
        };
        watchdog.may_cancel(handle.clone());
        let terminal = left_terminal(console, &mut engine, &state, run).await?;
        let notifier = context.notifier(terminal);
        // No limit: the engine's thread must not wait for a terminal. The watcher takes all updates that are there at every frame,
        // also while a person is asked. A terminal that accepts no output leaves at most the rest of the run's events here,
        // shared with the engine and not copied, and for a live view the texts that tasks stream meanwhile.
        let (updates, receiver) = channel();
        let mut watcher = Watcher::new(context.watch(&handle), receiver);
        let live = is_live(console.voice);
        let mut history = ShortHistory::default();
        let listeners = Listeners {
            updates,
            history: RefCell::new(&mut history),
            equipment: &equipment,
            state: &state,
            run,
            share: share.as_ref(),
            notifier,
            live,
            publisher: Publisher::new(&state, run),
            watchdog,
        };
        let (outcome, signal) = attend(engine, handle, notices, listeners, &mut signals, &mut watcher).await;
        failpoint!("run.driven");
        if let Ok(outcome) = &outcome {
            remember(&state, run, outcome);
            workspaces::end(console, &state, &leases, outcome);
        }
        close(&equipment, &mut signals).await;
        failpoint!("run.closed");
        let failed = || CommandFailure::new(Exit::Failed, "the view of the run failed");
        let view = watcher.finish().ok_or_else(failed)?;
        Ok(Some(Driven { outcome: outcome?, view, signal, share, history }))
    }
}

/// Tells the equipment about the run that it is for.
fn equip(context: &RunContext<'_>) {
    let RunContext { equipment, state, run, .. } = context;
    equipment.record_commands(survivors::folder(state, run));
    equipment.hide([state.path().to_owned()]);
    #[cfg(feature = "knowledge")]
    equipment.ask_by(Arc::new(queries::RunGraph { state: (*state).clone(), run: (*run).clone() }));
}

/// What a run leaves to later ones.
fn remember(state: &StateDir, run: &RunId, outcome: &Outcome) {
    LearnedStatistics::add(state, &outcome.learned, &outcome.durations);
    survivors::forget(state, run, outcome.status);
}

/// The terminal that a detached run was started from, which is let go. A name that was printed is the name of a run that can be
/// resumed, whatever ends this process next.
async fn left_terminal(
    console: &Console,
    engine: &mut Run,
    state: &StateDir,
    run: &RunId,
) -> Result<Option<File>, CommandFailure> {
    let Some(from) = console.detached else { return Ok(None) };
    engine.open().await?;
    failpoint!("detach.opened");
    detaching::let_go(from, state, run)
}

/// Whatever stopped the engine, the journal is as it was after the last commit.
fn resumable(failure: CommandFailure, run: &RunId) -> CommandFailure {
    match failure.exit {
        Exit::State => failure.hint(format!("convoke resume {run}")),
        _ => failure,
    }
}

/// Says how a run that no process drives stands, as its own process would have said it, with the same exit code.
pub fn conclude_stored(
    console: &Console,
    state: &StateDir,
    run: &RunId,
    allow_partial: bool,
    in_words: bool,
) -> Result<Exit, CommandFailure> {
    let Driven { outcome, view, signal, .. } = recorded(state, run)?;
    Ended { console, state, run, outcome, view, signal, allow_partial, in_words, skip_gates: false }
        .conclude()
}

/// How a run stopped before, as its journal tells it: a caller that missed it gets the same answer.
fn recorded(state: &StateDir, run: &RunId) -> Result<Driven, CommandFailure> {
    let stored = Stored::open(state, &run.0)?;
    let report = convoke_engine::report::fold(&stored.events);
    let output = match &report.output {
        Some(output) => stored.text(output)?,
        None => None,
    };
    let (status, _) = stands(state, run, report.status.unwrap_or(RunStatus::Running), false);
    let (learned, durations) = Default::default();
    let waiting = if status == RunStatus::Parked { stored.waiting() } else { Vec::new() };
    let failure = report.failure;
    let outcome = Outcome { status, output, failure, waiting, learned, durations };
    let history = ShortHistory::default();
    Ok(Driven { outcome, view: State::of(&stored.events), signal: None, share: None, history })
}

/// How often it is looked whether the run has been silent for long.
const LOOK: Duration = Duration::from_secs(30);

/// Drives the engine, passes on what it commits, and listens to signals, until the run ends or is let go of.
async fn attend(
    engine: Run,
    handle: Handle,
    mut notices: convoke_engine::Watch,
    listeners: Listeners<'_>,
    signals: &mut Signals,
    watcher: &mut Watcher,
) -> (Result<Outcome, EngineError>, Option<Signal>) {
    let mut driving = pin!(engine.drive());
    let mut first = None;
    let mut pulse = tokio::time::interval(watchdog::PULSE);
    let mut look = tokio::time::interval(LOOK);
    let mut gathered = pin!(tokio::time::sleep(GATHER));
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = &mut driving => break outcome,
            Some(notice) = notices.recv() => listeners.pass_on(notice),
            signal = signals.next() => {
                listeners.watchdog.turns();
                let again = first.replace(first.unwrap_or(signal)).is_some();
                failpoint!("signal.heard");
                if again {
                    convoke_tools::end_at_once();
                }
                handle.interrupt(again, signal.words());
                let words = if again { "stopping at once" } else { signal.advice() };
                listeners.share.iter().for_each(|share| share.stop_taking());
                listeners.updates.send(Update::Leaving(words.to_owned())).ok();
            }
            () = &mut gathered, if watcher.is_gathering() => watcher.start(),
            _ = pulse.tick(), if first.is_some() => listeners.watchdog.turns(),
            _ = look.tick() => listeners.notifier.look(clock::now()).into_iter().for_each(|untold| listeners.remark(untold)),
        }
    };
    listeners.watchdog.rests();
    while let Ok(notice) = notices.try_recv() {
        listeners.pass_on(notice);
    }
    (outcome, first)
}

/// Ends the servers of a run that has stopped. There is nothing left that a signal would let end first.
async fn close(equipment: &Equipment, signals: &mut Signals) {
    let mut closing = pin!(equipment.close());
    tokio::select! {
        biased;
        () = &mut closing => return,
        _ = signals.next() => convoke_tools::end_at_once(),
    }
    closing.await;
}

/// What people are told while nothing can be written down.
fn paused(why: &str, at_most: Duration) -> String {
    let seconds = at_most.as_secs();
    format!(
        "the run pauses: {why}; it goes on by itself when that has passed, and stops, resumable, if it takes longer than {seconds} s"
    )
}

/// The receivers of what the run has committed.
struct Listeners<'a> {
    updates: Sender<Update>,
    history: RefCell<&'a mut ShortHistory>,
    equipment: &'a Equipment,
    state: &'a StateDir,
    run: &'a RunId,
    /// What is done for others, where the run shares.
    share: Option<&'a WorkSharing>,
    /// Notifies people away from the terminal.
    notifier: Notifier,
    /// Whether what is going on is drawn as it happens.
    live: bool,
    /// Tells other processes what is said meanwhile.
    publisher: Publisher<'a>,
    /// Is shown that the engine's thread turns, once a signal has come.
    watchdog: Watchdog,
}

impl Listeners<'_> {
    /// A live view has a use for what is shown and forgotten, and so have those that watch from elsewhere.
    fn show(&self, doing: Doing) {
        self.publisher.hear(doing.clone());
        if self.live {
            drop(self.updates.send(Update::Doing(doing)));
        }
    }

    /// The watcher may be gone before the run is; nothing depends on it.
    fn pass_on(&self, notice: Notice) {
        match notice {
            Notice::Committed(events) => {
                self.equipment.observe(&events);
                self.history.borrow_mut().take(&events);
                self.notifier.observe(&events).into_iter().for_each(|untold| self.remark(untold));
                self.publisher.recorded(&events);
                drop(self.updates.send(Update::Events(events)));
            }
            Notice::Paused { why, on, at_most } => {
                drop(self.updates.send(Update::Blocked(Some(on))));
                self.notifier.paused(&why).into_iter().for_each(|untold| self.remark(untold));
                self.remark(paused(&why, at_most));
            }
            Notice::Resumed { seconds } => {
                drop(self.updates.send(Update::Blocked(None)));
                self.remark(format!("the run goes on after a pause of {seconds} s"))
            }
            Notice::Metrics(metrics) => metrics.publish(self.state, self.run),
            Notice::Progress { task, text } => self.show(Doing::Says { task, text }),
            Notice::ToolStarted { task, tool } => self.show(Doing::Calls { task, tool }),
        }
    }

    fn remark(&self, words: String) {
        drop(self.updates.send(Update::Remark(words)));
    }
}
