//! A merge or an examination begins.

use super::sources::causes;
use crate::scheduler::Scheduler;
use crate::state::State;
use crate::task::TaskIx;
use convoke_model::{About, Class, Event, Failure, Missing};
use convoke_plan::{Kind, Reduce, Strategy, Verify};

impl Scheduler {
    /// Decide: a reduce task can start. Programs need a permit; everything else asks by its children.
    pub(crate) fn begin_reduce(&mut self, task: TaskIx, reduce: &Reduce) {
        if self.tasks[task].merging.is_none() {
            return self.start_merge(task, reduce);
        }
        self.ask_permit(task);
    }

    /// Records what is merged, and how; fails where too little is there.
    pub(super) fn start_merge(&mut self, task: TaskIx, reduce: &Reduce) {
        if let Some(About::Program { of, .. }) = self.tasks[task].question.as_ref().map(|asked| &asked.about)
        {
            let (sources, strategy) = (of.clone(), Strategy::Rlm.word().to_owned());
            let task = self.tasks[task].id.clone();
            let (missing, closed) = (Vec::new(), true);
            return self.emit(Event::MergeStarted { task, strategy, sources, missing, closed });
        }
        let found = self.sources(task, reduce);
        let (there, gone): (Vec<_>, Vec<_>) = found.into_iter().partition(|source| source.succeeded);
        // Votes have a quorum of their own; without anybody who could vote there is no count.
        let counted = reduce.strategy == Strategy::Vote && !there.is_empty();
        if (there.len() as u32) < reduce.min_sources && !counted {
            let missing = self.missing_of(task, reduce, &gone);
            return self.fail_task(task, self.too_few(task, there.len(), &missing, reduce));
        }
        let strategy = reduce.strategy.resolve(there.len());
        // One output is its own summary, whatever the way.
        let strategy =
            if there.len() == 1 && strategy == Strategy::Rlm { self.of_one(task, reduce) } else { strategy };
        self.emit(Event::MergeStarted {
            task: self.tasks[task].id.clone(),
            strategy: strategy.word().to_owned(),
            // What arrives is taken by the questions about it.
            sources: match strategy {
                Strategy::Progressive => Vec::new(),
                _ => there.iter().map(|source| self.tasks[source.task].id.clone()).collect(),
            },
            missing: self.missing_of(task, reduce, &gone),
            closed: true,
        });
    }

    /// Decide: a verify task can start.
    pub(crate) fn begin_verify(&mut self, task: TaskIx, verify: &Verify) {
        let Some(answer) = self.source_of(task, verify.of).filter(|of| self.tasks[*of].succeeded()) else {
            let message = format!("verify step `{}`: there is no answer to examine", self.node(task).name);
            return self.fail_task(task, Failure::new(Class::Fatal, message).reason("too_few_sources"));
        };
        self.emit(Event::MergeStarted {
            task: self.tasks[task].id.clone(),
            strategy: "verify".to_owned(),
            sources: vec![self.tasks[answer].id.clone()],
            missing: Vec::new(),
            closed: true,
        });
    }
}

impl State {
    /// How one output alone becomes the answer: as it is, or in the shape that the answer must have.
    fn of_one(&self, task: TaskIx, reduce: &Reduce) -> Strategy {
        let merger = reduce.merger.map(|node| &self.workflow_of(task).node(node).kind);
        let shaped = matches!(merger, Some(Kind::Agent(merger)) if merger.settings.schema.is_some());
        if shaped { Strategy::Hierarchical } else { Strategy::Flat }
    }

    /// What is there is not enough; the causes are said, because nobody else says them together.
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
        let causes = if missing.is_empty() { String::new() } else { format!(": {}", causes(missing)) };
        let message = format!("reduce step `{name}`: {lacks}{causes}");
        Failure::new(Class::Fatal, message).reason("too_few_sources")
    }
}
