//! What conditions of edges may look at: a name or a field that is never there would end the phase when it is judged.

use super::texts::{Form, Site};
use crate::diagnostic::{Diagnostic, Span};
use crate::source::personas::PROVIDED;
use crate::suggest;

/// What a condition of an edge sees besides phases and `workflow`.
pub(super) const CONDITIONS: &[&str] = &["state", "events", "project", "output"];
/// What a pipeline keeps.
const STATE: &[&str] = &["flags", "metadata", "history"];
/// What the phase gave that an edge leads from; a bare name means a field of it.
const OUTPUT: &[&str] = &["status", "payload", "attempts"];

/// The names that a text of a pipeline sees without any phase.
pub(super) fn provided(form: Form) -> &'static [&'static str] {
    match form {
        Form::Condition => CONDITIONS,
        Form::Template => PROVIDED,
    }
}

/// Whether a bare name of a condition is a field of `output`.
pub(super) fn is_output_field(name: &str) -> bool {
    OUTPUT.contains(&name)
}

/// A field of `state`, or of a condition's `output`, that is never there.
pub(super) fn missing_field(site: &Site<'_>, path: &[String], place: Span) -> Option<Diagnostic> {
    let known = match (path[0].as_str(), site.form) {
        ("state", _) => STATE,
        ("output", Form::Condition) => OUTPUT,
        _ => return None,
    };
    let field = path.get(1).filter(|field| !known.contains(&field.as_str()))?;
    if super::shapes::METHODS.contains(&field.as_str()) {
        return None;
    }
    let message =
        format!("{}: {} refers to `{}.{field}`, which is never there", site.owner, site.key, path[0]);
    let found = Diagnostic::error("workflow::unknown_reference", message, place, "nothing has this name");
    Some(found.help(suggest::instead(field, known)))
}
