//! The context of a run that this process drives: its options and limits, its part of the machine, and its watcher.

use super::equipment::{Equipment, run_limit, shared_limits};
use super::work_sharing::WorkSharing;
use super::{day_budgets, machine_capacity};
use crate::args::RunFlags;
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::gate;
use crate::json_log;
use crate::stored;
use crate::watch::{Asker, Guide, History, Manner, Pace, Texts, Watch};
use convoke_engine::{Breaker, Handle, LearnedStatistics, Limits, Options, Shares};
use convoke_journal::{Reader, StateDir};
use convoke_model::{AnswerOrigin, RunId};
use convoke_plan::Plan;
use convoke_view::Outline;
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
        let owner = stored::ourselves();
        // A detached run waits for a person that attaches to it or answers from elsewhere.
        let detached = self.console.detached.is_some() && !self.flags.no_interactive;
        let interactive = self.manner().is_some() || detached;
        let max_concurrency = run_limit(&self.console.config, self.flags, self.plan);
        let mut limits =
            machine_capacity::as_set(shared_limits(&self.console.config, max_concurrency), self.state);
        let known = LearnedStatistics::load(self.state);
        (limits.learned, limits.durations) = (known.services, known.durations);
        let stated = self.flags.max_concurrency.or(self.console.config.max_concurrency);
        limits.follows_machine = stated.or(self.plan.root().limits.max_concurrency).is_none();
        bound_breaker(&mut limits, self.plan.root().limits.breaker_failures);
        if self.equipment.is_replay() {
            // A replay calls no service and starts no process.
            limits.machine = None;
            limits.asks_nobody = true;
        }
        let patience = self.console.config.disk_wait;
        Options { max_concurrency, interactive, patience, pid: owner.pid, host: owner.host, limits }
    }

    /// How gates are answered here, if they are.
    fn manner(&self) -> Option<Manner> {
        match self.flags.skip_gates {
            // A new run skips its gates by itself; a resumed one was perhaps started without the flag.
            true => self.resumed.then_some(Manner::FirstOption),
            false => (gate::is_attended() && !self.flags.no_interactive).then_some(Manner::Terminal),
        }
    }
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
