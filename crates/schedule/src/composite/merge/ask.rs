//! Programs over outputs: what an attempt that writes them is given, and what it asks on the way.
//!
//! The attempt suspends with its sub-queries and holds nothing meanwhile; each sub-query is a child. When all have ended it is
//! woken and goes on with their answers. A merge by programs that fails for good goes on by levels.

use super::Merging;
use crate::composite::Step;
use crate::outputs::store;
use crate::state::{State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::hash::HashMap;
use convoke_model::synthesis::{bare, index_of, mark};
use convoke_model::{
    ChildKind, ChildSpec, Class, Event, Failure, JsonText, MergeStrategy, Payload, ProgramAnswer,
    ProgramCall, ProgramSource, SubQuery,
};
use convoke_plan::{Kind, Reduce, Strategy};
use serde_json::Value;
use std::sync::Arc;

impl State {
    /// Everything that a program asked is answered: its attempt goes on.
    pub(super) fn program_answered(&self, task: TaskIx) -> Vec<Step> {
        if self.group(task).open == 0 { vec![Step::Wake(task)] } else { Vec::new() }
    }

    /// A merge by programs has failed for good: it goes on by levels, and says so. Nothing where it cannot.
    pub(super) fn fall_back_to_levels(&self, task: TaskIx, failure: &Failure) -> Vec<Event> {
        let has_merger = self.reduce(task).is_some_and(|reduce| reduce.merger.is_some());
        let merging = self.merging_of(task).filter(|merging| merging.strategy == Strategy::Rlm);
        let Some(merging) = merging.filter(|_| has_merger) else { return Vec::new() };
        let final_class = matches!(failure.class, Class::Budget | Class::Cancelled | Class::Security);
        if self.tasks[task].spec.is_some() || final_class || self.tasks[task].cancelling.is_some() {
            return Vec::new();
        }
        let id = self.tasks[task].id.clone();
        let message =
            format!("the merge by programs failed ({}); it goes on by levels", failure.with_reason());
        let noted = Event::Noted { task: Some(id.clone()), code: "rlm_fell_back".to_owned(), message };
        let started = Event::MergeStarted {
            task: id,
            strategy: MergeStrategy::Hierarchical,
            sources: merging.sources.iter().map(|source| self.tasks[*source].id.clone()).collect(),
            missing: merging.missing.clone(),
            closed: true,
        };
        vec![noted, started]
    }
}

impl View<'_> {
    /// A suspended attempt's sub-queries become children.
    pub(super) fn ask_sub_queries(&self, task: TaskIx) -> Vec<Step> {
        if self.tasks[task].state != TaskState::Open || !self.tasks[task].has_open_queries {
            return Vec::new();
        }
        let asked = self.children(task).len();
        let question = |(number, query): (usize, &SubQuery)| {
            ChildSpec::new((asked + number + 1).to_string(), self.about(task, query))
        };
        let children = self.sub_queries(task).iter().enumerate().map(question).collect();
        vec![Step::Spawn { on: task, children }, Step::Revisit(task)]
    }

    /// What an attempt that writes programs is given.
    pub(crate) fn program_call(&self, task: TaskIx, reduce: &Reduce) -> Result<ProgramCall, Failure> {
        let nobody = || Failure::new(Class::Fatal, "this reduce step has no model that writes programs");
        let rlm = reduce.rlm.as_ref().ok_or_else(nobody)?;
        let Kind::Agent(agent) = &self.workflow_of(task).node(rlm.writer).kind else { return Err(nobody()) };
        let merging = self.merging_of(task).ok_or_else(nobody)?;
        let mut call = self.agent_call(task, agent)?;
        let (query, depth) = self.program_query(task, reduce)?;
        call.prompt =
            if call.prompt.trim().is_empty() { query } else { format!("{}\n\n{query}", call.prompt) };
        let marks = self.marks(task);
        let source = |source: &TaskIx| ProgramSource {
            mark: marks.get(source).cloned().unwrap_or_default(),
            task: self.tasks[*source].id.clone(),
            title: self.title(*source),
            output: self.written(*source),
        };
        Ok(ProgramCall {
            agent: call,
            sources: merging.sources.iter().map(source).collect(),
            missing: merging.missing.clone(),
            depth,
            max_turns: rlm.max_turns,
            max_depth: rlm.max_depth,
            max_calls: rlm.max_calls,
            time_ms: rlm.time_ms,
            memory: rlm.memory,
            metadata_chars: rlm.metadata_chars,
            answers: self.program_answers(task),
        })
    }

    fn program_query(&self, task: TaskIx, reduce: &Reduce) -> Result<(String, u32), Failure> {
        match self.tasks[task].spec.as_ref().map(|question| &question.kind) {
            Some(ChildKind::Program { query, depth, .. }) => {
                let text = self.read(query).map(|text| text.value()).unwrap_or_default();
                Ok((text.as_str().unwrap_or_default().to_owned(), *depth))
            }
            _ => Ok((self.question_part(task, reduce)?, 0)),
        }
    }

    /// Answers to what was asked last.
    fn program_answers(&self, task: TaskIx) -> Vec<ProgramAnswer> {
        let Some(group) = self.tasks[task].group.as_deref() else { return Vec::new() };
        let goes_on = !self.tasks[task].turns.is_empty();
        let asked = if goes_on { self.sub_queries(task).len() } else { 0 };
        let from = group.members.len().saturating_sub(asked);
        group.members[from..].iter().map(|child| self.program_answer(*child)).collect()
    }

    fn program_answer(&self, child: TaskIx) -> ProgramAnswer {
        let answer = match (self.tasks[child].succeeded(), self.tasks[child].failure.as_deref()) {
            (true, _) => Ok(JsonText::of(&bare(self.json_of(child)))),
            (false, Some(failure)) => Err(failure.message.clone()),
            (false, None) => Err("it was stopped".to_owned()),
        };
        ProgramAnswer { answer, usage: self.asked_so_far(child).1 }
    }

    fn sub_queries(&self, task: TaskIx) -> Vec<SubQuery> {
        let text = self.tasks[task].ask.as_ref().and_then(|ask| self.read(ask));
        text.and_then(|text| serde_json::from_str(text.as_str()).ok()).unwrap_or_default()
    }

    fn about(&self, task: TaskIx, query: &SubQuery) -> ChildKind {
        let text = |text: &str| -> Payload { store(self.outputs, &Value::from(text)) };
        match query {
            SubQuery::Prompt(prompt) => ChildKind::Prompt { text: text(prompt) },
            SubQuery::Program { query, of } => {
                let sources = self.marked(task).map(|merging| merging.sources.clone()).unwrap_or_default();
                let known = of.iter().filter_map(|mark| index_of(mark, sources.len()));
                let of = known.map(|index| self.tasks[sources[index]].id.clone()).collect();
                let depth = match self.tasks[task].spec.as_ref().map(|question| &question.kind) {
                    Some(ChildKind::Program { depth, .. }) => depth + 1,
                    _ => 1,
                };
                ChildKind::Program { query: text(query), of, depth }
            }
        }
    }
}

impl State {
    /// The merge whose marks count: a program below another one knows the outputs by the same marks, so that what it
    /// cites means the same above.
    fn marked(&self, task: TaskIx) -> Option<Arc<Merging>> {
        let mut task = task;
        while let Some(above) = self.tasks[task].spec.as_ref().and(self.tasks[task].place.within) {
            task = above;
        }
        self.merging_of(task)
    }

    fn marks(&self, task: TaskIx) -> HashMap<TaskIx, String> {
        let sources = self.marked(task).map(|merging| merging.sources.clone()).unwrap_or_default();
        sources.into_iter().enumerate().map(|(index, source)| (source, mark(index))).collect()
    }
}
