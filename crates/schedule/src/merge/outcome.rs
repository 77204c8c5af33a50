//! What a merge comes to: the result, how it was made, where it came from, and what is missing.

use super::Merging;
use super::levels::{as_text, chooses};
use super::tree::Next;
use super::vote::{Ballot, Said, count, said};
use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::task::{TaskIx, TaskState};
use convoke_model::synthesis::{bare, cited, mark, usage_value};
use convoke_model::{Class, Failure, Usage};
use convoke_plan::{Reduce, Tie};
use serde_json::{Value, json};

impl Scheduler {
    /// One after the other under headings; a single output stands for itself.
    pub(super) fn end_flat(
        &mut self,
        task: TaskIx,
        reduce: &Reduce,
        merging: &Merging,
        outputs: &dyn Outputs,
    ) {
        let result = match merging.sources.as_slice() {
            [one] => bare(self.json_of(*one, outputs)),
            many => {
                let block = |source: &TaskIx| {
                    format!("## {}\n\n{}", self.title(*source, Some(reduce)), self.text_of(*source, outputs))
                };
                Value::from(many.iter().map(block).collect::<Vec<_>>().join("\n\n---\n\n"))
            }
        };
        let all = (0..merging.sources.len()).collect();
        let report = self.report(task, reduce, merging, result, 0, Some(all));
        self.succeed(task, &report, outputs);
    }

    pub(super) fn end_levels(
        &mut self,
        task: TaskIx,
        reduce: &Reduce,
        merging: &Merging,
        next: &Next,
        outputs: &dyn Outputs,
    ) {
        let last = next.result.clone().flatten().and_then(|part| self.tasks.find(&part.piece.task));
        let Some(last) = last else {
            return self.fail_task(task, self.all_lost(task));
        };
        let result = bare(self.json_of(last, outputs));
        let mut report = self.report(task, reduce, merging, result, next.levels, None);
        if chooses(merging.strategy) {
            self.add_choice(task, reduce, merging, last, &mut report, outputs);
        }
        self.add_losses(next, &mut report);
        if !next.lost.is_empty() {
            report["notes"].as_array_mut().expect("a list").push(json!("some outputs are not in the result"));
        }
        self.succeed(task, &report, outputs);
    }

    fn all_lost(&self, task: TaskIx) -> Failure {
        let children = self.tasks[task].group.as_deref().map_or(&[][..], |group| &group.members);
        let first = children.iter().find_map(|child| self.tasks[*child].failure.as_deref());
        let why = first.map_or("no answer could be used", |failure| failure.message.as_str());
        let message = format!("reduce step `{}`: its last question failed: {why}", self.node(task).name);
        let failure = Failure::new(first.map_or(Class::InvalidOutput, |failure| failure.class), message);
        failure.reason("merge_failed")
    }

    fn add_choice(
        &self,
        task: TaskIx,
        reduce: &Reduce,
        merging: &Merging,
        winner: TaskIx,
        report: &mut Value,
        outputs: &dyn Outputs,
    ) {
        report["winner"] = json!(self.title(winner, Some(reduce)));
        let children = self.tasks[task].group.as_deref().map_or(&[][..], |group| &group.members);
        let choice = |child: &TaskIx| {
            let chosen = self.chosen(*child, merging, outputs)?;
            let reason = self.json_of(*child, outputs).get("reason").cloned().unwrap_or_default();
            Some(json!({ "winner": self.title(chosen, Some(reduce)), "reason": reason }))
        };
        let choices: Vec<Value> = children.iter().filter_map(choice).collect();
        report["reason"] = choices.last().map_or(Value::Null, |last| last["reason"].clone());
        report["choices"] = json!(choices);
    }

    /// Groups that could not be merged are said: handed on as they were, or missing.
    fn add_losses(&self, next: &Next, report: &mut Value) {
        let notes = next.carried.iter().map(|key| {
            Value::from(format!("question {key} failed; its outputs went into the next one as they were"))
        });
        report["notes"].as_array_mut().expect("a list").extend(notes);
        let mut missing: Vec<Value> = Vec::new();
        for (key, parts) in &next.lost {
            for part in parts {
                let cause = format!("question {key} failed");
                missing.push(json!({ "task": part.piece.task, "cause": cause }));
            }
        }
        report["missing"].as_array_mut().expect("a list").extend(missing);
    }

    /// Votes are counted; nothing decided is a result, unless the rule says otherwise.
    pub(super) fn end_vote(
        &mut self,
        task: TaskIx,
        reduce: &Reduce,
        merging: &Merging,
        outputs: &dyn Outputs,
    ) {
        let rule = reduce.vote.as_ref().expect("a vote has a rule");
        let ballots: Vec<Ballot> = self
            .sources(task, reduce)
            .into_iter()
            .map(|source| Ballot {
                member: self.title(source.task, Some(reduce)),
                said: match source.succeeded {
                    true => said(&self.json_of(source.task, outputs), rule),
                    false => Said::Failed(self.absence(source.task).cause),
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
            return self.fail_task(task, Failure::new(Class::InvalidOutput, message).reason("undecided"));
        }
        let result = counted.winner.clone().map_or(Value::Null, Value::from);
        let mut report = self.report(task, reduce, merging, result, 0, Some(Default::default()));
        report["winner"] = json!(counted.winner);
        report["vote"] = counted.report;
        self.succeed(task, &report, outputs);
    }

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
        let named = named.unwrap_or_else(|| cited(&as_text(&result), merging.sources.len()));
        let source = |(index, source): (usize, &TaskIx)| {
            json!({
                "mark": mark(index), "task": self.tasks[*source].id, "title": self.title(*source, Some(reduce)),
                "digest": self.digest_of(*source), "cited": named.contains(&index),
            })
        };
        let sources: Vec<Value> = merging.sources.iter().enumerate().map(source).collect();
        let (calls, usage) = self.asked_so_far(task);
        json!({
            "result": result, "strategy": merging.strategy.word(), "sources": sources, "missing": merging.missing,
            "rounds": rounds, "calls": calls, "usage": usage_value(&usage), "notes": [],
        })
    }

    /// How many questions were asked below a task, and what they used.
    pub(super) fn asked_so_far(&self, task: TaskIx) -> (u32, Usage) {
        let Some(group) = self.tasks[task].group.as_deref() else { return (0, self.tasks[task].usage) };
        let mut usage = self.tasks[task].usage;
        let mut calls = 0;
        for child in &group.members {
            if self.tasks[*child].question.is_some() && self.tasks[*child].state != TaskState::Waiting {
                let (below, used) = self.asked_so_far(*child);
                calls += 1 + below;
                usage += used;
            }
        }
        (calls, usage)
    }
}
