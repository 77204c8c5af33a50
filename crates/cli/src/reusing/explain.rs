//! Why each task of a run with `--reuse` ran, or whose output it took.

use crate::view::format;
use convoke_engine::report::RunReport;
use convoke_model::{Affected, TakenFrom, Usage};
use serde_json::{Value, json};

/// The reasons for which a task runs, in words.
pub fn reasons(because: &[Affected]) -> String {
    let words = because.iter().map(|reason| match reason {
        Affected::New => "it is new".to_owned(),
        Affected::Unfinished => "it did not succeed there".to_owned(),
        Affected::Set => "its output was set by a person there".to_owned(),
        Affected::Changed(part) => format!("{part} changed"),
        Affected::Input(name) => format!("input `{name}` changed"),
        Affected::Output(step) => format!("output of `{step}` changed"),
        Affected::Rendered(part) => format!("{part} came out differently"),
        Affected::Environment(name) => {
            format!("it reads the variable {name}, whose earlier value is not on record")
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The origin of an output that a task did not make.
pub fn origin(from: &TakenFrom) -> String {
    match from {
        TakenFrom::Run { run, task, .. } => format!("output of {task} in {run}"),
        TakenFrom::Set => "output as it was set".to_owned(),
    }
}

/// One line per task that was judged, and what was saved.
pub fn text(report: &RunReport) -> String {
    let mut lines = Vec::new();
    let (mut ran, mut reused, mut saved) = (0, 0, Usage::default());
    for (id, task) in &report.tasks {
        match &task.taken {
            Some(from) => {
                lines.push(format!("{id} reused: {}", origin(from)));
                reused += 1;
                if let TakenFrom::Run { saved: of_task, .. } = from {
                    saved += *of_task;
                }
            }
            None if !task.because.is_empty() => {
                lines.push(format!("{id} ran: {}", reasons(&task.because)));
                ran += 1;
            }
            None => {}
        }
    }
    let saved = format::usage(&saved).map(|saved| format!("; saved {saved}")).unwrap_or_default();
    lines.push(format!("{ran} ran, {reused} reused{saved}"));
    lines.join("\n")
}

/// The same for programs: of one task.
pub fn record(because: &[Affected], taken: Option<&TakenFrom>) -> Option<Value> {
    match taken {
        Some(from) => Some(json!({ "reused": from })),
        None if !because.is_empty() => Some(json!({ "ran": because })),
        None => None,
    }
}
