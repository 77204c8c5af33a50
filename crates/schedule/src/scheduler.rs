//! The scheduler: a run's state and the decisions made about it. Its entrances are apply, decide, launch and lose.
//!
//! Reads as its state does ([`State`]). Two methods write: [`Scheduler::apply`] takes an event of the journal into the
//! state, `emit` a decision of its own. What deciders note for themselves (below) stands in no event.

use crate::composite::{Composite, Composites};
use crate::fold::IllegalEvent;
use crate::outputs::Outputs;
use crate::reuse::Reusable;
use crate::state::{Alarm, ConfiguredBudgets, FrameIx, State, TaskIx, Todo};
use convoke_model::{Event, MergeMode, Payload, ProofLook, Stamped, TaskId, Timestamp, Usage};
use convoke_plan::Plan;
use convoke_plan::template::Cancellation;
use std::ops::Deref;
use std::sync::Arc;

/// What the engine is told to do. Launches come from [`Scheduler::launch`], once a permit is there.
#[derive(Debug, Clone)]
pub enum Command {
    /// Ask the governor for a permit for a task that wants to start.
    Admit(TaskIx),
    /// The task no longer wants a permit.
    Withdraw(TaskIx),
    /// Stop the running attempt.
    Abort(TaskIx),
    /// Look whether files exist that a decision depends on; `FilesSeen` answers.
    LookUpFiles {
        /// The task that is decided about.
        task: TaskIx,
        /// The files, below the folder of the run.
        paths: Vec<String>,
    },
    /// Change what the runs of the project share; `ProjectSeen` answers.
    Patch {
        /// The task that waits for it.
        task: TaskIx,
        /// Names the patch in this run: the same change is made once, however often it is asked for.
        key: String,
        /// The change.
        patch: Payload,
    },
    /// Look at the work of a task that has parts, before they begin or when they have ended; `ProofBegun` or `ProofChecked` answers,
    /// or the failure of the task.
    LookAtProof {
        /// The task.
        task: TaskIx,
        /// What must hold.
        look: Box<ProofLook>,
    },
    /// Let go of a task's workspace; `WorkspaceReleased` or `WorkspaceKept` answers, or the failure of the task.
    LetGo {
        /// The task.
        task: TaskIx,
        /// Bring its work back before, in this way.
        back: Option<MergeMode>,
    },
}

/// What one call of [`Scheduler::decide`] came to.
#[derive(Debug, Default)]
pub struct Turn {
    /// Decisions, already applied; they go to disk with the facts they follow from.
    pub events: Vec<Event>,
    /// What to do once they are there.
    pub commands: Vec<Command>,
}

/// Decides what may start. See the crate's story.
pub struct Scheduler {
    state: State,
    turn: Turn,
}

impl Deref for Scheduler {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl Scheduler {
    /// A scheduler for a plan, before anything has happened.
    pub fn new(plan: Arc<Plan>) -> Scheduler {
        Scheduler::knowing(plan, Composites::known())
    }

    /// A scheduler that knows another kind of composite tasks besides those of the language.
    pub fn with_composite(plan: Arc<Plan>, composite: Arc<dyn Composite>) -> Scheduler {
        Scheduler::knowing(plan, Composites::with(composite))
    }

    fn knowing(plan: Arc<Plan>, composites: Composites) -> Scheduler {
        Scheduler { state: State::new(plan, composites), turn: Turn::default() }
    }

    /// Takes an event of the journal into the state.
    pub fn apply(&mut self, stamped: &Stamped) -> Result<(), IllegalEvent> {
        self.state.apply(stamped)
    }

    /// Decides everything that can be decided now.
    pub fn decide(&mut self, now: Timestamp, outputs: &dyn Outputs) -> Turn {
        self.state.now = self.state.now.max(now);
        while !self.cancellation().took_effect() {
            self.fire_timers(outputs);
            if let Some(todo) = self.state.agenda.pop_front() {
                self.process(todo, outputs);
            } else if let Some(frame) = self.state.frame_agenda.pop_front() {
                self.state.frame_mut(frame).listed = false;
                self.process_frame(frame, outputs);
            } else {
                break;
            }
        }
        std::mem::take(&mut self.turn)
    }

    /// Takes the lists of a turn back, so that the next turn need not grow its own.
    pub fn reuse(&mut self, mut done: Turn) {
        done.events.clear();
        done.commands.clear();
        done.events.append(&mut self.turn.events);
        done.commands.append(&mut self.turn.commands);
        self.turn = done;
    }

    /// The flag that ends what is being rendered. Once it took effect nothing more is decided, and what was decided in the
    /// same turn may follow from a text that was cut off: the caller forgets both.
    pub fn cancellation(&self) -> &Cancellation {
        self.renderer.cancellation()
    }

    /// A scheduler for the same plan under the same budgets that has seen nothing yet.
    pub fn begun_anew(&self) -> Scheduler {
        let mut scheduler = Scheduler::knowing(self.plan.clone(), self.composites.clone());
        scheduler.set_configured_budgets(self.configured_budgets.clone());
        scheduler.set_reusable(self.reusable.clone());
        scheduler
    }

    /// Knows that a task has asked so many questions, those included that are undone: their numbers are not used again.
    pub fn has_asked(&mut self, task: &TaskId, question: u32) {
        self.state.has_asked(task, question);
    }

    /// The process that performed a task's attempt is gone: to be decided as after a crash.
    pub fn lose(&mut self, task: TaskIx) {
        self.todo(Todo::Gone(task));
    }

    /// Keys of changes that need not be remembered any more in a place, since last asked. True of what is committed.
    pub fn take_settled(&mut self, place: &str) -> Vec<String> {
        self.state.settled.get_mut(place).map(std::mem::take).unwrap_or_default()
    }

    /// Sets the budgets of the configuration, which stand in no plan.
    pub fn set_configured_budgets(&mut self, budgets: ConfiguredBudgets) {
        self.state.configured_budgets = budgets;
    }

    /// Has tasks take the outputs of another run where they would come out the same.
    pub fn set_reusable(&mut self, reusable: Option<Arc<Reusable>>) {
        self.state.reusable = reusable;
    }

    /// The run has also spent this, on a task that begins anew or is gone.
    pub fn spent_besides(&mut self, task: &TaskId, usage: &Usage) {
        self.state.spent_besides(task, usage);
    }

    /// Makes a decision: it is true from here on and will be on disk before anything follows from it.
    pub(crate) fn emit(&mut self, event: Event) {
        if let Event::TaskSucceeded { task, output } = &event
            && (self.proves_first(task, output) || self.brings_back_first(task))
        {
            return;
        }
        self.state.fold(&event).expect("a decision of our own is legal");
        self.turn.events.push(event);
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.turn.commands.push(command);
    }
}

/// What deciders note for themselves. No event says it: after a crash it is gone, and what it stood for is decided or asked
/// for again.
impl Scheduler {
    pub(crate) fn todo(&mut self, todo: Todo) {
        self.state.todo(todo);
    }

    /// A workflow may have come to its end; that is checked only when the agenda is empty.
    pub(crate) fn check_when_idle(&mut self, frame: FrameIx) {
        self.state.check_when_idle(frame);
    }

    pub(crate) fn due_alarm(&mut self) -> Option<Alarm> {
        self.state.timers.due(self.state.now)
    }

    /// What has changed about a composite task and its children since this was asked last, in the order of its making.
    pub(crate) fn take_changed(&mut self, root: TaskIx) -> Vec<TaskIx> {
        self.state.take_changed(root)
    }

    /// The governor is asked for a permit.
    pub(crate) fn enqueue(&mut self, task: TaskIx) {
        self.state.tasks[task].queued = true;
        self.state.queued += 1;
    }

    /// Something outside is looked up or changed for a task; false if that is under way.
    pub(crate) fn begin_lookup(&mut self, task: TaskIx) -> bool {
        self.state.lookups.insert(task)
    }

    /// What is looked up for a task is no longer wanted; false if nothing is.
    pub(crate) fn lookup_is_over(&mut self, task: TaskIx) -> bool {
        self.state.lookups.remove(&task)
    }

    /// The workspace of a task is let go of; false if that is under way.
    pub(crate) fn begins_to_leave(&mut self, task: TaskIx) -> bool {
        self.state.leaving.insert(task)
    }

    /// What is left of a workflow is told to stop; false if it was told already.
    pub(crate) fn begin_sweep(&mut self, frame: FrameIx) -> bool {
        !std::mem::replace(&mut self.state.frame_mut(frame).swept, true)
    }

    /// What is left of a group is told to stop; false if it was told already.
    pub(crate) fn begin_group_sweep(&mut self, group: TaskIx) -> bool {
        !std::mem::replace(&mut self.state.group_mut(group).swept, true)
    }

    /// The failure of a hook is told once.
    pub(crate) fn notes_failed_hook(&mut self, hook: TaskIx) -> bool {
        !std::mem::replace(&mut self.state.tasks[hook].handled, true)
    }

    /// A workflow notes something once; false if it was noted already.
    pub(crate) fn notes_once(&mut self, frame: FrameIx, what: &'static str) -> bool {
        let noted = &mut self.state.frame_mut(frame).noted;
        let is_new = !noted.contains(&what);
        noted.extend(is_new.then_some(what));
        is_new
    }
}
