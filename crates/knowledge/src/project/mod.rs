//! From a journal to quads: a pure function of the plan and the events, event by event.
//!
//! The same events give the same changes, so a journal can be read again from its beginning. Values are not copied: a content is named
//! by its digest, and one so short that it could be guessed from it by its size alone. Names that the author wrote (steps, roles, models)
//! are; item keys that come from a run's values are numbers here.
//!
//! What is written stays true, with one exception: the end of a run is taken back when the run is opened again. Tasks that begin anew
//! then are other resources (`…;2`), which say what they were (`cv:again`).

mod attempt;
mod citations;
mod ending;
mod names;
mod outline;
mod provenance;
mod quads;
mod run;
mod state;
mod task;

pub use names::{graph_of, run_iri};

use convoke_model::{Digest, Event, JsonText, RunId, Stamped};
use convoke_plan::Plan;
use names::Names;
use outline::Outline;
use oxrdf::Quad;
use quads::Quads;
use state::Task;
use std::collections::{BTreeMap, HashMap};

/// Another mapping has another number: graphs of an older one are made anew.
pub const VERSION: u32 = 2;

/// What else of a run goes into its graph, on top of what is always there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Telling {
    /// Messages of failures, paths, keys of items, and the first characters of outputs.
    pub contents: bool,
}

/// What an event does to the graph of its run.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Nothing of an earlier reading counts.
    Begin,
    /// These hold.
    Add(Vec<Quad>),
    /// These no longer do.
    Remove(Vec<Quad>),
}

/// What a run keeps beside its events.
pub trait Beside {
    /// A plan that it has come to follow.
    fn plan(&self, digest: &Digest) -> Option<Plan>;
    /// A content that is too long for an event.
    fn content(&self, digest: &Digest) -> Option<JsonText>;
}

/// A run that keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingBeside;

impl Beside for NothingBeside {
    fn plan(&self, _: &Digest) -> Option<Plan> {
        None
    }

    fn content(&self, _: &Digest) -> Option<JsonText> {
        None
    }
}

/// The projection of one run.
pub struct Projector {
    outline: Outline,
    telling: Telling,
    names: Names,
    quads: Quads,
    workflow: String,
    roles: HashMap<String, Role>,
    tasks: BTreeMap<String, Task>,
    failed: u64,
    ended: u64,
    /// What was said of the run's end, which is taken back when it is opened again.
    ending: Vec<Quad>,
}

/// A role of an organisation that an agent of the plan plays.
struct Role {
    iri: String,
    department: Option<String>,
}

impl Projector {
    /// A run that begins under this plan.
    pub fn new(run: &RunId, plan: Plan, telling: Telling) -> Projector {
        Projector {
            outline: Outline::new(plan),
            telling,
            names: Names::new(run, telling.contents),
            quads: Quads::of(graph_of(run)),
            workflow: String::new(),
            roles: HashMap::new(),
            tasks: BTreeMap::new(),
            failed: 0,
            ended: 0,
            ending: Vec::new(),
        }
    }

    /// Takes the next event.
    pub fn take(&mut self, stamped: &Stamped, beside: &dyn Beside) -> Vec<Change> {
        let at = stamped.at;
        let mut changes = Vec::new();
        match &stamped.event {
            Event::RunStarted(started) => {
                changes.push(Change::Begin);
                self.run_started(started, at);
            }
            Event::RunReopened(reopened) => {
                changes.extend(self.open_again());
                self.reopened(reopened, at);
            }
            Event::PlanChanged(changed) => {
                changes.extend(self.open_again());
                self.plan_changed(changed, beside, at);
            }
            Event::RunForked(forked) => self.forked(forked, beside, at),
            Event::RunFinished { status, output, .. } => {
                self.run_finished(*status, output.as_ref(), at);
                self.ending = self.quads.take();
                changes.push(Change::Add(self.ending.clone()));
            }
            _ => self.take_of_task(stamped, beside),
        }
        if !self.quads.is_empty() {
            changes.push(Change::Add(self.quads.take()));
        }
        changes
    }

    fn take_of_task(&mut self, stamped: &Stamped, beside: &dyn Beside) {
        let at = stamped.at;
        match &stamped.event {
            Event::TaskStarted { task, .. } => self.tell(&task.0, at),
            Event::FannedOut { task, count, .. } => self.fanned_out(&task.0, *count, at),
            Event::MergeStarted { task, strategy, sources, .. } => {
                self.merge_started(&task.0, strategy.word(), sources, at)
            }
            Event::ChildrenSpawned { task, children } => self.children_spawned(&task.0, children, at),
            Event::ContractResolved { task, contract, .. } => self.contract_resolved(&task.0, contract, at),
            Event::AttemptStarted { task, attempt, .. } => self.attempt_started(&task.0, *attempt, at),
            Event::TurnRecorded { task, attempt, usage, .. } => self.turn(&task.0, *attempt, usage),
            Event::ModelCalled { task, attempt, call } => self.model_called(&task.0, *attempt, call),
            Event::ToolCalled { task, attempt, tool, ms, failed } => {
                self.tool_called(&task.0, *attempt, tool, *ms, *failed, stamped.seq)
            }
            Event::AttemptFinished { task, attempt, output, usage } => {
                self.attempt_ended(&task.0, *attempt, "Succeeded", usage, at);
                self.succeeded(&task.0, output, beside, at);
            }
            Event::AttemptFailed { task, attempt, failure, usage, .. } => {
                let me = self.attempt_ended(&task.0, *attempt, "Failed", usage, at);
                self.failure(&me, failure);
            }
            Event::AttemptLost { task, attempt, usage } => {
                self.attempt_ended(&task.0, *attempt, "Lost", usage, at);
            }
            Event::AttemptSuspended { task, attempt, usage, .. } => {
                self.attempt_ended(&task.0, *attempt, "Suspended", usage, at);
            }
            Event::TaskSucceeded { task, output } => self.succeeded(&task.0, output, beside, at),
            Event::OutputTaken { task, output, from } => self.output_taken(&task.0, output, from, beside, at),
            Event::TaskFailed { task, failure } => self.task_failed(&task.0, failure, at),
            Event::TaskSkipped { task, cause } => self.stopped(&task.0, "Skipped", cause, at),
            Event::TaskCancelled { task, cause } => self.stopped(&task.0, "Cancelled", cause, at),
            Event::RouteTaken { from, to: Some(to), .. } => self.route_taken(&from.0, &to.0),
            Event::GoalDecided(decided) => {
                let about = decided.about.as_ref().unwrap_or(&decided.task);
                self.decided(&about.0, decided.chosen.word(), stamped.seq, at)
            }
            Event::PhaseDecided(decided) => {
                self.decided(&decided.task.0, decided.chosen.word(), stamped.seq, at)
            }
            Event::Noted { task: Some(task), code, .. } if code == "model_fallback" => {
                self.fell_back(&task.0)
            }
            Event::GateAnswered { task, .. } => self.gate_answered(&task.0, at),
            Event::BudgetSpent(_) | Event::BudgetExceeded { .. } => self.budget_spent(at),
            Event::LimitAdapted(adapted) => self.limit_adapted(adapted, stamped.seq, at),
            _ => {}
        }
    }
}
