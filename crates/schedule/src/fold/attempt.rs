//! Attempts begin, end and wait.

use super::{Folded, IllegalEvent};
use crate::state::{Alarm, End, ProbeState, State, TaskIx, TaskState, Todo};
use convoke_model::{Class, Failure, Payload, TaskId, Timestamp, Usage, WaitsFor, reason};
use convoke_plan::{Kind, OnUnknown};

impl State {
    pub(super) fn attempt_started(&mut self, id: &TaskId, attempt: u32) -> Folded {
        let task = self.begun(id, "attempt_started")?;
        // Under a plan that said otherwise then, what was stopped in the middle was repeated unasked.
        let repeated = self.tasks[task].outcome_unknown;
        self.expect(task, "attempt_started", |state| {
            state == TaskState::Ready || state == TaskState::Failing && repeated
        })?;
        self.note_start(task);
        self.unqueue(task);
        self.tasks[task].outcome_unknown = false;
        self.tasks[task].asks_before_repeating = false;
        self.tasks[task].attempts = attempt;
        self.tasks[task].state = TaskState::Running;
        self.running += 1;
        Ok(())
    }

    pub(super) fn attempt_finished(&mut self, id: &TaskId, output: &Payload, usage: &Usage) -> Folded {
        let task = self.stop_running(id, "attempt_finished", usage)?;
        self.tasks[task].known_results = Vec::new();
        self.tasks[task].turns = Vec::new();
        self.tasks[task].past = Vec::new();
        // Also when it was told to stop: it was done before that reached it, and a task has one end.
        self.tasks[task].output = Some(output.clone());
        self.end(task, End::Succeeded);
        Ok(())
    }

    pub(super) fn attempt_failed(&mut self, id: &TaskId, failure: &Failure, usage: &Usage) -> Folded {
        let task = self.stop_running(id, "attempt_failed", usage)?;
        self.counted_by_end(task);
        self.tasks[task].detached = false;
        if self.tasks[task].probe == ProbeState::Asked {
            // A probe changes nothing, so it is asked again, unless its task is told to stop.
            self.tasks[task].probe = ProbeState::Due;
            if failure.reason.as_deref().is_some_and(|reason| reason.starts_with(reason::INTERRUPTED)) {
                self.make_ready(task);
                return Ok(());
            }
        }
        if !failure.keeps_conversation() {
            let over = std::mem::take(&mut self.tasks[task].turns);
            self.tasks[task].past.extend(over);
        }
        if failure.reason.as_deref() == Some(reason::INTERRUPTED_UNSTARTED) {
            self.make_ready(task);
            return Ok(());
        }
        if failure.reason.as_deref() == Some(reason::INTERRUPTED) {
            // What is opened again had its answer; only what was told to stop had none.
            let was_stopped = failure.class == Class::Cancelled;
            self.tasks[task].cut_off += u32::from(was_stopped);
            // A stop leaves the outcome as unknown as a crash does, so the same policy follows, with the next owner.
            match was_stopped && self.on_unknown(task) != OnUnknown::Retry {
                true => {
                    self.tasks[task].outcome_unknown = true;
                    self.probe_if_so_stated(task);
                }
                false => self.make_ready(task),
            }
            return Ok(());
        }
        if !matches!(self.node(task).kind, Kind::Agent(_)) {
            // Another attempt does the whole again.
            self.tasks[task].known_results = Vec::new();
        }
        self.tasks[task].failures += 1;
        self.tasks[task].failure = Some(Box::new(failure.clone()));
        self.tasks[task].state = TaskState::Failing;
        self.todo(Todo::Remedy(task));
        Ok(())
    }

    pub(super) fn attempt_suspended(
        &mut self,
        id: &TaskId,
        state: &Payload,
        waits: &WaitsFor,
        usage: &Usage,
    ) -> Folded {
        let task = self.known(id, "attempt_suspended")?;
        if matches!(waits, WaitsFor::Children(_)) && self.own_composite(task).is_none() {
            return Err(super::illegal(&format!("attempt_suspended of {id}"), "its step asks nobody"));
        }
        let task = self.stop_running(id, "attempt_suspended", usage)?;
        self.counted_by_end(task);
        self.tasks[task].turns.push(state.clone());
        // A task that waits for its children keeps its place.
        if !matches!(waits, WaitsFor::Children(_)) {
            self.vacate(task);
        }
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
            WaitsFor::Children(sub_queries) => {
                self.tasks[task].state = TaskState::Open;
                self.tasks[task].ask = Some(sub_queries.clone());
                self.tasks[task].has_open_queries = true;
                self.todo(Todo::Ask(task));
            }
        }
        Ok(())
    }

    pub(super) fn turn_recorded(
        &mut self,
        id: &TaskId,
        attempt: u32,
        piece: &Payload,
        usage: &Usage,
    ) -> Folded {
        let task = self.known(id, "turn_recorded")?;
        let current = self.tasks[task].attempts == attempt;
        self.expect(task, "turn_recorded", |state| state == TaskState::Running && current)?;
        self.forget_results(task, attempt);
        self.tasks[task].turns.push(piece.clone());
        // The question that led here is answered and acted on.
        self.tasks[task].answer = None;
        self.spend(task, usage);
        Ok(())
    }

    pub(super) fn attempt_lost(&mut self, id: &TaskId, usage: &Usage) -> Folded {
        let task = self.stop_running(id, "attempt_lost", usage)?;
        self.tasks[task].detached = false;
        match self.tasks[task].probe == ProbeState::Asked {
            true => self.tasks[task].probe = ProbeState::Due,
            false => {
                self.tasks[task].cut_off += 1;
                self.probe_if_so_stated(task);
            }
        }
        self.make_ready(task);
        Ok(())
    }

    /// What follows when an attempt was cut off. Work that is sealed is not done again, so nothing is unknown.
    pub(crate) fn on_unknown(&self, task: TaskIx) -> OnUnknown {
        if self.is_sealed(task) || self.is_committed(task) {
            OnUnknown::Retry
        } else {
            self.node(task).on_unknown
        }
    }

    fn probe_if_so_stated(&mut self, task: TaskIx) {
        if self.on_unknown(task) == OnUnknown::Probe {
            self.tasks[task].probe = ProbeState::Due;
        }
    }

    pub(super) fn stop_running(
        &mut self,
        id: &TaskId,
        what: &str,
        usage: &Usage,
    ) -> Result<TaskIx, IllegalEvent> {
        let task = self.known(id, what)?;
        self.expect(task, what, |state| state == TaskState::Running)?;
        self.running -= 1;
        self.tasks[task].state = TaskState::Failing;
        self.spend(task, usage);
        Ok(task)
    }

    fn spend(&mut self, task: TaskIx, usage: &Usage) {
        if usage.is_zero() {
            return;
        }
        self.tasks[task].usage += *usage;
        self.spent_below(task, usage);
        let mut next = Some(self.tasks[task].place.frame);
        while let Some(ix) = next {
            self.frame_mut(ix).usage += *usage;
            self.check_when_idle(ix);
            next = self.frame(ix).parent.map(|task| self.tasks[task].place.frame);
        }
    }

    pub(super) fn retry_scheduled(&mut self, id: &TaskId, at: Timestamp) -> Folded {
        let task = self.known(id, "retry_scheduled")?;
        let fits = |state| matches!(state, TaskState::Failing | TaskState::Ready | TaskState::Open);
        self.expect(task, "retry_scheduled", fits)?;
        // What failed without an attempt of its own (it could not begin, its workflow failed) is not counted yet.
        self.tasks[task].failures += u32::from(self.tasks[task].state != TaskState::Failing);
        self.close_inner(task);
        self.unqueue(task);
        self.proof_over(task);
        self.tasks[task].state = TaskState::Backoff(at);
        self.timers.arm(at, Alarm::Wake(task));
        self.vacate(task);
        Ok(())
    }

    pub(super) fn task_woken(&mut self, id: &TaskId) -> Folded {
        let task = self.known(id, "task_woken")?;
        let fits = |state| {
            matches!(state, TaskState::Backoff(_) | TaskState::Asking | TaskState::Waiting | TaskState::Open)
        };
        self.expect(task, "task_woken", fits)?;
        self.asking -= u32::from(self.tasks[task].state == TaskState::Asking);
        self.start_clock(task);
        if self.parks(task) && matches!(self.tasks[task].state, TaskState::Asking | TaskState::Backoff(_)) {
            self.wake_composite(task);
            return Ok(());
        }
        if self.tasks[task].state == TaskState::Open && self.tasks[task].merging.is_none() {
            if self.group_is_open(task) {
                return self.woken_too_early(task);
            }
            // The repairs of what it needs have ended; what it does itself begins now.
            self.tasks[task].group = None;
        }
        let waited = self.tasks[task].state == TaskState::Waiting && self.tasks[task].place.within.is_none();
        self.frame_mut(self.tasks[task].place.frame).waiting -= u32::from(waited);
        // A task that waited for its children kept its place.
        match self.tasks[task].placed {
            true => self.make_ready(task),
            false => self.offer(task),
        }
        Ok(())
    }

    /// Whether a task has children that go on, so that it cannot begin anew.
    fn group_is_open(&self, task: TaskIx) -> bool {
        self.tasks[task].group.as_deref().is_some_and(|group| group.open > 0)
    }

    /// A step whose repairs were opened again waits for them; it is woken again when they have ended.
    fn woken_too_early(&self, task: TaskIx) -> Folded {
        match self.awaits_repair(task) {
            true => Ok(()),
            false => Err(super::illegal(
                &format!("task_woken of {}", self.tasks[task].id),
                "what stands below it has not ended",
            )),
        }
    }

    pub(super) fn gate_opened(
        &mut self,
        id: &TaskId,
        question: u32,
        ask: &Payload,
        until: Option<Timestamp>,
    ) -> Folded {
        let task = self.begun(id, "gate_opened")?;
        let parks = self.parks(task);
        self.expect(task, "gate_opened", |state| match state {
            TaskState::Open => parks,
            state => matches!(state, TaskState::Ready | TaskState::Failing),
        })?;
        self.unqueue(task);
        self.note_start(task);
        self.stop_clock(task);
        self.arm_expiry(task, until);
        self.has_asked(id, question);
        self.tasks[task].ask = Some(ask.clone());
        // An earlier answer was to an earlier question.
        self.tasks[task].answer = None;
        self.tasks[task].outcome_unknown = false;
        self.tasks[task].asks_before_repeating = false;
        self.tasks[task].probe = ProbeState::None;
        self.tasks[task].state = TaskState::Asking;
        self.asking += 1;
        self.vacate(task);
        Ok(())
    }

    pub(super) fn gate_answered(&mut self, id: &TaskId, answer: &Payload) -> Folded {
        let task = self.known(id, "gate_answered")?;
        self.expect(task, "gate_answered", |state| state == TaskState::Asking)?;
        self.tasks[task].answer = Some(answer.clone());
        self.arm_expiry(task, None);
        if may_remember(answer) {
            self.remembers.push(answer.clone());
        }
        self.todo(Todo::Answered(task));
        Ok(())
    }
}

/// Whether an answer may allow calls for the rest of the run. What is large is read when that is asked.
fn may_remember(answer: &Payload) -> bool {
    match answer {
        Payload::Inline(text) => text.as_str().contains(REMEMBERS),
        Payload::Blob { .. } => true,
        Payload::Gathered => false,
    }
}

/// In every answer that allows calls for the rest of the run.
const REMEMBERS: &str = "\"remember\"";
