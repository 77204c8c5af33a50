//! Merging as outputs arrive, and beginning with what is there when the time to wait is over.
//!
//! One question at a time: the text so far with everything that has arrived meanwhile. The text so far is the output of
//! the newest question that succeeded, so it can be read while the merge goes on.

use super::Merging;
use super::sources::named;
use super::tree::Part;
use crate::agenda::Todo;
use crate::frame::FrameIx;
use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::state::State;
use crate::task::{TaskIx, TaskState};
use crate::view::View;
use convoke_model::synthesis::bare;
use convoke_model::{About, CauseKind, Event, Inquiry, Missing, Piece};
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
                closed: false,
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
        let waits = self.tasks[task].state == TaskState::Waiting || self.is_collecting(task);
        if waits {
            self.note_deadline(task, reduce);
        }
        match self.tasks[task].state {
            TaskState::Waiting if reduce.strategy == Strategy::Progressive => {
                self.close_arrivals(task, reduce)
            }
            TaskState::Waiting => self.start_merge(task, reduce),
            TaskState::Open if self.is_collecting(task) => self.close_arrivals(task, reduce),
            _ => return,
        }
        self.todo(Todo::Losers(task, CauseKind::DeadlinePassed));
    }

    /// Says that the time is over, and whose outputs are not there.
    fn note_deadline(&mut self, task: TaskIx, reduce: &Reduce) {
        let (there, gone): (Vec<_>, Vec<_>) =
            self.sources(task, reduce).into_iter().partition(|source| source.succeeded);
        let missing = self.missing_of(task, reduce, &gone);
        let (there, all) = (there.len(), there.len() + missing.len());
        let message = match missing.is_empty() {
            true => "its deadline has passed".to_owned(),
            false => {
                let words = named(&missing);
                format!("its deadline has passed; it goes on with {there} of {all} outputs, without {words}")
            }
        };
        let task = Some(self.tasks[task].id.clone());
        self.emit(Event::Noted { task, code: "deadline_passed".to_owned(), message });
    }

    /// Nothing more is waited for.
    fn close_arrivals(&mut self, task: TaskIx, reduce: &Reduce) {
        let gone: Vec<_> =
            self.sources(task, reduce).into_iter().filter(|source| !source.succeeded).collect();
        let missing = self.missing_of(task, reduce, &gone);
        self.emit(Event::MergeStarted {
            task: self.tasks[task].id.clone(),
            strategy: Strategy::Progressive.word().to_owned(),
            sources: Vec::new(),
            missing,
            closed: true,
        });
    }

    /// Decide: nothing else of a workflow goes on, so what a collecting merge still waits for never comes.
    pub(crate) fn close_idle_merge(&mut self, frame: FrameIx) -> bool {
        let idle = |step: &TaskIx| {
            self.is_collecting(*step)
                && self.tasks[*step].state == TaskState::Open
                && self.group(*step).open == 0
        };
        let idle: Vec<TaskIx> = self.frame(frame).steps.iter().copied().filter(idle).collect();
        let state = self.frame(frame);
        let Some(step) = idle.first().copied().filter(|_| state.live == state.waiting + idle.len() as u32)
        else {
            return false;
        };
        let plan = self.plan.clone();
        let node = plan.workflow(self.frame(frame).workflow).node(self.tasks[step].node);
        if let Kind::Reduce(reduce) = &node.kind {
            self.close_arrivals(step, reduce);
        }
        true
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
        self.view(outputs).new_arrivals(task, reduce, &mut pool);
        if pool.len() >= 2 || merging.closed && self.view(outputs).is_unshaped(task, reduce, merging, &pool) {
            let key = (self.group(task).members.len() + 1).to_string();
            let of = pool.into_iter().map(|part| part.piece).collect();
            let questions = vec![Inquiry { key, about: About::Merge { of } }];
            self.emit(Event::Asked { task: self.tasks[task].id.clone(), questions });
        } else if merging.closed {
            self.end_progressive(task, reduce, merging, pool, outputs);
        } else if self.all_needs_ended(task) {
            self.close_arrivals(task, reduce);
        } else {
            self.look_later(self.tasks[task].place.frame);
        }
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
        // One output that came alone is no answer in place of all that were asked about and never merged.
        if !self.group(task).members.is_empty() && self.text_so_far(task).is_none() {
            return self.fail_task(task, self.all_lost(task));
        }
        let Some(last) = last else {
            return self.fail_task(task, self.too_few(task, 0, &merging.missing, reduce));
        };
        let lost = self.lost_arrivals(task);
        let left = merging
            .sources
            .iter()
            .filter(|source| !lost.iter().any(|gone| gone.task == self.tasks[**source].id));
        let left = left.count().max(usize::from(self.tasks[last].question.is_none()));
        if (left as u32) < reduce.min_sources {
            let gone = [&merging.missing[..], &lost].concat();
            return self.fail_task(task, self.too_few(task, left, &gone, reduce));
        }
        if !lost.is_empty() {
            self.emit(Event::OutputsMissed { task: self.tasks[task].id.clone(), missing: lost });
        }
        let mut merging = (*self.merging_of(task).expect("it merges")).clone();
        if self.tasks[last].question.is_none() && !merging.sources.contains(&last) {
            merging.sources.push(last);
        }
        let result = bare(self.view(outputs).json_of(last));
        let rounds = self.group(task).members.len() as u32;
        let report = self.report(task, reduce, &merging, result, rounds, None);
        self.succeed(task, &report, outputs);
    }
}

impl View<'_> {
    /// Whether all that has come is one output that has not the shape of the answer.
    fn is_unshaped(&self, task: TaskIx, reduce: &Reduce, merging: &Merging, pool: &[Part]) -> bool {
        let [only] = pool else { return false };
        let source = self.tasks.find(&only.piece.task).filter(|task| self.tasks[*task].question.is_none());
        let fresh = source.filter(|_| self.group(task).members.is_empty());
        let one = |source| Merging { sources: vec![source], ..merging.clone() };
        fresh.is_some_and(|source| self.lacks_shape(task, reduce, &one(source)))
    }

    /// Outputs, or parts of them, that no question was about yet, in the order of arriving, as many as fit.
    fn new_arrivals(&self, task: TaskIx, reduce: &Reduce, pool: &mut Vec<Part>) {
        let most = self.question_tokens(task, reduce);
        let taken = self.taken(task);
        let mut new: Vec<TaskIx> = self
            .sources(task, reduce)
            .into_iter()
            .filter(|source| source.succeeded)
            .map(|source| source.task)
            .collect();
        new.sort_by_key(|source| self.tasks[*source].ended);
        let mut tokens: u64 = pool.iter().map(|part| part.tokens).sum();
        let parts = new.into_iter().flat_map(|source| self.cut(source, most));
        for part in parts.filter(|part| !taken.contains(&part.piece)) {
            tokens += part.tokens;
            if pool.len() >= 2 && tokens > most {
                return;
            }
            pool.push(part);
        }
    }
}

impl State {
    fn is_collecting(&self, task: TaskIx) -> bool {
        let merging = self.tasks[task].merging.as_ref();
        merging.is_some_and(|merging| merging.strategy == Strategy::Progressive && !merging.closed)
    }

    fn whole(&self, task: TaskIx) -> Part {
        Part { piece: Piece::whole(self.tasks[task].id.clone()), tokens: self.size_of(task) }
    }

    /// The newest question that succeeded.
    fn text_so_far(&self, task: TaskIx) -> Option<TaskIx> {
        self.group(task).members.iter().rev().copied().find(|child| self.tasks[*child].succeeded())
    }

    /// What questions were about.
    fn taken(&self, task: TaskIx) -> HashSet<Piece> {
        let questions =
            self.group(task).members.iter().filter_map(|child| self.tasks[*child].question.as_ref());
        let pieces = questions.flat_map(|question| match &question.about {
            About::Merge { of } => of.clone(),
            _ => Vec::new(),
        });
        pieces.collect()
    }

    fn all_needs_ended(&self, task: TaskIx) -> bool {
        let place = self.tasks[task].place;
        let ended = |need: &convoke_plan::Need| {
            self.beside(place, need.node).is_some_and(|needed| self.tasks[needed].is_ended())
        };
        self.node(task).needs.iter().all(ended)
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
            for piece in of.iter().filter(own) {
                if !lost.iter().any(|missing: &Missing| missing.task == piece.task) {
                    let cause = format!("question {} failed", question.key);
                    lost.push(Missing { task: piece.task.clone(), cause });
                }
            }
        }
        lost
    }
}
