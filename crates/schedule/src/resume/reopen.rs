//! Resuming what has ended: a failed or cancelled run, or one whose workflow file changed.
//!
//! There is no second way to build a state. What is open again is *left out of the history* (`history`); here is decided
//! what that is. A finished task stays finished.

use crate::composite::reshape::INPUT_SHAPE;
use crate::resume::lies_below;
use crate::state::{End, Frame, FrameEnding, FrameIx, State, TaskIx, TaskState};
use convoke_model::hash::HashSet;
use convoke_model::{Ending, RunStatus, Superseded, TaskId, reason};
use convoke_plan::Hook;
use indexmap::IndexSet;

/// What reopening a run means for its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reopening {
    /// Open again; what is finished below them stays.
    pub tasks: IndexSet<TaskId>,
    /// Begun anew, with everything below them.
    pub restarted: IndexSet<TaskId>,
    /// Phases that had failed: they get new tries.
    pub retried: Vec<TaskId>,
    /// Phases that ran, and of which that is all that is left.
    pub superseded: Vec<Superseded>,
    /// Goals and tasks of goals that are done again: what was decided about them after the last child that
    /// stays asked is forgotten.
    pub rewound: Vec<TaskId>,
    /// Tasks that failed because the outcome of an attempt is unknown: to resume the run is no permission to repeat it.
    pub doubtful: Vec<TaskId>,
}

impl Reopening {
    /// A task begins anew, with everything below it.
    pub fn begin_anew(&mut self, task: &TaskId) {
        self.tasks.insert(task.clone());
        self.restarted.insert(task.clone());
    }
}

/// Why a run cannot be reopened.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NotReopened {
    /// It has not ended: it can be resumed as it is.
    #[error("the run has not ended")]
    NotEnded,
    /// It ended well.
    #[error("the run ended as {}: there is nothing left to do", .0.word())]
    EndedWell(RunStatus),
    /// Its author ended it.
    #[error("the run was ended by its terminate step `{0}`")]
    Terminated(TaskId),
}

/// Finds what a run that failed, was cancelled or is lacking something would do again.
pub fn reopen(state: &State) -> Result<Reopening, NotReopened> {
    let finished = state.finished().ok_or(NotReopened::NotEnded)?;
    let unreached = match finished.status {
        // What was stopped goes on as if it had not been: goals that had ended then stay as they are.
        RunStatus::Cancelled => Vec::new(),
        _ => state.unreached(),
    };
    let is_over = match finished.status {
        RunStatus::Failed | RunStatus::Cancelled | RunStatus::Partial => false,
        _ => unreached.is_empty(),
    };
    if is_over {
        return Err(NotReopened::EndedWell(finished.status));
    }
    if let Some(FrameEnding::Stated(Ending::Terminated { task, .. })) = &state.frames[0].ending {
        return Err(NotReopened::Terminated(task.clone()));
    }
    let mut found = Reopening::default();
    state.reopen_frame(FrameIx(0), &mut found);
    if finished.status == RunStatus::Partial {
        state.reopen_incomplete(&mut found);
    }
    state.reopen_unreached(&unreached, &mut found);
    state.restart_summaries(&mut found);
    found.superseded = state.superseded_by(&found.restarted.iter().collect());
    found.doubtful = state.doubtful(&found.tasks);
    Ok(found)
}

impl State {
    /// A summary is asked for by the step that waits for it, so it begins anew with that step.
    fn restart_summaries(&self, found: &mut Reopening) {
        let restarted: HashSet<&TaskId> = found.restarted.iter().collect();
        let anew = self.summaries_for(|waiter| lies_below(&self.tasks[waiter].id, &restarted));
        let ids = anew.into_iter().map(|summary| self.tasks[summary].id.clone()).collect::<Vec<_>>();
        found.restarted.extend(ids);
    }

    fn reopen_frame(&self, frame: FrameIx, found: &mut Reopening) {
        let is_pipeline = self.workflow_in(frame).pipeline.is_some();
        for step in self.frame(frame).steps.iter().filter(|step| !self.tasks[**step].hook) {
            if !is_pipeline && !self.tasks[*step].succeeded() && !self.is_settled_failure(*step) {
                self.reopen_task(*step, found);
            }
        }
        self.restart_closing_hooks(frame, found);
        if is_pipeline {
            self.reopen_pipeline(frame, found);
        }
    }

    /// A workflow that is open again comes to its end again, and tells of it again.
    fn restart_closing_hooks(&self, frame: FrameIx, found: &mut Reopening) {
        for hook in self.closing_hooks(frame) {
            found.restarted.insert(self.tasks[hook].id.clone());
        }
    }

    /// The steps that ran because a workflow had come to its end. What ran at its beginning stays: the rest came of it.
    pub(crate) fn closing_hooks(&self, frame: FrameIx) -> impl Iterator<Item = TaskIx> {
        let opening = usize::from(matches!(self.workflow_in(frame).hooks.on_start, Some(Hook::Run(_))));
        let steps = self.frame(frame).steps.iter().copied();
        steps.filter(|step| self.tasks[*step].hook && self.tasks[*step].summary_for.is_none()).skip(opening)
    }

    /// Summaries that were written for a step which begins anew, and all that were written after them in the same
    /// workflow: a later one is told apart from an earlier one by its number.
    pub(crate) fn summaries_for(&self, begins_anew: impl Fn(TaskIx) -> bool) -> Vec<TaskIx> {
        let written = |step: &TaskIx| self.tasks[*step].summary_for;
        let of_frame = |frame: &Frame| {
            let summaries = frame.steps.iter().copied().filter(|step| written(step).is_some());
            summaries.skip_while(|step| !written(step).is_some_and(&begins_anew)).collect::<Vec<_>>()
        };
        self.frames.iter().flat_map(of_frame).collect()
    }

    /// What was asked on its way led to its failure: asked again, it has another chance. A child that failed or was stopped for
    /// another reason goes on with the answers that it has.
    fn begins_anew(&self, task: TaskIx) -> bool {
        let failed = self.tasks[task].state == TaskState::Ended(End::Failed);
        let reason = self.tasks[task].failure.as_deref().and_then(|failure| failure.reason.as_deref());
        failed && self.asked_for_repairs(task) && reason == Some(INPUT_SHAPE)
    }

    /// Those of the reopened tasks whose last attempt may have had its effect.
    fn doubtful(&self, reopened: &IndexSet<TaskId>) -> Vec<TaskId> {
        let reason =
            |task: TaskIx| self.tasks[task].failure.as_deref().and_then(|failure| failure.reason.as_deref());
        let is_doubtful = |id: &&TaskId| {
            let task = self.tasks.find(id);
            task.is_some_and(|task| {
                !self.tasks[task].succeeded() && reason(task) == Some(reason::UNKNOWN_OUTCOME)
            })
        };
        reopened.iter().filter(is_doubtful).cloned().collect()
    }

    /// Merges that did without some outputs: these get another chance, and what followed from the merge begins anew.
    fn reopen_incomplete(&self, found: &mut Reopening) {
        let lacks = |task: &TaskIx| {
            let merging = self.tasks[*task].merging.as_ref();
            self.tasks[*task].succeeded() && merging.is_some_and(|merging| !merging.missing.is_empty())
        };
        let merges: Vec<TaskIx> = self.tasks.indices().filter(lacks).collect();
        for merge in &merges {
            let missing = &self.tasks[*merge].merging.as_ref().expect("just seen").missing;
            let known = missing.iter().filter_map(|missing| self.tasks.find(&missing.task));
            known
                .filter(|task| !self.tasks[*task].succeeded())
                .for_each(|task| self.reopen_upwards(task, found));
        }
        self.restart_followers(&HashSet::default(), merges.into_iter().collect(), found);
    }

    /// Opens a task and the groups around it.
    fn reopen_upwards(&self, task: TaskIx, found: &mut Reopening) {
        if found.tasks.contains(&self.tasks[task].id) {
            return;
        }
        self.reopen_task(task, found);
        self.open_around(task, found);
    }

    /// Opens the groups and sub-workflows around a task; what they are.
    fn open_around(&self, task: TaskIx, found: &mut Reopening) -> Vec<TaskIx> {
        let around: Vec<TaskIx> = std::iter::successors(self.above(task), |task| self.above(*task)).collect();
        for task in &around {
            found.tasks.insert(self.tasks[*task].id.clone());
            self.tasks[*task].frame.iter().for_each(|frame| self.restart_closing_hooks(*frame, found));
        }
        around
    }

    /// The group, composite task or sub-workflow that a task stands in.
    pub fn above(&self, task: TaskIx) -> Option<TaskIx> {
        let place = self.tasks[task].place;
        place.within.or(self.frame(place.frame).parent)
    }

    /// Goals that were not reached go on, and what followed from them begins anew.
    fn reopen_unreached(&self, goals: &[TaskIx], found: &mut Reopening) {
        let mut changed: HashSet<TaskIx> = goals.iter().copied().collect();
        for goal in goals {
            if let Some(ended) = self.ended_around(*goal) {
                self.reopen_upwards(ended, found);
            } else if !found.tasks.contains(&self.tasks[*goal].id) {
                self.reopen_task(*goal, found);
            }
            changed.extend(self.open_around(*goal, found));
        }
        if !goals.is_empty() {
            self.restart_followers(&changed, HashSet::default(), found);
        }
    }

    /// The outermost sub-workflow around a task that its author ended: all of it begins anew.
    fn ended_around(&self, task: TaskIx) -> Option<TaskIx> {
        let around = std::iter::successors(self.above(task), |task| self.above(*task));
        around.filter(|task| self.tasks[*task].frame.is_some_and(|frame| self.was_terminated(frame))).last()
    }

    fn was_terminated(&self, frame: FrameIx) -> bool {
        matches!(self.frame(frame).ending, Some(FrameEnding::Stated(Ending::Terminated { .. })))
    }

    /// What followed from tasks that change, or stands in or follows from what is stale, begins anew, as does what is
    /// stale.
    fn restart_followers(
        &self,
        changed: &HashSet<TaskIx>,
        mut stale: HashSet<TaskIx>,
        found: &mut Reopening,
    ) {
        let mut known = None;
        while known.replace(stale.len()) != Some(stale.len()) {
            for task in self.tasks.indices() {
                let merged = self.tasks[task].merging.iter().flat_map(|merging| &merging.sources);
                let mut from = self.tasks[task].from.iter().chain(merged);
                let follows = from.any(|from| stale.contains(from) || changed.contains(from));
                if follows || self.tasks[task].place.within.is_some_and(|group| stale.contains(&group)) {
                    stale.insert(task);
                }
            }
        }
        let mut ids: Vec<TaskId> = stale.into_iter().map(|task| self.tasks[task].id.clone()).collect();
        ids.sort();
        for id in ids {
            found.begin_anew(&id);
        }
    }

    /// A failure that the workflow took care of stays as it is.
    fn is_settled_failure(&self, task: TaskIx) -> bool {
        self.tasks[task].state == TaskState::Ended(End::Failed)
            && (self.tasks[task].handled || self.is_tolerated(task))
    }

    fn reopen_task(&self, task: TaskIx, found: &mut Reopening) {
        let id = self.tasks[task].id.clone();
        if self.own_composite(task).is_some_and(|composite| composite.reopen(self, task, found)) {
            return;
        }
        if self.begins_anew(task) {
            return found.begin_anew(&id);
        }
        if let Some(frame) = self.tasks[task].frame {
            if self.was_terminated(frame) {
                return found.begin_anew(&id);
            }
            self.reopen_frame(frame, found);
        }
        if let Some(group) = &self.tasks[task].group {
            for member in &group.members {
                if !self.tasks[*member].succeeded() {
                    self.reopen_task(*member, found);
                }
            }
        }
        found.tasks.insert(id);
    }
}
