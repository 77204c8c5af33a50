//! A run whose budgets cannot be kept does not start: every model that is asked under an enforced budget in money has a price.
//!
//! Budgets of files are findings of the file (`plan`); here are those that stand elsewhere (the configuration, a flag), and all of
//! them where a run goes on with other providers than it was made with.

use crate::compiling;
use crate::config::Config;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::{Budget, WhenSpent};
use convoke_plan::Plan;
use convoke_plan::compile::{
    Options, Unpriced, has_price, is_enforced, price_advice, unpriced, unpriced_under_budgets,
    unpriced_words, without_model,
};

/// Refuses a plan that asks a model without a price under a budget, or no model where one is needed.
pub fn require(plan: &Plan, config: &Config) -> Result<(), CommandFailure> {
    if config.asks_nobody {
        return Ok(());
    }
    let options = compiling::options(config, None);
    if let Some((node, provider)) = without_model(plan, options.services) {
        let (step, provider) = (node.step_name(), &provider.name);
        let words = format!("step `{step}` names no model, and provider `{provider}` needs one");
        let hint = format!("set `model` of `[providers.{provider}]` in the configuration");
        return Err(CommandFailure::new(Exit::Refused, words).hint(hint));
    }
    if let Some((budget, one)) = unpriced_under_budgets(plan, options.services).first() {
        return Err(refusal(budget, one, &options));
    }
    budgets(plan, config).iter().try_for_each(|of| of.require(plan, &options))
}

/// A budget of the configuration, and what it covers.
struct Configured<'a> {
    /// Its table, such as `budgets.day`.
    table: String,
    config: &'a Config,
    budget: &'a Budget,
    tenant: Option<&'a str>,
}

/// Budgets in money that are enforced and that this plan is under.
fn budgets<'a>(plan: &Plan, config: &'a Config) -> Vec<Configured<'a>> {
    let limits = &config.limits;
    let run = limits.run.as_ref().filter(|_| plan.root().limits.budget.is_none());
    let of_all = [("budgets.day", limits.day.as_ref()), ("budgets.run", run)];
    let of_all = of_all.into_iter().map(|(table, budget)| (table.to_owned(), budget, None));
    let tenants = limits.tenants.iter().map(|tenant| {
        let table = format!("budgets.tenants.{}", tenant.name);
        (table, tenant.budget.as_ref(), Some(tenant.name.as_str()))
    });
    let all = of_all.chain(tenants).filter_map(|(table, budget, tenant)| {
        let budget = budget.filter(|budget| is_enforced(budget))?;
        Some(Configured { table, config, budget, tenant })
    });
    all.collect()
}

impl Configured<'_> {
    /// A key of it, with the place where it is set.
    fn key(&self, name: &str) -> String {
        let key = format!("{}.{name}", self.table);
        match self.config.entries.iter().find(|entry| entry.key == key) {
            Some(entry) => format!("{}: `{key}`", entry.origin),
            None => format!("`{key}`"),
        }
    }

    fn require(&self, plan: &Plan, options: &Options) -> Result<(), CommandFailure> {
        let found = unpriced(plan, options.services, self.tenant);
        if let Some(one) = found.first() {
            return Err(refusal(&self.key("usd"), one, options));
        }
        match self.cheaper().filter(|model| !has_price(plan, self.tenant, model)) {
            Some(model) => Err(self.unpriced_degrade(model)),
            None => Ok(()),
        }
    }

    /// The model that it goes on with.
    fn cheaper(&self) -> Option<&str> {
        match &self.budget.when_spent {
            WhenSpent::Degrade(model) => Some(model),
            _ => None,
        }
    }

    fn unpriced_degrade(&self, model: &str) -> CommandFailure {
        let words = format!("{} names `{model}`, and no price of it is known", self.key("degrade_to"));
        CommandFailure::new(Exit::Refused, words).hint(format!("say what it costs: [pricing.\"{model}\"]"))
    }
}

fn refusal(budget: &str, one: &Unpriced<'_>, options: &Options) -> CommandFailure {
    let words = format!("{}; nothing was spent", unpriced_words(budget, one));
    CommandFailure::new(Exit::Refused, words).hint(price_advice(one, options))
}
