//! Partials: every file that a template can include, import or extend, read before the run.
//!
//! Where a name is looked for is `template`'s rule; what is missing is its finding too, at the place of the include.

use super::load::Bundle;
use crate::check::outline::Outline;
use crate::check::texts::texts;
use crate::diagnostic::Diagnostic;
use crate::source::{Sources, Text};
use crate::template::{Include, find_includes};
use std::collections::BTreeMap;

/// Reads all partials of a bundle, by normalised path.
pub(super) fn collect(
    bundle: &Bundle,
    sources: &dyn Sources,
    findings: &mut Vec<Diagnostic>,
) -> BTreeMap<String, String> {
    let mut reader = Reader { sources, findings, texts: BTreeMap::new() };
    for workflow in &bundle.workflows {
        for site in texts(&Outline::new(workflow)) {
            if let Some(base) = &site.text.base {
                reader.follow(site.text, &site.text.value, base, base);
            }
        }
    }
    reader.texts
}

struct Reader<'a> {
    sources: &'a dyn Sources,
    findings: &'a mut Vec<Diagnostic>,
    texts: BTreeMap<String, String>,
}

impl Reader<'_> {
    /// Reads what a text includes, and what that includes; `outer` is the text of the workflow that it began with.
    fn follow(&mut self, outer: &Text, text: &str, containing: &str, root: &str) {
        for include in find_includes(text, containing, root) {
            if let Some((path, text)) = self.first(outer, &include) {
                self.texts.insert(path.clone(), text.clone());
                self.follow(outer, &text, &path, root);
            }
        }
    }

    /// The first candidate that exists and is not known yet.
    fn first(&mut self, outer: &Text, include: &Include) -> Option<(String, String)> {
        if include.candidates.iter().any(|path| self.texts.contains_key(path)) {
            return None;
        }
        let (path, bytes) =
            include.candidates.iter().find_map(|path| Some((path.clone(), self.sources.read(path).ok()?)))?;
        match String::from_utf8(bytes) {
            Ok(text) => Some((path, text)),
            Err(_) => {
                let message = format!("the included file `{path}` is not UTF-8 text");
                let place = outer.span.clone();
                self.findings.push(Diagnostic::error(
                    "workflow::missing_partial",
                    message,
                    place,
                    "included here",
                ));
                None
            }
        }
    }
}
