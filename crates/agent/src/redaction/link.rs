//! What an attempt says, redacted: nothing that comes back from outside reaches the journal, the screen or an error with a known
//! credential in it.
//!
//! Services repeat what they were sent, and tools print what they were given. [`RedactedLink`] wraps the link of an attempt, which
//! is the only way to the run, and redacts reports, turn records and the attempt's end.

use super::Scrubber;
use crate::{Admission, Admitted, CallDemand, CallPermit, EngineLink, Report, Sink, TurnLog, TurnRecord};
use convoke_model::{
    AttemptEnd, Digest, EffectClaim, EffectCommit, Failure, JsonText, Payload, ProbeFinding, ProofCheck,
    ProofFinding, ProofTold, Usage, WaitsFor,
};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The link of one attempt, redacted.
pub struct RedactedLink {
    link: Arc<dyn EngineLink>,
    scrubber: Arc<Scrubber>,
    /// The digests of kept values before and after redaction.
    renamed: Mutex<HashMap<Digest, Digest>>,
    /// The end of what was said last, which could be the beginning of a secret: services send texts in pieces.
    held: Mutex<String>,
}

impl Admission for RedactedLink {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        self.link.admit(call)
    }

    fn settle(&self, permit: CallPermit, usage: &Usage, failure: Option<&Failure>) {
        self.link.settle(permit, usage, failure);
    }
}

impl Sink for RedactedLink {
    fn report(&self, report: Report) {
        let report = match report {
            Report::Progress { text } if !text.is_empty() => return self.show(&text),
            other => other,
        };
        self.show_held();
        self.link.report(match report {
            Report::Noted { code, message } => {
                Report::Noted { code, message: text_of(&self.scrubber, message) }
            }
            Report::EffectCommitted(commit) => Report::EffectCommitted(self.commit(commit)),
            other => other,
        });
    }

    fn starts_until(&self) -> Option<std::time::Instant> {
        self.link.starts_until()
    }
}

/// A kept value is named by its digest, in the piece and in a recall. A redacted value has another digest, so both are translated.
impl TurnLog for RedactedLink {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        self.show_held();
        let mut piece = record.piece;
        let mut kept = Vec::with_capacity(record.kept.len());
        for text in record.kept {
            let clean = json(&self.scrubber, text.clone());
            if clean != text {
                piece = self.rename(&piece, digest_of(&text), digest_of(&clean));
            }
            kept.push(clean);
        }
        let claimed = record.claimed.into_iter();
        let claimed =
            claimed.map(|claim| EffectClaim { what: text_of(&self.scrubber, claim.what), ..claim }).collect();
        let committed = record.committed.into_iter().map(|commit| self.commit(commit)).collect();
        let piece = json(&self.scrubber, piece);
        self.link.record(TurnRecord { piece, kept, usage: record.usage, claimed, committed })
    }

    /// What commands print may hold anything.
    fn prove(&self, told: ProofTold) -> BoxFuture<'_, Result<(), Failure>> {
        self.link.prove(redacted_proof(&self.scrubber, told))
    }

    /// Names of tools are offered and called as they are, so they stay so.
    fn settle_tools(&self, allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        self.link.settle_tools(allowed)
    }

    fn guidance(&self) -> Vec<String> {
        self.link.guidance()
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        let new = self.renamed.lock().expect("a panic poisoned this lock").get(&digest).copied();
        self.link.recall(new.unwrap_or(digest))
    }
}

impl RedactedLink {
    /// Redacts what is said to `link`.
    pub fn over(link: Arc<dyn EngineLink>, scrubber: Arc<Scrubber>) -> Arc<RedactedLink> {
        Arc::new(RedactedLink { link, scrubber, renamed: Mutex::default(), held: Mutex::default() })
    }

    /// The end of the attempt, redacted.
    pub fn end(&self, end: AttemptEnd) -> AttemptEnd {
        self.show_held();
        redacted_end(&self.scrubber, end)
    }

    /// Shows a piece of a text, as far as it is clear that no secret begins at its end.
    fn show(&self, piece: &str) {
        let decided = {
            let mut held = self.held.lock().expect("a panic poisoned this lock");
            held.push_str(piece);
            let decided = self.scrubber.decided(&held);
            let rest = held.split_off(decided);
            std::mem::replace(&mut *held, rest)
        };
        self.show_clean(decided);
    }

    /// Shows what was held back: nothing more is coming that could make a secret of it.
    fn show_held(&self) {
        let held = std::mem::take(&mut *self.held.lock().expect("a panic poisoned this lock"));
        self.show_clean(held);
    }

    fn show_clean(&self, text: String) {
        if !text.is_empty() {
            self.link.report(Report::Progress { text: text_of(&self.scrubber, text) });
        }
    }

    fn commit(&self, commit: EffectCommit) -> EffectCommit {
        redacted_commit(&self.scrubber, commit)
    }

    fn rename(&self, piece: &JsonText, old: Digest, new: Digest) -> JsonText {
        self.renamed.lock().expect("a panic poisoned this lock").insert(old, new);
        let text = piece.as_str().replace(&old.to_string(), &new.to_string());
        JsonText::parse(text).expect("one digest in place of another leaves JSON as it was")
    }
}

fn digest_of(text: &JsonText) -> Digest {
    Digest::of(text.as_str().as_bytes())
}

fn redacted_end(scrubber: &Scrubber, end: AttemptEnd) -> AttemptEnd {
    match end {
        AttemptEnd::Finished { output, usage } => {
            AttemptEnd::Finished { output: json(scrubber, output), usage }
        }
        AttemptEnd::Failed { failure, usage, partial } => AttemptEnd::Failed {
            failure: redacted_failure(scrubber, failure),
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
        AttemptEnd::Probed(ProbeFinding::Happened(output)) => {
            AttemptEnd::Probed(ProbeFinding::Happened(json(scrubber, output)))
        }
        AttemptEnd::Probed(ProbeFinding::Unclear(why)) => {
            AttemptEnd::Probed(ProbeFinding::Unclear(text_of(scrubber, why)))
        }
        end @ (AttemptEnd::Lost | AttemptEnd::Detached | AttemptEnd::Probed(ProbeFinding::Absent)) => end,
    }
}

fn redacted_commit(scrubber: &Scrubber, commit: EffectCommit) -> EffectCommit {
    EffectCommit { result: commit.result.map(|result| json(scrubber, result)), ..commit }
}

/// What is told about proof, redacted.
pub(super) fn redacted_proof(scrubber: &Scrubber, told: ProofTold) -> ProofTold {
    let finding =
        |finding: ProofFinding| ProofFinding { evidence: text_of(scrubber, finding.evidence), ..finding };
    match told {
        ProofTold::Checked(check) => ProofTold::Checked(ProofCheck {
            findings: check.findings.into_iter().map(finding).collect(),
            ..check
        }),
        ProofTold::Done(commit) => ProofTold::Done(redacted_commit(scrubber, commit)),
        begun @ ProofTold::Begun(_) => begun,
    }
}

/// A failure, redacted.
pub(super) fn redacted_failure(scrubber: &Scrubber, failure: Failure) -> Failure {
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
            redacted_end(&scrubber(), AttemptEnd::Finished { output, usage: Usage::default() })
        else {
            panic!("it stays finished")
        };
        assert_eq!(output.value(), value!({"said": "my key is [secret]", "n": 1}));
        let failure = Failure::new(Class::Permission, format!("bad key {KEY}")).hint(KEY);
        let failure = redacted_failure(&scrubber(), failure);
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
