//! What must hold after every step, and at the end, whatever happens in whatever order.

use super::Machine;
use super::agenda::Life;
use super::process::Commit;
use super::table::{LIVES, LeaseStatus, SLOTS_OF_RUNS};
use convoke_agent::Admitted;
use convoke_engine::budget::Spending;
use convoke_engine::{Calls, Effect};
use convoke_model::{Event, Stamped};
use convoke_schedule::TaskIx;

impl Machine<'_> {
    /// A lease that was lost sends no call.
    pub(super) fn judge_sending(&mut self, life: Life, task: TaskIx) {
        let fence = self.process(life).attempts[&task].fence.expect("the machine is shared");
        let status = self.table.lease_status(fence, self.now);
        assert_ne!(status, LeaseStatus::Lost, "a call is sent on lease {fence}, which ran out");
    }

    /// Each call under way has a lease of its own, where calls are limited.
    pub(super) fn judge_sent(&mut self, life: Life) {
        if self.limits.services[0].concurrency.is_none() {
            return;
        }
        let (calls, held) = (self.service.of(life).len(), self.table.held(life));
        let leases = held.iter().filter(|(_, names)| names.iter().any(|name| name == "provider:openai"));
        let leases = leases.count();
        assert!(calls <= leases, "{calls} calls are under way on {leases} leases of {life:?}");
    }

    /// A turn lets no attempt call a service whose pause the process knew of before, and begins nothing without a run slot.
    pub(super) fn judge_turn(&mut self, life: Life, effects: &[Effect]) {
        let now = self.now;
        let is_call = |effect: &Effect| match effect {
            Effect::Answer(_, answer) => matches!(&**answer, Ok(Admitted::Go(_))),
            Effect::Launch(.., terms) => matches!(&terms.calls, Calls::Asked(Some(_)) | Calls::Free),
            _ => false,
        };
        let paused: Vec<_> = self.process(life).paused.iter().filter(|(_, until)| **until > now).collect();
        if effects.iter().any(is_call) {
            assert!(paused.is_empty(), "a call is let through at {now}, and {paused:?} is to be left alone");
        }
        let begins = effects.iter().any(|effect| matches!(effect, Effect::Launch(..)));
        // What ran out while it was stopped is told by the next heartbeat.
        let knows = self.process(life).beat + LIVES > now;
        if begins && knows && self.limits.orchestrations.is_some() {
            let held = self.table.held(life);
            let place = held.iter().any(|(_, names)| names.iter().any(|name| name == SLOTS_OF_RUNS));
            assert!(place, "an attempt begins, and its run has no place");
        }
    }

    /// Each task ends once, and each finished one is known not to be done again.
    pub(super) fn judge_commit(&mut self, life: Life, events: &[Stamped]) {
        let run = &mut self.runs[life.run];
        for Stamped { event, .. } in events {
            match event {
                Event::TaskSucceeded { task, .. }
                | Event::OutputTaken { task, .. }
                | Event::TaskFailed { task, .. }
                | Event::TaskSkipped { task, .. }
                | Event::TaskCancelled { task, .. } => {
                    assert!(run.ended.insert(task.clone()), "{task} ends a second time");
                }
                Event::AttemptFinished { task, .. } => {
                    assert!(run.done.insert(task.clone()), "{task} is finished a second time");
                }
                _ => {}
            }
        }
    }

    /// A process that is done holds nothing and waits for nothing, but for what is on the way to it and what silent performers
    /// may still use; and what its attempts have said to have finished is on record.
    pub(super) fn judge_leaving(&mut self, life: Life) {
        let unleased = self.samples.unleased(life);
        let (held, waits) = (self.table.held(life), self.table.waits(life));
        let process = self.process(life);
        assert!(process.attempts.is_empty(), "{} attempts run after the end", process.attempts.len());
        let silent = process.silent.len();
        let fences: Vec<_> = process.silent.values().flatten().copied().collect();
        let own = held.into_iter().filter(|(fence, _)| !process.coming.contains(fence));
        let (of_attempts, of_calls): (Vec<_>, Vec<_>) =
            own.partition(|(_, names)| names.iter().any(|name| name == "machine" || name == SLOTS_OF_RUNS));
        let left: Vec<_> = of_attempts.iter().filter(|(fence, _)| !fences.contains(fence)).collect();
        assert!(left.is_empty(), "{life:?} keeps {left:?}");
        assert!(of_calls.len() <= silent, "{life:?} keeps {of_calls:?} for {silent} silent performers");
        assert!(unleased <= silent as u64, "{unleased} calls are counted for {silent} silent performers");
        let waits: Vec<_> = waits.into_iter().filter(|names| *names != [SLOTS_OF_RUNS]).collect();
        assert!(waits.is_empty(), "{life:?} waits for {waits:?}");
        let finished = std::mem::take(&mut process.finished);
        let done = &self.runs[life.run].done;
        for (task, attempt) in finished {
            assert!(done.contains(&task), "attempt {attempt} of {task} was done and is not recorded");
        }
    }

    /// Everything has ended.
    pub(super) fn judge_end(&mut self) {
        for (number, run) in self.runs.iter().enumerate() {
            assert!(run.process.is_none() && run.is_over(), "run {number} has no end");
            let promised = &self.limits.run;
            if promised.is_some() {
                let spending = Spending::of(&run.journal.events);
                let recorded: u64 = spending.all().map(|spent| spent.usage.tokens()).sum();
                let bill = self.service.bill(number).tokens;
                assert!(recorded >= bill, "{recorded} of {bill} tokens are on record");
            }
        }
        assert_eq!(self.service.in_flight(), 0, "a call is under way");
        assert!(self.table.is_empty_after(self.now), "something is held for ever");
    }

    /// What a killed process had said and not recorded is gone with it.
    pub(super) fn forgive(&mut self, commit: Option<&Commit>) {
        self.tally.killed += 1;
        self.tally.torn += u64::from(commit.is_some());
    }
}
