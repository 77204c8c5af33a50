//! What one attempt is asked to do, rendered and ready, and how it ends.
//!
//! An assignment holds no template and no credential: texts are rendered by the scheduler, and credentials are
//! references that the provider resolves at launch.

use crate::{
    Answer, Approvals, Capabilities, Digest, Failure, JsonText, KnownResult, OutputSchema, Payload, Prices,
    Remedy, Retry, Servers, TaskId, Timestamp, ToolWork, Usage,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The variable by which a program learns the span that its work belongs to, as OpenTelemetry names it.
pub const TRACEPARENT: &str = "TRACEPARENT";

/// One attempt's work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Assignment {
    /// The task that is tried.
    pub task: TaskId,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// By this the world outside tells a repetition from another piece of work: the same for every attempt of the task, in this run
    /// and no other; another one where the task begins anew.
    #[serde(default)]
    pub key: Arc<str>,
    /// The span that stands for the attempt in a trace (`traceparent` of W3C Trace Context), where runs are traced. It is
    /// handed to what the attempt starts or calls, and the attempt tells of its model calls one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<str>>,
    /// The step's name, for messages.
    pub step: Arc<str>,
    /// What to do.
    pub work: Work,
    /// Random choices of the attempt start from here.
    pub seed: u64,
    /// What earlier attempts wrote down of the conversation that this one continues, oldest first.
    pub continues: Vec<JsonText>,
    /// What attempts before these wrote down of conversations that came to nothing: this one does not go on with them,
    /// but what they did has happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<JsonText>,
    /// A person's answer to what the conversation last asked for.
    pub answer: Option<Answer>,
    /// What the step says about further attempts.
    pub retry: Retry,
    /// Attempts that have failed before this one.
    pub failures: u32,
    /// Attempts before this one that were cut off, so that whatever they were answered is not known.
    #[serde(default)]
    pub cut_off: u32,
    /// Results of calls of the turn that the conversation stands in: these were made, and are not made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_results: Vec<KnownResult>,
    /// Calls that a person allowed for the rest of the run, by their plans ([`AskedCall::plan`](crate::AskedCall::plan)).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remembered: Vec<Digest>,
    /// What people said to the task until this attempt began, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guidance: Vec<String>,
    /// What the attempt may do and use, where that was resolved for it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Box<crate::Contract>>,
    /// The workspace that it works in, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Box<crate::WorkspaceCall>>,
    /// What must hold for its work to count as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<crate::ProofCall>>,
}

impl Assignment {
    /// Whether there is another attempt if this one ends so.
    pub fn may_try_again(&self, failure: &Failure) -> bool {
        failure.remedy(&self.retry, self.failures + 1) != Remedy::Fail
    }
}

/// The kinds of work that run outside the engine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Ask a model.
    Agent(Box<AgentCall>),
    /// Run a command.
    Script(Box<ScriptCall>),
    /// Call a tool.
    Tool(Box<ToolWork>),
    /// Let a model write programs over outputs.
    Program(Box<crate::ProgramCall>),
    /// Find out whether the effect of an attempt that was cut off happened.
    Probe(Box<ProbeWork>),
}

/// A question to the world, which changes nothing in it: did an effect happen?
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProbeWork {
    /// What is asked.
    pub asks: ProbeCall,
    /// What the step's output must look like.
    pub schema: Option<OutputSchema>,
    /// How long the answer may take.
    pub timeout: Duration,
}

/// What a probe asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeCall {
    /// A command, by its exit code.
    Command(Box<ScriptCall>),
    /// A tool, by its result.
    Tool(Box<ToolWork>),
}

/// How a command outlives the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survival {
    /// An earlier attempt started the command: it is attached to, or its recorded result is taken.
    pub attach: bool,
    /// How long the command may run, whether or not a process attends to it.
    pub timeout: Duration,
}

/// A question to a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentCall {
    /// What is the same for every attempt of the node.
    pub settings: Arc<AgentSettings>,
    /// The model to ask; empty where the provider has its own default.
    pub model: String,
    /// The system prompt.
    pub system: Option<String>,
    /// The user prompt, instructions included.
    pub prompt: String,
    /// How hard to think.
    pub reasoning_effort: Option<String>,
    /// Where the agent works.
    pub working_dir: Option<String>,
    /// Large values that the prompt shows in part, as `r1`, `r2`, …: the agent may read the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Digest>,
}

/// What is fixed about an agent, whatever it is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSettings {
    /// Which provider answers.
    pub provider: ProviderSettings,
    /// The shape of the answer, if one is declared.
    pub schema: Option<OutputSchema>,
    /// Keep the text as it is.
    pub raw: bool,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens to answer with.
    pub max_tokens: Option<u64>,
    /// The longest time for one request.
    pub request_timeout: Duration,
    /// The longest times for parts of a request, where they are stated.
    #[serde(default, skip_serializing_if = "PhaseTimeouts::are_unstated")]
    pub phase_timeouts: PhaseTimeouts,
    /// The longest time for the whole conversation.
    pub session_timeout: Option<Duration>,
    /// How often an answer that does not fit is sent back.
    pub parse_recovery: u32,
    /// A second model that grades the answer.
    pub validator: Option<Validator>,
    /// Names of the tools the agent may use; `None` means all of the workflow.
    pub tools: Option<Vec<String>>,
    /// Which calls of tools a person must allow.
    #[serde(default, skip_serializing_if = "Approvals::is_default")]
    pub approvals: Approvals,
    /// Variables whose values the model may see; every other secret that is known is masked in what it is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Whether the tools are only named to it, with what they are for: none of them can be called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub show_tools: bool,
    /// Where its tools come from.
    #[serde(default, skip_serializing_if = "no_servers")]
    pub servers: Arc<Servers>,
    /// What keeps its conversation within bounds.
    #[serde(default, skip_serializing_if = "Capabilities::is_default")]
    pub capabilities: Capabilities,
    /// What a second model checks before the answer counts; unlike the validator's, its silence is a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_criteria: Option<SuccessCriteria>,
    /// The model that puts an answer into shape when the agent's own could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair_model: Option<String>,
    /// Models to ask when the first one cannot answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// What the models that it may ask cost.
    pub pricing: Arc<Prices>,
}

/// Most workflows have none, and a plan of a thousand agents need not say so a thousand times.
fn no_servers(servers: &Arc<Servers>) -> bool {
    servers.is_empty()
}

/// How long the parts of a request may take; what is absent follows from the time for the whole request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PhaseTimeouts {
    /// Until the connection stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<Duration>,
    /// Until the answer begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token: Option<Duration>,
    /// Between two pieces of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Duration>,
}

impl PhaseTimeouts {
    /// Whether nothing is said about any of them.
    pub fn are_unstated(&self) -> bool {
        *self == PhaseTimeouts::default()
    }
}

/// Which provider, and how to reach it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct ProviderSettings {
    /// `openai`, `anthropic`, `scripted`, …
    pub name: String,
    /// Where its interface is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The key, as a reference such as `${OPENAI_API_KEY}`; resolved at launch, never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// A file that holds the key and that only its owner may read; used where `api_key` is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_file: Option<String>,
    /// Further headers, values as references.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// Replies of the scripted provider: a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Delay of the scripted provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// The program of `acp` and `cli`, and how it is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Box<Program>>,
}

/// A coding agent that is a program of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Program {
    /// The program.
    pub command: String,
    /// Its arguments; references in them are resolved at launch. In those of `cli`, `{prompt}`, `{system}`, `{model}` and
    /// `{schema}` stand for what is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables on top of the inherited ones; values are references that are resolved at launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// What becomes of its permission requests.
    #[serde(default)]
    pub permissions: Permissions,
}

/// How it is decided what a coding agent may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// A person, each time.
    #[default]
    Ask,
    /// Always: it may.
    Allow,
    /// Never: it may not.
    Deny,
}

/// Models to ask when the first one cannot answer, by the same provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// The models after the first, in order.
    pub models: Vec<String>,
    /// The attempts that the step has: a fault that may pass is worth another model only in the last one.
    pub attempts: u32,
}

/// A second model that grades an answer before it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validator {
    /// What the answer must meet.
    pub criteria: String,
    /// The model that judges; the agent's own if absent.
    pub model: Option<String>,
    /// How often a rejected answer is asked for again.
    pub max_retries: u32,
}

/// What an answer must meet. A rejected answer is asked for again, and the step fails if none is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuccessCriteria {
    /// What the answer must meet.
    pub criteria: String,
    /// The model that judges; the agent's own if absent.
    pub model: Option<String>,
    /// How often a rejected answer is asked for again.
    pub max_retries: u32,
}

/// A command to run, without a shell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScriptCall {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables on top of the inherited ones; values are references that are resolved at launch.
    pub env: Vec<(String, String)>,
    /// Where it runs; the engine's own folder if absent.
    pub working_dir: Option<String>,
    /// What it reads; `None` inherits nothing (end of file at once).
    pub stdin: Option<String>,
    /// When present (even without fields) standard output must be a JSON object that fits.
    pub schema: Option<OutputSchema>,
    /// How long it may write nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Duration>,
    /// Its idempotency key, which it finds in its environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// Where it is to go on when the engine dies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survival: Option<Survival>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// With an output.
    Finished {
        /// The value, as JSON.
        output: JsonText,
        /// What it used.
        usage: Usage,
    },
    /// With a failure.
    Failed {
        /// What went wrong.
        failure: Failure,
        /// What it used all the same.
        usage: Usage,
        /// What was there when it failed: raw answers, partial text.
        partial: Option<JsonText>,
    },
    /// It waits for something outside, and holds nothing meanwhile.
    Suspended {
        /// What it needs to go on.
        state: JsonText,
        /// What it waits for.
        waits_for: WaitsFor,
        /// What it used so far.
        usage: Usage,
    },
    /// Unknown how: the process that performed it is gone. As after a crash, the step says what becomes of it.
    Lost,
    /// It goes on without the engine; a later attempt attaches to it.
    Detached,
    /// Of a probe: what it found.
    Probed(ProbeFinding),
}

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeFinding {
    /// The effect happened; the step's output.
    Happened(JsonText),
    /// It did not.
    Absent,
    /// It cannot be said, for this reason.
    Unclear(String),
}

/// What a suspended attempt waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitsFor {
    /// Answers to what it asks: a list of [`SubQuery`](crate::SubQuery).
    Children(Payload),
    /// A person; the payload is the question.
    Gate(JsonText),
    /// A moment.
    Time(Timestamp),
}
