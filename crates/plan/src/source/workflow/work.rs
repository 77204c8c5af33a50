//! Steps that work without a model and without a person: script, set, wait, terminate, workflow.

use std::time::Duration;

use super::super::settings::Timeouts;
use super::super::text::{Spanned, Text};
use super::{OutputSchema, References, Templates};

/// `type: script`.
#[derive(Debug, Clone)]
pub struct ScriptStep {
    /// Program (template); `None` when it is missing (which is reported).
    pub command: Option<Text>,
    /// Arguments (templates).
    pub args: Vec<Text>,
    /// Further environment, values kept as references.
    pub env: References,
    /// Directory (template), relative to the process.
    pub working_dir: Option<Text>,
    /// Standard input (template); `None` inherits.
    pub stdin: Option<Text>,
    /// Schema of the JSON object on stdout; an empty one means any object.
    pub output: Option<OutputSchema>,
    /// How long it may write nothing (`idle`); it has no other parts.
    pub timeouts: Timeouts,
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
