//! Which names a text may use, besides those of steps and groups.

use super::super::outline::{Item, Outline};
use super::super::pipelines;
use super::super::texts::{Form, Site, View};
use crate::source::workflow::ForEach;
use std::collections::HashSet;

/// Functions and words of the template language.
const LANGUAGE: &[&str] = &[
    "range",
    "dict",
    "lipsum",
    "cycler",
    "joiner",
    "namespace",
    "loop",
    "self",
    "super",
    "caller",
    "varargs",
    "kwargs",
    "true",
    "false",
    "none",
    "True",
    "False",
    "None",
    "debug",
];
/// Functions of conditions.
const FUNCTIONS: &[&str] =
    &["int", "float", "str", "bool", "len", "rand", "randint", "abs", "min", "max", "round"];
/// What every text may look at.
const ALWAYS: &[&str] = &["workflow", "context", "_context_summary"];

/// Whether a name needs no step: a word of the language, a loop variable, or something that the place provides.
pub(in crate::check) fn is_provided(outline: &Outline<'_>, site: &Site<'_>, name: &str) -> bool {
    ALWAYS.contains(&name)
        || LANGUAGE.contains(&name)
        || FUNCTIONS.contains(&name)
        || loop_names(outline, site.view).contains(name)
        || outline.workflow.pipeline.is_some() && pipelines::provided(site.form).contains(&name)
        || site.given.contains(&name)
        || match site.view {
            View::After(_) => name == "output" || name == "error",
            View::Hook => matches!(name, "result" | "error" | "output"),
            View::Before(_) | View::Inside(_) | View::End => name == "error" && catches_errors(outline),
        }
        || site.view == View::End && outline.workflow.from_manifest && name == "_work"
        || site.form == Form::Condition && is_flattened(outline, name)
}

/// The names that enclosing fan-outs give to their items.
fn loop_names<'a>(outline: &Outline<'a>, view: View) -> HashSet<&'a str> {
    let (mut open, mut seen) = match view {
        View::Before(ix) | View::After(ix) => (outline.parents[ix].clone(), HashSet::from([ix])),
        View::Inside(group) => (vec![group], HashSet::new()),
        View::End | View::Hook => (Vec::new(), HashSet::new()),
    };
    let mut names = HashSet::new();
    while let Some(ix) = open.pop() {
        if !seen.insert(ix) {
            continue;
        }
        if let Item::ForEach(ForEach { variable, .. }) = outline.items[ix] {
            names.extend([variable.value.as_str(), "_index", "_key"]);
        }
        open.extend(&outline.parents[ix]);
    }
    names
}

fn catches_errors(outline: &Outline<'_>) -> bool {
    let inline = outline.inline().any(|(_, step)| !step.common.on_error.is_empty());
    inline || outline.items.iter().any(|item| !item.common().on_error.is_empty())
}

/// `output_score`, `writer_output`, `workflow_input`: one level of a map, flattened.
fn is_flattened(outline: &Outline<'_>, name: &str) -> bool {
    let splits = name.match_indices('_').map(|(at, _)| &name[..at]);
    splits.into_iter().any(|head| {
        matches!(head, "output" | "workflow" | "context" | "error") || outline.find(head).is_some()
    })
}
