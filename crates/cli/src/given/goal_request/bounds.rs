//! How far a goal may go: flags over the configuration, when it starts and when it goes on.
//!
//! The author of a budget is kept with it, so that it can be named and raised where it was written.

use crate::args::{GoalBounds, Spending};
use crate::changes::Current;
use crate::compiling;
use crate::console::Console;
use crate::difference::difference;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::Written;
use convoke_plan::compile::name_budget;
use convoke_plan::generate::goal::restated;
use convoke_plan::{Kind, Plan};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The flag that says what a goal may cost.
const FLAG: &str = "--budget";

/// The keys of `limits` that are a budget's.
const AMOUNTS: [&str; 3] = ["budget_usd", "budget_tokens", "budget_mode"];

/// What a goal may cost, and under which names that was written.
#[derive(Debug, Default)]
pub struct Budgeted {
    /// `workflow.limits`.
    pub limits: Map<String, Value>,
    /// Its author.
    pub written: Written,
}

impl Budgeted {
    /// What a goal may cost that starts now.
    pub fn at_start(bounds: &GoalBounds, configured: &Map<String, Value>) -> Budgeted {
        Budgeted::default().restated(bounds, Some(configured))
    }

    /// The flag over what was said before; the configuration over what the configuration said before.
    fn restated(self, bounds: &GoalBounds, configured: Option<&Map<String, Value>>) -> Budgeted {
        let now = |key: &str, author: Option<String>| match (bounds.budget.map(amount), author.as_deref()) {
            (Some((unit, amount)), _) if unit == key => Some((amount, Some(FLAG.to_owned()))),
            // One flag takes the place of the other, whatever they count.
            (Some(_), Some(FLAG)) => None,
            (None, Some(FLAG)) => Some((self.limits.get(key)?.clone(), author)),
            _ => match configured {
                Some(configured) => Some((configured.get(key)?.clone(), Some(format!("goal.{key}")))),
                None => Some((self.limits.get(key)?.clone(), author)),
            },
        };
        // Limits that are no amounts: what a flag says, else what was said before, else the configuration.
        let is_amount = |key: &String| AMOUNTS.contains(&key.as_str());
        let before = configured.into_iter().flatten().chain(&self.limits).filter(|(key, _)| !is_amount(key));
        let mut limits: Map<String, Value> =
            before.map(|(key, value)| (key.clone(), value.clone())).collect();
        if let Some(timeout) = bounds.timeout {
            limits.insert("timeout_seconds".to_owned(), json!(timeout.as_secs_f64()));
        }
        let mut state = |key: &str, author| {
            let (amount, author) = now(key, author)?;
            limits.insert(key.to_owned(), amount);
            limits.insert("budget_mode".to_owned(), json!("enforce"));
            author
        };
        let money = state("budget_usd", self.written.money.clone());
        let tokens = state("budget_tokens", self.written.tokens.clone());
        Budgeted { limits, written: Written { money, tokens } }
    }
}

fn amount(spending: Spending) -> (&'static str, Value) {
    match spending {
        Spending::Dollars(usd) => ("budget_usd", json!(usd)),
        Spending::Tokens(count) => ("budget_tokens", json!(count)),
    }
}

impl GoalBounds {
    /// Those that were stated, as keys of the step.
    pub fn keys(&self) -> Map<String, Value> {
        let bounds = [
            ("max_depth", self.max_depth),
            ("max_children", self.max_children),
            ("max_tasks", self.max_tasks),
            ("max_subagents", self.max_subagents),
            ("max_rounds", self.max_rounds),
            ("max_recoveries", self.max_recoveries),
        ];
        bounds.into_iter().filter_map(|(key, bound)| Some((key.to_owned(), json!(bound?)))).collect()
    }

    /// A flag that was stated, if any was.
    pub fn stated(&self) -> Option<String> {
        let bound = self.keys().keys().next().map(|key| format!("--{}", key.replace('_', "-")));
        let timeout = self.timeout.map(|_| "--timeout".to_owned());
        self.budget.map(|_| FLAG.to_owned()).or(bound).or(timeout)
    }

    /// Flags are for goals of the command line; bounds in a file are changed there.
    pub fn require_none(&self, file: &str) -> Result<(), CommandFailure> {
        let Some(flag) = self.stated() else { return Ok(()) };
        let message = format!("{flag} is for runs of `convoke goal`; this one was started from `{file}`");
        Err(CommandFailure::new(Exit::Usage, message)
            .hint(format!("change `{file}` and resume with --accept-changes")))
    }
}

/// The workflow of a goal request as it goes on: with the bounds of now, and with the budget that is configured now where
/// changes are accepted. Everything else stays as it was when it started.
pub fn anew(
    console: &Console,
    before: &Plan,
    bounds: &GoalBounds,
    accept: bool,
) -> Result<Option<Current>, CommandFailure> {
    let Some(made) = before.sources.iter().find(|source| source.path == super::FILE) else { return Ok(None) };
    let configured = Some(&console.config.goal.limits).filter(|_| accept);
    let written = before.root().limits.budget.clone().unwrap_or_default().written;
    let mut names = Written::default();
    let text = restated(&made.text, &bounds.keys(), |limits| {
        let now = Budgeted { limits, written }.restated(bounds, configured);
        names = now.written;
        now.limits
    });
    let Some(text) = text.filter(|text| *text != made.text) else { return Ok(None) };
    let chosen = chosen_then(console, before);
    let mut compiled = compiling::compile_text(super::FILE, &text, &console.config, chosen);
    let found = std::mem::take(&mut compiled.diagnostics).into_iter();
    compiled.diagnostics = found.map(|one| super::about_providers(one, bounds.budget.is_some())).collect();
    let mut plan = compiling::accept(console, Path::new(super::FILE), compiled, false)?;
    name_budget(&mut plan, names);
    Ok(Some(Current::Changed(Box::new(plan), difference(&made.text, &text))))
}

/// The provider that `-p` chose when the run was started.
fn chosen_then<'p>(console: &Console, before: &'p Plan) -> Option<&'p str> {
    let provider = before.root().nodes.iter().find_map(|node| match &node.kind {
        Kind::Agent(agent) => Some(agent.settings.provider.name.as_str()),
        _ => None,
    });
    let configured = compiling::default_provider(&console.config);
    provider.filter(|name| configured.as_deref() != Some(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(budget: Option<Spending>) -> GoalBounds {
        GoalBounds { budget, ..GoalBounds::default() }
    }

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn each_amount_goes_by_the_name_under_which_it_was_written() {
        let configured = map(json!({"budget_usd": 2.0, "budget_tokens": 9}));
        let made = Budgeted::at_start(&bounds(Some(Spending::Tokens(5))), &configured);
        assert_eq!(
            made.limits,
            map(json!({"budget_usd": 2.0, "budget_tokens": 5, "budget_mode": "enforce"}))
        );
        assert_eq!(made.written.money.as_deref(), Some("goal.budget_usd"));
        assert_eq!(made.written.tokens.as_deref(), Some("--budget"));
    }

    #[test]
    fn a_flag_takes_the_place_of_the_flag_before() {
        let none = Map::new();
        let before = || Budgeted::at_start(&bounds(Some(Spending::Tokens(5))), &none);
        let now = before().restated(&bounds(Some(Spending::Dollars(1.5))), None);
        assert_eq!(now.limits, map(json!({"budget_usd": 1.5, "budget_mode": "enforce"})));
        let raised = map(json!({"budget_tokens": 90}));
        let now = before().restated(&bounds(None), Some(&raised));
        assert_eq!(now.limits["budget_tokens"], json!(5), "the flag stands over the configuration");
    }

    #[test]
    fn nothing_is_limited_that_nobody_limited() {
        assert!(Budgeted::at_start(&bounds(None), &Map::new()).limits.is_empty());
    }
}
