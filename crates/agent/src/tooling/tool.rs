//! A tool call as a step of its own: no model, one call, its data as the output.
//!
//! The step stands in a file, so the call is consented to; where the toolbox itself asks about it, a person must allow it first.
//! A tool that says it failed has failed the step. What comes back is the tool's data where it gives data, else its
//! text, read as JSON where it is an object or a list: `{"result": …}` unless it is an object.

use crate::approving::{self, Approver, Clearance, Look};
use crate::driver::unused;
use crate::{Asker, EngineLink, Report, Tool, ToolResult, Toolbox};
use convoke_failpoint::failpoint;
use convoke_model::fit;
use convoke_model::{
    Answer, Approvals, Ask, AskedCall, Assignment, AttemptEnd, Class, Failure, JsonText, OutputSchema,
    Servers, ToolWork, Usage, WaitsFor, reason,
};
use serde_json::{Value, json};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Makes the call.
pub async fn perform(
    toolbox: &dyn Toolbox,
    assignment: &Assignment,
    work: &ToolWork,
    link: &dyn EngineLink,
    cancel: CancellationToken,
) -> AttemptEnd {
    let named = |mut failure: Failure| {
        failure.message = format!("step `{}`: {}", assignment.step, failure.message);
        unused(failure)
    };
    let found = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::new(Class::Cancelled, "cancelled")),
        found = find(toolbox, assignment.into(), work) => found,
    };
    let tool = match found {
        Ok(tool) => tool,
        Err(failure) => return named(failure),
    };
    let arguments = match clear(toolbox, assignment, work, &tool).await {
        Ok(arguments) => arguments,
        Err(Held::Asked(ask)) => {
            let state = JsonText::of(&json!({ "asked": true }));
            return AttemptEnd::Suspended { state, waits_for: WaitsFor::Gate(ask), usage: Usage::default() };
        }
        Err(Held::Denied(why)) => {
            let message = format!("the call of `{}` was not made: {why}", tool.spec.name);
            return named(Failure::new(Class::Permission, message).reason(reason::CALL_DENIED));
        }
        Err(Held::Ended(violation)) => {
            let message = violation.message.clone();
            link.report(Report::Noted { code: "security_violation", message });
            return named(violation);
        }
    };
    let begun = Instant::now();
    link.report(Report::ToolStarted { tool: tool.spec.name.clone() });
    failpoint!("agent.tool.found");
    let result = toolbox.call(assignment.into(), &work.servers, &tool, &arguments, cancel).await;
    failpoint!("agent.tool.called");
    let failed = result.as_ref().map_or(true, |result| result.failed);
    let ms = begun.elapsed().as_millis() as u64;
    link.report(Report::ToolCalled { tool: tool.spec.name.clone(), ms, failed });
    match result.and_then(|result| output(&tool, work.schema.as_ref(), result)) {
        Ok(output) => AttemptEnd::Finished { output, usage: Usage::default() },
        Err(failure) => named(failure),
    }
}

/// Why a call is not made now.
enum Held {
    /// A person must decide it first.
    Asked(JsonText),
    /// It is not made, for this reason.
    Denied(String),
    /// It is not made, and the run ends.
    Ended(Failure),
}

/// The arguments of the call, once nothing stands against it.
async fn clear(
    toolbox: &dyn Toolbox,
    assignment: &Assignment,
    work: &ToolWork,
    tool: &Tool,
) -> Result<JsonText, Held> {
    let approvals = Approvals::default();
    let approver = Approver {
        toolbox,
        asker: assignment.into(),
        servers: &work.servers,
        approvals: &approvals,
        listed: std::slice::from_ref(&tool.spec.name),
        folder: None,
        remembered: &assignment.remembered,
        was_cut_off: false,
    };
    let ruling = match &assignment.answer {
        Some(Answer::Approval { rulings }) => rulings.values().next(),
        _ => None,
    };
    // A person allows one try: another one is another call, and is asked about anew.
    let tries = (assignment.failures + assignment.cut_off) as usize;
    match (approver.look_at(("step", tries), tool, &work.arguments, None).await, ruling) {
        (Look::End(why), _) => Err(Held::Ended(approving::policy_violation(&tool.spec.name, &why))),
        (_, Some(ruling)) if !ruling.verdict.allows() => Err(Held::Denied(approving::refusal(ruling))),
        (Look::Clear(Clearance::Denied(why)), _) => Err(Held::Denied(why)),
        (Look::Clear(Clearance::Free) | Look::Waived(_), _) => Ok(work.arguments.clone()),
        (Look::Clear(Clearance::Approved(arguments)) | Look::Remembered(_, arguments), _) => Ok(arguments),
        (Look::Ask(call), Some(ruling)) if call.hash == ruling.hash => {
            Ok(JsonText::parse(call.arguments).expect("it is JSON"))
        }
        (Look::Ask(call), Some(ruling)) if call.plan != ruling.plan => Err(Held::Denied(
            "it is not the call that was allowed: what it would do has changed since".into(),
        )),
        (Look::Ask(call), _) => {
            let asked = AskedCall { id: "1".to_owned(), ..call };
            let prompt = approving::question(&assignment.step, &assignment.task, "", &[(0, asked.clone())]);
            let within_ms = approvals.within().as_millis() as u64;
            Err(Held::Asked(JsonText::of(&Ask::Approval { prompt, calls: vec![asked], within_ms })))
        }
    }
}

/// Only the server that is named is asked: the others need not even be there.
pub(crate) async fn find(toolbox: &dyn Toolbox, asker: Asker<'_>, work: &ToolWork) -> Result<Tool, Failure> {
    let named = work.servers.get_key_value(&work.server);
    let alone: Servers = named.map(|(name, server)| (name.clone(), server.clone())).into_iter().collect();
    let tools = toolbox.list(asker, &alone).await?;
    if let Some(tool) = tools.iter().find(|tool| tool.name == work.tool) {
        return Ok(tool.clone());
    }
    let known: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let message = format!("server `{}` has no tool `{}`", work.server, work.tool);
    let hint = match known.is_empty() {
        true => "it has none that may be used".to_owned(),
        false => format!("it has {}", known.join(", ")),
    };
    Err(Failure::new(Class::Fatal, message).reason("unknown_tool").hint(hint))
}

fn output(tool: &Tool, schema: Option<&OutputSchema>, result: ToolResult) -> Result<JsonText, Failure> {
    if result.failed {
        let message = format!("tool `{}` failed: {}", tool.spec.name, result.text.trim());
        return Err(Failure::new(Class::Fatal, message).reason("tool_failed"));
    }
    let output = match data(&result) {
        Value::Object(object) => object,
        other => serde_json::Map::from_iter([("result".to_owned(), other)]),
    };
    let violations = schema.map(|schema| fit::violations(schema, &output)).unwrap_or_default();
    if !violations.is_empty() {
        let message = format!("what `{}` gave does not fit: {}", tool.spec.name, violations.join("; "));
        return Err(Failure::new(Class::InvalidOutput, message).reason("schema_invalid"));
    }
    Ok(JsonText::of(&Value::Object(output)))
}

pub(crate) fn data(result: &ToolResult) -> Value {
    if let Some(structured) = &result.structured {
        return structured.value();
    }
    match serde_json::from_str(&result.text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => json!(result.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Alone, Review, ToolSpec};
    use convoke_model::{Retry, TaskId, Verdict, Work, ruled_alike};
    use futures::future::BoxFuture;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn tool() -> Tool {
        let spec = ToolSpec { name: "s__t".into(), description: String::new(), input_schema: json!({}) };
        Tool {
            server: "s".into(),
            name: "t".into(),
            spec,
            output_schema: None,
            repeatable: true,
            read_only: true,
            destructive: false,
        }
    }

    fn given(text: &str) -> ToolResult {
        ToolResult { text: text.into(), ..ToolResult::default() }
    }

    #[test]
    fn data_goes_before_text_and_text_is_read_where_it_is_data() {
        let of = |result| output(&tool(), None, result).unwrap().value();
        assert_eq!(of(given("plain 7")), json!({"result": "plain 7"}));
        assert_eq!(of(given("7")), json!({"result": "7"}));
        assert_eq!(of(given("[1, 2]")), json!({"result": [1, 2]}));
        assert_eq!(of(given("{\"n\": 1}")), json!({"n": 1}));
        let structured = Some(JsonText::of(&json!({"n": 2})));
        assert_eq!(of(ToolResult { structured, ..given("{\"n\": 1}") }), json!({"n": 2}));
    }

    #[test]
    fn a_tool_that_failed_fails_its_step() {
        let failed = ToolResult { failed: true, ..given("no such file\n") };
        let failure = output(&tool(), None, failed).unwrap_err();
        assert_eq!(
            (failure.class, failure.message.as_str()),
            (Class::Fatal, "tool `s__t` failed: no such file")
        );
    }

    /// A box with one tool, about whose calls it asks.
    struct Asking {
        review: Review,
        called: AtomicU32,
    }

    impl Toolbox for Asking {
        fn list<'a>(
            &'a self,
            _asker: Asker<'a>,
            _servers: &'a Servers,
        ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
            Box::pin(std::future::ready(Ok(vec![Tool { read_only: false, ..tool() }])))
        }

        fn call<'a>(
            &'a self,
            _asker: Asker<'a>,
            _servers: &'a Servers,
            _tool: &'a Tool,
            _arguments: &'a JsonText,
            _cancel: CancellationToken,
        ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
            self.called.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(Ok(given("done"))))
        }

        fn review<'a>(
            &'a self,
            _asker: Asker<'a>,
            _servers: &'a Servers,
            _tool: &'a Tool,
            _arguments: &'a JsonText,
        ) -> BoxFuture<'a, Review> {
            Box::pin(std::future::ready(self.review.clone()))
        }
    }

    fn asks(action: &str) -> Asking {
        let review = Review::Ask { action: action.into(), reason: "the policy asks".into() };
        Asking { review, called: AtomicU32::new(0) }
    }

    async fn performed(toolbox: &Asking, answer: Option<Answer>, failures: u32) -> AttemptEnd {
        let work = ToolWork {
            servers: Arc::default(),
            server: "s".into(),
            tool: "t".into(),
            arguments: JsonText::of(&json!({"x": 1})),
            schema: None,
        };
        let assignment = Assignment {
            trace: None,
            task: TaskId("a".into()),
            attempt: 1,
            key: "key".into(),
            step: "a".into(),
            work: Work::Tool(Box::new(work.clone())),
            seed: 0,
            continues: Vec::new(),
            past: Vec::new(),
            answer,
            retry: Retry::once(),
            failures,
            cut_off: 0,
            known_results: Vec::new(),
            remembered: Vec::new(),
            guidance: Vec::new(),
            workspace: None,
            proof: None,
            contract: None,
        };
        perform(toolbox, &assignment, &work, &Alone, CancellationToken::new()).await
    }

    fn asked(end: AttemptEnd) -> Vec<AskedCall> {
        let AttemptEnd::Suspended { waits_for: WaitsFor::Gate(ask), .. } = end else { panic!("{end:?}") };
        match serde_json::from_str(ask.as_str()).unwrap() {
            Ask::Approval { calls, .. } => calls,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_step_waits_where_the_toolbox_asks_and_makes_the_call_that_was_allowed_in_one_try() {
        let toolbox = asks("rm a");
        let calls = asked(performed(&toolbox, None, 0).await);
        let yes = Some(ruled_alike(&calls, Verdict::Approve, None));
        assert_eq!(toolbox.called.load(Ordering::SeqCst), 0);
        assert!(matches!(performed(&toolbox, yes.clone(), 0).await, AttemptEnd::Finished { .. }));
        let again = asked(performed(&toolbox, yes.clone(), 1).await);
        assert_ne!(again[0].hash, calls[0].hash, "another try is asked about anew");
        for (toolbox, answer) in
            [(asks("rm b"), yes), (asks("rm a"), Some(ruled_alike(&calls, Verdict::Deny, None)))]
        {
            let AttemptEnd::Failed { failure, .. } = performed(&toolbox, answer, 0).await else {
                panic!("made")
            };
            assert_eq!(failure.reason.as_deref(), Some(reason::CALL_DENIED));
            assert_eq!(toolbox.called.load(Ordering::SeqCst), 0);
        }
        let refuses = Asking { review: Review::Deny { reason: "no".into() }, called: AtomicU32::new(0) };
        assert!(matches!(performed(&refuses, None, 0).await, AttemptEnd::Failed { .. }));
        assert_eq!(refuses.called.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_declared_shape_is_held() {
        let schema: OutputSchema = serde_json::from_value(json!({"n": {"type": "number"}})).unwrap();
        assert!(output(&tool(), Some(&schema), given("{\"n\": 1}")).is_ok());
        let failure = output(&tool(), Some(&schema), given("none")).unwrap_err();
        assert_eq!(failure.class, Class::InvalidOutput);
    }
}
