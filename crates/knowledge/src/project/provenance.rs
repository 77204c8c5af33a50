//! Results, and the way from each to what it was made of.

use super::{Beside, Projector, names};
use crate::vocab::{cv, prov};
use convoke_model::{Digest, Payload, TakenFrom, Timestamp};
use convoke_plan::Kind;
use oxrdf::NamedNode;

/// A value of fewer bytes could be guessed from its digest.
pub(super) const GUESSABLE: u64 = 64;

/// So much of an output is told where contents are.
const PREVIEW: usize = 2000;

impl Projector {
    /// A task has its output.
    pub(super) fn succeeded(&mut self, task: &str, output: &Payload, beside: &dyn Beside, at: Timestamp) {
        self.end(task, "Succeeded", at);
        self.result(task, output, beside);
    }

    /// A task takes the output of another run's task, or one that a person has set.
    pub(super) fn output_taken(
        &mut self,
        task: &str,
        output: &Payload,
        from: &TakenFrom,
        beside: &dyn Beside,
        at: Timestamp,
    ) {
        self.end(task, "Succeeded", at);
        self.result(task, output, beside);
        let me = self.task(task);
        match from {
            TakenFrom::Run { run, task: theirs, .. } => {
                let mut names = names::Names::new(run, self.telling.contents);
                let base = names.task(&self.outline, &theirs.0, 0);
                self.quads.add(
                    &names::part(&me, "result"),
                    prov("wasDerivedFrom"),
                    names::part(&base, "result"),
                );
                self.quads.add(&me, cv("takenFrom"), base);
            }
            TakenFrom::Set => self.quads.add(&me, cv("answeredBy"), cv("Person")),
        }
    }

    fn result(&mut self, task: &str, output: &Payload, beside: &dyn Beside) {
        let by = self.task(task);
        let (me, run) = (names::part(&by, "result"), self.names.run());
        let class = match self.outline.find(task).map(|found| &found.node.kind) {
            Some(Kind::Reduce(_) | Kind::Verify(_)) => "SynthesisResult",
            Some(Kind::Agent(_) | Kind::Phase(_) | Kind::Goal(_) | Kind::Item(_)) => "AgentExecutionResult",
            _ => "TaskResult",
        };
        self.quads.class(&me, class);
        self.quads.add(&me, prov("wasGeneratedBy"), by);
        self.quads.add(&run, cv("hasResult"), me.clone());
        self.content(&me, "content", output);
        for source in self.sources_of(task, output) {
            let source = names::part(&self.task(&source), "result");
            self.quads.add(&me, prov("wasDerivedFrom"), source);
        }
        if class == "SynthesisResult" {
            self.citations(&me, output, beside);
        }
    }

    /// Tasks with an output that went into this one.
    fn sources_of(&self, task: &str, output: &Payload) -> Vec<String> {
        let mut sources = self.tasks.get(task).map(|task| task.sources.clone()).unwrap_or_default();
        if matches!(output, Payload::Gathered) {
            let is_member = |id: &str| {
                let rest = id.strip_prefix(task).filter(|rest| rest.starts_with(['[', '/']));
                rest.is_some_and(|rest| !rest[1..].contains('/'))
            };
            sources.extend(self.tasks.keys().filter(|id| is_member(id)).cloned());
        }
        sources.sort();
        sources.dedup();
        sources.retain(|source| self.tasks.get(source).is_some_and(|source| source.ended.is_some()));
        sources
    }

    /// A payload becomes the address of its content, never the content.
    pub(super) fn content(&mut self, of: &NamedNode, predicate: &str, payload: &Payload) {
        let (digest, size) = match payload {
            Payload::Inline(text) => (Digest::of(text.as_str().as_bytes()), text.as_str().len() as u64),
            Payload::Blob { digest, size } => (*digest, *size),
            Payload::Gathered => return,
        };
        if size >= GUESSABLE {
            self.quads.add(of, cv(predicate), names::thing("content", &digest.to_string()));
        }
        self.quads.number(of, "size", size);
        if let (true, Payload::Inline(text)) = (self.telling.contents, payload) {
            let short: String = text.as_str().chars().take(PREVIEW).collect();
            self.quads.text(of, "preview", &short);
        }
    }
}
