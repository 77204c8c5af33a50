//! Fold: what is merged is known, questions were asked.

use super::Merging;
use crate::agenda::Todo;
use crate::fold::{Folded, IllegalEvent, illegal};
use crate::group::Group;
use crate::state::State;
use crate::task::{TaskIx, TaskState};
use convoke_model::{About, Inquiry, Missing, TaskId};
use convoke_plan::{Kind, NodeIx, Strategy};
use std::sync::Arc;

impl State {
    pub(crate) fn merge_started(
        &mut self,
        id: &TaskId,
        strategy: &str,
        sources: &[TaskId],
        missing: &[Missing],
        closed: bool,
    ) -> Folded {
        let task = self.begun(id, "merge_started")?;
        // A merge of programs that failed goes on by levels, and one that collects is closed.
        self.expect(task, "merge_started", |state| {
            matches!(state, TaskState::Ready | TaskState::Waiting | TaskState::Failing | TaskState::Open)
        })?;
        let strategy = self
            .strategy(task, strategy, sources.len())
            .ok_or_else(|| illegal(&format!("merge_started of {id}"), "its step does not merge so"))?;
        let known = |id: &TaskId| self.known(id, "merge_started");
        let sources = sources.iter().map(known).collect::<Result<Vec<TaskIx>, IllegalEvent>>()?;
        self.stop_waiting(task);
        self.note_start(task);
        self.missed_outputs |= !missing.is_empty();
        let collects =
            self.tasks[task].merging.as_ref().filter(|merging| merging.strategy == Strategy::Progressive);
        let sources = collects.map_or(sources, |merging| merging.sources.clone());
        let places = sources.iter().enumerate().map(|(place, source)| (*source, place)).collect();
        let merging = Merging { strategy, sources, places, missing: missing.to_vec(), closed };
        self.tasks[task].merging = Some(Arc::new(merging));
        self.tasks[task].turns.clear();
        if strategy == Strategy::Rlm {
            self.make_ready(task);
        } else {
            self.open_questions(task);
            // What was settled was about other pieces.
            self.group_mut(task).tree = None;
            self.todo(Todo::Group(task));
        }
        Ok(())
    }

    /// The strategy that a word stands for, where the step can merge so.
    fn strategy(&self, task: TaskIx, word: &str, sources: usize) -> Option<Strategy> {
        match (&self.node(task).kind, word) {
            (Kind::Verify(_), "verify") => (sources == 1).then_some(Strategy::Flat),
            (Kind::Reduce(reduce), word) => {
                let strategy = word_strategy(word)?;
                let able = match strategy {
                    Strategy::Auto => false,
                    Strategy::Flat => true,
                    Strategy::Vote => reduce.vote.is_some(),
                    Strategy::Rlm => reduce.rlm.is_some(),
                    _ => reduce.merger.is_some(),
                };
                able.then_some(strategy)
            }
            _ => None,
        }
    }

    pub(crate) fn outputs_missed(&mut self, id: &TaskId, missing: &[Missing]) -> Folded {
        let task = self.known(id, "outputs_missed")?;
        let Some(merging) = self.tasks[task].merging.as_mut() else {
            return Err(illegal(&format!("outputs_missed of {id}"), "it merges nothing"));
        };
        Arc::make_mut(merging).missing.extend(missing.iter().cloned());
        self.missed_outputs = true;
        Ok(())
    }

    fn stop_waiting(&mut self, task: TaskIx) {
        if self.tasks[task].state == TaskState::Waiting && self.tasks[task].place.within.is_none() {
            let frame = self.tasks[task].place.frame;
            self.frame_mut(frame).waiting -= 1;
        }
    }

    /// A task that asks has a group of children, none of them yet.
    fn open_questions(&mut self, task: TaskIx) {
        if self.tasks[task].group.is_none() {
            self.tasks[task].group = Some(Box::new(Group::default()));
        }
        self.tasks[task].state = TaskState::Open;
    }

    /// Whether a phase waits for nothing but its turn in a block. It was begun when its turn had come; that those before
    /// it are open again does not undo what it did.
    fn waits_for_turn_only(&self, task: TaskIx) -> bool {
        let place = self.tasks[task].place;
        let open = |need: &convoke_plan::Need| {
            !need.order && self.beside(place, need.node).is_some_and(|need| !self.tasks[need].is_ended())
        };
        self.tasks[task].state == TaskState::Waiting
            && matches!(self.node(task).kind, Kind::Phase(_))
            && !self.node(task).needs.iter().any(open)
    }

    pub(crate) fn asked(&mut self, id: &TaskId, questions: &[Inquiry]) -> Folded {
        let task = self.begun(id, "asked")?;
        let repairs = questions.iter().any(|question| matches!(question.about, About::Reshape { .. }));
        let begins = repairs || matches!(self.node(task).kind, Kind::Phase(_));
        let waits = self.item_of(task).is_some();
        if self.waits_for_turn_only(task) {
            self.stop_waiting(task);
            self.tasks[task].state = TaskState::Ready;
        }
        if self.went_on(task) {
            self.open_goal(task);
        }
        self.expect(task, "asked", |state| match state {
            TaskState::Ready => begins,
            TaskState::Waiting => waits,
            state => state == TaskState::Open && !repairs,
        })?;
        self.note_start(task);
        self.open_questions(task);
        self.phase_asked(task);
        self.tasks[task].wishes = false;
        for question in questions {
            let node = self
                .helper(task, &question.about)
                .ok_or_else(|| illegal(&format!("asked by {id}"), "its step has nobody to ask that"))?;
            let child = question.child_of(id);
            if self.tasks.find(&child).is_some() {
                return Err(illegal(&format!("asked by {id}"), "it was asked before"));
            }
            let member = self.add_member(task, child, node, None);
            self.note_arrivals(task, &question.about);
            self.tasks[member].question = Some(Arc::new(question.clone()));
            self.group_mut(task).total += 1;
            self.note_strategy(task, member);
            self.place_question(task, member, question);
        }
        Ok(())
    }

    /// A progressive merge's sources are what its questions were about, in order.
    fn note_arrivals(&mut self, task: TaskIx, about: &About) {
        let (About::Merge { of }, Some(merging)) = (about, self.tasks[task].merging.as_ref()) else { return };
        if merging.strategy != Strategy::Progressive {
            return;
        }
        let known = of.iter().filter_map(|piece| self.tasks.find(&piece.task));
        let mut new: Vec<TaskIx> = known
            .filter(|source| self.tasks[*source].question.is_none() && !merging.places.contains_key(source))
            .collect();
        // Parts of one output stand side by side.
        new.dedup();
        let merging = Arc::make_mut(self.tasks[task].merging.as_mut().expect("just seen"));
        for source in new {
            merging.places.insert(source, merging.sources.len());
            merging.sources.push(source);
        }
    }

    /// The node that answers a question of this kind.
    fn helper(&self, task: TaskIx, about: &About) -> Option<NodeIx> {
        let node = self.node(task);
        match (&node.kind, about) {
            (_, About::Reshape { .. }) => node.repairer,
            (Kind::Reduce(reduce), About::Merge { .. } | About::Choose { .. }) => reduce.merger,
            (Kind::Reduce(reduce), About::Prompt { .. }) => reduce.rlm.as_ref().map(|rlm| rlm.reader),
            (Kind::Reduce(_), About::Program { .. }) => Some(self.tasks[task].node),
            (Kind::Verify(verify), About::Assess { .. }) => Some(verify.assessor),
            (Kind::Verify(verify), About::Correct { .. }) => Some(verify.repairer),
            (Kind::Phase(phase), about) => self.phase_worker(phase, about),
            (Kind::Goal(_) | Kind::Item(_), about) => self.goal_helper(task, about),
            _ => None,
        }
    }
}

fn word_strategy(word: &str) -> Option<Strategy> {
    serde_json::from_value(serde_json::Value::from(word)).ok()
}
