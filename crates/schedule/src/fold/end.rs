//! A task ends, and the tasks that wait for it count that.

use super::Folded;
use crate::state::{End, FrameEnding, Place, Stage, State, Summary, TaskIx, TaskState, Todo};
use convoke_model::{Cause, CauseKind, Ending, Failure, Payload, TaskId};
use convoke_plan::{Join, Need, NodeIx, Requires};

impl State {
    pub(super) fn task_succeeded(&mut self, id: &TaskId, output: &Payload) -> Folded {
        let task = self.begun(id, "task_succeeded")?;
        self.expect(task, "task_succeeded", |state| !matches!(state, TaskState::Ended(_)))?;
        self.note_start(task);
        self.missed_goals |= self.would_fall_short(task, End::Succeeded);
        self.tasks[task].output = Some(output.clone());
        self.end(task, End::Succeeded);
        Ok(())
    }

    pub(super) fn task_failed(&mut self, id: &TaskId, failure: &Failure) -> Folded {
        let task = self.begun(id, "task_failed")?;
        self.expect(task, "task_failed", |state| !matches!(state, TaskState::Ended(_)))?;
        self.missed_goals |= self.would_fall_short(task, End::Failed);
        self.tasks[task].failure = Some(Box::new(failure.clone()));
        self.end(task, End::Failed);
        Ok(())
    }

    pub(super) fn task_skipped(&mut self, id: &TaskId, cause: &Cause) -> Folded {
        self.missed_steps |= matches!(cause.kind, CauseKind::NeedFailed | CauseKind::JoinUnmet);
        self.task_over(id, End::Skipped, cause)
    }

    pub(super) fn task_over(&mut self, id: &TaskId, end: End, cause: &Cause) -> Folded {
        let task = self.known(id, "task_skipped or task_cancelled")?;
        self.expect(task, "its end", |state| !matches!(state, TaskState::Ended(_)))?;
        self.tasks[task].cancelling = Some(Box::new(cause.clone()));
        self.missed_goals |= self.would_fall_short(task, end);
        self.end(task, end);
        Ok(())
    }

    pub(super) fn cancel_requested(&mut self, id: &TaskId, cause: &Cause) -> Folded {
        let task = self.known(id, "cancel_requested")?;
        self.tasks[task].cancelling = Some(Box::new(cause.clone()));
        if let Some(frame) = self.tasks[task].frame {
            self.frame_mut(frame).ending = Some(FrameEnding::Cancelled(cause.clone()));
            self.frame_mut(frame).swept = false;
            self.check_when_idle(frame);
        }
        self.todo(Todo::Group(task));
        Ok(())
    }

    pub(super) fn summary_wanted(&mut self, id: &TaskId, covers: &[TaskId]) -> Folded {
        let task = self.begun(id, "summary_started")?;
        self.expect(task, "summary_started", |state| state == TaskState::Ready)?;
        let covers: Vec<_> =
            covers.iter().map(|id| self.known(id, "summary_started")).collect::<Result<_, _>>()?;
        self.unqueue(task);
        self.summary_started(task, &covers);
        Ok(())
    }

    /// A summary is written, or could not be: the step that waits for it goes on either way.
    pub(super) fn summary_ended(&mut self, summary: TaskIx, waiter: TaskIx) {
        let covers = self.tasks[summary].from.len();
        let frame = self.tasks[summary].place.frame;
        self.frame_mut(frame).summary = Some(Summary { task: summary, covers });
        if self.tasks[waiter].state == TaskState::Held {
            self.make_ready(waiter);
        }
    }

    /// The one place where a task ends.
    pub(super) fn end(&mut self, task: TaskIx, end: End) {
        self.unqueue(task);
        self.close_inner(task);
        let was = std::mem::replace(&mut self.tasks[task].state, TaskState::Ended(end));
        self.asking -= u32::from(was == TaskState::Asking);
        self.running -= u32::from(was == TaskState::Running);
        self.ended += 1;
        self.tasks[task].ended = self.ended;
        self.lookups.remove(&task);
        self.stopped_clocks.remove(&task);
        self.leave_workspace(task);
        if let Some(composite) = self.own_composite(task) {
            composite.ended(self, task, end);
        }
        let place = self.tasks[task].place;
        if place.within.is_some() {
            self.member_ended(task, end);
        } else {
            self.step_ended(task, end, was);
        }
        // Whether a phase ends its pipeline is decided before anything follows from it.
        self.todo(Todo::Follow(task));
        self.count_for_dependents(task, end);
        self.tell_arrivals(task);
    }

    pub(super) fn step_ended(&mut self, task: TaskIx, end: End, was: TaskState) {
        let node = self.first_round(task);
        let frame_ix = self.tasks[task].place.frame;
        let (waiter, hook) = (self.tasks[task].summary_for, self.tasks[task].hook);
        let parks = self.parks(task);
        let frame = self.frame_mut(frame_ix);
        frame.live -= 1;
        frame.waiting -= u32::from(was == TaskState::Waiting);
        if let Some(waiter) = waiter {
            return self.summary_ended(task, waiter);
        }
        // A goal that failed, or that a failure of the workflow cut short, has something to say all the same.
        let cut_short =
            end == End::Cancelled && matches!(frame.ending, Some(FrameEnding::Stated(Ending::Failed { .. })));
        if end == End::Succeeded || parks && (end == End::Failed || cut_short) {
            frame.latest.insert(node, task);
        }
        if end == End::Succeeded && !hook {
            frame.history.push(task);
        }
        if frame.stage == Stage::Opening && frame.ending.is_none() {
            self.enter(frame_ix);
        }
        self.check_when_idle(frame_ix);
    }

    pub(super) fn unqueue(&mut self, task: TaskIx) {
        if std::mem::take(&mut self.tasks[task].queued) {
            self.queued -= 1;
        }
    }

    /// Tells the merges that take outputs as they arrive.
    fn tell_arrivals(&mut self, task: TaskIx) {
        let index = self.index.clone();
        let mut next = Some(task);
        while let Some(source) = next {
            let place = self.tasks[source].place;
            let workflow = self.frame(place.frame).workflow.0 as usize;
            for merge in &index[workflow].arrivals[self.tasks[source].node.0 as usize] {
                if let Some(merge) = self.beside(place, *merge) {
                    self.todo(Todo::Arrived(merge));
                }
            }
            next = place.within;
        }
    }

    /// Counts an end for every task that waits for it.
    pub(super) fn count_for_dependents(&mut self, task: TaskIx, end: End) {
        let (node, place) = (self.tasks[task].node, self.tasks[task].place);
        self.count_item_for_dependents(task, end);
        self.for_dependents(node, place, |state, waiter| state.count_end(waiter, task, node, end));
    }

    /// Does something for every task that waits for a node at a place.
    fn for_dependents(&mut self, node: NodeIx, place: Place, mut each: impl FnMut(&mut State, TaskIx)) {
        let index = self.index.clone();
        let dependents = &index[self.frame(place.frame).workflow.0 as usize].dependents[node.0 as usize];
        for dependent in dependents {
            if let Some(waiter) = self.beside(place, *dependent) {
                each(self, waiter);
            }
        }
    }

    /// Counts the end of an item for every task that waits for just this one.
    fn count_item_for_dependents(&mut self, task: TaskIx, end: End) {
        let (Some(group), Some(item)) = (self.tasks[task].place.within, self.tasks[task].place.item) else {
            return;
        };
        let (node, place) = (self.tasks[group].node, self.tasks[group].place);
        self.for_dependents(node, place, |state, waiter| {
            state.count_need(waiter, task, node, Some(item), end);
        });
    }

    /// Counts the end of a task as a whole, and with it that of items which it never had.
    fn count_end(&mut self, waiter: TaskIx, task: TaskIx, node: NodeIx, end: End) {
        let begun = self.tasks[task].group.as_deref().map_or(0, |group| group.members.len() as u32);
        let lost = if end == End::Succeeded { End::Skipped } else { end };
        let items: Vec<Option<u32>> = self.needs_for(waiter, node).map(|need| need.item).collect();
        for item in items {
            match item {
                None => self.count_need(waiter, task, node, None, end),
                Some(position) if position >= begun => self.count_need(waiter, task, node, item, lost),
                Some(_) => {}
            }
        }
    }

    /// Counts one need of a waiting task as met or unmet.
    fn count_need(&mut self, waiter: TaskIx, task: TaskIx, node: NodeIx, item: Option<u32>, end: End) {
        if self.tasks[waiter].state != TaskState::Waiting {
            // A merge that has begun follows what arrives later all the same.
            if self.tasks[waiter].merging.is_some() && end == End::Succeeded && item.is_none() {
                self.follow_need(waiter, task);
            }
            return;
        }
        let Some(need) = self.needs_for(waiter, node).find(|need| need.item == item) else { return };
        let (join, total) = (self.node(waiter).join, self.node(waiter).needs.len() as u32);
        if meets(need, join, end) {
            self.tasks[waiter].met += 1;
            self.follow_need(waiter, task);
        } else {
            self.tasks[waiter].unmet += 1;
        }
        self.check_join(waiter, join, total, task, end);
    }

    /// The needs of a task for one node, or for items of it.
    fn needs_for(&self, task: TaskIx, of: NodeIx) -> impl Iterator<Item = &Need> {
        let (frame, node) = (self.tasks[task].place.frame, self.tasks[task].node);
        let needs = &self.node(task).needs;
        self.index_in(frame).needs(node, of).map(|at| &needs[at])
    }

    fn follow_need(&mut self, waiter: TaskIx, task: TaskIx) {
        let mut from = std::mem::take(&mut self.tasks[waiter].from).into_vec();
        from.push(task);
        self.tasks[waiter].from = from.into();
    }

    pub(super) fn check_join(&mut self, waiter: TaskIx, join: Join, total: u32, last: TaskIx, end: End) {
        let (met, unmet) = (self.tasks[waiter].met, self.tasks[waiter].unmet);
        let wanted = match join {
            Join::All => total,
            Join::Any | Join::FirstSuccess => 1,
            Join::Quorum(k) => k.min(total),
        };
        if met >= wanted {
            if self.tasks[waiter].place.within.is_none() {
                let frame = self.tasks[waiter].place.frame;
                self.frame_mut(frame).waiting -= 1;
            }
            if met + unmet < total {
                self.todo(Todo::Losers(waiter, CauseKind::JoinDecided));
            }
            self.offer(waiter);
        } else if total - unmet < wanted {
            let kind = match (join, end) {
                (Join::All, End::Failed) => CauseKind::NeedFailed,
                (Join::All, _) => CauseKind::NeedSkipped,
                _ => CauseKind::JoinUnmet,
            };
            self.todo(Todo::Skip(waiter, kind, Some(last)));
        }
    }
}

fn meets(need: &Need, join: Join, end: End) -> bool {
    let requires = if join == Join::FirstSuccess { Requires::Success } else { need.requires };
    match requires {
        Requires::Success => end == End::Succeeded,
        Requires::Completed => matches!(end, End::Succeeded | End::Failed),
        Requires::Any | Requires::Some => true,
    }
}
