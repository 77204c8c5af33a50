//! Partials: every file that a template can include, import or extend, read before the run.
//!
//! Where a name is looked for is `template`'s rule; what is missing is its finding too, at the place of the include.

use super::super::load::Bundle;
use crate::check::outline::Outline;
use crate::check::texts::texts;
use crate::diagnostic::{Diagnostic, SourceFile};
use crate::source::{Sources, Text, read_partial};
use crate::template::{Include, find_includes};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All partials of a bundle.
#[derive(Default)]
pub(in crate::compile) struct Partials {
    /// Texts by normalised path, variables filled in.
    pub texts: BTreeMap<String, String>,
    /// The files as they were read.
    pub files: Vec<Arc<SourceFile>>,
}

/// Reads all partials of a bundle.
pub(in crate::compile) fn collect(
    bundle: &Bundle,
    sources: &dyn Sources,
    findings: &mut Vec<Diagnostic>,
) -> Partials {
    let mut reader = Reader { sources, findings, partials: Partials::default() };
    for workflow in &bundle.workflows {
        for site in texts(&Outline::new(workflow)) {
            if let Some(base) = &site.text.base {
                reader.follow(site.text, base, base);
            }
        }
    }
    reader.partials
}

struct Reader<'a> {
    sources: &'a dyn Sources,
    findings: &'a mut Vec<Diagnostic>,
    partials: Partials,
}

impl Reader<'_> {
    /// Reads what a text includes, and what that includes; `root` is the file of the outermost text.
    fn follow(&mut self, text: &Text, containing: &str, root: &str) {
        for include in find_includes(&text.value, containing, root) {
            if let Some((path, partial)) = self.first(text, &include) {
                self.partials.texts.insert(path.clone(), partial.value.clone());
                self.partials.files.push(partial.span.file.clone());
                self.follow(&partial, &path, root);
            }
        }
    }

    /// The first candidate that exists, unless it is known already.
    fn first(&mut self, text: &Text, include: &Include) -> Option<(String, Text)> {
        for path in &include.candidates {
            if self.partials.texts.contains_key(path) {
                return None;
            }
            let at = text.place_of(include.range.clone());
            let (partial, found) = read_partial(path, self.sources, &at);
            self.findings.extend(found);
            if let Some(partial) = partial {
                return Some((path.clone(), partial));
            }
        }
        None
    }
}
