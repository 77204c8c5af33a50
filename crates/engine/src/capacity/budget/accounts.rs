//! What calls are paid from: the budgets of the run, of workflows and groups in it, of roles, tenants and days.
//!
//! Each call draws from all budgets that its task is under, at worst case before it is made and at what it used after.
//! A call to a model without a price is refused under an enforced budget in money; under one that only reports, the scheduler
//! says so once.

use crate::capacity::budget::spending::Spent;
use crate::capacity::limits::Limits;
use crate::capacity::terms::{Counts, MONEY_UNIT, Shared, Want};
use convoke_agent::CallDemand;
use convoke_govern::{Amount, BudgetRules, Governor, Origin, Period, ResourceId, Spec, Unit};
use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{Budget, BudgetAction, Timestamp, Usage, WhenSpent, reason};
use convoke_schedule::{BudgetScope, Owner, Scheduler, TaskIx};
use std::sync::Arc;
use std::time::Duration;

/// A budget and whose it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScopeRules {
    /// Such as `budget of the run`, `budget of step review`.
    pub name: String,
    /// How much, and what follows.
    pub budget: Budget,
    /// When it is full again.
    pub period: Period,
    /// What it cannot pay ends the run; else only the step that asked.
    pub ends_run: bool,
    /// The scheduler says when it is passed: the run's own, as its file states it.
    pub told_elsewhere: bool,
}

/// The budgets that the calls of a task draw from.
#[derive(Debug, Default)]
pub(crate) struct TaskAccounts {
    money: Vec<Account>,
    tokens: Vec<Account>,
}

#[derive(Debug, Clone)]
struct Account {
    id: ResourceId,
    lenient: bool,
    /// It only reports.
    audit: bool,
    /// The scheduler says when it is passed.
    told_elsewhere: bool,
    /// A person decides about what it cannot pay.
    asks: bool,
    /// What all processes count it under: budgets of a day.
    shared: Option<Arc<Shared>>,
}

/// What is to be said of a budget.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpentNote {
    pub budget: ResourceId,
    pub then: BudgetAction,
    /// What all processes together have spent and set aside, where that is known.
    pub by_all: Option<u64>,
}

/// The budget accounts of the tasks that run.
#[derive(Debug, Default)]
pub(crate) struct BudgetAccounts {
    of: HashMap<TaskIx, Arc<TaskAccounts>>,
    /// What is played back costs nothing.
    costs_nothing: bool,
    /// What was said of budgets that are spent.
    told: HashSet<(String, BudgetAction)>,
    /// What is to be said of them.
    to_note: Vec<SpentNote>,
    /// For each budget, the word for what cannot be paid from it.
    words: HashMap<ResourceId, &'static str>,
    /// What people have allowed beyond what was stated, by the names of budgets.
    allowed: HashMap<String, u64>,
}

impl BudgetAccounts {
    /// Accounts without tasks. The scheduler says which budgets a task is under.
    pub fn new(limits: &Limits) -> BudgetAccounts {
        BudgetAccounts { costs_nothing: limits.asks_nobody, ..BudgetAccounts::default() }
    }

    /// Settles what a task's calls draw from.
    pub fn open(&mut self, task: TaskIx, scheduler: &Scheduler, governor: &mut Governor) {
        if self.are_needless(scheduler) || self.of.contains_key(&task) {
            return;
        }
        let own = self.open_accounts(scheduler.budget_scopes(task), governor);
        if !own.is_empty() {
            self.of.insert(task, Arc::new(own));
        }
    }

    /// Whether no task is under any budget.
    pub fn are_needless(&self, scheduler: &Scheduler) -> bool {
        self.costs_nothing || !scheduler.has_budgets()
    }

    fn open_accounts(&mut self, scopes: Vec<BudgetScope>, governor: &mut Governor) -> TaskAccounts {
        let mut own = TaskAccounts::default();
        for scope in scopes.into_iter().map(ScopeRules::from) {
            own.money.extend(self.account(&scope, Unit::Money, governor));
            own.tokens.extend(self.account(&scope, Unit::Tokens, governor));
        }
        own
    }

    fn account(&mut self, scope: &ScopeRules, unit: Unit, governor: &mut Governor) -> Option<Account> {
        let name = account_name(scope, unit);
        let stated = limit_of(scope, unit)?;
        let limit = self.allowed.get(&name).copied().unwrap_or(stated);
        let shared = shared(scope, unit, &name, limit);
        let id = match governor.resource(&name) {
            Some(known) => known,
            None => {
                governor.add(Spec::budget(name, limit, rules(scope, unit)).origin(Origin::Workflow)).ok()?
            }
        };
        self.words.insert(id, word(scope, unit));
        let asks = scope.budget.when_spent == WhenSpent::Ask;
        let Budget { lenient, audit, .. } = scope.budget;
        Some(Account { id, lenient, audit, told_elsewhere: scope.told_elsewhere, asks, shared })
    }

    /// The budgets of a task about which a person decides.
    pub fn asked_for(&self, task: TaskIx) -> Vec<ResourceId> {
        let accounts = self.of.get(&task).into_iter().flat_map(|own| own.accounts());
        accounts.filter(|account| account.asks).map(|account| account.id).collect()
    }

    /// The word for what a budget cannot pay: its unit, and whether its end is that of the run.
    pub fn word(&self, budget: ResourceId) -> &'static str {
        self.words.get(&budget).copied().unwrap_or(reason::BUDGET)
    }

    /// People have allowed so much of a budget in all.
    pub fn allow(&mut self, name: &str, limit: u64) {
        self.told.retain(|(budget, _)| budget != name);
        self.allowed.insert(name.to_owned(), limit);
    }

    /// It was said before what follows when a budget is spent.
    pub fn notified_before(&mut self, name: &str, then: BudgetAction) {
        self.told.insert((name.to_owned(), then));
    }

    /// A budget could not pay a call, and this follows. What all processes have used of it is known where they share it.
    pub fn spent(
        &mut self,
        budget: ResourceId,
        then: BudgetAction,
        by_all: Option<u64>,
        governor: &Governor,
    ) {
        if self.told.insert((governor.name(budget).to_owned(), then)) {
            self.to_note.push(SpentNote { budget, then, by_all });
        }
    }

    /// Looks whether a task's call has passed a budget: one that only reports, or any where a service has counted more than a
    /// call could use.
    pub fn look(&mut self, task: TaskIx, governor: &mut Governor, now: Timestamp) {
        let Some(own) = self.of.get(&task).cloned() else { return };
        for account in own.accounts().filter(|account| !account.told_elsewhere) {
            if governor.spent_of(account.id, now) > governor.limit(account.id) {
                self.spent(account.id, BudgetAction::Report, None, governor);
            }
        }
    }

    /// What is to be said of budgets that are spent.
    pub fn take_notes(&mut self) -> Vec<SpentNote> {
        std::mem::take(&mut self.to_note)
    }

    /// A task's calls are over.
    pub fn forget(&mut self, task: TaskIx) {
        self.of.remove(&task);
    }

    /// Whether a task's calls draw from any budget.
    pub fn has(&self, task: TaskIx) -> bool {
        self.of.contains_key(&task)
    }

    /// Whether what a task's calls can cost is set aside before they are made.
    pub fn reserves(&self, task: TaskIx) -> bool {
        self.of.get(&task).is_some_and(|own| own.accounts().any(|account| !account.audit))
    }

    /// The budget in money that cannot be kept for a call whose price is unknown.
    pub fn unpriced(&self, task: TaskIx, call: &CallDemand) -> Option<ResourceId> {
        let own = self.of.get(&task).filter(|_| call.cost_micros.is_none())?;
        own.money.iter().find(|account| !account.audit).map(|account| account.id)
    }

    /// What a call needs at worst.
    pub fn needs(
        &self,
        task: TaskIx,
        call: &CallDemand,
        governor: &mut Governor,
        now: Timestamp,
    ) -> Vec<Amount> {
        let Some(own) = self.of.get(&task).cloned() else { return Vec::new() };
        let tokens = call.most_tokens();
        let money = own.money.iter().map(|account| (account, call.cost_micros.unwrap_or(0)));
        let counted = own.tokens.iter().map(|account| (account, tokens));
        money
            .chain(counted)
            .map(|(account, worst)| {
                let left = governor.limit(account.id).saturating_sub(governor.used(account.id, now));
                let count = if account.lenient { rounded_down(worst.min(left)).max(1) } else { worst };
                Amount::of(account.id, count)
            })
            .collect()
    }

    /// What a call needs at worst of budgets that all processes share.
    pub fn wants(&self, task: TaskIx, call: &CallDemand) -> Vec<Want> {
        let Some(own) = self.of.get(&task) else { return Vec::new() };
        let units = call.cost_micros.unwrap_or(0).div_ceil(MONEY_UNIT);
        let tokens = call.most_tokens();
        let money = own.money.iter().map(|account| (account, units));
        let all = money.chain(own.tokens.iter().map(|account| (account, tokens)));
        let shared = all.filter_map(|(account, count)| Some(Want { of: account.shared.clone()?, count }));
        shared.filter(|want| want.count > 0).collect()
    }

    /// What a call used.
    pub fn used(&self, task: TaskIx, usage: &Usage) -> Vec<Amount> {
        self.of.get(&task).map(|own| own.used(usage)).unwrap_or_default()
    }

    /// What was spent before this process drove the run is spent, also by tasks that begin anew or are gone.
    pub fn spent_before(&mut self, spent: &Spent, scheduler: &Scheduler, governor: &mut Governor) {
        if self.are_needless(scheduler) {
            return;
        }
        let (scopes, _) = scheduler.budget_scopes_of(&spent.task);
        let own = self.open_accounts(scopes, governor);
        own.used(&spent.usage).into_iter().for_each(|amount| governor.charge(amount, spent.at));
    }
}

impl TaskAccounts {
    fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.money.iter().chain(&self.tokens)
    }

    fn is_empty(&self) -> bool {
        self.accounts().next().is_none()
    }

    /// So much, of each account in its unit.
    fn used(&self, usage: &Usage) -> Vec<Amount> {
        let money = self.money.iter().map(|account| Amount::of(account.id, usage.cost_micros));
        money.chain(self.tokens.iter().map(|account| Amount::of(account.id, usage.tokens()))).collect()
    }
}

/// The budgets of a day that all processes count together, and whose they are.
pub(crate) fn of_days(limits: &Limits) -> Vec<(Option<String>, Arc<Shared>)> {
    let scope =
        |owner: Owner, budget: &Budget| ScopeRules::from(BudgetScope { owner, budget: budget.clone() });
    let tenants = limits.tenants.iter().filter_map(|tenant| {
        let owner = Owner::Tenant(tenant.name.as_str().into());
        Some((Some(tenant.name.clone()), scope(owner, tenant.budget.as_ref()?)))
    });
    let day = limits.day.iter().map(|budget| (None, scope(Owner::Day, budget)));
    let scopes: Vec<_> = day.chain(tenants).collect();
    let both = [Unit::Money, Unit::Tokens];
    let accounts = scopes.into_iter().flat_map(|(tenant, scope)| {
        both.map(|unit| {
            Some((
                tenant.clone(),
                shared(&scope, unit, &account_name(&scope, unit), limit_of(&scope, unit)?)?,
            ))
        })
    });
    accounts.flatten().collect()
}

fn word(scope: &ScopeRules, unit: Unit) -> &'static str {
    match (unit, scope.ends_run) {
        (Unit::Money, true) => reason::BUDGET,
        (Unit::Tokens, true) => reason::BUDGET_TOKENS,
        (Unit::Money, false) => reason::PART_BUDGET,
        (Unit::Tokens, false) => reason::PART_BUDGET_TOKENS,
    }
}

pub(crate) fn limit_of(scope: &ScopeRules, unit: Unit) -> Option<u64> {
    if unit == Unit::Money { scope.budget.micros } else { scope.budget.tokens }
}

pub(crate) fn account_name(scope: &ScopeRules, unit: Unit) -> String {
    let word = if unit == Unit::Money { "money" } else { "tokens" };
    format!("{} ({word})", scope.name)
}

impl From<BudgetScope> for ScopeRules {
    fn from(scope: BudgetScope) -> ScopeRules {
        let is_part = matches!(scope.owner, Owner::Workflow(_) | Owner::Group(_) | Owner::Step { .. });
        let is_of_days = matches!(scope.owner, Owner::Tenant(_) | Owner::Day);
        ScopeRules {
            name: scope.owner.budget_name(),
            period: if is_of_days { Period::Day } else { Period::Whole },
            ends_run: !is_part,
            told_elsewhere: scope.owner == Owner::Run,
            budget: scope.budget,
        }
    }
}

/// A budget of a day as all processes count it. One that only reports is counted by each run alone.
fn shared(scope: &ScopeRules, unit: Unit, name: &str, limit: u64) -> Option<Arc<Shared>> {
    if scope.period != Period::Day || scope.budget.audit {
        return None;
    }
    let (counts, limit) = match unit {
        Unit::Money => (Counts::Money, limit / MONEY_UNIT),
        Unit::Tokens => (Counts::Tokens, limit),
    };
    let says_spent = scope.budget.when_spent != WhenSpent::Queue;
    let (name, origin, window) = (name.to_owned(), "configuration".to_owned(), Some(DAY));
    Some(Arc::new(Shared { name, limit, origin, counts, window, says_spent }))
}

/// For how long what was used of something shared counts, from now on.
pub(crate) fn lasts(want: &Want, now: Timestamp) -> Duration {
    match want.of.window {
        Some(DAY) => left_of_day(now),
        Some(window) => window,
        None => Duration::ZERO,
    }
}

/// The next smaller number with few significant bits: what is asked for is rounded up, and must not be more than is left.
fn rounded_down(count: u64) -> u64 {
    let extra = (u64::BITS - count.leading_zeros()).saturating_sub(5);
    count >> extra << extra
}

/// How long until midnight, UTC.
pub(crate) fn left_of_day(now: Timestamp) -> Duration {
    DAY - Duration::from_micros(now.0 % DAY.as_micros() as u64)
}

/// The window of a budget of a day.
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

fn rules(scope: &ScopeRules, unit: Unit) -> BudgetRules {
    // What is spent of a budget that is never full again does not come back: to wait for it would be to wait for ever. What
    // others have only reserved is waited for in any case.
    let when_spent = match (&scope.budget.when_spent, scope.period) {
        (WhenSpent::Queue, Period::Whole) => WhenSpent::Stop,
        (then, _) => then.clone(),
    };
    BudgetRules { unit, period: scope.period, parent: None, when_spent, audit: scope.budget.audit }
}
