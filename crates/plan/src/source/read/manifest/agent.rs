//! One agent of a manifest.

use std::rc::Rc;
use std::time::Duration;

use super::super::super::keys::manifest::{AGENT, DEPENDENCY};
use super::super::super::manifest::{AgentSpec, Dependency, Partitions};
use super::super::super::section::Keys;
use super::super::super::text::Spanned;
use super::super::super::tree::scalar::{Typed, typed};
use super::super::super::tree::{Node, Pair, Value};
use super::super::super::workflow::{AgentStep, Backoff, Common, ErrorClass, FailureMode, Requires, Retry};
use super::super::fields::Fields;
use super::super::scalars::Of;
use super::super::{Reader, group};
use super::output_schema::output_schema;
use super::{Defaults, is_path, models, one_of, template_of};
use crate::diagnostic::Span;

/// The first pause between attempts that `max_retries` asks for.
const PAUSE: Duration = Duration::from_millis(500);
/// Failures that another attempt can help.
const PASSING: &[ErrorClass] = &[
    ErrorClass::RateLimit,
    ErrorClass::Capacity,
    ErrorClass::Timeout,
    ErrorClass::Transient,
    ErrorClass::InvalidOutput,
    ErrorClass::Refused,
];

/// For authors that meant to write a workflow.
const WHICH: &str =
    "agents of an execution manifest have `id`; a file of steps with `name` begins with `workflow:`";

/// Reads an agent; `fallback` names it in messages until its own name is known.
pub(super) fn agent(
    cx: &mut Reader<'_>,
    node: &Node,
    fallback: String,
    defaults: &Defaults,
) -> Option<AgentSpec> {
    let node = said(node);
    let mut fields = Fields::open_extended(cx, &node, &AGENT, fallback)?;
    let id = id(cx, &mut fields);
    if !id.value.is_empty() {
        fields.owner = format!("agent `{}`", id.value);
    }
    let mut step = AgentStep::take(cx, &mut fields)?;
    models::choose(cx, &mut fields, &mut step, &defaults.roles);
    let common = common(cx, &mut fields, defaults)?;
    shape(cx, &mut fields, &mut step);
    let partitions = partitions(cx, &mut fields);
    let spec = AgentSpec {
        role: filled(fields.text(cx, "role")),
        department: filled(fields.text(cx, "department")),
        task: template_of(cx, &mut fields, &["task_template", "task"]).or(step.prompt.take()),
        depends_on: depends_on(cx, &mut fields),
        failure_mode: failure_mode(cx, &mut fields, partitions.is_some()),
        max_concurrent: fields.integer(cx, "max_concurrent"),
        partitions,
        id,
        step,
        common,
    };
    one_of(cx, &fields, &["task_template", "task", "prompt"]);
    fields.take("memory_channels");
    fields.take("delegation_model_menu");
    fields.finish(cx);
    Some(spec)
}

/// Keys whose empty text says nothing: a manifest that a program wrote has them all.
const MAY_BE_EMPTY: &[&str] = &[
    "role",
    "department",
    "task",
    "task_template",
    "system_prompt",
    "model",
    "model_id",
    "model_role",
    "success_criteria",
    "output_schema",
];

/// The mapping without what says nothing.
fn said(node: &Node) -> Rc<Node> {
    let Value::Map(pairs) = &node.value else { return Rc::new(node.share()) };
    let is_empty = |pair: &Pair| {
        let blank = matches!(&pair.value.value, Value::Scalar(scalar) if scalar.raw.trim().is_empty());
        blank && MAY_BE_EMPTY.contains(&pair.key.value.as_str())
    };
    match pairs.iter().any(is_empty) {
        true => Node::map(pairs.iter().filter(|pair| !is_empty(pair)).cloned().collect(), &node.span),
        false => Rc::new(node.share()),
    }
}

/// An empty text says nothing, as in the original.
fn filled(text: Option<Spanned<String>>) -> Option<Spanned<String>> {
    text.filter(|text| !text.value.trim().is_empty())
}

fn id(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Spanned<String> {
    let written = one_of(cx, fields, &["id", "agent_id"]);
    let (own, other) = (fields.text(cx, "id"), fields.text(cx, "agent_id"));
    let id = filled(own.or(other));
    if let (None, Some(key)) = (&id, written)
        && let Some(place) = fields.place_of(key)
    {
        let message = format!("`{key}` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, place, "a name is required here");
    } else if id.is_none() {
        let message = format!("{} has no `id`", fields.owner);
        cx.error("workflow::missing_key", message, &fields.head, "`id` is required here").help =
            Some(WHICH.to_owned());
    }
    id.unwrap_or_else(|| Spanned::new(String::new(), fields.head.clone()))
}

/// What every step has; how agents follow one another is said by `depends_on` alone.
fn common(cx: &mut Reader<'_>, fields: &mut Fields<'_>, defaults: &Defaults) -> Option<Common> {
    let stated = fields.integer(cx, "max_retries");
    let mut common = Common::take(cx, fields)?;
    if let (Some(count), Some(retry)) = (&stated, &common.retry) {
        let message = format!("`max_retries` and `retry` of {} exclude one another", fields.owner);
        cx.error("workflow::excludes", message, &count.span, "keep one of the two")
            .labels
            .push(crate::diagnostic::Label { span: retry.span.clone(), text: "the other one".into() });
    }
    if common.retry.is_none() {
        common.retry = stated.as_ref().or(defaults.max_retries.as_ref()).map(retries);
    }
    common.timeout = common.timeout.or_else(|| defaults.timeout.clone());
    Some(common)
}

/// Further attempts, after every failure that can pass.
fn retries(count: &Spanned<u64>) -> Retry {
    Retry {
        max_attempts: count.value as u32 + 1,
        backoff: Backoff::Exponential,
        delay: PAUSE,
        retry_on: PASSING.to_vec(),
        max_parse_recovery_attempts: None,
        span: count.span.clone(),
    }
}

/// The shape of the answer: `output_schema`, or `output` as in a workflow.
fn shape(cx: &mut Reader<'_>, fields: &mut Fields<'_>, step: &mut AgentStep) {
    one_of(cx, fields, &["output_schema", "output"]);
    step.output = output_schema(cx, fields, "output_schema").or(step.output.take());
}

fn partitions(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Partitions> {
    let node = &fields.take("partitions")?.value;
    let of = Of { key: "partitions", owner: &fields.owner };
    match &node.value {
        Value::Seq(items) if items.is_empty() => None,
        Value::Seq(items) => {
            let listed: Vec<_> = items.iter().filter_map(|item| partition(cx, item, of)).collect();
            reject_repeats(cx, &listed, of);
            Some(Partitions::Listed(listed))
        }
        Value::Scalar(scalar) if matches!(typed(scalar), Typed::Text(_)) => {
            let path = cx.text(node, of)?;
            is_path(cx, &path, of).then_some(Partitions::Path(path))
        }
        _ => {
            cx.wrong_type(node, of, "a list, or the path of one");
            None
        }
    }
}

/// A number is as good a name as a text.
fn partition(cx: &mut Reader<'_>, node: &Node, of: Of<'_>) -> Option<Spanned<String>> {
    if let Value::Scalar(scalar) = &node.value
        && matches!(typed(scalar), Typed::Integer(_) | Typed::Float(_) | Typed::Bool(_))
    {
        return Some(Spanned::new(scalar.raw.clone(), node.span.clone()));
    }
    cx.text(node, of)
}

/// Two partitions of one name would be one task.
fn reject_repeats(cx: &mut Reader<'_>, partitions: &[Spanned<String>], of: Of<'_>) {
    let mut seen = std::collections::HashSet::new();
    for partition in partitions.iter().filter(|partition| !seen.insert(partition.value.as_str())) {
        let message = format!("`{}` stands twice in {of}", partition.value);
        cx.error("workflow::duplicate", message, &partition.span, "the second one");
    }
}

fn depends_on(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<Dependency> {
    if let Some(pair) = fields.take("depends_on").filter(|pair| matches!(pair.value.value, Value::Scalar(_)))
    {
        return dependency(cx, &pair.value, &fields.owner).into_iter().collect();
    }
    let items = fields.list(cx, "depends_on").unwrap_or_default();
    items.iter().filter_map(|item| dependency(cx, item, &fields.owner)).collect()
}

fn dependency(cx: &mut Reader<'_>, node: &Node, owner: &str) -> Option<Dependency> {
    if !matches!(node.value, Value::Map(_)) {
        let on = cx.text(node, Of { key: "depends_on", owner })?;
        return Some(Dependency { on, requires: Requires::default() });
    }
    let mut fields = Fields::open(cx, node, &DEPENDENCY, format!("a dependency of {owner}"))?;
    let on = fields.text(cx, "agent");
    let requires = fields.choice(cx, "requires").map(|word| word.value).unwrap_or_default();
    fields.finish(cx);
    Some(Dependency { on: on?, requires })
}

fn failure_mode(cx: &mut Reader<'_>, fields: &mut Fields<'_>, partitioned: bool) -> FailureMode {
    for key in ["failure_mode", "max_concurrent"] {
        only_with_partitions(cx, fields, key, partitioned);
    }
    let stated = fields.place_of("failure_mode").is_some();
    let mode = group::failure_mode(cx, fields);
    if stated { mode } else { FailureMode::ContinueOnError }
}

fn only_with_partitions(cx: &mut Reader<'_>, fields: &Fields<'_>, key: &str, partitioned: bool) {
    let place: Option<&Span> = fields.place_of(key);
    if let (false, Some(place)) = (partitioned, place) {
        let message = format!("`{key}` of {} goes with `partitions` only", fields.owner);
        cx.error("workflow::needs_key", message, place, "has no meaning here");
    }
}
