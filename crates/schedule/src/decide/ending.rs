//! How a workflow comes to its end: the closing hook, its status and its output.

use crate::outputs::{Outputs, store};
use crate::scheduler::Scheduler;
use crate::state::{End, FrameEnding, FrameIx, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::{Class, Ending, Event, Failure, HookPoint, Payload, RunStatus, TaskId, reason};
use convoke_plan::Hook;
use serde_json::{Map, Value};

impl Scheduler {
    /// Everything has ended: the closing hook, then the end itself.
    pub(crate) fn finish_frame(&mut self, frame: FrameIx, outputs: &dyn Outputs) {
        let is_being_checked = self.frame(frame).parent.is_some_and(|task| self.awaits_check(task));
        if is_being_checked || self.waits_for_workspaces(frame) {
            return;
        }
        let result = self.view(outputs).frame_result(frame);
        let hooks = self.workflow_in(frame).hooks.clone();
        let (point, hook) = match result.failure.is_none() {
            true => (HookPoint::OnComplete, hooks.on_complete),
            false => (HookPoint::OnError, hooks.on_error),
        };
        let stopped =
            matches!(self.frame(frame).ending, Some(FrameEnding::Cancelled(_) | FrameEnding::Stopped { .. }));
        match hook {
            Some(Hook::Text(text)) if !stopped => {
                self.render_hook(frame, point, &text, result.output.as_ref(), outputs);
            }
            Some(Hook::Run(_)) if !stopped && !self.frame(frame).hooks_begun.contains(&point) => {
                let within = self.frame_task(frame);
                return self.emit(Event::HookStarted { within, hook: point });
            }
            _ => {}
        }
        self.close_frame(frame, result, outputs);
    }

    fn close_frame(&mut self, frame: FrameIx, result: FrameResult, outputs: &dyn Outputs) {
        let output = result.output.as_ref().map(|value| store(outputs, value));
        let Some(task) = self.frame(frame).parent else {
            let lost = || self.what_was_lost().filter(|_| result.status == RunStatus::Partial);
            let failure = result.failure.or_else(lost);
            return self.emit(Event::RunFinished { status: result.status, output, failure });
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
}

impl View<'_> {
    pub(crate) fn frame_result(&self, frame: FrameIx) -> FrameResult {
        let is_pipeline = self.workflow_in(frame).pipeline.is_some();
        match self.frame(frame).ending.clone() {
            None if is_pipeline => self.pipeline_result(frame, None),
            Some(FrameEnding::Stated(Ending::Failed { failure, .. })) if is_pipeline => {
                self.pipeline_result(frame, Some(failure))
            }
            None => self.natural_end(frame),
            Some(FrameEnding::Stated(Ending::Failed { failure, .. })) => self.salvaged(frame, failure),
            Some(FrameEnding::Stated(Ending::Terminated { task, success, reason, output })) => {
                self.terminated_end(frame, &task, success, reason, output)
            }
            Some(FrameEnding::Cancelled(_) | FrameEnding::Stopped { .. }) => {
                let failure = Failure::new(Class::Cancelled, "the run was stopped");
                FrameResult { status: RunStatus::Cancelled, output: None, failure: Some(failure) }
            }
        }
    }

    fn natural_end(&self, frame: FrameIx) -> FrameResult {
        match self.frame_output(frame) {
            Ok(output) => FrameResult { status: self.natural_status(frame), output, failure: None },
            Err(failure) => self.salvaged(frame, failure),
        }
    }

    /// The workflow's own output, `$end` routes on top.
    pub(crate) fn frame_output(&self, frame: FrameIx) -> Result<Option<Value>, Failure> {
        let declared = self.workflow_in(frame).output.clone();
        let added = self.frame(frame).end_outputs.clone();
        if declared.is_none() && added.is_empty() {
            return Ok(None);
        }
        let mut values = Map::new();
        for (name, text) in declared.into_iter().flatten() {
            let value = self.output_in_frame(frame, &name, &text)?;
            values.insert(name, value);
        }
        for payload in added {
            if let Some(Value::Object(more)) = self.read(&payload).map(|text| text.value()) {
                values.extend(more);
            }
        }
        Ok(Some(Value::Object(values)))
    }

    fn terminated_end(
        &self,
        frame: FrameIx,
        task: &TaskId,
        success: bool,
        reason: String,
        output: Option<Payload>,
    ) -> FrameResult {
        let stated = output.and_then(|payload| self.read(&payload)).map(|text| text.value());
        // Whether what the step skipped can be rendered is no question of its own: what can be rendered is given.
        let rendered = || {
            let declared = self.frame_output(frame);
            declared.unwrap_or_else(|_| Some(Value::Object(self.renderable(frame).0)))
        };
        let output = stated.or_else(rendered);
        if success {
            return FrameResult { status: self.status_of_goals(), output, failure: None };
        }
        let failure = Failure::new(Class::Fatal, format!("terminated by step `{task}`: {reason}"));
        FrameResult { status: RunStatus::Failed, output, failure: Some(failure.reason(reason::TERMINATED)) }
    }
}

impl State {
    fn natural_status(&self, frame: FrameIx) -> RunStatus {
        let steps = &self.frame(frame).steps;
        let skipped = |step: &&TaskIx| match self.tasks[**step].state {
            TaskState::Ended(End::Skipped) => true,
            TaskState::Ended(End::Succeeded) => self.skipped_all(**step),
            _ => false,
        };
        let missed = steps.iter().filter(skipped).count();
        let goals = self.status_of_goals();
        let lacks = self.missed_outputs || self.missed_steps && missed > 0 || self.lacks_agents(frame);
        if missed > 0 && missed == steps.len() || goals == RunStatus::SkippedAll {
            RunStatus::SkippedAll
        } else if lacks || goals == RunStatus::Partial {
            RunStatus::Partial
        } else {
            RunStatus::Succeeded
        }
    }

    /// Whether there were goals, and each of them left everything out: what stands around them is no part of the goal.
    fn skipped_its_goals(&self) -> bool {
        let is_goal =
            |task: &TaskIx| self.parks(*task) && self.root_of(*task) == *task && self.still_counts(*task);
        let mut goals = self.tasks.indices().filter(is_goal).peekable();
        goals.peek().is_some() && goals.all(|goal| self.skipped_all(goal))
    }

    /// How well a run can have ended at most, as its goals say: an end of the run does not reach them.
    fn status_of_goals(&self) -> RunStatus {
        if !self.missed_goals {
            RunStatus::Succeeded
        } else if self.skipped_its_goals() {
            RunStatus::SkippedAll
        } else if self.unreached().is_empty() {
            RunStatus::Succeeded
        } else {
            RunStatus::Partial
        }
    }
}

/// How a workflow ended.
pub(crate) struct FrameResult {
    pub status: RunStatus,
    pub output: Option<Value>,
    pub failure: Option<Failure>,
}
