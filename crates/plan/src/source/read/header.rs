//! The whole file: top level and `workflow:`.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use super::super::keys::header::{FILE, HOOK, INPUT, PRICING, WORKFLOW};
use super::super::settings::Runtime;
use super::super::text::Spanned;
use super::super::tree::{Node, Value};
use super::super::workflow::{
    ContextSettings, Cost, Entry, ForEachBody, Hook, Hooks, InputField, Limits, Names, Pricing, Step,
    ValueType, Workflow,
};
use super::fields::Fields;
use super::scalars::Of;
use super::{Reader, budget, flow, group, output, runtime, step};
use crate::diagnostic::SourceFile;
use crate::plan::InputRule;

/// Reads a workflow from the root of its tree.
pub(in crate::source) fn workflow(
    cx: &mut Reader<'_>,
    root: &Node,
    path: &str,
    files: &[Arc<SourceFile>],
) -> Option<Workflow> {
    let mut fields = Fields::open(cx, root, &FILE, "the workflow file".to_owned())?;
    fields.word(cx, "kind");
    let mut workflow = header(cx, &mut fields, root, path, files);
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
    workflow.runtime = runtime::runtime(cx, &mut fields);
    workflow.input = inputs(cx, &mut fields);
    workflow.context = context(cx, &mut fields);
    workflow.limits = limits(cx, &mut fields);
    workflow.cost = cost(cx, &mut fields);
    workflow.hooks = hooks(cx, &mut fields);
    workflow.metadata = metadata(cx, &mut fields);
    workflow.instructions = fields.templates(cx, "instructions").unwrap_or_default();
    workflow.labels = flow::labels(cx, &mut fields);
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
        metadata: serde_json::Map::new(),
        instructions: Vec::new(),
        labels: super::super::workflow::Labels::default(),
        tools: None,
        agents: Vec::new(),
        parallel: Vec::new(),
        for_each: Vec::new(),
        from_manifest: false,
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
    fields.map(cx, key, |cx, pair, _| input(cx, &pair.value, &pair.key.value))
}

fn input(cx: &mut Reader<'_>, node: &Node, name: &str) -> Option<InputField> {
    let mut fields = Fields::open(cx, node, &INPUT, format!("input `{name}`"))?;
    let kind = fields.choice::<ValueType>(cx, "type");
    let default =
        fields.take("default").map(|pair| Spanned::new(cx.json(&pair.value), pair.value.span.clone()));
    let field = InputField {
        default: default
            .filter(|default| kind.as_ref().is_none_or(|kind| fits_type(cx, name, kind.value, default))),
        kind: kind.unwrap_or_else(|| Spanned::new(ValueType::String, node.span.clone())),
        required: fields.flag(cx, "required", true),
        description: fields.text(cx, "description"),
        rule: InputRule::None,
        files: fields.flag(cx, "files", false),
        span: node.span.clone(),
    };
    if field.files && field.kind.value != ValueType::Array {
        let message = format!("`files` of input `{name}` needs `type: array`");
        cx.error("workflow::wrong_type", message, &field.kind.span, "a list of names");
    }
    fields.finish(cx);
    Some(field)
}

fn fits_type(cx: &mut Reader<'_>, name: &str, kind: ValueType, default: &Spanned<serde_json::Value>) -> bool {
    let fits = output::fits(&default.value, kind);
    if !fits {
        let message = format!("`default` of input `{name}` is not of type {}", kind.word());
        cx.error("workflow::wrong_type", message, &default.span, &format!("not of type {}", kind.word()));
    }
    fits
}

fn context(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> ContextSettings {
    let Some(mut fields) = fields.object(cx, "context") else { return ContextSettings::default() };
    let context = ContextSettings {
        mode: fields.choice(cx, "mode").map(|word| word.value).unwrap_or_default(),
        max_tokens: fields.integer(cx, "max_tokens"),
        trim_strategy: fields.choice(cx, "trim_strategy").map(|word| word.value).unwrap_or_default(),
    };
    fields.finish(cx);
    context
}

pub(super) fn limits(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Limits {
    let Some(mut fields) = fields.object(cx, "limits") else { return Limits::default() };
    let limits = Limits {
        max_iterations: fields.integer(cx, "max_iterations"),
        timeout: fields.seconds(cx, "timeout_seconds"),
        budget_usd: fields.number(cx, "budget_usd"),
        budget_tokens: fields.integer(cx, "budget_tokens"),
        budget_mode: fields.choice(cx, "budget_mode").map(|word| word.value).unwrap_or_default(),
        consequence: budget::consequence(cx, &mut fields),
        max_tasks: fields.integer(cx, "max_tasks"),
        max_concurrency: fields.integer(cx, "max_concurrency"),
        breaker_failures: fields.integer(cx, "breaker_failures"),
    };
    budget::judge_limits(cx, &limits);
    fields.finish(cx);
    limits
}

pub(super) fn cost(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Cost {
    let Some(mut fields) = fields.object(cx, "cost") else { return Cost::default() };
    let cost = Cost {
        show_per_agent: fields.flag(cx, "show_per_agent", true),
        show_summary: fields.flag(cx, "show_summary", true),
        pricing: fields
            .map(cx, "pricing", |cx, pair, _| pricing(cx, &pair.value, &pair.key.value))
            .unwrap_or_default(),
    };
    fields.finish(cx);
    cost
}

fn pricing(cx: &mut Reader<'_>, node: &Node, model: &str) -> Option<Pricing> {
    let mut fields = Fields::open(cx, node, &PRICING, format!("the price list of `{model}`"))?;
    let mut price = |cx: &mut Reader<'_>, key| fields.number(cx, key).map_or(0.0, |price| price.value);
    let pricing = Pricing {
        input_per_mtok: price(cx, "input_per_mtok"),
        output_per_mtok: price(cx, "output_per_mtok"),
        cache_read_per_mtok: price(cx, "cache_read_per_mtok"),
        cache_write_per_mtok: price(cx, "cache_write_per_mtok"),
    };
    fields.finish(cx);
    Some(pricing)
}

pub(super) fn hooks(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Hooks {
    let Some(mut fields) = fields.object(cx, "hooks") else { return Hooks::default() };
    let hooks = Hooks {
        on_start: hook(cx, &mut fields, "on_start"),
        on_complete: hook(cx, &mut fields, "on_complete"),
        on_error: hook(cx, &mut fields, "on_error"),
    };
    fields.finish(cx);
    hooks
}

fn hook(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Hook> {
    let node = &fields.take(key)?.value;
    if !matches!(node.value, Value::Map(_)) {
        return cx.template(node, Of { key, owner: &fields.owner }).map(Hook::Message);
    }
    let mut fields = Fields::open(cx, node, &HOOK, format!("hook `{key}`"))?;
    let one = fields.exactly_one(cx, "command", "run");
    let command = fields.template(cx, "command");
    let args = fields.templates(cx, "args").unwrap_or_default();
    let run = fields.text(cx, "run");
    if let (Some(_), Some(place)) = (&run, fields.place_of("args")) {
        let message = format!("`args` of hook `{key}` go with `command`, not with `run`");
        cx.error("workflow::excludes", message, place, "has no meaning here");
    }
    let span = node.span.clone();
    fields.finish(cx);
    match (one, command, run) {
        (true, Some(command), _) => Some(Hook::Command { command, args, span }),
        (true, None, Some(step)) => Some(Hook::Step(step)),
        _ => None,
    }
}

pub(super) fn metadata(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
) -> serde_json::Map<String, serde_json::Value> {
    let pairs = fields.entries(cx, "metadata").unwrap_or_default();
    pairs.iter().map(|pair| (pair.key.value.clone(), cx.json(&pair.value))).collect()
}
