//! One workflow of a plan: its nodes, where it starts, what it takes and gives, and its limits.

use super::{Labels, Node, NodeIx, Pipeline, Text};
use convoke_model::{Budget, FieldType, Price};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One workflow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Workflow {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for.
    pub description: Option<String>,
    /// Its author's version.
    pub version: Option<String>,
    /// The file it came from, as given or as its parent names it.
    pub file: String,
    /// The folder of that file.
    pub dir: String,
    /// What it takes; `None` when the file declares nothing, and anything is taken.
    pub inputs: Option<IndexMap<String, Input>>,
    /// What its nodes see.
    pub context: Context,
    /// Its limits.
    pub limits: Limits,
    /// What holds for all its nodes that say nothing else.
    #[serde(default)]
    pub labels: Labels,
    /// Where it starts.
    pub entry: Vec<NodeIx>,
    /// All nodes: steps, groups, members and bodies.
    pub nodes: Vec<Node>,
    /// What it gives; `None` when the file declares nothing.
    pub output: Option<Vec<(String, Text)>>,
    /// Put before every prompt.
    pub instructions: Option<Arc<str>>,
    /// The node that writes summaries of older outputs, where the context asks for them. Its prompt sees `_older`, a
    /// list of `{step, output}`.
    pub summary: Option<NodeIx>,
    /// What happens at start and end.
    pub hooks: Hooks,
    /// Free words of the author.
    pub metadata: IndexMap<String, serde_json::Value>,
    /// Prices per model.
    pub pricing: Arc<IndexMap<String, Price>>,
    /// How costs are shown.
    pub show_costs: ShowCosts,
    /// Whether it was made from a manifest: agents whose failure ends their own branch alone leave the run partial, and
    /// the output sees `_work`, what is known of all agents at the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub manifest: bool,
    /// What holds for it as a pipeline of personas, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
}

impl Workflow {
    /// A node by index.
    pub fn node(&self, ix: NodeIx) -> &Node {
        &self.nodes[ix.0 as usize]
    }

    /// All nodes with their index.
    pub fn indexed(&self) -> impl Iterator<Item = (NodeIx, &Node)> {
        self.nodes.iter().enumerate().map(|(ix, node)| (NodeIx(ix as u32), node))
    }

    /// How people know a node inside a group: a body that has the name of its fan-out goes by that name, although the
    /// plan, whose names are unique, tells the two apart.
    pub fn known_as(&self, ix: NodeIx, group: Option<NodeIx>) -> &Arc<str> {
        let name = &self.node(ix).name;
        let around = group.map(|group| &self.node(group).name);
        let doubled = |around: &&Arc<str>| {
            name.strip_prefix(&***around).and_then(|rest| rest.strip_prefix('.')) == Some(&***around)
        };
        around.filter(doubled).unwrap_or(name)
    }
}

/// One declared input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its type.
    pub ty: FieldType,
    /// Whether it must be given.
    pub required: bool,
    /// Its value when it is not given.
    pub default: Option<serde_json::Value>,
    /// What it is for.
    pub description: Option<String>,
    /// What it must be besides.
    #[serde(default, skip_serializing_if = "InputRule::is_none")]
    pub rule: InputRule,
    /// Whether it names files, which are read before the run: its value is then a list of their paths and texts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub files: bool,
}

/// What an input must be besides its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputRule {
    /// Nothing else.
    #[default]
    None,
    /// A text that says something: an agent is asked just this.
    Filled,
    /// A list with something in it, of which nothing stands twice: an agent is asked once for each.
    Parts,
}

impl InputRule {
    fn is_none(&self) -> bool {
        *self == InputRule::None
    }
}

/// What a node may see of what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextMode {
    /// Every ancestor.
    Accumulate,
    /// Its needs, or the step it came from.
    LastOnly,
    /// Only what its `input` names.
    Explicit,
}

/// How a context that is too large is made smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trim {
    /// The oldest outputs are left out.
    DropOldest,
    /// Long texts are cut.
    Truncate,
    /// A model writes a summary of the older outputs.
    Summarize,
}

/// What nodes see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// Which outputs.
    pub mode: ContextMode,
    /// How much of them.
    pub max_tokens: Option<u64>,
    /// What to do with more.
    pub trim: Trim,
}

/// The limits of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Where it is written: visits made by routes, members of parallel groups and items of for_each. Else: visits of
    /// one node.
    pub max_iterations: u32,
    /// Whether the author wrote that limit.
    pub iterations_stated: bool,
    /// Seconds for the whole workflow.
    pub timeout_ms: Option<u64>,
    /// What it may spend.
    #[serde(default)]
    pub budget: Option<Budget>,
    /// Whether a run that is certain to pass the budget is refused, whatever follows when it is spent. Runs in
    /// Conductor's language begin, and are ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub budget_refuses: bool,
    /// Tasks in all.
    pub max_tasks: u32,
    /// Attempts at once.
    pub max_concurrency: Option<u32>,
    /// Failures in a row that open the circuit breaker, over the configured number; 0 means that it never opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker_failures: Option<u32>,
}

/// What happens at start and end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Hooks {
    /// Before the first step.
    pub on_start: Option<Hook>,
    /// After success.
    pub on_complete: Option<Hook>,
    /// After failure.
    pub on_error: Option<Hook>,
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hook {
    /// A text that is rendered, recorded and shown.
    Text(Text),
    /// A node that runs: a step of the file, or a command made into one.
    Run(NodeIx),
}

/// How costs are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowCosts {
    /// One line per agent.
    pub per_agent: bool,
    /// A line at the end.
    pub summary: bool,
}
