//! Teams: a roster and a protocol.
//!
//! A team file is a manifest in other words: `members` are its agents, and the keys of the protocol stand at the top.

use std::rc::Rc;

use super::super::keys::manifest::MANIFEST;
use super::super::tree::{Node, Pair, Value};
use crate::diagnostic::Diagnostic;
use convoke_model::nearest;

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
        written.iter().partition(|pair| is_of_protocol(&pair.key.value));
    let mut pairs: Vec<Pair> = rest.into_iter().filter(|pair| pair.key.value != "kind").map(entry).collect();
    if !protocol.is_empty() {
        let settings = protocol.into_iter().cloned().collect();
        add_settings(&mut pairs, settings, root);
    }
    Node::map(pairs, &root.span)
}

/// Keys that mean the same and stand together: only one of them could count.
pub(crate) fn contradictions(root: &Node) -> Vec<Diagnostic> {
    let Value::Map(written) = &root.value else { return Vec::new() };
    let alike = |words: &[&str]| -> Vec<&Pair> {
        written.iter().filter(|pair| words.contains(&pair.key.value.as_str())).collect()
    };
    let goals: Vec<&str> = GOAL.iter().copied().chain(["query"]).collect();
    let mut found = Vec::new();
    for pairs in [alike(ROSTER), alike(&goals)] {
        let Some((first, others)) = pairs.split_first() else { continue };
        for other in others {
            let (one, two) = (&first.key.value, &other.key.value);
            let message = format!("the team has both `{one}` and `{two}`, which mean the same");
            let place = other.key.span.clone();
            let error = Diagnostic::error("workflow::excludes", message, place, "keep one of the two");
            found.push(error.also(first.key.span.clone(), "the other one"));
        }
    }
    found
}

/// Whether a key belongs to the protocol, also where it is misspelt: that is said with the right advice there.
fn is_of_protocol(key: &str) -> bool {
    let known = |name: &str| MANIFEST.keys.iter().any(|known| known.name == name);
    PROTOCOL.contains(&key)
        || !known(key)
            && !ROSTER.contains(&key)
            && !GOAL.contains(&key)
            && nearest(key, PROTOCOL.iter().copied()).is_some()
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
