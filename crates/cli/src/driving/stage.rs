//! What surrounds a run that is driven from here: its limits, what it shares the machine with, and who looks on.

use super::equipment::{Equipment, run_limit, shared_limits};
use super::share::Share;
use super::{sharing, today};
use crate::args::RunFlags;
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::gate;
use crate::stored;
use crate::view::Outline;
use crate::watch::{Asker, Guide, History, Manner, Texts, Watch};
use convoke_engine::{Breaker, Handle, LearnedStatistics, Limits, Options, Shares};
use convoke_journal::{Reader, StateDir};
use convoke_model::{Payload, RunId};
use convoke_plan::Plan;
use std::sync::Arc;

/// A run and its surroundings.
pub(super) struct Stage<'a> {
    pub console: &'a Console,
    pub state: &'a StateDir,
    pub plan: &'a Arc<Plan>,
    pub equipment: &'a Equipment,
    pub flags: &'a RunFlags,
    pub run: &'a RunId,
    pub resumed: bool,
}

impl Stage<'_> {
    /// The run's part of what processes share on this machine, where it takes part.
    pub fn capacity(&self, options: &Options) -> Result<Option<Shares>, CommandFailure> {
        let Some(machine) = &options.limits.machine else { return Ok(None) };
        let lease = self.console.config.lease;
        let (shares, remark) = sharing::take_part(self.state, self.run, self.plan, machine, lease)?;
        today::make_known(self.console, self.state, &shares.table, &options.limits)?;
        remark.iter().for_each(|remark| self.console.warn(remark));
        Ok(Some(shares))
    }

    /// What it does for other runs, where it was told to.
    pub fn share(&self, capacity: Option<&Shares>) -> Result<Option<Share>, CommandFailure> {
        match capacity {
            Some(shares) if self.flags.share && !self.equipment.is_taped() => {
                Share::begin(self.state, self.run, self.plan, self.equipment, shares, self.flags).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Who shows the run, answers for people and passes on what they say.
    pub fn watch(&self, handle: &Handle) -> Watch {
        let asker = self.manner().map(|manner| Asker {
            manner,
            hearer: Box::new(handle.clone()),
            bell: self.console.config.notify.bell,
            state: self.state.clone(),
            run: self.run.clone(),
            plan: self.plan.clone(),
            by: stored::actor(if manner == Manner::Terminal { "terminal" } else { "--skip-gates" }),
        });
        Watch {
            voice: self.console.voice,
            paint: self.console.paint,
            outline: Outline::of(self.plan),
            history: self.resumed.then(|| history(self.state, self.run)),
            texts: texts(self.state, self.run),
            asker,
            guide: self.flags.guided.then(|| Guide::new(handle.clone(), stored::actor("terminal"))),
        }
    }

    pub fn options(&self) -> Options {
        let owner = stored::ourselves();
        // A detached run waits for who attaches to it or answers from elsewhere.
        let detached = self.console.detached.is_some() && !self.flags.no_interactive;
        let interactive = self.manner().is_some() || detached;
        let max_concurrency = run_limit(&self.console.config, self.flags, self.plan);
        let mut limits = sharing::as_set(shared_limits(&self.console.config, max_concurrency), self.state);
        let known = LearnedStatistics::load(self.state);
        (limits.learned, limits.durations) = (known.services, known.durations);
        let stated = self.flags.max_concurrency.or(self.console.config.max_concurrency);
        limits.follows_machine = stated.or(self.plan.root().limits.max_concurrency).is_none();
        bound_breaker(&mut limits, self.plan.root().limits.breaker_failures);
        if self.equipment.is_replay() {
            // What is played back asks nobody and starts nothing.
            limits.machine = None;
            limits.asks_nobody = true;
        }
        let patience = self.console.config.disk_wait;
        Options { max_concurrency, interactive, patience, pid: owner.pid, host: owner.host, limits }
    }

    /// Who answers gates, if anybody does.
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

fn history(state: &StateDir, run: &RunId) -> History {
    let (state, run) = (state.clone(), run.clone());
    // The engine has read the same journal; if it cannot be read now, the view begins with what is new.
    Box::new(move || Reader::open(&state, &run).and_then(|reader| reader.read_all()).unwrap_or_default())
}

/// A view that cannot read a text now shows none.
pub fn texts(state: &StateDir, run: &RunId) -> Texts {
    let (state, run) = (state.clone(), run.clone());
    Box::new(move |payload| match payload {
        Payload::Inline(text) => Some(text.clone()),
        Payload::Blob { digest, .. } => Reader::open(&state, &run).ok()?.blob(digest).ok()?,
        Payload::Gathered => None,
    })
}
