//! What must hold before a run begins or goes on: models have prices, limits can be kept, what is needed is there, prompts go
//! where they may. A run for which one of these does not hold is refused before anything is spent.
//!
//! Only what is certain counts: a run that might stay within its limits starts, and the governor keeps it there.

use super::super::{destinations, machine_capacity, prices, resources};
use crate::cassette::CassetteMode;
use crate::config::Config;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::view::format;
use convoke_journal::StateDir;
use convoke_model::{Budget, WhenSpent};
use convoke_plan::Plan;
use convoke_plan::view::{Estimate, TooFewIterations, estimate, too_few_iterations};
use serde_json::{Map, Value};

/// A run that is about to begin or to go on.
pub struct Candidate<'a> {
    /// What it does.
    pub plan: &'a Plan,
    /// What it is given.
    pub inputs: &'a Map<String, Value>,
    /// The configuration, as its flags change it.
    pub config: &'a Config,
    /// Where limits are kept that people have set.
    pub state: &'a StateDir,
    /// Where its calls are written to or come from.
    pub cassette: &'a CassetteMode,
    /// Whether some of it may be done already.
    pub begun: bool,
}

impl Candidate<'_> {
    /// Refuses a run that must not begin or go on.
    pub fn admit(&self) -> Result<(), CommandFailure> {
        self.is_priced()?;
        self.fits_limits()?;
        resources::require(self.plan, &machine_capacity::as_set(self.config.limits.clone(), self.state))?;
        if self.cassette.is_replay() {
            return Ok(());
        }
        destinations::require(self.plan, self.config)
    }

    /// Refuses a run under a budget that cannot be kept.
    pub fn is_priced(&self) -> Result<(), CommandFailure> {
        prices::require(self.plan, self.config)
    }

    /// Tasks and iterations count from the beginning, in a run that goes on too. What its finished tasks have cost may be less
    /// than an estimate says, so budgets are judged before the beginning only.
    fn fits_limits(&self) -> Result<(), CommandFailure> {
        let found = estimate(self.plan, self.inputs);
        fits_counts(self.plan, self.inputs, &found)?;
        if self.begun { Ok(()) } else { fits_budgets(self.plan, self.config, &found) }
    }
}

/// Refuses what cannot be run with these inputs, because it needs more tasks or iterations than it may have.
pub fn require_room(plan: &Plan, inputs: &Map<String, Value>) -> Result<(), CommandFailure> {
    fits_counts(plan, inputs, &estimate(plan, inputs))
}

/// Refuses a run that needs more tasks or iterations than it may have.
fn fits_counts(plan: &Plan, inputs: &Map<String, Value>, found: &Estimate) -> Result<(), CommandFailure> {
    let limits = &plan.root().limits;
    if found.tasks > u64::from(limits.max_tasks) {
        let words = format!(
            "the run needs at least {} tasks, and its limit is {} (limits.max_tasks)",
            found.tasks, limits.max_tasks
        );
        return Err(refused(words, found).hint("raise `limits.max_tasks`, or give it less to do"));
    }
    if let Some(TooFewIterations { workflow, limit, needed }) = too_few_iterations(plan, inputs) {
        let words = format!(
            "workflow `{workflow}` needs at least {needed} iterations, and its limit is {limit} (limits.max_iterations)"
        );
        let hint = format!("raise `limits.max_iterations` to at least {needed}");
        return Err(refused(words, found).hint(hint));
    }
    Ok(())
}

/// Refuses a run whose least costs more than it may. A workflow in Conductor's language that says nothing of what follows when
/// its budget is spent begins all the same, as it would there.
fn fits_budgets(plan: &Plan, config: &Config, found: &Estimate) -> Result<(), CommandFailure> {
    let limits = &plan.root().limits;
    let of_file = limits.budget.as_ref().filter(|budget| !budget.lenient || limits.budget_refuses);
    let budgets = [("the workflow's budget", of_file), ("budgets.run", config.limits.run.as_ref())];
    for (name, budget) in budgets {
        let Some(budget) = budget.filter(|budget| is_final(budget)) else { continue };
        if let Some(words) = over(budget, name, found) {
            return Err(refused(words, found).hint("raise the budget, or give it less to do"));
        }
    }
    Ok(())
}

/// Whether neither a person nor a cheaper model helps when it is spent.
fn is_final(budget: &Budget) -> bool {
    let helps = matches!(budget.when_spent, WhenSpent::Degrade(_) | WhenSpent::Ask);
    !budget.audit && !helps
}

fn over(budget: &Budget, name: &str, found: &Estimate) -> Option<String> {
    if let Some(micros) = budget.micros.filter(|micros| found.least_micros > *micros) {
        let (least, limit) = (format::money(found.least_micros), format::money(micros));
        return Some(format!("the run costs at least {least}, and {name} allows {limit}"));
    }
    let tokens = budget.tokens.filter(|tokens| found.least_tokens > *tokens)?;
    Some(format!("the run sends at least {} tokens, and {name} allows {tokens}", found.least_tokens))
}

fn refused(words: String, found: &Estimate) -> CommandFailure {
    CommandFailure::new(Exit::Limit, format!("{words}; nothing was spent ({})", self::words(found)))
}

/// An estimate, in words.
pub fn words(found: &Estimate) -> String {
    let mut text = format!(
        "estimate: at least {} and {}",
        format::plural(found.tasks, "task"),
        format::plural(found.calls, "model call")
    );
    if found.most_micros > 0 {
        let (least, most) = (format::money(found.least_micros), format::money(found.most_micros));
        text.push_str(&format!(", {least} to {most}"));
    }
    if found.unpriced_calls > 0 {
        let calls = format::plural(found.unpriced_calls, "call");
        text.push_str(&format!(", and an unknown cost of {calls} (no price is known)"));
    }
    if !found.unknown.is_empty() {
        text.push_str(&format!(", not counting {} (its list is not known yet)", found.unknown.join(", ")));
    }
    text
}
