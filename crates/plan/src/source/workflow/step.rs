//! Steps: what every one has, the kinds there are, and the agent among them.

use std::time::Duration;

use indexmap::IndexMap;

use super::super::capability::Capabilities;
use super::super::output::OutputField;
use super::super::settings::{PluginUse, Provider, Sandbox, Timeouts};
use super::super::text::{Spanned, Text};
use super::{
    Budget, Entry, ErrorRoute, GateStep, GoalStep, Join, Labels, Names, Need, OnUnknown, PhaseStep,
    QuestionsStep, ReduceStep, Retry, Route, ScriptStep, SetStep, TerminateStep, ToolStep, VerifyStep,
    WaitStep, Worker, WorkflowStep,
};
use crate::diagnostic::Span;

/// An entry of `agents`, or the inline `agent` of a fan-out.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its name; empty when it is missing (which is reported).
    pub name: Spanned<String>,
    /// What it does.
    pub kind: StepKind,
    /// What every kind has.
    pub common: Common,
}

impl Step {
    /// The models that it asks: what it is by itself, and those that it asks on its way.
    pub fn models(&self) -> impl Iterator<Item = &AgentStep> {
        let own: Vec<&AgentStep> = match &self.kind {
            StepKind::Agent(agent) => vec![agent],
            StepKind::Reduce(reduce) if reduce.strategy.value.may_ask() => vec![&reduce.agent],
            StepKind::Verify(verify) => vec![&verify.assessor, &verify.repairer],
            StepKind::Phase(phase) => phase.workers().filter_map(Worker::agent).collect(),
            StepKind::Goal(goal) => goal.roles.values().collect(),
            _ => Vec::new(),
        };
        own.into_iter().chain(self.common.repair_input.as_deref())
    }

    /// What people call it where it asks models, for messages.
    pub fn owner(&self) -> String {
        let word = if matches!(self.kind, StepKind::Phase(_)) { "node" } else { "agent" };
        format!("{word} `{}`", self.name.value)
    }
}

/// Keys that every kind of step has; groups have them too, without `input`, `expects`,
/// `repair_input`, `retry`, `on_unknown`, `idempotent`.
#[derive(Debug, Clone)]
pub struct Common {
    /// `description`.
    pub description: Option<Spanned<String>>,
    /// `input`: references for explicit context, as written (`plan.output.x?`).
    pub input: Names,
    /// `expects`: what the step relies on in outputs of others, by their name.
    pub expects: IndexMap<String, Entry<OutputSchema>>,
    /// `repair_input`: the model that puts an output into the expected shape; `None` means that nobody does.
    pub repair_input: Option<Box<AgentStep>>,
    /// `routes`, with the place of the key.
    pub routes: Vec<Route>,
    /// Place of the key `routes` if it was written, even as an empty list.
    pub routes_key: Option<Span>,
    /// `needs`.
    pub needs: Vec<Need>,
    /// `join`; `None` means all.
    pub join: Option<Spanned<Join>>,
    /// `on_error`.
    pub on_error: Vec<ErrorRoute>,
    /// `retry`; `None` means the default of the kind.
    pub retry: Option<Retry>,
    /// `timeout`: bounds the task over all its attempts.
    pub timeout: Option<Spanned<Duration>>,
    /// `max_wait`: bounds how long an attempt waits for its permit.
    pub max_wait: Option<Spanned<Duration>>,
    /// `on_unknown`; `None` means the default of the kind.
    pub on_unknown: Option<Spanned<OnUnknown>>,
    /// `idempotent`.
    pub idempotent: Option<Spanned<bool>>,
    /// `labels`.
    pub labels: Labels,
    /// `budget`: agents and groups have it.
    pub budget: Option<Budget>,
    /// `resources`: agents, scripts and tools have them.
    pub resources: IndexMap<String, Entry<u64>>,
    /// Place of the whole step.
    pub span: Span,
}

impl Common {
    /// Of a step that says nothing.
    pub fn at(span: &Span) -> Self {
        Self {
            description: None,
            input: Vec::new(),
            expects: IndexMap::new(),
            repair_input: None,
            routes: Vec::new(),
            routes_key: None,
            needs: Vec::new(),
            join: None,
            on_error: Vec::new(),
            retry: None,
            timeout: None,
            max_wait: None,
            on_unknown: None,
            idempotent: None,
            labels: Labels::default(),
            budget: None,
            resources: IndexMap::new(),
            span: span.clone(),
        }
    }
}

/// What a step does; one struct per type of the language.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// A language model with tools.
    Agent(Box<AgentStep>),
    /// A person decides between options.
    HumanGate(GateStep),
    /// A person answers questions.
    Questions(QuestionsStep),
    /// A program runs.
    Script(Box<ScriptStep>),
    /// Values are computed.
    Set(SetStep),
    /// The workflow ends here.
    Terminate(TerminateStep),
    /// A tool of an MCP server is called.
    Tool(Box<ToolStep>),
    /// Time passes.
    Wait(WaitStep),
    /// Another workflow file runs.
    Workflow(WorkflowStep),
    /// Outputs are merged.
    Reduce(Box<ReduceStep>),
    /// An answer is examined.
    Verify(Box<VerifyStep>),
    /// A persona does its part of a pipeline; no key of a file stands for it.
    Phase(Box<PhaseStep>),
    /// A sentence becomes tasks, and their results an answer.
    Goal(Box<GoalStep>),
    /// Its type could not be read (which is reported); only its name and its edges are known.
    Unknown,
}

/// `type: agent` (or no type).
#[derive(Debug, Clone, Default)]
pub struct AgentStep {
    /// Provider of this step; `None` means the workflow's.
    pub provider: Option<Provider>,
    /// Model (template).
    pub model: Option<Text>,
    /// Models in the order in which they are asked.
    pub models: Option<Names>,
    /// Prompt (template); `None` when absent.
    pub prompt: Option<Text>,
    /// System prompt (template).
    pub system_prompt: Option<Text>,
    /// `None` = all tools of the workflow, empty = none.
    pub tools: Option<Names>,
    /// Variables whose values the model may see.
    pub secrets: Option<Names>,
    /// Schema of the output; `None` when absent or empty.
    pub output: Option<OutputSchema>,
    /// Raw text or envelope.
    pub output_mode: Option<Spanned<OutputMode>>,
    /// `timeout_seconds`: like `timeout` of every kind; both at once is reported.
    pub timeout_seconds: Option<Spanned<Duration>>,
    /// Bounds of the parts of one request; what is absent is the workflow's.
    pub timeouts: Timeouts,
    /// Bound of one session.
    pub max_session: Option<Spanned<Duration>>,
    /// Randomness of the answers; `None` means the workflow's.
    pub temperature: Option<Spanned<f64>>,
    /// Output tokens of one answer; `None` means the workflow's.
    pub max_tokens: Option<Spanned<u64>>,
    /// Tokens that the model can take in; `None` means the workflow's.
    pub context_window: Option<Spanned<u64>>,
    /// Bound of the tool loop.
    pub max_agent_iterations: Option<Spanned<u64>>,
    /// What bounds the conversation.
    pub capabilities: Capabilities,
    /// Conversation shared between steps (vendor key).
    pub session_key: Option<Spanned<String>>,
    /// Chat with a person.
    pub dialog: Option<Dialog>,
    /// Effort of reasoning (level or template).
    pub reasoning_effort: Option<Text>,
    /// Context size class (vendor key; value or template).
    pub context_tier: Option<Text>,
    /// A second model that grades the answer.
    pub validator: Option<Validator>,
    /// What the answer must meet.
    pub success_criteria: Option<SuccessCriteria>,
    /// The model that puts an answer into shape; `None` means the workflow's.
    pub repair_model: Option<Spanned<String>>,
    /// Vendor key.
    pub sandbox: Option<Sandbox>,
    /// Directory (template), relative to the workflow file.
    pub working_dir: Option<Text>,
    /// `dependency_outputs`: outputs of what it needs stand behind its prompt, each up to so many tokens.
    pub dependency_outputs: Option<Spanned<u64>>,
    /// `None` inherits, empty = none.
    pub skills: Option<Names>,
    /// `None` inherits, empty = none.
    pub plugins: Option<Vec<Spanned<PluginUse>>>,
}

/// Fields of an output by name, with the place of the key `output`.
#[derive(Debug, Clone)]
pub struct OutputSchema {
    /// The fields; may be empty (for a script that means: any JSON object).
    pub fields: IndexMap<String, Entry<OutputField>>,
    /// Place of the definition.
    pub span: Span,
}

/// How the model's text becomes an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputMode {
    /// `{"result": text}`.
    Raw,
    /// JSON where there is any.
    Envelope,
}

/// `dialog`.
#[derive(Debug, Clone)]
pub struct Dialog {
    /// Decides whether a chat is opened.
    pub trigger_prompt: Text,
    /// Place of the block.
    pub span: Span,
}

/// `validator`.
#[derive(Debug, Clone)]
pub struct Validator {
    /// What a good answer is (template).
    pub criteria: Text,
    /// The model that grades (template).
    pub model: Option<Text>,
    /// Re-runs with feedback, 0 or 1 (default 1).
    pub max_retries: u32,
    /// Place of the block.
    pub span: Span,
}

/// `success_criteria`: a text, or a text with settings.
#[derive(Debug, Clone)]
pub struct SuccessCriteria {
    /// What the answer must meet.
    pub criteria: Spanned<String>,
    /// The model that judges; `None` means the agent's.
    pub model: Option<Spanned<String>>,
    /// How often a rejected answer is asked for again (default 1).
    pub max_retries: u32,
}
