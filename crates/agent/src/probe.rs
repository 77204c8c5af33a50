//! A probe: a question to the world whether the effect of an attempt that was cut off happened.
//!
//! | asked | it happened | it did not | anything else |
//! |---|---|---|---|
//! | a command | exit code 0 | exit code 10 | it cannot be said |
//! | a tool | `true`, or an object with `happened: true` | `false`, or an object with `happened: false` | it cannot be said |
//!
//! What a command wrote, read as the output of a script step is, or the object that a tool gave, is the step's output. Invariant:
//! only a clear answer counts. A probe that fails, takes too long or gives an output that the step may not have says nothing; so a
//! program that breaks off (most end with exit code 1 then) never has an effect made twice. A probe changes nothing: it may be
//! asked as often as it takes.

use crate::driver::{placed, unused};
use crate::{Asker, Commands, EngineLink, Report, Sink, Toolbox, script, tool};
use convoke_model::{
    Assignment, AttemptEnd, Class, Failure, JsonText, ProbeCall, ProbeFinding, ProbeWork, ScriptCall,
    ToolWork, fit,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// The exit code of a command that says: it did not happen.
pub const ABSENT: i32 = 10;

/// Asks.
pub async fn perform(
    commands: &dyn Commands,
    toolbox: &dyn Toolbox,
    assignment: &Assignment,
    work: &ProbeWork,
    link: &dyn EngineLink,
    cancel: CancellationToken,
) -> AttemptEnd {
    let stop = cancel.child_token();
    let asking = async {
        match &work.asks {
            ProbeCall::Command(call) => {
                let call = placed(call, assignment.contract.as_deref());
                command(commands, assignment, work, &call, stop.clone(), link).await
            }
            ProbeCall::Tool(call) => by_tool(toolbox, assignment, work, call, stop.clone()).await,
        }
    };
    let mut asking = std::pin::pin!(asking);
    let found = match tokio::time::timeout(work.timeout, &mut asking).await {
        Ok(found) => found,
        Err(_) => {
            stop.cancel();
            // Nothing of it is left running.
            let _ = asking.await;
            Ok(ProbeFinding::Unclear(format!("it took longer than {} s", work.timeout.as_secs_f64())))
        }
    };
    match found {
        Ok(finding) => AttemptEnd::Probed(finding),
        Err(failure) if cancel.is_cancelled() => unused(failure),
        Err(failure) => AttemptEnd::Probed(ProbeFinding::Unclear(failure.message)),
    }
}

/// A probe's process is ended like any other; nothing else that it says is for the run.
struct Processes<'a>(&'a dyn EngineLink);

impl Sink for Processes<'_> {
    fn report(&self, report: Report) {
        if matches!(report, Report::ProcessStarted { .. } | Report::Progress { .. }) {
            self.0.report(report);
        }
    }

    fn starts_until(&self) -> Option<std::time::Instant> {
        self.0.starts_until()
    }
}

async fn command(
    commands: &dyn Commands,
    assignment: &Assignment,
    work: &ProbeWork,
    call: &ScriptCall,
    cancel: CancellationToken,
    link: &dyn EngineLink,
) -> Result<ProbeFinding, Failure> {
    let result = commands.run(call, cancel, &Processes(link)).await?;
    Ok(match result.exit_code {
        0 => {
            let call = ScriptCall { schema: work.schema.clone(), ..call.clone() };
            match script::output(&assignment.step, &call, &result) {
                Ok(output) => ProbeFinding::Happened(output),
                Err(failure) => ProbeFinding::Unclear(format!("it says yes, but {}", failure.message)),
            }
        }
        ABSENT => ProbeFinding::Absent,
        code => ProbeFinding::Unclear(format!("`{}` ended with exit code {code}", call.command)),
    })
}

async fn by_tool(
    toolbox: &dyn Toolbox,
    assignment: &Assignment,
    work: &ProbeWork,
    call: &ToolWork,
    cancel: CancellationToken,
) -> Result<ProbeFinding, Failure> {
    // The key is the effect's; a probe is no repetition of it.
    let asker = Asker { key: "", ..Asker::from(assignment) };
    let found = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::new(Class::Cancelled, "cancelled")),
        found = tool::find(toolbox, asker, call) => found,
    };
    let probe = found?;
    let result = toolbox.call(asker, &call.servers, &probe, &call.arguments, cancel).await?;
    if result.failed {
        let message = format!("tool `{}` failed: {}", probe.spec.name, result.text.trim());
        return Err(Failure::new(Class::Fatal, message));
    }
    let answer = match tool::data(&result) {
        Value::String(text) => serde_json::from_str(text.trim()).unwrap_or(Value::String(text)),
        other => other,
    };
    Ok(finding(&probe.spec.name, work, answer))
}

fn finding(probe: &str, work: &ProbeWork, answer: Value) -> ProbeFinding {
    let (happened, output) = match answer {
        Value::Bool(happened) => (Some(happened), Map::new()),
        Value::Object(object) => (object.get("happened").and_then(Value::as_bool), object),
        _ => (None, Map::new()),
    };
    match happened {
        Some(false) => ProbeFinding::Absent,
        None => ProbeFinding::Unclear(format!("tool `{probe}` answered neither true nor false")),
        Some(true) => {
            let violations = work.schema.as_ref().map(|schema| fit::violations(schema, &output));
            match violations.filter(|violations| !violations.is_empty()) {
                Some(violations) => {
                    let why = violations.join("; ");
                    ProbeFinding::Unclear(format!(
                        "tool `{probe}` says yes, but its output does not fit: {why}"
                    ))
                }
                None => ProbeFinding::Happened(JsonText::of(&Value::Object(output))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    #[test]
    fn only_a_clear_answer_of_a_tool_counts() {
        let call = ToolWork {
            servers: Default::default(),
            server: "s".into(),
            tool: "t".into(),
            arguments: JsonText::of(&json!({})),
            schema: None,
        };
        let work = |schema| ProbeWork {
            asks: ProbeCall::Tool(Box::new(call.clone())),
            schema,
            timeout: Duration::from_secs(1),
        };
        let of = |answer| finding("s__t", &work(None), answer);
        assert_eq!(of(json!(false)), ProbeFinding::Absent);
        assert_eq!(of(json!({"happened": false, "id": 1})), ProbeFinding::Absent);
        assert_eq!(of(json!(true)), ProbeFinding::Happened(JsonText::of(&json!({}))));
        for unclear in [json!(null), json!("yes"), json!({"happened": "true"}), json!([true]), json!(1)] {
            assert!(matches!(of(unclear.clone()), ProbeFinding::Unclear(_)), "{unclear}");
        }
        let schema = || serde_json::from_value(json!({"id": {"type": "number"}})).unwrap();
        let fits = |answer| finding("s__t", &work(Some(schema())), answer);
        assert!(matches!(fits(json!({"happened": true, "id": 7})), ProbeFinding::Happened(_)));
        assert!(matches!(fits(json!(true)), ProbeFinding::Unclear(_)));
    }
}
