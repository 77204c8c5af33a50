//! Reduce and verify steps: what they work on.
//!
//! Sources are what a step needs, or what `of` names among everything that can have run by then: a step that routes
//! lead to has no needs, and names the group before it.

use super::earlier::{Earlier, Who, steps};
use super::outline::Outline;
use super::reach::Reach;
use crate::diagnostic::Diagnostic;
use crate::source::Spanned;
use crate::source::workflow::{ReduceStep, StepKind, VerifyStep};

/// Every reduce and verify step.
pub(super) fn check(outline: &Outline<'_>, reach: &Reach, findings: &mut Vec<Diagnostic>) {
    let earlier = Earlier { outline, reach };
    for who in steps(outline) {
        match &who.step.kind {
            StepKind::Reduce(reduce) => check_reduce(&earlier, &who, reduce, findings),
            StepKind::Verify(verify) => check_verify(&earlier, &who, verify, findings),
            _ => {}
        }
    }
}

fn check_reduce(
    earlier: &Earlier<'_, '_>,
    who: &Who<'_>,
    reduce: &ReduceStep,
    findings: &mut Vec<Diagnostic>,
) {
    if reduce.of.is_empty() && who.step.common.needs.is_empty() {
        findings.push(nothing_to_merge(who));
        return;
    }
    for (index, name) in reduce.of.iter().enumerate() {
        if reduce.of[..index].contains(name) {
            findings.push(named_twice(who, name));
        } else {
            earlier.find(who, "of", name, findings);
        }
    }
    too_few(earlier.outline, who, reduce, findings);
}

fn nothing_to_merge(who: &Who<'_>) -> Diagnostic {
    let message = format!("{} has nothing to merge: it has no `needs` and no `of`", who.owner);
    let place = who.step.name.span.clone();
    Diagnostic::error("workflow::missing_key", message, place, "outputs of which steps?")
        .help("name the steps in `needs`; a step that routes lead to names them in `of`")
}

fn named_twice(who: &Who<'_>, name: &Spanned<String>) -> Diagnostic {
    let message = format!("{}: `of` names `{}` twice", who.owner, name.value);
    Diagnostic::error("workflow::duplicate_member", message, name.span.clone(), "the second time")
        .help("an output is merged once")
}

/// Numbers of outputs that can never come together.
fn too_few(outline: &Outline<'_>, who: &Who<'_>, reduce: &ReduceStep, findings: &mut Vec<Diagnostic>) {
    let Some(most) = outline.most_sources(who.step, reduce) else { return };
    let quorum = reduce.vote.as_ref().and_then(|vote| vote.quorum.as_ref());
    for (key, stated) in [("min_sources", reduce.min_sources.as_ref()), ("quorum", quorum)] {
        let Some(stated) = stated.filter(|stated| stated.value > most) else { continue };
        let outputs = if most == 1 { "output" } else { "outputs" };
        let message = format!(
            "{}: `{key}` of {} is more than the {most} {outputs} that it can get",
            who.owner, stated.value
        );
        let place = stated.span.clone();
        findings.push(Diagnostic::error("workflow::quorum_too_large", message, place, "can never be met"));
    }
}

fn check_verify(
    earlier: &Earlier<'_, '_>,
    who: &Who<'_>,
    verify: &VerifyStep,
    findings: &mut Vec<Diagnostic>,
) {
    let (named, needs) = (verify.of.as_ref(), &who.step.common.needs);
    let examined = match (named, needs.as_slice()) {
        (Some(name), _) => earlier.find(who, "of", name, findings).map(|ix| (ix, name)),
        // A need that leads nowhere is reported with the other needs.
        (None, [need]) => earlier.outline.find(&need.step.value).map(|ix| (ix, &need.step)),
        (None, needs) => {
            findings.push(examines_what(who, needs.len()));
            None
        }
    };
    if let Some((ix, name)) = examined {
        findings.extend(no_answer(earlier.outline, who, ix, name));
    }
}

fn examines_what(who: &Who<'_>, needs: usize) -> Diagnostic {
    let has = match needs {
        0 => "no `of` and no needs".to_owned(),
        count => format!("no `of` and {count} needs"),
    };
    let message = format!("{} does not say what it examines: it has {has}", who.owner);
    let place = who.step.name.span.clone();
    Diagnostic::error("workflow::missing_key", message, place, "which step's answer?")
        .help("write `of: STEP` with the step whose answer is examined")
}

/// What people, clocks and groups give is no answer that a model could correct.
fn no_answer(outline: &Outline<'_>, who: &Who<'_>, ix: usize, name: &Spanned<String>) -> Option<Diagnostic> {
    let examined = outline.workflow.agents.get(ix);
    let (what, help) = match examined.map(|step| &step.kind) {
        None => ("a group, which has many outputs", "merge them in a reduce step, and examine that"),
        Some(StepKind::HumanGate(_) | StepKind::Questions(_)) => ("what a person said", ANSWERS),
        Some(StepKind::Wait(_) | StepKind::Terminate(_)) => ("a step without an answer", ANSWERS),
        Some(_) => return None,
    };
    let message = format!("{} examines `{}`: {what}", who.owner, name.value);
    let found = Diagnostic::error("workflow::not_one_answer", message, name.span.clone(), "not one answer");
    Some(found.also(outline.items[ix].name().span.clone(), "this one").help(help))
}

const ANSWERS: &str = "agents, reduce steps, scripts, tools, set steps and sub-workflows have answers";
