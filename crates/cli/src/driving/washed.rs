//! Nothing that comes back from outside reaches the journal, the screen or an error with a key in it.
//!
//! Services repeat what they were sent, tools print what they were given. Here, at the one door through which attempts
//! speak to the run, known keys are taken out of everything that is said, in every form they are known to take. Texts
//! without any are passed on as they are.

use convoke_agent::{
    Admission, Admitted, CallDemand, CallPermit, EngineLink, Report, Sink, TurnLog, TurnRecord,
};
use convoke_engine::Executor;
use convoke_model::{Assignment, AttemptEnd, Digest, Failure, JsonText, Payload, Usage, WaitsFor};
use convoke_providers::Scrubber;
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// Performs attempts as another does, and washes what they say.
pub struct Washed {
    inner: Arc<dyn Executor>,
    scrubber: Arc<Scrubber>,
}

impl Washed {
    /// Takes what the scrubber knows out of what `inner` says; where it knows nothing, nothing is in the way.
    pub fn over(inner: Arc<dyn Executor>, scrubber: Scrubber) -> Arc<dyn Executor> {
        match scrubber.knows_any() {
            true => Arc::new(Washed { inner, scrubber: Arc::new(scrubber) }),
            false => inner,
        }
    }
}

impl Executor for Washed {
    fn attempt(
        &self,
        assignment: Assignment,
        line: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let scrubber = self.scrubber.clone();
        let washed = Arc::new(WashedLine { line, scrubber: scrubber.clone(), renamed: Mutex::default() });
        let work = self.inner.attempt(assignment, washed, cancel);
        Box::pin(async move { end(&scrubber, work.await) })
    }
}

struct WashedLine {
    line: Arc<dyn EngineLink>,
    scrubber: Arc<Scrubber>,
    renamed: Mutex<HashMap<Digest, Digest>>,
}

impl Admission for WashedLine {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        self.line.admit(call)
    }

    fn settle(&self, permit: CallPermit, usage: &Usage, failure: Option<&Failure>) {
        self.line.settle(permit, usage, failure);
    }
}

impl Sink for WashedLine {
    fn report(&self, report: Report) {
        self.line.report(match report {
            Report::Progress { text } => Report::Progress { text: text_of(&self.scrubber, text) },
            Report::Noted { code, message } => {
                Report::Noted { code, message: text_of(&self.scrubber, message) }
            }
            other => other,
        });
    }
}

/// A kept value goes by its digest, in the piece that names it and when it is called back: what was washed has a new one.
impl TurnLog for WashedLine {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        let mut piece = record.piece;
        let mut kept = Vec::with_capacity(record.kept.len());
        for text in record.kept {
            let clean = json(&self.scrubber, text.clone());
            if clean != text {
                piece = self.renamed(&piece, digest_of(&text), digest_of(&clean));
            }
            kept.push(clean);
        }
        self.line.record(TurnRecord { piece: json(&self.scrubber, piece), kept, usage: record.usage })
    }

    /// Names of tools are offered and called as they are, so they stay so.
    fn settle_tools(&self, allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        self.line.settle_tools(allowed)
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        let new = self.renamed.lock().expect("nobody panics while holding it").get(&digest).copied();
        self.line.recall(new.unwrap_or(digest))
    }
}

impl WashedLine {
    fn renamed(&self, piece: &JsonText, old: Digest, new: Digest) -> JsonText {
        self.renamed.lock().expect("nobody panics while holding it").insert(old, new);
        let text = piece.as_str().replace(&old.to_string(), &new.to_string());
        JsonText::parse(text).expect("one digest in place of another leaves JSON as it was")
    }
}

fn digest_of(text: &JsonText) -> Digest {
    Digest::of(text.as_str().as_bytes())
}

fn end(scrubber: &Scrubber, end: AttemptEnd) -> AttemptEnd {
    match end {
        AttemptEnd::Finished { output, usage } => {
            AttemptEnd::Finished { output: json(scrubber, output), usage }
        }
        AttemptEnd::Failed { failure, usage, partial } => AttemptEnd::Failed {
            failure: washed_failure(scrubber, failure),
            usage,
            partial: partial.map(|partial| json(scrubber, partial)),
        },
        AttemptEnd::Suspended { state, waits_for, usage } => AttemptEnd::Suspended {
            state: json(scrubber, state),
            waits_for: match waits_for {
                WaitsFor::Gate(ask) => WaitsFor::Gate(json(scrubber, ask)),
                WaitsFor::Children(Payload::Inline(sub_queries)) => {
                    WaitsFor::Children(Payload::Inline(json(scrubber, sub_queries)))
                }
                other => other,
            },
            usage,
        },
        AttemptEnd::Lost => AttemptEnd::Lost,
    }
}

fn washed_failure(scrubber: &Scrubber, failure: Failure) -> Failure {
    Failure {
        message: text_of(scrubber, failure.message),
        hint: failure.hint.map(|hint| text_of(scrubber, hint)),
        ..failure
    }
}

fn text_of(scrubber: &Scrubber, text: String) -> String {
    scrubber.without_known(&text).unwrap_or(text)
}

/// Looked for in the texts that the JSON stands for: inside it, they may be escaped beyond recognition.
pub(super) fn json(scrubber: &Scrubber, text: JsonText) -> JsonText {
    let plain = !text.as_str().contains('\\');
    if plain && scrubber.without_known(text.as_str()).is_none() {
        return text;
    }
    let mut value = text.value();
    if scrubber.scrub_known(&mut value) { JsonText::of(&value) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::Class;
    use serde_json::json as value;

    const KEY: &str = "canary-\"quoted\"-4242";

    fn scrubber() -> Scrubber {
        Scrubber::new([KEY.to_owned()])
    }

    #[test]
    fn outputs_and_failures_come_out_clean_and_well_formed() {
        let output = JsonText::of(&value!({"said": format!("my key is {KEY}"), "n": 1}));
        let AttemptEnd::Finished { output, .. } =
            end(&scrubber(), AttemptEnd::Finished { output, usage: Usage::default() })
        else {
            panic!("it stays finished")
        };
        assert_eq!(output.value(), value!({"said": "my key is [secret]", "n": 1}));
        let failure = Failure::new(Class::Permission, format!("bad key {KEY}")).hint(KEY);
        let failure = washed_failure(&scrubber(), failure);
        assert_eq!(
            (failure.message.as_str(), failure.hint.as_deref()),
            ("bad key [secret]", Some("[secret]"))
        );
    }

    #[test]
    fn what_is_clean_is_passed_on_as_it_is() {
        let output = JsonText::parse("{\"b\": 1.50, \"a\": [ ]}".into()).unwrap();
        assert_eq!(json(&scrubber(), output.clone()).as_str().as_ptr(), output.as_str().as_ptr());
        assert!(!Scrubber::new([]).knows_any());
    }
}
