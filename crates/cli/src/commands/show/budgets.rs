//! The budgets of a run: what each allows, what is spent of it, and what happened when it was.

use super::InspectedRun;
use crate::cassette::REPLAYED;
use crate::changes;
use crate::console::Console;
use crate::stored::Stored;
use crate::view::format;
use convoke_engine::budget::{Standing, standings};
use convoke_journal::StateDir;
use convoke_model::{Event, WhenSpent};
use convoke_plan::Plan;
use std::sync::Arc;

/// The plan of a run; one that cannot be read any more says nothing.
pub fn plan(state: &StateDir, stored: &Stored) -> Option<Arc<Plan>> {
    let meta = stored.reader.meta().ok()?;
    changes::stored_plan(state, &stored.run, &meta, || Ok(stored.events.clone())).ok().map(Arc::new)
}

/// How the budgets of a run stand: those of its file, and those that are configured now.
pub fn of(console: &Console, plan: Option<&Arc<Plan>>, stored: &Stored) -> Vec<Standing> {
    let mut limits = console.config.limits.clone();
    limits.asks_nobody = stored.events.iter().any(|stamped| {
        matches!(&stamped.event, Event::RunStarted(started) if started.metadata.contains_key(REPLAYED))
    });
    plan.map(|plan| standings(plan, &limits, &stored.events)).unwrap_or_default()
}

impl InspectedRun {
    /// A line for each budget.
    pub(super) fn budget_lines(&self) -> impl Iterator<Item = String> {
        self.budgets.iter().map(line)
    }
}

fn line(budget: &Standing) -> String {
    let whose = budget.name.strip_prefix("budget of ").unwrap_or(&budget.name);
    let whose = whose.strip_suffix(" (money)").or(whose.strip_suffix(" (tokens)")).unwrap_or(whose);
    let mut text = format!("{whose}: {} of {}", spent(budget), amount(budget, budget.limit));
    if budget.day {
        text.push_str(" by this run");
    }
    if budget.lost > 0 {
        text.push_str(&format!(", up to {} by calls that were cut off", amount(budget, budget.lost)));
    }
    if budget.reserved > 0 {
        text.push_str(&format!(", up to {} by calls under way", amount(budget, budget.reserved)));
    }
    format!("{text} ({})", follows(budget))
}

/// What was spent; what is not known is said to be.
fn spent(budget: &Standing) -> String {
    match (budget.spent, budget.unpriced_calls) {
        (_, 0) => bare(budget, budget.spent),
        (0, _) => "unknown".to_owned(),
        _ => format!("{} and an unknown cost", bare(budget, budget.spent)),
    }
}

fn amount(budget: &Standing, amount: u64) -> String {
    let unit = if budget.money { "" } else { " tokens" };
    format!("{}{unit}", bare(budget, amount))
}

fn bare(budget: &Standing, amount: u64) -> String {
    if budget.money { format::money(amount) } else { format::count(amount) }
}

/// What happened when it was spent, or what would.
fn follows(budget: &Standing) -> String {
    if !budget.happened.is_empty() {
        let happened: Vec<_> = budget.happened.iter().map(|word| happened(word, budget.audit)).collect();
        return happened.join(", then ");
    }
    let passed = budget.spent > budget.limit;
    match &budget.when_spent {
        _ if budget.audit && passed => "passed; only reported".to_owned(),
        _ if budget.audit => "only reported".to_owned(),
        WhenSpent::Stop => "when spent: stop".to_owned(),
        WhenSpent::Queue => "when spent: queue".to_owned(),
        WhenSpent::Ask => "when spent: ask".to_owned(),
        WhenSpent::Degrade(model) => format!("when spent: degrade to {model}"),
    }
}

fn happened(word: &str, audit: bool) -> &str {
    match word {
        "stop" => "a call could not be paid",
        "degrade" => "a cheaper model was asked",
        "ask" => "a person was asked",
        "report" if audit => "passed; only reported",
        "report" => "passed: a service counted more than was set aside",
        "wait" => "calls waited",
        "raise" => "a person raised it",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing() -> Standing {
        Standing {
            name: "budget of step review (money)".into(),
            money: true,
            limit: 1_000_000,
            spent: 250_000,
            unpriced_calls: 0,
            lost: 0,
            reserved: 0,
            day: false,
            audit: false,
            when_spent: WhenSpent::Stop,
            happened: Vec::new(),
        }
    }

    #[test]
    fn a_budget_says_what_is_spent_set_aside_and_to_follow() {
        assert_eq!(line(&standing()), "step review: $0.25 of $1.00 (when spent: stop)");
        let cut = Standing { lost: 100_000, reserved: 200_000, ..standing() };
        let expected = "step review: $0.25 of $1.00, up to $0.10 by calls that were cut off, up to $0.20 by calls under way (when spent: stop)";
        assert_eq!(line(&cut), expected);
        let name = "budget of the day (tokens)".to_owned();
        let happened = vec!["ask".to_owned(), "raise".to_owned(), "stop".to_owned()];
        let day =
            Standing { name, money: false, limit: 5000, spent: 1000, day: true, happened, ..standing() };
        let expected = "the day: 1000 of 5000 tokens by this run (a person was asked, then a person raised it, then a call could not be paid)";
        assert_eq!(line(&day), expected);
        let audit = Standing { audit: true, spent: 2_000_000, ..standing() };
        assert_eq!(line(&audit), "step review: $2.00 of $1.00 (passed; only reported)");
        let billed = vec!["report".to_owned()];
        let beyond = Standing { spent: 1_500_000, happened: billed, ..standing() };
        let expected = "step review: $1.50 of $1.00 (passed: a service counted more than was set aside)";
        assert_eq!(line(&beyond), expected);
        let unknown = Standing { audit: true, spent: 0, unpriced_calls: 2, ..standing() };
        assert_eq!(line(&unknown), "step review: unknown of $1.00 (only reported)");
    }
}
