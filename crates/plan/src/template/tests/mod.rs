//! Whole templates and conditions: what must come out, what must be refused, what must end.

mod conditions;
mod expressions;
mod files;
mod jinja;
mod limits;
mod references;
mod worst;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{RenderError, Renderer, TemplateId, TemplateSource, from_json, to_json};

/// Renders one text with a JSON context.
fn render(text: &str, context: &Json) -> Result<String, RenderError> {
    let source = TemplateSource { text: text.into(), base: None };
    Renderer::new(&[source], &[], &BTreeMap::new()).render(TemplateId(0), from_json(context))
}

/// The value of one text with a JSON context.
fn value(text: &str, context: &Json) -> Result<Json, RenderError> {
    let source = TemplateSource { text: text.into(), base: None };
    let renderer = Renderer::new(&[source], &[], &BTreeMap::new());
    renderer.value(TemplateId(0), from_json(context)).map(|value| to_json(&value))
}
