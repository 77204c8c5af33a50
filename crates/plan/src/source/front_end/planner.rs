//! What planners put out: steps with subtasks and dependencies.
//!
//! Texts of steps were written by a model, so they are taken as they are and are no templates. Keys that only the
//! planner knows are left out.

use std::rc::Rc;

use super::super::escape;
use super::super::tree::{Node, Pair, Value};

/// Names of a step, in order of precedence.
const IDS: &[&str] = &["id", "node_id", "step_id", "agent_id", "name"];
/// What a step is to do, in order of precedence.
const TASKS: &[&str] = &["refined_subtask", "subtask", "task", "query", "description"];
/// What a step waits for.
const BEFORE: &[&str] = &["depends_on", "dependencies"];
/// Keys of steps that agents have too.
const KEPT: &[&str] = &[
    "role",
    "department",
    "tools",
    "model",
    "model_id",
    "model_role",
    "system_prompt",
    "partitions",
    "success_criteria",
    "output_schema",
    "max_retries",
];
/// Keys of plans that manifests have too.
const TOP: &[&str] = &[
    "name",
    "description",
    "query",
    "context",
    "synthesis",
    "verify",
    "mode",
    "execution_mode",
    "max_concurrency",
    "provider",
    "model",
    "model_roles",
    "mcp_servers",
    "runtime",
    "limits",
    "metadata",
];
/// What planners write where they mean no bound.
const NO_BOUND: f64 = 3600.0;

/// Whether a file is a planner's output.
pub(crate) fn is_plan(root: &Node) -> bool {
    root.get("steps").is_some_and(|steps| matches!(steps.value, Value::Seq(_)))
}

/// The manifest of a plan.
pub(crate) fn manifest(root: &Node) -> Rc<Node> {
    let Value::Map(written) = &root.value else { return Node::map(Vec::new(), &root.span) };
    let mut pairs: Vec<Pair> =
        written.iter().filter(|pair| TOP.contains(&pair.key.value.as_str())).cloned().collect();
    if let (None, Some(goal)) = (root.get("query"), first(root, &["goal", "objective"])) {
        pairs.push(Pair::new("query", goal.value.clone()));
    }
    if let Some(steps) = written.iter().find(|pair| pair.key.value == "steps") {
        let Value::Seq(items) = &steps.value.value else { return Node::map(pairs, &root.span) };
        let agents = Node::list(items.iter().map(agent).collect(), &steps.value.span);
        pairs.push(Pair { key: steps.key.clone().map(|_| "agents".to_owned()), value: agents });
    }
    Node::map(pairs, &root.span)
}

fn first<'t>(node: &'t Node, keys: &[&str]) -> Option<&'t Pair> {
    let Value::Map(pairs) = &node.value else { return None };
    keys.iter().find_map(|key| pairs.iter().find(|pair| pair.key.value == *key && !pair.value.is_null()))
}

fn agent(step: &Rc<Node>) -> Rc<Node> {
    let Value::Map(written) = &step.value else { return step.clone() };
    let mut pairs = Vec::new();
    if let Some(id) = first(step, IDS) {
        let id = named(&id.value);
        pairs.push(Pair::new("id", id.clone()));
        if step.get("role").is_none() {
            pairs.push(Pair::new("role", id));
        }
    }
    pairs.extend(first(step, TASKS).and_then(task));
    pairs.extend(first(step, BEFORE).map(|before| Pair::new("depends_on", all_named(&before.value))));
    pairs.extend(first(step, &["timeout"]).filter(|limit| is_bound(&limit.value)).cloned());
    pairs.extend(written.iter().filter(|pair| KEPT.contains(&pair.key.value.as_str())).cloned());
    Node::map(pairs, &step.span)
}

/// A number is as good a name as a text.
fn named(node: &Rc<Node>) -> Rc<Node> {
    match &node.value {
        Value::Scalar(scalar) => Node::text(scalar.raw.clone(), &node.span),
        _ => node.clone(),
    }
}

fn all_named(node: &Rc<Node>) -> Rc<Node> {
    match &node.value {
        Value::Seq(items) => Node::list(items.iter().map(named).collect(), &node.span),
        _ => named(node),
    }
}

/// An empty subtask says nothing: the query is the task.
fn task(pair: &Pair) -> Option<Pair> {
    let Value::Scalar(scalar) = &pair.value.value else { return Some(Pair::new("task", pair.value.clone())) };
    if scalar.raw.trim().is_empty() {
        return None;
    }
    let escaped = escape::template(&scalar.raw);
    let same = escaped == scalar.raw;
    let value = if same { pair.value.clone() } else { Node::text(escaped, &pair.value.span) };
    Some(Pair { key: pair.key.clone().map(|_| "task".to_owned()), value })
}

fn is_bound(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(scalar) => scalar.raw.trim().parse() != Ok(NO_BOUND),
        _ => true,
    }
}
