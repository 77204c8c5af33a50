//! Reads the root file and, through its `workflow` steps, every file below it; each file once.
//!
//! Files that call each other in a circle, lie too deep or are not there are reported at the step that leads to them.

use crate::diagnostic::{Diagnostic, Span};
use crate::source::workflow::{ForEachBody, Step, StepKind, Workflow};
use crate::source::{
    ManifestDefaults, PROJECT_HELP, SourceReadError, Sources, Spanned, join_beside, normalise,
    read_workflow_with,
};
use convoke_model::PolicySource;
use std::collections::HashMap;

/// How many workflows may stand inside each other, the root not counted.
pub(super) const MAX_DEPTH: usize = 10;

/// The files of one plan, the root first.
#[derive(Default)]
pub(super) struct Bundle {
    /// As they were read.
    pub workflows: Vec<Workflow>,
    /// Where each normalised path stands in `workflows`.
    pub index: HashMap<String, usize>,
    /// Policies that workflows name, by the path that a name leads to.
    pub policies: HashMap<String, PolicySource>,
}

impl Bundle {
    /// The workflow that a step of `parent` names.
    pub fn child(&self, parent: &Workflow, path: &str) -> Option<usize> {
        self.index.get(&join_beside(&parent.path, path)).copied()
    }
}

/// Reads a file and everything below it.
pub(super) fn load(
    path: &str,
    sources: &dyn Sources,
    manifests: &ManifestDefaults,
    findings: &mut Vec<Diagnostic>,
) -> Bundle {
    let (bundle, heights, chain) = (Bundle::default(), HashMap::new(), Vec::new());
    let mut loader = Loader { sources, manifests, findings, bundle, heights, chain };
    let height = loader.read(&normalise(path));
    if let (Some(height), false) = (height, loader.bundle.workflows.is_empty())
        && height > MAX_DEPTH
    {
        loader.report_depth(height);
    }
    loader.bundle
}

struct Loader<'a> {
    sources: &'a dyn Sources,
    manifests: &'a ManifestDefaults,
    findings: &'a mut Vec<Diagnostic>,
    bundle: Bundle,
    /// How many levels stand below each file that was read completely.
    heights: HashMap<String, usize>,
    /// The files that are being read, each with the step that leads on.
    chain: Vec<(String, Option<Span>)>,
}

impl Loader<'_> {
    /// Reads one file; gives how many levels stand below it, `None` when it cannot be read.
    fn read(&mut self, path: &str) -> Option<usize> {
        let (workflow, found) = read_workflow_with(path, self.sources, self.manifests);
        self.findings.extend(found);
        let workflow = workflow?;
        let calls = calls(&workflow);
        self.bundle.index.insert(path.to_owned(), self.bundle.workflows.len());
        self.bundle.workflows.push(workflow);
        self.chain.push((path.to_owned(), None));
        let height = calls.iter().filter_map(|call| self.follow(path, call)).map(|below| below + 1).max();
        self.chain.pop();
        self.heights.insert(path.to_owned(), height.unwrap_or(0));
        Some(height.unwrap_or(0))
    }

    /// Follows one `workflow` step.
    fn follow(&mut self, parent: &str, call: &Call) -> Option<usize> {
        let path = join_beside(parent, &call.path.value);
        self.chain.last_mut().expect("the parent is being read").1 = Some(call.path.span.clone());
        if let Some(start) = self.chain.iter().position(|(earlier, _)| *earlier == path) {
            self.report_circle(start, &path, call);
            return None;
        }
        if let Some(height) = self.heights.get(&path) {
            return Some(*height);
        }
        if self.bundle.index.contains_key(&path) || !self.exists(&path, call) {
            return None;
        }
        self.read(&path)
    }

    fn exists(&mut self, path: &str, call: &Call) -> bool {
        match self.sources.read(path) {
            Ok(_) => true,
            Err(error) => {
                self.findings.push(missing(path, call, &error));
                false
            }
        }
    }

    fn report_circle(&mut self, start: usize, path: &str, call: &Call) {
        let circle = &self.chain[start..];
        let names: Vec<&str> = circle.iter().map(|(name, _)| name.as_str()).chain([path]).collect();
        let message = format!("circular sub-workflow: {}", names.join(" → "));
        let first = circle[0].1.clone().unwrap_or_else(|| call.path.span.clone());
        let mut found =
            Diagnostic::error("workflow::circular_sub_workflow", message, first, "the circle begins here")
                .help("a workflow may not contain itself; use routes to repeat steps");
        if circle.len() > 1 {
            found = found.also(call.path.span.clone(), "and closes here");
        }
        self.findings.push(found);
    }

    fn report_depth(&mut self, height: usize) {
        let root = &self.bundle.workflows[0];
        let deepest = calls(root)
            .into_iter()
            .max_by_key(|call| {
                self.heights.get(&join_beside(&root.path, &call.path.value)).copied().unwrap_or(0)
            })
            .expect("a height above zero comes from a call");
        let message = format!(
            "step `{}` leads to {height} levels of sub-workflows, more than the limit of {MAX_DEPTH}",
            deepest.step
        );
        self.findings.push(Diagnostic::error(
            "workflow::too_deep",
            message,
            deepest.path.span,
            "the deepest chain starts here",
        ));
    }
}

/// A step that runs another file.
struct Call {
    step: String,
    path: Spanned<String>,
}

fn calls(workflow: &Workflow) -> Vec<Call> {
    let inline = workflow.for_each.iter().filter_map(|group| match &group.body {
        Some(ForEachBody::Inline(step)) => Some(&**step),
        _ => None,
    });
    workflow.agents.iter().chain(inline).filter_map(call_of).collect()
}

fn call_of(step: &Step) -> Option<Call> {
    match &step.kind {
        StepKind::Workflow(call) => {
            call.workflow.clone().map(|path| Call { step: step.name.value.clone(), path })
        }
        _ => None,
    }
}

fn missing(path: &str, call: &Call, error: &SourceReadError) -> Diagnostic {
    let written = &call.path.value;
    if *error == SourceReadError::NotFound && is_registry_reference(written) {
        let message =
            format!("step `{}` names `{written}`, which looks like a registry reference", call.step);
        return Diagnostic::error(
            "workflow::registry_reference",
            message,
            call.path.span.clone(),
            "not a path",
        )
        .help("registries are not supported; give the path of a workflow file");
    }
    let message = format!("step `{}` runs the workflow file `{written}`, which is {error}", call.step);
    let (code, help) = match error {
        SourceReadError::Outside(_) => ("file::outside", PROJECT_HELP.to_owned()),
        _ => ("workflow::missing_sub_workflow", format!("looked for {path}")),
    };
    Diagnostic::error(code, message, call.path.span.clone(), format!("{error}")).help(help)
}

/// `name[@registry][#ref]`: no folder and no ending of a file.
fn is_registry_reference(text: &str) -> bool {
    let ending = [".yaml", ".yml", ".json"].iter().any(|ending| text.ends_with(ending));
    !ending && (text.contains('@') || text.contains('#') || !text.contains(['/', '.']))
}
