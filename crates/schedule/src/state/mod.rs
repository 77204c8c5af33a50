//! Everything that is known of a run: the plan, and what the journal says so far.
//!
//! The fold (`fold`) alone writes it. Decisions read it, through [`crate::View`] where they also need the texts of
//! outputs. Invariant: the same events give the same state, live or replayed.

mod agenda;
mod budget_scopes;
mod cause;
mod frame;
mod group;
mod index;
mod labels;
mod lineage;
mod proof;
mod rounds;
mod task;
mod timer;
mod values;
mod workspace;

pub(crate) use agenda::Todo;
pub use budget_scopes::{BudgetScope, ConfiguredBudgets, Owner};
pub(crate) use frame::{Frame, FrameEnding, FrameIx, Stage, Summary};
pub(crate) use group::Group;
pub(crate) use proof::Proof;
pub use task::{End, TaskIx, TaskState};
pub(crate) use task::{Place, ProbeState, Task, Tasks};
pub(crate) use timer::{Alarm, Timers};
pub(crate) use workspace::{SealedWork, Workspace};

use crate::composite::{Children, Composites, Memos};
use crate::outputs::Outputs;
use crate::reuse::Reusable;
use crate::view::View;
use budget_scopes::Namesakes;
use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{Digest, Failure, Payload, RunStatus, Superseded, TaskId, Timestamp};
use convoke_plan::template::Renderer;
use convoke_plan::{Agent, Kind, Node, NodeIx, Plan, Workflow, WorkflowIx};
use index::{WorkflowIndex, index};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use values::Values;

/// How the run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// Well or badly.
    pub status: RunStatus,
    /// The workflow's output.
    pub output: Option<Payload>,
    /// Why it failed.
    pub failure: Option<Failure>,
}

/// Everything that is known of a run. See the module.
pub struct State {
    pub(crate) plan: Arc<Plan>,
    pub(crate) index: Arc<Vec<WorkflowIndex>>,
    pub(crate) renderer: Arc<Renderer>,
    pub(crate) values: Values,
    pub(crate) composites: Composites,
    pub(crate) memos: Memos,
    pub(crate) children: Children,
    pub(crate) tasks: Tasks,
    pub(crate) frames: Vec<Frame>,
    pub(crate) agenda: VecDeque<Todo>,
    /// Workflows to look at once everything else is settled.
    pub(crate) frame_agenda: VecDeque<FrameIx>,
    pub(crate) timers: Timers,
    pub(crate) seed: u64,
    /// The run's name.
    pub(crate) run: Arc<str>,
    /// Where the run was started.
    pub(crate) folder: String,
    /// Budgets besides those of the plan.
    pub(crate) configured_budgets: ConfiguredBudgets,
    /// Steps that need more than their name to say whose budget is meant.
    pub(crate) namesakes: Namesakes,
    pub(crate) skip_gates: bool,
    pub(crate) now: Timestamp,
    pub(crate) ended: u32,
    /// Attempts that run, gates that wait.
    pub(crate) running: u32,
    pub(crate) asking: u32,
    pub(crate) queued: u32,
    pub(crate) finished: Option<Finished>,
    /// Whether a step was skipped because of a failure that the run lived with.
    pub(crate) missed_steps: bool,
    /// Whether a merge did without some of its outputs.
    pub(crate) missed_outputs: bool,
    /// Whether a goal was not reached, or not wholly, at some time; whether that still counts is seen at the end.
    pub(crate) missed_goals: bool,
    /// What the runs of the project share, as it was last seen, by the name of its place.
    pub(crate) projects: HashMap<String, (u64, Payload)>,
    /// Changes of the project that stand in the journal, by the name of its place, and have not been told to it yet.
    pub(crate) settled: HashMap<String, Vec<String>>,
    /// Tasks for which something outside is looked up or changed right now.
    pub(crate) lookups: HashSet<TaskIx>,
    /// What is left of the limits of tasks that stand still, because a person is asked about their work.
    pub(crate) stopped_clocks: BTreeMap<TaskIx, Duration>,
    /// Tasks that begin anew because the run was opened again, and when that was last.
    pub(crate) restarted: HashMap<TaskId, Timestamp>,
    /// What phases came to before they began anew, each of their runs.
    pub(crate) superseded: HashMap<TaskId, Vec<Superseded>>,
    /// Answers that may allow calls for the rest of the run.
    pub(crate) remembers: Vec<Payload>,
    /// What people said to the run on its way.
    pub(crate) guidance: Vec<String>,
    /// Outputs that were set: these tasks take them instead of beginning.
    pub(crate) given: HashMap<TaskId, Payload>,
    /// Tasks of which it is known that they cannot take the output of another run.
    pub(crate) affected: HashSet<TaskId>,
    /// The run whose outputs are taken where they would come out the same.
    pub(crate) reusable: Option<Arc<Reusable>>,
    /// The workspaces of tasks.
    pub(crate) workspaces: BTreeMap<TaskIx, Workspace>,
    /// What is known of the proofs of tasks.
    pub(crate) proofs: BTreeMap<TaskIx, Proof>,
    /// Workspaces that are being let go of right now.
    pub(crate) leaving: HashSet<TaskIx>,
    /// How many questions each task has asked so far, those that were undone included: a number is never used again.
    pub(crate) questions: HashMap<TaskId, u32>,
}

/// What the fold writes, so that two states can be compared in words. The plan and what is remembered of it is left out.
impl std::fmt::Debug for State {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("State")
            .field("children", &self.children)
            .field("tasks", &self.tasks)
            .field("frames", &self.frames)
            .field("agenda", &(&self.agenda, &self.frame_agenda))
            .field("timers", &self.timers)
            .field("run", &(&self.run, &self.folder, self.seed, self.skip_gates, self.now))
            .field("counts", &(self.ended, self.running, self.asking, self.queued))
            .field("finished", &self.finished)
            .field("missed", &(self.missed_steps, self.missed_outputs, self.missed_goals))
            .field("projects", &(&self.projects, &self.settled, &self.lookups, &self.stopped_clocks))
            .field("restarted", &(&self.restarted, &self.superseded))
            .field("remembers", &self.remembers)
            .field("guidance", &self.guidance)
            .field("workspaces", &self.workspaces)
            .field("proofs", &self.proofs)
            .finish_non_exhaustive()
    }
}

impl State {
    /// A run of a plan, before anything has happened.
    pub(crate) fn new(plan: Arc<Plan>, composites: Composites) -> State {
        let renderer = Arc::new(Renderer::new(&plan.templates, &plan.conditions, &plan.partials));
        let index = Arc::new(index(&plan, &composites));
        State {
            values: Values::new(&plan),
            composites,
            memos: Memos::default(),
            children: Children::default(),
            namesakes: Namesakes::of(&plan),
            plan,
            index,
            renderer,
            tasks: Tasks::default(),
            frames: Vec::new(),
            agenda: VecDeque::new(),
            frame_agenda: VecDeque::new(),
            timers: Timers::default(),
            seed: 0,
            run: "".into(),
            folder: String::new(),
            configured_budgets: ConfiguredBudgets::default(),
            restarted: HashMap::default(),
            given: HashMap::default(),
            affected: HashSet::default(),
            reusable: None,
            questions: HashMap::default(),
            workspaces: BTreeMap::new(),
            proofs: BTreeMap::new(),
            leaving: HashSet::default(),
            skip_gates: false,
            now: Timestamp::default(),
            ended: 0,
            running: 0,
            asking: 0,
            queued: 0,
            finished: None,
            missed_steps: false,
            missed_outputs: false,
            missed_goals: false,
            projects: HashMap::default(),
            settled: HashMap::default(),
            lookups: HashSet::default(),
            stopped_clocks: BTreeMap::new(),
            superseded: HashMap::default(),
            remembers: Vec::new(),
            guidance: Vec::new(),
        }
    }

    /// The state together with the texts of outputs: all that a decision is made from.
    pub fn view<'a>(&'a self, outputs: &'a dyn Outputs) -> View<'a> {
        View { state: self, outputs }
    }

    /// The next moment at which something is to be decided, whatever else happens.
    pub fn next_wake(&self) -> Option<Timestamp> {
        if self.finished.is_some() { None } else { self.timers.next() }
    }

    /// What a task's change of the project is known by: the same after a crash or a stop, another one if the task, or what
    /// it stands in, begins anew because the run was opened again.
    pub(crate) fn change_key(&self, task: TaskIx) -> String {
        let id = &self.tasks[task].id;
        let around = std::iter::successors(Some(id.clone()), TaskId::parent);
        match around.filter_map(|task| self.restarted.get(&task)).max() {
            None => id.to_string(),
            Some(Timestamp(at)) => format!("{id}@{at}"),
        }
    }

    /// By this the world outside knows what a task does: no other run has it, and it stays the same when the task is tried again.
    pub fn effect_key(&self, task: TaskIx) -> Arc<str> {
        let words = format!("convoke effect\0{}\0{}", self.run, self.change_key(task));
        Digest::of(words.as_bytes()).to_string().into()
    }

    /// The name of the place where is kept what a task's workflow shares with other runs; see
    /// [`Workflow::project_place`].
    pub fn project_place(&self, task: TaskIx) -> Option<String> {
        self.workflow_of(task).project_place()
    }

    /// The places where the run has changed something.
    pub fn changed_places(&self) -> Vec<String> {
        self.settled.keys().cloned().collect()
    }

    /// Where the run was started.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// How the run ended, once it has.
    pub fn finished(&self) -> Option<&Finished> {
        self.finished.as_ref()
    }

    /// Characters of what people said to the run and was heard.
    pub fn guidance_heard(&self) -> usize {
        self.guidance.iter().map(|text| text.chars().count()).sum()
    }

    /// The gates that wait, when nothing else can happen before one is answered.
    pub fn parked(&self) -> Option<Vec<TaskId>> {
        let waits = self.running > 0 || self.queued > 0 || !self.lookups.is_empty();
        let idle = !waits && self.asking > 0 && self.finished.is_none();
        let timed = |task: &Task| matches!(task.state, TaskState::Timed(_) | TaskState::Backoff(_));
        if !idle || self.tasks.indices().any(|ix| timed(&self.tasks[ix])) {
            return None;
        }
        Some(self.asking())
    }

    /// Whether a task waits for a person's answer.
    pub fn is_asking(&self) -> bool {
        self.asking > 0
    }

    /// The tasks that wait for a person's answer.
    pub fn asking(&self) -> Vec<TaskId> {
        let waits = |ix: &TaskIx| self.tasks[*ix].state == TaskState::Asking && !self.is_answered(*ix);
        self.tasks.indices().filter(waits).map(|ix| self.tasks[ix].id.clone()).collect()
    }

    /// A task's id.
    pub fn id(&self, task: TaskIx) -> &TaskId {
        &self.tasks[task].id
    }

    /// A task by its id.
    pub fn find(&self, id: &TaskId) -> Option<TaskIx> {
        self.tasks.find(id)
    }

    /// How a task stands.
    pub fn state(&self, task: TaskIx) -> TaskState {
        self.tasks[task].state
    }

    /// Whether a person has answered what a task asks, and nothing has followed from that yet.
    pub fn is_answered(&self, task: TaskIx) -> bool {
        self.tasks[task].state == TaskState::Asking && self.tasks[task].answer.is_some()
    }

    /// All tasks so far.
    pub fn tasks(&self) -> impl Iterator<Item = TaskIx> + use<> {
        self.tasks.indices()
    }

    /// The node that a task is an instance of.
    pub fn node(&self, task: TaskIx) -> &Node {
        self.workflow_of(task).node(self.tasks[task].node)
    }

    /// The agent whose model the attempts of a task ask: its own, or the agent that writes its programs.
    pub fn agent_of(&self, task: TaskIx) -> Option<&Agent> {
        let node = self.node(task);
        let model = self.own_composite(task).map(|composite| composite.model(node));
        let agent = match model {
            Some(model) => &self.workflow_of(task).node(model?).kind,
            None => &node.kind,
        };
        if let Kind::Agent(agent) = agent { Some(agent) } else { None }
    }

    /// A task's failure, if it failed.
    pub fn failure(&self, task: TaskIx) -> Option<&Failure> {
        self.tasks[task].failure.as_deref()
    }

    /// A task's output, if it has one.
    pub fn output(&self, task: TaskIx) -> Option<&Payload> {
        self.tasks[task].output.as_ref()
    }

    /// Where a task's node stands in the plan, and the tasks of the sub-workflows around it, innermost first.
    pub fn places(&self, task: TaskIx) -> impl Iterator<Item = (WorkflowIx, NodeIx)> {
        let around = |task: &TaskIx| self.frame(self.tasks[*task].place.frame).parent;
        std::iter::successors(Some(task), around)
            .map(|task| (self.frame(self.tasks[task].place.frame).workflow, self.tasks[task].node))
    }

    /// How many tasks of goals were looked at so far, for decisions and prompts together: what routing costs.
    pub fn looked_at(&self) -> u64 {
        self.values.looked.get()
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How many attempts of a task have begun.
    pub fn attempts(&self, task: TaskIx) -> u32 {
        self.tasks[task].attempts
    }

    /// Whether a task was told to stop.
    pub fn is_cancelling(&self, task: TaskIx) -> bool {
        self.tasks[task].cancelling.is_some()
    }

    /// When the time of a task is over, as far as it has one and has begun.
    pub fn deadline(&self, task: TaskIx) -> Option<Timestamp> {
        if self.tasks[task].state == TaskState::Asking && !self.answers_in_its_time(task) {
            return self.timers.armed(Alarm::Expiry(task));
        }
        self.node(task).timeout.as_ref()?;
        self.timers.armed(Alarm::Deadline(task))
    }

    /// The number of a task's last question.
    pub fn question(&self, task: TaskIx) -> u32 {
        self.questions.get(&self.tasks[task].id).copied().unwrap_or(0)
    }

    /// Knows that a task has asked so many questions, also those that are undone.
    pub(crate) fn has_asked(&mut self, task: &TaskId, question: u32) {
        let asked = self.questions.entry(task.clone()).or_insert(0);
        *asked = (*asked).max(question);
    }

    /// What a gate asks, while it waits.
    pub fn ask(&self, task: TaskIx) -> Option<&Payload> {
        self.tasks[task].ask.as_ref()
    }

    pub(crate) fn workflow_of(&self, task: TaskIx) -> &Workflow {
        self.workflow_in(self.tasks[task].place.frame)
    }

    pub(crate) fn workflow_in(&self, frame: FrameIx) -> &Workflow {
        self.plan.workflow(self.frame(frame).workflow)
    }

    pub(crate) fn index_in(&self, frame: FrameIx) -> &WorkflowIndex {
        &self.index[self.frame(frame).workflow.0 as usize]
    }

    pub(crate) fn frame(&self, ix: FrameIx) -> &Frame {
        &self.frames[ix.0 as usize]
    }

    pub(crate) fn frame_mut(&mut self, ix: FrameIx) -> &mut Frame {
        &mut self.frames[ix.0 as usize]
    }

    pub(crate) fn todo(&mut self, todo: Todo) {
        if let Todo::Group(task) = todo {
            self.note_changed(task);
        }
        if self.agenda.back() != Some(&todo) {
            self.agenda.push_back(todo);
        }
    }

    /// A workflow may have come to its end; that is checked only when the agenda is empty.
    pub(crate) fn check_when_idle(&mut self, frame: FrameIx) {
        if !std::mem::replace(&mut self.frame_mut(frame).listed, true) {
            self.frame_agenda.push_back(frame);
        }
    }
}
