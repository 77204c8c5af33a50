//! References that are written as dotted paths: `input` lists and the sources of fan-outs and questions.

use super::input_reference::{self, FORMS};
use super::outline::{Item, Outline};
use super::reach::Reach;
use super::shapes::Shape;
use crate::diagnostic::Diagnostic;
use crate::source::Spanned;
use crate::source::workflow::{ContextMode, Step, StepKind};
use crate::suggest;

/// Every dotted path must have the right form and lead to something that can have run.
pub(super) fn check(outline: &Outline<'_>, reach: &Reach, findings: &mut Vec<Diagnostic>) {
    let paths = Paths { outline, reach };
    for (ix, item) in outline.items.iter().enumerate() {
        let owner = format!("{} `{}`", item.word(), item.name().value);
        match item {
            Item::Step(step) => paths.step(&owner, step, ix, findings),
            Item::ForEach(group) if group.items.is_some() => {}
            Item::ForEach(group) => findings.extend(paths.source(&owner, &group.source, ix)),
            Item::Parallel(_) => {}
        }
    }
    for (ix, step) in outline.inline() {
        let owner = format!("inline agent `{}` of `{}`", step.name.value, outline.name(ix));
        paths.step(&owner, step, ix, findings);
    }
}

struct Paths<'a, 'b> {
    outline: &'b Outline<'a>,
    reach: &'b Reach,
}

impl Paths<'_, '_> {
    fn step(&self, owner: &str, step: &Step, ix: usize, findings: &mut Vec<Diagnostic>) {
        for text in &step.common.input {
            findings.extend(self.input(owner, text, ix));
        }
        if let StepKind::Questions(questions) = &step.kind
            && let Some(source) = &questions.source
        {
            findings.extend(self.source(owner, source, ix));
        }
    }

    fn input(&self, owner: &str, text: &Spanned<String>, ix: usize) -> Option<Diagnostic> {
        let reference = match input_reference::parse(&text.value) {
            Ok(reference) => reference,
            Err(cause) => {
                let message = format!("{owner}: input `{}` is no reference: {cause}", text.value);
                let found =
                    Diagnostic::error("workflow::bad_input_reference", message, text.span.clone(), cause);
                return Some(found.help(FORMS));
            }
        };
        match self.unknown(owner, "input", text, &reference.path) {
            Some(found) if reference.optional => Some(as_warning(found)),
            Some(found) => Some(found),
            None if self.is_sibling(&reference.path[0], ix) => {
                self.never_before(owner, "input", text, &reference.path[0], ix)
            }
            None if reference.optional || !self.is_explicit() => None,
            None => self.never_before(owner, "input", text, &reference.path[0], ix),
        }
    }

    /// Whether a name is another member of a group that this item stands in: no mode could ever show its output.
    fn is_sibling(&self, name: &str, ix: usize) -> bool {
        let parents = &self.outline.parents;
        let other = self.outline.find(name).filter(|other| *other != ix);
        other.is_some_and(|other| parents[other].iter().any(|group| parents[ix].contains(group)))
    }

    /// Only explicit mode looks at `input` at all.
    fn is_explicit(&self) -> bool {
        self.outline.workflow.context.mode == ContextMode::Explicit
    }

    fn source(&self, owner: &str, source: &Spanned<String>, ix: usize) -> Option<Diagnostic> {
        let path: Vec<String> = source.value.split('.').map(str::to_owned).collect();
        if path.len() < 3 {
            return self.short_source(owner, source, &path[0], ix);
        }
        if let Some(found) = self.unknown(owner, "source", source, &path) {
            return Some(found);
        }
        self.never_before(owner, "source", source, &path[0], ix)
            .or_else(|| self.undeclared(owner, source, &path, ix))
    }

    /// A path to a field that the step's output does not declare.
    fn undeclared(
        &self,
        owner: &str,
        source: &Spanned<String>,
        path: &[String],
        ix: usize,
    ) -> Option<Diagnostic> {
        let from = self.outline.find(&path[0]).filter(|_| !self.is_loop_variable(ix, &path[0]))?;
        let missing = Shape::of(self.outline, from).missing(self.outline, path, 1)?;
        let message =
            format!("{owner}: source `{}`: `{}` declares no `{}`", source.value, path[0], path[missing.at]);
        let found =
            Diagnostic::warning("workflow::undeclared_field", message, source.span.clone(), "not declared");
        Some(found.help(suggest::instead(&path[missing.at], &missing.available)))
    }

    /// A path of one or two parts leads from an item of a fan-out around this one, or nowhere.
    fn short_source(
        &self,
        owner: &str,
        source: &Spanned<String>,
        name: &str,
        ix: usize,
    ) -> Option<Diagnostic> {
        if !self.is_any_loop_variable(name) || self.is_loop_variable(ix, name) {
            return None;
        }
        let message =
            format!("{owner}: source `{}` is an item of a for_each that is not around it", source.value);
        let found = Diagnostic::error("workflow::bad_source", message, source.span.clone(), "not there");
        Some(found.help("only what an outer for_each runs sees its items"))
    }

    /// A path into something that cannot have run when the item starts.
    fn never_before(
        &self,
        owner: &str,
        key: &str,
        text: &Spanned<String>,
        name: &str,
        ix: usize,
    ) -> Option<Diagnostic> {
        let from = self.outline.find(name)?;
        if self.is_loop_variable(ix, name) || !self.reach.runs(ix) || self.reach.can_precede(from, ix) {
            return None;
        }
        let message = format!("{owner}: {key} `{}` is an output that cannot be there by then", text.value);
        let found = Diagnostic::error("workflow::never_before", message, text.span.clone(), "has not run")
            .also(self.outline.items[from].name().span.clone(), format!("`{name}` stands here"));
        Some(match self.is_sibling(name, ix) {
            true => {
                found.help(format!("members run side by side; add `needs: [{name}]` to let it run first"))
            }
            false => found.help("no route or need leads from it to here"),
        })
    }

    /// A path whose first name is nothing.
    fn unknown(&self, owner: &str, key: &str, text: &Spanned<String>, path: &[String]) -> Option<Diagnostic> {
        if path[0] == "workflow" {
            return self.unknown_input(owner, key, text, path);
        }
        if self.outline.find(&path[0]).is_some() || self.is_any_loop_variable(&path[0]) {
            return None;
        }
        let available: Vec<&str> = self.outline.items.iter().map(|item| item.name().value.as_str()).collect();
        let message =
            format!("{owner}: {key} `{}` refers to `{}`, which is not in this workflow", text.value, path[0]);
        let found = Diagnostic::error(
            "workflow::unknown_reference",
            message,
            text.span.clone(),
            "nothing has this name",
        )
        .help(suggest::instead(&path[0], &available));
        Some(found)
    }

    fn unknown_input(
        &self,
        owner: &str,
        key: &str,
        text: &Spanned<String>,
        path: &[String],
    ) -> Option<Diagnostic> {
        let declared = self.outline.workflow.input.as_ref()?;
        let name = path.get(2).filter(|_| path[1] == "input")?;
        if declared.contains_key(name) {
            return None;
        }
        let available: Vec<&str> = declared.keys().map(String::as_str).collect();
        let message =
            format!("{owner}: {key} `{}` refers to the input `{name}`, which is not declared", text.value);
        let found = Diagnostic::error(
            "workflow::unknown_input",
            message,
            text.span.clone(),
            "no input has this name",
        )
        .help(suggest::instead(name, &available));
        Some(found)
    }

    fn is_any_loop_variable(&self, name: &str) -> bool {
        self.outline.workflow.for_each.iter().any(|group| group.variable.value == name)
    }

    /// Whether a fan-out around this item gives its items this name.
    fn is_loop_variable(&self, ix: usize, name: &str) -> bool {
        let mut open = self.outline.parents[ix].clone();
        let mut seen = vec![false; self.outline.items.len()];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            if matches!(self.outline.items[at], Item::ForEach(group) if group.variable.value == name) {
                return true;
            }
            open.extend(&self.outline.parents[at]);
        }
        false
    }
}

/// Something optional that is unknown is only odd.
fn as_warning(found: Diagnostic) -> Diagnostic {
    Diagnostic { severity: crate::diagnostic::Severity::Warning, ..found }
}
