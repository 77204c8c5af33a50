//! Resuming what has ended: a failed or cancelled run, or one whose workflow file changed.
//!
//! There is no second way to build a state. What is open again is *left out of the history* (`history`); here is decided
//! what that is. A finished task stays finished.

use crate::frame::{FrameEnding, FrameIx};
use crate::reshape::INPUT_SHAPE;
use crate::scheduler::Scheduler;
use crate::task::{End, TaskIx, TaskState};
use convoke_model::{Ending, RunStatus, Superseded, TaskId};
use convoke_plan::{Condition, Kind, Node, NodeIx, Plan, Trigger, Workflow};
use std::collections::HashSet;

/// What reopening a run means for its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reopening {
    /// Open again; what is finished below them stays.
    pub tasks: Vec<TaskId>,
    /// Begun anew, with everything below them.
    pub restarted: Vec<TaskId>,
    /// Phases that had failed: they get new tries.
    pub retried: Vec<TaskId>,
    /// Phases that ran, and of which that is all that is left.
    pub superseded: Vec<Superseded>,
    /// Goals and tasks of goals that are done again: what was decided about them after they last asked somebody who
    /// stays asked is forgotten.
    pub rewound: Vec<TaskId>,
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
pub fn reopen(scheduler: &Scheduler) -> Result<Reopening, NotReopened> {
    let finished = scheduler.finished().ok_or(NotReopened::NotEnded)?;
    let unreached = match finished.status {
        RunStatus::Failed | RunStatus::Cancelled => Vec::new(),
        _ => scheduler.unreached_goals(),
    };
    let is_over = match finished.status {
        RunStatus::Failed | RunStatus::Cancelled | RunStatus::Partial => false,
        _ => unreached.is_empty(),
    };
    if is_over {
        return Err(NotReopened::EndedWell(finished.status));
    }
    if let Some(FrameEnding::Stated(Ending::Terminated { task, .. })) = &scheduler.frames[0].ending {
        return Err(NotReopened::Terminated(task.clone()));
    }
    let mut found = Reopening::default();
    scheduler.reopen_frame(FrameIx(0), &mut found);
    if finished.status == RunStatus::Partial {
        scheduler.reopen_incomplete(&mut found);
    }
    scheduler.reopen_unreached(&unreached, &mut found);
    found.superseded = scheduler.superseded_by(&found.restarted);
    Ok(found)
}

/// What a changed plan means for the tasks there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// They run again, with everything below them.
    pub dropped: Vec<TaskId>,
    /// Groups that are open again; members that are unchanged stay finished.
    pub opened: Vec<TaskId>,
    /// Phases that ran, and of which that is all that is left.
    pub superseded: Vec<Superseded>,
}

/// Finds what a changed plan would do again: what changed, and what depends on it.
pub fn changed(scheduler: &Scheduler, plan: &Plan) -> Changed {
    let (mut dropped, mut opened) = (HashSet::new(), HashSet::new());
    for task in scheduler.tasks.indices() {
        let place = scheduler.tasks[task].place;
        let above = place.within.or(scheduler.frame(place.frame).parent);
        let is_stale = |from: &TaskIx| dropped.contains(from) || opened.contains(from);
        // A member's predecessors are its group's: what is stale there concerns the group.
        let merged = scheduler.tasks[task].merging.iter().flat_map(|merging| &merging.sources);
        let follows = scheduler.tasks[task].from.iter().chain(merged).any(is_stale);
        if follows || above.is_some_and(|above| dropped.contains(&above)) {
            dropped.insert(task);
        } else if !scheduler.is_same(task, plan) {
            if scheduler.is_same_group(task, plan) {
                opened.insert(task)
            } else {
                dropped.insert(task)
            };
        }
    }
    let ids = |tasks: HashSet<TaskIx>| {
        let mut ids: Vec<_> = tasks.into_iter().map(|task| scheduler.tasks[task].id.clone()).collect();
        ids.sort();
        ids
    };
    let (dropped, opened) = (ids(dropped), ids(opened));
    Changed { superseded: scheduler.superseded_by(&dropped), dropped, opened }
}

impl Scheduler {
    fn reopen_frame(&self, frame: FrameIx, found: &mut Reopening) {
        let is_pipeline = self.workflow_in(frame).pipeline.is_some();
        for step in &self.frame(frame).steps {
            if self.tasks[*step].hook {
                let closing = self.frame(frame).stage != crate::frame::Stage::Opening;
                found.restarted.extend(
                    (closing && self.tasks[*step].summary_for.is_none())
                        .then(|| self.tasks[*step].id.clone()),
                );
            } else if !is_pipeline && !self.tasks[*step].succeeded() && !self.is_settled_failure(*step) {
                self.reopen_task(*step, found);
            }
        }
        if is_pipeline {
            self.reopen_pipeline(frame, found);
        }
    }

    /// What was asked on its way led to its failure: asked again, it has another chance. Who failed or was stopped for
    /// another reason goes on with the answers that it has.
    fn begins_anew(&self, task: TaskIx) -> bool {
        let failed = self.tasks[task].state == TaskState::Ended(End::Failed);
        let reason = self.tasks[task].failure.as_deref().and_then(|failure| failure.reason.as_deref());
        let misshaped = || self.asked_for_repairs(task) && reason == Some(INPUT_SHAPE);
        failed && (matches!(self.node(task).kind, Kind::Verify(_)) || misshaped())
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
        self.restart_followers(&HashSet::new(), merges.into_iter().collect(), found);
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
        for id in around.iter().map(|task| &self.tasks[*task].id) {
            if !found.tasks.contains(id) {
                found.tasks.push(id.clone());
            }
        }
        around
    }

    /// The group or sub-workflow that a task stands in.
    fn above(&self, task: TaskIx) -> Option<TaskIx> {
        let place = self.tasks[task].place;
        place.within.or(self.frame(place.frame).parent)
    }

    /// Goals that were not reached go on, and what followed from them begins anew.
    fn reopen_unreached(&self, goals: &[TaskIx], found: &mut Reopening) {
        let mut changed: HashSet<TaskIx> = goals.iter().copied().collect();
        for goal in goals {
            if !found.tasks.contains(&self.tasks[*goal].id) {
                self.reopen_led(*goal, found);
            }
            changed.extend(self.open_around(*goal, found));
        }
        if !goals.is_empty() {
            self.restart_followers(&changed, HashSet::new(), found);
        }
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
            if !found.tasks.contains(&id) {
                found.tasks.push(id.clone());
            }
            found.restarted.push(id);
        }
    }

    /// A failure that the workflow took care of stays as it is.
    fn is_settled_failure(&self, task: TaskIx) -> bool {
        self.tasks[task].state == TaskState::Ended(End::Failed)
            && (self.tasks[task].handled || self.is_tolerated(task))
    }

    fn reopen_task(&self, task: TaskIx, found: &mut Reopening) {
        let id = self.tasks[task].id.clone();
        if self.is_led(task) {
            return self.reopen_led(task, found);
        }
        if self.begins_anew(task) {
            found.tasks.push(id.clone());
            return found.restarted.push(id);
        }
        if let Some(frame) = self.tasks[task].frame {
            if matches!(self.frame(frame).ending, Some(FrameEnding::Stated(Ending::Terminated { .. }))) {
                found.tasks.push(id.clone());
                return found.restarted.push(id);
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
        found.tasks.push(id);
    }

    /// Whether a task would do the same under another plan.
    fn is_same(&self, task: TaskIx, plan: &Plan) -> bool {
        self.counterpart(task, plan).is_some_and(|(workflow, node)| {
            node.hash == self.node(task).hash && self.is_reached_alike(task, plan, workflow, node)
        })
    }

    /// Whether under another plan a task waits for nothing new and the same edges lead to it: what has run before
    /// something that it must now wait for, or was judged by other edges, is decided anew.
    fn is_reached_alike(&self, task: TaskIx, plan: &Plan, workflow: &Workflow, node: &Node) -> bool {
        let (own, before) = (self.workflow_of(task), self.node(task));
        let waited = |name: &str| before.needs.iter().any(|need| &*own.node(need.node).name == name);
        let waits_alike = node.needs.iter().all(|need| waited(&workflow.node(need.node).name));
        let edges = |plan: &Plan, workflow: &Workflow, node: &Node| -> Vec<_> {
            node.triggers.iter().map(|trigger| edge(plan, workflow, trigger)).collect()
        };
        waits_alike && edges(&self.plan, own, before) == edges(plan, workflow, node)
    }

    /// Whether a group has the same members, or goes through the same list, under another plan.
    fn is_same_group(&self, task: TaskIx, plan: &Plan) -> bool {
        let Some((workflow, node)) = self.counterpart(task, plan) else { return false };
        let name = |workflow: &Workflow, node: &NodeIx| workflow.node(*node).name.clone();
        match (&self.node(task).kind, &node.kind) {
            (Kind::Parallel(old), Kind::Parallel(new)) => {
                let before = old.members.iter().map(|member| name(self.workflow_of(task), member));
                before.eq(new.members.iter().map(|member| name(workflow, member)))
            }
            (Kind::ForEach(old), Kind::ForEach(new)) => {
                let head =
                    (&old.source, &old.variable, &old.key_by) == (&new.source, &new.variable, &new.key_by);
                head && old.items == new.items
                    && name(self.workflow_of(task), &old.body) == name(workflow, &new.body)
            }
            _ => false,
        }
    }

    /// The node of another plan that a task would be an instance of.
    fn counterpart<'p>(&self, task: TaskIx, plan: &'p Plan) -> Option<(&'p Workflow, &'p Node)> {
        let workflow = plan.workflows.get(self.frame(self.tasks[task].place.frame).workflow.0 as usize)?;
        let name = &self.node(task).name;
        Some((workflow, workflow.nodes.iter().find(|node| node.name == *name)?))
    }
}

/// An edge in words that mean the same in every plan.
fn edge(plan: &Plan, workflow: &Workflow, trigger: &Trigger) -> String {
    let condition = |condition: &Condition| match condition {
        Condition::Expression { when } => plan.conditions[when.0 as usize].text.to_string(),
        other => format!("{other:?}"),
    };
    let when: Vec<String> = trigger.when.iter().map(condition).collect();
    format!("{} {:?} {:?} {when:?}", workflow.node(trigger.from).name, trigger.on, trigger.event)
}
