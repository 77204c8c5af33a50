//! Drives a run from this process: engine, watcher and signals, on one thread each.
//!
//! What a run is made of is settled before (`commands::run`, `commands::resume`); what its end means for the caller is
//! `conclusion`'s.

pub mod admission;
mod commands;
mod conclusion;
mod equipment;
mod goal_words;
mod keys;
mod network;
pub mod notebook;
pub mod prices;
pub mod programs;
pub mod project;
pub mod resources;
mod share;
pub mod sharing;
mod signals;
mod today;
mod tools;
mod washed;

use crate::args::RunFlags;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::gate;
use crate::stored::{self, Stored};
use crate::view::{Outline, State};
use crate::watch::{Asker, Guide, History, Manner, News, Texts, Watch};
use conclusion::Ended;
use convoke_engine::{Clock, EngineError, Handle, Notice, Options, Outcome, Run, Setup, Start, prepare};
use convoke_journal::{Reader, Sqlite, StateDir};
use convoke_model::{Payload, RunId, RunStatus};
use convoke_plan::Plan;
use share::Share;
pub use signals::{Signal, Signals};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use equipment::shared_limits;
pub use equipment::{Equipment, registry, run_limit};
pub use keys::Gear;
pub use network::network_remark;

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
}

/// How driving a run came to its end.
struct Driven {
    outcome: Outcome,
    view: State,
    signal: Option<Signal>,
    /// What this process does for others, and is not to end in the middle of.
    share: Option<Share>,
}

impl Drive<'_> {
    /// Drives the run and says how it ended.
    pub fn finish(self) -> Result<Exit, CommandFailure> {
        let (console, flags) = (self.console, self.flags);
        self.equipment.remark().iter().for_each(|remark| console.warn(remark));
        let (state, run) = (self.state.clone(), self.journal.run().clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| CommandFailure::new(Exit::Failed, format!("cannot start: {error}")))?;
        let driven = runtime.block_on(self.drive(&run)).map_err(|failure| resumable(failure, &run))?;
        let Driven { outcome, view, signal, share } = match driven {
            Some(driven) => driven,
            None => recorded(&state, &run)?,
        };
        let (allow_partial, in_words) = (flags.allow_partial, flags.in_words);
        let exit =
            Ended { console, state: &state, run: &run, outcome, view, signal, allow_partial, in_words }
                .conclude();
        if let Some(share) = share {
            runtime.block_on(share.end(console, signal.is_some()));
        }
        // What could still be in the air (a dropped connection, say) must not hold the end up.
        runtime.shutdown_background();
        exit
    }

    /// `None` if the run had come to an end before, from which nothing follows.
    async fn drive(self, run: &RunId) -> Result<Option<Driven>, CommandFailure> {
        let signals =
            Signals::listen().map_err(|error| CommandFailure::new(Exit::Failed, error.to_string()))?;
        let manner = self.manner();
        let resumed = matches!(self.start, Start::Resume(_));
        let outline = Outline::of(&self.plan);
        let known = self.plan.clone();
        let options = self.options(manner.is_some());
        let capacity = match &options.limits.machine {
            Some(machine) => {
                let lease = self.console.config.lease;
                let (shares, remark) = sharing::take_part(&self.state, run, &self.plan, machine, lease)?;
                today::make_known(self.console, &self.state, &shares.table, &options.limits)?;
                remark.iter().for_each(|remark| self.console.warn(remark));
                Some(shares)
            }
            None => None,
        };
        let projects = project::of_run(self.console, &self.plan, run)?;
        let share = match &capacity {
            Some(shares) if self.flags.share && !self.equipment.is_taped() => {
                Some(Share::begin(&self.state, run, &self.plan, &self.equipment, shares, self.flags)?)
            }
            _ => None,
        };
        let executor = share.as_ref().map_or_else(|| self.equipment.executor(), Share::executor);
        let setup = Setup {
            options,
            capacity,
            projects,
            plan: self.plan,
            journal: Box::new(self.journal),
            executor,
            start: self.start,
            leftovers: Arc::new(|pid, start| {
                convoke_tools::end_leftovers(pid, start);
            }),
            clock: Clock::system(),
        };
        let (engine, handle, notices) = match prepare(setup) {
            Err(EngineError::Ended(_)) => return Ok(None),
            prepared => prepared?,
        };
        let (news, receiver) = channel();
        let asker = manner.map(|manner| Asker {
            manner,
            handle: handle.clone(),
            state: self.state.clone(),
            run: run.clone(),
            plan: known,
            by: stored::actor(if manner == Manner::Terminal { "terminal" } else { "--skip-gates" }),
        });
        let watch = Watch {
            voice: self.console.voice,
            paint: self.console.paint,
            outline,
            history: resumed.then(|| history(&self.state, run)),
            texts: texts(&self.state, run),
            asker,
            guide: self.flags.guided.then(|| Guide::new(handle.clone(), stored::actor("terminal"))),
        };
        let watcher = watch.start(receiver);
        let sharing = share.as_ref();
        let listeners =
            Listeners { news, equipment: &self.equipment, state: &self.state, run, share: sharing };
        let (outcome, signal) = attend(engine, handle, notices, listeners, signals).await;
        if let Ok(outcome) = &outcome {
            notebook::keep(&self.state, &outcome.learned, &outcome.durations);
        }
        self.equipment.close().await;
        watcher.thread().unpark();
        let view =
            watcher.join().map_err(|_| CommandFailure::new(Exit::Failed, "the view of the run failed"))?;
        Ok(Some(Driven { outcome: outcome?, view, signal, share }))
    }

    fn options(&self, interactive: bool) -> Options {
        let owner = stored::ourselves();
        let max_concurrency = run_limit(&self.console.config, self.flags, &self.plan);
        let mut limits = sharing::as_set(shared_limits(&self.console.config, max_concurrency), &self.state);
        let known = notebook::learned(&self.state);
        (limits.learned, limits.durations) = (known.services, known.durations);
        let stated = self.flags.max_concurrency.or(self.console.config.max_concurrency);
        limits.follows_machine = stated.or(self.plan.root().limits.max_concurrency).is_none();
        if self.equipment.is_replay() {
            // What is played back asks nobody and starts nothing.
            limits.machine = None;
            limits.asks_nobody = true;
        }
        Options { max_concurrency, interactive, pid: owner.pid, host: owner.host, limits }
    }

    /// Who answers gates, if anybody does.
    fn manner(&self) -> Option<Manner> {
        let resumed = matches!(self.start, Start::Resume(_));
        match self.flags.skip_gates {
            // A new run skips its gates by itself; a resumed one was perhaps started without the flag.
            true => resumed.then_some(Manner::FirstOption),
            false => (gate::is_attended() && !self.flags.no_interactive).then_some(Manner::Terminal),
        }
    }
}

/// Whatever stopped the engine, the journal is as it was after the last commit.
fn resumable(failure: CommandFailure, run: &RunId) -> CommandFailure {
    match failure.exit {
        Exit::State => failure.hint(format!("convoke resume {run}")),
        _ => failure,
    }
}

/// The end of a run that ended before, as its journal tells it: a caller that missed it gets the same answer.
fn recorded(state: &StateDir, run: &RunId) -> Result<Driven, CommandFailure> {
    let stored = Stored::open(state, &run.0)?;
    let report = convoke_engine::report::fold(&stored.events);
    let output = match &report.output {
        Some(output) => stored.text(output)?,
        None => None,
    };
    let status = report.status.unwrap_or(RunStatus::Failed);
    let (learned, durations) = Default::default();
    let (failure, waiting) = (report.failure, Vec::new());
    let outcome = Outcome { status, output, failure, waiting, learned, durations };
    Ok(Driven { outcome, view: State::of(&stored.events), signal: None, share: None })
}

fn history(state: &StateDir, run: &RunId) -> History {
    let (state, run) = (state.clone(), run.clone());
    // The engine has read the same journal; if it cannot be read now, the view begins with what is new.
    Box::new(move || Reader::open(&state, &run).and_then(|reader| reader.read_all()).unwrap_or_default())
}

/// A view that cannot read a text now shows none.
fn texts(state: &StateDir, run: &RunId) -> Texts {
    let (state, run) = (state.clone(), run.clone());
    Box::new(move |payload| match payload {
        Payload::Inline(text) => Some(text.clone()),
        Payload::Blob { digest, .. } => Reader::open(&state, &run).ok()?.blob(digest).ok()?,
        Payload::Gathered => None,
    })
}

/// Drives the engine, passes on what it commits, and listens to signals, until the run ends or is let go of.
async fn attend(
    engine: Run,
    handle: Handle,
    mut notices: convoke_engine::Watch,
    listeners: Listeners<'_>,
    mut signals: Signals,
) -> (Result<Outcome, EngineError>, Option<Signal>) {
    let mut driving = pin!(engine.drive());
    let mut first = None;
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = &mut driving => break outcome,
            Some(notice) = notices.recv() => listeners.pass_on(notice),
            signal = signals.next() => {
                let again = first.replace(first.unwrap_or(signal)).is_some();
                handle.interrupt(again || signal == Signal::Terminate, signal.words());
                let words = if again { "stopping at once" } else { signal.advice() };
                listeners.share.iter().for_each(|share| share.stop_taking());
                listeners.news.send(News::Leaving(words.to_owned())).ok();
            }
        }
    };
    while let Ok(notice) = notices.try_recv() {
        listeners.pass_on(notice);
    }
    (outcome, first)
}

/// Who hears of what the run has written down.
struct Listeners<'a> {
    news: Sender<News>,
    equipment: &'a Equipment,
    state: &'a StateDir,
    run: &'a RunId,
    /// What is done for others, where the run shares.
    share: Option<&'a Share>,
}

impl Listeners<'_> {
    /// The watcher may be gone before the run is; nothing depends on it.
    fn pass_on(&self, notice: Notice) {
        match notice {
            Notice::Committed(events) => {
                self.equipment.observe(&events);
                drop(self.news.send(News::Events(events)));
            }
            Notice::Metrics(metrics) => notebook::tell(self.state, self.run, &metrics),
            Notice::Progress { .. } => {}
        }
    }
}
