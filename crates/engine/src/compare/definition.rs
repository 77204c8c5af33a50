//! What two plans say about the same step: each field that differs, in words that mean the same in both.
//!
//! Steps are known by the name of their workflow and their own. Numbers of templates, conditions and other steps are replaced by
//! what stands behind them, so that a step that was added elsewhere changes nothing here.

use super::result::{Change, Kind};
use super::start::text;
use convoke_model::hash::HashMap;
use convoke_plan::{Node, NodeIx, Plan, Workflow, WorkflowIx};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The name of a step: its workflow, and its own name; empty for the workflow itself.
pub type Step = (String, String);

/// The steps that differ, with the fields that do.
#[derive(Debug, Default)]
pub struct Definitions {
    /// In the order of the plans.
    pub changed: Vec<(Step, Vec<Field>)>,
    places: HashMap<Step, usize>,
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// What kind of cause it is.
    pub kind: Kind,
    /// Which, with both values.
    pub change: Change,
}

impl Definitions {
    /// The place of a step among those that changed.
    pub fn find(&self, step: &Step) -> Option<usize> {
        self.places.get(step).copied()
    }
}

/// The name of a node.
pub fn step_of(plan: &Plan, workflow: WorkflowIx, node: NodeIx) -> Step {
    (workflow_name(plan, workflow.0 as usize), plan.workflow(workflow).node(node).name.to_string())
}

/// The first workflow may have another name or file in the other run, and is compared all the same.
fn workflow_name(plan: &Plan, at: usize) -> String {
    if at == 0 { String::new() } else { plan.workflows[at].name.to_string() }
}

/// Compares two plans.
pub fn changes(old: &Plan, new: &Plan) -> Definitions {
    let texts = |plan: &Plan| json!([plan.templates, plan.conditions, plan.partials]);
    let mut found = Definitions::default();
    let same_texts = texts(old) == texts(new);
    let [before, after] = [old, new].map(written);
    let added = after.keys().filter(|step| !before.contains_key(*step));
    for step in before.keys().chain(added) {
        let sides = [before.get(step), after.get(step)];
        if same_texts && sides[0].map(|side| &side.json) == sides[1].map(|side| &side.json) {
            continue;
        }
        let fields = fields(sides.map(|side| side.map(Written::fields)));
        if !fields.is_empty() {
            found.places.insert(step.clone(), found.changed.len());
            found.changed.push((step.clone(), fields));
        }
    }
    found
}

/// A step as its plan has it.
struct Written<'a> {
    plan: &'a Plan,
    workflow: &'a Workflow,
    json: Value,
}

fn written(plan: &Plan) -> indexmap::IndexMap<Step, Written<'_>> {
    let mut all = indexmap::IndexMap::new();
    for (at, workflow) in plan.workflows.iter().enumerate() {
        let name = workflow_name(plan, at);
        let own = Written { plan, workflow, json: whole(workflow) };
        all.insert((name.clone(), String::new()), own);
        for node in &workflow.nodes {
            let step = (name.clone(), node.name.to_string());
            all.insert(step, Written { plan, workflow, json: own_fields(node) });
        }
    }
    all
}

/// What a workflow says besides its steps.
fn whole(workflow: &Workflow) -> Value {
    json!({
        "context": workflow.context,
        "limits": workflow.limits,
        "entry": workflow.entry,
        "output": workflow.output,
        "instructions": workflow.instructions,
        "hooks": workflow.hooks,
        "pipeline": workflow.pipeline,
    })
}

/// Fields of a node that say where it stands and what it is called, not what it does.
const ASIDE: [&str; 4] = ["name", "description", "place", "hash"];
/// Parts of settings that are about reaching a service and about paying it.
const REACHING: [&str; 6] = ["pricing", "base_url", "api_key", "api_key_file", "headers", "latency_ms"];

fn own_fields(node: &Node) -> Value {
    let mut json = serde_json::to_value(node).expect("a node is data");
    if let Some(fields) = json.as_object_mut() {
        fields.retain(|key, _| !ASIDE.contains(&key.as_str()));
    }
    json
}

impl Written<'_> {
    fn fields(&self) -> BTreeMap<String, Value> {
        let mut fields = BTreeMap::new();
        self.flatten(&self.json, "", &mut fields);
        fields
    }

    /// Each value by its path; what is a text is one value.
    fn flatten(&self, value: &Value, path: &str, into: &mut BTreeMap<String, Value>) {
        let value = self.spelled(value, path);
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (key, field) in fields.iter().filter(|(key, _)| !REACHING.contains(&key.as_str())) {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    self.flatten(field, &path, into);
                }
            }
            Value::Null => {}
            other => drop(into.insert(path.to_owned(), other)),
        }
    }

    /// A value with texts and names instead of numbers.
    fn spelled(&self, value: &Value, path: &str) -> Value {
        let key = path.rsplit('.').next().unwrap_or(path);
        match value {
            Value::Object(fields) => match self.text(fields) {
                Some(text) => Value::String(text),
                None => {
                    let spelled = fields.iter().map(|(key, field)| (key.clone(), self.spelled(field, key)));
                    Value::Object(spelled.collect())
                }
            },
            Value::Array(items) => items.iter().map(|item| self.spelled(item, path)).collect(),
            Value::Number(number) if key == "when" => {
                let condition = number.as_u64().and_then(|at| self.plan.conditions.get(at as usize));
                condition.map_or_else(|| value.clone(), |condition| json!(condition.text))
            }
            Value::Number(number) if NODES.contains(&key) => {
                let node = number.as_u64().and_then(|at| self.workflow.nodes.get(at as usize));
                node.map_or_else(|| value.clone(), |node| json!(node.name))
            }
            Value::Number(number) if key == "workflow" => {
                let workflow = number.as_u64().and_then(|at| self.plan.workflows.get(at as usize));
                workflow.map_or_else(|| value.clone(), |workflow| json!(workflow.name))
            }
            other => other.clone(),
        }
    }

    fn text(&self, fields: &Map<String, Value>) -> Option<String> {
        let (key, value) = fields.iter().next().filter(|_| fields.len() == 1)?;
        match (key.as_str(), value) {
            ("literal", Value::String(text)) => Some(text.clone()),
            ("template", Value::Number(at)) => {
                let template = self.plan.templates.get(at.as_u64()? as usize)?;
                let included = self.plan.partials.iter();
                let included = included.filter(|(path, _)| template.text.contains(file_name(path)));
                Some(included.fold(template.text.to_string(), |text, (_, partial)| text + "\n" + partial))
            }
            _ => None,
        }
    }
}

/// Keys whose numbers are steps.
const NODES: [&str; 16] = [
    "of", "merger", "writer", "reader", "assessor", "repairer", "worker", "from", "node", "to", "item",
    "members", "body", "entry", "summary", "run",
];

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn fields(sides: [Option<BTreeMap<String, Value>>; 2]) -> Vec<Field> {
    let (Some(old), Some(new)) = (&sides[0], &sides[1]) else {
        let word = |side: &Option<_>| side.as_ref().map(|_: &BTreeMap<String, Value>| "there".to_owned());
        let change = Change { field: "step".to_owned(), before: word(&sides[0]), after: word(&sides[1]) };
        return vec![Field { kind: Kind::Plan, change }];
    };
    let added = new.keys().filter(|key| !old.contains_key(*key));
    let changed = old.keys().chain(added).filter(|key| old.get(*key) != new.get(*key));
    let field = |key: &String| Field {
        kind: kind_of(key),
        change: Change { field: short(key), before: text(old.get(key)), after: text(new.get(key)) },
    };
    changed.map(field).collect()
}

/// A field as people know it: without the kind of step around it.
fn short(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    let inner = if parts.first() == Some(&"kind") && parts.len() > 2 { &parts[2..] } else { &parts[..] };
    let inner = if inner.first() == Some(&"settings") && inner.len() > 1 { &inner[1..] } else { inner };
    inner.join(".")
}

fn kind_of(path: &str) -> Kind {
    let path = short(path);
    let first = path.split('.').next().unwrap_or(&path);
    match first {
        "prompt" | "system" | "instructions" | "skills" | "repair_prompt" | "goal" | "criteria" | "query" => {
            Kind::Prompt
        }
        "model" | "provider" | "fallback" | "repair_model" => Kind::Model,
        "routes" | "on_error" | "needs" | "join" | "triggers" | "members" | "body" | "entry" | "step" => {
            Kind::Plan
        }
        _ if path.contains("prompt") => Kind::Prompt,
        _ if limits(&path) => Kind::Limit,
        "temperature" | "reasoning_effort" | "tools" | "schema" | "servers" | "validator" => Kind::Setting,
        _ => Kind::Plan,
    }
}

/// Whether a key of the plan or of the configuration is about a limit.
pub fn limits(path: &str) -> bool {
    const WORDS: [&str; 22] = [
        "max_",
        "limit",
        "budget",
        "timeout",
        "retry",
        "bounds",
        "concurren",
        "per_minute",
        "per_day",
        "tries",
        "depth",
        "duration",
        "idle",
        "patience",
        "policies",
        "capabilities",
        "parse_recovery",
        "on_unknown",
        "resources",
        "labels",
        "deadline",
        "failure_mode",
    ];
    WORDS.iter().any(|word| path.contains(word))
}
