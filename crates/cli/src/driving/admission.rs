//! A run that cannot stay within its own limits is refused before anything is spent.
//!
//! Only what is certain counts: a run that might stay within its limits starts, and the governor keeps it there.

use crate::config::Config;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::view::words;
use convoke_model::{Budget, WhenSpent};
use convoke_plan::Plan;
use convoke_plan::view::{Estimate, TooFewIterations, estimate, too_few_iterations};
use serde_json::{Map, Value};

/// Refuses a run whose least is more than it may take. A workflow in Conductor's language that says nothing of what
/// follows when its budget is spent begins all the same, as it would there.
pub fn admit(plan: &Plan, inputs: &Map<String, Value>, config: &Config) -> Result<(), CommandFailure> {
    let found = estimate(plan, inputs);
    let limits = &plan.root().limits;
    if found.tasks > u64::from(limits.max_tasks) {
        let words = format!(
            "the run needs at least {} tasks, and its limit is {} (limits.max_tasks)",
            found.tasks, limits.max_tasks
        );
        return Err(refused(words, &found).hint("raise `limits.max_tasks`, or give it less to do"));
    }
    if let Some(TooFewIterations { workflow, limit, needed }) = too_few_iterations(plan, inputs) {
        let words = format!(
            "workflow `{workflow}` needs at least {needed} iterations, and its limit is {limit} (limits.max_iterations)"
        );
        let hint = format!("raise `limits.max_iterations` to at least {needed}");
        return Err(refused(words, &found).hint(hint));
    }
    let of_file = limits.budget.as_ref().filter(|budget| !budget.lenient || limits.budget_refuses);
    let budgets = [("the workflow's budget", of_file), ("budgets.run", config.limits.run.as_ref())];
    for (name, budget) in budgets {
        let Some(budget) = budget.filter(|budget| is_final(budget)) else { continue };
        if let Some(words) = over(budget, name, &found) {
            return Err(refused(words, &found).hint("raise the budget, or give it less to do"));
        }
    }
    Ok(())
}

/// Whether nobody and nothing cheaper helps when it is spent.
fn is_final(budget: &Budget) -> bool {
    let helps = matches!(budget.when_spent, WhenSpent::Degrade(_) | WhenSpent::Ask);
    !budget.audit && !helps
}

fn over(budget: &Budget, name: &str, found: &Estimate) -> Option<String> {
    if let Some(micros) = budget.micros.filter(|micros| found.least_micros > *micros) {
        let (least, limit) = (words::money(found.least_micros), words::money(micros));
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
        words::plural(found.tasks, "task"),
        words::plural(found.calls, "model call")
    );
    if found.most_micros > 0 {
        let (least, most) = (words::money(found.least_micros), words::money(found.most_micros));
        text.push_str(&format!(", {least} to {most}"));
    }
    if found.unpriced_calls > 0 {
        let calls = words::plural(found.unpriced_calls, "call");
        text.push_str(&format!(", and an unknown cost of {calls} (no price is known)"));
    }
    if !found.unknown.is_empty() {
        text.push_str(&format!(", not counting {} (its list is not known yet)", found.unknown.join(", ")));
    }
    text
}
