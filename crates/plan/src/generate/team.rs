//! Teams: a roster and a protocol.
//!
//! A team file is a manifest in other words: `members` are its agents, and the keys of the protocol stand at the top.

use std::rc::Rc;

use crate::source::tree::{Node, Pair, Value};

/// Names of the roster.
const ROSTER: &[&str] = &["members", "roster", "agents"];
/// What belongs to the protocol.
const PROTOCOL: &[&str] = &["protocol", "lead", "judge", "rounds", "vote"];
/// Names of what is to be done.
const GOAL: &[&str] = &["goal", "objective", "task"];

/// Whether a file is a team: it has members, or agents with a protocol.
pub(crate) fn is_team(root: &Node) -> bool {
    let has = |key: &str| root.get(key).is_some();
    has("members") || has("roster") || has("agents") && has("protocol")
}

/// The manifest of a team.
pub(crate) fn manifest(root: &Node) -> Rc<Node> {
    let Value::Map(written) = &root.value else { return Node::map(Vec::new(), &root.span) };
    let (protocol, rest): (Vec<&Pair>, Vec<&Pair>) =
        written.iter().partition(|pair| PROTOCOL.contains(&pair.key.value.as_str()));
    let mut pairs: Vec<Pair> = rest.into_iter().filter(|pair| pair.key.value != "kind").map(entry).collect();
    if !protocol.is_empty() {
        let settings = protocol.into_iter().cloned().collect();
        add_settings(&mut pairs, settings, root);
    }
    Node::map(pairs, &root.span)
}

fn entry(pair: &Pair) -> Pair {
    let name = pair.key.value.as_str();
    match () {
        () if ROSTER.contains(&name) => renamed(pair, "agents", members(&pair.value)),
        () if GOAL.contains(&name) => renamed(pair, "query", pair.value.clone()),
        () => pair.clone(),
    }
}

fn renamed(pair: &Pair, name: &str, value: Rc<Node>) -> Pair {
    Pair { key: pair.key.clone().map(|_| name.to_owned()), value }
}

/// Members by name, or with settings.
fn members(list: &Rc<Node>) -> Rc<Node> {
    let Value::Seq(items) = &list.value else { return list.clone() };
    Node::list(items.iter().map(member).collect(), &list.span)
}

fn member(node: &Rc<Node>) -> Rc<Node> {
    match &node.value {
        Value::Scalar(_) => Node::map(vec![Pair::new("id", node.clone())], &node.span),
        Value::Map(pairs) if node.get("id").is_none() && node.get("agent_id").is_none() => {
            let id = |pair: &Pair| match pair.key.value.as_str() {
                "name" => renamed(pair, "id", pair.value.clone()),
                _ => pair.clone(),
            };
            Node::map(pairs.iter().map(id).collect(), &node.span)
        }
        _ => node.clone(),
    }
}

/// The protocol's keys go below `team`, beside what stands there already.
fn add_settings(pairs: &mut Vec<Pair>, settings: Vec<Pair>, root: &Node) {
    match pairs.iter_mut().find(|pair| pair.key.value == "team") {
        Some(Pair { value, .. }) => {
            let Value::Map(stated) = &value.value else { return };
            let all = stated.iter().cloned().chain(settings).collect();
            *value = Node::map(all, &value.span.clone());
        }
        None => {
            let span = settings.first().map_or(&root.span, |pair| &pair.key.span).clone();
            pairs.push(Pair::new("team", Node::map(settings, &span)));
        }
    }
}
