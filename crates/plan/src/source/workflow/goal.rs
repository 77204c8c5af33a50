//! `type: goal`: a step that starts from a sentence.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::text::{Spanned, Text};
use super::{AgentStep, ErrorClass};
use crate::plan::Action;
use convoke_model::Role;

/// `type: goal`.
#[derive(Debug, Clone)]
pub struct GoalStep {
    /// `goal`: what is to be reached (template); `None` when it is missing (which is reported).
    pub goal: Option<Text>,
    /// `context`: further information for the planner (template).
    pub context: Option<Text>,
    /// Who does what: the step's own keys with those of `roles` over them; every role has one.
    pub roles: BTreeMap<Role, AgentStep>,
    /// `max_depth` (default 4).
    pub max_depth: Option<Spanned<u64>>,
    /// `max_children` (default 4).
    pub max_children: Option<Spanned<u64>>,
    /// `max_tasks` (default 100).
    pub max_tasks: Option<Spanned<u64>>,
    /// `max_rounds` (default 3).
    pub max_rounds: Option<Spanned<u64>>,
    /// `max_subagents` (default as many as there are tasks).
    pub max_subagents: Option<Spanned<u64>>,
    /// `max_recoveries` (default 3).
    pub max_recoveries: Option<Spanned<u64>>,
    /// `skip_threshold` (default 70).
    pub skip_threshold: Option<Spanned<u64>>,
    /// `spawn`.
    pub spawn: SpawnSettings,
    /// `policies`, by class.
    pub policies: BTreeMap<ErrorClass, Vec<Spanned<Action>>>,
    /// `policies.any`: for the classes that have no line of their own.
    pub other_policy: Option<Vec<Spanned<Action>>>,
    /// `backoff` (default 1 s).
    pub backoff: Option<Spanned<Duration>>,
    /// `approve` (default false).
    pub approve: bool,
    /// `plan_only` (default false).
    pub plan_only: bool,
    /// `results` (default false).
    pub results: bool,
    /// `plan`: as text (template), or the mapping as JSON.
    pub plan: Option<Text>,
}

impl GoalStep {
    /// `max_tasks`, or what holds where nothing is said.
    pub fn most_tasks(&self) -> u64 {
        self.max_tasks.as_ref().map_or(100, |most| most.value)
    }

    /// `skip_threshold`, or what holds where nothing is said.
    pub fn skips_from(&self) -> u64 {
        self.skip_threshold.as_ref().map_or(70, |percent| percent.value)
    }
}

/// `spawn` of a goal.
#[derive(Debug, Clone, Default)]
pub struct SpawnSettings {
    /// `tokens` (default 20 000).
    pub tokens: Option<Spanned<u64>>,
    /// `seconds` (default 600).
    pub seconds: Option<Spanned<u64>>,
    /// `tools` (default 5).
    pub tools: Option<Spanned<u64>>,
}
