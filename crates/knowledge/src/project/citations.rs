//! What an answer cites: claims and passages by their digests, sources by their tasks, and what came of the comparison.
//!
//! Synthesis has recorded it in its output (`citations`); here it is told, never judged. A claim or a passage that is short enough to be
//! guessed from its digest has none.

use super::provenance::GUESSABLE;
use super::{Beside, Projector, names};
use crate::vocab::cv;
use convoke_model::citations::{Citation, Verdict};
use convoke_model::{Digest, JsonText, Payload};
use oxrdf::NamedNode;
use serde::Deserialize;
use serde_json::Value;

impl Projector {
    /// Tells the citations of a result.
    pub(super) fn citations(&mut self, result: &NamedNode, output: &Payload, beside: &dyn Beside) {
        let Some(report) = recorded(output, beside) else { return };
        // Data of an older or a newer engine may say something else.
        let Ok(citations) = Vec::<Citation>::deserialize(&report["citations"]) else { return };
        for (number, citation) in citations.iter().enumerate() {
            let me = names::part(result, &format!("citation:{}", number + 1));
            self.quads.class(&me, "Citation");
            self.quads.add(&me, cv("citedIn"), result.clone());
            self.quads.add(&me, cv("verdict"), cv(word_of(citation.verdict)));
            for source in &citation.sources {
                let Some(task) = report["sources"][*source]["task"].as_str() else { continue };
                let source = names::part(&self.task(task), "result");
                self.quads.add(&me, cv("cites"), source);
            }
            self.passage(&me, "claim", &citation.claim, None);
            if let (Some(quote), Some(digest)) = (&citation.quote, citation.excerpt) {
                self.passage(&me, "excerpt", quote, Some(digest));
            }
        }
    }

    /// A text by its digest; the text itself where contents are told.
    fn passage(&mut self, of: &NamedNode, predicate: &str, text: &str, known: Option<Digest>) {
        if text.len() as u64 >= GUESSABLE {
            let digest = known.unwrap_or_else(|| Digest::of(text.as_bytes()));
            self.quads.add(of, cv(predicate), names::thing("content", &digest.to_string()));
        }
        if self.telling.contents {
            self.quads.text(of, &format!("{predicate}Text"), text);
        }
    }
}

/// The output of a merge, where it has citations.
fn recorded(output: &Payload, beside: &dyn Beside) -> Option<Value> {
    let text: JsonText = match output {
        Payload::Inline(text) => text.clone(),
        Payload::Blob { digest, .. } => beside.content(digest)?,
        Payload::Gathered => return None,
    };
    // Reports may be long, and most cite nothing.
    text.as_str().contains("\"citations\"").then(|| text.value())
}

fn word_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::UnknownSource => "UnknownSource",
        Verdict::QuoteMissing => "QuoteMissing",
        Verdict::QuoteFound => "QuoteFound",
        Verdict::Unchecked => "Unchecked",
    }
}
