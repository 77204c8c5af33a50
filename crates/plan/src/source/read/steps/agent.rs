//! `type: agent`: rules about its keys.

use super::super::super::text::Text;
use super::super::super::workflow::{AgentStep, Names, OutputMode, Reasoning, Validator};
use super::super::Reader;
use super::super::fields::Fields;
use super::super::fixed::models;

/// What excludes one another among the keys of an agent.
pub fn judge_agent(cx: &mut Reader<'_>, fields: &Fields<'_>, step: &mut AgentStep) {
    raw_with_schema(cx, fields, step);
    if fields.has("timeout_seconds") {
        two_timeouts(cx, fields);
    }
}

/// Reads `models` of a step.
pub fn models_of_step(cx: &mut Reader<'_>, fields: &mut Fields<'_>, _: &str) -> Option<Names> {
    models(cx, fields, "model")
}

fn raw_with_schema(cx: &mut Reader<'_>, fields: &Fields<'_>, step: &AgentStep) {
    let (Some(mode), Some(output)) = (&step.output_mode, &step.output) else { return };
    if mode.value == OutputMode::Raw {
        let message = format!("`output_mode: raw` of {} excludes `output`", fields.owner);
        let place = fields.place_of("output").unwrap_or(&output.span);
        let finding = cx.error("workflow::excludes", message, &mode.span, "raw text has no fields");
        finding
            .labels
            .push(crate::diagnostic::Label { span: place.clone(), text: "fields are declared here".into() });
    }
}

/// A step has one limit of time, by whichever of its two names.
pub fn two_timeouts(cx: &mut Reader<'_>, fields: &Fields<'_>) {
    if let (Some(_), Some(place)) = (fields.place_of("timeout"), fields.place_of("timeout_seconds")) {
        let message = format!("`timeout` and `timeout_seconds` of {} exclude one another", fields.owner);
        cx.error("workflow::excludes", message, place, "both mean the same");
    }
}

/// Reads `reasoning`.
pub fn effort(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Text> {
    fields.value(cx, key).map(|reasoning: Reasoning| reasoning.effort)
}

/// Nothing can be graded by nothing.
pub fn judge_validator(cx: &mut Reader<'_>, fields: &Fields<'_>, read: &mut Validator) {
    if read.criteria.value.trim().is_empty() {
        let message = format!("`criteria` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &read.criteria.span, "say what a good answer is");
    }
}
