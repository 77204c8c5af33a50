//! Merging as outputs arrive, and beginning with what is there when the time to wait is over.
//!
//! One question at a time: the text so far with everything that has arrived meanwhile. The text so far is the output of
//! the newest question that succeeded, so it can be read while the merge goes on.

use super::Merging;
use super::tree::Part;
use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::task::{TaskIx, TaskState};
use convoke_model::synthesis::bare;
use convoke_model::{About, Event, Inquiry, Missing, Piece};
use convoke_plan::{Kind, Reduce, Strategy};
use std::collections::HashSet;

impl Scheduler {
    /// Decide: an output has arrived that a progressive merge wants.
    pub(crate) fn arrived(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let plan = self.plan.clone();
        let frame = self.tasks[task].place.frame;
        let node = plan.workflow(self.frame(frame).workflow).node(self.tasks[task].node);
        let Kind::Reduce(reduce) = &node.kind else { return };
        let something = || self.sources(task, reduce).iter().any(|source| source.succeeded);
        match self.tasks[task].state {
            TaskState::Waiting if something() => self.emit(Event::MergeStarted {
                task: self.tasks[task].id.clone(),
                strategy: Strategy::Progressive.word().to_owned(),
                sources: Vec::new(),
                missing: Vec::new(),
            }),
            TaskState::Open => self.look_at_group(task, outputs),
            _ => {}
        }
    }

    /// Decide: the time to wait is over; the merge begins, or ends, with what is there.
    pub(crate) fn merge_deadline(&mut self, task: TaskIx) {
        let plan = self.plan.clone();
        let frame = self.tasks[task].place.frame;
        let node = plan.workflow(self.frame(frame).workflow).node(self.tasks[task].node);
        let Kind::Reduce(reduce) = &node.kind else { return };
        match self.tasks[task].state {
            TaskState::Waiting if reduce.strategy == Strategy::Progressive => {
                self.close_arrivals(task, reduce)
            }
            TaskState::Waiting => self.start_merge(task, reduce),
            TaskState::Open if self.is_collecting(task) => self.close_arrivals(task, reduce),
            _ => return,
        }
        self.todo(crate::agenda::Todo::Losers(task));
    }

    fn close_arrivals(&mut self, task: TaskIx, reduce: &Reduce) {
        let late = self.sources(task, reduce).into_iter().filter(|source| !source.succeeded);
        let missing = late.map(|source| self.absence(source.task)).collect();
        self.emit(Event::MergeStarted {
            task: self.tasks[task].id.clone(),
            strategy: Strategy::Progressive.word().to_owned(),
            sources: Vec::new(),
            missing,
        });
    }

    fn is_collecting(&self, task: TaskIx) -> bool {
        let merging = self.tasks[task].merging.as_ref();
        merging.is_some_and(|merging| merging.strategy == Strategy::Progressive && !merging.closed)
    }

    /// Decide: what has arrived is merged with what is there, or the merge ends.
    pub(super) fn next_arrivals(
        &mut self,
        task: TaskIx,
        reduce: &Reduce,
        merging: &Merging,
        outputs: &dyn Outputs,
    ) {
        if self.group(task).open > 0 {
            return;
        }
        let current = self.text_so_far(task);
        let mut pool: Vec<Part> = current.iter().map(|child| self.whole(*child)).collect();
        self.new_arrivals(task, reduce, merging, &mut pool);
        if pool.len() >= 2 {
            let key = (self.group(task).members.len() + 1).to_string();
            let of = pool.into_iter().map(|part| part.piece).collect();
            let questions = vec![Inquiry { key, about: About::Merge { of } }];
            self.emit(Event::Asked { task: self.tasks[task].id.clone(), questions });
        } else if merging.closed || self.all_needs_ended(task) {
            self.end_progressive(task, reduce, merging, pool, outputs);
        }
    }

    fn whole(&self, task: TaskIx) -> Part {
        Part { piece: Piece::whole(self.tasks[task].id.clone()), tokens: self.size_of(task) }
    }

    /// The newest question that succeeded.
    fn text_so_far(&self, task: TaskIx) -> Option<TaskIx> {
        self.group(task).members.iter().rev().copied().find(|child| self.tasks[*child].succeeded())
    }

    /// Outputs that no question was about yet, in the order of arriving, as many as fit.
    fn new_arrivals(&self, task: TaskIx, reduce: &Reduce, merging: &Merging, pool: &mut Vec<Part>) {
        let taken: HashSet<TaskIx> = merging.sources.iter().copied().collect();
        let mut new: Vec<TaskIx> = self
            .sources(task, reduce)
            .into_iter()
            .filter(|source| source.succeeded && !taken.contains(&source.task))
            .map(|source| source.task)
            .collect();
        new.sort_by_key(|source| self.tasks[*source].ended);
        let mut tokens: u64 = pool.iter().map(|part| part.tokens).sum();
        for source in new {
            let parts = self.cut(source, reduce.group_tokens);
            tokens += parts.iter().map(|part| part.tokens).sum::<u64>();
            if pool.len() >= 2 && tokens > reduce.group_tokens {
                return;
            }
            pool.extend(parts);
        }
    }

    fn all_needs_ended(&self, task: TaskIx) -> bool {
        let place = self.tasks[task].place;
        let ended = |need: &convoke_plan::Need| {
            self.beside(place, need.node).is_some_and(|needed| self.tasks[needed].is_ended())
        };
        self.node(task).needs.iter().all(ended)
    }

    fn end_progressive(
        &mut self,
        task: TaskIx,
        reduce: &Reduce,
        merging: &Merging,
        pool: Vec<Part>,
        outputs: &dyn Outputs,
    ) {
        let last = pool.into_iter().next().and_then(|part| self.tasks.find(&part.piece.task));
        let Some(last) = last else {
            return self.fail_task(task, self.too_few(task, 0, merging.missing.len(), reduce));
        };
        let mut merging = merging.clone();
        if self.tasks[last].question.is_none() && !merging.sources.contains(&last) {
            merging.sources.push(last);
        }
        if !merging.closed {
            let gone = self.sources(task, reduce).into_iter().filter(|source| !source.succeeded);
            merging.missing = gone.map(|source| self.absence(source.task)).collect();
        }
        merging.missing.extend(self.lost_arrivals(task));
        if (merging.sources.len() as u32) < reduce.min_sources {
            let gone = merging.missing.len();
            return self.fail_task(task, self.too_few(task, merging.sources.len(), gone, reduce));
        }
        self.missed_outputs |= !merging.missing.is_empty();
        let result = bare(self.json_of(last, outputs));
        let rounds = self.group(task).members.len() as u32;
        let report = self.report(task, reduce, &merging, result, rounds, None);
        self.succeed(task, &report, outputs);
    }

    /// Outputs of questions that failed: nobody has merged them.
    fn lost_arrivals(&self, task: TaskIx) -> Vec<Missing> {
        let mut lost = Vec::new();
        let failed = self.group(task).members.iter().filter(|child| !self.tasks[**child].succeeded());
        for question in failed.filter_map(|child| self.tasks[*child].question.as_ref()) {
            let About::Merge { of } = &question.about else { continue };
            let own = |piece: &&Piece| {
                self.tasks.find(&piece.task).is_some_and(|source| self.tasks[source].question.is_none())
            };
            lost.extend(of.iter().filter(own).map(|piece| Missing {
                task: piece.task.clone(),
                cause: format!("question {} failed", question.key),
            }));
        }
        lost
    }
}
