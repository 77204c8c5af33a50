//! Where a branch goes on, and when a workflow has come to its end. What that end is, is in `ending`.

use crate::outputs::{Outputs, store};
use crate::scheduler::Scheduler;
use crate::state::{End, FrameEnding, FrameIx, Stage, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::{Cause, CauseKind, Class, Ending, Event, Failure, HookPoint, Payload, TaskId, reason};
use convoke_plan::{GateRoute, Hook, Kind, NodeIx, Requires, Text, value::read_output};
use serde_json::{Map, Value};

impl Scheduler {
    /// A task ended: what follows from it?
    pub(crate) fn follow(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let TaskState::Ended(end) = self.tasks[task].state else { return };
        if self.tasks[task].hook {
            return self.follow_hook(task, end);
        }
        let frame = self.tasks[task].place.frame;
        if self.frame(frame).ending.is_some() || self.frame(frame).stage == Stage::Closed {
            return self.check_when_idle(frame);
        }
        match end {
            End::Succeeded if self.tasks[task].place.within.is_none() => self.follow_success(task, outputs),
            End::Failed => self.follow_failure(task, outputs),
            _ => {}
        }
    }

    fn follow_hook(&mut self, task: TaskIx, end: End) {
        if end != End::Succeeded && self.notes_failed_hook(task) {
            let why =
                self.tasks[task].failure.as_ref().map_or("it was stopped".into(), |f| f.message.clone());
            let message =
                format!("step `{}` failed, and the run goes on without it: {why}", self.node(task).name);
            self.emit(Event::Noted {
                task: Some(self.tasks[task].id.clone()),
                code: "hook_failed".into(),
                message,
            });
        }
        self.check_when_idle(self.tasks[task].place.frame);
    }

    /// First match wins; no routes ends the branch; routes of which none matches fail the workflow.
    fn follow_success(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        if self.tasks[task].followed {
            return;
        }
        let plan = self.plan.clone();
        let frame = self.tasks[task].place.frame;
        let node = plan.workflow(self.frame(frame).workflow).node(self.tasks[task].node);
        if let Some(route) = self.view(outputs).answered_route(task) {
            let to = match route {
                GateRoute::End => None,
                GateRoute::To(node) => Some(node),
            };
            return self.take_route(task, to, None, false);
        }
        for route in &node.routes {
            match self.view(outputs).holds(task, route.when) {
                Ok(false) => continue,
                Ok(true) => match self.view(outputs).route_output(task, &route.output) {
                    Ok(output) => return self.take_route(task, route.to, output, false),
                    Err(failure) => return self.end_frame_by(frame, Some(task), failure),
                },
                Err(failure) => return self.end_frame_by(frame, Some(task), failure),
            }
        }
        if node.routes.is_empty() || matches!(node.kind, Kind::Gate(_)) {
            return self.check_when_idle(frame);
        }
        let message = format!("no route of step `{}` matches its output", node.name);
        let failure = Failure::new(Class::Fatal, message)
            .reason("no_route")
            .hint("add a last route without `when`, such as `- to: $end`");
        self.end_frame_by(frame, Some(task), failure);
    }

    fn follow_failure(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let failure = self.tasks[task].failure.as_deref().cloned().expect("a failed task has a failure");
        let route = self.node(task).on_error.iter().find(|route| route.classes.contains(failure.class));
        let frame = self.tasks[task].place.frame;
        if self.tasks[task].followed {
            return;
        }
        if let Some(to) = route.map(|route| route.to).filter(|_| self.tasks[task].place.within.is_none()) {
            return self.take_route(task, to, None, true);
        }
        if self.tasks[task].place.within.is_some() {
            return;
        }
        let composite = self.own_composite(task);
        let own_rule = composite.and_then(|composite| composite.after_failure(self, task, &failure));
        if let Some(steps) = own_rule {
            return self.take_steps(steps, outputs);
        }
        if self.is_tolerated(task) {
            return self.check_when_idle(frame);
        }
        self.end_frame_by(frame, Some(task), failure);
    }

    fn take_route(&mut self, task: TaskIx, to: Option<NodeIx>, output: Option<Payload>, on_error: bool) {
        let frame = self.tasks[task].place.frame;
        if let Some(failure) = to.and_then(|node| self.over_iterations(frame, node)) {
            return self.end_frame_by(frame, Some(task), failure);
        }
        let to = to.map(|node| {
            let visit = self.frame(frame).visits.get(&node).copied().unwrap_or(0) + 1;
            self.step_id(frame, node, visit)
        });
        self.emit(Event::RouteTaken { from: self.tasks[task].id.clone(), to, output, on_error });
    }

    /// The workflow that a step stands in fails.
    pub(crate) fn end_frame_by(&mut self, frame: FrameIx, task: Option<TaskIx>, failure: Failure) {
        if self.frame(frame).ending.is_some() || self.frame(frame).stage == Stage::Closed {
            return;
        }
        let within = self.frame_task(frame);
        let task = task.map(|task| self.tasks[task].id.clone());
        self.emit(Event::WorkflowEnding { within, ending: Ending::Failed { task, failure } });
    }

    pub(crate) fn time_out_frame(&mut self, frame: FrameIx) {
        if self.frame(frame).stage == Stage::Closed || self.finished.is_some() {
            return;
        }
        let workflow = self.workflow_in(frame);
        let seconds = workflow.limits.timeout_ms.unwrap_or(0) as f64 / 1000.0;
        let message =
            format!("workflow `{}` timed out after {seconds} s (limits.timeout_seconds)", workflow.name);
        self.end_frame_by(frame, None, Failure::new(Class::Timeout, message).reason(reason::RUN_TIMEOUT));
    }

    /// A workflow may have something to sweep, to give up waiting for, or to finish.
    pub(crate) fn process_frame(&mut self, frame: FrameIx, outputs: &dyn Outputs) {
        if self.frame(frame).stage == Stage::Closed || self.finished.is_some() {
            return;
        }
        self.tell_start(frame, outputs);
        self.check_budget(frame);
        self.sweep_around(frame, outputs);
        let state = self.frame(frame);
        if state.stage == Stage::Opening && state.ending.is_none() {
            return;
        }
        if state.live > 0 && state.live == state.waiting {
            return self.give_up_waiting(frame);
        }
        if self.index_in(frame).collects && self.end_idle_wait(frame, outputs) {
            return;
        }
        let state = self.frame(frame);
        if state.live == 0 {
            self.finish_frame(frame, outputs);
        }
    }

    /// Nothing else of a workflow goes on, so what a composite still waits for never comes.
    fn end_idle_wait(&mut self, frame: FrameIx, outputs: &dyn Outputs) -> bool {
        let starves = |step: &TaskIx| {
            self.own_composite(*step).is_some_and(|composite| composite.awaits_inputs(self, *step))
        };
        let idle: Vec<TaskIx> = self.frame(frame).steps.iter().copied().filter(starves).collect();
        let state = self.frame(frame);
        let Some(step) = idle.first().copied().filter(|_| state.live == state.waiting + idle.len() as u32)
        else {
            return false;
        };
        let composite = self.own_composite(step);
        let steps = composite.map(|composite| composite.inputs_exhausted(&self.view(outputs), step));
        self.take_steps(steps.unwrap_or_default(), outputs);
        true
    }

    /// Steps that wait for steps which no route has reached, when nothing else is left.
    fn give_up_waiting(&mut self, frame: FrameIx) {
        let plan = self.plan.clone();
        let workflow = plan.workflow(self.frame(frame).workflow);
        for step in self.frame(frame).steps.clone() {
            if self.tasks[step].state != TaskState::Waiting {
                continue;
            }
            for need in &workflow.node(self.tasks[step].node).needs {
                let reached = self.frame(frame).needed.contains_key(&need.node);
                if !reached && matches!(need.requires, Requires::Any | Requires::Some) {
                    return self.again(step);
                }
                if !reached {
                    return self.skip_waiting(step, CauseKind::NeedNotReached, None);
                }
            }
        }
    }

    /// Stops what is left of a workflow that ends early, and before that of those around it: what ends with them does not come
    /// to an end of its own first.
    fn sweep_around(&mut self, frame: FrameIx, outputs: &dyn Outputs) {
        if let Some(parent) = self.frame(frame).parent {
            self.sweep_around(self.tasks[parent].place.frame, outputs);
        }
        self.sweep_frame(frame, outputs);
    }

    /// Stops what is left of a workflow that ends early.
    fn sweep_frame(&mut self, frame: FrameIx, outputs: &dyn Outputs) {
        let Some(ending) = self.frame(frame).ending.clone() else { return };
        if !self.begin_sweep(frame) {
            return;
        }
        let stated = |kind, task: Option<TaskId>| Cause { kind, task };
        let cause = match ending {
            FrameEnding::Stated(Ending::Failed { task, failure }) => {
                let kind = if failure.limit().is_some() {
                    CauseKind::LimitReached
                } else {
                    CauseKind::WorkflowFailed
                };
                stated(kind, task)
            }
            FrameEnding::Stated(Ending::Terminated { task, .. }) => stated(CauseKind::Terminated, Some(task)),
            FrameEnding::Cancelled(cause) => below(cause, CauseKind::WorkflowFailed),
            FrameEnding::Stopped { now: true } => return self.stop_everything(outputs),
            FrameEnding::Stopped { now: false } => stated(CauseKind::Stopped, None),
        };
        for step in self.frame(frame).steps.clone() {
            self.cancel(step, &cause, outputs);
        }
    }

    /// A hard stop: whatever runs anywhere, also what a gentle stop has let go on.
    fn stop_everything(&mut self, outputs: &dyn Outputs) {
        let cause = Cause { kind: CauseKind::Stopped, task: None };
        for task in self.tasks.indices() {
            self.cancel(task, &cause, outputs);
        }
    }

    fn tell_start(&mut self, frame: FrameIx, outputs: &dyn Outputs) {
        if let Some(Hook::Text(text)) = self.workflow_in(frame).hooks.on_start.clone() {
            self.render_hook(frame, HookPoint::OnStart, &text, None, outputs);
        }
    }

    pub(crate) fn render_hook(
        &mut self,
        frame: FrameIx,
        hook: HookPoint,
        text: &Text,
        result: Option<&Value>,
        outputs: &dyn Outputs,
    ) {
        if self.frame(frame).hooks_begun.contains(&hook) {
            return;
        }
        let rendered = self.view(outputs).hook_text(frame, text, hook, result);
        let (text, failed) = match rendered {
            Ok(text) => (text, false),
            Err(failure) => (failure.message, true),
        };
        let within = self.frame_task(frame);
        self.emit(Event::HookRendered { within, hook, text, failed });
    }
}

impl View<'_> {
    fn route_output(&self, task: TaskIx, texts: &[(String, Text)]) -> Result<Option<Payload>, Failure> {
        if texts.is_empty() {
            return Ok(None);
        }
        let mut values = Map::new();
        for (name, text) in texts {
            let rendered = self.render_after(task, text, &format!("route output `{name}`"))?;
            values.insert(name.clone(), read_output(&rendered));
        }
        Ok(Some(store(self.outputs, &Value::Object(values))))
    }
}

impl State {
    /// Whether everything that waits for a task can live with its failure.
    pub(crate) fn is_tolerated(&self, task: TaskIx) -> bool {
        let node = self.tasks[task].node;
        let workflow = self.workflow_of(task);
        let dependents = &self.index_in(self.tasks[task].place.frame).dependents[node.0 as usize];
        let tolerant = |dependent: &NodeIx| {
            let waiter = workflow.node(*dependent);
            let one_of_many = !matches!(waiter.join, convoke_plan::Join::All);
            let need = waiter.needs.iter().find(|need| need.node == node);
            one_of_many || need.is_some_and(|need| need.requires != Requires::Success)
        };
        !dependents.is_empty() && dependents.iter().all(tolerant)
    }

    /// Whether visiting a node would pass the limit of iterations; groups count by their members, when they begin.
    fn over_iterations(&self, frame: FrameIx, node: NodeIx) -> Option<Failure> {
        if !self.workflow_in(frame).limits.iterations_stated {
            return self.over_visits(frame, node);
        }
        let single = !self.workflow_in(frame).node(node).kind.is_group();
        self.iterations_failure(frame, node, u32::from(single))
    }

    /// Where no limit is written only loops are bounded: no node is visited more often than this.
    fn over_visits(&self, frame: FrameIx, node: NodeIx) -> Option<Failure> {
        let workflow = self.workflow_in(frame);
        let (most, done) = (workflow.limits.max_iterations, self.frame(frame).visits.get(&node).copied()?);
        (done >= most).then(|| {
            let name = &workflow.node(node).name;
            let message = format!(
                "workflow `{}` visited step `{name}` {done} times, the most where no `limits.max_iterations` is written",
                workflow.name,
            );
            // A written limit counts every step, so it has to be larger than what was counted so far.
            let enough = u64::from(self.frame(frame).iterations) * 2;
            Failure::new(Class::Budget, message).reason(reason::MAX_ITERATIONS).hint(format!(
                "write `limits: {{max_iterations: {enough}}}`, which counts every step, member and item, or give the loop a route that ends it"
            ))
        })
    }

    pub(crate) fn iterations_failure(&self, frame: FrameIx, node: NodeIx, more: u32) -> Option<Failure> {
        let workflow = self.workflow_in(frame);
        let limit = workflow.limits.max_iterations;
        let done = self.frame(frame).iterations;
        // What counts nothing is not what passes the limit.
        (workflow.limits.iterations_stated && more > 0 && u64::from(done) + u64::from(more) > u64::from(limit)).then(|| {
            let message = format!(
                "workflow `{}` reached its limit of {limit} iterations before step `{}`: {done} done, {more} more wanted",
                workflow.name,
                workflow.node(node).name,
            );
            Failure::new(Class::Budget, message)
                .reason(reason::MAX_ITERATIONS)
                .hint(format!(
                    "raise `limits.max_iterations` to at least {}, or give the loop a route that ends it",
                    u64::from(done) + u64::from(more)
                ))
        })
    }

    pub(crate) fn frame_task(&self, frame: FrameIx) -> Option<TaskId> {
        self.frame(frame).parent.map(|task| self.tasks[task].id.clone())
    }
}

/// The reason that reaches what stands below a task: its own time is not theirs.
pub(crate) fn below(cause: Cause, instead: CauseKind) -> Cause {
    match cause.kind {
        CauseKind::TimedOut => Cause { kind: instead, ..cause },
        _ => cause,
    }
}
