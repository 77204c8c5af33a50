//! `parallel` and `for_each`.

use super::super::keys::group::{FOR_EACH, PARALLEL};
use super::super::section::Keys;
use super::super::text::Spanned;
use super::super::tree::{Node, Value};
use super::super::workflow::{Common, FailureMode, ForEach, ForEachBody, ParallelGroup};
use super::Reader;
use super::fields::{Fields, is_template};
use super::scalars::Of;
use super::step;

/// Names that a loop variable may not take.
const RESERVED: &[&str] = &["workflow", "context", "output", "_index", "_key"];

/// Reads an entry of `parallel`.
pub(super) fn parallel(cx: &mut Reader<'_>, node: &Node, fallback: String) -> Option<ParallelGroup> {
    let mut fields = Fields::open(cx, node, &PARALLEL, fallback)?;
    let name = group_name(cx, &mut fields, "parallel group");
    let agents = fields.names(cx, "agents");
    if let (Some(agents), Some(place)) = (&agents, fields.place_of("agents"))
        && agents.len() < 2
    {
        let message =
            format!("`agents` of {} must name at least 2 members, found {}", fields.owner, agents.len());
        cx.error("workflow::out_of_range", message, place, "too few members");
    }
    let group = ParallelGroup {
        name,
        agents: agents.unwrap_or_default(),
        failure_mode: failure_mode(cx, &mut fields),
        max_concurrent: fields.integer(cx, "max_concurrent"),
        common: Common::take(cx, &mut fields)?,
    };
    fields.finish(cx);
    Some(group)
}

fn group_name(cx: &mut Reader<'_>, fields: &mut Fields<'_>, what: &str) -> Spanned<String> {
    let name = step::name(cx, fields);
    if !name.value.is_empty() {
        fields.owner = format!("{what} `{}`", name.value);
    }
    name
}

/// Reads `failure_mode` with its `min`.
pub(super) fn failure_mode(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> FailureMode {
    let mode = fields.word(cx, "failure_mode");
    let min = fields.integer(cx, "min");
    let is_quorum = mode.as_ref().is_some_and(|mode| mode.value == "quorum");
    match (is_quorum, fields.place_of("min")) {
        (true, None) => {
            let message = format!("`failure_mode: quorum` of {} needs `min`", fields.owner);
            cx.error("workflow::needs_key", message, &fields.head, "`min` is required here");
        }
        (false, Some(place)) => {
            let message = format!("`min` of {} goes with `failure_mode: quorum` only", fields.owner);
            cx.error("workflow::needs_key", message, place, "has no meaning here");
        }
        _ => {}
    }
    match mode.map(|mode| mode.value) {
        Some("continue_on_error") => FailureMode::ContinueOnError,
        Some("all_or_nothing") => FailureMode::AllOrNothing,
        Some("quorum") => FailureMode::Quorum(min.map_or(1, |min| min.value)),
        _ => FailureMode::FailFast,
    }
}

/// Reads an entry of `for_each`.
pub(super) fn for_each(cx: &mut Reader<'_>, node: &Node, fallback: String) -> Option<ForEach> {
    let mut fields = Fields::open(cx, node, &FOR_EACH, fallback)?;
    let name = group_name(cx, &mut fields, "for_each group");
    fields.word(cx, "type");
    let missing = || Spanned::new(String::new(), name.span.clone());
    fields.exactly_one(cx, "source", "items");
    let source = fields.text(cx, "source");
    let variable = fields.text(cx, "as");
    if let Some(variable) = &variable {
        check_variable(cx, variable, &fields.owner);
    }
    let group = ForEach {
        items: items(cx, &mut fields),
        source: source.unwrap_or_else(missing),
        variable: variable.unwrap_or_else(missing),
        body: body(cx, &mut fields),
        max_concurrent: fields.integer(cx, "max_concurrent"),
        failure_mode: failure_mode(cx, &mut fields),
        key_by: fields.text(cx, "key_by"),
        named: false,
        in_batches: false,
        common: Common::take(cx, &mut fields)?,
        name,
    };
    fields.finish(cx);
    Some(group)
}

/// Reads `items`, which are taken as they are.
fn items(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<Vec<serde_json::Value>>> {
    let nodes = fields.list(cx, "items")?;
    let span = fields.take("items")?.value.span.clone();
    for node in nodes {
        if let Value::Scalar(scalar) = &node.value
            && is_template(&scalar.raw)
        {
            let message =
                format!("`items` of {} are not rendered, and one looks like a template", fields.owner);
            let finding = cx.warning("workflow::no_effect", message, &node.span, "taken as it is");
            finding.help = Some("a list that is known when the run starts comes from `source`".to_owned());
        }
    }
    Some(Spanned::new(nodes.iter().map(|node| cx.json(node)).collect(), span))
}

fn body(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<ForEachBody> {
    let one = fields.exactly_one(cx, "agent", "run");
    let run = fields.text(cx, "run");
    let fallback = format!("the inline agent of {}", fields.owner);
    let inline = fields.take("agent").and_then(|pair| step::step(cx, &pair.value, &fallback));
    match (one, inline, run) {
        (true, Some(inline), _) => Some(ForEachBody::Inline(Box::new(inline))),
        (true, None, Some(run)) => Some(ForEachBody::Run(run)),
        _ => None,
    }
}

fn check_variable(cx: &mut Reader<'_>, variable: &Spanned<String>, owner: &str) {
    let name = &variable.value;
    if RESERVED.contains(&name.as_str()) {
        let message = format!("`as` of {owner}: `{name}` is a reserved name");
        let finding = cx.error("workflow::reserved_name", message, &variable.span, "reserved");
        finding.help = Some(format!("reserved are {}", RESERVED.join(", ")));
    } else if !is_identifier(name) {
        let message = format!("`as` of {owner}: `{name}` is not a name that a template can use");
        let finding = cx.error("workflow::bad_name", message, &variable.span, "not a name");
        finding.help = Some("use letters, digits and `_`, not beginning with a digit".to_owned());
    }
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && characters.all(|c| c.is_alphanumeric() || c == '_')
}

/// Sources are looked at once all groups are known: an item of an outer fan-out may be a list by itself.
pub(super) fn check_sources(cx: &mut Reader<'_>, groups: &[ForEach]) {
    for group in groups.iter().filter(|group| !group.source.value.is_empty()) {
        let first = group.source.value.split('.').next().unwrap_or_default();
        if !groups.iter().any(|outer| outer.variable.value == first) {
            let owner = format!("for_each group `{}`", group.name.value);
            check_source(cx, &group.source, Of { key: "source", owner: &owner });
        }
    }
}

/// Whether a path to a list has its three parts; reports it if not.
pub(super) fn check_source(cx: &mut Reader<'_>, source: &Spanned<String>, of: Of<'_>) -> bool {
    let parts: Vec<&str> = source.value.split('.').collect();
    let good = parts.len() >= 3 && parts.iter().all(|part| !part.trim().is_empty());
    if !good {
        let message = format!("{of}: `{}` is not a path of at least three parts", source.value);
        let finding = cx.error("workflow::bad_source", message, &source.span, "not a path to a list");
        finding.help = Some("write `step.output.field` or `workflow.input.name`".to_owned());
    }
    good
}
