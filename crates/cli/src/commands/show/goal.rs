//! What a goal did: its tasks as a tree with how they stand, the decisions on the way, and what a person said.

use super::{InspectedRun, word};
use crate::view::format;
use convoke_model::{ChildKind, Event, GoalDecided, Item, TaskId};
use indexmap::IndexMap;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Decisions that are shown to people; `--format json` has all of them.
const MOST_DECISIONS: usize = 40;

/// One goal of a run.
#[derive(Default)]
struct Goal<'a> {
    /// Its tasks, in the order of the tree.
    tasks: IndexMap<TaskId, &'a Item>,
    decisions: Vec<&'a GoalDecided>,
}

impl InspectedRun {
    /// The goals of the run, by task.
    fn goals(&self) -> IndexMap<&TaskId, Goal<'_>> {
        let mut goals = IndexMap::<&TaskId, Goal<'_>>::new();
        for stamped in &self.stored.events {
            match &stamped.event {
                Event::ChildrenSpawned { task, children } => {
                    let items = children.iter().filter_map(|child| match &child.kind {
                        ChildKind::Item(item) => Some((child.child_of(task), &**item)),
                        _ => None,
                    });
                    let items: Vec<_> = items.collect();
                    if let Some(goal) = goals.values_mut().find(|goal| goal.tasks.contains_key(task)) {
                        goal.tasks.extend(items);
                    } else if !items.is_empty() {
                        goals.entry(task).or_default().tasks.extend(items);
                    }
                }
                Event::GoalDecided(decided) => {
                    goals.entry(&decided.task).or_default().decisions.push(decided);
                }
                _ => {}
            }
        }
        // Children stand below their parent, whenever they were made.
        goals.values_mut().for_each(|goal| goal.tasks.sort_keys());
        goals
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
        let of_goal = |(task, goal): (&TaskId, Goal<'_>)| {
            let tasks: Vec<Value> = goal.tasks.iter().map(|(id, item)| self.item_json(id, item)).collect();
            let decisions: Vec<Value> = goal.decisions.iter().map(|decided| record(decided)).collect();
            json!({ "task": task, "tasks": tasks, "decisions": decisions, "guidance": guidance })
        };
        self.goals().into_iter().map(of_goal).collect()
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
            goal.decisions[left_out..].iter().for_each(|decided| text.push_str(&line(decided)));
        }
        self.guidance().for_each(|(words, by)| {
            let _ = writeln!(text, "\nguidance of {by}: {words}");
        });
        text
    }

    fn item_line(&self, id: &TaskId, item: &Item) -> String {
        let report = self.report.tasks.get(id);
        let state = report.map_or("waiting", |report| word(report.state, self.status));
        let why = self.why(id).map(|why| format!(": {}", format::first_line(&why))).unwrap_or_default();
        let indent = "  ".repeat(item.depth as usize);
        format!("  {indent}{id} {} ({state}{why})\n", format::first_line(&item.description))
    }
}

fn record(decided: &GoalDecided) -> Value {
    let GoalDecided { chosen, reason, role, .. } = decided;
    json!({ "about": about(decided), "chosen": chosen, "reason": reason, "role": role })
}

fn line(decided: &GoalDecided) -> String {
    format!("  {}: {} ({})\n", about(decided), decided.chosen, format::first_line(&decided.reason))
}

/// The task that a decision is about, or the goal.
fn about(decided: &GoalDecided) -> &TaskId {
    decided.about.as_ref().unwrap_or(&decided.task)
}
