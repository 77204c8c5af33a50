//! What texts refer to: every name must exist, and what it names must be able to have run.

use super::follow::Follow;
use super::outline::Outline;
use super::reach::Reach;
use super::texts::{Form, Site, View, texts};
use super::{explicit, outputs};
use crate::diagnostic::Diagnostic;
use crate::source::workflow::ContextMode;
use crate::source::{broken, broken_condition};
use crate::template::{Reference, TemplateError, parse_condition, parse_template};
use std::collections::BTreeMap;

/// Parses every text and follows its references.
pub(super) fn check(
    outline: &Outline<'_>,
    reach: &Reach,
    partials: &BTreeMap<String, String>,
    findings: &mut Vec<Diagnostic>,
) {
    let follow = Follow { outline, reach };
    let mut final_references = Vec::new();
    for site in texts(outline) {
        match references(&site, partials) {
            Ok(references) => {
                for reference in references.iter().filter(|reference| !reference.guarded) {
                    findings.extend(follow.reference(&site, reference));
                }
                if outline.workflow.context.mode == ContextMode::Explicit {
                    findings.extend(explicit::check(outline, &site, &references));
                }
                if site.view == View::End {
                    final_references.push((site, references));
                }
            }
            Err(error) => findings.push(syntax(&site, error)),
        }
    }
    findings.extend(outputs::check(outline, reach, &final_references));
}

fn references(site: &Site<'_>, partials: &BTreeMap<String, String>) -> Result<Vec<Reference>, TemplateError> {
    let text = &site.text.value;
    if site.form == Form::Condition {
        return parse_condition(text).map(|parsed| parsed.references());
    }
    let parsed = parse_template(text, site.text.base.as_deref(), partials)?;
    let mut references = parsed.references();
    if !parsed.includes().is_empty() {
        // A partial may use names that the text around its include has set.
        references.retain(|reference| reference.path.len() > 1);
    }
    Ok(references)
}

fn syntax(site: &Site<'_>, error: TemplateError) -> Diagnostic {
    match site.form {
        Form::Template => {
            let error = error.without_kind();
            let message =
                format!("{}: the template of {} cannot be read: {}", site.owner, site.key, error.message);
            broken("workflow::template_syntax", message, site.text, error)
        }
        Form::Condition => broken_condition(&site.owner, site.text, error),
    }
}
