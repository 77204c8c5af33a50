//! What a run looks like after some events.
//!
//! Total: any list of events, also a damaged or partial one, gives a state. Each event costs a few map operations, so
//! that a run of 100 000 tasks can be watched.

use crate::activity::Activity;
use crate::shown_failures::ShownFailures;
use crate::task::{End, Members, Phase, Task, Wait};
use crate::titles::Titles;
use crate::{Outline, PartialMerges, words};
use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{
    Absences, Blocked, ChildKind, ChildSpec, Ending, Event, PlanChanged, RunId, RunStatus, Stamped, TaskId,
    Timestamp, Usage, WaitsFor,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// A run, folded for people.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The run's name.
    pub run: Option<RunId>,
    /// The workflow's name.
    pub workflow: String,
    /// When it started.
    pub started: Timestamp,
    /// The time of the last event.
    pub last: Timestamp,
    /// When no process drove it.
    pub absences: Absences,
    /// How it stands.
    pub status: Option<RunStatus>,
    /// What of the machine it waits for; told by its process, not by events.
    pub blocked: Option<Blocked>,
    /// Every task that was seen.
    pub tasks: HashMap<TaskId, Task>,
    /// Attempts that run, oldest first.
    pub running: BTreeMap<u64, TaskId>,
    /// Groups and sub-workflows that are open, oldest first.
    pub holding: BTreeMap<u64, TaskId>,
    /// Tasks that wait, oldest first.
    pub waiting: BTreeMap<u64, TaskId>,
    /// Steps that ended, by how.
    pub ended: Ended,
    /// What all attempts used.
    pub usage: Usage,
    /// The step whose failure ended the run.
    pub failed_step: Option<TaskId>,
    /// Merges whose text grows.
    pub partial_merges: PartialMerges,
    /// What tasks are doing at this moment, as far as they report it.
    pub activity: Activity,
    /// The titles of tasks, from the plan of their goal.
    pub titles: Titles,
    /// Which failures were printed; filled by the watcher, not by events.
    pub shown_failures: ShownFailures,
    /// What the plan says in advance.
    pub outline: Outline,
    expected: HashSet<TaskId>,
    announced: u64,
    /// Children that are no steps of their own.
    aside_children: HashSet<TaskId>,
    /// How many of the tasks are such children, or stand below one.
    asides: u64,
}

/// How many steps ended, and how. Questions that steps ask on their way are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ended {
    /// Well.
    pub succeeded: u64,
    /// Badly.
    pub failed: u64,
    /// Without having run.
    pub skipped: u64,
    /// By being stopped.
    pub cancelled: u64,
}

impl Ended {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.succeeded + self.failed + self.skipped + self.cancelled
    }

    /// In words: `12 steps`, or `12 steps done, 1 failed`.
    pub fn words(&self) -> String {
        let (steps, others) = (words::plural(self.succeeded, "step"), self.others());
        if others.is_empty() { steps } else { format!("{steps} done{others}") }
    }

    /// The same where it is said already that these are steps: `12 done, 1 failed`.
    pub fn short_words(&self) -> String {
        format!("{} done{}", words::count(self.succeeded), self.others())
    }

    fn others(&self) -> String {
        let others = [(self.failed, "failed"), (self.skipped, "skipped"), (self.cancelled, "cancelled")];
        let others = others.iter().filter(|(count, _)| *count > 0);
        let others = others.map(|(count, word)| format!(", {} {word}", words::count(*count)));
        others.collect()
    }

    fn count(&mut self, end: End) -> &mut u64 {
        match end {
            End::Succeeded => &mut self.succeeded,
            End::Failed => &mut self.failed,
            End::Skipped => &mut self.skipped,
            End::Cancelled => &mut self.cancelled,
        }
    }
}

impl State {
    /// The state before the first event.
    pub fn new(outline: Outline) -> State {
        let expected = outline.steps.keys().cloned().collect();
        State { outline, expected, ..State::default() }
    }

    /// The state after these events, without a plan.
    pub fn of(events: &[Stamped]) -> State {
        State::fold(Outline::default(), events)
    }

    /// The state after these events.
    pub fn fold<'a>(outline: Outline, events: impl IntoIterator<Item = &'a Stamped>) -> State {
        let mut state = State::new(outline);
        events.into_iter().for_each(|event| state.apply(event));
        state
    }

    /// How long it has been worked on, until this moment.
    pub fn worked(&self, until: Timestamp) -> Duration {
        self.absences.worked(self.started, until)
    }

    /// How many steps there are or will be, as far as that is known. What a step asks on its way is none.
    pub fn total(&self) -> u64 {
        self.tasks.len() as u64 - self.asides + self.announced + self.expected.len() as u64
    }

    /// Steps of the plan that were not reached yet and wait for others, with what is still missing.
    pub fn not_ready(&self) -> impl Iterator<Item = (&TaskId, Vec<&TaskId>)> {
        let steps = self.outline.steps.iter().filter(|(task, _)| self.expected.contains(*task));
        let open = |need: &&TaskId| !self.tasks.get(*need).is_some_and(Task::is_ended);
        steps
            .map(move |(task, needs)| (task, needs.iter().filter(open).collect::<Vec<_>>()))
            .filter(|(_, n)| !n.is_empty())
    }

    /// The word for the kind of a task's node, if the plan is known.
    pub fn kind(&self, task: &TaskId) -> Option<&'static str> {
        let last = task.segments().last()?;
        let kinds = if last.key.is_some() { &self.outline.items } else { &self.outline.kinds };
        kinds.get(&last.node).copied()
    }

    /// Takes the next event.
    pub fn apply(&mut self, stamped: &Stamped) {
        let (at, seq) = (stamped.at, stamped.seq);
        self.absences.take(stamped);
        self.last = at;
        self.partial_merges.apply(&stamped.event);
        self.activity.apply(&stamped.event);
        self.titles.apply(&stamped.event);
        match &stamped.event {
            Event::RunStarted(started) => self.begin(at, started.run.clone(), &started.workflow),
            Event::RunOwned { .. } => self.status = Some(RunStatus::Running),
            Event::RunReopened(reopened) => self.reopen(&reopened.tasks, &reopened.restarted),
            Event::PlanChanged(changed) => self.reopen(&[], &changed.dropped),
            Event::RunForked(forked) => self.fork(&forked.change, at),
            Event::TaskStarted { task, until, .. } => self.open(task, *until, at, seq),
            Event::FannedOut { task, count, .. } => self.fan_out(task, *count, at, seq),
            Event::MergeStarted { task, .. } => self.open(task, None, at, seq),
            Event::ChildrenSpawned { task, children } => self.children_spawned(task, children, at, seq),
            Event::AttemptStarted { task, attempt, .. } => self.attempt(task, *attempt, at, seq),
            Event::AttemptFinished { task, usage, .. } => {
                self.attempt_ended(task, usage, Some(End::Succeeded), at)
            }
            Event::AttemptFailed { task, usage, .. } => self.attempt_ended(task, usage, None, at),
            Event::AttemptSuspended { task, waits_for, usage, .. } => {
                self.attempt_ended(task, usage, None, at);
                self.wait(task, wait_for(waits_for), at, seq);
            }
            Event::TurnRecorded { task, usage, .. } => self.used(task, usage, at),
            Event::AttemptLost { task, usage, .. } => self.attempt_ended(task, usage, None, at),
            Event::ProbeStarted { task, attempt, .. } => self.attempt(task, *attempt, at, seq),
            Event::AttemptDetached { task, .. } | Event::EffectProbed { task, .. } => {
                self.attempt_ended(task, &Usage::default(), None, at)
            }
            Event::RetryScheduled { task, at: when } => self.wait(task, Wait::Retry(*when), at, seq),
            Event::TaskSucceeded { task, .. } | Event::OutputTaken { task, .. } => {
                self.end(task, End::Succeeded, at)
            }
            Event::TaskFailed { task, .. } => self.end(task, End::Failed, at),
            Event::TaskSkipped { task, .. } => self.end(task, End::Skipped, at),
            Event::TaskCancelled { task, .. } => self.end(task, End::Cancelled, at),
            Event::GateOpened { task, question, .. } => self.wait(task, Wait::Person(*question), at, seq),
            Event::Blocked { task, on } => self.wait(task, Wait::Capacity(on.clone()), at, seq),
            Event::WorkflowEnding { within: None, ending: Ending::Failed { task, .. } } => {
                self.failed_step.clone_from(task)
            }
            Event::RunParked { .. } => self.status = Some(RunStatus::Parked),
            Event::RunInterrupted { .. } => self.status = Some(RunStatus::Interrupted),
            Event::RunFinished { status, .. } => self.status = Some(*status),
            _ => {}
        }
    }

    fn begin(&mut self, at: Timestamp, run: RunId, workflow: &str) {
        self.run = Some(run);
        self.workflow = workflow.to_owned();
        self.started = at;
        self.status = Some(RunStatus::Running);
    }

    fn open(&mut self, task: &TaskId, until: Option<Timestamp>, at: Timestamp, seq: u64) {
        match until {
            Some(moment) => self.wait(task, Wait::Until(moment), at, seq),
            None => self.enter(task, Phase::Holding(self.members(task)), at, seq),
        }
    }

    fn members(&self, task: &TaskId) -> Members {
        match self.tasks.get(task).map(|task| &task.phase) {
            Some(Phase::Holding(members)) => *members,
            _ => Members::default(),
        }
    }

    /// Tasks of a goal are steps of their own; all other children belong to the step that spawned them.
    fn children_spawned(&mut self, task: &TaskId, children: &[ChildSpec], at: Timestamp, seq: u64) {
        let is_step = |child: &&ChildSpec| matches!(child.kind, ChildKind::Item(_));
        let (steps, asides): (Vec<_>, Vec<_>) = children.iter().partition(is_step);
        let members = self.members(task).with_children(steps.len() as u32, asides.len() as u32);
        self.enter(task, Phase::Holding(members), at, seq);
        self.expected.extend(steps.iter().map(|step| step.child_of(task)));
        self.aside_children.extend(asides.iter().map(|aside| aside.child_of(task)));
    }

    fn fan_out(&mut self, task: &TaskId, count: u32, at: Timestamp, seq: u64) {
        let before = self.members(task);
        let announced = count.saturating_sub(before.seen);
        self.enter(task, Phase::Holding(Members { total: Some(count), announced, ..before }), at, seq);
        self.announced += u64::from(announced);
    }

    fn attempt(&mut self, task: &TaskId, attempt: u32, at: Timestamp, seq: u64) {
        self.enter(task, Phase::Running(at), at, seq);
        self.seen(task, at).attempts = attempt;
    }

    fn used(&mut self, task: &TaskId, usage: &Usage, at: Timestamp) {
        self.usage += *usage;
        self.seen(task, at).usage += *usage;
    }

    fn attempt_ended(&mut self, task: &TaskId, usage: &Usage, end: Option<End>, at: Timestamp) {
        self.used(task, usage, at);
        match end {
            Some(end) => self.end(task, end, at),
            // What follows (another attempt, a failure) is the next event; until then it waits for that.
            None => self.wait(task, Wait::Retry(at), at, 0),
        }
    }

    fn wait(&mut self, task: &TaskId, wait: Wait, at: Timestamp, seq: u64) {
        self.enter(task, Phase::Waiting(wait), at, seq);
    }

    fn enter(&mut self, task: &TaskId, phase: Phase, at: Timestamp, seq: u64) {
        let entry = self.seen(task, at);
        let (before, ended) = (entry.order, entry.counted());
        self.leave(before);
        if let Some(end) = ended {
            *self.ended.count(end) -= 1;
        }
        let place = match phase {
            Phase::Running(_) => &mut self.running,
            Phase::Holding(_) => &mut self.holding,
            _ => &mut self.waiting,
        };
        let order = if seq == 0 { before } else { seq };
        place.insert(order, task.clone());
        let entry = self.seen(task, at);
        entry.phase = phase;
        entry.order = order;
    }

    fn leave(&mut self, order: u64) {
        self.running.remove(&order);
        self.holding.remove(&order);
        self.waiting.remove(&order);
    }

    fn end(&mut self, task: &TaskId, end: End, at: Timestamp) {
        let entry = self.seen(task, at);
        if entry.is_ended() {
            return;
        }
        let (order, aside) = (entry.order, entry.aside);
        let started = entry.started;
        let took = self.absences.worked(started, at);
        let entry = self.seen(task, at);
        let before = std::mem::replace(&mut entry.phase, Phase::Ended { end, took });
        self.leave(order);
        self.drop_announced(task, &before);
        if !aside {
            *self.ended.count(end) += 1;
        }
        self.change_owner(task, |members| members.end(aside));
    }

    /// What a group had announced will not come any more when it is no longer open.
    fn drop_announced(&mut self, task: &TaskId, phase: &Phase) {
        let Phase::Holding(members) = phase else { return };
        self.announced = self.announced.saturating_sub(u64::from(members.announced));
        if members.steps > 0 {
            self.expected.retain(|id| !lies_below(id, task));
        }
    }

    /// The task's entry; a task that is seen for the first time is no longer only expected.
    fn seen(&mut self, task: &TaskId, at: Timestamp) -> &mut Task {
        if !self.tasks.contains_key(task) {
            self.expected.remove(task);
            let aside = self.is_aside(task);
            self.asides += u64::from(aside);
            let was_announced = self.change_owner(task, |members| members.see(aside)).unwrap_or(false);
            self.announced = self.announced.saturating_sub(u64::from(was_announced));
            self.tasks.insert(task.clone(), Task::new(at, aside));
        }
        self.tasks.get_mut(task).expect("just put there")
    }

    /// Whether a task is a child that is no step, or stands below one.
    fn is_aside(&self, task: &TaskId) -> bool {
        let above = |task: &TaskId| self.tasks.get(task).is_some_and(|task| task.aside);
        self.aside_children.contains(task)
            || owner(task).is_some_and(|owner| above(&owner))
            || task.parent().is_some_and(|parent| above(&parent))
    }

    /// Changes the numbers of the group that a task stands in, if that is open.
    fn change_owner<R>(&mut self, task: &TaskId, change: impl FnOnce(&mut Members) -> R) -> Option<R> {
        // A question `s/merge[2]` has no group `s/merge`: it stands in the task that asks it.
        let owner = owner(task).filter(|owner| self.tasks.contains_key(owner)).or_else(|| task.parent());
        let owner = owner.and_then(|owner| self.tasks.get_mut(&owner));
        let Some(Task { phase: Phase::Holding(members), .. }) = owner else { return None };
        Some(change(members))
    }

    /// Tasks that are open again are expected, not seen; what lies below a restarted one is neither.
    fn reopen(&mut self, tasks: &[TaskId], restarted: &[TaskId]) {
        let is_below = |id: &TaskId| restarted.iter().any(|above| lies_below(id, above));
        let below: Vec<_> = self.tasks.keys().filter(|id| is_below(id)).cloned().collect();
        below.iter().for_each(|id| self.remove(id));
        for id in tasks.iter().chain(restarted) {
            self.remove(id);
            self.expected.insert(id.clone());
        }
    }

    /// Time and spending before are another run's, and what ran there does not run here.
    fn fork(&mut self, change: &PlanChanged, at: Timestamp) {
        (self.started, self.usage) = (at, Usage::default());
        let ran = self.tasks.iter().filter(|(_, task)| matches!(task.phase, Phase::Running(_)));
        let ran: Vec<TaskId> = ran.map(|(id, _)| id.clone()).collect();
        self.reopen(&ran, &change.dropped);
        change.opened.iter().for_each(|id| self.remove(id));
    }

    fn remove(&mut self, id: &TaskId) {
        let Some(task) = self.tasks.remove(id) else { return };
        self.leave(task.order);
        self.drop_announced(id, &task.phase);
        self.asides -= u64::from(task.aside);
        if let Some(end) = task.counted() {
            *self.ended.count(end) -= 1;
        }
    }
}

/// Whether a task stands inside another: `g/a`, `g[3]` and `g[3]/a` inside `g`.
pub(crate) fn lies_below(task: &TaskId, above: &TaskId) -> bool {
    let mut owner_of = owner(task);
    while let Some(id) = owner_of {
        if id == *above {
            return true;
        }
        owner_of = owner(&id);
    }
    false
}

fn wait_for(waits_for: &WaitsFor) -> Wait {
    match waits_for {
        WaitsFor::Children(_) => Wait::Children,
        WaitsFor::Gate(_) => Wait::Person(0),
        WaitsFor::Time(at) => Wait::Until(*at),
    }
}

/// The group that a task stands in: an item `group[3]` in `group`, a member `group/a` in `group`.
pub fn owner(task: &TaskId) -> Option<TaskId> {
    let text = &*task.0;
    let last = text.rfind('/').map_or(0, |at| at + 1);
    if let Some(key) = text[last..].find('[') {
        let visit = text[last..].rfind('#').map_or("", |at| &text[last + at..]);
        return Some(TaskId(format!("{}{visit}", &text[..last + key]).into()));
    }
    task.parent()
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
