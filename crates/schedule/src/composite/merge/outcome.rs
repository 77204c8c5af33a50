//! What a merge comes to: the result, how it was made, where it came from, and what is missing.

use super::Merging;
use super::levels::as_text;
use super::tree::Next;
use super::vote::{Ballot, Cast, count, read_vote};
use crate::composite::Step;
use crate::state::{State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::citations::{Citation, citations};
use convoke_model::hash::HashSet;
use convoke_model::synthesis::{astray, bare, cited, lead_nowhere, mark, readable, usage_value};
use convoke_model::{ChildKind, Class, Event, Failure, Missing, Piece, TaskId, Usage};
use convoke_plan::{Reduce, Strategy, Tie};
use serde_json::{Value, json};

/// The reason of a merge whose last question failed for good.
pub(crate) const MERGE_FAILED: &str = "merge_failed";

impl View<'_> {
    /// One after the other under headings; a single output stands for itself.
    pub(super) fn end_flat(&self, task: TaskIx, reduce: &Reduce, merging: &Merging) -> Vec<Step> {
        let result = match merging.sources.as_slice() {
            [one] => self.source_value(*one),
            many => {
                let block =
                    |source: &TaskIx| format!("## {}\n\n{}", self.title(*source), self.text_of(*source));
                Value::from(many.iter().map(block).collect::<Vec<_>>().join("\n\n---\n\n"))
            }
        };
        let all = (0..merging.sources.len()).collect();
        let output = self.report(task, reduce, merging, result, 0, Some(all));
        vec![Step::Succeed { on: task, output }]
    }

    pub(super) fn end_levels(
        &self,
        task: TaskIx,
        reduce: &Reduce,
        merging: &Merging,
        next: &Next,
    ) -> Vec<Step> {
        let last = next.result.clone().flatten().and_then(|part| self.tasks.find(&part.piece.task));
        let Some(last) = last else {
            return vec![Step::Fail { on: task, failure: self.all_lost(task) }];
        };
        let lost = self.lost_sources(next);
        let left = merging.sources.len() - lost.len();
        let missing = [&merging.missing[..], &lost].concat();
        if (left as u32) < reduce.min_sources {
            return vec![Step::Fail { on: task, failure: self.too_few(task, left, &missing, reduce) }];
        }
        let merging = Merging { missing, ..merging.clone() };
        let result = bare(self.json_of(last));
        let mut report = self.report(task, reduce, &merging, result, next.levels, None);
        if merging.strategy.chooses() {
            self.add_choice(task, &merging, last, &mut report);
        }
        let notes = next.carried.iter().map(|key| {
            Value::from(format!("question {key} failed; its outputs went into the next one as they were"))
        });
        report["notes"].as_array_mut().expect("a list").extend(notes);
        let missed = self.outputs_missed_by(task, lost);
        missed.into_iter().chain([Step::Succeed { on: task, output: report }]).collect()
    }

    /// Recorded, so that the run is known to lack them also after a crash.
    pub(super) fn outputs_missed_by(&self, task: TaskIx, missing: Vec<Missing>) -> Option<Step> {
        let task = self.tasks[task].id.clone();
        (!missing.is_empty()).then(|| Step::record(Event::OutputsMissed { task, missing }))
    }

    /// Votes are counted; nothing decided is a result, unless the rule says otherwise.
    pub(super) fn end_vote(&self, task: TaskIx, reduce: &Reduce, merging: &Merging) -> Vec<Step> {
        let rule = reduce.vote.as_ref().expect("a vote has a rule");
        let ballots: Vec<Ballot> = self
            .sources(task, reduce)
            .into_iter()
            .map(|source| Ballot {
                member: self.title(source.task),
                cast: match source.succeeded {
                    true => read_vote(&self.json_of(source.task), rule),
                    false => Cast::Failed(self.absence(source.task).cause),
                },
            })
            .collect();
        let counted = count(&ballots, rule);
        if counted.winner.is_none() && rule.tie == Tie::Fail {
            let message = format!(
                "reduce step `{}`: the vote decided nothing: {}",
                self.node(task).name,
                counted.report["tally"]
            );
            let failure = Failure::new(Class::InvalidOutput, message).reason("undecided");
            return vec![Step::Fail { on: task, failure }];
        }
        let result = counted.winner.clone().map_or(Value::Null, Value::from);
        let mut report = self.report(task, reduce, merging, result, 0, Some(Default::default()));
        report["winner"] = json!(counted.winner);
        report["vote"] = counted.report;
        vec![Step::Succeed { on: task, output: report }]
    }
}

impl View<'_> {
    /// The result with its origin. `named`: the sources it is known to come from; else what its text names.
    pub(super) fn report(
        &self,
        task: TaskIx,
        reduce: &Reduce,
        merging: &Merging,
        result: Value,
        rounds: u32,
        named: Option<std::collections::BTreeSet<usize>>,
    ) -> Value {
        let text = as_text(&result);
        let merged = named.is_none() && !merging.strategy.chooses();
        let nowhere = if merged { astray(&text, merging.sources.len()) } else { Vec::new() };
        let named = named.unwrap_or_else(|| cited(&text, merging.sources.len()));
        let notes = self.fell_back(task, reduce, merging).into_iter().chain(lead_nowhere(&nowhere));
        let sources = merging.sources.iter().enumerate();
        let sources = sources.map(|(at, source)| self.source(at, *source, named.contains(&at)));
        let (calls, usage) = self.calls_so_far(task);
        let checked =
            if merged && merging.strategy.may_ask() { self.citations(&text, merging) } else { Vec::new() };
        // Moved, not quoted: there may be thousands of sources, and the result is as long as they are.
        let fields = [
            ("result", result),
            ("strategy", merging.strategy.word().into()),
            ("sources", Value::Array(sources.collect())),
            ("missing", json!(merging.missing)),
            ("rounds", rounds.into()),
            ("calls", calls.into()),
            ("usage", usage_value(&usage)),
            ("notes", notes.collect()),
        ];
        // Where nothing is cited, nothing is said about it.
        let checked = (!checked.is_empty()).then(|| ("citations".to_owned(), json!(checked)));
        fields.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(checked).collect()
    }

    /// What each citation of a text comes to.
    fn citations(&self, text: &str, merging: &Merging) -> Vec<Citation> {
        let source = |at: usize| readable(&self.json_of(merging.sources[at]));
        citations(text, merging.sources.len(), &source)
    }

    fn add_choice(&self, task: TaskIx, merging: &Merging, winner: TaskIx, report: &mut Value) {
        report["winner"] = json!(self.title(winner));
        let children = self.tasks[task].group.as_deref().map_or(&[][..], |group| &group.members);
        let choice = |child: &TaskIx| {
            let chosen = self.chosen(*child, merging)?;
            let reason = self.json_of(*child).get("reason").cloned().unwrap_or_default();
            Some(json!({ "winner": self.title(chosen), "reason": reason }))
        };
        let choices: Vec<Value> = children.iter().filter_map(choice).collect();
        report["reason"] = choices.last().map_or(Value::Null, |last| last["reason"].clone());
        report["choices"] = json!(choices);
    }
}

impl State {
    /// The sources behind questions that failed and whose outputs are in no merge.
    fn lost_sources(&self, next: &Next) -> Vec<Missing> {
        let (mut lost, mut known) = (Vec::new(), HashSet::default());
        for (key, parts) in &next.lost {
            let mut sources = Vec::new();
            parts.iter().for_each(|part| self.add_origins(&part.piece, &mut sources));
            for task in sources {
                if known.insert(task.clone()) {
                    lost.push(Missing { task, cause: format!("question {key} failed") });
                }
            }
        }
        lost
    }

    /// The sources that a piece was made of.
    pub(super) fn add_origins(&self, piece: &Piece, found: &mut Vec<TaskId>) {
        let task = self.tasks.find(&piece.task);
        let question = task.and_then(|task| self.tasks[task].spec.as_ref());
        match question.map(|question| &question.kind) {
            Some(ChildKind::Merge { of }) => of.iter().for_each(|piece| self.add_origins(piece, found)),
            _ => found.push(piece.task.clone()),
        }
    }

    pub(super) fn all_lost(&self, task: TaskIx) -> Failure {
        let children = self.tasks[task].group.as_deref().map_or(&[][..], |group| &group.members);
        // A merge outlives what its earlier questions lose: the last one is the cause.
        let failed = children.iter().filter(|child| self.tasks[**child].failure.is_some());
        let last = failed.max_by_key(|child| self.tasks[**child].ended);
        let last = last.and_then(|child| self.tasks[*child].failure.as_deref());
        let why = last.map_or("no answer could be used", |failure| failure.message.as_str());
        let message = format!("reduce step `{}`: its last question failed: {why}", self.node(task).name);
        let failure = Failure::new(last.map_or(Class::InvalidOutput, |failure| failure.class), message);
        failure.reason(MERGE_FAILED)
    }

    /// A source, as reports tell it.
    fn source(&self, at: usize, source: TaskIx, cited: bool) -> Value {
        let digest = self.digest_of(source).map(|digest| digest.to_string());
        let fields = [
            ("mark", mark(at).into()),
            ("task", self.tasks[source].id.0.as_ref().into()),
            ("title", self.title(source).into()),
            ("digest", digest.into()),
            ("cited", cited.into()),
        ];
        fields.map(|(name, value): (_, Value)| (name.to_owned(), value)).into_iter().collect()
    }

    /// Of a merge that was to be made by programs and was not: why.
    fn fell_back(&self, task: TaskIx, reduce: &Reduce, merging: &Merging) -> Option<String> {
        let meant = reduce.strategy.resolve(merging.sources.len());
        let failure = self.tasks[task].failure.as_deref();
        failure.filter(|_| meant == Strategy::Rlm && merging.strategy == Strategy::Hierarchical).map(
            |failure| {
                format!("the merge by programs failed ({}); it went on by levels", failure.with_reason())
            },
        )
    }

    /// How many calls of models a task has made so far, and what they used. A question may take several; one that is not
    /// counted took one.
    pub(super) fn calls_so_far(&self, task: TaskIx) -> (u64, Usage) {
        let (questions, usage) = self.asked_so_far(task);
        (u64::from(questions).max(usage.calls), usage)
    }

    /// How many questions were asked below a task, and what they used.
    pub(crate) fn asked_so_far(&self, task: TaskIx) -> (u32, Usage) {
        let Some(group) = self.tasks[task].group.as_deref() else { return (0, self.tasks[task].usage) };
        let mut usage = self.tasks[task].usage;
        let mut calls = 0;
        for child in &group.members {
            if self.tasks[*child].spec.is_some() && self.tasks[*child].state != TaskState::Waiting {
                let (below, used) = self.asked_so_far(*child);
                calls += 1 + below;
                usage += used;
            }
        }
        (calls, usage)
    }
}
