//! The context of a run that this process drives: its options and limits, its part of the machine, and its watcher.

use super::equipment::{Equipment, run_limit, shared_limits};
use super::work_sharing::WorkSharing;
use super::{day_budgets, machine_capacity};
use crate::args::RunFlags;
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::following;
use crate::gate;
use crate::json_log;
use crate::notifying::Notifier;
use crate::stored;
use crate::watch::{Asker, Guide, History, Manner, Pace, Texts, Watch};
use convoke_agent::Executor;
use convoke_engine::{Breaker, Handle, LearnedStatistics, Limits, Options, Shares};
use convoke_journal::{Reader, StateDir};
use convoke_model::{AnswerOrigin, RunId};
use convoke_plan::Plan;
use convoke_view::Outline;
use std::fs::File;
use std::sync::Arc;

/// A run and what this process drives it with.
pub(super) struct RunContext<'a> {
    pub console: &'a Console,
    pub state: &'a StateDir,
    pub plan: &'a Arc<Plan>,
    pub equipment: &'a Equipment,
    pub flags: &'a RunFlags,
    pub run: &'a RunId,
    pub resumed: bool,
    /// The number of the first event of this process.
    pub begins: u64,
}

impl RunContext<'_> {
    /// The run's part of the machine's shared capacity, where it takes part.
    pub fn capacity(&self, options: &Options) -> Result<Option<Shares>, CommandFailure> {
        let Some(machine) = &options.limits.machine else { return Ok(None) };
        let lease = self.console.config.lease;
        let (shares, remark) = machine_capacity::take_part(self.state, self.run, self.plan, machine, lease)?;
        day_budgets::enter(self.console, self.state, &shares.table, &options.limits)?;
        remark.iter().for_each(|remark| self.console.warn(remark));
        Ok(Some(shares))
    }

    /// Work sharing with other processes, where `--share` asks for it.
    pub fn share(&self, capacity: Option<&Shares>) -> Result<Option<WorkSharing>, CommandFailure> {
        match capacity {
            Some(shares) if self.flags.share && !self.equipment.uses_cassette() => {
                WorkSharing::begin(self.state, self.run, self.plan, self.equipment, shares, self.flags)
                    .map(Some)
            }
            _ => Ok(None),
        }
    }

    /// What performs the attempts: this process, or those that it shares with. Their calls are traced where a receiver asks for it.
    pub fn executor(&self, share: Option<&WorkSharing>) -> Arc<dyn Executor> {
        let executor = share.map_or_else(|| self.equipment.executor(), WorkSharing::executor);
        match self.console.config.receivers.telemetry.is_some() && !self.equipment.is_replay() {
            true => following::traced(executor, self.run),
            false => executor,
        }
    }

    /// Notifies people away from the terminal.
    pub fn notifier(&self, terminal: Option<File>) -> Notifier {
        let config = &self.console.config;
        Notifier::new(self.run, &self.plan.root().name, &config.notify, config.receivers.stall)
            .detached(self.console.detached, terminal)
            .with_gates(!self.flags.skip_gates)
    }

    /// The watcher: shows the run, asks people and passes on what they say.
    pub fn watch(&self, handle: &Handle) -> Watch {
        let asker = self.manner().map(|manner| Asker {
            manner,
            hearer: Box::new(handle.clone()),
            bell: self.console.config.notify.bell,
            state: self.state.clone(),
            run: self.run.clone(),
            plan: self.plan.clone(),
            by: stored::user(),
            origin: match manner {
                Manner::Terminal => AnswerOrigin::Terminal,
                Manner::FirstOption => AnswerOrigin::SkipGates,
            },
        });
        Watch {
            voice: self.console.voice,
            paint: self.console.paint,
            outline: Outline::of(self.plan),
            history: self.resumed.then(|| history(self.state, self.run, self.begins)),
            texts: texts(self.state, self.run),
            asker,
            guide: self.flags.guided.then(|| Guide::new(handle.clone(), stored::actor("terminal"))),
            log: json_log::is_on().then(|| self.run.clone()),
            pace: Pace::Live,
        }
    }

    pub fn options(&self) -> Options {
        let replays = self.equipment.is_replay();
        options(self.console, self.state, self.plan, self.flags, (self.manner().is_some(), replays))
    }

    /// How gates are answered here, if they are.
    fn manner(&self) -> Option<Manner> {
        manner(self.flags, self.resumed)
    }
}

/// How a run is driven here.
fn options(
    console: &Console,
    state: &StateDir,
    plan: &Plan,
    flags: &RunFlags,
    (is_answered, replays): (bool, bool),
) -> Options {
    let owner = stored::ourselves();
    // A detached run waits for a person that attaches to it or answers from elsewhere.
    let detached = console.detached.is_some() && !flags.no_interactive;
    let interactive = is_answered || detached;
    let max_concurrency = run_limit(&console.config, flags, plan);
    let mut limits = machine_capacity::as_set(shared_limits(&console.config, max_concurrency), state);
    let known = LearnedStatistics::load(state);
    (limits.learned, limits.durations) = (known.services, known.durations);
    let stated = flags.max_concurrency.or(console.config.max_concurrency);
    limits.follows_machine = stated.or(plan.root().limits.max_concurrency).is_none();
    bound_breaker(&mut limits, plan.root().limits.breaker_failures);
    if replays {
        // A replay calls no service and starts no process.
        limits.machine = None;
        limits.asks_nobody = true;
    }
    let patience = console.config.disk_wait;
    Options { max_concurrency, interactive, patience, pid: owner.pid, host: owner.host, limits }
}

/// How gates are answered here, if they are.
fn manner(flags: &RunFlags, resumed: bool) -> Option<Manner> {
    match flags.skip_gates {
        // A new run skips its gates by itself; a resumed one was perhaps started without the flag.
        true => resumed.then_some(Manner::FirstOption),
        false => (gate::is_attended() && !flags.no_interactive).then_some(Manner::Terminal),
    }
}

/// How a cluster is to drive a run that this process watches, and how gates are answered here.
#[cfg(feature = "cluster")]
pub fn cluster_options(
    console: &Console,
    state: &StateDir,
    plan: &Plan,
    flags: &RunFlags,
    resumed: bool,
) -> (Options, Option<Manner>) {
    let manner = manner(flags, resumed);
    (options(console, state, plan, flags, (manner.is_some(), false)), manner)
}

/// The settings of a plan's providers and servers, for processes without the plan: references, no values.
#[cfg(feature = "cluster")]
pub fn settings(plan: &Plan) -> convoke_model::JsonText {
    convoke_model::JsonText::of(&super::credentials::Credentials::of(plan).run_settings())
}

/// What a workflow says about the breaker goes over the configuration.
fn bound_breaker(limits: &mut Limits, stated: Option<u32>) {
    match stated {
        None => {}
        Some(0) => limits.breaker = None,
        Some(failures) => {
            limits.breaker = Some(Breaker { failures, ..limits.breaker.unwrap_or_default() });
        }
    }
}

/// The events before this process. The watcher may read them late, when this process has added its own: those come as updates.
fn history(state: &StateDir, run: &RunId, begins: u64) -> History {
    let (state, run) = (state.clone(), run.clone());
    // The engine has read the same journal; if it cannot be read now, the view begins with what is new.
    Box::new(move || {
        let read = Reader::open(&state, &run).and_then(|reader| reader.read_all());
        let mut events = read.unwrap_or_default();
        events.truncate(events.partition_point(|stamped| stamped.seq < begins));
        events
    })
}

/// A view that cannot read a text now shows none.
pub fn texts(state: &StateDir, run: &RunId) -> Texts {
    let (state, run) = (state.clone(), run.clone());
    Box::new(move |payload| payload.text(|digest| Reader::open(&state, &run).ok()?.blob(digest).ok()?))
}
