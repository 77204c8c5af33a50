//! Readers: from the tree to the typed form.
//!
//! Each reader takes the keys of one mapping by name; what is left over is unknown. A reader never stops at a finding:
//! it reports and goes on with what it can still use. Invariant: a value that is missing from the typed form although
//! the language requires it has been reported.

mod agent;
mod asked;
mod budget;
mod capability;
mod common;
mod duration;
mod fields;
mod fixed;
mod flow;
mod goal;
mod goal_plan;
mod group;
mod header;
mod manifest;
mod output;
mod people;
mod personas;
mod provider;
mod reduce;
mod runtime;
mod scalars;
mod server;
mod step;
mod tool;
mod work;

pub use duration::parse_duration;
pub use goal_plan::PlanTerms;
pub(super) use goal_plan::plan as judge_plan;
pub(super) use header::workflow;
pub(super) use manifest::manifest;
pub(super) use personas::personas;

use super::sources::Sources;
use crate::diagnostic::{Diagnostic, Span};

/// What every reader needs: the world and a place for findings.
pub(super) struct Reader<'a> {
    sources: &'a dyn Sources,
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    pub fn new(sources: &'a dyn Sources) -> Self {
        Self { sources, diagnostics: Vec::new() }
    }

    fn error(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: &Span,
        label: &str,
    ) -> &mut Diagnostic {
        self.keep(Diagnostic::error(code, message, span.clone(), label))
    }

    fn warning(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: &Span,
        label: &str,
    ) -> &mut Diagnostic {
        self.keep(Diagnostic::warning(code, message, span.clone(), label))
    }

    fn keep(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        self.diagnostics.push(diagnostic);
        self.diagnostics.last_mut().expect("one was just pushed")
    }
}
