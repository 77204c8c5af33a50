//! What a role gives, in the words of each front-end: keys and values, each with the keys that mean the same.

use super::super::read::service_and_model;
use super::OrganisationRole;
use serde_json::{Value, json};

/// A key that a role gives, its value, and the keys beside which it is not given.
pub(super) struct Given {
    pub key: &'static str,
    pub value: Value,
    pub unless: &'static [&'static str],
}

fn given(key: &'static str, unless: &'static [&'static str], value: Option<Value>) -> Option<Given> {
    value.map(|value| Given { key, value, unless })
}

const TASK: &[&str] = &["task", "task_template", "prompt"];
const MODEL: &[&str] = &["model", "model_id", "model_role", "models", "provider"];
const TIMEOUT: &[&str] = &["timeout", "timeout_seconds"];
const RETRIES: &[&str] = &["max_retries", "retry"];

impl OrganisationRole {
    fn timeout(&self) -> Option<Value> {
        self.timeout_seconds.map(|seconds| json!(format!("{seconds}s")))
    }

    /// Further attempts as a step says it.
    fn retry(&self) -> Option<Value> {
        self.max_retries.map(|retries| json!({"max_attempts": retries + 1, "backoff": "exponential"}))
    }

    fn budget(&self) -> Option<Value> {
        self.budget_usd.map(|usd| json!({"usd": usd}))
    }

    /// What it is called.
    pub(super) fn title(&self) -> Option<&String> {
        self.label.as_ref().or(self.names.first())
    }

    /// Its id.
    pub(super) fn called(&self) -> &str {
        self.names.first().map_or(&self.iri, String::as_str)
    }

    /// For an agent of a manifest.
    pub(super) fn for_agent(&self) -> Vec<Given> {
        let department = self.department.as_ref().map(|(_, name)| json!(name));
        let all = [
            given("department", &["department"], department),
            given("task", TASK, self.task.as_ref().map(|text| json!(text))),
            given("system_prompt", &["system_prompt"], self.system_prompt.as_ref().map(|text| json!(text))),
            given(
                "success_criteria",
                &["success_criteria"],
                self.success_criteria.as_ref().map(|text| json!(text)),
            ),
            given("model", MODEL, self.model.as_ref().map(|model| json!(model))),
            given("tools", &["tools"], Some(json!(self.tools))),
            given("timeout", TIMEOUT, self.timeout()),
            given("max_retries", RETRIES, self.max_retries.map(Value::from)),
            given("max_tokens", &["max_tokens"], self.max_tokens.map(Value::from)),
            given("budget", &["budget"], self.budget()),
        ];
        all.into_iter().flatten().collect()
    }

    /// For a step of a workflow, which names the service of its model apart.
    pub(super) fn for_step(&self) -> Vec<Given> {
        let (provider, model) = match self.model.as_deref().and_then(service_and_model) {
            Some((provider, model)) => (Some(provider), Some(model)),
            None => (None, self.model.as_deref()),
        };
        let all = [
            given("description", &["description"], self.title().map(|title| json!(title))),
            given("prompt", TASK, self.task.as_ref().map(|text| json!(text))),
            given("system_prompt", &["system_prompt"], self.system_prompt.as_ref().map(|text| json!(text))),
            given(
                "success_criteria",
                &["success_criteria"],
                self.success_criteria.as_ref().map(|text| json!(text)),
            ),
            given("provider", MODEL, provider.map(Value::from)),
            given("model", MODEL, model.map(Value::from)),
            given("tools", &["tools"], Some(json!(self.tools))),
            given("timeout", TIMEOUT, self.timeout()),
            given("retry", RETRIES, self.retry()),
            given("max_tokens", &["max_tokens"], self.max_tokens.map(Value::from)),
            given("budget", &["budget"], self.budget()),
        ];
        all.into_iter().flatten().collect()
    }

    /// For a persona, whose prompt says everything that it is told.
    pub(super) fn for_persona(&self) -> Vec<Given> {
        let criteria = self.success_criteria.as_ref().map(|text| format!("What your work must meet: {text}"));
        let parts = [self.system_prompt.clone(), self.task.clone(), criteria];
        let prompt: Vec<String> = parts.into_iter().flatten().collect();
        let prompt = (!prompt.is_empty()).then(|| json!(prompt.join("\n\n")));
        let all = [
            given("displayName", &["displayName"], self.title().map(|title| json!(title))),
            given("systemPromptTemplate", &["systemPromptTemplate"], prompt),
            given("modelConstraint", &["modelConstraint"], self.model.as_ref().map(|model| json!(model))),
            given("toolClearance", &["toolClearance"], Some(json!({"allowlist": self.tools}))),
        ];
        all.into_iter().flatten().collect()
    }

    /// For the phase of a persona.
    pub(super) fn for_phase(&self) -> Vec<Given> {
        let all = [
            given("timeout", TIMEOUT, self.timeout()),
            given("retry", RETRIES, self.retry()),
            given("budget", &["budget"], self.budget()),
        ];
        all.into_iter().flatten().collect()
    }
}
