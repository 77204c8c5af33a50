//! Limits of time, across owners.
//!
//! A limit bounds work, not the nights between: while no process drove the run, or the machine slept, its limits stood still. Only a
//! person's time to answer went on, and waits did. While a person is asked about a step's work, the step's limit stands still. What is open again after it failed has its whole time again.

use crate::state::{Alarm, FrameIx, Stage, State, TaskIx, TaskState};
use convoke_model::hash::HashSet;
use convoke_model::{Event, TaskId, Timestamp};
use convoke_plan::{Kind, Span};
use std::time::Duration;

impl State {
    /// Whether an event is of a new owner, so that no process drove the run before it.
    pub(crate) fn begins_ownership(event: &Event) -> bool {
        matches!(
            event,
            Event::RunOwned { .. }
                | Event::RunReopened { .. }
                | Event::PlanChanged { .. }
                | Event::RunForked(_)
        )
    }

    /// No process drove the run for this long, or the machine slept.
    pub(crate) fn stood_still(&mut self, idle: Duration) {
        let tasks = &self.tasks;
        self.timers.postpone(idle, |alarm| match alarm {
            Alarm::Wake(_) | Alarm::Expiry(_) => false,
            Alarm::Deadline(task) => tasks[task].state != TaskState::Asking,
            Alarm::FrameDeadline(_) | Alarm::InputTimeout(_) => true,
        });
    }

    /// Gives every workflow that is open, and these tasks, their whole time.
    pub(super) fn renew_time(&mut self, tasks: &[TaskId]) {
        let renewed: HashSet<TaskIx> = tasks.iter().filter_map(|id| self.tasks.find(id)).collect();
        self.timers.forget(|alarm| match alarm {
            Alarm::Wake(_) | Alarm::Expiry(_) => false,
            Alarm::InputTimeout(_) => true,
            Alarm::Deadline(task) => renewed.contains(&task),
            Alarm::FrameDeadline(_) => true,
        });
        for task in renewed {
            match self.tasks[task].state {
                TaskState::Waiting | TaskState::Held | TaskState::Ready => self.tasks[task].started = None,
                TaskState::Asking if !self.answers_in_its_time(task) => {
                    self.stop_clock_at(task, self.whole_time(task))
                }
                _ => self.arm_task(task),
            }
        }
        for task in self.tasks.indices() {
            if self.tasks[task].state == TaskState::Waiting {
                self.arm_input_timeout(task);
            }
        }
        for frame in (0..self.frames.len() as u32).map(FrameIx) {
            if self.frame(frame).stage != Stage::Closed {
                self.arm_frame(frame);
            }
        }
    }

    pub(super) fn arm_frame(&mut self, frame: FrameIx) {
        if let Some(limit) = self.workflow_in(frame).limits.timeout_ms {
            self.timers.arm(self.now + Duration::from_millis(limit), Alarm::frame(frame));
        }
    }

    /// The task's time begins with its first start.
    pub(crate) fn note_start(&mut self, task: TaskIx) {
        if self.tasks[task].started.is_none() {
            self.tasks[task].started = Some(self.now);
            self.arm_task(task);
        }
    }

    /// A composite that waits for what it needs does so for a time of its own.
    pub(crate) fn arm_input_timeout(&mut self, task: TaskIx) {
        let limit = self.own_composite(task).and_then(|composite| composite.input_timeout(self.node(task)));
        if let Some(limit) = limit {
            self.timers.arm(self.now + limit, Alarm::InputTimeout(task));
        }
    }

    /// A person is asked about the work of a step: whether it may run again, what it may do, what it may cost. The limit of the
    /// step bounds its work, so it stands still until the answer.
    pub(super) fn stop_clock(&mut self, task: TaskIx) {
        if !self.answers_in_its_time(task) {
            let due = self.timers.armed(Alarm::Deadline(task));
            self.timers.forget(|alarm| alarm == Alarm::Deadline(task));
            self.stop_clock_at(task, due.map(|due| due.since(self.now)));
        }
    }

    /// The time in which a person may allow calls is wall time: an approval of weeks ago is none.
    pub(super) fn arm_expiry(&mut self, task: TaskIx, until: Option<Timestamp>) {
        self.timers.forget(|alarm| alarm == Alarm::Expiry(task));
        if let Some(until) = until.filter(|_| !self.answers_in_its_time(task)) {
            self.timers.arm(until, Alarm::Expiry(task));
        }
    }

    pub(super) fn start_clock(&mut self, task: TaskIx) {
        if let Some(left) = self.stopped_clocks.remove(&task) {
            self.timers.arm(self.now + left, Alarm::Deadline(task));
        }
    }

    /// Whether the limit of a task is the time in which a person may answer. A goal, too, goes on while it asks: its tasks work.
    pub(crate) fn answers_in_its_time(&self, task: TaskIx) -> bool {
        matches!(self.node(task).kind, Kind::Gate(_) | Kind::Questions(_)) || self.parks(task)
    }

    fn stop_clock_at(&mut self, task: TaskIx, left: Option<Duration>) {
        if let Some(left) = left {
            self.stopped_clocks.insert(task, left);
        }
    }

    fn whole_time(&self, task: TaskIx) -> Option<Duration> {
        match self.node(task).timeout {
            Some(Span::Millis(limit)) => Some(Duration::from_millis(limit)),
            _ => None,
        }
    }

    fn arm_task(&mut self, task: TaskIx) {
        if let Some(limit) = self.whole_time(task) {
            self.timers.arm(self.now + limit, Alarm::Deadline(task));
        }
    }
}
