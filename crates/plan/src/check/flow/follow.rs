//! Follows one reference: does the name exist, can it have run, does it have that field?

use super::super::outline::Outline;
use super::super::reach::Reach;
use super::super::shapes::{METHODS, Shape};
use super::super::texts::{Form, Site, View};
use super::super::{pipelines, visible};
use crate::diagnostic::{Diagnostic, Span};
use crate::source::workflow::{ContextMode, StepKind};
use crate::suggest;
use crate::template::Reference;

/// What `workflow` holds in templates.
const WORKFLOW: &[&str] = &["input", "dir", "file", "name"];

/// Follows references through one outline.
pub(in crate::check) struct Follow<'a, 'b> {
    pub outline: &'b Outline<'a>,
    pub reach: &'b Reach,
}

impl Follow<'_, '_> {
    /// What is wrong with one reference of a text, if anything.
    pub fn reference(&self, site: &Site<'_>, reference: &Reference) -> Option<Diagnostic> {
        let root = reference.path.first()?.as_str();
        let place = site.text.place_of(reference.range.clone());
        if root == "workflow" {
            return self.workflow(site, &reference.path, place);
        }
        if self.outline.workflow.pipeline.is_some() && pipelines::provided(site.form).contains(&root) {
            return pipelines::missing_field(site, &reference.path, place);
        }
        if visible::is_provided(self.outline, site, root) {
            return self.own_output(site, &reference.path, place);
        }
        match self.outline.find(root) {
            Some(ix) if !self.sees(site.view, ix) => Some(self.never_before(site, ix, place)),
            Some(ix) if self.too_far_back(site, ix) => Some(self.not_the_last(site, ix, place)),
            Some(ix) => self.field(site, ix, &reference.path, place),
            None if site.form == Form::Condition => self.bare_field(site, root, &reference.path, place),
            None => Some(self.unknown(site, root, place)),
        }
    }

    /// Whether an item can have run when a text is looked at. A step that never runs may say what it likes.
    fn sees(&self, view: View, ix: usize) -> bool {
        match view {
            View::Before(at) => !self.reach.runs(at) || self.reach.can_precede(ix, at),
            View::After(at) => ix == at || !self.reach.runs(at) || self.reach.can_precede(ix, at),
            View::Inside(group) => !self.reach.runs(group) || self.reach.can_precede(ix, group),
            View::End => self.reach.runs(ix) && self.stands_alone(ix),
            View::Hook => true,
        }
    }

    /// Whether an item has an output under its own name when the workflow ends.
    fn stands_alone(&self, ix: usize) -> bool {
        self.outline.parents[ix].is_empty()
            || self.outline.entries().contains(&ix)
            || self.reach.directly_before(ix).iter().any(|earlier| self.outline.parents[*earlier].is_empty())
    }

    /// Whether `last_only` hides a step. Members and whatever a person reads are left to the run.
    fn too_far_back(&self, site: &Site<'_>, ix: usize) -> bool {
        let (View::Before(at), Some(step)) = (site.view, site.step) else { return false };
        let restricted = matches!(
            step.kind,
            StepKind::Agent(_)
                | StepKind::Goal(_)
                | StepKind::Script(_)
                | StepKind::Set(_)
                | StepKind::Tool(_)
                | StepKind::Reduce(_)
                | StepKind::Verify(_)
                | StepKind::Wait(_)
                | StepKind::Workflow(_)
        );
        self.outline.workflow.context.mode == ContextMode::LastOnly
            && restricted
            && self.reach.runs(at)
            && self.outline.parents[at].is_empty()
            && !self.reach.directly_before(at).contains(&ix)
    }

    fn not_the_last(&self, site: &Site<'_>, ix: usize, place: Span) -> Diagnostic {
        let name = self.outline.name(ix);
        let message =
            format!("{}: {} refers to `{name}`, which `last_only` does not show here", site.owner, site.key);
        Diagnostic::error("workflow::never_before", message, place, "not the step before this one")
            .help("in this mode a step sees what it needs, or the one step that led to it")
    }

    fn unknown(&self, site: &Site<'_>, root: &str, place: Span) -> Diagnostic {
        let mut available: Vec<&str> =
            self.outline.items.iter().map(|item| item.name().value.as_str()).collect();
        available.retain(|name| self.outline.is_written(name));
        let inside = matches!(site.view, View::Inside(_));
        if self.outline.workflow.from_manifest {
            available.extend(["query", "context"].into_iter().chain(inside.then_some("partition")));
        }
        available.push("workflow");
        available.splice(0..0, site.given.iter().copied());
        if self.outline.workflow.pipeline.is_some() {
            available.extend(pipelines::provided(site.form));
        }
        let dashed =
            available.iter().find(|name| name.strip_prefix(root).is_some_and(|rest| rest.starts_with('-')));
        let help = match dashed {
            Some(name) => {
                let what = if self.outline.workflow.pipeline.is_some() { "node" } else { "step" };
                let better = name.replace('-', "_");
                format!("templates read `{name}` as a subtraction; call the {what} `{better}`")
            }
            None if root == "partition" && self.outline.workflow.from_manifest => {
                "an agent has a partition where it has `partitions`".to_owned()
            }
            None if self.is_input(root) => format!("an input is read as `workflow.input.{root}`"),
            None => suggest::instead(root, &available),
        };
        let kind = self.outline.kind();
        let message = format!("{}: {} refers to `{root}`, which is not in this {kind}", site.owner, site.key);
        Diagnostic::error("workflow::unknown_reference", message, place, "nothing has this name").help(help)
    }

    fn is_input(&self, name: &str) -> bool {
        self.outline.workflow.input.as_ref().is_some_and(|declared| declared.contains_key(name))
    }

    fn never_before(&self, site: &Site<'_>, ix: usize, place: Span) -> Diagnostic {
        let (name, item) = (self.outline.name(ix), self.outline.items[ix]);
        let message =
            format!("{}: {} refers to `{name}`, which cannot have run by then", site.owner, site.key);
        Diagnostic::error("workflow::never_before", message, place, "has no output here")
            .also(item.name().span.clone(), format!("`{name}` stands here"))
            .help(match self.outline.workflow.pipeline {
                Some(_) => self.why_not_in_pipeline(site, ix),
                None => self.why_not(site.view, ix),
            })
    }

    /// A persona's text is read by each node that it plays; this names the one that cannot see what is meant.
    fn why_not_in_pipeline(&self, site: &Site<'_>, ix: usize) -> String {
        let node = site.step.map_or("here", |step| &step.name.value);
        match self.outline.name(ix) == node {
            true => "a node has no output before it has run".to_owned(),
            false => {
                format!("no edge leads from it to `{node}`; `is defined` and `default` ask whether it ran")
            }
        }
    }

    fn why_not(&self, view: View, ix: usize) -> String {
        let name = self.outline.name(ix);
        let at = match view {
            View::Before(at) | View::After(at) => Some(at),
            _ => None,
        };
        let siblings = at.is_some_and(|at| {
            self.outline.parents[at].iter().any(|group| self.outline.parents[ix].contains(group))
        });
        match self.outline.parents[ix].first() {
            _ if at == Some(ix) => {
                "a step has no output before it has run; no route leads back to it".to_owned()
            }
            _ if siblings => format!("members run side by side; add `needs: [{name}]` to let it run first"),
            Some(group) => {
                format!("the output of a member is `{}.outputs.{name}`", self.outline.name(*group))
            }
            None => "no route or need leads from it to here; `is defined` and `default` ask whether it ran"
                .to_owned(),
        }
    }

    fn workflow(&self, site: &Site<'_>, path: &[String], place: Span) -> Option<Diagnostic> {
        let key = path.get(1)?;
        if !WORKFLOW.contains(&key.as_str()) {
            let message = format!("{}: {} reads `workflow.{key}`, which is not there", site.owner, site.key);
            let found = Diagnostic::warning("workflow::undeclared_field", message, place, "not there");
            return Some(found.help(suggest::instead(key, WORKFLOW)));
        }
        let declared = self.outline.workflow.input.as_ref()?;
        let (Some("input"), Some(name)) = (path.get(1).map(String::as_str), path.get(2)) else { return None };
        if declared.contains_key(name) || METHODS.contains(&name.as_str()) {
            return None;
        }
        let available: Vec<&str> = declared.keys().map(String::as_str).collect();
        let message =
            format!("{}: {} refers to the input `{name}`, which is not declared", site.owner, site.key);
        let found = Diagnostic::error("workflow::unknown_input", message, place, "no input has this name")
            .help(suggest::instead(name, &available));
        Some(found)
    }

    /// `output.field` in routes.
    fn own_output(&self, site: &Site<'_>, path: &[String], place: Span) -> Option<Diagnostic> {
        let View::After(ix) = site.view else { return None };
        if path[0] != "output" {
            return None;
        }
        let missing = Shape::of_output(self.outline, ix).missing(self.outline, path, 1)?;
        Some(undeclared_field(site, ix, self.outline, path, missing.at, &missing.available, place))
    }

    fn field(&self, site: &Site<'_>, ix: usize, path: &[String], place: Span) -> Option<Diagnostic> {
        let missing = Shape::of(self.outline, ix).missing(self.outline, path, 1)?;
        Some(undeclared_field(site, ix, self.outline, path, missing.at, &missing.available, place))
    }

    /// In a condition a bare name may be a field of the step's own output.
    fn bare_field(&self, site: &Site<'_>, root: &str, path: &[String], place: Span) -> Option<Diagnostic> {
        if self.outline.workflow.pipeline.is_some() && !matches!(site.view, View::After(_)) {
            return (!pipelines::is_output_field(root)).then(|| self.unknown(site, root, place));
        }
        let View::After(ix) = site.view else { return None };
        if path.get(1).is_some_and(|part| part == "output" || part == "outputs") {
            return Some(self.unknown(site, root, place));
        }
        let keys = Shape::of_output(self.outline, ix).keys(self.outline)?;
        if keys.contains(&root) {
            return None;
        }
        Some(undeclared_field(site, ix, self.outline, path, 0, &keys, place))
    }
}

fn undeclared_field(
    site: &Site<'_>,
    ix: usize,
    outline: &Outline<'_>,
    path: &[String],
    at: usize,
    available: &[&str],
    place: Span,
) -> Diagnostic {
    let message = format!(
        "{}: {} reads `{}`, but `{}` declares no `{}`",
        site.owner,
        site.key,
        path[..=at].join("."),
        outline.name(ix),
        path[at]
    );
    Diagnostic::warning("workflow::undeclared_field", message, place, "not declared")
        .help(suggest::instead(&path[at], available))
}
