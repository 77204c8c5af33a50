//! Finds everything that is wrong between the parts of a workflow file, all at once.
//!
//! The shape of the file (keys, types, ranges) was checked when it was read; this is about names, edges, templates
//! and what a step can see. Each file here asks one question and adds its findings; `outline` and `reach` are what
//! they all look at. Invariant: a reference is an error only if no path can have run what it names, and never under
//! a guard, so that a file which can work is never refused.

mod flow;
pub(crate) mod input_reference;
mod once;
pub(crate) mod outline;
pub(crate) mod texts;

mod answers;
mod capabilities;
mod codes;
mod duplicates;
mod effects;
mod ensure;
mod expects;
mod explicit;
mod groups;
mod inputs;
mod limits;
mod outputs;
mod pipelines;
mod references;
mod shapes;
mod timeouts;

use flow::{earlier, follow, needs, reach, resolvers, routes, targets, visible};

pub use codes::CODES;

use crate::diagnostic::Diagnostic;
use crate::source::Workflow;
use outline::Outline;
use reach::Reach;
use std::collections::BTreeMap;

/// What is wrong with one workflow file. `partials` are the texts that its templates may include, by path.
pub fn check(workflow: &Workflow, partials: &BTreeMap<String, String>) -> Vec<Diagnostic> {
    let outline = Outline::new(workflow);
    let reach = Reach::new(&outline);
    let mut findings = Vec::new();
    duplicates::check(&outline, &mut findings);
    targets::check(&outline, &mut findings);
    groups::check(&outline, &mut findings);
    needs::check(&outline, &mut findings);
    limits::check(&outline, &mut findings);
    routes::check(&outline, &reach, &mut findings);
    effects::check(&outline, &mut findings);
    capabilities::check(&outline, &mut findings);
    once::check(&outline, &mut findings);
    ensure::check(&outline, &mut findings);
    timeouts::check(&outline, &mut findings);
    resolvers::check(&outline, &mut findings);
    inputs::check(&outline, &reach, &mut findings);
    answers::check(&outline, &reach, &mut findings);
    expects::check(&outline, &reach, &mut findings);
    references::check(&outline, &reach, partials, &mut findings);
    findings
}
