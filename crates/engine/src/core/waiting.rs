//! Attempts and calls that wait in vain: too long, in a queue that is full, or for what is left alone because it failed.

use super::{Core, Turn};
use crate::capacity::calls::{has_another_way, left_alone};
use crate::capacity::permits::Bound;
use convoke_govern::Refused;
use convoke_model::{Class, Event, Failure, Timestamp, reason};
use convoke_schedule::{TaskIx, TaskState};
use std::time::Duration;

impl Core {
    /// Bounds how long a task waits for the permit of an attempt or of a call, if anything is said about that. A breaker that is
    /// open always has a bound.
    pub(super) fn bound_wait(&mut self, task: TaskIx, now: Timestamp) {
        let stated = self.scheduler.max_wait(task).map(Duration::from_millis);
        if let Some(most) = stated.or(self.permits.max_wait) {
            self.permits.waits.begin(task, Bound::MaxWait, most, now);
        }
        if let Some((_, most)) = self.permits.patience(self.scheduler.node(task)) {
            self.permits.waits.begin(task, Bound::Breaker, most, now);
        }
    }

    /// An attempt has asked for a call: it waits for it like an attempt for its permit.
    pub(super) fn bound_call(&mut self, task: TaskIx, now: Timestamp) {
        if self.permits.calls.waits(task) {
            self.bound_wait(task, now);
        }
    }

    /// Turns away tasks that have waited too long, and those that had to give way in a full queue.
    pub(super) fn turn_waiting_away(&mut self, now: Timestamp, turn: &mut Turn) {
        for task in std::mem::take(&mut self.permits.displaced) {
            let message = "gave way to a step of a higher class: as many attempts wait as may".to_owned();
            self.turn_away_for_now(now, task, message, reason::QUEUE_FULL, turn);
        }
        for (task, bound, most) in self.permits.waits.expired(now) {
            match bound {
                Bound::MaxWait => self.waited_too_long(now, task, most, turn),
                Bound::Breaker => self.lose_patience(now, task, most, turn),
            }
        }
    }

    /// A permit did not come in the time that the workflow or the configuration gives it. Behind an open breaker, trying again
    /// would be waiting again.
    fn waited_too_long(&mut self, now: Timestamp, task: TaskIx, most: Duration, turn: &mut Turn) {
        if self.permits.patience(self.scheduler.node(task)).is_some() {
            return self.lose_patience(now, task, most, turn);
        }
        let most = most.as_secs_f64();
        if self.permits.calls.waits(task) {
            let message = format!("waited for the permit of a call for {most} s, as long as it may");
            let failure = self.in_vain(task, &message, reason::MAX_WAIT);
            return self.permits.give_up_call(task, failure, &mut turn.effects);
        }
        self.permits.withdraw(task);
        let message = format!("waited for a permit for {most} s, as long as it may");
        self.turn_away_for_now(now, task, message, reason::MAX_WAIT, turn);
    }

    /// No probe has gone well in the time that a breaker is waited for: the step fails, and a resumed run tries it again.
    fn lose_patience(&mut self, now: Timestamp, task: TaskIx, most: Duration, turn: &mut Turn) {
        // It may be closed again, and something else is waited for.
        let Some((breaker, _)) = self.permits.patience(self.scheduler.node(task)) else { return };
        let mut failure = left_alone(&self.scheduler.node(task).name, &breaker);
        failure.message = format!("{} (no probe went well within {} s)", failure.message, most.as_secs_f64());
        if self.permits.calls.waits(task) {
            return self.permits.give_up_call(task, failure, &mut turn.effects);
        }
        self.permits.withdraw(task);
        let event = Event::TaskFailed { task: self.scheduler.id(task).clone(), failure };
        self.happen(now, event, turn);
    }

    fn in_vain(&self, task: TaskIx, message: &str, why: &str) -> Failure {
        let step = &self.scheduler.node(task).name;
        Failure::new(Class::Capacity, format!("step `{step}` {message}"))
            .reason(why)
            .hint("convoke capacity shows every limit, who holds it and who waits")
    }

    /// What is refused now may be had later: the step's policy says whether it is tried again.
    pub(super) fn turn_away_for_now(
        &mut self,
        now: Timestamp,
        task: TaskIx,
        message: String,
        why: &str,
        turn: &mut Turn,
    ) {
        let failure = self.in_vain(task, &message, why);
        let (id, code) = (self.scheduler.id(task).clone(), why.to_owned());
        self.push(now, Event::Noted { task: Some(id), code, message: failure.message.clone() }, turn);
        self.scheduler.turn_away(task, failure);
    }

    /// A queue that is full takes others later; what can never fit never will.
    pub(super) fn not_admitted(&mut self, now: Timestamp, task: TaskIx, why: &Refused, turn: &mut Turn) {
        match why {
            Refused::Full { .. } => {
                self.turn_away_for_now(now, task, format!("cannot start: {why}"), reason::QUEUE_FULL, turn);
            }
            _ => self.never_starts(now, task, why, turn),
        }
    }

    /// Fails a task at once that would wait for an open breaker, where the workflow says what then.
    pub(super) fn fails_at_once(&mut self, now: Timestamp, task: TaskIx, turn: &mut Turn) -> bool {
        let node = self.scheduler.node(task);
        if !has_another_way(node) {
            return false;
        }
        let Some((breaker, _)) = self.permits.broken(node, now) else { return false };
        let failure = left_alone(&node.name, &breaker);
        let event = Event::TaskFailed { task: self.scheduler.id(task).clone(), failure };
        self.happen(now, event, turn);
        true
    }

    /// A breaker has opened: tasks that wait for it and have another way fail at once.
    pub(super) fn fail_those_that_wait(&mut self, now: Timestamp, turn: &mut Turn) {
        if !std::mem::take(&mut self.breaker_opened) {
            return;
        }
        let waiting: Vec<_> = self.scheduler.tasks().filter(|task| self.waits_for_a_permit(*task)).collect();
        for task in waiting {
            if self.fails_at_once(now, task, turn) {
                self.permits.withdraw(task);
            } else if self.permits.passes_by(self.scheduler.node(task), now) {
                // Asked for while the breaker was closed: its next model can answer.
                self.permits.withdraw(task);
                self.demand(now, task, turn);
            } else if let Some((_, most)) = self.permits.patience(self.scheduler.node(task)) {
                self.permits.waits.resume(task, Bound::Breaker, most, now);
            }
        }
    }

    fn waits_for_a_permit(&self, task: TaskIx) -> bool {
        self.scheduler.state(task) == TaskState::Ready
            && self.permits.governor.waits(crate::capacity::permits::key_of(task))
    }
}
