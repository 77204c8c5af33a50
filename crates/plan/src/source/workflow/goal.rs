//! `type: goal`: a step that starts from a goal in words.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::keys::goal::{GIVEN_PLAN, GIVEN_TASK, POLICIES, ROLES};
use super::super::read;
use super::super::section::section;
use super::super::text::{Spanned, Text};
use super::ensure::Ensure;
use super::{AgentStep, ErrorClass, Names};
use crate::plan::Action;
use convoke_model::Role;

section! {
    /// `type: goal`.
    #[derive(Debug, Clone)]
    pub struct GoalStep of steps {
        /// what is to be reached
        #[by(read::work::non_blank)]
        #[on(GOAL)]
        #[required_on(GOAL)]
        pub goal: Option<Text>,
        /// further information for the planner
        #[on(GOAL)]
        pub context: Option<Text>,
        /// models and words of the single roles, over those of the step
        #[by(read::goal::roles)]
        #[on(GOAL)]
        pub roles: BTreeMap<Role, AgentStep> => Object(&ROLES),
        /// What the work of a role must prove.
        #[by(read::goal::proofs)]
        pub proofs as "roles": BTreeMap<Role, RoleProof>,
        /// tasks that one task may be split into (default 4)
        #[on(GOAL)]
        pub max_children: Option<Spanned<u64>> => Integer(1, 100),
        /// tasks of the goal in all, however deep (default 100)
        #[on(GOAL)]
        pub max_tasks: Option<Spanned<u64>> => Integer(1, 10_000),
        /// how often the goal may be planned (default 3)
        #[on(GOAL)]
        pub max_rounds: Option<Spanned<u64>> => Integer(1, 100),
        /// tasks that may be handed to a sub-agent, which splits them; further ones are done directly (default no bound)
        #[on(GOAL)]
        pub max_subagents: Option<Spanned<u64>> => Integer(0, 10_000),
        /// how often one task may be recovered (default 3)
        #[on(GOAL)]
        pub max_recoveries: Option<Spanned<u64>> => Integer(0, 100),
        /// percent from which on a task that is thought impossible is skipped (default 70)
        #[on(GOAL)]
        pub skip_threshold: Option<Spanned<u64>> => Integer(1, 100),
        /// from here on a task is handed to children without asking
        #[on(GOAL)]
        pub spawn: SpawnSettings = SpawnSettings::default(),
        /// what follows from a failed task, by its class, first to last
        #[by(read::goal::policies)]
        #[on(GOAL)]
        pub policies: Policies => Object(&POLICIES),
        /// pause before a task is retried; it doubles each time (default 1s)
        #[on(GOAL)]
        pub backoff: Option<Spanned<Duration>>,
        /// Whether a person must approve the plan before anything is done.
        #[by(read::approve::of_plan)]
        pub approve: bool,
        /// whether the plan itself is the answer
        #[on(GOAL)]
        pub plan_only: bool = false,
        /// whether the output has the result of each task
        #[on(GOAL)]
        pub results: bool = false,
        /// the plan, where it is known already: no model is asked for one
        #[by(read::goal::plan_below)]
        #[on(GOAL)]
        pub plan: Option<Text> => OneOf(&[Template, Object(&GIVEN_PLAN), List(&Object(&GIVEN_TASK))]),
        /// Bound of nesting (default 4).
        pub max_depth: Option<Spanned<u64>>,
    } judge read::goal::judge_goal
}

/// What the work of a role must prove.
#[derive(Debug, Clone, Default)]
pub struct RoleProof {
    /// `ensure`.
    pub ensure: Option<Ensure>,
    /// `protect`.
    pub protect: Names,
}

/// `policies` of a goal.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    /// By class.
    pub by_class: BTreeMap<ErrorClass, Vec<Spanned<Action>>>,
    /// For the classes that have no line of their own.
    pub other: Option<Vec<Spanned<Action>>>,
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

section! {
    /// `spawn` of a goal.
    #[derive(Debug, Clone, Default)]
    pub struct SpawnSettings = "spawn", "`spawn`" {
        /// tokens that a task is thought to take (default 20000)
        pub tokens: Option<Spanned<u64>> => Integer(1, 1_000_000_000),
        /// seconds that a task is thought to take (default 600)
        pub seconds: Option<Spanned<u64>> => Integer(1, 31_536_000),
        /// tools that a task needs (default 5)
        pub tools: Option<Spanned<u64>> => Integer(1, 1000),
    }
}
