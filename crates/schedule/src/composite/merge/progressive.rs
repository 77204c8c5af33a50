//! Merging as outputs arrive, and beginning with what is there when the time to wait is over.
//!
//! One question at a time: the text so far with everything that has arrived meanwhile. The text so far is the output of
//! the newest question that succeeded, so it can be read while the merge goes on.

use super::Merging;
use super::sources::named;
use super::tree::Part;
use crate::composite::Step;
use crate::state::{State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::hash::HashSet;
use convoke_model::synthesis::bare;
use convoke_model::{CauseKind, ChildKind, ChildSpec, Event, MergeStrategy, Missing, Piece};
use convoke_plan::{Reduce, Strategy};

impl State {
    /// An output has arrived that a progressive merge wants: it begins with the first.
    pub(super) fn start_collecting(&self, task: TaskIx) -> Vec<Step> {
        let Some(reduce) = self.reduce(task) else { return Vec::new() };
        let something = || self.sources(task, reduce).iter().any(|source| source.succeeded);
        match self.tasks[task].state == TaskState::Waiting && something() {
            true => vec![self.collects(task, Vec::new(), false)],
            false => Vec::new(),
        }
    }

    fn collects(&self, task: TaskIx, missing: Vec<Missing>, closed: bool) -> Step {
        let (task, strategy) = (self.tasks[task].id.clone(), MergeStrategy::Progressive);
        Step::record(Event::MergeStarted { task, strategy, sources: Vec::new(), missing, closed })
    }

    /// The time to wait is over; the merge begins, or ends, with what is there.
    pub(super) fn pass_deadline(&self, task: TaskIx) -> Vec<Step> {
        let Some(reduce) = self.reduce(task) else { return Vec::new() };
        let waits = self.tasks[task].state == TaskState::Waiting || self.is_collecting(task);
        let mut steps: Vec<Step> = waits.then(|| self.deadline_passed(task, reduce)).into_iter().collect();
        match self.tasks[task].state {
            TaskState::Waiting if reduce.strategy == Strategy::Progressive => {
                steps.push(self.close_arrivals(task));
            }
            TaskState::Waiting => steps.extend(self.start_merge(task)),
            TaskState::Open if self.is_collecting(task) => steps.push(self.close_arrivals(task)),
            _ => return steps,
        }
        steps.push(Step::Release { on: task, why: CauseKind::DeadlinePassed });
        steps
    }

    /// Says that the time is over, and whose outputs are not there.
    fn deadline_passed(&self, task: TaskIx, reduce: &Reduce) -> Step {
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
        Step::record(Event::Noted { task, code: "deadline_passed".to_owned(), message })
    }

    /// Nothing more is waited for.
    pub(super) fn close_arrivals(&self, task: TaskIx) -> Step {
        let reduce = self.reduce(task).expect("only merges collect");
        let gone: Vec<_> =
            self.sources(task, reduce).into_iter().filter(|source| !source.succeeded).collect();
        self.collects(task, self.missing_of(task, reduce, &gone), true)
    }
}

impl View<'_> {
    /// What has arrived is merged with what is there, or the merge ends.
    pub(super) fn next_arrivals(&self, task: TaskIx, reduce: &Reduce, merging: &Merging) -> Vec<Step> {
        if self.group(task).open > 0 {
            return Vec::new();
        }
        let current = self.text_so_far(task);
        let mut pool: Vec<Part> = current.iter().map(|child| self.whole(*child)).collect();
        self.new_arrivals(task, reduce, &mut pool);
        if pool.len() >= 2 || merging.closed && self.is_unshaped(task, reduce, merging, &pool) {
            let key = (self.children(task).len() + 1).to_string();
            let of = pool.into_iter().map(|part| part.piece).collect();
            vec![Step::Spawn { on: task, children: vec![ChildSpec::new(key, ChildKind::Merge { of })] }]
        } else if merging.closed {
            self.end_progressive(task, reduce, merging, pool)
        } else if self.all_needs_ended(task) {
            vec![self.close_arrivals(task)]
        } else {
            vec![Step::WhenIdle(task)]
        }
    }

    fn end_progressive(
        &self,
        task: TaskIx,
        reduce: &Reduce,
        merging: &Merging,
        pool: Vec<Part>,
    ) -> Vec<Step> {
        let last = pool.into_iter().next().and_then(|part| self.tasks.find(&part.piece.task));
        // One output that came alone is no answer in place of all that were asked about and never merged.
        if !self.group(task).members.is_empty() && self.text_so_far(task).is_none() {
            return vec![Step::Fail { on: task, failure: self.all_lost(task) }];
        }
        let Some(last) = last else {
            let failure = self.too_few(task, 0, &merging.missing, reduce);
            return vec![Step::Fail { on: task, failure }];
        };
        let lost = self.lost_arrivals(task);
        let left = merging
            .sources
            .iter()
            .filter(|source| !lost.iter().any(|gone| gone.task == self.tasks[**source].id));
        let left = left.count().max(usize::from(self.tasks[last].spec.is_none()));
        let missing = [&merging.missing[..], &lost].concat();
        if (left as u32) < reduce.min_sources {
            return vec![Step::Fail { on: task, failure: self.too_few(task, left, &missing, reduce) }];
        }
        let mut merging = Merging { missing, ..merging.clone() };
        if self.tasks[last].spec.is_none() && !merging.sources.contains(&last) {
            merging.sources.push(last);
        }
        let result = bare(self.json_of(last));
        let rounds = self.group(task).members.len() as u32;
        let output = self.report(task, reduce, &merging, result, rounds, None);
        let missed = self.outputs_missed_by(task, lost);
        missed.into_iter().chain([Step::Succeed { on: task, output }]).collect()
    }

    /// Whether all that has come is one output that has not the shape of the answer.
    fn is_unshaped(&self, task: TaskIx, reduce: &Reduce, merging: &Merging, pool: &[Part]) -> bool {
        let [only] = pool else { return false };
        let source = self.tasks.find(&only.piece.task).filter(|task| self.tasks[*task].spec.is_none());
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
    pub(super) fn is_collecting(&self, task: TaskIx) -> bool {
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
        let questions = self.group(task).members.iter().filter_map(|child| self.tasks[*child].spec.as_ref());
        let pieces = questions.flat_map(|question| match &question.kind {
            ChildKind::Merge { of } => of.clone(),
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

    /// Outputs of questions that failed: they are in no merge.
    fn lost_arrivals(&self, task: TaskIx) -> Vec<Missing> {
        let mut lost = Vec::new();
        let failed = self.group(task).members.iter().filter(|child| !self.tasks[**child].succeeded());
        for question in failed.filter_map(|child| self.tasks[*child].spec.as_ref()) {
            let ChildKind::Merge { of } = &question.kind else { continue };
            let own = |piece: &&Piece| {
                self.tasks.find(&piece.task).is_some_and(|source| self.tasks[source].spec.is_none())
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
