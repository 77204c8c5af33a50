//! Models that may not play a persona: a budget that goes on with one would break its `modelConstraint`.
//!
//! Budgets of the configuration are not seen here; what they name instead is held back when a call is made (`Contract`).

use super::load::Bundle;
use crate::diagnostic::Diagnostic;
use crate::source::text::Spanned;
use crate::source::workflow::{Budget, BudgetMode, Clearance, Limits, PhaseStep, Step, StepKind};

/// Cheaper models of budgets that a persona under them may not be played by.
pub(super) fn check(bundle: &Bundle, findings: &mut Vec<Diagnostic>) {
    // What the run may spend binds the workflows in it as well.
    let run = bundle.workflows.first().and_then(|root| of_limits(&root.limits));
    for workflow in &bundle.workflows {
        let phases = workflow.agents.iter().filter_map(|step| Some((step, phase(step)?)));
        for (step, phase) in phases {
            let around = [run, of_limits(&workflow.limits), step.common.budget.as_ref().and_then(cheaper)];
            let around: Vec<_> = around.into_iter().flatten().collect();
            findings.extend(of_phase(phase, &around));
        }
    }
}

fn phase(step: &Step) -> Option<&PhaseStep> {
    match &step.kind {
        StepKind::Phase(phase) => Some(phase),
        _ => None,
    }
}

/// The phase's own persona, and those that work is handed to.
fn of_phase(phase: &PhaseStep, around: &[&Spanned<String>]) -> Vec<Diagnostic> {
    let models = phase.players().filter(|(_, _, worker)| worker.agent().is_some());
    let found = models.flat_map(|(persona, clearance, worker)| {
        let of_worker = worker.common.budget.as_ref().and_then(cheaper);
        let models = around.iter().copied().chain(of_worker);
        models.filter_map(|model| excluded(persona, clearance, model)).collect::<Vec<_>>()
    });
    found.collect()
}

fn of_limits(limits: &Limits) -> Option<&Spanned<String>> {
    limits.consequence.degrade_to.as_ref().filter(|_| limits.budget_mode == BudgetMode::Enforce)
}

fn cheaper(budget: &Budget) -> Option<&Spanned<String>> {
    budget.consequence.degrade_to.as_ref()
}

fn excluded(persona: &Spanned<String>, clearance: &Clearance, model: &Spanned<String>) -> Option<Diagnostic> {
    let only = clearance.model.as_ref().filter(|only| only.value != model.value)?;
    let (name, persona) = (&model.value, &persona.value);
    let message =
        format!("`degrade_to` names `{name}`, and `modelConstraint` of persona `{persona}` excludes it");
    let label = format!("only `{}` may play `{persona}`", only.value);
    let found = Diagnostic::error("workflow::model_excluded", message, model.span.clone(), label);
    Some(found.help(format!(
        "use another `when_spent` (`stop`, `ask`), name `{}` here, or take `modelConstraint` away",
        only.value
    )))
}
