//! What steps expect of others' outputs: the others must be able to have run, and to have such fields.

use super::earlier::{Earlier, Who, steps};
use super::outline::Outline;
use super::reach::Reach;
use super::shapes::Shape;
use crate::diagnostic::Diagnostic;
use crate::source::Spanned;
use crate::source::output::OutputField;
use crate::source::workflow::Entry;
use crate::suggest;

/// Every expectation of every step.
pub(super) fn check(outline: &Outline<'_>, reach: &Reach, findings: &mut Vec<Diagnostic>) {
    let earlier = Earlier { outline, reach };
    for who in steps(outline).iter().filter(|who| !who.step.common.expects.is_empty()) {
        for expected in who.step.common.expects.values() {
            let Some(ix) = earlier.find(who, "expects", &expected.key, findings) else { continue };
            if outline.items[ix].is_group() {
                findings.push(of_a_group(who, &expected.key));
                continue;
            }
            let fields = expected.value.fields.values();
            findings.extend(fields.filter_map(|field| undeclared(outline, who, ix, field)));
        }
    }
}

fn of_a_group(who: &Who<'_>, name: &Spanned<String>) -> Diagnostic {
    let message =
        format!("{}: `expects` names the group `{}`, which has many outputs", who.owner, name.value);
    Diagnostic::error("workflow::not_one_answer", message, name.span.clone(), "not one output")
        .help("declare `output` on its members; each is held to it")
}

/// A field that the other step declares not to have would have to be repaired every time.
fn undeclared(
    outline: &Outline<'_>,
    who: &Who<'_>,
    ix: usize,
    field: &Entry<OutputField>,
) -> Option<Diagnostic> {
    let path = [field.key.value.clone()];
    let missing = Shape::of_output(outline, ix).missing(outline, &path, 0)?;
    let (name, field) = (outline.name(ix), &field.key);
    let message = format!(
        "{}: `expects` wants `{name}.output.{}`, but `{name}` declares no `{}`",
        who.owner, field.value, field.value
    );
    let found =
        Diagnostic::warning("workflow::undeclared_field", message, field.span.clone(), "not declared");
    Some(found.help(suggest::instead(&field.value, &missing.available)))
}
