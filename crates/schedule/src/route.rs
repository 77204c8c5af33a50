//! Where a branch goes on, and when a workflow has come to its end.

use crate::frame::{FrameEnding, FrameIx, Stage};
use crate::outputs::{Outputs, store};
use crate::scheduler::Scheduler;
use crate::task::{End, TaskIx, TaskState};
use convoke_model::{
    Cause, CauseKind, Class, Ending, Event, Failure, Payload, RunStatus, TaskId, WhenSpent, reason,
};
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
            return self.look_later(frame);
        }
        match end {
            End::Succeeded if self.tasks[task].place.within.is_none() => self.follow_success(task, outputs),
            End::Failed => self.follow_failure(task),
            _ => {}
        }
    }

    fn follow_hook(&mut self, task: TaskIx, end: End) {
        if end != End::Succeeded && !std::mem::replace(&mut self.tasks[task].handled, true) {
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
        self.look_later(self.tasks[task].place.frame);
    }

    /// First match wins; no routes ends the branch; routes of which none matches fail the workflow.
    fn follow_success(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        if self.tasks[task].followed {
            return;
        }
        let plan = self.plan.clone();
        let frame = self.tasks[task].place.frame;
        let node = plan.workflow(self.frame(frame).workflow).node(self.tasks[task].node);
        if let Some(route) = self.answered_route(task, outputs) {
            let to = match route {
                GateRoute::End => None,
                GateRoute::To(node) => Some(node),
            };
            return self.take_route(task, to, None, false);
        }
        for route in &node.routes {
            match self.holds(task, route.when, outputs) {
                Ok(false) => continue,
                Ok(true) => match self.route_output(task, &route.output, outputs) {
                    Ok(output) => return self.take_route(task, route.to, output, false),
                    Err(failure) => return self.end_frame_by(frame, Some(task), failure),
                },
                Err(failure) => return self.end_frame_by(frame, Some(task), failure),
            }
        }
        if node.routes.is_empty() || matches!(node.kind, Kind::Gate(_)) {
            return self.look_later(frame);
        }
        let message = format!("no route of step `{}` matches its output", node.name);
        let failure = Failure::new(Class::Fatal, message)
            .reason("no_route")
            .hint("add a last route without `when`, such as `- to: $end`");
        self.end_frame_by(frame, Some(task), failure);
    }

    fn follow_failure(&mut self, task: TaskIx) {
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
        if self.is_tolerated(task) {
            return self.look_later(frame);
        }
        self.end_frame_by(frame, Some(task), failure);
    }

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

    /// Whether visiting a node would pass the limit of iterations; groups count by their members, when they begin.
    fn over_iterations(&self, frame: FrameIx, node: NodeIx) -> Option<Failure> {
        let single = !self.workflow_in(frame).node(node).kind.is_group();
        self.iterations_failure(frame, node, u32::from(single))
    }

    pub(crate) fn iterations_failure(&self, frame: FrameIx, node: NodeIx, more: u32) -> Option<Failure> {
        let workflow = self.workflow_in(frame);
        let limit = workflow.limits.max_iterations;
        let done = self.frame(frame).iterations;
        (u64::from(done) + u64::from(more) > u64::from(limit)).then(|| {
            let message = format!(
                "workflow `{}` reached its limit of {limit} iterations before step `{}`: {done} done, {more} more wanted",
                workflow.name,
                workflow.node(node).name,
            );
            Failure::new(Class::Budget, message)
                .reason(reason::MAX_ITERATIONS)
                .hint("raise limits.max_iterations, or give the loop a route that ends it")
        })
    }

    fn route_output(
        &mut self,
        task: TaskIx,
        texts: &[(String, Text)],
        outputs: &dyn Outputs,
    ) -> Result<Option<Payload>, Failure> {
        if texts.is_empty() {
            return Ok(None);
        }
        let mut values = Map::new();
        for (name, text) in texts {
            let rendered = self.render_after(task, text, &format!("route output `{name}`"), outputs)?;
            values.insert(name.clone(), read_output(&rendered));
        }
        Ok(Some(store(outputs, &Value::Object(values))))
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

    pub(crate) fn frame_task(&self, frame: FrameIx) -> Option<TaskId> {
        self.frame(frame).parent.map(|task| self.tasks[task].id.clone())
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
    pub(crate) fn look_at_frame(&mut self, frame: FrameIx, outputs: &dyn Outputs) {
        if self.frame(frame).stage == Stage::Closed || self.finished.is_some() {
            return;
        }
        self.tell_start(frame, outputs);
        self.check_budget(frame);
        self.sweep_frame(frame, outputs);
        let state = self.frame(frame);
        if state.stage == Stage::Opening && state.ending.is_none() {
            return;
        }
        if state.live > 0 && state.live == state.waiting {
            return self.give_up_waiting(frame);
        }
        if state.live == 0 {
            self.finish_frame(frame, outputs);
        }
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
                if !reached && need.requires == Requires::Any {
                    return self.again(step);
                }
                if !reached {
                    return self.skip_waiting(step, CauseKind::NeedNotReached, None);
                }
            }
        }
    }

    /// Stops what is left of a workflow that ends early.
    fn sweep_frame(&mut self, frame: FrameIx, outputs: &dyn Outputs) {
        let Some(ending) = self.frame(frame).ending.clone() else { return };
        if std::mem::replace(&mut self.frame_mut(frame).swept, true) {
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
            self.tell_hook(frame, "on_start", &text, None, outputs);
        }
    }

    fn tell_hook(
        &mut self,
        frame: FrameIx,
        hook: &'static str,
        text: &Text,
        result: Option<&Value>,
        outputs: &dyn Outputs,
    ) {
        if self.frame(frame).told.contains(&hook) {
            return;
        }
        let rendered = self.render_hook(frame, text, hook, result, outputs);
        let (text, failed) = match rendered {
            Ok(text) => (text, false),
            Err(failure) => (failure.message, true),
        };
        let within = self.frame_task(frame);
        self.emit(Event::HookRendered { within, hook: hook.into(), text, failed });
    }

    /// Reports a budget that was passed; an enforced one ends the workflow, unless something else is to follow.
    fn check_budget(&mut self, frame: FrameIx) {
        let Some(budget) = self.workflow_in(frame).limits.budget.clone() else { return };
        let ends = !budget.audit && budget.when_spent == WhenSpent::Stop;
        let money = budget.micros.and_then(|micros| self.check_money(frame, micros));
        let tokens = budget.tokens.and_then(|tokens| self.check_tokens(frame, tokens));
        let Some(passed) = money.or(tokens).filter(|_| ends) else { return };
        let message = format!("workflow `{}` {passed}", self.workflow_in(frame).name);
        self.end_frame_by(frame, None, Failure::new(Class::Budget, message).reason(reason::BUDGET));
    }

    /// Says each time another multiple of the money is spent. Answers in words what was passed.
    fn check_money(&mut self, frame: FrameIx, budget: u64) -> Option<String> {
        let usage = self.frame(frame).usage;
        let spent = usage.cost_micros;
        if spent == 0 && usage.output_tokens > 0 {
            self.tell_unpriced(frame);
        }
        if spent <= budget {
            return None;
        }
        if frame.0 == 0 && spent / budget.max(1) > self.frame(frame).budget_reports {
            self.emit(Event::BudgetExceeded { spent_micros: spent, budget_micros: budget });
        }
        let (spent, budget) = (spent as f64 / 1e6, budget as f64 / 1e6);
        Some(format!("spent ${spent:.4} of its budget of ${budget:.4} (limits.budget_usd)"))
    }

    /// Says once that the tokens are used up. Answers in words what was passed.
    fn check_tokens(&mut self, frame: FrameIx, budget: u64) -> Option<String> {
        let usage = self.frame(frame).usage;
        let used = usage.input_tokens + usage.output_tokens;
        let passed = format!("used {used} of its {budget} tokens (limits.budget_tokens)");
        if used <= budget {
            return None;
        }
        if frame.0 == 0 && !self.frame(frame).told.contains(&"tokens") {
            self.frame_mut(frame).told.push("tokens");
            let message = format!("the run {passed}");
            self.emit(Event::Noted { task: None, code: "budget_tokens".into(), message });
        }
        Some(passed)
    }

    /// A budget in money means nothing for a model without a price; that must not go unsaid.
    fn tell_unpriced(&mut self, frame: FrameIx) {
        if frame.0 > 0 || self.frame(frame).told.contains(&"unpriced") {
            return;
        }
        self.frame_mut(frame).told.push("unpriced");
        let message =
            "limits.budget_usd cannot be kept: no price is known for the models in use (cost.pricing)";
        self.emit(Event::Noted { task: None, code: "budget_unpriced".into(), message: message.into() });
    }

    /// Everything has ended: the closing hook, then the end itself.
    fn finish_frame(&mut self, frame: FrameIx, outputs: &dyn Outputs) {
        let result = self.frame_result(frame, outputs);
        let hooks = self.workflow_in(frame).hooks.clone();
        let (word, hook) = match result.failure.is_none() {
            true => ("on_complete", hooks.on_complete),
            false => ("on_error", hooks.on_error),
        };
        let stopped =
            matches!(self.frame(frame).ending, Some(FrameEnding::Cancelled(_) | FrameEnding::Stopped { .. }));
        match hook {
            Some(Hook::Text(text)) if !stopped => {
                self.tell_hook(frame, word, &text, result.output.as_ref(), outputs);
            }
            Some(Hook::Run(_)) if !stopped && !self.frame(frame).told.contains(&word) => {
                let within = self.frame_task(frame);
                return self.emit(Event::HookStarted { within, hook: word.into() });
            }
            _ => {}
        }
        self.close_frame(frame, result, outputs);
    }

    fn close_frame(&mut self, frame: FrameIx, result: FrameResult, outputs: &dyn Outputs) {
        let output = result.output.as_ref().map(|value| store(outputs, value));
        let Some(task) = self.frame(frame).parent else {
            return self.emit(Event::RunFinished { status: result.status, output, failure: result.failure });
        };
        if self.tasks[task].is_ended() {
            return;
        }
        if self.tasks[task].cancelling.is_some() {
            return self.finish_cancel(task);
        }
        match (result.failure, output) {
            (Some(failure), _) => self.fail_begin_open(task, failure),
            (None, output) => {
                let output = output.unwrap_or_else(|| store(outputs, &Value::Object(Map::new())));
                self.emit(Event::TaskSucceeded { task: self.tasks[task].id.clone(), output });
            }
        }
    }

    /// A sub-workflow failed: its step may try again with a fresh one.
    fn fail_begin_open(&mut self, task: TaskIx, mut failure: Failure) {
        failure.message = format!("sub-workflow step `{}` failed: {}", self.node(task).name, failure.message);
        if failure.limit().is_some() {
            failure.reason = Some("sub_workflow_limit".into());
        }
        self.retry_or_fail(task, failure, self.tasks[task].failures + 1);
    }

    pub(crate) fn frame_result(&self, frame: FrameIx, outputs: &dyn Outputs) -> FrameResult {
        match self.frame(frame).ending.clone() {
            None => self.natural_end(frame, outputs),
            Some(FrameEnding::Stated(Ending::Failed { failure, .. })) => match failure.limit() {
                Some(reason::BUDGET) => self.salvaged(frame, failure, outputs),
                _ => FrameResult::failed(failure),
            },
            Some(FrameEnding::Stated(Ending::Terminated { task, success, reason, output })) => {
                self.terminated_end(frame, &task, success, reason, output, outputs)
            }
            Some(FrameEnding::Cancelled(_) | FrameEnding::Stopped { .. }) => {
                let failure = Failure::new(Class::Cancelled, "the run was stopped");
                FrameResult { status: RunStatus::Cancelled, output: None, failure: Some(failure) }
            }
        }
    }

    fn natural_end(&self, frame: FrameIx, outputs: &dyn Outputs) -> FrameResult {
        match self.frame_output(frame, outputs) {
            Ok(output) => FrameResult { status: self.natural_status(frame), output, failure: None },
            Err(failure) => FrameResult::failed(failure),
        }
    }

    fn natural_status(&self, frame: FrameIx) -> RunStatus {
        let steps = &self.frame(frame).steps;
        let skipped = |step: &&TaskIx| self.tasks[**step].state == TaskState::Ended(End::Skipped);
        let missed = steps.iter().filter(skipped).count();
        if missed == 0 {
            RunStatus::Succeeded
        } else if missed == steps.len() {
            RunStatus::SkippedAll
        } else if self.missed_steps {
            RunStatus::Partial
        } else {
            RunStatus::Succeeded
        }
    }

    /// The workflow's own output, `$end` routes on top.
    fn frame_output(&self, frame: FrameIx, outputs: &dyn Outputs) -> Result<Option<Value>, Failure> {
        let declared = self.workflow_in(frame).output.clone();
        let added = self.frame(frame).end_outputs.clone();
        if declared.is_none() && added.is_empty() {
            return Ok(None);
        }
        let mut values = Map::new();
        for (name, text) in declared.into_iter().flatten() {
            let rendered =
                self.render_in_frame(frame, &text, &format!("workflow output `{name}`"), outputs)?;
            values.insert(name, read_output(&rendered));
        }
        for payload in added {
            if let Some(Value::Object(more)) = self.read(&payload, outputs).map(|text| text.value()) {
                values.extend(more);
            }
        }
        Ok(Some(Value::Object(values)))
    }

    /// The money is gone: what is there is given, and what is missing is named.
    fn salvaged(&self, frame: FrameIx, mut failure: Failure, outputs: &dyn Outputs) -> FrameResult {
        let declared = self.workflow_in(frame).output.iter().flatten();
        let (mut values, mut missing) = (Map::new(), Vec::new());
        for (name, text) in declared {
            match self.render_in_frame(frame, text, &format!("workflow output `{name}`"), outputs) {
                Ok(rendered) => drop(values.insert(name.clone(), read_output(&rendered))),
                Err(_) => missing.push(name.as_str()),
            }
        }
        if !missing.is_empty() {
            failure.message = format!("{}; missing in the output: {}", failure.message, missing.join(", "));
        }
        let output = (!values.is_empty()).then_some(Value::Object(values));
        FrameResult { status: RunStatus::Failed, output, failure: Some(failure) }
    }

    fn terminated_end(
        &self,
        frame: FrameIx,
        task: &TaskId,
        success: bool,
        reason: String,
        output: Option<Payload>,
        outputs: &dyn Outputs,
    ) -> FrameResult {
        let stated = output.and_then(|payload| self.read(&payload, outputs)).map(|text| text.value());
        let output = stated.or_else(|| self.frame_output(frame, outputs).ok().flatten());
        if success {
            return FrameResult { status: RunStatus::Succeeded, output, failure: None };
        }
        let failure = Failure::new(Class::Fatal, format!("terminated by step `{task}`: {reason}"));
        FrameResult { status: RunStatus::Failed, output, failure: Some(failure.reason(reason::TERMINATED)) }
    }
}

/// The reason that reaches what stands below a task: its own time is not theirs.
pub(crate) fn below(cause: Cause, instead: CauseKind) -> Cause {
    match cause.kind {
        CauseKind::TimedOut => Cause { kind: instead, ..cause },
        _ => cause,
    }
}

/// How a workflow ended.
pub(crate) struct FrameResult {
    pub status: RunStatus,
    pub output: Option<Value>,
    pub failure: Option<Failure>,
}

impl FrameResult {
    fn failed(failure: Failure) -> FrameResult {
        FrameResult { status: RunStatus::Failed, output: None, failure: Some(failure) }
    }
}
