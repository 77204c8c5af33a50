//! Readers: from the tree to the typed form.
//!
//! Each reader takes the keys of one mapping by name; what is left over is unknown. A reader never stops at a finding:
//! it reports and goes on with what it can still use. Invariant: a value that is missing from the typed form although
//! the language requires it has been reported. Most readers are made from structs (`section`); what is here reads and judges
//! what a struct cannot say.

pub(super) mod approve;
pub(super) mod budget;
pub(super) mod capability;
mod duration;
pub(super) mod ensure;
mod fields;
pub(super) mod fixed;
pub(super) mod goal;
mod goal_plan;
mod group;
pub(super) mod header;
pub(super) mod helper_model;
mod manifest;
pub(super) mod output;
mod personas;
mod provider;
pub(super) mod reduce;
pub(super) mod runtime;
mod scalars;
pub(super) mod secret;
pub(super) mod server;
mod steps;
mod value;
pub(super) mod workspace;

use steps::step;
pub(super) use steps::{agent, flow, people, tool, work};

pub use duration::parse_duration;
pub(super) use fields::Fields;
pub(super) use goal_plan::plan as judge_plan;
pub(super) use header::workflow;
pub(super) use manifest::{manifest, service_and_model};
pub(super) use personas::personas;
pub(super) use scalars::Of;
pub(super) use scalars::head;

use super::sources::Sources;
use crate::diagnostic::{Diagnostic, Span};

/// What every reader needs: the world and a place for findings.
pub(super) struct Reader<'a> {
    sources: &'a dyn Sources,
    /// Names that stand for secrets, and the variables that hold them.
    secrets: std::collections::HashSet<String>,
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    pub fn new(sources: &'a dyn Sources) -> Self {
        Self { sources, secrets: Default::default(), diagnostics: Vec::new() }
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
