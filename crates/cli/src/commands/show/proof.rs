//! The proof of a task: each check with its findings, or `not proven` where there is none.

use super::InspectedRun;
use crate::failure::CommandFailure;
use convoke_engine::report::{TaskReport, TaskWord};
use convoke_model::{Event, Payload, ProofFinding, Stamped, TaskId, Timestamp};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;

/// One check of a task.
struct Check<'a> {
    at: Timestamp,
    attempt: u32,
    held: bool,
    findings: &'a Payload,
}

/// Of each task that was checked, whether everything held the last time.
pub(super) fn held(events: &[Stamped]) -> HashMap<TaskId, bool> {
    let checked = events.iter().filter_map(|stamped| match &stamped.event {
        Event::ProofChecked { task, held, .. } => Some((task.clone(), *held)),
        _ => None,
    });
    checked.collect()
}

impl InspectedRun {
    fn checks<'a>(&'a self, id: &'a TaskId) -> impl Iterator<Item = Check<'a>> {
        self.stored.events.iter().filter_map(move |stamped| match &stamped.event {
            Event::ProofChecked { task, attempt, held, findings, .. } if task == id => {
                Some(Check { at: stamped.at, attempt: *attempt, held: *held, findings })
            }
            _ => None,
        })
    }

    /// Whether a task that has succeeded has proven it. Where no model says that it is done, nothing is said.
    pub(super) fn proven(&self, id: &TaskId, task: &TaskReport) -> Option<bool> {
        let says_so = task.attempts.iter().any(|attempt| attempt.usage.calls > 0);
        let last = self.held.get(id);
        let is_asked = task.state == TaskWord::Succeeded && (says_so || last.is_some());
        is_asked.then(|| last.is_some_and(|held| *held))
    }

    /// How many successes are proven, and of how many there is a model's word alone.
    pub(super) fn proven_count(&self) -> (usize, usize) {
        let judged = self.report.tasks.iter().filter_map(|(id, task)| self.proven(id, task));
        let (proven, others): (Vec<bool>, Vec<bool>) = judged.partition(|proven| *proven);
        (proven.len(), others.len())
    }

    /// For people: the count in one line.
    pub(super) fn proven_words(&self) -> Option<String> {
        let (proven, others) = self.proven_count();
        match (proven, others) {
            (0, 0) => None,
            (proven, 0) => Some(format!("all {proven}")),
            (proven, others) => {
                Some(format!("{proven} of {}; {others} succeeded without a check", proven + others))
            }
        }
    }

    /// For programs: each check.
    pub(super) fn checks_json(&self, id: &TaskId) -> Result<Option<Value>, CommandFailure> {
        let mut all = Vec::new();
        for check in self.checks(id) {
            let findings = self.findings(&check)?;
            all.push(json!({
                "at": check.at.rfc3339(), "attempt": check.attempt, "held": check.held, "findings": findings,
            }));
        }
        Ok((!all.is_empty()).then_some(Value::Array(all)))
    }

    /// For people: the last word on it, and each check.
    pub(super) fn proof_text(&self, id: &TaskId, task: &TaskReport) -> Result<String, CommandFailure> {
        let mut text = match self.proven(id, task) {
            Some(true) => "proven\n".to_owned(),
            Some(false) => "not proven: the step declares no condition (`ensure`)\n".to_owned(),
            None => String::new(),
        };
        for (number, check) in self.checks(id).enumerate() {
            let findings = self.findings(&check)?;
            let open = findings.iter().filter(|finding| !finding.held).count();
            let came = match open {
                0 => "everything holds".to_owned(),
                open => format!("{open} of {} do not hold", findings.len()),
            };
            // What parts came to is checked without an attempt.
            let attempt = Some(check.attempt).filter(|attempt| *attempt > 0);
            let attempt = attempt.map(|attempt| format!(" (attempt {attempt})")).unwrap_or_default();
            writeln!(text, "check {}{attempt}: {came}", number + 1).expect("text takes text");
            for finding in findings {
                let mark = if finding.held { "holds" } else { "open " };
                writeln!(text, "  {mark}  {}", finding.condition).expect("text takes text");
                // What holds needs no evidence for people; programs have all of it.
                let lines = finding.evidence.lines().filter(|_| !finding.held);
                lines.for_each(|line| writeln!(text, "           {line}").expect("text takes text"));
            }
        }
        Ok(text)
    }

    fn findings(&self, check: &Check<'_>) -> Result<Vec<ProofFinding>, CommandFailure> {
        let found = self.value(Some(check.findings))?;
        Ok(found.and_then(|found| serde_json::from_str(found.as_str()).ok()).unwrap_or_default())
    }
}
