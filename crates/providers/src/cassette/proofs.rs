//! Checks of work on a cassette: a replay touches no file and gets the findings that were recorded.
//!
//! A check is a line like the call of a tool, under a name that no tool has, and is found again by its conditions. Of equal checks, a task
//! gets its own, in their order.

use super::record::Recorder;
use super::replay::Player;
use super::tool_call::{CallLine, CallOutcome, ToolLine};
use convoke_agent::{Asker, Prover, Tool, ToolResult, ToolSpec};
use convoke_model::{Failure, JsonText, ProofCall, ProofFinding};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The name under which looks stand.
const LOOK: &str = "(proof)";

/// A look at work, with what it depends on.
fn asked(what: &str, proof: &ProofCall) -> JsonText {
    JsonText::of(&json!({ "look": what, "conditions": proof.conditions, "protect": proof.protect }))
}

fn tool() -> Tool {
    let spec = ToolSpec { name: LOOK.into(), description: String::new(), input_schema: Value::Null };
    Tool {
        server: LOOK.into(),
        name: LOOK.into(),
        spec,
        output_schema: None,
        repeatable: true,
        read_only: true,
        destructive: false,
    }
}

/// Looks whose findings are written down.
pub struct RecordingProver {
    prover: Arc<dyn Prover>,
    recorder: Arc<Recorder>,
}

impl RecordingProver {
    pub(super) fn new(prover: Arc<dyn Prover>, recorder: Arc<Recorder>) -> RecordingProver {
        RecordingProver { prover, recorder }
    }

    fn note(&self, asker: Asker<'_>, arguments: &JsonText, outcome: Result<JsonText, Failure>) {
        let scrubber = &self.recorder.scrubber;
        let result = outcome.map(|found| ToolResult { structured: Some(found), ..ToolResult::default() });
        let mut line = CallLine::new(asker, 0, super::tool_call::asked(&tool(), arguments, scrubber));
        line.outcome = CallOutcome::of(&result, scrubber);
        self.recorder.tape.write_tool(&ToolLine::ToolCall(line)).ok();
    }
}

impl Prover for RecordingProver {
    fn begin<'a>(
        &'a self,
        asker: Asker<'a>,
        proof: &'a ProofCall,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<JsonText, Failure>> {
        Box::pin(async move {
            let found = self.prover.begin(asker, proof, cancel).await;
            self.note(asker, &asked("begin", proof), found.clone());
            found
        })
    }

    fn check<'a>(
        &'a self,
        asker: Asker<'a>,
        proof: &'a ProofCall,
        output: &'a JsonText,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<ProofFinding>, Failure>> {
        Box::pin(async move {
            let found = self.prover.check(asker, proof, output, cancel).await;
            let arguments = asked("check", proof);
            self.note(asker, &arguments, found.as_ref().map(JsonText::of).map_err(Clone::clone));
            found
        })
    }
}

/// Looks that a cassette remembers.
pub struct ReplayProver {
    player: Arc<Player>,
}

impl ReplayProver {
    pub(super) fn new(player: Arc<Player>) -> ReplayProver {
        ReplayProver { player }
    }

    async fn played(&self, asker: Asker<'_>, arguments: &JsonText) -> Result<JsonText, Failure> {
        let result = self.player.result(asker, &tool(), arguments).await?;
        result.structured.ok_or_else(|| {
            super::replay::not_recorded(format!(
                "a look at the work of `{}` is not on the cassette",
                asker.task
            ))
        })
    }
}

impl Prover for ReplayProver {
    fn begin<'a>(
        &'a self,
        asker: Asker<'a>,
        proof: &'a ProofCall,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<JsonText, Failure>> {
        Box::pin(async move { self.played(asker, &asked("begin", proof)).await })
    }

    fn check<'a>(
        &'a self,
        asker: Asker<'a>,
        proof: &'a ProofCall,
        _: &'a JsonText,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<ProofFinding>, Failure>> {
        Box::pin(async move {
            let found = self.played(asker, &asked("check", proof)).await?;
            serde_json::from_str(found.as_str()).map_err(|error| {
                super::replay::not_recorded(format!("findings on the cassette cannot be read: {error}"))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::identity;
    use super::*;

    #[test]
    fn a_look_depends_on_what_must_hold_and_not_on_what_was_there() {
        let proof = ProofCall { max_retries: 2, ..ProofCall::default() };
        let other = ProofCall { baseline: Some(JsonText::of(&json!({"a": 1}))), ..proof.clone() };
        let key = |proof: &ProofCall| identity(&asked("begin", proof).value());
        assert_eq!(key(&proof), key(&other));
        assert_ne!(key(&proof), key(&ProofCall { protect: vec!["a".into()], ..proof.clone() }));
    }
}
