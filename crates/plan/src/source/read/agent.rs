//! `type: agent`.

use super::super::settings::Sandbox;
use super::super::text::Text;
use super::super::workflow::{AgentStep, Dialog, OutputMode, Validator};
use super::asked::{asked, dependency_outputs};
use super::capability::{capabilities, success_criteria};
use super::fields::Fields;
use super::fixed::fixed;
use super::{Reader, output, runtime};

/// Reads the keys of an agent.
pub(super) fn agent(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> AgentStep {
    let step = AgentStep {
        prompt: fields.template(cx, "prompt"),
        tools: fields.names(cx, "tools"),
        secrets: fields.names(cx, "secrets"),
        output: output::schema(cx, fields).filter(|schema| !schema.fields.is_empty()),
        output_mode: fields.choice(cx, "output_mode"),
        timeout_seconds: fields.seconds(cx, "timeout_seconds"),
        max_agent_iterations: fields.integer(cx, "max_agent_iterations"),
        capabilities: capabilities(cx, fields),
        session_key: fixed(cx, fields, "session_key"),
        dialog: dialog(cx, fields),
        context_tier: fields.word_or_template(cx, "context_tier"),
        validator: validator(cx, fields),
        success_criteria: success_criteria(cx, fields),
        sandbox: sandbox(cx, fields),
        working_dir: fields.template(cx, "working_dir"),
        dependency_outputs: dependency_outputs(cx, fields),
        skills: fields.names(cx, "skills"),
        plugins: runtime::plugins(cx, fields),
        ..asked(cx, fields)
    };
    raw_with_schema(cx, fields, &step);
    two_timeouts(cx, fields);
    step
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

fn two_timeouts(cx: &mut Reader<'_>, fields: &Fields<'_>) {
    if let (Some(_), Some(place)) = (fields.place_of("timeout"), fields.place_of("timeout_seconds")) {
        let message = format!("`timeout` and `timeout_seconds` of {} exclude one another", fields.owner);
        cx.error("workflow::excludes", message, place, "both mean the same");
    }
}

fn dialog(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Dialog> {
    let mut fields = fields.object(cx, "dialog")?;
    let trigger_prompt = fields.template(cx, "trigger_prompt");
    let span = fields.span.clone();
    fields.finish(cx);
    Some(Dialog { trigger_prompt: trigger_prompt?, span })
}

/// Reads `reasoning`.
pub(super) fn effort(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Text> {
    let mut fields = fields.object(cx, "reasoning")?;
    let effort = fields.word_or_template(cx, "effort");
    fields.finish(cx);
    effort
}

fn validator(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Validator> {
    let mut fields = fields.object(cx, "validator")?;
    let criteria = fields.template(cx, "criteria");
    if let Some(criteria) = &criteria
        && criteria.value.trim().is_empty()
    {
        let message = format!("`criteria` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &criteria.span, "say what a good answer is");
    }
    let model = fields.template(cx, "model");
    let max_retries = fields.integer(cx, "max_retries").map_or(1, |count| count.value as u32);
    let span = fields.span.clone();
    fields.finish(cx);
    Some(Validator { criteria: criteria?, model, max_retries, span })
}

fn sandbox(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Sandbox> {
    let mut fields = fields.object(cx, "sandbox")?;
    let identifier_scope = fields.word(cx, "identifier_scope").map(|word| word.map(str::to_owned));
    let working_dir = fields.template(cx, "working_dir");
    let span = fields.span.clone();
    fields.finish(cx);
    Some(Sandbox { identifier_scope, working_dir, span })
}
