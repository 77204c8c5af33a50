//! What an attempt may do and use, resolved to one value before it starts. Which children of composites are bounded so is
//! theirs to say ([`crate::Composite::contract`]).
//!
//! Everything comes from where it is enforced: budgets from `budget_scopes`, time from the task's own deadline, tools and models
//! from the call that goes out with the contract. The executor reads nothing else about rights.

use crate::state::{Alarm, State, TaskIx};
use convoke_model::{AgentCall, AgentSettings, Allowance, Contract, MAX_TOKENS, Work};
use convoke_plan::Span;
use std::path::{Path, PathBuf};

impl State {
    /// The contract of a task's next attempt, where it is a child whose composite bounds it.
    pub(crate) fn contract_of(&self, task: TaskIx, work: &Work) -> Option<Contract> {
        self.composite_above(task)?.contract(self, task, work)
    }

    /// What follows from the task and its work.
    pub(crate) fn bounds_of(&self, task: TaskIx, work: &Work) -> Contract {
        let budgets: Vec<Allowance> = self.budget_scopes(task).into_iter().map(Allowance::from).collect();
        let mut cheaper: Vec<String> = Vec::new();
        for model in budgets.iter().filter_map(Allowance::cheaper_model) {
            push_new(&mut cheaper, model);
        }
        let of_work = match work {
            Work::Agent(call) => self.of_call(call),
            Work::Script(call) => {
                Contract { working_dir: self.placed(call.working_dir.as_deref()), ..without_tools() }
            }
            _ => without_tools(),
        };
        Contract { timeout_ms: self.bound_of(task, work), budgets, cheaper_models: cheaper, ..of_work }
    }

    fn of_call(&self, call: &AgentCall) -> Contract {
        let settings = &call.settings;
        let others = settings.fallback.as_ref().map(|fallback| fallback.models.clone());
        let (allowed_tools, tools_settled) = tools_of(settings);
        Contract {
            provider: Some(settings.provider.name.clone()),
            model: call.model.clone(),
            other_models: others.unwrap_or_default(),
            helper_models: helpers(call),
            servers: settings.servers.keys().map(ToString::to_string).collect(),
            allowed_tools,
            tools_settled,
            approvals: Box::new(settings.approvals.clone()),
            secrets: settings.secrets.clone(),
            working_dir: self.placed(call.working_dir.as_deref()),
            max_tokens: Some(settings.max_tokens.unwrap_or(MAX_TOKENS)),
            max_iterations: Some(settings.capabilities.max_iterations),
            ..Contract::default()
        }
    }

    /// A folder from the root: a run works where it was started, also when it is resumed from elsewhere.
    fn placed(&self, stated: Option<&str>) -> Option<String> {
        let folder = Path::new(&self.folder).join(stated.unwrap_or_default());
        let plain: PathBuf = folder.components().collect();
        Some(plain.display().to_string()).filter(|folder| !folder.is_empty())
    }

    /// The longest time that an attempt can take: what its task has left, or the bound of its conversation if that is shorter.
    fn bound_of(&self, task: TaskIx, work: &Work) -> Option<u64> {
        let session = match work {
            Work::Agent(call) => call.settings.session_timeout.map(|limit| limit.as_millis() as u64),
            _ => None,
        };
        self.time_left(task).into_iter().chain(session).min()
    }

    /// Until the deadline that is set for a task; all its time where it has not begun.
    fn time_left(&self, task: TaskIx) -> Option<u64> {
        let Some(Span::Millis(limit)) = self.node(task).timeout else { return None };
        let begun = self.tasks[task].started.is_some();
        let deadline = begun.then(|| self.timers.armed(Alarm::Deadline(task))).flatten();
        Some(deadline.map_or(limit, |deadline| deadline.since(self.now).as_millis() as u64))
    }
}

/// The tools of an agent, and whether there is nothing left to settle. Those that a program has itself cannot be listed.
fn tools_of(settings: &AgentSettings) -> (Option<Vec<String>>, bool) {
    let is_none = settings.tools.as_deref().is_some_and(<[String]>::is_empty);
    let has_its_own = settings.provider.program.is_some();
    match !has_its_own && (settings.servers.is_empty() || settings.show_tools || is_none) {
        true => (Some(Vec::new()), true),
        false => (settings.tools.clone(), false),
    }
}

fn without_tools() -> Contract {
    Contract { allowed_tools: Some(Vec::new()), tools_settled: true, ..Contract::default() }
}

/// Models that are asked about an answer and are not the agent's own.
fn helpers(call: &AgentCall) -> Vec<String> {
    let settings = &call.settings;
    let grader = settings.validator.as_ref().and_then(|validator| validator.model.as_deref());
    let verifier = settings.success_criteria.as_ref().and_then(|criteria| criteria.model.as_deref());
    let mut helpers = Vec::new();
    for model in [grader, verifier, settings.repair_model.as_deref()].into_iter().flatten() {
        if model != call.model {
            push_new(&mut helpers, model);
        }
    }
    helpers
}

fn push_new(list: &mut Vec<String>, model: &str) {
    if !list.iter().any(|known| known == model) {
        list.push(model.to_owned());
    }
}
