//! The fold: state and event to state.
//!
//! Total: whatever a journal says, the answer is a new state or an [`IllegalEvent`], never a panic. Structural
//! consequences (members of a group that started, a task whose last need ended) are part of the fold; choices are not:
//! those are left on the agenda for `decide`.

use crate::agenda::Todo;
use crate::frame::{Frame, FrameEnding, FrameIx, Stage, Summary};
use crate::scheduler::{Finished, IllegalEvent, Scheduler};
use crate::task::{End, Place, TaskIx, TaskState};
use crate::timer::Alarm;
use convoke_model::{
    CauseKind, Ending, Event, Failure, Payload, RunStarted, TaskId, Timestamp, Usage, WaitsFor,
};
use convoke_plan::{Hook, Join, Kind, Need, NodeIx, Requires, Span, WorkflowIx};

type Folded = Result<(), IllegalEvent>;

impl Scheduler {
    /// Takes one event into the state.
    pub(crate) fn fold(&mut self, event: &Event) -> Folded {
        match event {
            Event::RunStarted(started) => self.run_started(started),
            Event::RunOwned { .. } => self.run_owned(),
            Event::TaskStarted { task, until, inputs } => self.task_started(task, *until, inputs.as_ref()),
            Event::FannedOut { task, count, items, keys } => {
                self.fanned_out(task, *count, items, keys.as_deref())
            }
            Event::AttemptStarted { task, attempt } => self.attempt_started(task, *attempt),
            Event::AttemptFinished { task, output, usage, .. } => self.attempt_finished(task, output, usage),
            Event::AttemptFailed { task, failure, usage, .. } => self.attempt_failed(task, failure, usage),
            Event::AttemptSuspended { task, state, waits_for, usage, .. } => {
                self.attempt_suspended(task, state, waits_for, usage)
            }
            Event::AttemptLost { task, .. } => self.attempt_lost(task),
            Event::RetryScheduled { task, at } => self.retry_scheduled(task, *at),
            Event::TaskWoken { task } => self.task_woken(task),
            Event::TaskSucceeded { task, output } => self.task_succeeded(task, output),
            Event::TaskFailed { task, failure } => self.task_failed(task, failure),
            Event::TaskSkipped { task, cause } => self.task_skipped(task, cause.kind),
            Event::TaskCancelled { task, .. } => self.task_over(task, End::Cancelled),
            Event::CancelRequested { task, cause } => self.cancel_requested(task, cause),
            Event::RouteTaken { from, to, output, on_error } => {
                self.route_taken(from, to.as_ref(), output.as_ref(), *on_error)
            }
            Event::WorkflowEnding { within, ending } => self.workflow_ending(within.as_ref(), ending),
            Event::GateOpened { task, ask } => self.gate_opened(task, ask),
            Event::GateAnswered { task, answer, .. } => self.gate_answered(task, answer),
            Event::BudgetExceeded { .. } => self.budget_exceeded(),
            Event::StopRequested { now, .. } => self.stop_requested(*now),
            Event::RunFinished { status, output, failure } => {
                self.finished =
                    Some(Finished { status: *status, output: output.clone(), failure: failure.clone() });
                Ok(())
            }
            Event::SummaryStarted { task, covers } => self.summary_wanted(task, covers),
            Event::HookStarted { within, hook } => self.hook_started(within.as_ref(), hook),
            Event::HookRendered { within, hook, .. } => self.hook_rendered(within.as_ref(), hook),
            Event::RunReopened { tasks, .. } => self.reopened(tasks),
            Event::PlanChanged { .. } => self.reopened(&[]),
            Event::ProcessStarted { .. }
            | Event::Blocked { .. }
            | Event::LimitsSeen { .. }
            | Event::ContextTrimmed { .. }
            | Event::Noted { .. }
            | Event::RunParked { .. }
            | Event::RunInterrupted { .. } => Ok(()),
        }
    }

    fn run_started(&mut self, started: &RunStarted) -> Folded {
        if !self.frames.is_empty() {
            return Err(illegal("run_started", "the run has started already"));
        }
        self.seed = started.seed;
        self.skip_gates = started.skip_gates;
        self.frames.push(Frame::new(WorkflowIx(0), None, 0, started.inputs.clone()));
        self.begin_frame(FrameIx(0));
        Ok(())
    }

    /// A workflow begins: with its `on_start` step, if it has one, else with its entries.
    fn begin_frame(&mut self, frame: FrameIx) {
        self.arm_frame(frame);
        match self.workflow_in(frame).hooks.on_start {
            Some(Hook::Run(node)) => self.add_hook(frame, node, "on_start"),
            _ => self.enter(frame),
        }
        self.look_later(frame);
    }

    fn add_hook(&mut self, frame: FrameIx, node: NodeIx, hook: &'static str) {
        let step = self.add_step(frame, node, &[]);
        self.tasks[step].hook = true;
        self.frame_mut(frame).told.push(hook);
        self.make_ready(step);
    }

    fn hook_started(&mut self, within: Option<&TaskId>, hook: &str) -> Folded {
        let frame = self.frame_within(within, "hook_started")?;
        let hooks = &self.workflow_in(frame).hooks;
        let (named, word) = if hook == "on_complete" {
            (hooks.on_complete.clone(), "on_complete")
        } else {
            (hooks.on_error.clone(), "on_error")
        };
        let Some(Hook::Run(node)) = named else {
            return Err(illegal("hook_started", "the workflow has no such hook"));
        };
        self.frame_mut(frame).stage = Stage::Closing;
        self.add_hook(frame, node, word);
        Ok(())
    }

    fn hook_rendered(&mut self, within: Option<&TaskId>, hook: &str) -> Folded {
        let frame = self.frame_within(within, "hook_rendered")?;
        let word = ["on_start", "on_complete", "on_error"].into_iter().find(|word| *word == hook);
        self.frame_mut(frame).told.extend(word);
        Ok(())
    }

    fn frame_within(&self, within: Option<&TaskId>, what: &str) -> Result<FrameIx, IllegalEvent> {
        let frame = match within {
            None => Some(FrameIx(0)),
            Some(id) => self.tasks[self.known(id, what)?].frame,
        };
        frame
            .filter(|frame| (frame.0 as usize) < self.frames.len())
            .ok_or_else(|| illegal(what, "that workflow does not run"))
    }

    fn arm_frame(&mut self, frame: FrameIx) {
        if let Some(limit) = self.workflow_in(frame).limits.timeout_ms {
            self.timers.arm(self.now + std::time::Duration::from_millis(limit), Alarm::frame(frame));
        }
    }

    /// A new owner: attempts that the last one left running were cut off, whatever they did.
    fn run_owned(&mut self) -> Folded {
        for task in self.tasks.indices() {
            if self.tasks[task].state == TaskState::Running {
                self.todo(Todo::Lost(task));
            }
        }
        Ok(())
    }

    /// A reopened run gets its whole time again, and what is open again its whole number of attempts.
    fn reopened(&mut self, tasks: &[TaskId]) -> Folded {
        for id in tasks {
            if let Some(task) = self.tasks.find(id) {
                self.tasks[task].failures = 0;
                self.tasks[task].failure = None;
            }
        }
        if !self.frames.is_empty() {
            self.arm_frame(FrameIx(0));
        }
        Ok(())
    }

    /// Creates what a workflow starts with. Part of the fold of whatever made it start.
    pub(crate) fn enter(&mut self, frame: FrameIx) {
        let plan = self.plan.clone();
        let workflow = plan.workflow(self.frame(frame).workflow);
        self.frame_mut(frame).stage = Stage::Working;
        for (ix, node) in workflow.indexed() {
            if !node.needs.is_empty() && !self.index_in(frame).inner[ix.0 as usize] {
                self.add_step(frame, ix, &[]);
                self.frame_mut(frame).waiting += 1;
            }
        }
        for entry in &workflow.entry {
            let step = self.add_step(frame, *entry, &[]);
            self.count_visit(frame, *entry);
            self.make_ready(step);
        }
        self.look_later(frame);
    }

    /// A step of a workflow (not a member of a group).
    pub(crate) fn add_step(&mut self, frame: FrameIx, node: NodeIx, from: &[TaskIx]) -> TaskIx {
        let visit = self.frame_mut(frame).visit(node);
        let id = self.step_id(frame, node, visit);
        let step = self.tasks.add(id, node, Place { frame, within: None, item: None }, from.into());
        let frame = self.frame_mut(frame);
        frame.live += 1;
        frame.steps.push(step);
        frame.needed.entry(node).or_insert(step);
        step
    }

    pub(crate) fn step_id(&self, frame: FrameIx, node: NodeIx, visit: u32) -> TaskId {
        let parent = self.frame(frame).parent.map(|task| &self.tasks[task].id);
        TaskId::new(parent, &self.workflow_in(frame).node(node).name, None, visit)
    }

    pub(crate) fn count_visit(&mut self, frame: FrameIx, node: NodeIx) {
        if !self.workflow_in(frame).node(node).kind.is_group() {
            self.frame_mut(frame).iterations += 1;
        }
    }

    pub(crate) fn make_ready(&mut self, task: TaskIx) {
        self.tasks[task].state = TaskState::Ready;
        self.todo(Todo::Begin(task));
    }

    fn task_started(&mut self, id: &TaskId, until: Option<Timestamp>, inputs: Option<&Payload>) -> Folded {
        let task = self.known(id, "task_started")?;
        self.expect(task, "task_started", |state| state == TaskState::Ready)?;
        self.note_start(task);
        let kind = &self.node(task).kind;
        match (kind, until, inputs) {
            (Kind::Wait(_), Some(until), _) => {
                self.tasks[task].state = TaskState::Timed(until);
                self.timers.arm(until, Alarm::Wake(task));
            }
            (Kind::Parallel(_), ..) => self.open_parallel(task),
            (Kind::SubPlan(sub), _, Some(inputs)) => {
                let workflow = sub.workflow;
                self.open_sub_plan(task, workflow, inputs);
            }
            _ => {
                return Err(illegal(
                    &format!("task_started of {id}"),
                    "it is no wait, group or sub-workflow",
                ));
            }
        }
        Ok(())
    }

    fn open_sub_plan(&mut self, task: TaskIx, workflow: WorkflowIx, inputs: &Payload) {
        let depth = self.frame(self.tasks[task].place.frame).depth + 1;
        let mut frame = Frame::new(workflow, Some(task), depth, inputs.clone());
        if let Some(earlier) = self.tasks[task].frame {
            frame.visits = self.frame(earlier).visits.clone();
        }
        let ix = FrameIx(self.frames.len() as u32);
        self.frames.push(frame);
        self.tasks[task].frame = Some(ix);
        self.tasks[task].state = TaskState::Open;
        self.begin_frame(ix);
    }

    fn fanned_out(&mut self, id: &TaskId, count: u32, items: &Payload, keys: Option<&[String]>) -> Folded {
        let task = self.known(id, "fanned_out")?;
        self.expect(task, "fanned_out", |state| state == TaskState::Ready)?;
        if keys.is_some_and(|keys| keys.len() != count as usize) {
            return Err(illegal(&format!("fanned_out of {id}"), "it has not one key per item"));
        }
        self.note_start(task);
        self.open_fan_out(task, count, items, keys);
        Ok(())
    }

    fn attempt_started(&mut self, id: &TaskId, attempt: u32) -> Folded {
        let task = self.known(id, "attempt_started")?;
        self.expect(task, "attempt_started", |state| state == TaskState::Ready)?;
        self.note_start(task);
        self.unqueue(task);
        self.tasks[task].attempts = attempt;
        self.tasks[task].state = TaskState::Running;
        self.running += 1;
        Ok(())
    }

    /// The task's time begins with its first start.
    fn note_start(&mut self, task: TaskIx) {
        if self.tasks[task].started.is_some() {
            return;
        }
        self.tasks[task].started = Some(self.now);
        if let Some(Span::Millis(limit)) = self.node(task).timeout {
            self.timers.arm(self.now + std::time::Duration::from_millis(limit), Alarm::Deadline(task));
        }
    }

    fn attempt_finished(&mut self, id: &TaskId, output: &Payload, usage: &Usage) -> Folded {
        let task = self.stop_running(id, "attempt_finished", usage)?;
        self.tasks[task].output = Some(output.clone());
        if self.tasks[task].cancelling.is_some() {
            self.tasks[task].state = TaskState::Failing;
            self.todo(Todo::Remedy(task));
        } else {
            self.end(task, End::Succeeded);
        }
        Ok(())
    }

    fn attempt_failed(&mut self, id: &TaskId, failure: &Failure, usage: &Usage) -> Folded {
        let task = self.stop_running(id, "attempt_failed", usage)?;
        if failure.reason.as_deref() == Some(convoke_model::reason::INTERRUPTED) {
            self.make_ready(task);
            return Ok(());
        }
        self.tasks[task].failures += 1;
        self.tasks[task].failure = Some(Box::new(failure.clone()));
        self.tasks[task].state = TaskState::Failing;
        self.todo(Todo::Remedy(task));
        Ok(())
    }

    fn attempt_suspended(&mut self, id: &TaskId, state: &Payload, waits: &WaitsFor, usage: &Usage) -> Folded {
        let task = self.stop_running(id, "attempt_suspended", usage)?;
        self.tasks[task].suspended = Some(state.clone());
        self.vacate(task);
        match waits {
            WaitsFor::Time(at) => {
                self.tasks[task].state = TaskState::Backoff(*at);
                self.timers.arm(*at, Alarm::Wake(task));
            }
            WaitsFor::Gate(ask) => {
                self.tasks[task].state = TaskState::Failing;
                self.tasks[task].ask = Some(Payload::Inline(ask.clone()));
                self.todo(Todo::Ask(task));
            }
            WaitsFor::Children => self.tasks[task].state = TaskState::Open,
        }
        Ok(())
    }

    fn attempt_lost(&mut self, id: &TaskId) -> Folded {
        let task = self.stop_running(id, "attempt_lost", &Usage::default())?;
        self.make_ready(task);
        Ok(())
    }

    fn stop_running(&mut self, id: &TaskId, what: &str, usage: &Usage) -> Result<TaskIx, IllegalEvent> {
        let task = self.known(id, what)?;
        self.expect(task, what, |state| state == TaskState::Running)?;
        self.running -= 1;
        self.tasks[task].state = TaskState::Failing;
        self.spend(self.tasks[task].place.frame, usage);
        Ok(task)
    }

    fn spend(&mut self, frame: FrameIx, usage: &Usage) {
        if usage.is_zero() {
            return;
        }
        let mut next = Some(frame);
        while let Some(ix) = next {
            self.frame_mut(ix).usage += *usage;
            self.look_later(ix);
            next = self.frame(ix).parent.map(|task| self.tasks[task].place.frame);
        }
    }

    fn budget_exceeded(&mut self) -> Folded {
        if let Some(frame) = self.frames.first_mut() {
            frame.budget_reports += 1;
        }
        Ok(())
    }

    fn retry_scheduled(&mut self, id: &TaskId, at: Timestamp) -> Folded {
        let task = self.known(id, "retry_scheduled")?;
        let fits = |state| matches!(state, TaskState::Failing | TaskState::Ready | TaskState::Open);
        self.expect(task, "retry_scheduled", fits)?;
        // What failed without an attempt of its own (it could not begin, its workflow failed) is not counted yet.
        self.tasks[task].failures += u32::from(self.tasks[task].state != TaskState::Failing);
        self.close_inner(task);
        self.unqueue(task);
        self.tasks[task].state = TaskState::Backoff(at);
        self.timers.arm(at, Alarm::Wake(task));
        self.vacate(task);
        Ok(())
    }

    fn task_woken(&mut self, id: &TaskId) -> Folded {
        let task = self.known(id, "task_woken")?;
        let fits = |state| matches!(state, TaskState::Backoff(_) | TaskState::Asking | TaskState::Waiting);
        self.expect(task, "task_woken", fits)?;
        self.asking -= u32::from(self.tasks[task].state == TaskState::Asking);
        let waited = self.tasks[task].state == TaskState::Waiting && self.tasks[task].place.within.is_none();
        self.frame_mut(self.tasks[task].place.frame).waiting -= u32::from(waited);
        self.offer(task);
        Ok(())
    }

    fn task_succeeded(&mut self, id: &TaskId, output: &Payload) -> Folded {
        let task = self.known(id, "task_succeeded")?;
        self.expect(task, "task_succeeded", |state| !matches!(state, TaskState::Ended(_)))?;
        self.note_start(task);
        self.tasks[task].output = Some(output.clone());
        self.end(task, End::Succeeded);
        Ok(())
    }

    fn task_failed(&mut self, id: &TaskId, failure: &Failure) -> Folded {
        let task = self.known(id, "task_failed")?;
        self.expect(task, "task_failed", |state| !matches!(state, TaskState::Ended(_)))?;
        self.tasks[task].failure = Some(Box::new(failure.clone()));
        self.end(task, End::Failed);
        Ok(())
    }

    fn task_skipped(&mut self, id: &TaskId, kind: CauseKind) -> Folded {
        self.missed_steps |= matches!(kind, CauseKind::NeedFailed | CauseKind::JoinUnmet);
        self.task_over(id, End::Skipped)
    }

    fn task_over(&mut self, id: &TaskId, end: End) -> Folded {
        let task = self.known(id, "task_skipped or task_cancelled")?;
        self.expect(task, "its end", |state| !matches!(state, TaskState::Ended(_)))?;
        self.end(task, end);
        Ok(())
    }

    fn cancel_requested(&mut self, id: &TaskId, cause: &convoke_model::Cause) -> Folded {
        let task = self.known(id, "cancel_requested")?;
        self.tasks[task].cancelling = Some(Box::new(cause.clone()));
        if let Some(frame) = self.tasks[task].frame {
            self.frame_mut(frame).ending = Some(FrameEnding::Cancelled(cause.clone()));
            self.frame_mut(frame).swept = false;
            self.look_later(frame);
        }
        self.todo(Todo::Group(task));
        Ok(())
    }

    fn route_taken(
        &mut self,
        from: &TaskId,
        to: Option<&TaskId>,
        output: Option<&Payload>,
        on_error: bool,
    ) -> Folded {
        let task = self.known(from, "route_taken")?;
        let frame = self.tasks[task].place.frame;
        self.tasks[task].followed = true;
        self.tasks[task].handled |= on_error;
        if let Some(output) = output {
            self.frame_mut(frame).end_outputs.push(output.clone());
        }
        if let Some(to) = to {
            let segment = to.segments().last().expect("an id has parts");
            let known = self.index_in(frame).by_name.get(segment.node.as_str()).copied();
            let node = known.ok_or_else(|| illegal(&format!("route_taken to {to}"), "no such node"))?;
            let next = self.add_step(frame, node, &[task]);
            self.tasks[next].after_error = on_error;
            self.count_visit(frame, node);
            self.make_ready(next);
        }
        self.look_later(frame);
        Ok(())
    }

    fn workflow_ending(&mut self, within: Option<&TaskId>, ending: &Ending) -> Folded {
        let frame = self.frame_within(within, "workflow_ending")?;
        if self.frame(frame).ending.is_none() {
            self.frame_mut(frame).ending = Some(FrameEnding::Stated(ending.clone()));
        }
        self.look_later(frame);
        Ok(())
    }

    fn gate_opened(&mut self, id: &TaskId, ask: &Payload) -> Folded {
        let task = self.known(id, "gate_opened")?;
        self.expect(task, "gate_opened", |state| matches!(state, TaskState::Ready | TaskState::Failing))?;
        self.note_start(task);
        self.tasks[task].ask = Some(ask.clone());
        self.tasks[task].state = TaskState::Asking;
        self.asking += 1;
        self.vacate(task);
        Ok(())
    }

    fn gate_answered(&mut self, id: &TaskId, answer: &Payload) -> Folded {
        let task = self.known(id, "gate_answered")?;
        self.expect(task, "gate_answered", |state| state == TaskState::Asking)?;
        self.tasks[task].answer = Some(answer.clone());
        self.todo(Todo::Answered(task));
        Ok(())
    }

    fn stop_requested(&mut self, now: bool) -> Folded {
        if let Some(root) = self.frames.first_mut() {
            let harder = now && root.ending == Some(FrameEnding::Stopped { now: false });
            if root.ending.is_none() || harder {
                root.ending = Some(FrameEnding::Stopped { now });
                root.swept = false;
            }
            self.look_later(FrameIx(0));
        }
        Ok(())
    }

    fn summary_wanted(&mut self, id: &TaskId, covers: &[TaskId]) -> Folded {
        let task = self.known(id, "summary_started")?;
        self.expect(task, "summary_started", |state| state == TaskState::Ready)?;
        let covers: Vec<_> =
            covers.iter().map(|id| self.known(id, "summary_started")).collect::<Result<_, _>>()?;
        self.unqueue(task);
        self.summary_started(task, &covers);
        Ok(())
    }

    /// A summary is written, or could not be: the step that waits for it goes on either way.
    fn summary_ended(&mut self, summary: TaskIx, waiter: TaskIx) {
        let covers = self.tasks[summary].from.len();
        let frame = self.tasks[summary].place.frame;
        self.frame_mut(frame).summary = Some(Summary { task: summary, covers });
        if self.tasks[waiter].state == TaskState::Held {
            self.make_ready(waiter);
        }
    }

    /// The one place where a task ends.
    fn end(&mut self, task: TaskIx, end: End) {
        self.unqueue(task);
        self.close_inner(task);
        let was = std::mem::replace(&mut self.tasks[task].state, TaskState::Ended(end));
        self.asking -= u32::from(was == TaskState::Asking);
        self.running -= u32::from(was == TaskState::Running);
        self.ended += 1;
        self.tasks[task].ended = self.ended;
        let place = self.tasks[task].place;
        if place.within.is_some() {
            self.member_ended(task, end);
        } else {
            self.step_ended(task, end, was);
        }
        self.tell_dependents(task, end);
        self.todo(Todo::Follow(task));
    }

    /// A sub-workflow's step is over, and with it the workflow that it ran.
    fn close_inner(&mut self, task: TaskIx) {
        if let Some(frame) = self.tasks[task].frame {
            self.frame_mut(frame).stage = Stage::Closed;
        }
    }

    fn step_ended(&mut self, task: TaskIx, end: End, was: TaskState) {
        let node = self.tasks[task].node;
        let frame_ix = self.tasks[task].place.frame;
        let (waiter, hook) = (self.tasks[task].summary_for, self.tasks[task].hook);
        let frame = self.frame_mut(frame_ix);
        frame.live -= 1;
        frame.waiting -= u32::from(was == TaskState::Waiting);
        if let Some(waiter) = waiter {
            return self.summary_ended(task, waiter);
        }
        if end == End::Succeeded {
            frame.latest.insert(node, task);
            if !hook {
                frame.history.push(task);
            }
        }
        if frame.stage == Stage::Opening && frame.ending.is_none() {
            self.enter(frame_ix);
        }
        self.look_later(frame_ix);
    }

    fn unqueue(&mut self, task: TaskIx) {
        if std::mem::take(&mut self.tasks[task].queued) {
            self.queued -= 1;
        }
    }

    /// Counts an end for every task that waits for it.
    fn tell_dependents(&mut self, task: TaskIx, end: End) {
        let (node, place) = (self.tasks[task].node, self.tasks[task].place);
        let index = self.index.clone();
        let dependents = &index[self.frame(place.frame).workflow.0 as usize].dependents[node.0 as usize];
        for dependent in dependents {
            if let Some(waiter) = self.beside(place, *dependent) {
                self.count_need(waiter, task, node, end);
            }
        }
    }

    /// Counts one need of a waiting task as met or unmet.
    pub(crate) fn count_need(&mut self, waiter: TaskIx, task: TaskIx, node: NodeIx, end: End) {
        if self.tasks[waiter].state != TaskState::Waiting {
            return;
        }
        let plan = self.plan.clone();
        let waiting =
            plan.workflow(self.frame(self.tasks[waiter].place.frame).workflow).node(self.tasks[waiter].node);
        let Some(need) = waiting.needs.iter().find(|need| need.node == node) else { return };
        if meets(need, waiting.join, end) {
            self.tasks[waiter].met += 1;
            let mut from = std::mem::take(&mut self.tasks[waiter].from).into_vec();
            from.push(task);
            self.tasks[waiter].from = from.into();
        } else {
            self.tasks[waiter].unmet += 1;
        }
        self.check_join(waiter, waiting.join, waiting.needs.len() as u32, task, end);
    }

    fn check_join(&mut self, waiter: TaskIx, join: Join, total: u32, last: TaskIx, end: End) {
        let (met, unmet) = (self.tasks[waiter].met, self.tasks[waiter].unmet);
        let wanted = match join {
            Join::All => total,
            Join::Any | Join::FirstSuccess => 1,
            Join::Quorum(k) => k.min(total),
        };
        if met >= wanted {
            if self.tasks[waiter].place.within.is_none() {
                let frame = self.tasks[waiter].place.frame;
                self.frame_mut(frame).waiting -= 1;
            }
            if met + unmet < total {
                self.todo(Todo::Losers(waiter));
            }
            self.offer(waiter);
        } else if total - unmet < wanted {
            let kind = match (join, end) {
                (Join::All, End::Failed) => CauseKind::NeedFailed,
                (Join::All, _) => CauseKind::NeedSkipped,
                _ => CauseKind::JoinUnmet,
            };
            self.todo(Todo::Skip(waiter, kind, Some(last)));
        }
    }

    pub(crate) fn known(&self, id: &TaskId, what: &str) -> Result<TaskIx, IllegalEvent> {
        self.tasks.find(id).ok_or_else(|| illegal(&format!("{what} of {id}"), "there is no such task"))
    }

    fn expect(&self, task: TaskIx, what: &str, fits: impl Fn(TaskState) -> bool) -> Folded {
        let state = self.tasks[task].state;
        if fits(state) {
            return Ok(());
        }
        Err(illegal(&format!("{what} of {}", self.tasks[task].id), &format!("the task is {state:?}")))
    }
}

fn meets(need: &Need, join: Join, end: End) -> bool {
    let requires = if join == Join::FirstSuccess { Requires::Success } else { need.requires };
    match requires {
        Requires::Success => end == End::Succeeded,
        Requires::Completed => matches!(end, End::Succeeded | End::Failed),
        Requires::Any => true,
    }
}

fn illegal(event: &str, why: &str) -> IllegalEvent {
    IllegalEvent { event: event.into(), why: why.into() }
}
