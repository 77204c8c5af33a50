//! The whole file: top level and `workflow:`.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use super::super::keys::header::{FILE, WORKFLOW};
use super::super::section::{FromNode, Section};
use super::super::settings::Runtime;
use super::super::shape::Shape;
use super::super::text::Spanned;
use super::super::tree::{Node, Pair, Value};
use super::super::workflow::{
    ContextSettings, Cost, Entry, ForEachBody, Hook, HookMapping, Hooks, InputField, Limits, Names, Pricing,
    Step, ValueType, Workflow,
};
use super::fields::Fields;
use super::scalars::Of;
use super::{Reader, group, output, step};
use crate::diagnostic::SourceFile;

/// Reads a workflow from the root of its tree.
pub fn workflow(cx: &mut Reader<'_>, root: &Node, path: &str, files: &[Arc<SourceFile>]) -> Option<Workflow> {
    let mut fields = Fields::open(cx, root, &FILE, "the workflow file".to_owned())?;
    fields.word(cx, "kind");
    let mut workflow = header(cx, &mut fields, root, path, files);
    workflow.secrets = super::secret::secrets(cx, &mut fields);
    workflow.tools = fields.names(cx, "tools");
    workflow.agents = steps(cx, &mut fields);
    workflow.parallel = items(cx, &mut fields, "parallel", "parallel group", group::parallel);
    workflow.for_each = items(cx, &mut fields, "for_each", "for_each group", group::for_each);
    group::check_sources(cx, &workflow.for_each);
    workflow.output = fields.template_map(cx, "output");
    fields.finish(cx);
    judge_entry_point(cx, &workflow, root);
    Some(workflow)
}

fn steps(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<Step> {
    items(cx, fields, "agents", "step", |cx, node, fallback| step::step(cx, node, &fallback))
}

pub(super) fn items<T>(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
    what: &str,
    read: impl Fn(&mut Reader<'_>, &Node, String) -> Option<T>,
) -> Vec<T> {
    let items: &[Rc<Node>] = fields.list(cx, key).unwrap_or_default();
    let mut found = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        found.extend(read(cx, item, format!("{what} {}", index + 1)));
    }
    found
}

fn header(
    cx: &mut Reader<'_>,
    file: &mut Fields<'_>,
    root: &Node,
    path: &str,
    files: &[Arc<SourceFile>],
) -> Workflow {
    let mut workflow = empty(file, root, path, files);
    let Some(pair) = file.take("workflow") else { return workflow };
    let Some(mut fields) = Fields::open(cx, &pair.value, &WORKFLOW, "workflow".to_owned()) else {
        return workflow;
    };
    workflow.span = fields.span.clone();
    workflow.name = step::name(cx, &mut fields);
    workflow.description = fields.text(cx, "description");
    workflow.version = fields.text(cx, "version");
    workflow.entry_point = entry_point(cx, &mut fields);
    workflow.runtime = fields.value(cx, "runtime").unwrap_or_default();
    workflow.input = inputs(cx, &mut fields);
    workflow.context = fields.value(cx, "context").unwrap_or_default();
    workflow.limits = fields.value(cx, "limits").unwrap_or_default();
    workflow.cost = fields.value(cx, "cost").unwrap_or_default();
    workflow.hooks = fields.value(cx, "hooks").unwrap_or_default();
    workflow.metadata = metadata(cx, &mut fields);
    workflow.instructions = fields.templates(cx, "instructions").unwrap_or_default();
    workflow.labels = fields.value(cx, "labels").unwrap_or_default();
    fields.finish(cx);
    workflow
}

fn empty(fields: &Fields<'_>, root: &Node, path: &str, files: &[Arc<SourceFile>]) -> Workflow {
    Workflow {
        file: root.span.file.clone(),
        path: path.to_owned(),
        files: files.to_vec(),
        span: fields.head.clone(),
        name: Spanned::new(String::new(), fields.head.clone()),
        description: None,
        version: None,
        entry_point: Vec::new(),
        runtime: Runtime::default(),
        input: None,
        context: ContextSettings::default(),
        limits: Limits::default(),
        cost: Cost::default(),
        hooks: Hooks::default(),
        secrets: IndexMap::new(),
        metadata: serde_json::Map::new(),
        instructions: Vec::new(),
        labels: super::super::workflow::Labels::default(),
        tools: None,
        agents: Vec::new(),
        parallel: Vec::new(),
        for_each: Vec::new(),
        from_manifest: false,
        role_servers: Vec::new(),
        output: None,
        pipeline: None,
    }
}

fn entry_point(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Names {
    let Some(pair) = fields.take("entry_point") else { return Vec::new() };
    match &pair.value.value {
        Value::Seq(_) => fields.names(cx, "entry_point").unwrap_or_default(),
        _ => fields.text(cx, "entry_point").into_iter().collect(),
    }
}

/// Without a start only dependencies can say where to begin.
fn judge_entry_point(cx: &mut Reader<'_>, workflow: &Workflow, root: &Node) {
    let Some(header) = root.get("workflow") else { return };
    let written = header.get("entry_point").is_some_and(|node| !node.is_null());
    if !matches!(header.value, Value::Map(_)) || has_needs(workflow) || !workflow.entry_point.is_empty() {
        return;
    }
    // Something was written: an empty list is worth a word, the rest was reported by its reader.
    let is_empty_list =
        header.get("entry_point").is_some_and(|node| matches!(&node.value, Value::Seq(v) if v.is_empty()));
    if !written || is_empty_list {
        let span = super::scalars::head(header);
        let finding =
            cx.error("workflow::missing_key", "workflow has no `entry_point`", &span, "where does it start?");
        finding.help = Some("name a step or group, or give some step `needs`".to_owned());
    }
}

fn has_needs(workflow: &Workflow) -> bool {
    let inline = |body: &Option<ForEachBody>| match body {
        Some(ForEachBody::Inline(step)) => !step.common.needs.is_empty(),
        _ => false,
    };
    workflow.agents.iter().any(|step| !step.common.needs.is_empty())
        || workflow.parallel.iter().any(|group| !group.common.needs.is_empty())
        || workflow.for_each.iter().any(|group| !group.common.needs.is_empty() || inline(&group.body))
}

fn inputs(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<IndexMap<String, Entry<InputField>>> {
    inputs_at(cx, fields, "input")
}

/// Reads declared inputs below a key.
pub(super) fn inputs_at(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
) -> Option<IndexMap<String, Entry<InputField>>> {
    fields.map(cx, key, |cx, pair, _| InputField::at(cx, &pair.value, format!("input `{}`", pair.key.value)))
}

/// The type of an input; a text where none is written (which is reported).
pub fn type_of(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Spanned<ValueType> {
    fields.value(cx, key).unwrap_or_else(|| Spanned::new(ValueType::String, fields.place()))
}

/// A default must be of the type, and only a list can name files.
pub fn judge_input(cx: &mut Reader<'_>, fields: &Fields<'_>, input: &mut InputField) {
    let (owner, kind) = (&fields.owner, input.kind.value);
    // Without a type that could be read, nothing is known about the default.
    if input.kind.span.range != fields.span.range {
        input.default.take_if(|default| !fits_type(cx, owner, kind, default));
    }
    if input.files && kind != ValueType::Array {
        let message = format!("`files` of {owner} needs `type: array`");
        cx.error("workflow::wrong_type", message, &input.kind.span, "a list of names");
    }
}

fn fits_type(
    cx: &mut Reader<'_>,
    owner: &str,
    kind: ValueType,
    default: &Spanned<serde_json::Value>,
) -> bool {
    let fits = output::fits(&default.value, kind);
    if !fits {
        let message = format!("`default` of {owner} is not of type {}", kind.word());
        cx.error("workflow::wrong_type", message, &default.span, &format!("not of type {}", kind.word()));
    }
    fits
}

/// Prices by model.
pub fn price_lists(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
) -> IndexMap<String, Entry<Pricing>> {
    let list = |cx: &mut Reader<'_>, pair: &Pair, _: &str| {
        Pricing::at(cx, &pair.value, format!("the price list of `{}`", pair.key.value))
    };
    fields.map(cx, key, list).unwrap_or_default()
}

impl FromNode for Hook {
    const SHAPE: Shape = Shape::OneOf(&[Shape::Template, HookMapping::SHAPE]);

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, _: Shape) -> Option<Self> {
        if !matches!(node.value, Value::Map(_)) {
            return cx.template(node, of).map(Hook::Message);
        }
        let hook = HookMapping::at(cx, node, format!("hook `{}`", of.key))?;
        match (hook.command, hook.run) {
            (Some(command), None) => {
                Some(Hook::Command { command, args: hook.args, span: node.span.clone() })
            }
            (None, Some(step)) => Some(Hook::Step(step)),
            _ => None,
        }
    }
}

/// A hook runs one thing.
pub fn judge_hook(cx: &mut Reader<'_>, fields: &Fields<'_>, hook: &mut HookMapping) {
    fields.exactly_one(cx, "command", "run");
    if let (Some(_), Some(place)) = (&hook.run, fields.place_of("args")) {
        let message = format!("`args` of {} go with `command`, not with `run`", fields.owner);
        cx.error("workflow::excludes", message, place, "has no meaning here");
    }
}

pub(super) fn metadata(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
) -> serde_json::Map<String, serde_json::Value> {
    let pairs = fields.entries(cx, "metadata").unwrap_or_default();
    pairs.iter().map(|pair| (pair.key.value.clone(), cx.json(&pair.value))).collect()
}
