//! What may stand in a group, and what a member may not have.

use super::outline::{Item, Outline};
use crate::diagnostic::Diagnostic;
use crate::source::workflow::{Common, FailureMode, GateOption, Step, StepKind};
use std::collections::HashSet;

/// Members, bodies and the groups around them.
pub(super) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    circles(outline, findings);
    for ix in 0..outline.items.len() {
        match outline.parents[ix].first() {
            Some(parent) => member(outline, ix, *parent, findings),
            None => outside(outline, ix, findings),
        }
        quorum(outline, ix, findings);
        repeated(outline, ix, findings);
        loop_variable(outline, ix, findings);
    }
    for (group, step) in outline.inline() {
        let who = format!("inline agent `{}` of `{}`", step.name.value, outline.name(group));
        no_routes(&who, step, findings);
        inline_needs(&who, step, findings);
    }
    routed_members(outline, findings);
}

fn member(outline: &Outline<'_>, ix: usize, parent: usize, findings: &mut Vec<Diagnostic>) {
    let item = outline.items[ix];
    let who = format!("{} `{}` in group `{}`", item.word(), outline.name(ix), outline.name(parent));
    match item {
        Item::Step(step) => no_routes(&who, step, findings),
        _ => own_routes(&who, item.common(), findings),
    }
}

fn no_routes(who: &str, step: &Step, findings: &mut Vec<Diagnostic>) {
    own_routes(who, &step.common, findings);
    if let StepKind::HumanGate(gate) = &step.kind {
        for route in gate.options.iter().filter_map(|option| option.route.as_ref()) {
            let message =
                format!("{who} is a gate whose option has a route, but a member goes nowhere by itself");
            let found =
                Diagnostic::error("workflow::member_route", message, route.span.clone(), "has no place here")
                    .help("leave `route` out; the group's routes can look at the gate's `selected`");
            findings.push(found);
        }
    }
}

fn own_routes(who: &str, common: &Common, findings: &mut Vec<Diagnostic>) {
    let Some(route) = common.routes.first() else { return };
    let place = common.routes_key.clone().unwrap_or_else(|| route.span.clone());
    let message = format!("{who} cannot have routes: a member ends when its own work is done");
    let found = Diagnostic::error("workflow::member_route", message, place, "routes of a member").help(
        "move the routes to the group; several steps in one branch are members with `needs` between them, or a sub-workflow",
    );
    findings.push(found);
}

fn inline_needs(who: &str, step: &Step, findings: &mut Vec<Diagnostic>) {
    if let Some(need) = step.common.needs.first() {
        let message = format!("{who} cannot have needs: it starts with its item");
        let found =
            Diagnostic::error("workflow::member_needs", message, need.span.clone(), "needs of a body");
        findings.push(found.help("let the for_each group need the step"));
    }
}

fn outside(outline: &Outline<'_>, ix: usize, findings: &mut Vec<Diagnostic>) {
    let item = outline.items[ix];
    for option in item.gate().unwrap_or_default().iter().filter(|option| option.route.is_none()) {
        findings.push(option_without_route(outline.name(ix), option));
    }
}

fn option_without_route(gate: &str, option: &GateOption) -> Diagnostic {
    let message = format!("gate `{gate}`: option `{}` has no route", option.value.value);
    Diagnostic::error("workflow::gate_without_route", message, option.span.clone(), "leads nowhere")
        .help("add `route: STEP` or `route: $end`; only inside groups do options have none")
}

fn quorum(outline: &Outline<'_>, ix: usize, findings: &mut Vec<Diagnostic>) {
    let Item::Parallel(group) = outline.items[ix] else { return };
    let FailureMode::Quorum(min) = group.failure_mode else { return };
    if min as usize > group.agents.len() {
        let message = format!(
            "parallel group `{}`: min {min} is more than its {} members",
            group.name.value,
            group.agents.len()
        );
        let found = Diagnostic::error(
            "workflow::quorum_too_large",
            message,
            group.name.span.clone(),
            "can never succeed",
        );
        findings.push(found);
    }
}

fn repeated(outline: &Outline<'_>, ix: usize, findings: &mut Vec<Diagnostic>) {
    let mut seen = HashSet::new();
    for member in outline.members(ix).into_iter().filter(|member| !seen.insert(member.value.as_str())) {
        let message = format!("parallel group `{}` names `{}` twice", outline.name(ix), member.value);
        let found =
            Diagnostic::error("workflow::duplicate_member", message, member.span.clone(), "the second time")
                .help("outputs are kept by name, so one of the two would be lost");
        findings.push(found);
    }
}

/// A loop variable hides a step of the same name inside the fan-out.
fn loop_variable(outline: &Outline<'_>, ix: usize, findings: &mut Vec<Diagnostic>) {
    let Item::ForEach(group) = outline.items[ix] else { return };
    let Some(hidden) = outline.find(&group.variable.value) else { return };
    let message = format!(
        "for_each group `{}`: loop variable `{}` hides the {} of the same name",
        group.name.value,
        group.variable.value,
        outline.items[hidden].word()
    );
    let found =
        Diagnostic::warning("workflow::shadowed_step", message, group.variable.span.clone(), "hides a step")
            .also(outline.items[hidden].name().span.clone(), "this one");
    findings.push(found);
}

/// A member that is also a station of its own runs twice; most often that is a slip.
fn routed_members(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let mut routed = vec![None; outline.items.len()];
    for ix in 0..outline.items.len() {
        for lead in outline.leads(ix) {
            if let Some(to) = outline.find(&lead.to.value) {
                let among_siblings =
                    outline.parents[ix].iter().any(|parent| outline.parents[to].contains(parent));
                routed[to] = routed[to].or((!among_siblings).then_some(&lead.to.span));
            }
        }
    }
    for name in &outline.workflow.entry_point {
        if let Some(to) = outline.find(&name.value) {
            routed[to] = Some(&name.span);
        }
    }
    for (ix, span) in routed.iter().enumerate() {
        let (Some(span), Some(parent)) = (span, outline.parents[ix].first()) else { continue };
        let message = format!(
            "`{}` is a member of group `{}` and also reached by itself",
            outline.name(ix),
            outline.name(*parent)
        );
        let found =
            Diagnostic::warning("workflow::member_also_routed", message, (*span).clone(), "reached here")
                .help("inside the group its output is under the group's name, here under its own");
        findings.push(found);
    }
}

/// Groups that contain each other.
fn circles(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let children = |ix: usize| -> Vec<usize> {
        outline.members(ix).iter().filter_map(|member| outline.find(&member.value)).collect()
    };
    for circle in crate::graph::circles(outline.items.len(), &children) {
        let names: Vec<&str> = circle.iter().chain(circle.first()).map(|ix| outline.name(*ix)).collect();
        let message = format!("groups contain each other: {}", names.join(" → "));
        let place = outline.items[circle[0]].name().span.clone();
        findings.push(Diagnostic::error("workflow::circular_group", message, place, "this group"));
    }
}
