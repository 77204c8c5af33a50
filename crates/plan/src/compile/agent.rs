//! Agents: settings that come from the step, the workflow and the defaults of the language.

use super::build::Builder;
use super::{own, servers};
use crate::plan::{Agent, Kind, Plan, Text};
use crate::source::Spanned;
use crate::source::capability::capabilities;
use crate::source::declared;
use crate::source::settings::{Runtime, Timeouts};
use crate::source::workflow::{AgentStep, Names, OutputMode, Retry, SuccessCriteria, Validator};
use convoke_model::clearance::common;
use convoke_model::{
    AgentSettings, Approvals, Class, Fallback, PhaseTimeouts, Retry as ModelRetry,
    SuccessCriteria as ModelCriteria, Validator as ModelValidator,
};
use std::sync::Arc;
use std::time::Duration;

/// How often an answer that cannot be read is sent back, where nothing is said.
const PARSE_RECOVERY: u32 = 2;

impl Builder<'_> {
    /// The plan's form of an agent.
    pub(super) fn agent(&mut self, step: &AgentStep, retry: Option<&Retry>) -> Agent {
        let runtime = &self.source.runtime;
        let default_model = self.default_model().map(literal);
        let default_effort = runtime.default_reasoning_effort.as_ref().map(|effort| literal(&effort.value));
        let working_dir = step.working_dir.as_ref().or(runtime.working_dir.as_ref());
        Agent {
            settings: Arc::new(self.agent_settings(step, retry)),
            model: first_model(step).or(self.texts.optional(step.model.as_ref())).or(default_model),
            system: self.texts.optional(step.system_prompt.as_ref()),
            prompt: self.texts.optional(step.prompt.as_ref()).unwrap_or_else(|| literal("")),
            reasoning_effort: self.texts.optional(step.reasoning_effort.as_ref()).or(default_effort),
            working_dir: self.texts.optional(working_dir),
            dependency_outputs: step.dependency_outputs.as_ref().map(|tokens| tokens.value),
            skills: self.skills.join(self.source, step.skills.as_ref().unwrap_or(&runtime.skills)),
        }
    }

    /// The model of agents that name none, or the first of their chain.
    fn default_model(&self) -> Option<&str> {
        self.runtimes().find_map(first_of).map(|model| model.value.as_str())
    }

    /// The chain of an agent: its own, else the one of the runtime that also gives the model.
    fn chain<'s>(&'s self, step: &'s AgentStep) -> Option<&'s Names> {
        if step.models.is_some() || step.model.is_some() {
            return step.models.as_ref();
        }
        let says = |runtime: &&Runtime| runtime.models.is_some() || runtime.default_model.is_some();
        self.runtimes().find(says)?.models.as_ref()
    }

    /// The workflow's runtime, then the root's where the workflow uses the root's provider.
    fn runtimes(&self) -> impl Iterator<Item = &Runtime> {
        let (own, root) = (&self.source.runtime, &self.bundle.workflows[0].runtime);
        std::iter::once(own).chain(own.provider.is_none().then_some(root))
    }

    fn agent_settings(&self, step: &AgentStep, retry: Option<&Retry>) -> AgentSettings {
        let runtime = &self.source.runtime;
        let tools = self.tools(step);
        let recovery = retry.and_then(|retry| retry.max_parse_recovery_attempts.as_ref());
        AgentSettings {
            // The window of a model follows once its name is settled (`windows`).
            capabilities: capabilities(runtime, step),
            provider: self.providers.agent(step.provider.as_ref()),
            schema: step.output.as_ref().map(declared::schema).filter(|schema| !schema.is_empty()),
            raw: step.output_mode.as_ref().is_some_and(|mode| mode.value == OutputMode::Raw),
            temperature: step.temperature.as_ref().or(runtime.temperature.as_ref()).map(|value| value.value),
            max_tokens: step.max_tokens.as_ref().or(runtime.max_tokens.as_ref()).map(|value| value.value),
            request_timeout: runtime.request_timeout(),
            phase_timeouts: phase_timeouts(&step.timeouts, &runtime.timeouts),
            session_timeout: step
                .max_session
                .as_ref()
                .or(runtime.max_session.as_ref())
                .map(|value| value.value),
            parse_recovery: recovery.map_or(PARSE_RECOVERY, |value| value.value),
            validator: step.validator.as_ref().map(validator),
            servers: if uses_none(step) {
                Arc::default()
            } else {
                let servers = self.servers_for(tools.as_deref());
                own::with_own(servers, tools.as_deref(), self.policies(step.policy.as_ref()))
            },
            tools,
            approvals: self.approvals(step),
            secrets: step.secrets.iter().flat_map(words).map(str::to_owned).collect(),
            show_tools: false,
            success_criteria: step.success_criteria.as_ref().map(criteria),
            repair_model: self.repair_model(step),
            fallback: fallback(self.chain(step), retry),
            // Follows from the provider once the plan is built (`prices`).
            pricing: Arc::default(),
        }
    }

    fn repair_model(&self, step: &AgentStep) -> Option<String> {
        let inherited = self.runtimes().find_map(|runtime| runtime.repair_model.as_ref());
        step.repair_model.as_ref().or(inherited).map(|model| model.value.clone())
    }

    /// Of what the agent and the configuration say, the strictest.
    fn approvals(&self, step: &AgentStep) -> Approvals {
        Approvals::holding(step.approve.iter().chain(self.approvals))
    }

    /// What the agent's own list and the workflow's have in common. In one file `check` sees to it that the first is within the
    /// second; where servers are the root's, so is the second.
    pub(super) fn tools(&self, step: &AgentStep) -> Option<Vec<String>> {
        let (own, usual) =
            (step.tools.as_ref().map(words), servers::tools(self.bundle, self.source).map(words));
        match (own, usual) {
            (Some(own), Some(usual)) => {
                Some(common(&own, &usual).into_iter().map(|(_, entry)| entry).collect())
            }
            (own, usual) => Some(own.or(usual)?.into_iter().map(str::to_owned).collect()),
        }
    }
}

/// What is configured now about approvals holds too, where that is stricter than what the plan says.
pub(super) fn ask_about_more(plan: &mut Plan, stated: &Approvals) {
    for node in plan.workflows.iter_mut().flat_map(|workflow| &mut workflow.nodes) {
        if let Kind::Agent(agent) = &mut node.kind {
            let settings = Arc::make_mut(&mut agent.settings);
            settings.approvals = std::mem::take(&mut settings.approvals).strictest(stated);
        }
    }
}

/// The agent's own over the workflow's, one by one.
fn phase_timeouts(own: &Timeouts, workflow: &Timeouts) -> PhaseTimeouts {
    let either = |own: &Option<Spanned<Duration>>, other: &Option<Spanned<Duration>>| {
        own.as_ref().or(other.as_ref()).map(|limit| limit.value)
    };
    PhaseTimeouts {
        connect: either(&own.connect, &workflow.connect),
        first_token: either(&own.first_token, &workflow.first_token),
        idle: either(&own.idle, &workflow.idle),
    }
}

fn words(names: &Names) -> Vec<&str> {
    names.iter().map(|name| name.value.as_str()).collect()
}

/// An agent that may use no tool has no servers either: none is started for it.
fn uses_none(step: &AgentStep) -> bool {
    step.tools.as_ref().is_some_and(Vec::is_empty)
}

fn criteria(source: &SuccessCriteria) -> ModelCriteria {
    ModelCriteria {
        criteria: source.criteria.value.clone(),
        model: source.model.as_ref().map(|model| model.value.clone()),
        max_retries: source.max_retries,
    }
}

/// The model of agents that name none.
fn first_of(runtime: &Runtime) -> Option<&Spanned<String>> {
    let chain = runtime.models.as_ref().and_then(|models| models.first());
    chain.or(runtime.default_model.as_ref())
}

fn first_model(step: &AgentStep) -> Option<Text> {
    step.models.as_ref()?.first().map(|model| literal(&model.value))
}

fn fallback(chain: Option<&Names>, retry: Option<&Retry>) -> Option<Fallback> {
    let models: Vec<_> = chain?.iter().skip(1).map(|model| model.value.clone()).collect();
    let attempts = match retry {
        None => ModelRetry::agent_default().max_attempts,
        Some(retry) if retry.retry_on.contains(&Class::Transient) => retry.max_attempts,
        Some(_) => 1,
    };
    (!models.is_empty()).then_some(Fallback { models, attempts })
}

fn validator(source: &Validator) -> ModelValidator {
    ModelValidator {
        criteria: source.criteria.value.clone(),
        model: source.model.as_ref().map(|model| model.value.clone()),
        max_retries: source.max_retries,
    }
}

fn literal(text: &str) -> Text {
    Text::Literal(text.into())
}
