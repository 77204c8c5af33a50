//! Routes that are never taken, steps that are never reached, routes that may all fail to match.

use super::super::outline::{Item, Outline};
use super::super::reach::Reach;
use crate::diagnostic::Diagnostic;
use crate::graph::circles;
use crate::source::workflow::Route;

/// Warnings about the way through a workflow.
pub(in crate::check) fn check(outline: &Outline<'_>, reach: &Reach, findings: &mut Vec<Diagnostic>) {
    let starts = !outline.entries().is_empty();
    // A step that depends on others in a circle, or on such steps, is told of the circle.
    let circular =
        outline.workflow.from_manifest && !circles(outline.items.len(), &|ix| outline.needs(ix)).is_empty();
    for (ix, item) in outline.items.iter().enumerate() {
        let waits = circular && !outline.needs(ix).is_empty();
        if starts && !waits && !reach.runs(ix) {
            findings.push(unreachable(*item));
        }
        match item.gate() {
            Some(_) => gate_routes(*item, findings),
            None => {
                dead(*item, findings);
                open_end(*item, findings);
            }
        }
    }
}

fn unreachable(item: Item<'_>) -> Diagnostic {
    let message = format!("{} `{}` is never reached", item.word(), item.name().value);
    let place = item.name().span.clone();
    Diagnostic::warning("workflow::unreachable", message, place, "nothing leads here")
        .help("no route, need, group or entry point leads to it")
}

fn gate_routes(item: Item<'_>, findings: &mut Vec<Diagnostic>) {
    if let Some(route) = item.common().routes.first() {
        let message = format!("gate `{}`: routes have no effect beside options", item.name().value);
        let place = item.common().routes_key.clone().unwrap_or_else(|| route.span.clone());
        let found = Diagnostic::warning("workflow::no_effect", message, place, "not looked at")
            .help("each option's `route` says where to go");
        findings.push(found);
    }
}

fn dead(item: Item<'_>, findings: &mut Vec<Diagnostic>) {
    let routes = &item.common().routes;
    let Some(last) = routes.iter().position(|route| route.when.is_none()) else { return };
    for route in &routes[last + 1..] {
        findings.push(dead_route(item, &routes[last], route));
    }
}

fn dead_route(item: Item<'_>, taken: &Route, route: &Route) -> Diagnostic {
    let message = format!(
        "{} `{}`: the route to `{}` is never taken, the one to `{}` before it has no condition",
        item.word(),
        item.name().value,
        route.to.value,
        taken.to.value
    );
    Diagnostic::warning("workflow::dead_route", message, route.span.clone(), "never taken")
        .also(taken.span.clone(), "always taken")
        .help("routes are tried in order; put the one without `when` last")
}

fn open_end(item: Item<'_>, findings: &mut Vec<Diagnostic>) {
    let routes = &item.common().routes;
    let Some(when) = routes.last().and_then(|route| route.when.as_ref()) else { return };
    if routes.iter().any(|route| route.when.is_none()) {
        return;
    }
    let message = format!("{} `{}`: every route has a condition", item.word(), item.name().value);
    let found = Diagnostic::warning("workflow::no_catch_all", message, when.span.clone(), "the last one too")
        .help("if none holds, the run fails; a last route without `when` takes what is left");
    findings.push(found);
}
