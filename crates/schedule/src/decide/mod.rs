//! The table of contents of every decision.
//!
//! Each entry of the agenda is checked against the state first: the fold may have moved on since it was made.

mod budget;
mod cancel;
mod contract;
mod effect;
mod ending;
mod gate;
mod lacking;
mod launch;
mod proof;
mod route;
mod salvage;
mod tool;
mod workspace;

pub(crate) use ending::FrameResult;
pub(crate) use gate::kind_word;
pub use launch::Launch;
pub(crate) use route::below;

use crate::composite::Composite;
use crate::composite::reshape::ReshapeTask;
use crate::outputs::{Outputs, store};
use crate::scheduler::{Command, Scheduler};
use crate::state::{Alarm, ProbeState, State, TaskIx, TaskState, Todo};
use crate::view::View;
use convoke_model::{Answer, Ask, Cause, CauseKind, Class, Event, Failure, Remedy, Timestamp, Usage, reason};
use convoke_plan::{Kind, OnUnknown, Span};
use serde_json::json;
use std::time::Duration;

impl Scheduler {
    pub(crate) fn process(&mut self, todo: Todo, outputs: &dyn Outputs) {
        match todo {
            Todo::Begin(task) => self.begin(task, outputs),
            Todo::Follow(task) => self.follow(task, outputs),
            Todo::Remedy(task) => self.remedy(task, outputs),
            Todo::Group(task) => self.process_group(task, outputs),
            Todo::Lost(task) => self.lost(task, outputs),
            Todo::Gone(task) => self.gone(task, outputs),
            Todo::Probed(task) => self.probed(task, outputs),
            Todo::Answered(task) => self.answered(task, outputs),
            Todo::Skip(task, kind, because) => self.skip_waiting(task, kind, because),
            Todo::Ask(task) => self.ask_for(task, outputs),
            Todo::Arrived(task) => self.arrived(task, outputs),
            Todo::Losers(task, why) => self.stop_losers(task, why, outputs),
            Todo::Prove(task) => self.prove(task, outputs),
            Todo::LetGo(task) => self.let_go(task),
        }
    }

    /// A task can start: what that means depends on its kind.
    fn begin(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        if self.tasks[task].state != TaskState::Ready || self.tasks[task].queued {
            return;
        }
        if self.is_stopping() {
            let cause = convoke_model::Cause { kind: convoke_model::CauseKind::Stopped, task: None };
            return self.drop_unstarted(task, &cause);
        }
        if self.waits_with_composite(task) {
            return;
        }
        if let Some(failure) = self.over_task_limit() {
            return self.end_frame_by(self.tasks[task].place.frame, Some(task), failure);
        }
        if !self.may_enter(task, outputs)
            || self.takes_output(task, outputs)
            || self.looks_first(task, outputs)
        {
            return;
        }
        if let Some(composite) = self.own_composite(task) {
            let steps = composite.begin(&self.view(outputs), task);
            return self.take_steps(steps, outputs);
        }
        let plan = self.plan.clone();
        let node =
            plan.workflow(self.frame(self.tasks[task].place.frame).workflow).node(self.tasks[task].node);
        match &node.kind {
            Kind::Agent(_) | Kind::Script(_) | Kind::Tool(_) => self.ask_permit(task),
            Kind::Set(set) => self.begin_set(task, set, outputs),
            Kind::Wait(wait) => self.begin_wait(task, wait, outputs),
            Kind::Gate(gate) => self.begin_gate(task, gate, outputs),
            Kind::Questions(questions) => self.begin_questions(task, questions, outputs),
            Kind::Terminate(terminate) => self.begin_terminate(task, terminate, outputs),
            Kind::SubPlan(sub) => self.begin_sub_plan(task, sub, outputs),
            Kind::Parallel(_) => self.begin_parallel(task),
            Kind::ForEach(each) => self.begin_for_each(task, each, outputs),
            composite => unreachable!("a {} step is a composite", composite.word()),
        }
    }

    /// Whether a task may begin as far as edges and the shapes of its inputs go. If not, something was decided about that.
    fn may_enter(&mut self, task: TaskIx, outputs: &dyn Outputs) -> bool {
        if let Some(failure) = self.lacks_every_need(task) {
            self.fail_task(task, failure);
            return false;
        }
        let triggered = self.view(outputs).triggered(task);
        self.take_steps(triggered.steps, outputs);
        if !triggered.starts {
            return false;
        }
        let repairs = ReshapeTask.begin(&self.view(outputs), task);
        let fits = repairs.is_empty();
        self.take_steps(repairs, outputs);
        fits
    }

    pub(crate) fn ask_permit(&mut self, task: TaskIx) {
        self.enqueue(task);
        self.command(Command::Admit(task));
    }

    /// An attempt ended badly, or a task that was told to stop has stopped.
    fn remedy(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        if self.tasks[task].state != TaskState::Failing {
            return;
        }
        if self.tasks[task].cancelling.is_some() {
            return self.finish_cancel(task);
        }
        let failure = *self.tasks[task].failure.clone().expect("a failing task has a failure");
        match failure.reason.as_deref() {
            // A budget of the run that is spent ends the run, wherever in it that was found out.
            Some(reason::BUDGET | reason::BUDGET_TOKENS) => {
                return self.end_frame_by(crate::state::FrameIx(0), Some(task), failure);
            }
            // So does what a policy calls the end: no route, retry or recovery comes behind it.
            Some(reason::POLICY_VIOLATION) => {
                return self.end_frame_by(crate::state::FrameIx(0), Some(task), failure);
            }
            Some(reason::BUDGET_ASK) => return self.ask_for_money(task, &failure, outputs),
            _ => {}
        }
        self.retry_or_fail(task, failure, self.tasks[task].failures);
    }

    /// A task that waits for a permit is turned away: it is tried again or fails, as its policy says of the failure.
    pub fn turn_away(&mut self, task: TaskIx, failure: Failure) {
        if self.tasks[task].state == TaskState::Ready {
            self.retry_or_fail(task, failure, self.tasks[task].failures + 1);
        }
    }

    /// The failure policy of a task, up to its end.
    pub(crate) fn retry_or_fail(&mut self, task: TaskIx, failure: Failure, tried: u32) {
        match failure.remedy(&self.node(task).retry, tried) {
            Remedy::RetryAfter(delay) => {
                let at = self.now + self.with_jitter(task, delay);
                self.emit(Event::RetryScheduled { task: self.tasks[task].id.clone(), at });
            }
            Remedy::Fail => self.fail_unless(task, failure),
        }
    }

    /// A task fails for good, unless it is a composite that knows what to do instead.
    fn fail_unless(&mut self, task: TaskIx, failure: Failure) {
        let composite = self.own_composite(task);
        match composite.map(|composite| composite.fall_back(self, task, &failure)) {
            Some(instead) if !instead.is_empty() => instead.into_iter().for_each(|event| self.emit(event)),
            _ => self.fail_task(task, failure),
        }
    }

    pub(crate) fn fail_task(&mut self, task: TaskIx, failure: Failure) {
        self.emit(Event::TaskFailed { task: self.tasks[task].id.clone(), failure });
    }

    /// A task that never became an attempt failed to begin.
    pub(crate) fn fail_begin(&mut self, task: TaskIx, failure: Failure) {
        self.retry_or_fail(task, failure, self.tasks[task].failures + 1);
    }

    pub(crate) fn succeed(&mut self, task: TaskIx, value: &serde_json::Value, outputs: &dyn Outputs) {
        let output = store(outputs, value);
        self.emit(Event::TaskSucceeded { task: self.tasks[task].id.clone(), output });
    }

    /// The engine died while an attempt ran. A command that goes on without it is attached to.
    fn lost(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        if self.goes_on_alone(task) {
            let (task, attempt) = (self.tasks[task].id.clone(), self.tasks[task].attempts);
            return self.emit(Event::AttemptDetached { task, attempt });
        }
        self.gone(task, outputs);
    }

    /// Nothing says how an attempt ended: the engine, or the process that it had this attempt performed by, died while it ran;
    /// or the attempt was stopped in the middle, and its end is recorded already.
    fn gone(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let (id, attempt) = (self.tasks[task].id.clone(), self.tasks[task].attempts);
        let was_probe = self.tasks[task].probe == ProbeState::Asked;
        let policy = self.on_unknown(task);
        match self.tasks[task].state {
            TaskState::Running => {
                self.emit(Event::AttemptLost { task: id.clone(), attempt, usage: Usage::default() });
            }
            TaskState::Failing | TaskState::Ready if self.tasks[task].outcome_unknown => {}
            _ => return,
        }
        if self.tasks[task].cancelling.is_some() {
            return self.finish_cancel(task);
        }
        match policy {
            OnUnknown::Retry | OnUnknown::Probe if self.tasks[task].state == TaskState::Failing => {
                self.emit(Event::RetryScheduled { task: id, at: self.now });
            }
            // A probe is asked again, and the next attempt of a step that says so begins with one.
            OnUnknown::Retry | OnUnknown::Probe => {}
            _ if was_probe => {}
            OnUnknown::Fail if !self.tasks[task].asks_before_repeating => {
                self.fail_task(task, unknown_outcome(&id, attempt))
            }
            OnUnknown::Fail | OnUnknown::Ask => {
                let prompt = format!(
                    "attempt {attempt} of `{id}` was cut off, and its outcome is unknown; run it again?"
                );
                self.open_gate(task, &Ask::Unknown { prompt }, outputs);
            }
        }
    }

    /// A probe has answered: the effect happened, or a person is asked because it cannot be said.
    fn probed(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        if self.tasks[task].state != TaskState::Failing {
            return;
        }
        let id = self.tasks[task].id.clone();
        match &self.tasks[task].probe {
            ProbeState::Happened(output) => {
                let output = output.clone();
                self.emit(Event::TaskSucceeded { task: id, output });
            }
            ProbeState::Unclear(_) if self.tasks[task].cancelling.is_some() => self.finish_cancel(task),
            ProbeState::Unclear(why) => {
                let prompt = format!(
                    "an attempt of `{id}` was cut off, and the probe could not say whether it had its effect: {why}; run it again?"
                );
                self.open_gate(task, &Ask::Unknown { prompt }, outputs);
            }
            _ => {}
        }
    }

    /// A person is to say whether a budget may be passed.
    fn ask_for_money(&mut self, task: TaskIx, failure: &Failure, outputs: &dyn Outputs) {
        let prompt = format!("{}; `retry` allows as much again, `fail` ends the step", failure.message);
        self.open_gate(task, &Ask::Unknown { prompt }, outputs);
    }

    /// A suspended attempt asks: a person, or what becomes its children.
    fn ask_for(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        if self.tasks[task].state == TaskState::Open {
            let composite = self.own_composite(task);
            let asked =
                composite.map(|composite| composite.attempt_suspended_with(&self.view(outputs), task));
            return self.take_steps(asked.unwrap_or_default(), outputs);
        }
        if self.tasks[task].state != TaskState::Failing {
            return;
        }
        match self.asked(task, outputs) {
            Some(ask) => self.open_gate(task, &ask, outputs),
            None => {
                let why = format!("what `{}` asks cannot be read", self.tasks[task].id);
                self.fail_task(task, Failure::new(Class::Fatal, why));
            }
        }
    }

    /// A person answered: a gate of the workflow, or the question what a crash cut off.
    fn answered(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let Some(answer) =
            self.tasks[task].answer.clone().filter(|_| self.tasks[task].state == TaskState::Asking)
        else {
            return;
        };
        let answer: Option<Answer> =
            self.view(outputs).read(&answer).and_then(|text| serde_json::from_str(text.as_str()).ok());
        let kind = &self.node(task).kind;
        match answer {
            Some(Answer::Retry) => self.again(task),
            Some(Answer::Fail) => {
                self.fail_task(task, self.view(outputs).refused_by_person(task));
            }
            Some(answer) if matches!(kind, Kind::Gate(_) | Kind::Questions(_)) => {
                self.settle_gate(task, &answer, outputs);
            }
            _ => self.again(task),
        }
    }

    /// A parked task goes on: it needs a place and a permit again.
    pub(crate) fn again(&mut self, task: TaskIx) {
        self.emit(Event::TaskWoken { task: self.tasks[task].id.clone() });
    }

    pub(crate) fn fire_timers(&mut self, outputs: &dyn Outputs) {
        while let Some(alarm) = self.due_alarm() {
            match alarm {
                Alarm::Wake(task) => self.wake(task, outputs),
                Alarm::InputTimeout(task) => self.inputs_timed_out(task, outputs),
                Alarm::Deadline(task) => self.time_out(task, outputs),
                Alarm::Expiry(task) => self.expire_approval(task, outputs),
                Alarm::FrameDeadline(frame) => self.time_out_frame(crate::state::FrameIx(frame)),
            }
        }
    }

    /// The time is over for which a composite waits for what it needs.
    fn inputs_timed_out(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let composite = self.own_composite(task);
        let steps = composite.map(|composite| composite.inputs_timed_out(&self.view(outputs), task));
        self.take_steps(steps.unwrap_or_default(), outputs);
    }

    /// An output has arrived that a composite takes as it comes.
    fn arrived(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        match self.tasks[task].state {
            TaskState::Waiting => {
                let composite = self.own_composite(task);
                let steps = composite.map(|composite| composite.arrived(&self.view(outputs), task));
                self.take_steps(steps.unwrap_or_default(), outputs);
            }
            TaskState::Open => self.process_group(task, outputs),
            _ => {}
        }
    }

    fn wake(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        match self.tasks[task].state {
            TaskState::Timed(until) if until <= self.now => self.end_wait(task, until, outputs),
            TaskState::Backoff(until) if until <= self.now => self.again(task),
            _ => {}
        }
    }

    fn end_wait(&mut self, task: TaskIx, until: Timestamp, outputs: &dyn Outputs) {
        let started = self.tasks[task].started.unwrap_or(until);
        let waited = until.since(started).as_micros() as f64 / 1e6;
        self.succeed(task, &json!({ "waited_seconds": waited }), outputs);
    }

    fn time_out(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        if !self.tasks[task].is_ended() && !self.expire_gate(task, outputs) {
            let cause = Cause { kind: CauseKind::TimedOut, task: Some(self.tasks[task].id.clone()) };
            self.cancel(task, &cause, outputs);
        }
    }
}

impl View<'_> {
    /// Why a task fails that a person does not let go on.
    fn refused_by_person(&self, task: TaskIx) -> Failure {
        match self.tasks[task].failure.as_deref() {
            Some(failure) if failure.reason.as_deref() == Some(reason::BUDGET_ASK) => failure.clone(),
            _ => {
                let composite = self.own_composite(task);
                let rejection = composite.and_then(|composite| composite.rejection(self, task));
                rejection.unwrap_or_else(|| unknown_outcome(&self.tasks[task].id, self.tasks[task].attempts))
            }
        }
    }
}

impl State {
    /// Whether an attempt runs whose command outlives the engine and is not told to stop.
    pub fn goes_on_alone(&self, task: TaskIx) -> bool {
        let survives = matches!(&self.node(task).kind, Kind::Script(script) if script.survives.is_some());
        let is_command =
            self.tasks[task].state == TaskState::Running && self.tasks[task].probe == ProbeState::None;
        survives && is_command && self.tasks[task].cancelling.is_none()
    }

    /// Whether the next attempt attaches to a command that goes on without an engine.
    pub fn attaches(&self, task: TaskIx) -> bool {
        let waits =
            matches!(self.tasks[task].state, TaskState::Ready | TaskState::Held | TaskState::Backoff(_));
        self.goes_on_alone(task) || waits && self.tasks[task].detached
    }

    /// Whether a probe of the task is under way.
    pub fn is_probing(&self, task: TaskIx) -> bool {
        self.tasks[task].probe == ProbeState::Asked
    }

    fn over_task_limit(&self) -> Option<Failure> {
        let limit = self.plan.root().limits.max_tasks;
        (self.tasks.len() as u64 > u64::from(limit)).then(|| {
            let message = format!(
                "the run reached its limit of {} (limits.max_tasks)",
                convoke_model::counted(limit, "task", "tasks")
            );
            Failure::new(Class::Budget, message).reason(reason::MAX_TASKS).hint("raise `limits.max_tasks`")
        })
    }

    /// A stated delay is a minimum: jitter only adds, up to a quarter.
    pub(crate) fn with_jitter(&self, task: TaskIx, delay: Duration) -> Duration {
        let seed =
            self.seed ^ 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(u64::from(self.tasks[task].attempts) + 1);
        let hash = convoke_model::fnv_from(seed, self.tasks[task].id.0.bytes());
        let hash = hash ^ (hash >> 29);
        delay + delay.mul_f64((hash % 1000) as f64 / 4000.0)
    }

    /// What a task that took too long failed with.
    pub(crate) fn timeout_failure(&self, task: TaskIx) -> Failure {
        let node = self.node(task);
        let limit = match node.timeout {
            Some(Span::Millis(ms)) => format!(" after {} s", ms as f64 / 1000.0),
            _ => String::new(),
        };
        if self.tasks[task].state == TaskState::Asking {
            let message =
                format!("step `{}` got no answer{limit}: it counts as denied", self.step_word(task));
            return Failure::new(Class::Timeout, message).reason(reason::ANSWER_TIMEOUT);
        }
        let message = format!("step `{}` timed out{limit}", self.step_word(task));
        Failure::new(Class::Timeout, message).reason(reason::TASK_TIMEOUT)
    }
}

fn unknown_outcome(id: &convoke_model::TaskId, attempt: u32) -> Failure {
    let message = format!("attempt {attempt} of `{id}` was cut off, and its outcome is unknown");
    Failure::new(Class::Conflict, message)
        .reason(reason::UNKNOWN_OUTCOME)
        .hint("`convoke resume` asks before it runs again; say `on_unknown: retry` or `idempotent: true` if the step may run twice, or `on_unknown: probe` to have it found out")
}
