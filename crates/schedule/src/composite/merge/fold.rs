//! Fold: what is merged is known, questions were asked.

use super::Merging;
use crate::fold::{Folded, IllegalEvent, illegal};
use crate::state::{State, TaskIx, TaskState, Todo};
use convoke_model::{ChildKind, MergeStrategy, Missing, TaskId};
use convoke_plan::{Kind, Strategy};
use std::sync::Arc;

impl State {
    pub(crate) fn merge_started(
        &mut self,
        id: &TaskId,
        strategy: MergeStrategy,
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
            self.open_children(task);
            // What was settled was about other pieces.
            self.forget(task);
            self.todo(Todo::Group(task));
        }
        Ok(())
    }

    /// The strategy that is recorded, where the step can merge so.
    fn strategy(&self, task: TaskIx, recorded: MergeStrategy, sources: usize) -> Option<Strategy> {
        match (&self.node(task).kind, Strategy::recorded(recorded)) {
            (Kind::Verify(_), None) => (sources == 1).then_some(Strategy::Flat),
            (Kind::Reduce(reduce), Some(strategy)) => {
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

    /// A task whose needs have not all ended begins all the same.
    pub(crate) fn stop_waiting(&mut self, task: TaskIx) {
        if self.tasks[task].state == TaskState::Waiting && self.tasks[task].place.within.is_none() {
            let frame = self.tasks[task].place.frame;
            self.frame_mut(frame).waiting -= 1;
        }
    }

    /// A progressive merge's sources are what its questions were about, in order.
    pub(super) fn note_arrivals(&mut self, task: TaskIx, child: TaskIx) {
        let question = self.tasks[child].spec.clone();
        let about = question.as_ref().map(|question| &question.kind);
        let (Some(ChildKind::Merge { of }), Some(merging)) = (about, self.tasks[task].merging.as_ref())
        else {
            return;
        };
        if merging.strategy != Strategy::Progressive {
            return;
        }
        let known = of.iter().filter_map(|piece| self.tasks.find(&piece.task));
        let mut new: Vec<TaskIx> = known
            .filter(|source| self.tasks[*source].spec.is_none() && !merging.places.contains_key(source))
            .collect();
        // Parts of one output stand side by side.
        new.dedup();
        let merging = Arc::make_mut(self.tasks[task].merging.as_mut().expect("just seen"));
        for source in new {
            merging.places.insert(source, merging.sources.len());
            merging.sources.push(source);
        }
    }
}
