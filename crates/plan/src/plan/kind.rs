//! What a node does.

use super::{Goal, GoalItem, NodeIx, Phase, Reduce, Span, Text, Verify, WorkflowIx};
use crate::template::TemplateId;
use crate::value::SetType;
use convoke_model::{AgentSettings, OutputSchema, Servers};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The kinds of node. Agents, scripts and tools run as attempts and take permits; the others do not.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A model is asked.
    Agent(Box<Agent>),
    /// A command runs.
    Script(Box<Script>),
    /// A tool of an MCP server is called.
    Tool(Box<Tool>),
    /// Values are computed.
    Set(Set),
    /// Time passes.
    Wait(Wait),
    /// A person chooses.
    Gate(Gate),
    /// A person answers questions.
    Questions(Box<Questions>),
    /// The workflow ends here.
    Terminate(Terminate),
    /// Another workflow runs.
    SubPlan(SubPlan),
    /// Members run side by side.
    Parallel(Parallel),
    /// One node runs once per item.
    ForEach(ForEach),
    /// Many outputs become one.
    Reduce(Box<Reduce>),
    /// An answer is examined, and corrected where it must be.
    Verify(Box<Verify>),
    /// A goal in words becomes tasks, and their results an answer.
    Goal(Box<Goal>),
    /// A task that a model made on the way to a goal.
    Item(GoalItem),
    /// A persona does its part of a pipeline.
    Phase(Box<Phase>),
}

impl Kind {
    /// The word for people and events.
    pub fn word(&self) -> &'static str {
        match self {
            Kind::Agent(_) => "agent",
            Kind::Script(_) => "script",
            Kind::Tool(_) => "tool",
            Kind::Set(_) => "set",
            Kind::Wait(_) => "wait",
            Kind::Gate(_) => "human_gate",
            Kind::Questions(_) => "questions",
            Kind::Terminate(_) => "terminate",
            Kind::SubPlan(_) => "workflow",
            Kind::Parallel(_) => "parallel",
            Kind::ForEach(_) => "for_each",
            Kind::Reduce(_) => "reduce",
            Kind::Verify(_) => "verify",
            Kind::Goal(_) => "goal",
            Kind::Item(_) => "task",
            Kind::Phase(_) => "phase",
        }
    }

    /// Whether it runs outside the engine, as attempts that hold a permit.
    pub fn takes_permit(&self) -> bool {
        matches!(self, Kind::Agent(_) | Kind::Script(_) | Kind::Tool(_))
    }

    /// Whether its output has the shape of a group.
    pub fn is_group(&self) -> bool {
        matches!(self, Kind::Parallel(_) | Kind::ForEach(_))
    }
}

/// A model is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Agent {
    /// What is the same for every attempt.
    pub settings: Arc<AgentSettings>,
    /// The model; `None` where the provider has a default of its own.
    pub model: Option<Text>,
    /// The system prompt.
    pub system: Option<Text>,
    /// The prompt, without the workflow's instructions.
    pub prompt: Text,
    /// How hard to think.
    pub reasoning_effort: Option<Text>,
    /// Where it works.
    pub working_dir: Option<Text>,
    /// Texts of skills, put before the prompt.
    pub skills: Option<Arc<str>>,
    /// Whether the outputs of what it needs stand behind its prompt, and the most tokens of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency_outputs: Option<u64>,
}

/// A command runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Script {
    /// The program.
    pub command: Text,
    /// Its arguments.
    pub args: Vec<Text>,
    /// Variables, not rendered; references in them are resolved at launch.
    pub env: Vec<(String, String)>,
    /// Where it runs.
    pub working_dir: Option<Text>,
    /// What it reads.
    pub stdin: Option<Text>,
    /// When present, standard output must be a JSON object that fits.
    pub schema: Option<OutputSchema>,
    /// How long it may write nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Duration>,
    /// How long it may run, where it goes on when the engine dies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survives: Option<Duration>,
}

/// Finds out whether an effect happened whose outcome a crash hid.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Probe {
    /// What is asked.
    pub asks: ProbeKind,
    /// How long the answer may take.
    pub timeout: Duration,
}

/// What a probe asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    /// A command, by its exit code.
    Command(Script),
    /// A tool, by its result.
    Tool(Tool),
}

/// A tool of an MCP server is called.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tool {
    /// The servers of the workflow.
    pub servers: Arc<Servers>,
    /// The one that has the tool.
    pub server: String,
    /// The tool, as its server names it.
    pub tool: String,
    /// What it is called with.
    pub arguments: Vec<(String, Argument)>,
    /// What the output must look like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<OutputSchema>,
}

/// An argument, as far as it is known before the step starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// Known.
    Value(serde_json::Value),
    /// Rendered; what is a single expression gives its value, anything else its text.
    Template(TemplateId),
    /// A list with something to render in it.
    List(Vec<Argument>),
    /// A map with something to render in it.
    Map(Vec<(String, Argument)>),
}

/// Values are computed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Set {
    /// One value, which is the output itself.
    Value {
        /// The text.
        text: Text,
        /// How the rendered text is read.
        ty: SetType,
    },
    /// Several values, read by their look.
    Values(Vec<(String, Text)>),
}

/// Time passes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wait {
    /// How long.
    pub duration: Span,
    /// What for.
    pub reason: Option<Text>,
}

/// A person chooses.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Gate {
    /// The question.
    pub prompt: Text,
    /// The options.
    pub options: Vec<GateOption>,
    /// The option that is taken when the time to answer is over; without one the gate fails then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// One option of a gate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GateOption {
    /// What a person reads.
    pub label: Text,
    /// What the workflow gets.
    pub value: String,
    /// Where the branch goes on; absent inside groups.
    pub route: Option<GateRoute>,
    /// A text to ask for.
    pub prompt_for: Option<String>,
    /// Whether it may have several lines.
    pub multiline: bool,
}

/// Where an option leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateRoute {
    /// `$end`.
    End,
    /// A node.
    To(NodeIx),
}

/// A person answers questions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Questions {
    /// Words before the first question.
    pub prompt: Option<Text>,
    /// Where the questions come from.
    pub source: QuestionSource,
    /// One may go back.
    pub allow_back: bool,
    /// One may skip.
    pub allow_skip: bool,
    /// One may skip all that are left.
    pub allow_skip_all: bool,
    /// One may give up.
    pub allow_abort: bool,
    /// Where giving up leads.
    pub abort_route: Option<GateRoute>,
    /// Whether the questions' defaults are the answer when the time is over; else the form fails then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default_on_timeout: bool,
}

/// Where questions come from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionSource {
    /// The file.
    Listed(Vec<QuestionText>),
    /// An earlier output: a dotted path.
    Path(Vec<String>),
}

/// One question of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QuestionText {
    /// Its name; `q1`, `q2`, … by default.
    pub id: Option<String>,
    /// The question.
    pub text: Text,
    /// A word of help.
    pub hint: Option<Text>,
    /// Answers to choose from.
    pub choices: Vec<String>,
    /// Whether other text may be given.
    pub allow_free_text: bool,
    /// The answer if none is given.
    pub default: Option<Text>,
    /// Whether it must be answered.
    pub required: bool,
    /// Whether the answer may have several lines.
    pub multiline: bool,
}

/// The workflow ends here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Terminate {
    /// Well or badly.
    pub success: bool,
    /// Why.
    pub reason: Text,
    /// The workflow's output instead of its own.
    pub output: Option<Vec<(String, Text)>>,
}

/// Another workflow runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SubPlan {
    /// Which.
    pub workflow: WorkflowIx,
    /// Its inputs; `None` hands on the parent's.
    pub input_mapping: Option<Vec<(String, Text)>>,
    /// How deep it may stand.
    pub max_depth: Option<u32>,
}

/// What a group does when a member fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureMode {
    /// It fails at once and cancels the others.
    FailFast,
    /// It fails only if all failed.
    ContinueOnError,
    /// It waits for all and fails if one failed.
    AllOrNothing,
    /// It fails when fewer than this many can still succeed.
    Quorum(u32),
}

/// Members run side by side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Parallel {
    /// The members, in the order of the file.
    pub members: Vec<NodeIx>,
    /// What happens when one fails.
    pub failure_mode: FailureMode,
    /// How many at once.
    pub max_concurrent: Option<u32>,
}

/// One node runs once per item.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForEach {
    /// Where the list is: a dotted path such as `finder.output.items`; empty where `items` are stated.
    pub source: Vec<String>,
    /// The list itself, where the file states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Arc<Vec<serde_json::Value>>>,
    /// The name of the item in templates.
    pub variable: Arc<str>,
    /// What runs.
    pub body: NodeIx,
    /// Where an item's key is, relative to the item.
    pub key_by: Option<Vec<String>>,
    /// Whether items that can be names are the keys, where `key_by` says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// Whether all items of a batch (as many as run at once) end before the next begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_batches: bool,
    /// What happens when one fails.
    pub failure_mode: FailureMode,
    /// How many at once.
    pub max_concurrent: u32,
}
