//! Models that may not play a persona: a budget that goes on with one would break its `modelConstraint`.
//!
//! A manifest that says both is refused. Budgets of the configuration are another's word: of these it is only warned, and the
//! model that they name is held back when a call is made (`Contract`).

use super::around::Callers;
use super::load::Bundle;
use crate::diagnostic::Diagnostic;
use crate::source::text::Spanned;
use crate::source::workflow::{
    Budget, BudgetMode, Clearance, Labels, Limits, PhaseStep, Step, StepKind, Workflow,
};

/// A budget of the configuration that goes on with a cheaper model once it is spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Degrade {
    /// What the budget is for.
    pub of: DegradeOf,
    /// The cheaper model.
    pub model: String,
}

/// What a budget is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DegradeOf {
    /// All runs of a day.
    Day,
    /// A run whose file says nothing about what it may spend.
    Run,
    /// A tenant.
    Tenant(String),
}

impl Degrade {
    /// The key that names the model.
    fn key(&self) -> String {
        match &self.of {
            DegradeOf::Day => "budgets.day.degrade_to".to_owned(),
            DegradeOf::Run => "budgets.run.degrade_to".to_owned(),
            DegradeOf::Tenant(name) => format!("budgets.tenants.{name}.degrade_to"),
        }
    }

    fn binds(&self, root: &Workflow, tenants: &[&str]) -> bool {
        match &self.of {
            DegradeOf::Day => true,
            DegradeOf::Run => root.limits.budget_usd.is_none() && root.limits.budget_tokens.is_none(),
            DegradeOf::Tenant(name) => tenants.contains(&name.as_str()),
        }
    }
}

/// Cheaper models of budgets that a persona under them may not be played by.
pub(super) fn check(bundle: &Bundle, configured: &[Degrade], findings: &mut Vec<Diagnostic>) {
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
            let tenants = tenants(bundle, &callers, file, step);
            let configured = configured.iter().filter(|one| one.binds(&bundle.workflows[0], &tenants));
            findings.extend(configured.flat_map(|degrade| of_configuration(phase, degrade)));
        }
    }
}

/// What the workflows and groups around a file may spend binds what is in it as well.
fn of_callers<'a>(bundle: &'a Bundle, callers: &Callers<'a>, file: usize) -> Vec<&'a Spanned<String>> {
    let mut models = Vec::new();
    for caller in callers.above(file) {
        models.extend(of_limits(&bundle.workflows[caller.file].limits));
        models.extend(
            caller.around.iter().skip(1).filter_map(|group| group.budget.as_ref()).filter_map(cheaper),
        );
    }
    models
}

/// The tenants that a step may be charged to: the nearest that is written, on each way down to it.
fn tenants<'a>(bundle: &'a Bundle, callers: &Callers<'a>, file: usize, step: &'a Step) -> Vec<&'a str> {
    let written = |labels: &'a Labels| labels.tenant.as_ref().map(|tenant| tenant.value.as_str());
    let own = written(&step.common.labels).or_else(|| written(&bundle.workflows[file].labels));
    if let Some(own) = own {
        return vec![own];
    }
    let above = callers.above(file).into_iter().flat_map(|caller| {
        let around = caller.around.iter().map(|common| &common.labels);
        around.chain([&bundle.workflows[caller.file].labels])
    });
    above.filter_map(written).collect()
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

/// Personas that a budget of the configuration would go on without.
fn of_configuration(phase: &PhaseStep, degrade: &Degrade) -> Vec<Diagnostic> {
    let models = phase.players().filter(|(_, _, worker)| worker.agent().is_some());
    let found = models.filter_map(|(persona, clearance, _)| {
        let only = clearance.model.as_ref().filter(|only| only.value != degrade.model)?;
        let (key, model, persona) = (degrade.key(), &degrade.model, &persona.value);
        let message = format!(
            "`{key}` of the configuration names `{model}`, and `modelConstraint` of persona `{persona}` excludes it"
        );
        let label = format!("only `{}` may play `{persona}`", only.value);
        let found = Diagnostic::warning("workflow::model_excluded", message, only.span.clone(), label);
        Some(found.help("once that budget is spent, what this persona does fails (`model_not_allowed`)"))
    });
    found.collect()
}

fn of_limits(limits: &Limits) -> Option<&Spanned<String>> {
    limits.degrade_to.as_ref().filter(|_| limits.budget_mode == BudgetMode::Enforce)
}

fn cheaper(budget: &Budget) -> Option<&Spanned<String>> {
    budget.degrade_to.as_ref()
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
