//! Resuming a pipeline that did not succeed: which phases are open again.
//!
//! A failed phase that counts gets new tries, behind those that it had, unless the pipeline was stopped: then it goes on to
//! where it would have come. A phase that was stopped goes on with the tries that it has.
//! What came after it begins anew, because other edges may be taken, and what it came to before is remembered; everything
//! else stays as it is.

use super::state::reason::STOPPED;
use super::trigger::Status;
use crate::resume::{Reopening, lies_below};
use crate::state::{End, FrameEnding, FrameIx, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::hash::HashSet;
use convoke_model::reason::{FENCED, INTERRUPTED, INTERRUPTED_UNSTARTED};
use convoke_model::{CauseKind, ChildKind, Failure, PhaseStatus, Superseded, TaskId};
use convoke_plan::Kind;

impl View<'_> {
    /// What phases came to that begin anew, as they stood in this state: once a run is open again, nothing has failed any more.
    pub fn as_it_stood(&self, mut superseded: Vec<Superseded>) -> Vec<Superseded> {
        for earlier in &mut superseded {
            let Some(step) = self.tasks.find(&earlier.task) else { continue };
            if let Some(status) = self.status_of(step) {
                earlier.status = status.to_record();
            }
            earlier.violations = self.violations_of(step);
        }
        superseded
    }
}

impl State {
    pub(crate) fn reopen_pipeline(&self, frame: FrameIx, found: &mut Reopening) {
        let faults = self.faults(frame);
        let mut open: HashSet<TaskIx> = HashSet::default();
        for step in self.in_order(frame) {
            let is_fault = faults.contains(&step) || self.was_cut_off(step);
            let follows = self.comes_after(step, &open);
            if is_fault || follows {
                open.insert(step);
                self.reopen_phase(step, follows, found);
            }
        }
    }

    /// Failed phases that get another chance. What was stopped goes on first: it may take care of a failure yet. A run that is
    /// resumed once it has failed gives the chance then.
    fn faults(&self, frame: FrameIx) -> HashSet<TaskIx> {
        let stopped = match &self.frame(frame).ending {
            Some(FrameEnding::Stopped { .. }) => true,
            // Whatever else ended it, such as the failure of another item, its own failures are its own.
            Some(FrameEnding::Cancelled(cause)) => cause.kind == CauseKind::Stopped,
            _ => false,
        };
        if stopped {
            return HashSet::default();
        }
        let (ran, verdict) = self.judged(frame);
        verdict.faults.iter().map(|ix| ran[*ix]).collect()
    }

    /// Steps that ended, each behind those before it; what never ended would not be there.
    fn in_order(&self, frame: FrameIx) -> Vec<TaskIx> {
        let mut steps = self.frame(frame).steps.clone();
        steps.retain(|step| !self.tasks[*step].hook);
        steps.sort_by_key(|step| self.tasks[*step].ended);
        steps
    }

    /// Whether it was stopped, or never looked at.
    fn was_cut_off(&self, step: TaskIx) -> bool {
        match self.tasks[step].state {
            TaskState::Ended(End::Succeeded) => false,
            TaskState::Ended(End::Failed) => self.tasks[step].failure.as_deref().is_some_and(is_stop),
            TaskState::Ended(End::Skipped) => {
                !self.tasks[step].phase_state.as_ref().is_some_and(|phase_state| phase_state.skipped)
            }
            _ => true,
        }
    }

    fn comes_after(&self, step: TaskIx, open: &HashSet<TaskIx>) -> bool {
        let place = self.tasks[step].place;
        let before = self.node(step).needs.iter().filter(|need| !need.order);
        before.filter_map(|need| self.beside(place, need.node)).any(|need| open.contains(&need))
    }

    fn reopen_phase(&self, step: TaskIx, anew: bool, found: &mut Reopening) {
        let id = self.tasks[step].id.clone();
        if anew {
            return found.begin_anew(&id);
        }
        found.tasks.insert(id.clone());
        if self.tasks[step].state == TaskState::Ended(End::Failed) {
            found.retried.push(id);
        }
        if self.tasks[step].state != TaskState::Ended(End::Failed) {
            let stopped = self.of_newest_try(step).iter().filter(|child| self.stopped_with(step, **child));
            found.tasks.extend(stopped.map(|child| self.tasks[*child].id.clone()));
        }
    }

    /// The newest try of a phase with all children that it has handed work to; earlier tries are over.
    fn of_newest_try(&self, step: TaskIx) -> &[TaskIx] {
        let children = self.tasks[step].group.as_deref().map_or(&[][..], |group| &group.members);
        let is_try = |child: &TaskIx| matches!(self.child_kind(*child), Some(ChildKind::Try { .. }));
        &children[children.iter().rposition(is_try).unwrap_or(0)..]
    }

    /// Whether a child was stopped with its phase, and not because a sibling failed: that stays so.
    fn stopped_with(&self, step: TaskIx, child: TaskIx) -> bool {
        let child = &self.tasks[child];
        let because = child.cancelling.as_ref().and_then(|cause| cause.task.as_ref());
        let by_sibling = because.is_some_and(|task| task.parent().as_ref() == Some(&self.tasks[step].id));
        matches!(child.state, TaskState::Ended(End::Cancelled | End::Skipped)) && !by_sibling
    }

    /// What phases came to that begin anew, with everything below these tasks.
    pub(crate) fn superseded_by(&self, restarted: &HashSet<&TaskId>) -> Vec<Superseded> {
        let ran = |step: &TaskIx| {
            let is_phase = matches!(self.node(*step).kind, Kind::Phase(_)) && !self.tries(*step).is_empty();
            is_phase && lies_below(&self.tasks[*step].id, restarted)
        };
        self.tasks.indices().filter(ran).map(|step| self.superseded(step)).collect()
    }

    fn superseded(&self, step: TaskIx) -> Superseded {
        let task = self.tasks[step].id.clone();
        let run = self.superseded.get(&task).map_or(0, Vec::len) as u32 + 1;
        let status = self.status_of(step).map_or(PhaseStatus::Cancelled, Status::to_record);
        Superseded { task, run, status, tries: self.tries(step).len() as u32, violations: Vec::new() }
    }

    /// Fold: what phases came to that begin anew. A reopening is folded twice by the process that makes it.
    pub(crate) fn phases_superseded(&mut self, superseded: &[Superseded]) {
        for earlier in superseded {
            let runs = self.superseded.entry(earlier.task.clone()).or_default();
            if runs.len() < earlier.run as usize {
                runs.push(earlier.clone());
            }
        }
    }

    /// Fold: a phase that had failed has its own number of tries again.
    pub(crate) fn phases_retried(&mut self, phases: &[TaskId]) {
        for phase in phases {
            if let Some(phase) = self.tasks.find(phase) {
                self.phase_state_mut(phase).earlier = self.tries(phase).len() as u32;
                let frame = self.tasks[phase].place.frame;
                self.frame_mut(frame).pipeline.make_good(phase);
            }
        }
    }
}

/// Whether a failure is that something was stopped. Workers name classes, so the class does not tell.
fn is_stop(failure: &Failure) -> bool {
    let reason = failure.reason.as_deref();
    reason.is_some_and(|reason| [STOPPED, INTERRUPTED, INTERRUPTED_UNSTARTED, FENCED].contains(&reason))
}
