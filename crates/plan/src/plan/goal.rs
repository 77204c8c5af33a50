//! Nodes that start from a goal in words: the goal, and the tasks that models make of it.
//!
//! A goal runs as a task with children, and so does each task below it. Everything that a model contributes on the way
//! (planning, doing, recovering, answering) is a child with a permit, an attempt and an end of its own. Which comes next
//! is the scheduler's business; which roles are asked and within which bounds stands here.

use super::{NodeIx, Text};
use convoke_model::{Class, GoalChoice, Role};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A goal in words becomes tasks, and their results an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Goal {
    /// What is to be reached.
    pub goal: Text,
    /// Further information for the planner.
    pub context: Option<Text>,
    /// The nodes of the roles.
    pub roles: BTreeMap<Role, NodeIx>,
    /// The node of the tasks that are made of it: [`Kind::Item`](super::Kind::Item).
    pub item: NodeIx,
    /// The tools that may be used, as far as their names are known; empty where there are none.
    pub tools: Vec<String>,
    /// How far it may go.
    pub bounds: Bounds,
    /// When a task is handed to children without asking a role.
    pub spawn: SpawnRule,
    /// From this probability on, in percent, a task that its planner thinks impossible is skipped.
    pub skip_threshold: u8,
    /// What follows from a failure, by its class, first to last; none is tried twice for a task.
    pub policies: BTreeMap<Class, Vec<Action>>,
    /// Whether a person must approve the plan before anything is done.
    pub approve: bool,
    /// Whether the plan itself is the answer.
    pub plan_only: bool,
    /// The output has the result of each task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub results: bool,
    /// The plan, where a person has written or approved it before.
    pub plan: Option<Text>,
}

impl Goal {
    /// What a name that a model gives to a tool stands for: entries for an agent's list of tools, none of which goes
    /// beyond what is allowed; empty if the tool may not be used.
    pub fn allowed(&self, tool: &str) -> Vec<String> {
        let tool = tool.trim();
        if self.tools.iter().any(|known| covers(known, tool)) {
            return vec![tool.to_owned()];
        }
        let short = tool.split_once("__").map(|(_, name)| name);
        let entry = |known: &String| match (short, known.strip_suffix("__*")) {
            // Said with a server, and the list has it without one.
            (Some(short), _) => covers(known, short).then(|| known.clone()),
            // Said without its server.
            (None, Some(server)) => Some(format!("{server}__{tool}")),
            (None, None) => known.split_once("__").filter(|(_, name)| *name == tool).map(|_| known.clone()),
        };
        self.tools.iter().filter(|_| !tool.is_empty()).filter_map(entry).collect()
    }

    /// The entries of its list that offer none of these tools.
    pub fn tools_besides(&self, used: &[String]) -> Vec<String> {
        self.tools.iter().filter(|known| !used.iter().any(|tool| covers(known, tool))).cloned().collect()
    }

    /// Whether there is any tool at all.
    pub fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }
}

/// What the templates of a role are rendered with, besides what every template of its step sees. Each of them is
/// always defined; what does not apply is none or empty.
///
/// `goal` and `context`: texts. `guidance`: what a person said meanwhile, a list of texts. `item`: the task, {id,
/// description, depth, inputs, tools}. `results`: what its inputs came to, [{id, description, summary, result}].
/// `children`: [{id, description, status, summary, result}], of results that were put together before one entry for
/// all of them. `failure`: {class, message, attempts, strategies}. `tools`:
/// names. `bounds`: {depth_left, children, tasks_left, rounds_left}. `note`: why it is asked, or what was wrong before.
/// `tasks`: all tasks of the goal, [{id, description, status, summary, reason}]. `actions`: the ways that are left to
/// recover a task. `skip_threshold`: in percent.
pub const VARIABLES: &[&str] = &[
    "goal",
    "context",
    "guidance",
    "item",
    "results",
    "children",
    "failure",
    "tools",
    "bounds",
    "note",
    "tasks",
    "actions",
    "skip_threshold",
];

/// How far the work on a goal may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// How deep tasks may stand: those of the plan have depth 0, their children 1.
    pub max_depth: u32,
    /// Children of one task.
    pub max_children: u32,
    /// Tasks in all, however deep.
    pub max_tasks: u32,
    /// Tasks that may be handed to a sub-agent, which splits them; further ones are done directly.
    #[serde(default = "unbounded", skip_serializing_if = "is_unbounded")]
    pub max_subagents: u32,
    /// How often it may be planned.
    pub max_rounds: u32,
    /// How often a task may be recovered, whatever the way.
    pub max_recoveries: u32,
}

fn unbounded() -> u32 {
    u32::MAX
}

fn is_unbounded(bound: &u32) -> bool {
    *bound == u32::MAX
}

/// From here on a task of the plan is too large to be done directly; each level of depth doubles it. What is below all of
/// these and asks for at most one tool is done directly; where it asks for more, the analyser is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnRule {
    /// Tokens.
    pub tokens: u64,
    /// Seconds.
    pub seconds: u64,
    /// Tools.
    pub tools: u32,
}

/// What can follow from the failure of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The same again, later: base x 2^(failures - 1).
    Retry,
    /// The same with other parameters, as the role `recover` says.
    RepairParameters,
    /// With another tool.
    AlternativeTool,
    /// By children.
    Decompose,
    /// By a task of its own that recovers, with fewer tools and no children.
    SpawnRecovery,
    /// A person decides.
    Escalate,
    /// It is left out, with the reason.
    Skip,
    /// It has failed.
    Fail,
}

impl Action {
    /// All of them.
    pub const ALL: [Action; 8] = [
        Action::Retry,
        Action::RepairParameters,
        Action::AlternativeTool,
        Action::Decompose,
        Action::SpawnRecovery,
        Action::Escalate,
        Action::Skip,
        Action::Fail,
    ];

    /// The word for people and files.
    pub fn word(self) -> &'static str {
        self.choice().word()
    }

    /// The decision that takes it.
    pub fn choice(self) -> GoalChoice {
        match self {
            Action::Retry => GoalChoice::Retry,
            Action::RepairParameters => GoalChoice::RepairParameters,
            Action::AlternativeTool => GoalChoice::AlternativeTool,
            Action::Decompose => GoalChoice::Decompose,
            Action::SpawnRecovery => GoalChoice::SpawnRecovery,
            Action::Escalate => GoalChoice::Escalate,
            Action::Skip => GoalChoice::Skip,
            Action::Fail => GoalChoice::Fail,
        }
    }

    /// What a decision does about a failure; `None` where it does something else.
    pub fn taken_by(choice: GoalChoice) -> Option<Action> {
        Action::ALL.into_iter().find(|action| action.choice() == choice)
    }
}

/// A task of a goal; the goal's own node says everything about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalItem {
    /// The goal.
    pub goal: NodeIx,
}

/// Whether an entry of the workflow's list stands for a tool: by name, or with a `*`.
pub(crate) fn covers(offer: &str, tool: &str) -> bool {
    match offer.split_once('*') {
        Some((before, after)) => {
            tool.len() + 1 >= offer.len() && tool.starts_with(before) && tool.ends_with(after)
        }
        None => offer == tool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(tools: &[&str]) -> Goal {
        Goal {
            goal: Text::Literal("g".into()),
            context: None,
            roles: BTreeMap::new(),
            item: NodeIx(0),
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            bounds: Bounds {
                max_depth: 1,
                max_children: 1,
                max_tasks: 1,
                max_subagents: 1,
                max_rounds: 1,
                max_recoveries: 1,
            },
            spawn: SpawnRule { tokens: 1, seconds: 1, tools: 1 },
            skip_threshold: 70,
            policies: BTreeMap::new(),
            approve: false,
            plan_only: false,
            results: false,
            plan: None,
        }
    }

    #[test]
    fn a_name_of_a_model_never_stands_for_more_than_the_list_allows() {
        let one = goal(&["git__log"]);
        assert_eq!(one.allowed("git__log"), ["git__log"]);
        assert_eq!(one.allowed(" log "), ["git__log"]);
        for other in ["fs__log", "git__push", "push", "git__*", "*", "", "lo"] {
            assert!(one.allowed(other).is_empty(), "{other:?}: {:?}", one.allowed(other));
        }
        let bare = goal(&["log"]);
        assert_eq!(bare.allowed("git__log"), ["log"]);
        assert!(bare.allowed("git__push").is_empty());
        let servers = goal(&["git__*", "fs__read_*"]);
        assert_eq!(servers.allowed("git__push"), ["git__push"]);
        assert_eq!(servers.allowed("push"), ["git__push"]);
        assert_eq!(servers.allowed("fs__read_file"), ["fs__read_file"]);
        assert!(servers.allowed("fs__write_file").is_empty());
        assert!(goal(&[]).allowed("log").is_empty() && !goal(&[]).has_tools());
    }
}
