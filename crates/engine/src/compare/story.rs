//! A run as stories: for each task, by its path, what it was asked and answered and what was decided about it.
//!
//! Left out is what timing, names and capacity alone decide: times, process ids, leases, waits, reasons in words. What happens to
//! one task in a fixed order are its steps; what may come in any order (children, decisions about a goal) are facts with names.

use super::result::RUN;
use super::{Side, ask};
use crate::error::EngineError;
use convoke_agent::{Account, Message, Role};
use convoke_model::hash::OrderedMap;
use convoke_model::{
    Cause, ChildSpec, Digest, Event, Failure, GoalDecided, Payload, Stamped, TakenFrom, TaskId,
};
use convoke_plan::{NodeIx, WorkflowIx};
use convoke_schedule::{Scheduler, StoredOutputs, replayable};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A run, task by task.
#[derive(Default)]
pub struct Story {
    /// Its tasks, in order of appearance; facts about the run as a whole have names of their own.
    pub tasks: OrderedMap<TaskId, TaskStory>,
    /// Whether the run has come to its end.
    pub ended: bool,
    /// The number of its last event.
    pub last: u64,
}

/// What happened to one task.
#[derive(Default)]
pub struct TaskStory {
    /// Its node.
    pub place: Option<(WorkflowIx, NodeIx)>,
    /// What it followed when it began.
    pub upstream: Vec<TaskId>,
    /// What it stands in.
    pub above: Option<TaskId>,
    /// What happened, in order.
    pub steps: Vec<Item>,
    /// What happened in an order that timing decides, by name.
    pub facts: OrderedMap<Slot, Item>,
}

/// The name of a fact: what, about what, which time.
pub type Slot = (What, Arc<str>, u32);

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// Its event.
    pub seq: u64,
    /// What.
    pub what: What,
    /// Stands for everything about it that is compared.
    pub value: Digest,
}

/// What can happen to a task, as stories tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    /// A task began that is no attempt, with these inputs.
    Begun,
    /// A for_each got its items.
    FannedOut,
    /// A merge knows its sources.
    Merged,
    /// A child was spawned.
    Spawned,
    /// The router of a goal decided.
    Decided,
    /// An attempt was asked.
    Asked,
    /// The agent said something on its way.
    AgentMessage,
    /// The agent was told something on its way.
    UserMessage,
    /// A tool gave a result.
    ToolGave,
    /// The tools on offer were settled.
    ToolsSettled,
    /// An attempt gave its output.
    Answered,
    /// A person gave an output in place of an attempt.
    Set,
    /// An attempt failed.
    AttemptFailed,
    /// An attempt waits.
    Suspended,
    /// An attempt was lost.
    Lost,
    /// Another attempt is to follow.
    Retried,
    /// A person is asked.
    GateOpened,
    /// A person answered.
    GateAnswered,
    /// The task succeeded with a computed output.
    Succeeded,
    /// The task failed for good.
    Failed,
    /// The task did not run.
    Skipped,
    /// The task was told to stop, or has stopped.
    Cancelled,
    /// The branch went on.
    Routed,
    /// Outputs were missed.
    Missed,
    /// It was decided whether a phase starts.
    PhaseDecided,
    /// A phase changed the state of its run.
    StateChanged,
    /// A domain event was announced.
    Announced,
    /// Files were looked for.
    FilesSeen,
    /// The context of the project was read.
    ProjectSeen,
    /// A person gave guidance.
    Guided,
    /// A person or a signal asked the run to stop.
    StopRequested,
    /// A budget was spent.
    BudgetSpent,
    /// The workflow ended before its branches did.
    Ending,
    /// A hook was rendered.
    Hook,
    /// The run ended.
    Finished,
}

impl What {
    /// Whether it comes from outside: no other event of the run leads to it.
    pub fn is_fact(self) -> bool {
        use What::*;
        matches!(
            self,
            AgentMessage
                | ToolGave
                | ToolsSettled
                | Answered
                | AttemptFailed
                | Suspended
                | Lost
                | GateAnswered
                | FilesSeen
                | ProjectSeen
                | Guided
                | StopRequested
                | BudgetSpent
        )
    }
}

/// Folds the events that still count to stories.
pub fn fold(side: &Side<'_>) -> Result<Story, EngineError> {
    let mut folding = Folding {
        scheduler: Scheduler::new(side.plan.clone()),
        values: StoredOutputs(side.blob),
        story: Story::default(),
        folder: String::new(),
    };
    for stamped in replayable(side.events.to_vec()) {
        folding.take(&stamped)?;
    }
    folding.story.last = side.events.last().map_or(0, |stamped| stamped.seq);
    Ok(folding.story)
}

/// The event of an attempt's start, and the fields of what it was asked.
pub type AttemptFields = (u64, Map<String, Value>);

/// The fields of what attempts were asked that start with these events, in their order.
pub fn asks(side: &Side<'_>, wanted: &[u64]) -> Result<Vec<AttemptFields>, EngineError> {
    let mut found = Vec::new();
    let Some(last) = wanted.iter().max() else { return Ok(found) };
    let (mut scheduler, mut folder) = (Scheduler::new(side.plan.clone()), String::new());
    let wanted: std::collections::HashSet<&u64> = wanted.iter().collect();
    for stamped in replayable(side.events.to_vec()) {
        match &stamped.event {
            Event::RunStarted(started) => folder.clone_from(&started.folder),
            Event::AttemptStarted { task, .. } if wanted.contains(&stamped.seq) => {
                found.push((stamped.seq, asked(&scheduler, &StoredOutputs(side.blob), task, &folder)));
            }
            _ => {}
        }
        if stamped.seq >= *last {
            break;
        }
        scheduler.apply(&stamped)?;
    }
    Ok(found)
}

/// What the next attempt of a task is asked.
fn asked(
    scheduler: &Scheduler,
    values: &StoredOutputs<'_>,
    task: &TaskId,
    folder: &str,
) -> Map<String, Value> {
    let assignment = scheduler.find(task).map(|task| scheduler.view(values).assignment(task));
    match assignment {
        Some(Ok(assignment)) => ask::fields(&assignment, folder),
        Some(Err(failure)) => Map::from_iter([("failure".to_owned(), json!(failure.message))]),
        None => Map::new(),
    }
}

struct Folding<'a> {
    scheduler: Scheduler,
    values: StoredOutputs<'a>,
    story: Story,
    folder: String,
}

impl Folding<'_> {
    fn take(&mut self, stamped: &Stamped) -> Result<(), EngineError> {
        if let Event::AttemptStarted { task, .. } = &stamped.event {
            // What is asked follows from what was before.
            let fields = asked(&self.scheduler, &self.values, task, &self.folder);
            self.scheduler.apply(stamped)?;
            self.step(task, stamped.seq, What::Asked, &fields);
            return Ok(());
        }
        self.scheduler.apply(stamped)?;
        self.tell(stamped);
        Ok(())
    }

    /// One line for each event that is compared.
    fn tell(&mut self, stamped: &Stamped) {
        let seq = stamped.seq;
        match &stamped.event {
            Event::RunStarted(started) => self.folder.clone_from(&started.folder),
            Event::TaskStarted { task, inputs, .. } => self.step(task, seq, What::Begun, inputs),
            Event::FannedOut { task, items, keys, .. } => {
                self.step(task, seq, What::FannedOut, &(items, keys))
            }
            Event::MergeStarted { task, strategy, sources, missing, closed } => {
                self.step(task, seq, What::Merged, &(strategy, sources, missing, closed))
            }
            Event::ChildrenSpawned { task, children } => self.spawned(task, seq, children),
            Event::GoalDecided(decided) => self.decided(seq, decided),
            Event::TurnRecorded { task, piece, .. } => self.turn(task, seq, piece),
            Event::AttemptSuspended { task, state, .. } => {
                self.turn(task, seq, state);
                self.step(task, seq, What::Suspended, &());
            }
            Event::ToolsSettled { task, attempt, allowed_tools } => {
                self.fact(task, seq, (What::ToolsSettled, "".into(), *attempt), allowed_tools)
            }
            Event::OutputTaken { task, output, from: TakenFrom::Set } => {
                self.step(task, seq, What::Set, output)
            }
            // An output of another run stands for the attempt that gave it there.
            Event::AttemptFinished { task, output, .. } | Event::OutputTaken { task, output, .. } => {
                self.step(task, seq, What::Answered, output)
            }
            Event::AttemptFailed { task, failure, .. } => self.attempt_failed(task, seq, failure),
            Event::AttemptLost { task, .. } => self.step(task, seq, What::Lost, &()),
            Event::RetryScheduled { task, .. } => self.step(task, seq, What::Retried, &()),
            Event::GateOpened { task, ask, .. } => self.step(task, seq, What::GateOpened, ask),
            Event::GateAnswered { task, answer, .. } => self.step(task, seq, What::GateAnswered, answer),
            Event::TaskSucceeded { task, output } => self.step(task, seq, What::Succeeded, output),
            Event::TaskFailed { task, failure } => self.step(task, seq, What::Failed, &failure.class),
            Event::TaskSkipped { task, cause } => self.step(task, seq, What::Skipped, &cause.kind),
            Event::CancelRequested { task, cause } => self.cancelled(task, seq, cause),
            Event::TaskCancelled { task, cause } => self.cancelled(task, seq, cause),
            Event::RouteTaken { from, to, output, on_error } => {
                self.step(from, seq, What::Routed, &(to, output, on_error))
            }
            Event::OutputsMissed { task, missing } => self.step(task, seq, What::Missed, missing),
            Event::PhaseDecided(decided) => {
                self.step(&decided.task, seq, What::PhaseDecided, &decided.chosen)
            }
            Event::StateChanged { task, flags, metadata } => {
                self.fact(task, seq, (What::StateChanged, "".into(), 0), &(flags, metadata))
            }
            Event::Announced { task, attempt, kind, payload, .. } => {
                self.fact(task, seq, (What::Announced, kind.as_str().into(), *attempt), payload)
            }
            Event::FilesSeen { task, present, .. } => {
                self.fact(task, seq, (What::FilesSeen, "".into(), 0), present)
            }
            Event::ProjectSeen { task: None, context, place, .. } => {
                self.run_fact(seq, What::ProjectSeen, place, context)
            }
            Event::Guided { text, .. } => self.run_fact(seq, What::Guided, "", text),
            Event::TaskGuided { task, text, .. } => self.fact(task, seq, (What::Guided, "".into(), 0), text),
            Event::StopRequested { now, .. } => self.run_fact(seq, What::StopRequested, "", now),
            Event::BudgetSpent(spent) => {
                self.run_fact(seq, What::BudgetSpent, &spent.budget, &(spent.limit, spent.then))
            }
            Event::BudgetExceeded { budget_micros, .. } => {
                self.run_fact(seq, What::BudgetSpent, "", budget_micros)
            }
            Event::WorkflowEnding { within: Some(task), ending } => {
                self.fact(task, seq, (What::Ending, "".into(), 0), &word_of(ending))
            }
            Event::WorkflowEnding { within: None, ending } => {
                self.run_fact(seq, What::Ending, "", &word_of(ending))
            }
            Event::HookRendered { within: None, hook, text, .. } => {
                self.run_fact(seq, What::Hook, hook.word(), text)
            }
            Event::RunFinished { status, output, .. } => {
                self.story.ended = true;
                self.run_fact(seq, What::Finished, "", &(status, output));
            }
            _ => {}
        }
    }

    fn of(&mut self, task: &TaskId) -> &mut TaskStory {
        if !self.story.tasks.contains_key(task) {
            let story = self.first_seen(task);
            self.story.tasks.insert(task.clone(), story);
        }
        &mut self.story.tasks[task]
    }

    fn first_seen(&self, task: &TaskId) -> TaskStory {
        let Some(found) = self.scheduler.find(task) else { return TaskStory::default() };
        let id = |task| self.scheduler.id(task).clone();
        TaskStory {
            place: self.scheduler.places(found).next(),
            upstream: self.scheduler.follows(found).into_iter().map(id).collect(),
            above: self.scheduler.above(found).map(id),
            ..TaskStory::default()
        }
    }

    fn step(&mut self, task: &TaskId, seq: u64, what: What, value: &(impl Serialize + ?Sized)) {
        let item = Item { seq, what, value: digest(value) };
        self.of(task).steps.push(item);
    }

    fn fact(&mut self, task: &TaskId, seq: u64, slot: Slot, value: &(impl Serialize + ?Sized)) {
        let item = Item { seq, what: slot.0, value: digest(value) };
        self.of(task).facts.insert(slot, item);
    }

    /// Facts about the run are stories of one step, because none of them follows from another by being about the run.
    fn run_fact(&mut self, seq: u64, what: What, name: &str, value: &(impl Serialize + ?Sized)) {
        let nth = |nth: u32| TaskId(format!("{RUN}{what:?} {name} {nth}").into());
        let free = (0..).map(nth).find(|id| !self.story.tasks.contains_key(id)).expect("numbers do not end");
        let item = Item { seq, what, value: digest(value) };
        self.story.tasks.insert(free, TaskStory { steps: vec![item], ..TaskStory::default() });
    }

    fn spawned(&mut self, task: &TaskId, seq: u64, children: &[ChildSpec]) {
        for child in children {
            let name = child.child_of(task).0;
            self.fact(task, seq, (What::Spawned, name, 0), &(&child.kind, &child.needs));
        }
    }

    /// A decision about a task of a goal belongs to that task.
    fn decided(&mut self, seq: u64, decided: &GoalDecided) {
        let task = decided.about.as_ref().unwrap_or(&decided.task);
        let word: Arc<str> = decided.chosen.word().into();
        let known = &self.of(task).facts;
        let nth =
            (0..).find(|nth| !known.contains_key(&(What::Decided, word.clone(), *nth))).expect("endless");
        self.fact(task, seq, (What::Decided, word, nth), &decided.role);
    }

    fn turn(&mut self, task: &TaskId, seq: u64, piece: &Payload) {
        let accounts = piece.text(self.values.0).and_then(|text| Account::read(&[text])).unwrap_or_default();
        for message in accounts.iter().flat_map(|account| &account.messages) {
            let item = Item { seq, what: what_is(message), value: value_of(message) };
            self.of(task).steps.push(item);
        }
    }

    /// An attempt that was told to stop says so, unless it was gone by then: only the request counts.
    fn attempt_failed(&mut self, task: &TaskId, seq: u64, failure: &Failure) {
        if failure.class != convoke_model::Class::Cancelled {
            self.step(task, seq, What::AttemptFailed, &(failure.class, &failure.reason));
        }
    }

    /// Requests and ends of stopping are one step: which of them is recorded is a matter of timing.
    fn cancelled(&mut self, task: &TaskId, seq: u64, cause: &Cause) {
        let story = self.of(task);
        if story.steps.last().is_none_or(|last| last.what != What::Cancelled) {
            self.step(task, seq, What::Cancelled, &cause.kind);
        }
    }
}

/// A message without the names that a service gives to calls.
fn said(message: &Message) -> Value {
    let calls: Vec<Value> =
        message.tool_calls.iter().map(|call| json!([call.name, call.arguments])).collect();
    let result_of = message.result_of.as_ref().map(|of| json!([of.name, of.failed, of.unknown]));
    json!([message.text, calls, result_of])
}

/// Stands for everything about a message that is compared.
pub fn value_of(message: &Message) -> Digest {
    digest(&said(message))
}

/// What a message of a conversation is.
pub fn what_is(message: &Message) -> What {
    match message.role {
        Role::Tool => What::ToolGave,
        Role::Assistant => What::AgentMessage,
        _ => What::UserMessage,
    }
}

fn word_of(ending: &convoke_model::Ending) -> Value {
    match ending {
        convoke_model::Ending::Failed { task, failure } => json!(["failed", task, failure.class]),
        convoke_model::Ending::Terminated { task, success, reason, output } => {
            json!(["terminated", task, success, reason, output])
        }
    }
}

fn digest(value: &(impl Serialize + ?Sized)) -> Digest {
    Digest::of(&serde_json::to_vec(value).expect("what is recorded is data"))
}
