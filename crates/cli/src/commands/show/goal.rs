//! What a goal did: its tasks as a tree with how they stand, the decisions on the way, and what a person said.

use super::{Shown, word};
use crate::view::words;
use convoke_model::{ChildKind, ChildSpec, Event, Item, TaskId};
use indexmap::IndexMap;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Decisions that are shown to people; `--format json` has all of them.
const MOST_DECISIONS: usize = 40;

/// One goal of a run.
#[derive(Default)]
struct Goal<'a> {
    /// Its tasks, in the order of the tree.
    tasks: IndexMap<TaskId, &'a Item>,
    decisions: Vec<Decision<'a>>,
}

struct Decision<'a> {
    about: &'a TaskId,
    chosen: &'a str,
    reason: &'a str,
    role: Option<&'a str>,
}

impl Shown {
    /// The goals of the run, by task.
    fn goals(&self) -> IndexMap<&TaskId, Goal<'_>> {
        let (asked, mut goals) = (self.askers(), IndexMap::<&TaskId, Goal<'_>>::new());
        for stamped in &self.stored.events {
            match &stamped.event {
                Event::ChildrenSpawned { task, children: questions } => {
                    let items = questions.iter().filter_map(|question| match &question.kind {
                        ChildKind::Item(item) => Some((question.child_of(task), &**item)),
                        _ => None,
                    });
                    let items: Vec<_> = items.collect();
                    if let Some(goal) = goals.values_mut().find(|goal| goal.tasks.contains_key(task)) {
                        goal.tasks.extend(items);
                    } else if !items.is_empty() {
                        goals.entry(task).or_default().tasks.extend(items);
                    }
                }
                Event::Routed { task, chosen, reason, about, role, .. } if asked.contains(task) => {
                    let about = about.as_ref().unwrap_or(task);
                    let decision = Decision { about, chosen, reason, role: role.as_deref() };
                    goals.entry(task).or_default().decisions.push(decision);
                }
                _ => {}
            }
        }
        // Children stand below their parent, whenever they were made.
        goals.values_mut().for_each(|goal| goal.tasks.sort_keys());
        goals
    }

    /// The tasks that spawn children with roles: goals and their tasks. Phases of pipelines record decisions too, but have no
    /// roles.
    fn askers(&self) -> HashSet<&TaskId> {
        let is_of_goal =
            |question: &ChildSpec| matches!(question.kind, ChildKind::Role { .. } | ChildKind::Item(_));
        let askers = self.stored.events.iter().filter_map(|stamped| match &stamped.event {
            Event::ChildrenSpawned { task, children: questions } if questions.iter().any(is_of_goal) => {
                Some(task)
            }
            _ => None,
        });
        askers.collect()
    }

    /// What a person said meanwhile.
    fn guidance(&self) -> impl Iterator<Item = (&str, &str)> {
        self.stored.events.iter().filter_map(|stamped| match &stamped.event {
            Event::Guided { text, by } => Some((text.as_str(), by.as_str())),
            _ => None,
        })
    }

    /// For programs; empty where there is no goal.
    pub(super) fn goals_json(&self) -> Vec<Value> {
        let guidance: Vec<Value> =
            self.guidance().map(|(text, by)| json!({ "text": text, "by": by })).collect();
        let record = |(task, goal): (&TaskId, Goal<'_>)| {
            let tasks: Vec<Value> = goal.tasks.iter().map(|(id, item)| self.item_json(id, item)).collect();
            let decisions: Vec<Value> = goal.decisions.iter().map(Decision::record).collect();
            json!({ "task": task, "tasks": tasks, "decisions": decisions, "guidance": guidance })
        };
        self.goals().into_iter().map(record).collect()
    }

    fn item_json(&self, id: &TaskId, item: &Item) -> Value {
        let report = self.report.tasks.get(id);
        json!({
            "id": id,
            "description": item.description,
            "depth": item.depth,
            "inputs": item.inputs,
            "tools": item.tools,
            "status": report.map(|report| word(report.state, self.status)),
            "reason": self.why(id),
        })
    }

    /// Why a task did not end well.
    fn why(&self, id: &TaskId) -> Option<String> {
        let report = self.report.tasks.get(id)?;
        let failed = report.failure.as_ref().map(|failure| failure.message.clone());
        failed.or_else(|| report.cause.as_ref().map(ToString::to_string))
    }

    /// For people; empty where there is no goal.
    pub(super) fn goals_text(&self) -> String {
        let mut text = String::new();
        for (task, goal) in self.goals() {
            let _ = writeln!(text, "\ntasks of {task}:");
            goal.tasks.iter().for_each(|(id, item)| text.push_str(&self.item_line(id, item)));
            let _ = writeln!(text, "\ndecisions of {task}:");
            let left_out = goal.decisions.len().saturating_sub(MOST_DECISIONS);
            if left_out > 0 {
                let _ = writeln!(text, "  … {left_out} earlier ones");
            }
            goal.decisions[left_out..].iter().for_each(|decision| text.push_str(&decision.line()));
        }
        self.guidance().for_each(|(words, by)| {
            let _ = writeln!(text, "\nguidance of {by}: {words}");
        });
        text
    }

    fn item_line(&self, id: &TaskId, item: &Item) -> String {
        let report = self.report.tasks.get(id);
        let state = report.map_or("waiting", |report| word(report.state, self.status));
        let why = self.why(id).map(|why| format!(": {}", words::first_line(&why))).unwrap_or_default();
        let indent = "  ".repeat(item.depth as usize);
        format!("  {indent}{id} {} ({state}{why})\n", words::first_line(&item.description))
    }
}

impl Decision<'_> {
    fn record(&self) -> Value {
        json!({ "about": self.about, "chosen": self.chosen, "reason": self.reason, "role": self.role })
    }

    fn line(&self) -> String {
        format!("  {}: {} ({})\n", self.about, self.chosen, words::first_line(self.reason))
    }
}
