//! Agents: settings that come from the step, the workflow and the defaults of the language.

use super::build::Builder;
use super::fields;
use crate::plan::{Agent, Text};
use crate::source::workflow::{AgentStep, OutputMode, Retry, Validator};
use convoke_model::{
    AgentSettings, Capabilities, Class, Fallback, Retry as ModelRetry, Validator as ModelValidator,
};
use std::sync::Arc;
use std::time::Duration;

/// For one request to a service, where nothing is said.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
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
            skills: self.skills.join(self.source, step.skills.as_ref().unwrap_or(&runtime.skills)),
        }
    }

    /// The workflow's, else the root's where the workflow uses the root's provider.
    fn default_model(&self) -> Option<&str> {
        let (own, root) = (&self.source.runtime, &self.bundle.workflows[0].runtime);
        let inherited = root.default_model.as_ref().filter(|_| own.provider.is_none());
        own.default_model.as_ref().or(inherited).map(|model| model.value.as_str())
    }

    fn agent_settings(&self, step: &AgentStep, retry: Option<&Retry>) -> AgentSettings {
        let runtime = &self.source.runtime;
        let iterations = step.max_agent_iterations.as_ref().or(runtime.max_agent_iterations.as_ref());
        let recovery = retry.and_then(|retry| retry.max_parse_recovery_attempts.as_ref());
        AgentSettings {
            provider: self.providers.agent(step.provider.as_ref().map(|name| name.value.as_str())),
            schema: step.output.as_ref().map(fields::schema).filter(|schema| !schema.is_empty()),
            raw: step.output_mode.as_ref().is_some_and(|mode| mode.value == OutputMode::Raw),
            temperature: runtime.temperature.as_ref().map(|value| value.value),
            max_tokens: runtime.max_tokens.as_ref().map(|value| value.value),
            request_timeout: runtime.timeout.as_ref().map_or(REQUEST_TIMEOUT, |value| value.value),
            session_timeout: step
                .max_session
                .as_ref()
                .or(runtime.max_session.as_ref())
                .map(|value| value.value),
            parse_recovery: recovery.map_or(PARSE_RECOVERY, |value| value.value),
            validator: step.validator.as_ref().map(validator),
            tools: self.tools(step),
            servers: Arc::default(),
            capabilities: Capabilities {
                max_iterations: iterations
                    .map_or(Capabilities::default().max_iterations, |value| value.value as u32),
                ..Capabilities::default()
            },
            success_criteria: None,
            repair_model: None,
            fallback: fallback(step, retry),
            pricing: self.pricing.clone(),
        }
    }

    /// The agent's own list, else the workflow's.
    fn tools(&self, step: &AgentStep) -> Option<Vec<String>> {
        let names = step.tools.as_ref().or(self.source.tools.as_ref())?;
        Some(names.iter().map(|name| name.value.clone()).collect())
    }
}

fn first_model(step: &AgentStep) -> Option<Text> {
    step.models.as_ref()?.first().map(|model| literal(&model.value))
}

fn fallback(step: &AgentStep, retry: Option<&Retry>) -> Option<Fallback> {
    let models: Vec<_> = step.models.as_ref()?.iter().skip(1).map(|model| model.value.clone()).collect();
    let attempts = match retry {
        None => ModelRetry::agent_default().max_attempts,
        Some(retry) if retry.retry_on.contains(&Class::Transient) => retry.max_attempts.value,
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
