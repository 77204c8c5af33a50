//! A merge or an examination begins.

use super::sources::causes;
use crate::composite::Step;
use crate::state::{State, TaskIx};
use convoke_model::{ChildKind, Class, Event, Failure, MergeStrategy, Missing, TaskId};
use convoke_plan::{Kind, Reduce, Strategy};

impl State {
    /// Records what is merged, and how; fails where too little is there.
    pub(super) fn start_merge(&self, task: TaskIx) -> Vec<Step> {
        let Some(reduce) = self.reduce(task) else { return Vec::new() };
        if let Some(ChildKind::Program { of, .. }) = self.child_kind(task) {
            return vec![self.merge_started_by(task, MergeStrategy::Rlm, of.clone(), Vec::new())];
        }
        let found = self.sources(task, reduce);
        let (there, gone): (Vec<_>, Vec<_>) = found.into_iter().partition(|source| source.succeeded);
        let missing = self.missing_of(task, reduce, &gone);
        // Votes have a quorum of their own; without any voter there is no count.
        let counted = reduce.strategy == Strategy::Vote && !there.is_empty();
        if (there.len() as u32) < reduce.min_sources && !counted {
            return vec![Step::Fail { on: task, failure: self.too_few(task, there.len(), &missing, reduce) }];
        }
        let strategy = reduce.strategy.resolve(there.len());
        // One output is its own summary, whatever the way.
        let strategy =
            if there.len() == 1 && strategy == Strategy::Rlm { self.of_one(task, reduce) } else { strategy };
        // What arrives is taken by the questions about it.
        let sources = match strategy {
            Strategy::Progressive => Vec::new(),
            _ => there.iter().map(|source| self.tasks[source.task].id.clone()).collect(),
        };
        vec![self.merge_started_by(task, strategy.to_record(), sources, missing)]
    }

    fn merge_started_by(
        &self,
        task: TaskIx,
        strategy: MergeStrategy,
        sources: Vec<TaskId>,
        missing: Vec<Missing>,
    ) -> Step {
        let task = self.tasks[task].id.clone();
        Step::record(Event::MergeStarted { task, strategy, sources, missing, closed: true })
    }

    /// A verify task can start.
    pub(super) fn start_verify(&self, task: TaskIx) -> Vec<Step> {
        let answer = self.verify(task).and_then(|verify| self.source_of(task, verify.of));
        let Some(answer) = answer.filter(|of| self.tasks[*of].succeeded()) else {
            let message = format!("verify step `{}`: there is no answer to examine", self.node(task).name);
            let failure = Failure::new(Class::Fatal, message).reason("too_few_sources");
            return vec![Step::Fail { on: task, failure }];
        };
        vec![Step::record(Event::MergeStarted {
            task: self.tasks[task].id.clone(),
            strategy: MergeStrategy::Verify,
            sources: vec![self.tasks[answer].id.clone()],
            missing: Vec::new(),
            closed: true,
        })]
    }

    /// How one output alone becomes the answer: as it is, or in the shape that the answer must have.
    fn of_one(&self, task: TaskIx, reduce: &Reduce) -> Strategy {
        let merger = reduce.merger.map(|node| &self.workflow_of(task).node(node).kind);
        let shaped = matches!(merger, Some(Kind::Agent(merger)) if merger.settings.schema.is_some());
        if shaped { Strategy::Hierarchical } else { Strategy::Flat }
    }

    /// What is there is not enough; the causes are said here, because no other message has them together.
    pub(super) fn too_few(
        &self,
        task: TaskIx,
        there: usize,
        missing: &[Missing],
        reduce: &Reduce,
    ) -> Failure {
        let (name, all) = (&self.node(task).name, there + missing.len());
        let lacks = match (all, reduce.min_sources) {
            (0, _) => "there is nothing to merge".to_owned(),
            (1, 0 | 1) => "the output that it merges is not there".to_owned(),
            (_, 0 | 1) => format!("none of the {all} outputs that it merges is there"),
            (_, least) => format!("{there} of {all} outputs are there, and it needs {least} (min_sources)"),
        };
        // The cause is told first and gives its class, as that of a group does.
        let first = self.failed_first(missing.iter().filter_map(|one| self.tasks.find(&one.task)));
        let mut ordered = missing.to_vec();
        ordered.sort_by_key(|one| first.is_none_or(|(cause, _)| self.tasks[cause].id != one.task));
        let causes = if ordered.is_empty() { String::new() } else { format!(": {}", causes(&ordered)) };
        let message = format!("reduce step `{name}`: {lacks}{causes}");
        let class = first.map_or(Class::Fatal, |(_, failure)| failure.class);
        let mut failure = Failure::new(class, message).reason("too_few_sources");
        failure.hint = first.and_then(|(_, failure)| failure.hint.clone());
        failure
    }
}
