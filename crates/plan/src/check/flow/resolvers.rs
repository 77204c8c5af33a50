//! Steps that are named to resolve conflicts of others.

use crate::check::outline::{Item, Outline};
use crate::diagnostic::Diagnostic;
use crate::source::workflow::{Step, StepKind};
use crate::suggest;

/// Resolvers, one by one.
pub(in crate::check) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    for (who, named) in outline.resolvers() {
        let place = named.span.clone();
        match outline.find(&named.value).map(|ix| outline.items[ix]) {
            None => {
                let message =
                    format!("`{who}` has its conflicts resolved by `{}`, which does not exist", named.value);
                let known: Vec<&str> = outline.items.iter().map(|item| item.name().value.as_str()).collect();
                findings.push(
                    Diagnostic::error("workflow::unknown_reference", message, place, "no step has this name")
                        .help(suggest::instead(&named.value, &known)),
                );
            }
            Some(Item::Step(Step { kind: StepKind::Agent(_) | StepKind::Script(_), .. })) => {}
            Some(item) => {
                let message =
                    format!("`{who}` has its conflicts resolved by the {} `{}`", item.word(), named.value);
                findings.push(
                    Diagnostic::error("workflow::not_one_answer", message, place, "it edits no files")
                        .help("an agent or a script resolves conflicts"),
                );
            }
        }
    }
}
