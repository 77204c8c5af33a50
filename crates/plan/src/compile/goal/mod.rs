//! Goals: the nodes of their roles stand beside them, under names that no template can use.
//!
//! A step has one block for all models that it asks, and `roles` over it. What each of them answers is a contract
//! (`contracts`), what they are asked is a template (`prompts`), and what follows from failures a table (`policies`).

mod contracts;
mod policies;
mod prompts;
mod schema;

pub use schema::goal_schema;

use super::build::Builder;
use super::workspace;
use crate::plan::*;
use crate::source::Spanned;
use crate::source::workflow as source;
use convoke_model::{AgentSettings, Capabilities, Classes, Retry, Role, named_in_full, own_tool};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The pause before the first retry of a task, where nothing is said.
const BACKOFF_MS: u64 = 1_000;

impl Builder<'_> {
    pub(super) fn goal(&mut self, step: &source::Step, goal: &source::GoalStep) -> Goal {
        let tools = self.goal_tools(goal);
        let policies = policies::table(goal);
        let roles: BTreeMap<Role, NodeIx> = goal
            .roles
            .iter()
            .map(|(role, asked)| (*role, self.role((step, goal), *role, asked, &tools)))
            .collect();
        for role in Role::ALL.into_iter().filter(|role| role.works()) {
            self.set_retry(roles[&role], execute_retry(step, goal, &policies));
        }
        Goal {
            goal: self.or_empty(goal.goal.as_ref()),
            context: self.texts.optional(goal.context.as_ref()),
            roles,
            item: self.item_node(step),
            tools,
            bounds: bounds(goal),
            spawn: SpawnRule {
                tokens: stated(&goal.spawn.tokens, 20_000),
                seconds: stated(&goal.spawn.seconds, 600),
                tools: stated(&goal.spawn.tools, 5) as u32,
            },
            skip_threshold: goal.skips_from() as u8,
            policies,
            approve: goal.approve && !goal.plan_only,
            plan_only: goal.plan_only,
            results: goal.results,
            plan: self.texts.optional(goal.plan.as_ref()),
        }
    }

    /// The tools that may be used, by name; with a `*` where only the server knows them.
    fn goal_tools(&self, goal: &source::GoalStep) -> Vec<String> {
        let named = goal.roles.get(&Role::Execute).and_then(|agent| self.tools(agent));
        if self.servers.is_empty() {
            // Only tools of our own need no server.
            let own = named.map(|named| named_in_full(&named)).unwrap_or_default();
            return own.iter().map(|tool| own_tool(tool)).collect();
        }
        if let Some(named) = named {
            return named;
        }
        let of_server = |(name, server): (&String, &convoke_model::Server)| match &server.tools {
            None => vec![format!("{name}__*")],
            Some(tools) => tools.iter().map(|tool| format!("{name}__{tool}")).collect(),
        };
        self.servers.iter().flat_map(of_server).collect()
    }

    /// The node of a role. Workers of tasks have the tools; planners know them by name.
    fn role(
        &mut self,
        (step, goal): (&source::Step, &source::GoalStep),
        role: Role,
        asked: &source::AgentStep,
        tools: &[String],
    ) -> NodeIx {
        let knows = !tools.is_empty() && knows_tools(role);
        let none = Some(Vec::new());
        let asked = source::AgentStep {
            tools: if knows { asked.tools.clone() } else { none },
            skills: if role.works() { asked.skills.clone() } else { Some(Vec::new()) },
            ..asked.clone()
        };
        let policy = asked.policy.clone();
        let mut agent = self.agent(&asked, step.common.retry.as_ref());
        agent.settings = Arc::new(AgentSettings {
            schema: Some(contracts::of(role)),
            raw: false,
            show_tools: knows && !role.works(),
            capabilities: capabilities(role, &agent.settings.capabilities),
            ..(*agent.settings).clone()
        });
        agent.system = agent.system.or_else(|| Some(Text::Literal(prompts::role(role).into())));
        if asked.prompt.is_none() {
            agent.prompt = self.texts.own(&prompts::prompt(role));
        }
        let name = self.free_name(format!("${}.{}", step.name.value, role.word()));
        let asked = self.asked_node(&name, agent, step);
        // Work is done in a workspace; what is planned and judged is not.
        let workspace =
            role.works().then(|| workspace::of(&step.common, self.resolver(&step.common))).flatten();
        let proof = goal.proofs.get(&role).filter(|_| role.works());
        let proof =
            proof.and_then(|stated| self.proof(stated.ensure.as_ref(), &stated.protect, policy.as_ref()));
        let mut node = Node { workspace, proof, ..asked };
        super::proof::keep_off(&mut node.kind, node.proof.as_deref());
        self.add(node)
    }

    fn item_node(&mut self, step: &source::Step) -> NodeIx {
        let name = self.free_name(format!("${}.task", step.name.value));
        // Which node the goal is, is known when all of them stand in their places: see `join_items`.
        let kind = Kind::Item(GoalItem { goal: NodeIx(u32::MAX) });
        let own = self.own_node(&name, kind, &step.common.span);
        let labels = super::node::labels(&step.common.labels);
        self.add(Node { labels, on_unknown: OnUnknown::Retry, ..own })
    }
}

/// Tells the tasks of each goal which node it is.
pub(super) fn join_items(nodes: &mut [Node]) {
    let goals: Vec<(usize, NodeIx)> = nodes
        .iter()
        .enumerate()
        .filter_map(|(ix, node)| match &node.kind {
            Kind::Goal(goal) => Some((ix, goal.item)),
            _ => None,
        })
        .collect();
    for (ix, item) in goals {
        nodes[item.0 as usize].kind = Kind::Item(GoalItem { goal: NodeIx(ix as u32) });
    }
}

/// The role `rescue` has half of the rounds.
fn capabilities(role: Role, all: &Capabilities) -> Capabilities {
    let half = (all.max_iterations / 2).max(1);
    let max_iterations = if role == Role::Rescue { half } else { all.max_iterations };
    Capabilities { max_iterations, ..all.clone() }
}

fn knows_tools(role: Role) -> bool {
    !matches!(role, Role::Reconcile | Role::Finalise | Role::Collect)
}

fn bounds(goal: &source::GoalStep) -> Bounds {
    Bounds {
        max_depth: stated(&goal.max_depth, 4) as u32,
        max_children: stated(&goal.max_children, 4) as u32,
        max_tasks: goal.most_tasks() as u32,
        max_subagents: stated(&goal.max_subagents, u64::from(u32::MAX)) as u32,
        max_rounds: stated(&goal.max_rounds, 3) as u32,
        max_recoveries: stated(&goal.max_recoveries, 3) as u32,
    }
}

fn stated(value: &Option<Spanned<u64>>, default: u64) -> u64 {
    value.as_ref().map_or(default, |value| value.value)
}

/// How a task's own failures are tried again: the classes whose line says so, with a pause that doubles each time.
fn execute_retry(
    step: &source::Step,
    goal: &source::GoalStep,
    policies: &BTreeMap<convoke_model::Class, Vec<Action>>,
) -> Retry {
    let stated = step.common.retry.as_ref();
    let classes: Vec<_> = policies
        .iter()
        .filter(|(_, actions)| actions.contains(&Action::Retry))
        .map(|(class, _)| *class)
        .collect();
    if classes.is_empty() {
        return Retry::once();
    }
    let pause = goal.backoff.as_ref().map(|pause| pause.value).or(stated.map(|retry| retry.delay));
    let base_ms = pause.map_or(BACKOFF_MS, |pause| pause.as_millis() as u64);
    let default = Retry::agent_default();
    let max_attempts = stated.map_or(default.max_attempts, |retry| retry.max_attempts);
    let max_rate_limited = stated.map_or(default.max_rate_limited, |retry| retry.max_attempts);
    let cap_ms = base_ms.saturating_mul(2u64.saturating_pow(max_attempts));
    Retry { max_attempts, max_rate_limited, base_ms, factor: 2, cap_ms, on: Classes::of(&classes) }
}
