//! Names that stand for two things.

use super::outline::Outline;
use crate::diagnostic::Diagnostic;
use crate::source::Spanned;
use convoke_model::OWN_SERVER;
use std::collections::HashMap;

/// Steps and groups share one space of names; an inline body may not take the name of another fan-out.
pub(super) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let mut names: Vec<(&Spanned<String>, &str)> =
        outline.items.iter().map(|item| (item.name(), item.word())).collect();
    names.retain(|(name, _)| !name.value.is_empty());
    names.sort_by_key(|(name, _)| name.span.range.start);
    let mut first: HashMap<&str, (&Spanned<String>, &str)> = HashMap::new();
    for (name, word) in names {
        match first.get(name.value.as_str()) {
            Some(earlier) => findings.push(duplicate(name, word, earlier)),
            None => drop(first.insert(&name.value, (name, word))),
        }
    }
    nested_fan_outs(outline, findings);
    reserved(outline, findings);
}

/// A step of such a name hides what every template sees, or is hidden by it.
fn reserved(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    for item in &outline.items {
        let name = item.name();
        if matches!(
            name.value.as_str(),
            "workflow" | "context" | "output" | "error" | "_index" | "_key" | OWN_SERVER
        ) {
            let message = format!("{} `{}` has a reserved name", item.word(), name.value);
            let found =
                Diagnostic::warning("workflow::reserved_name", message, name.span.clone(), "reserved")
                    .help("templates and conditions see something else under this name; choose another");
            findings.push(found);
        }
    }
}

fn duplicate(name: &Spanned<String>, word: &str, earlier: &(&Spanned<String>, &str)) -> Diagnostic {
    let message = format!("duplicate name: {word} `{}` has a name that is already taken", name.value);
    Diagnostic::error("workflow::duplicate_name", message, name.span.clone(), "the second one")
        .also(earlier.0.span.clone(), format!("the first one, a {}", earlier.1))
        .help("names are unique among steps, parallel groups and for_each groups")
}

fn nested_fan_outs(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    for (group, step) in outline.inline() {
        let other = outline.find(&step.name.value);
        let Some(other) = other.filter(|ix| *ix != group && outline.items[*ix].is_group()) else { continue };
        let name = &step.name;
        let message = format!(
            "duplicate name: the inline agent `{}` has the name of a {}",
            name.value,
            outline.items[other].word()
        );
        let found =
            Diagnostic::error("workflow::duplicate_name", message, name.span.clone(), "taken by a group")
                .also(outline.items[other].name().span.clone(), "the group")
                .help(format!(
                    "to run the group once per item, write `run: {}` instead of `agent:`",
                    name.value
                ));
        findings.push(found);
    }
}
