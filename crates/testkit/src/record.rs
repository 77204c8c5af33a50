//! The record of a run, as runs are compared: what happened, without times, owners, places, and what capacity did.
//!
//! Simulated and real runs have the same record where the same is done. An attempt that a crash cut off and its repeat count
//! as one; nothing else is left out. In a real run the faster attempt comes first, so [`by_phase`] puts a record into an
//! order that does not tell, and [`out_of_order`] asks for what it no longer shows.

use convoke_model::{Class, Event, PhaseDecided, Stamped, TaskId};
use convoke_plan::Plan;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The record of a run as lines of JSON.
///
/// # Panics
///
/// If an attempt began anew and none was lost, or one was stopped without a request.
pub fn record(events: &[Stamped]) -> Vec<String> {
    let mut record = Record { stopped: stopped(events), folder: folder(events), ..Record::default() };
    events.iter().for_each(|stamped| record.take(&stamped.event));
    record.lines
}

/// Tasks that were told to stop.
fn stopped(events: &[Stamped]) -> HashSet<String> {
    let told = events.iter().filter_map(|stamped| match &stamped.event {
        Event::CancelRequested { task, .. } | Event::TaskCancelled { task, .. } => Some(task.to_string()),
        _ => None,
    });
    told.collect()
}

/// Where the run works.
fn folder(events: &[Stamped]) -> String {
    let found = events.iter().find_map(|stamped| match &stamped.event {
        Event::RunStarted(started) => Some(started.folder.clone()),
        _ => None,
    });
    found.unwrap_or_default()
}

#[derive(Default)]
struct Record {
    lines: Vec<String>,
    stopped: HashSet<String>,
    folder: String,
    /// By task, the attempts that crashes cut off.
    lost: HashMap<String, u64>,
    /// By kind and task, the beginnings that were left out because they repeat one.
    repeated: HashMap<(String, String), u64>,
    /// Owners so far.
    owners: u64,
    /// Contracts that were resolved and whose attempt has not begun, by task: under which owner.
    resolved: HashMap<String, u64>,
}

const BEGINS: [&str; 2] = ["contract_resolved", "attempt_started"];
const ENDS: [&str; 2] = ["attempt_finished", "attempt_failed"];

impl Record {
    fn take(&mut self, event: &Event) {
        match event {
            Event::RunOwned { .. } => self.owners += 1,
            Event::Blocked { .. } | Event::ProjectSeen { task: None, .. } => {}
            // What was told to stop says so, unless it was gone by then.
            Event::AttemptFailed { task, failure, .. } if failure.class == Class::Cancelled => {
                assert!(self.stopped.contains(&*task.0), "{task} was stopped, and nobody has told it to");
            }
            Event::AttemptLost { task, .. } => *self.lost.entry(task.to_string()).or_default() += 1,
            event => self.add(event),
        }
    }

    fn add(&mut self, event: &Event) {
        let mut value = serde_json::to_value(event).expect("events are JSON");
        let (kind, fields) = value.as_object_mut().expect("an object").iter_mut().next().expect("a kind");
        let kind = kind.clone();
        let task = fields.get("task").and_then(Value::as_str).unwrap_or_default().to_owned();
        let lost = self.lost.get(&task).copied().unwrap_or(0);
        self.strip(&kind, fields, lost);
        let line = value.to_string();
        // Cut off between the contract and the attempt: the next owner resolves it again.
        let again = self.is_resolved_again(&kind, &task);
        if BEGINS.contains(&kind.as_str()) && self.lines.contains(&line) {
            if again {
                return;
            }
            let repeated = self.repeated.entry((kind, task.clone())).or_default();
            *repeated += 1;
            // One for each that was lost, which may have been lost before it began.
            assert!(*repeated <= lost, "{task} began {repeated} times anew, and {lost} attempts were lost");
            return;
        }
        self.lines.push(line);
    }

    /// Takes away what differs from run to run: names and places, leases, and what an answer has cost.
    fn strip(&self, kind: &str, fields: &mut Value, lost: u64) {
        let left_out: &[&str] = match kind {
            "run_started" => &["run", "file", "folder", "plan", "version", "seed", "configuration"],
            _ => &["lease", "usage"],
        };
        if let Some(fields) = fields.as_object_mut() {
            left_out.iter().for_each(|key| drop(fields.remove(*key)));
        }
        if BEGINS.contains(&kind) || ENDS.contains(&kind) {
            fields["attempt"] = json!(fields["attempt"].as_u64().expect("a number") - lost);
        }
        if let Some(place) = fields.pointer_mut("/contract/working_dir")
            && place.as_str() == Some(&self.folder)
        {
            *place = json!(".");
        }
    }

    fn is_resolved_again(&mut self, kind: &str, task: &str) -> bool {
        match kind {
            "contract_resolved" => {
                let before = self.resolved.insert(task.to_owned(), self.owners);
                before.is_some_and(|owner| owner < self.owners)
            }
            "attempt_started" => {
                self.resolved.remove(task);
                false
            }
            _ => false,
        }
    }
}

/// A record in an order that does not tell which attempt was faster: phase by phase, each with its own lines in their order
/// and, between two of them, what its children did, child by child. A phase goes on only when all children that it has asked
/// have ended, so nothing but the order of what ran side by side is lost. The last line is cut to the status: the output holds
/// what was announced in its order, and is compared [by itself](unordered).
pub fn by_phase(lines: &[String]) -> Vec<String> {
    let mut phases: BTreeMap<String, Phase> = BTreeMap::new();
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for line in lines {
        let value: Value = serde_json::from_str(line).expect("a record is lines of JSON");
        let (kind, fields) = value.as_object().and_then(|event| event.iter().next()).expect("a kind");
        match (fields["task"].as_str(), kind.as_str()) {
            (Some(task), _) => {
                let phase = task.split('/').next().unwrap_or(task);
                phases.entry(phase.to_owned()).or_default().take(task, line);
            }
            (None, "run_finished") => last.push(json!({ kind: { "status": fields["status"] } }).to_string()),
            (None, _) => first.push(line.clone()),
        }
    }
    let phases = phases.into_values().flat_map(Phase::lines);
    first.into_iter().chain(phases).chain(last).collect()
}

#[derive(Default)]
struct Phase {
    lines: Vec<String>,
    /// What its children did since its last line.
    children: Vec<(String, String)>,
}

impl Phase {
    fn take(&mut self, task: &str, line: &str) {
        if task.contains('/') {
            self.children.push((task.to_owned(), line.to_owned()));
        } else {
            self.settle();
            self.lines.push(line.to_owned());
        }
    }

    /// The order of what one child did stays.
    fn settle(&mut self) {
        self.children.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.lines.extend(self.children.drain(..).map(|(_, line)| line));
    }

    fn lines(mut self) -> Vec<String> {
        self.settle();
        self.lines
    }
}

/// The first step that was decided on before everything had ended that leads to it.
pub fn out_of_order(plan: &Plan, events: &[Stamped]) -> Option<TaskId> {
    let workflow = plan.root();
    let mut ended: HashSet<&str> = HashSet::new();
    for Stamped { event, .. } in events {
        match event {
            Event::TaskSucceeded { task, .. }
            | Event::TaskFailed { task, .. }
            | Event::TaskSkipped { task, .. } => {
                ended.insert(&task.0);
            }
            Event::PhaseDecided(PhaseDecided { task, .. }) => {
                let step = workflow.nodes.iter().find(|node| *node.name == *task.0);
                let mut before = step.into_iter().flat_map(|step| &step.triggers);
                if !before.all(|edge| ended.contains(&*workflow.node(edge.from).name)) {
                    return Some(task.clone());
                }
            }
            _ => {}
        }
    }
    None
}

/// The output of a pipeline, whatever the order in which things were announced.
pub fn unordered(mut output: Value) -> Value {
    if let Some(events) = output.get_mut("events").and_then(Value::as_array_mut) {
        events.sort_by_key(Value::to_string);
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(events: &[Value]) -> Vec<String> {
        events.iter().map(Value::to_string).collect()
    }

    fn started(task: &str) -> Value {
        json!({ "attempt_started": { "task": task } })
    }

    fn asked(task: &str) -> Value {
        json!({ "children_spawned": { "task": task } })
    }

    #[test]
    fn who_was_faster_does_not_tell() {
        let one = [asked("a"), started("a/try[1]"), started("a/try[2]"), asked("b"), started("b/try[1]")];
        let other = [asked("b"), asked("a"), started("a/try[2]"), started("b/try[1]"), started("a/try[1]")];
        assert_eq!(by_phase(&lines(&one)), by_phase(&lines(&other)));
    }

    #[test]
    fn what_came_before_its_question_tells() {
        let one = [asked("a"), started("a/try[1]"), asked("a")];
        let other = [asked("a"), asked("a"), started("a/try[1]")];
        assert_ne!(by_phase(&lines(&one)), by_phase(&lines(&other)));
    }
}
