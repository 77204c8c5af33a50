//! How the budgets of a run stand: what each allows, what is spent of it, and what happened when it was.
//!
//! A fold over the run's events, by its plan and what the machine's owner says now. Of budgets of a day only this run's part is
//! in its events.

use crate::capacity::budget::accounts::{BudgetAccounts, ScopeRules, account_name, limit_of};
use crate::capacity::budget::spending::{Spending, Spent};
use crate::capacity::limits::Limits;
use convoke_govern::{Period, Unit};
use convoke_model::hash::HashSet;
use convoke_model::{Event, LimitReason, Stamped, TaskId, Usage, WhenSpent};
use convoke_plan::Plan;
use convoke_schedule::Scheduler;
use indexmap::IndexMap;
use serde::Serialize;
use std::sync::Arc;

/// One budget, in one unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Its name, such as `budget of step review (money)`.
    pub name: String,
    /// Whether it is in millionths of a dollar; else in tokens.
    pub money: bool,
    /// How much it allows, with what people have allowed since.
    pub limit: u64,
    /// What is known to be spent of it, by this run.
    pub spent: u64,
    /// Calls whose cost is not known, of a budget in money: what is spent is more than is known.
    pub unpriced_calls: u64,
    /// The worst case of calls whose end is unknown; it counts as spent.
    pub lost: u64,
    /// What is set aside for calls that are under way.
    pub reserved: u64,
    /// It counts the runs of a day together.
    pub day: bool,
    /// It only reports.
    pub audit: bool,
    /// What follows when it is spent.
    pub when_spent: WhenSpent,
    /// What followed, in order: `stop`, `degrade`, `ask`, `report`, `wait`, `raise`.
    pub happened: Vec<String>,
}

/// Every budget that tasks of a run were under, and those of the run itself.
pub fn standings(plan: &Arc<Plan>, limits: &Limits, events: &[Stamped]) -> Vec<Standing> {
    let mut by_name = Scheduler::new(plan.clone());
    by_name.set_configured_budgets(limits.configured_budgets());
    if BudgetAccounts::new(limits).are_needless(&by_name) {
        return Vec::new();
    }
    let scopes = |task: &TaskId| {
        by_name.budget_scopes_of(task).0.into_iter().map(ScopeRules::from).collect::<Vec<_>>()
    };
    let mut all: IndexMap<String, Standing> = IndexMap::new();
    for task in tasks(events) {
        scopes(&task).iter().for_each(|scope| add(&mut all, scope));
    }
    let spending = Spending::of(events);
    let mut count = |spent: &Spent, part: fn(&mut Standing) -> &mut u64| {
        scopes(&spent.task).iter().for_each(|scope| charge(&mut all, scope, &spent.usage, part));
    };
    spending.known.iter().for_each(|spent| count(spent, |standing| &mut standing.spent));
    spending.lost.iter().for_each(|spent| count(spent, |standing| &mut standing.lost));
    spending.reserved().for_each(|spent| count(spent, |standing| &mut standing.reserved));
    events.iter().for_each(|stamped| happen(&mut all, &stamped.event));
    all.into_values().collect()
}

/// The tasks that have begun, after the run itself, which has an empty id.
fn tasks(events: &[Stamped]) -> impl Iterator<Item = TaskId> {
    let mut seen = HashSet::default();
    let begun = events.iter().filter_map(|stamped| match &stamped.event {
        Event::AttemptStarted { task, .. } => Some(task.clone()),
        _ => None,
    });
    [TaskId("".into())].into_iter().chain(begun).filter(move |task| seen.insert(task.clone()))
}

const UNITS: [Unit; 2] = [Unit::Money, Unit::Tokens];

fn add(all: &mut IndexMap<String, Standing>, scope: &ScopeRules) {
    for unit in UNITS {
        let Some(limit) = limit_of(scope, unit) else { continue };
        let name = account_name(scope, unit);
        all.entry(name.clone()).or_insert_with(|| Standing {
            name,
            money: unit == Unit::Money,
            limit,
            spent: 0,
            unpriced_calls: 0,
            lost: 0,
            reserved: 0,
            day: scope.period == Period::Day,
            audit: scope.budget.audit,
            when_spent: scope.budget.when_spent.clone(),
            happened: Vec::new(),
        });
    }
}

fn charge(
    all: &mut IndexMap<String, Standing>,
    scope: &ScopeRules,
    usage: &Usage,
    part: fn(&mut Standing) -> &mut u64,
) {
    for unit in UNITS {
        if let Some(standing) = all.get_mut(&account_name(scope, unit)) {
            *part(standing) += if unit == Unit::Money { usage.cost_micros } else { usage.tokens() };
            standing.unpriced_calls += if unit == Unit::Money { usage.unpriced_calls } else { 0 };
        }
    }
}

fn happen(all: &mut IndexMap<String, Standing>, event: &Event) {
    let (name, word) = match event {
        Event::BudgetSpent(spent) => (&spent.budget, spent.then.word()),
        Event::Blocked { on, .. } => (on, "wait"),
        Event::LimitAdapted(adapted) if adapted.reason == LimitReason::Set => (&adapted.resource, "raise"),
        _ => return,
    };
    let Some(standing) = all.get_mut(name) else { return };
    if let Event::LimitAdapted(adapted) = event {
        standing.limit = adapted.to;
    }
    if standing.happened.last().is_none_or(|last| last != word) {
        standing.happened.push(word.to_owned());
    }
}
