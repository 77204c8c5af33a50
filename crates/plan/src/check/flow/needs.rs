//! Dependencies: circles, and needs that meet routes.

use super::super::outline::{END, Outline};
use super::super::targets::names;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::circles;
use crate::source::workflow::{Join, Need};

/// A step with needs starts once, so routes may neither lead to it nor around what it needs.
pub(in crate::check) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    if !outline.has_needs() {
        return;
    }
    dependency_circles(outline, findings);
    routed_to(outline, findings);
    needs_on_loops(outline, findings);
    across_groups(outline, findings);
    quorums(outline, findings);
}

fn dependency_circles(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    for circle in circles(outline.items.len(), &|ix| outline.needs(ix)) {
        let names: Vec<&str> = circle.iter().chain(circle.first()).map(|ix| outline.name(*ix)).collect();
        let message = format!("needs go in a circle: {}", names.join(" → "));
        let mut places =
            circle.iter().zip(names.iter().skip(1)).filter_map(|(ix, to)| need_of(outline, *ix, to));
        let first = places.next().map_or_else(|| outline.workflow.span.clone(), |need| need.span.clone());
        let found = Diagnostic::error("workflow::dependency_cycle", message, first, "the circle begins here");
        let found = places.fold(found, |found, need| found.also(need.span.clone(), "and goes on here"));
        findings.push(found.help("none of these steps could ever start; take one of the needs out"));
    }
}

fn need_of<'a>(outline: &Outline<'a>, ix: usize, name: &str) -> Option<&'a Need> {
    outline.items[ix].common().needs.iter().find(|need| need.step.value == name)
}

fn routed_to(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    for ix in 0..outline.items.len() {
        for lead in outline.leads(ix).into_iter().filter(|lead| lead.to.value != END) {
            let Some(to) = outline.find(&lead.to.value).filter(|to| has_needs(outline, *to)) else {
                continue;
            };
            let who = format!("{} `{}`", outline.items[ix].word(), outline.name(ix));
            findings.push(route_into_needs(outline, to, &who, lead.key, &lead.to.span));
        }
    }
    for name in &outline.workflow.entry_point {
        if let Some(to) = outline.find(&name.value).filter(|to| has_needs(outline, *to)) {
            findings.push(route_into_needs(outline, to, "the workflow", "entry_point", &name.span));
        }
    }
}

fn has_needs(outline: &Outline<'_>, ix: usize) -> bool {
    !outline.items[ix].common().needs.is_empty()
}

fn route_into_needs(outline: &Outline<'_>, to: usize, who: &str, key: &str, span: &Span) -> Diagnostic {
    let name = outline.name(to);
    let message = format!("{who}: {} `{name}`, which its needs start", names(key));
    let need = &outline.items[to].common().needs[0];
    Diagnostic::error("workflow::route_into_needs", message, span.clone(), "leads to a step with needs")
        .also(need.span.clone(), format!("what starts `{name}`"))
        .help("a step is started either by its needs or by routes; drop one of the two")
}

fn needs_on_loops(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let loops = looping(outline);
    for item in &outline.items {
        for need in &item.common().needs {
            let Some(on) = outline.find(&need.step.value).filter(|ix| loops[*ix]) else { continue };
            let message = format!(
                "{} `{}` needs `{}`, which lies on a loop of routes and may run several times",
                item.word(),
                item.name().value,
                outline.name(on)
            );
            let found =
                Diagnostic::error("workflow::need_on_loop", message, need.span.clone(), "runs in a loop")
                    .help("put the loop into a sub-workflow and need that");
            findings.push(found);
        }
    }
}

/// Whether each item can lead back to itself by routes.
fn looping(outline: &Outline<'_>) -> Vec<bool> {
    let mut graph = petgraph::graph::DiGraph::<(), ()>::new();
    let nodes: Vec<_> = outline.items.iter().map(|_| graph.add_node(())).collect();
    let mut loops = vec![false; nodes.len()];
    for (ix, node) in nodes.iter().enumerate() {
        for next in outline.successors(ix) {
            graph.add_edge(*node, nodes[next], ());
            loops[ix] |= next == ix;
        }
    }
    for knot in petgraph::algo::tarjan_scc(&graph).iter().filter(|knot| knot.len() > 1) {
        knot.iter().for_each(|node| loops[node.index()] = true);
    }
    loops
}

/// Needs join steps of one level: all outside groups, or members of one group.
fn across_groups(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    for (ix, item) in outline.items.iter().enumerate() {
        for need in &item.common().needs {
            let Some(on) = outline.find(&need.step.value) else { continue };
            let (own, other) = (&outline.parents[ix], &outline.parents[on]);
            let together =
                own.is_empty() == other.is_empty() && own.iter().all(|group| other.contains(group));
            if !together {
                findings.push(across(outline, ix, on, need));
            }
        }
    }
}

fn across(outline: &Outline<'_>, ix: usize, on: usize, need: &Need) -> Diagnostic {
    let apart = |ix: usize, other: usize| {
        let group = outline.parents[ix].iter().find(|group| !outline.parents[other].contains(group));
        group.map_or_else(|| "not".to_owned(), |group| format!("in group `{}`", outline.name(*group)))
    };
    let (name, other) = (outline.name(ix), outline.name(on));
    let message = format!("`{name}` ({}) needs `{other}` ({})", apart(ix, on), apart(on, ix));
    Diagnostic::error("workflow::needs_across_groups", message, need.span.clone(), "not on the same level")
        .help("a member may need members of its own group; let the group itself need steps outside, and need the group from there")
}

fn quorums(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    for item in &outline.items {
        let (Some(join), count) = (&item.common().join, item.common().needs.len()) else { continue };
        let Join::Quorum(min) = join.value else { continue };
        if min as usize > count {
            let message = format!(
                "{} `{}`: a quorum of {min} is more than its {count} needs",
                item.word(),
                item.name().value
            );
            let code = "workflow::quorum_too_large";
            findings.push(Diagnostic::error(code, message, join.span.clone(), "can never be met"));
        }
    }
}
