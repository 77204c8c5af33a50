//! Models that may not play a persona: a budget that goes on with one would break its `modelConstraint`.
//!
//! Budgets of the configuration are not seen here; what they name instead is held back when a call is made (`Contract`).

use super::around::Callers;
use super::load::Bundle;
use crate::diagnostic::Diagnostic;
use crate::source::text::Spanned;
use crate::source::workflow::{Budget, BudgetMode, Clearance, Limits, PhaseStep, Step, StepKind};

/// Cheaper models of budgets that a persona under them may not be played by.
pub(super) fn check(bundle: &Bundle, findings: &mut Vec<Diagnostic>) {
    let callers = Callers::new(bundle);
    for (file, workflow) in bundle.workflows.iter().enumerate() {
        let mut phases = workflow.agents.iter().filter_map(|step| Some((step, phase(step)?))).peekable();
        if phases.peek().is_none() {
            continue;
        }
        let above = of_callers(bundle, &callers, file);
        for (step, phase) in phases {
            let own = [of_limits(&workflow.limits), step.common.budget.as_ref().and_then(cheaper)];
            let around: Vec<_> = own.into_iter().flatten().chain(above.iter().copied()).collect();
            findings.extend(of_phase(phase, &around));
        }
    }
}

/// What the workflows and groups around a file may spend binds what is in it as well.
fn of_callers<'a>(bundle: &'a Bundle, callers: &Callers<'a>, file: usize) -> Vec<&'a Spanned<String>> {
    let mut models = Vec::new();
    for caller in callers.above(file) {
        models.extend(of_limits(&bundle.workflows[caller.file].limits));
        models.extend(caller.groups.iter().filter_map(|group| group.budget.as_ref()).filter_map(cheaper));
    }
    models
}

fn phase(step: &Step) -> Option<&PhaseStep> {
    match &step.kind {
        StepKind::Phase(phase) => Some(phase),
        _ => None,
    }
}

/// The phase's own persona, and those that work is handed to.
fn of_phase(phase: &PhaseStep, around: &[&Spanned<String>]) -> Vec<Diagnostic> {
    let own = (&phase.persona, &phase.clearance, Some(&phase.worker));
    let roles = phase.roles.iter().map(|role| (&role.persona, &role.clearance, role.worker.as_ref()));
    let all = [own].into_iter().chain(roles);
    let found = all.flat_map(|(persona, clearance, worker)| {
        let asks_a_model = worker.is_none_or(|worker| worker.agent().is_some());
        let of_worker = worker.and_then(|worker| worker.common.budget.as_ref()).and_then(cheaper);
        let models = around.iter().copied().chain(of_worker).filter(|_| asks_a_model);
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
