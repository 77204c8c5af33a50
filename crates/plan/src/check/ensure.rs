//! Conditions that can never hold or never be checked, and patterns that name nothing.

use super::outline::Outline;
use crate::diagnostic::{Diagnostic, Span};
use crate::source::workflow::{Claim, Common, Ensure, Step, StepKind, WorkerKind};
use crate::source::{Spanned, Text, broken_condition};
use crate::template::parse_condition;
use convoke_model::MOST_CONDITIONS;

/// Every `ensure` and `protect` of a workflow.
pub(super) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let steps = outline.workflow.agents.iter().chain(outline.inline().map(|(_, step)| step));
    for step in steps {
        let owner = step.owner();
        of_common(&step.common, &owner, done_by(step), findings);
        match &step.kind {
            StepKind::Phase(phase) => {
                for worker in phase.workers() {
                    let is_asked = matches!(worker.kind, WorkerKind::Agent(_));
                    let done_by = if is_asked { DoneBy::Agent } else { DoneBy::Call };
                    of_common(&worker.common, &owner, done_by, findings);
                }
            }
            StepKind::Goal(goal) => {
                for (role, proof) in &goal.proofs {
                    let owner = format!("role `{}` of {owner}", role.word());
                    stated(proof.ensure.as_ref(), &proof.protect, &owner, DoneBy::Agent, findings);
                }
            }
            _ => {}
        }
    }
    for item in outline.items.iter().filter(|item| item.is_group()) {
        let owner = format!("{} `{}`", item.word(), item.name().value);
        of_common(item.common(), &owner, DoneBy::Parts, findings);
    }
}

/// What does the work that conditions are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DoneBy {
    /// An agent: it is told what does not hold.
    Agent,
    /// A command or a tool.
    Call,
    /// Other tasks: members, items, the steps of a sub-workflow, the tasks of a goal.
    Parts,
    /// Questions about the words of others.
    Questions,
}

impl DoneBy {
    fn is_by_others(self) -> bool {
        matches!(self, DoneBy::Parts | DoneBy::Questions)
    }
}

fn done_by(step: &Step) -> DoneBy {
    match step.kind {
        StepKind::Agent(_) => DoneBy::Agent,
        StepKind::Goal(_) | StepKind::Workflow(_) => DoneBy::Parts,
        StepKind::Reduce(_) | StepKind::Verify(_) => DoneBy::Questions,
        _ => DoneBy::Call,
    }
}

fn of_common(common: &Common, owner: &str, done_by: DoneBy, findings: &mut Vec<Diagnostic>) {
    stated(common.ensure.as_ref(), &common.protect, owner, done_by, findings);
}

fn stated(
    ensure: Option<&Ensure>,
    protect: &[Spanned<String>],
    owner: &str,
    done_by: DoneBy,
    findings: &mut Vec<Diagnostic>,
) {
    let mut add = |found: Diagnostic| {
        // A persona plays in several phases, and a role stands for another.
        let place = |found: &Diagnostic| found.labels.first().map(|label| label.span.range.clone());
        let known = |known: &Diagnostic| known.code == found.code && place(known) == place(&found);
        if !findings.iter().any(known) {
            findings.push(found);
        }
    };
    for pattern in protect {
        bad_path(&pattern.value, &pattern.span, "protect", owner).into_iter().for_each(&mut add);
    }
    let Some(ensure) = ensure else { return };
    if ensure.conditions.len() > MOST_CONDITIONS {
        let message = format!("{owner} ensures more than {MOST_CONDITIONS} conditions");
        let found = Diagnostic::error("workflow::out_of_range", message, ensure.span.clone(), "too many");
        add(found.help("say several things by one command"));
    }
    if let Some(most) = ensure.max_retries.as_ref().filter(|_| done_by.is_by_others()) {
        let message = format!("{owner}: `max_retries` is about agents, and there is none that could be told");
        let found =
            Diagnostic::error("workflow::not_allowed_here", message, most.span.clone(), "goes nowhere");
        add(found
            .help("say `ensure` on the agents within, or let `retry` or `on_error` follow from the failure"));
    }
    for condition in &ensure.conditions {
        of_claim(&condition.what, &condition.span, owner, done_by).into_iter().for_each(&mut add);
    }
}

fn of_claim(claim: &Claim, span: &Span, owner: &str, done_by: DoneBy) -> Vec<Diagnostic> {
    let never = |message: String, advice: &str| {
        let found = Diagnostic::error("workflow::not_allowed_here", message, span.clone(), "never holds");
        vec![if advice.is_empty() { found } else { found.help(advice) }]
    };
    match (claim, done_by) {
        (Claim::ToolCalled(_), DoneBy::Parts) => never(
            format!("{owner}: `tool_called` is about the conversation of one agent"),
            "say it on the agents within, of a goal on `roles.execute`",
        ),
        (Claim::ToolCalled(_), DoneBy::Call | DoneBy::Questions) => never(
            format!("{owner}: `tool_called` is about agents, and this one calls no tools of its choice"),
            "",
        ),
        (Claim::FileChanged(_) | Claim::DiffNotEmpty(_), DoneBy::Questions) => never(
            format!(
                "{owner}: `{}` is about files, and this step asks about texts and writes none",
                claim.word()
            ),
            "say it on the steps whose outputs it takes",
        ),
        (claim, _) => of_words(claim, owner),
    }
}

fn of_words(claim: &Claim, owner: &str) -> Vec<Diagnostic> {
    match claim {
        Claim::That(text) => expression(text, owner),
        claim => claim.texts().into_iter().filter_map(|text| literal(claim, text, owner)).collect(),
    }
}

/// The expression sees `output` and nothing else: what else a step knows is known before it works.
fn expression(text: &Text, owner: &str) -> Vec<Diagnostic> {
    let parsed = match parse_condition(&text.value) {
        Ok(parsed) => parsed,
        Err(error) => return vec![broken_condition(owner, text, error)],
    };
    let foreign = parsed.references().into_iter();
    let foreign = foreign.filter(|reference| reference.path.first().is_some_and(|root| root != "output"));
    let told = foreign.map(|reference| {
        let name = reference.path.first().cloned().unwrap_or_default();
        let message = format!("{owner}: `that` names `{name}`, and sees `output` alone");
        let place = text.place_of(reference.range);
        Diagnostic::error("workflow::unknown_reference", message, place, "not known here")
            .help(format!("write `output.{name}` if it is a field of the output"))
    });
    told.collect()
}

/// A text that is no template is what it will be.
fn literal(claim: &Claim, text: &Text, owner: &str) -> Option<Diagnostic> {
    if ["{{", "{%"].iter().any(|mark| text.value.contains(mark)) {
        return None;
    }
    match claim {
        Claim::Command(_) | Claim::TestsPass(_) => text.value.trim().is_empty().then(|| {
            let message = format!("{owner}: `{}` is empty", claim.word());
            Diagnostic::error(
                "workflow::empty_value",
                message,
                text.span.clone(),
                "a command is required here",
            )
        }),
        _ => bad_path(&text.value, &text.span, claim.word(), owner),
    }
}

fn bad_path(path: &str, span: &Span, key: &str, owner: &str) -> Option<Diagnostic> {
    let why = match path {
        path if path.trim().is_empty() => "names nothing",
        path if path.starts_with(['/', '~', '\\']) => "does not begin in the folder of the step",
        path if path.split('/').any(|part| part == "..") => "leads out of the folder of the step",
        _ => return None,
    };
    let message = format!("{owner}: `{key}` {why}: `{path}`");
    let found = Diagnostic::error(
        "workflow::bad_path",
        message,
        span.clone(),
        "paths are those of the step's folder",
    );
    Some(found.help("patterns take `*` within a name and `**` over folders: `tests/**`"))
}
