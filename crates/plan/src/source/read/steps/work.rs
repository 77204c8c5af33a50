//! `type: script`, `set`, `terminate`, `wait` and `workflow`: rules about their keys.

use std::time::Duration;

use super::super::super::text::{Spanned, Text};
use super::super::super::workflow::{References, SetStep, TerminateStatus, WaitDuration};
use super::super::Reader;
use super::super::fields::{Fields, is_template};

/// The longest wait.
const MAX_WAIT: Duration = Duration::from_secs(86_400);

/// A template that must not be blank.
pub fn non_blank(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Text> {
    let text = fields.template(cx, key)?;
    if text.value.trim().is_empty() {
        let message = format!("`{key}` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &text.span, "nothing here");
        return None;
    }
    Some(text)
}

/// Texts that are kept as references, by name.
pub fn references(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> References {
    fields.reference_map(cx, key).unwrap_or_default()
}

/// A step sets one value or several, and only the one has a type.
pub fn judge_set(cx: &mut Reader<'_>, fields: &Fields<'_>, set: &mut SetStep) {
    let one = fields.exactly_one(cx, "value", "values");
    if let (Some(_), Some(output_type)) = (&set.values, &set.output_type) {
        let message = format!("`output_type` of {} goes with `value`, not with `values`", fields.owner);
        cx.error("workflow::excludes", message, &output_type.span, "several values have no common type");
    }
    if !one {
        (set.value, set.values) = (None, None);
    }
}

/// Reads how a workflow ends. Failing is the safe reading of a status that could not be read.
pub fn status(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Spanned<TerminateStatus> {
    let failed = TerminateStatus::Failed;
    fields.value(cx, key).unwrap_or_else(|| Spanned::new(failed, fields.head.clone()))
}

/// Reads how long a step waits.
pub fn wait_duration(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<WaitDuration> {
    let node = &fields.take(key)?.value;
    let of = fields.of(key);
    if let super::super::super::tree::Value::Scalar(scalar) = &node.value
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

/// Reads the path of a workflow file.
pub fn workflow_path(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Spanned<String>> {
    let path = fields.text(cx, key)?;
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
