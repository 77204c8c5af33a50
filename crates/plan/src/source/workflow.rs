//! The typed form of a workflow file, as written: no defaults from elsewhere, no references resolved.
//!
//! Defaults that the language fixes are filled in; a value that means something else when absent is an `Option`.
//! Readers (`read`) make these values, `check` looks for what is wrong between them, `compile` turns them into a plan.
//! Invariant: everything that a diagnostic may want to point at has a span.

use std::sync::Arc;
use std::time::Duration;

/// The classes of failures.
pub use convoke_model::Class as ErrorClass;
use indexmap::IndexMap;

use super::output::OutputField;
use super::settings::{PluginUse, Runtime, Sandbox};
use super::text::{Spanned, Text};
use crate::diagnostic::{SourceFile, Span};

/// A list of names, each with its place.
pub type Names = Vec<Spanned<String>>;
/// Templates by name, in the order of the file; keys keep their places.
pub type Templates = IndexMap<String, Entry<Text>>;

/// The value of a mapping entry, with the place of its key.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<T> {
    /// Where the key stands.
    pub key: Spanned<String>,
    /// The value.
    pub value: T,
}

/// A whole workflow file.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// The file it was read from.
    pub file: Arc<SourceFile>,
    /// Normalised path of that file, as [`super::Sources`] knows it; relative references resolve beside it.
    pub path: String,
    /// Every file that took part (this one and all that `!file` read), in the order of reading.
    pub files: Vec<Arc<SourceFile>>,
    /// Place of the `workflow:` header.
    pub span: Span,
    /// `workflow.name`; empty when it is missing (which is reported).
    pub name: Spanned<String>,
    /// `workflow.description`.
    pub description: Option<Spanned<String>>,
    /// `workflow.version`.
    pub version: Option<Spanned<String>>,
    /// `workflow.entry_point`, one or several; empty when left out.
    pub entry_point: Names,
    /// `workflow.runtime`.
    pub runtime: Runtime,
    /// `workflow.input`; `None` means that any input is accepted.
    pub input: Option<IndexMap<String, Entry<InputField>>>,
    /// `workflow.context`.
    pub context: ContextSettings,
    /// `workflow.limits`.
    pub limits: Limits,
    /// `workflow.cost`.
    pub cost: Cost,
    /// `workflow.hooks`.
    pub hooks: Hooks,
    /// `workflow.metadata`.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// `workflow.instructions`, put before every model prompt.
    pub instructions: Vec<Text>,
    /// `workflow.labels`: defaults for every step.
    pub labels: Labels,
    /// Top-level `tools`: the universe of tool names; `None` when the key is absent.
    pub tools: Option<Names>,
    /// Top-level `agents`: the steps.
    pub agents: Vec<Step>,
    /// Top-level `parallel`.
    pub parallel: Vec<ParallelGroup>,
    /// Top-level `for_each`.
    pub for_each: Vec<ForEach>,
    /// Top-level `output`: templates of the final output.
    pub output: Option<Templates>,
}

/// One declared input of the workflow.
#[derive(Debug, Clone)]
pub struct InputField {
    /// Declared type.
    pub kind: Spanned<ValueType>,
    /// Whether a value must be given (default true).
    pub required: bool,
    /// The default, already known to fit the type; `None` when absent or null.
    pub default: Option<Spanned<serde_json::Value>>,
    /// What it is for.
    pub description: Option<Spanned<String>>,
    /// Place of the definition.
    pub span: Span,
}

/// The five types of inputs and output fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ValueType {
    String,
    Number,
    Boolean,
    Array,
    Object,
}

/// `workflow.context`: what a step sees of the steps before it.
#[derive(Debug, Clone, Default)]
pub struct ContextSettings {
    /// Which outputs are visible.
    pub mode: ContextMode,
    /// Bound of the context in tokens.
    pub max_tokens: Option<Spanned<u64>>,
    /// What to do when the bound is reached.
    pub trim_strategy: TrimStrategy,
}

/// Which earlier outputs a step sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum ContextMode {
    #[default]
    Accumulate,
    LastOnly,
    Explicit,
}

/// How a context is made smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum TrimStrategy {
    Summarize,
    Truncate,
    #[default]
    DropOldest,
}

/// `workflow.limits`; `None` means that the author did not write it.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Visits made by routes and members of parallel groups (default 10).
    pub max_iterations: Option<Spanned<u64>>,
    /// Wall time of the run.
    pub timeout: Option<Spanned<Duration>>,
    /// Money.
    pub budget_usd: Option<Spanned<f64>>,
    /// What reaching the budget means.
    pub budget_mode: BudgetMode,
    /// Items, tasks started by needs, sub-workflow tasks, spawned tasks (default 100 000).
    pub max_tasks: Option<Spanned<u64>>,
    /// Attempts of this run at one time.
    pub max_concurrency: Option<Spanned<u64>>,
}

/// What happens when the budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BudgetMode {
    /// Say so and go on.
    #[default]
    Audit,
    /// Stop.
    Enforce,
}

/// `workflow.cost`.
#[derive(Debug, Clone)]
pub struct Cost {
    /// Whether to show what each agent cost.
    pub show_per_agent: bool,
    /// Whether to show the sum.
    pub show_summary: bool,
    /// Prices by model.
    pub pricing: IndexMap<String, Entry<Pricing>>,
}

impl Default for Cost {
    fn default() -> Self {
        Self { show_per_agent: true, show_summary: true, pricing: IndexMap::new() }
    }
}

/// Dollars per million tokens of one model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[allow(missing_docs)]
pub struct Pricing {
    pub input_per_mtok: f64,
    pub output_per_mtok: f64,
    pub cache_read_per_mtok: f64,
    pub cache_write_per_mtok: f64,
}

/// `workflow.hooks`.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    /// Before the first step.
    pub on_start: Option<Hook>,
    /// After success; sees `result`.
    pub on_complete: Option<Hook>,
    /// After failure; sees `error`.
    pub on_error: Option<Hook>,
}

/// What a hook does.
#[derive(Debug, Clone)]
pub enum Hook {
    /// A template that is rendered, journalled and shown.
    Message(Text),
    /// A command that runs under the guard policy.
    Command {
        /// Program (template).
        command: Text,
        /// Its arguments (templates).
        args: Vec<Text>,
        /// Place of the hook.
        span: Span,
    },
    /// A step of the file that runs.
    Step(Spanned<String>),
}

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

/// Keys that every kind of step has; groups have them too, without `input`, `retry`, `on_unknown`, `idempotent`.
#[derive(Debug, Clone)]
pub struct Common {
    /// `description`.
    pub description: Option<Spanned<String>>,
    /// `input`: references for explicit context, as written (`plan.output.x?`).
    pub input: Names,
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
    /// `on_unknown`; `None` means the default of the kind.
    pub on_unknown: Option<Spanned<OnUnknown>>,
    /// `idempotent`.
    pub idempotent: Option<Spanned<bool>>,
    /// `labels`.
    pub labels: Labels,
    /// Place of the whole step.
    pub span: Span,
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
    /// Time passes.
    Wait(WaitStep),
    /// Another workflow file runs.
    Workflow(WorkflowStep),
    /// Its type could not be read (which is reported); only its name and its edges are known.
    Unknown,
}

/// `type: agent` (or no type).
#[derive(Debug, Clone, Default)]
pub struct AgentStep {
    /// Provider of this step; `None` means the workflow's.
    pub provider: Option<Spanned<String>>,
    /// Model (template).
    pub model: Option<Text>,
    /// Prompt (template); `None` when absent.
    pub prompt: Option<Text>,
    /// System prompt (template).
    pub system_prompt: Option<Text>,
    /// `None` = all tools of the workflow, empty = none.
    pub tools: Option<Names>,
    /// Schema of the output; `None` when absent or empty.
    pub output: Option<OutputSchema>,
    /// Raw text or envelope.
    pub output_mode: Option<Spanned<OutputMode>>,
    /// `timeout_seconds`: like `timeout` of every kind; both at once is reported.
    pub timeout_seconds: Option<Spanned<Duration>>,
    /// Bound of one session.
    pub max_session: Option<Spanned<Duration>>,
    /// Bound of the tool loop.
    pub max_agent_iterations: Option<Spanned<u64>>,
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
    /// Vendor key.
    pub sandbox: Option<Sandbox>,
    /// Directory (template), relative to the workflow file.
    pub working_dir: Option<Text>,
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

/// `type: human_gate`.
#[derive(Debug, Clone)]
pub struct GateStep {
    /// The question (template); `None` when it is missing (which is reported).
    pub prompt: Option<Text>,
    /// The answers to choose from.
    pub options: Vec<GateOption>,
}

/// One answer of a gate.
#[derive(Debug, Clone)]
pub struct GateOption {
    /// What the person reads.
    pub label: Text,
    /// What becomes `selected`.
    pub value: Spanned<String>,
    /// Where to go; needed outside groups and forbidden inside (`check` decides).
    pub route: Option<Spanned<String>>,
    /// Name of a further text to ask for.
    pub prompt_for: Option<Spanned<String>>,
    /// Whether that text may have several lines.
    pub multiline: bool,
    /// Place of the option.
    pub span: Span,
}

/// `type: questions`.
#[derive(Debug, Clone)]
pub struct QuestionsStep {
    /// Where the questions come from; `None` when missing or given twice (which is reported).
    pub from: Option<QuestionsFrom>,
    /// Shown before the first question (template).
    pub prompt: Option<Text>,
    /// Whether one may go back (default true).
    pub allow_back: bool,
    /// Whether a question may be skipped (default true).
    pub allow_skip: bool,
    /// Whether the rest may be skipped (default true).
    pub allow_skip_all: bool,
    /// Whether one may abort (default false).
    pub allow_abort: bool,
    /// Where an abort goes (default `$end`).
    pub abort_route: Option<Spanned<String>>,
}

/// Where questions come from.
#[derive(Debug, Clone)]
pub enum QuestionsFrom {
    /// Written in the file.
    Written(Vec<Question>),
    /// A dotted path to a list.
    Source(Spanned<String>),
}

/// One question.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its id (default q1, q2, …).
    pub id: Option<Spanned<String>>,
    /// The question (template).
    pub text: Text,
    /// Further help (template).
    pub hint: Option<Text>,
    /// Answers to choose from.
    pub choices: Vec<Text>,
    /// Whether any text may be answered (default true).
    pub allow_free_text: bool,
    /// Answer when nothing is entered (template).
    pub default: Option<Text>,
    /// Whether it must be answered (default false).
    pub required: bool,
    /// Whether the answer may have several lines (default true).
    pub multiline: bool,
    /// Place of the question.
    pub span: Span,
}

/// `type: script`.
#[derive(Debug, Clone)]
pub struct ScriptStep {
    /// Program (template); `None` when it is missing (which is reported).
    pub command: Option<Text>,
    /// Arguments (templates).
    pub args: Vec<Text>,
    /// Further environment (templates).
    pub env: Templates,
    /// Directory (template), relative to the process.
    pub working_dir: Option<Text>,
    /// Standard input (template); `None` inherits.
    pub stdin: Option<Text>,
    /// Schema of the JSON object on stdout; an empty one means any object.
    pub output: Option<OutputSchema>,
}

/// `type: set`.
#[derive(Debug, Clone)]
pub struct SetStep {
    /// What is computed; `None` when missing or given twice (which is reported).
    pub what: Option<SetWhat>,
}

/// One value or several.
#[derive(Debug, Clone)]
pub enum SetWhat {
    /// The output is this value.
    Value {
        /// The template.
        value: Text,
        /// How its text is read.
        output_type: Spanned<SetType>,
    },
    /// The output is a map of these.
    Values(Templates),
}

/// How the rendered text of a `set` step is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum SetType {
    #[default]
    Auto,
    String,
    Number,
    Integer,
    Boolean,
    List,
    Dict,
}

/// `type: wait`.
#[derive(Debug, Clone)]
pub struct WaitStep {
    /// How long; `None` when missing or wrong (which is reported).
    pub duration: Option<WaitDuration>,
    /// Why (template).
    pub reason: Option<Text>,
}

/// How long to wait.
#[derive(Debug, Clone)]
pub enum WaitDuration {
    /// A number of seconds or `5m`, already in range.
    Literal(Spanned<Duration>),
    /// Known when rendered.
    Template(Text),
}

/// `type: terminate`.
#[derive(Debug, Clone)]
pub struct TerminateStep {
    /// How the workflow ends.
    pub status: Spanned<TerminateStatus>,
    /// Why (template); `None` when it is missing (which is reported).
    pub reason: Option<Text>,
    /// Output instead of the workflow's (templates).
    pub output_template: Option<Templates>,
}

/// How a terminate step ends the workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TerminateStatus {
    Success,
    Failed,
}

/// `type: workflow`.
#[derive(Debug, Clone)]
pub struct WorkflowStep {
    /// Path beside this file; `None` when it is missing (which is reported).
    pub workflow: Option<Spanned<String>>,
    /// Inputs of the child (templates); `None` forwards the parent's.
    pub input_mapping: Option<Templates>,
    /// Bound of nesting below this step.
    pub max_depth: Option<Spanned<u64>>,
}

/// An entry of `routes`.
#[derive(Debug, Clone)]
pub struct Route {
    /// Name of a step or group, or `$end`.
    pub to: Spanned<String>,
    /// Condition (expression or template); `None` = always.
    pub when: Option<Text>,
    /// Merged over the final output on a `$end` route (templates).
    pub output: Option<Templates>,
    /// Place of the route.
    pub span: Span,
}

/// An entry of `needs`.
#[derive(Debug, Clone)]
pub struct Need {
    /// Name of the step or group that is needed.
    pub step: Spanned<String>,
    /// Which ends of it are good enough.
    pub requires: Requires,
    /// Place of the entry.
    pub span: Span,
}

/// Which end of a needed step lets the next one start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Requires {
    /// It succeeded.
    #[default]
    Success,
    /// It ended by itself, succeeded or failed.
    Completed,
    /// Any end, skipped and cancelled too.
    Any,
}

/// How many of the needs must be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Join {
    /// Every one.
    #[default]
    All,
    /// The first that ends.
    Any,
    /// The first that succeeds.
    FirstSuccess,
    /// This many.
    Quorum(u64),
}

/// An entry of `on_error`.
#[derive(Debug, Clone)]
pub struct ErrorRoute {
    /// Classes that it catches; empty means any.
    pub classes: Vec<Spanned<ErrorClass>>,
    /// Name of a step or group, or `$end`.
    pub to: Spanned<String>,
    /// Place of the entry.
    pub span: Span,
}

/// `retry`.
#[derive(Debug, Clone)]
pub struct Retry {
    /// Attempts in all, the first one included (default 1).
    pub max_attempts: Spanned<u32>,
    /// How the pause grows.
    pub backoff: Backoff,
    /// The first pause (default 2 s).
    pub delay: Duration,
    /// Which failures are worth another attempt; `provider_error` is already spelled out as its three classes.
    pub retry_on: Vec<ErrorClass>,
    /// Further attempts to read a malformed answer.
    pub max_parse_recovery_attempts: Option<Spanned<u32>>,
    /// Place of the block.
    pub span: Span,
}

/// How the pause between attempts grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Backoff {
    Fixed,
    #[default]
    Exponential,
}

/// What to do with an attempt whose end a crash made unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum OnUnknown {
    Retry,
    Ask,
    Fail,
}

/// `labels`: what the governor orders by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels {
    /// Within a class.
    pub priority: Option<Spanned<Priority>>,
    /// Which queue.
    pub class: Option<Spanned<QueueClass>>,
    /// Whose work it is.
    pub tenant: Option<Spanned<String>>,
}

/// Order within a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Priority {
    Critical,
    High,
    Normal,
    Low,
    Background,
}

/// Order between classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum QueueClass {
    Interactive,
    Standard,
    Batch,
}

/// An entry of `parallel`.
#[derive(Debug, Clone)]
pub struct ParallelGroup {
    /// Its name.
    pub name: Spanned<String>,
    /// Names of the members (steps or groups).
    pub agents: Names,
    /// What a member's failure means.
    pub failure_mode: FailureMode,
    /// Members at one time; `None` = no bound.
    pub max_concurrent: Option<Spanned<u64>>,
    /// What every step has.
    pub common: Common,
}

/// An entry of `for_each`.
#[derive(Debug, Clone)]
pub struct ForEach {
    /// Its name.
    pub name: Spanned<String>,
    /// Dotted path to the items, at least three parts; empty when missing (which is reported).
    pub source: Spanned<String>,
    /// `as`: the loop variable; empty when missing (which is reported).
    pub variable: Spanned<String>,
    /// What runs per item; `None` when missing or given twice (which is reported).
    pub body: Option<ForEachBody>,
    /// Items at one time; `None` = 10.
    pub max_concurrent: Option<Spanned<u64>>,
    /// What an item's failure means.
    pub failure_mode: FailureMode,
    /// Dotted path below the item.
    pub key_by: Option<Spanned<String>>,
    /// What every step has.
    pub common: Common,
}

/// What a fan-out runs per item.
#[derive(Debug, Clone)]
pub enum ForEachBody {
    /// The inline `agent`.
    Inline(Box<Step>),
    /// `run`: a step or group of the file.
    Run(Spanned<String>),
}

/// What the failure of a member means for its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureMode {
    /// The first failure cancels the siblings.
    #[default]
    FailFast,
    /// Fails only if all failed.
    ContinueOnError,
    /// All run, any failure fails the group.
    AllOrNothing,
    /// Fails when fewer than this many succeed.
    Quorum(u64),
}
