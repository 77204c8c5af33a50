//! The outcome of a try of a phase, which is not how its attempt ended: an answer that says "I failed" was given well.
//!
//! Read from the answer in the words of its contract, and from what followed it: what was not accepted is tried again, or ends
//! its phase.

use super::InspectedRun;
use crate::failure::CommandFailure;
use convoke_engine::report::{TaskReport, TaskWord};
use convoke_model::synthesis::bare;
use convoke_model::{ChildKind, Event, Stamped, TaskId};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// What it came to, and why, where its answer says so.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TryOutcome {
    /// The word that stands in the place of `succeeded`.
    pub word: &'static str,
    /// In the words of the answer.
    pub why: Option<String>,
}

impl InspectedRun {
    /// What a try came to, unless that is what its end says.
    pub(super) fn try_outcome(
        &self,
        id: &TaskId,
        task: &TaskReport,
    ) -> Result<Option<TryOutcome>, CommandFailure> {
        if task.state != TaskWord::Succeeded || !is_try(id) {
            return Ok(None);
        }
        let answer = self.value(task.output.as_ref())?.map(|text| bare(text.value()));
        Ok(answer.as_ref().and_then(of_answer).or_else(|| self.refused.contains(id).then_some(REFUSED)))
    }
}

/// The tries that were not accepted: another one came after them, or their phase has ended for it.
pub(super) fn refused(events: &[Stamped]) -> HashSet<TaskId> {
    let (mut refused, mut latest) = (HashSet::new(), HashMap::new());
    for stamped in events {
        match &stamped.event {
            Event::ChildrenSpawned { task, children } => {
                for child in children {
                    match &child.kind {
                        ChildKind::Try { after } => refused.extend(after.clone()),
                        ChildKind::Aggregate { .. } => {}
                        _ => continue,
                    }
                    latest.insert(task, child.child_of(task));
                }
            }
            Event::TaskFailed { task, failure } if failure.reason.as_deref() == Some("validation_fail") => {
                refused.extend(latest.get(task).cloned());
            }
            _ => {}
        }
    }
    refused
}

const REFUSED: TryOutcome = TryOutcome { word: "refused", why: None };

/// Tries of a phase and the work that they hand out have names of their own.
fn is_try(id: &TaskId) -> bool {
    let last = id.segments().last();
    last.is_some_and(|last| last.key.is_some() && ["try", "child", "aggregate"].contains(&&*last.node))
}

fn of_answer(answer: &Value) -> Option<TryOutcome> {
    let word = match answer["status"].as_str()? {
        "validation_fail" => "refused",
        "failure" => "failed",
        _ => return None,
    };
    Some(TryOutcome { word, why: answer["reason"].as_str().map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_that_says_it_failed_has_failed() {
        let came = of_answer(&json!({"status": "failure", "reason": "no net"})).unwrap();
        assert_eq!(came, TryOutcome { word: "failed", why: Some("no net".into()) });
        assert_eq!(of_answer(&json!({"status": "validation_fail"})), Some(REFUSED));
        assert_eq!(of_answer(&json!({"status": "success"})), None);
        assert_eq!(of_answer(&json!("failure")), None);
    }

    #[test]
    fn only_tries_and_what_they_hand_out_are_asked_what_they_came_to() {
        let is = |id: &str| is_try(&TaskId(id.into()));
        assert!(is("write/try[1]") && is("write/child[1.2]"));
        assert!(!is("try") && !is("write") && !is("a/merge[1]"));
    }
}
