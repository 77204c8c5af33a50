//! `type: script`, `set`, `terminate`, `wait` and `workflow`.

use std::time::Duration;

use super::super::text::{Spanned, Text};
use super::super::workflow::{
    ScriptStep, SetStep, SetType, SetWhat, TerminateStatus, TerminateStep, WaitDuration, WaitStep,
    WorkflowStep,
};
use super::fields::{Fields, is_template};
use super::scalars::Of;
use super::{Reader, output, runtime};

/// The longest wait.
const MAX_WAIT: Duration = Duration::from_secs(86_400);

/// Reads a script step.
pub(super) fn script(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> ScriptStep {
    ScriptStep {
        command: non_blank(cx, fields, "command"),
        args: fields.templates(cx, "args").unwrap_or_default(),
        env: fields.reference_map(cx, "env").unwrap_or_default(),
        working_dir: fields.template(cx, "working_dir"),
        stdin: fields.template(cx, "stdin"),
        output: output::schema(cx, fields),
        timeouts: runtime::timeouts(cx, fields),
    }
}

/// A template that must not be blank.
fn non_blank(cx: &mut Reader<'_>, fields: &mut Fields<'_>, name: &str) -> Option<Text> {
    let text = fields.template(cx, name)?;
    if text.value.trim().is_empty() {
        let message = format!("`{name}` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &text.span, "nothing here");
        return None;
    }
    Some(text)
}

/// Reads a set step.
pub(super) fn set(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> SetStep {
    let one = fields.exactly_one(cx, "value", "values");
    let output_type = fields.choice::<SetType>(cx, "output_type");
    let value = fields.template(cx, "value");
    let values = fields.template_map(cx, "values");
    if let (Some(_), Some(output_type)) = (&values, &output_type) {
        let message = format!("`output_type` of {} goes with `value`, not with `values`", fields.owner);
        cx.error("workflow::excludes", message, &output_type.span, "several values have no common type");
    }
    let what = match (one, value, values) {
        (true, Some(value), _) => {
            let output_type = output_type.unwrap_or_else(|| Spanned::new(SetType::Auto, value.span.clone()));
            Some(SetWhat::Value { value, output_type })
        }
        (true, None, Some(values)) => Some(SetWhat::Values(values)),
        _ => None,
    };
    SetStep { what }
}

/// Reads a terminate step.
pub(super) fn terminate(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> TerminateStep {
    let status = fields.choice(cx, "status");
    TerminateStep {
        // Failing is the safe reading of a status that could not be read.
        status: status.unwrap_or_else(|| Spanned::new(TerminateStatus::Failed, fields.head.clone())),
        reason: non_blank(cx, fields, "reason"),
        output_template: fields.template_map(cx, "output_template"),
    }
}

/// Reads a wait step.
pub(super) fn wait(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> WaitStep {
    WaitStep { duration: wait_duration(cx, fields), reason: fields.template(cx, "reason") }
}

fn wait_duration(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<WaitDuration> {
    let node = &fields.take("duration")?.value;
    let of = Of { key: "duration", owner: &fields.owner };
    if let super::super::tree::Value::Scalar(scalar) = &node.value
        && is_template(&scalar.raw)
    {
        return cx.template(node, of).map(WaitDuration::Template);
    }
    let duration = cx.duration(node, of)?;
    if duration.value > MAX_WAIT {
        cx.out_of_range(node, of, "at most 24 hours (86400 seconds)");
        return None;
    }
    Some(WaitDuration::Literal(duration))
}

/// Reads a workflow step.
pub(super) fn workflow(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> WorkflowStep {
    WorkflowStep {
        workflow: path(cx, fields),
        input_mapping: fields.template_map(cx, "input_mapping"),
        max_depth: fields.integer(cx, "max_depth"),
    }
}

fn path(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<String>> {
    let path = fields.text(cx, "workflow")?;
    if path.value.trim().is_empty() {
        let message = format!("`workflow` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &path.span, "name a workflow file");
        return None;
    }
    if is_registry_reference(&path.value) {
        let message = format!("`workflow` of {} refers to a registry: `{}`", fields.owner, path.value);
        let finding = cx.error("workflow::registry_reference", message, &path.span, "not a path");
        finding.help = Some("registries are not supported, give the path of a workflow file".to_owned());
        return None;
    }
    Some(path)
}

/// `name`, `name@registry`, `name#ref`: no folder and no ending of a file.
fn is_registry_reference(text: &str) -> bool {
    let name = text.split(['@', '#']).next().unwrap_or(text);
    let is_file =
        [".yaml", ".yml", ".json"].iter().any(|ending| text.ends_with(ending) || name.ends_with(ending));
    !is_file && !name.contains('/') && !name.contains('.')
}
