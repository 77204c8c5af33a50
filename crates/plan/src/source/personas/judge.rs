//! What is wrong between the parts of a manifest: names that lead nowhere or stand twice, circles, and what is never
//! reached.

use std::collections::HashMap;

use super::super::text::Spanned;
use super::super::workflow::Condition;
use super::graph::Graph;
use super::{Edge, Manifest, never, rounds, texts};
use crate::diagnostic::Diagnostic;
use crate::graph::circles;
use crate::plan::{STANDARD_EVENTS, TASK_BLOCKED, follows_from};
use crate::suggest;
use convoke_model::nearest;

/// Everything about a manifest as a whole.
pub(super) fn judge(manifest: &Manifest, graph: &Graph<'_>, findings: &mut Vec<Diagnostic>) {
    twice(manifest, findings);
    reserved(manifest, findings);
    personas(manifest, findings);
    nodes(manifest, graph, findings);
    events(manifest, findings);
    standard_events(manifest, findings);
    any_status(manifest, findings);
    actors(manifest, findings);
    topologies(manifest, findings);
    relationship_circles(manifest, findings);
    pipeline_circles(manifest, graph, findings);
    bounds_on_the_way_in(manifest, graph, findings);
    bounds_on_the_way(manifest, graph, findings);
    unreached(manifest, graph, findings);
    never::judge(manifest, findings);
}

fn twice(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    stand_twice("persona", manifest.personas.iter().map(|persona| &persona.id), findings);
    stand_twice("node", manifest.nodes.iter().map(|node| &node.id), findings);
    stand_twice("event", manifest.events.iter().map(|event| &event.kind), findings);
    let mut pairs: HashMap<(&str, &str), &Spanned<String>> = HashMap::new();
    for relationship in &manifest.relationships {
        let (parent, child) = (&relationship.parent, &relationship.child);
        if let Some(first) = pairs.insert((&parent.value, &child.value), parent) {
            let message = format!("the relationship of `{}` to `{}` stands twice", parent.value, child.value);
            let found =
                Diagnostic::error("workflow::duplicate", message, parent.span.clone(), "the second one");
            findings.push(found.also(first.span.clone(), "the first one"));
        }
    }
}

fn stand_twice<'m>(
    what: &str,
    names: impl Iterator<Item = &'m Spanned<String>>,
    findings: &mut Vec<Diagnostic>,
) {
    let mut first: HashMap<&str, &Spanned<String>> = HashMap::new();
    for name in names.filter(|name| !name.value.is_empty()) {
        match first.get(name.value.as_str()) {
            Some(earlier) => {
                let message = format!("duplicate name: two {what}s are called `{}`", name.value);
                let found =
                    Diagnostic::error("workflow::duplicate", message, name.span.clone(), "the second one");
                findings.push(found.also(earlier.span.clone(), "the first one"));
            }
            None => drop(first.insert(&name.value, name)),
        }
    }
}

/// A phase of such a name is hidden by what every text sees under it.
fn reserved(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    for node in manifest.nodes.iter().filter(|node| texts::PROVIDED.contains(&node.id.value.as_str())) {
        let message = format!("node `{}` has a reserved name", node.id.value);
        let found = Diagnostic::warning("workflow::reserved_name", message, node.id.span.clone(), "reserved");
        findings.push(found.help("texts and conditions see something else under this name; choose another"));
    }
}

fn personas(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    for node in &manifest.nodes {
        known_persona(manifest, &format!("node `{}`", node.id.value), &node.persona, findings);
        let resolver = node.common.workspace.as_ref().and_then(|workspace| workspace.resolver.as_ref());
        let who = format!("`resolver` of node `{}`", node.id.value);
        resolver.iter().for_each(|name| known_persona(manifest, &who, name, findings));
    }
    for relationship in &manifest.relationships {
        known_persona(manifest, "`parentPersonaId` of a relationship", &relationship.parent, findings);
        known_persona(manifest, "`childPersonaId` of a relationship", &relationship.child, findings);
    }
}

fn known_persona(manifest: &Manifest, who: &str, name: &Spanned<String>, findings: &mut Vec<Diagnostic>) {
    if name.value.is_empty() || manifest.persona(&name.value).is_some() {
        return;
    }
    let available: Vec<&str> = manifest.personas.iter().map(|persona| persona.id.value.as_str()).collect();
    let message = format!("{who} names the persona `{}`, which is not in this manifest", name.value);
    findings.push(unknown(
        "workflow::unknown_persona",
        message,
        name,
        "no persona has this name",
        &available,
    ));
}

fn nodes(manifest: &Manifest, graph: &Graph<'_>, findings: &mut Vec<Diagnostic>) {
    let entry = manifest.entry.iter().map(|entry| ("`entryNodeId`", entry));
    let edges = manifest
        .edges
        .iter()
        .flat_map(|edge| [("`from` of an edge", &edge.from), ("`to` of an edge", &edge.to)]);
    let available: Vec<&str> = manifest.nodes.iter().map(|node| node.id.value.as_str()).collect();
    for (who, name) in entry.chain(edges) {
        if !name.value.is_empty() && graph.find(&name.value).is_none() {
            let message = format!("{who} names the node `{}`, which is not in this pipeline", name.value);
            let label = "no node has this name";
            findings.push(unknown("workflow::unknown_node", message, name, label, &available));
        }
    }
}

fn events(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    let own = || manifest.events.iter().map(|event| event.kind.value.as_str());
    let available: Vec<&str> = own().chain(STANDARD_EVENTS.iter().copied()).collect();
    let conditions = manifest.edges.iter().flat_map(|edge| &edge.when).filter_map(|when| match when {
        Condition::HistoryHasEvent(event) => Some(event),
        _ => None,
    });
    for event in manifest.edges.iter().filter_map(|edge| edge.event.as_ref()).chain(conditions) {
        if !available.contains(&event.value.as_str()) {
            let message =
                format!("no phase can announce the event `{}`: the manifest does not define it", event.value);
            let label = "no event has this name";
            findings.push(unknown("workflow::unknown_event", message, event, label, &available));
        }
    }
}

/// What follows from a status has a payload of its own, so a standard event cannot be given another shape.
fn standard_events(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    for event in manifest.events.iter().filter(|event| STANDARD_EVENTS.contains(&event.kind.value.as_str())) {
        let kind = &event.kind;
        if event.any_status.is_some() && kind.value == TASK_BLOCKED && event.schema.is_none() {
            continue;
        }
        if event.schema.is_some() {
            let message = format!("`{}` is a standard event: its shape cannot be changed", kind.value);
            let found =
                Diagnostic::error("workflow::excludes", message, kind.span.clone(), "a standard event");
            findings.push(found.help("give the event another name, or leave its `schema` out"));
        } else {
            let message = format!("`{}` is a standard event: it needs no entry", kind.value);
            findings.push(Diagnostic::warning(
                "workflow::no_effect",
                message,
                kind.span.clone(),
                "known anyway",
            ));
        }
    }
}

/// What is announced with any status anyway has no use for the key; what says that a try was accepted or not must be true.
fn any_status(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    for event in manifest.events.iter().filter(|event| event.kind.value != TASK_BLOCKED) {
        let Some(stated) = &event.any_status else { continue };
        let message =
            format!("`anyStatus` of event `{}` goes with `type: {TASK_BLOCKED}` only", event.kind.value);
        let found =
            Diagnostic::error("workflow::needs_key", message, stated.span.clone(), "has no meaning here");
        findings.push(found.help(match follows_from(&event.kind.value) {
            Some(_) => "this event says how a try has ended: no worker may announce it against its status",
            None => "a worker may announce this event with any status anyway: leave the key out",
        }));
    }
}

/// A bound on the edge that leads into a circle, where the one that leads back has none.
fn bounds_on_the_way_in(manifest: &Manifest, graph: &Graph<'_>, findings: &mut Vec<Diagnostic>) {
    if !graph.circles().is_empty() {
        return;
    }
    for edge in rounds::misplaced(manifest, graph) {
        let (from, to) = (&edge.from.value, &edge.to.value);
        let message = format!(
            "the edge from `{from}` to `{to}` has `maxRounds`, and the edge that leads back has none"
        );
        let place = edge.max_rounds.as_ref().map_or(&edge.to.span, |bound| &bound.span).clone();
        let found = Diagnostic::error("workflow::pipeline_cycle", message, place, "this edge leads on");
        findings.push(found.help("put `maxRounds` on the edge that leads back to a phase that has run"));
    }
}

/// A bound on an edge that does not lead back.
fn bounds_on_the_way(manifest: &Manifest, graph: &Graph<'_>, findings: &mut Vec<Diagnostic>) {
    for edge in &manifest.edges {
        let (Some(bound), Some(from), Some(to)) =
            (&edge.max_rounds, graph.find(&edge.from.value), graph.find(&edge.to.value))
        else {
            continue;
        };
        if from != to && !graph.behind(to)[from] {
            let (from, to) = (&edge.from.value, &edge.to.value);
            let message =
                format!("the edge from `{from}` to `{to}` does not lead back: `maxRounds` changes nothing");
            let found =
                Diagnostic::warning("workflow::no_effect", message, bound.span.clone(), "taken once at most");
            findings.push(found.help("leave `maxRounds` out, or put it on the edge that closes the circle"));
        }
    }
}

fn unknown(
    code: &'static str,
    message: String,
    name: &Spanned<String>,
    label: &str,
    available: &[&str],
) -> Diagnostic {
    let help = suggest::instead(&name.value, available);
    Diagnostic::error(code, message, name.span.clone(), label).help(help)
}

/// An actor without an entry is a model; one that is nearly written like an entry is probably meant to be that.
fn actors(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    let of_personas = manifest.personas.iter().filter_map(|persona| persona.actor.as_ref());
    for name in manifest.nodes.iter().map(|node| &node.actor).chain(of_personas) {
        if name.value.is_empty() || manifest.actors.contains_key(&name.value) {
            continue;
        }
        if let Some(near) = nearest(&name.value, manifest.actors.keys().map(String::as_str)) {
            let message = format!("the actor `{}` has no entry in `actors`: it is a model", name.value);
            let found =
                Diagnostic::warning("workflow::no_effect", message, name.span.clone(), "not in `actors`");
            findings.push(found.help(format!("did you mean `{near}`?")));
        }
    }
}

/// A block of a kind that the manifest says it does not use.
fn topologies(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    let Some(stated) = &manifest.topologies else { return };
    for (node, block) in manifest.nodes.iter().filter_map(|node| Some((node, node.block.as_ref()?))) {
        if !stated.iter().any(|kind| kind.value == block.kind.value) {
            let word = block.kind.value.word();
            let id = &node.id.value;
            let message = format!("node `{id}` stands in a `{word}` block, which `topologies` does not list");
            let found =
                Diagnostic::warning("workflow::no_effect", message, block.kind.span.clone(), "not listed");
            findings.push(found.help(format!("add `{word}` to `topologies`; the block runs all the same")));
        }
    }
}

fn relationship_circles(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    let find = |id: &str| manifest.personas.iter().position(|persona| persona.id.value == id);
    let next = |persona: usize| {
        let id = &manifest.personas[persona].id.value;
        let below = manifest.relationships.iter().filter(|relationship| relationship.parent.value == *id);
        below.filter_map(|relationship| find(&relationship.child.value)).collect()
    };
    for circle in circles(manifest.personas.len(), &next) {
        let names: Vec<&str> = circle.iter().map(|ix| manifest.personas[*ix].id.value.as_str()).collect();
        let leads = |from: &str, to: &str| {
            manifest.relationships.iter().find(|one| one.parent.value == from && one.child.value == to)
        };
        let Some(closing) = leads(names[names.len() - 1], names[0]) else { continue };
        let message = format!("personas hand work to each other in a circle: {}", round(&names));
        let place = closing.child.span.clone();
        let found = Diagnostic::error("workflow::relationship_cycle", message, place, "closes the circle");
        findings.push(found.help("work goes down only: take one of these relationships away"));
    }
}

fn pipeline_circles(manifest: &Manifest, graph: &Graph<'_>, findings: &mut Vec<Diagnostic>) {
    for circle in graph.circles() {
        let names: Vec<&str> = circle.iter().map(|ix| manifest.nodes[*ix].id.value.as_str()).collect();
        let (last, first) = (names[names.len() - 1], names[0]);
        let leads =
            |edge: &&Edge| edge.max_rounds.is_none() && edge.from.value == last && edge.to.value == first;
        let closing = manifest.edges.iter().find(leads);
        let Some(closing) = closing else { continue };
        let message = format!("nodes lead to each other in a circle: {}", round(&names));
        let place = closing.to.span.clone();
        let found = Diagnostic::error("workflow::pipeline_cycle", message, place, "closes the circle");
        findings.push(found.help(
            "give the edge that leads back a bound: `maxRounds: 3` runs these phases three times at most",
        ));
    }
}

fn round(names: &[&str]) -> String {
    let names: Vec<&str> = names.iter().copied().chain(names.first().copied()).collect();
    names.join(" → ")
}

fn unreached(manifest: &Manifest, graph: &Graph<'_>, findings: &mut Vec<Diagnostic>) {
    let Some(entry) = manifest.entry.as_ref().filter(|entry| graph.find(&entry.value).is_some()) else {
        return;
    };
    for (ix, node) in manifest.nodes.iter().enumerate() {
        // The second of two nodes of one name is reported as such.
        if !graph.reaches(ix) && graph.find(&node.id.value) == Some(ix) {
            let message = format!(
                "node `{}` is never reached: no way leads there from `{}`",
                node.id.value, entry.value
            );
            let found = Diagnostic::warning(
                "workflow::unreachable",
                message,
                node.id.span.clone(),
                "nothing leads here",
            );
            findings.push(found.help("a pipeline begins with `entryNodeId` and follows its edges"));
        }
    }
}
