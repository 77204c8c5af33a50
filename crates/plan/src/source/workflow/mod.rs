//! The typed form of a workflow file, as written: no defaults from elsewhere, no references resolved.
//!
//! Defaults that the language fixes are filled in; a value that means something else when absent is an `Option`.
//! Readers (`read`) make these values, `check` looks for what is wrong between them, `compile` turns them into a plan.
//! Invariant: everything that a diagnostic may want to point at has a span.

mod budget;
pub(in crate::source) mod ensure;
mod flow;
mod goal;
mod group;
mod people;
mod phase;
mod reduce;
mod secret;
mod step;
mod tool;
mod work;
pub(in crate::source) mod workspace;

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

pub use budget::*;
pub use ensure::{Claim, Ensure, Ensured};
pub use flow::*;
pub use goal::*;
pub use group::*;
pub use people::*;
pub use phase::*;
pub use reduce::*;
pub use secret::*;
pub use step::*;
pub use tool::*;
pub use work::*;
pub use workspace::Workspace;

use super::read::{self, Fields};
use super::section::section;
use super::settings::Runtime;
use super::shape::{DOLLARS, Shape};
use super::text::{SecretText, Spanned, Text};
use crate::diagnostic::{SourceFile, Span};
use crate::plan::InputRule;

/// A list of names, each with its place.
pub type Names = Vec<Spanned<String>>;
/// Templates by name, in the order of the file; keys keep their places.
pub type Templates = IndexMap<String, Entry<Text>>;
/// The same for texts that are kept as references.
pub type References = IndexMap<String, Entry<SecretText>>;

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
    /// Top-level `secrets`: where the values of named secrets come from.
    pub secrets: IndexMap<String, Entry<SecretEntry>>,
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
    /// What holds for it as a pipeline of personas, where a manifest became it.
    pub pipeline: Option<PipelineSettings>,
    /// Whether a manifest of agents stands behind it.
    pub from_manifest: bool,
    /// Servers that came with roles of organisations: agents without a list of tools are not offered them.
    pub role_servers: Vec<String>,
}

impl Workflow {
    /// Whether it was written as a manifest, of agents or of personas. That is our own language: what Conductor does is
    /// no rule there.
    pub fn is_manifest(&self) -> bool {
        self.from_manifest || self.pipeline.is_some()
    }
}

section! {
    /// One declared input of the workflow.
    #[derive(Debug, Clone)]
    pub struct InputField = "input", "an input" {
        /// type of the value
        #[by(read::header::type_of)]
        #[required = true]
        pub kind as "type": Spanned<ValueType>,
        /// whether it must be given (default true)
        pub required: bool = true,
        /// value when it is not given
        pub default: Option<Spanned<serde_json::Value>>,
        /// what it is for
        pub description: Option<Spanned<String>>,
        /// a list of files, folders and patterns, which are read before the run (default false)
        pub files: bool = false,
    } with {
        /// What it must be besides; files of this kind have no key for it.
        pub rule: InputRule = |_| InputRule::None,
        /// Place of the definition.
        pub span: Span = Fields::place,
    } judge read::header::judge_input
}

/// The five types of inputs and output fields; and any, which a schema from elsewhere may leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ValueType {
    String,
    Number,
    Boolean,
    Array,
    Object,
    Any,
}

section! {
    /// `workflow.context`: what a step sees of the steps before it.
    #[derive(Debug, Clone, Default)]
    pub struct ContextSettings = "context", "`context`" {
        /// which earlier outputs a step sees (default accumulate)
        pub mode: ContextMode = ContextMode::default(),
        /// bound of the context in tokens
        pub max_tokens: Option<Spanned<u64>>,
        /// how a context is made smaller (default drop_oldest)
        pub trim_strategy: TrimStrategy = TrimStrategy::default(),
    }
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

section! {
    /// `workflow.limits`.
    #[derive(Debug, Clone, Default)]
    pub struct Limits = "limits", "`limits`" {
        /// steps started by routes and members of parallel groups (default 10)
        pub max_iterations: Option<Spanned<u64>> => Integer(1, 1_000_000),
        /// wall time of the run
        pub timeout as "timeout_seconds": Option<Spanned<Duration>> => Seconds(1.0),
        /// money that the run may spend
        pub budget_usd: Option<Spanned<f64>> => DOLLARS,
        /// tokens that the run may use, sent and received
        pub budget_tokens: Option<Spanned<u64>>,
        /// what reaching the budget means (default audit)
        pub budget_mode: BudgetMode = BudgetMode::default(),
        /// what happens to work that cannot be paid any more (default stop)
        pub when_spent: Option<Spanned<Spent>>,
        /// with `when_spent: degrade`: the cheaper model that is asked instead
        #[by(read::fixed::fixed)]
        pub degrade_to: Option<Spanned<String>>,
        /// tasks of the run in all (default 100000)
        pub max_tasks: Option<Spanned<u64>>,
        /// tasks of the run at one time
        pub max_concurrency: Option<Spanned<u64>>,
        /// failures in a row that open the circuit breaker, 0 for none (default the configured ones)
        pub breaker_failures: Option<Spanned<u64>> => Integer(0, 1_000_000),
    } judge read::budget::judge_limits
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

section! {
    /// `workflow.cost`.
    #[derive(Debug, Clone)]
    pub struct Cost = "cost", "`cost`" {
        /// show what each agent cost (default true)
        pub show_per_agent: bool = true,
        /// show the sum (default true)
        pub show_summary: bool = true,
        /// prices by model
        #[by(read::header::price_lists)]
        pub pricing: IndexMap<String, Entry<Pricing>>,
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self { show_per_agent: true, show_summary: true, pricing: IndexMap::new() }
    }
}

section! {
    /// Dollars per million tokens of one model.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    pub struct Pricing = "pricing", "a price list" {
        /// dollars per million input tokens
        #[required = true]
        pub input_per_mtok: f64 = 0.0 => PRICE,
        /// dollars per million output tokens
        #[required = true]
        pub output_per_mtok: f64 = 0.0 => PRICE,
        /// dollars per million tokens read from the cache
        pub cache_read_per_mtok: f64 = 0.0 => PRICE,
        /// dollars per million tokens written to the cache
        pub cache_write_per_mtok: f64 = 0.0 => PRICE,
    }
}

const PRICE: Shape = Shape::Number(0.0, f64::MAX);

section! {
    /// `workflow.hooks`.
    #[derive(Debug, Clone, Default)]
    pub struct Hooks = "hooks", "`hooks`" {
        /// before the first step
        pub on_start: Option<Hook>,
        /// after success; sees `result`
        pub on_complete: Option<Hook>,
        /// after failure; sees `error`
        pub on_error: Option<Hook>,
    }
}

section! {
    /// A hook that runs something, as written.
    #[derive(Debug, Clone)]
    pub struct HookMapping = "hook", "a hook" {
        /// program to run
        pub command: Option<Text>,
        /// its arguments
        pub args: Vec<Text> = Vec::new(),
        /// step to run
        pub run: Option<Spanned<String>>,
    } judge read::header::judge_hook
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
