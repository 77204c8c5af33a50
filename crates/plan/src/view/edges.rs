//! The edges of a workflow, in the order of the file.

use crate::plan::{Condition, GateRoute, Kind, Node, NodeIx, On, Plan, Requires, Text, Trigger, Workflow};
use serde::Serialize;

/// A way from one node to another, or to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// Where it begins.
    pub from: NodeIx,
    /// Where it leads; `None` is the end of the branch.
    pub to: Option<NodeIx>,
    /// What it is.
    pub kind: EdgeKind,
}

/// The kinds of edges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// A route, with its condition.
    Route(Option<String>),
    /// An option of a gate, with its label.
    Option(String),
    /// Taken after a failure.
    Error,
    /// Taken when a person gives up.
    Abort,
    /// A dependency.
    Need(Requires),
    /// An edge of a pipeline, with what it asks for in words.
    Trigger(String),
}

impl EdgeKind {
    /// A few words to write beside the edge.
    pub fn label(&self) -> Option<String> {
        match self {
            EdgeKind::Route(when) => when.clone(),
            EdgeKind::Option(label) => Some(label.clone()),
            EdgeKind::Error => Some("on error".to_owned()),
            EdgeKind::Abort => Some("abort".to_owned()),
            EdgeKind::Trigger(words) => Some(words.clone()),
            EdgeKind::Need(Requires::Success) => None,
            EdgeKind::Need(Requires::Completed) => Some("completed".to_owned()),
            EdgeKind::Need(Requires::Any) => Some("any end".to_owned()),
            EdgeKind::Need(Requires::Some) => Some("one of several".to_owned()),
        }
    }
}

/// All edges of a workflow; those of members stay inside their group.
pub fn edges(plan: &Plan, workflow: &Workflow) -> Vec<Edge> {
    workflow.indexed().flat_map(|(ix, node)| edges_of(plan, ix, node)).collect()
}

fn edges_of(plan: &Plan, ix: NodeIx, node: &Node) -> Vec<Edge> {
    let starts = |from: NodeIx| node.triggers.iter().any(|trigger| trigger.from == from);
    let needs = node.needs.iter().filter(|need| !starts(need.node)).map(|need| Edge {
        from: need.node,
        to: Some(ix),
        kind: EdgeKind::Need(need.requires),
    });
    let triggers = node.triggers.iter().map(|trigger| Edge {
        from: trigger.from,
        to: Some(ix),
        kind: EdgeKind::Trigger(trigger_words(plan, trigger)),
    });
    let routes = node.routes.iter().map(|route| {
        let when = route.when.map(|id| plan.conditions[id.0 as usize].text.to_string());
        Edge { from: ix, to: route.to, kind: EdgeKind::Route(when) }
    });
    let errors = node.on_error.iter().map(|route| Edge { from: ix, to: route.to, kind: EdgeKind::Error });
    needs.chain(triggers).chain(routes).chain(chosen(plan, ix, &node.kind)).chain(errors).collect()
}

/// What an edge of a pipeline asks for, in words.
pub fn trigger_words(plan: &Plan, trigger: &Trigger) -> String {
    let on = match trigger.on {
        Some(On::Always) => Some("always".to_owned()),
        Some(on) => Some(format!("on {}", on.word())),
        None => None,
    };
    let event = trigger.event.as_ref().map(|event| format!("on event {event}"));
    let conditions = trigger.when.iter().filter(|when| **when != Condition::Always);
    let when: Vec<String> = conditions.map(|condition| condition_words(plan, condition)).collect();
    let when = (!when.is_empty()).then(|| format!("when {}", when.join(" and ")));
    on.into_iter().chain(event).chain(when).collect::<Vec<_>>().join(", ")
}

fn condition_words(plan: &Plan, condition: &Condition) -> String {
    match condition {
        Condition::Always => "always".to_owned(),
        Condition::StateFlag { key, equals: true } => format!("flag {key}"),
        Condition::StateFlag { key, equals: false } => format!("not flag {key}"),
        Condition::HistoryHasEvent { event } => format!("{event} has happened"),
        Condition::FileExists { path } => format!("{path} exists"),
        Condition::Expression { when } => plan.conditions[when.0 as usize].text.to_string(),
    }
}

/// Edges that a person chooses.
fn chosen(plan: &Plan, ix: NodeIx, kind: &Kind) -> Vec<Edge> {
    let edge = |route: GateRoute, kind: EdgeKind| {
        let to = match route {
            GateRoute::End => None,
            GateRoute::To(to) => Some(to),
        };
        Edge { from: ix, to, kind }
    };
    match kind {
        Kind::Gate(gate) => gate
            .options
            .iter()
            .filter_map(|option| Some(edge(option.route?, EdgeKind::Option(words(plan, &option.label)))))
            .collect(),
        Kind::Questions(step) => {
            step.abort_route.map(|route| edge(route, EdgeKind::Abort)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn words(plan: &Plan, text: &Text) -> String {
    match text {
        Text::Literal(text) => text.to_string(),
        Text::Template(id) => plan.templates[id.0 as usize].text.to_string(),
    }
}

/// The nodes inside a group.
pub(super) fn members(kind: &Kind) -> &[NodeIx] {
    match kind {
        Kind::Parallel(group) => &group.members,
        Kind::ForEach(group) => std::slice::from_ref(&group.body),
        _ => &[],
    }
}
