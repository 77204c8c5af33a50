//! Steps that work without a model and without a person: script, set, wait, terminate, workflow.

use std::time::Duration;

use super::super::read::{self, Fields};
use super::super::section::section;
use super::super::settings::Timeouts;
use super::super::shape::TEMPLATE_MAP;
use super::super::text::{Spanned, Text};
use super::{Arguments, Names, OutputSchema, References, Templates};
use crate::diagnostic::Span;
use crate::value::SetType;

section! {
    /// `type: script`.
    #[derive(Debug, Clone)]
    pub struct ScriptStep of steps {
        /// program to run
        #[by(read::work::non_blank)]
        #[on(SCRIPT)]
        #[required_on(SCRIPT)]
        #[ignored_on(AGENT | PEOPLE)]
        pub command: Option<Text>,
        /// its arguments
        #[on(SCRIPT)]
        #[ignored_on(AGENT | PEOPLE | WORKFLOW)]
        pub args: Vec<Text> = Vec::new(),
        /// further environment
        #[by(read::work::references)]
        #[on(SCRIPT)]
        #[ignored_on(AGENT | PEOPLE | WORKFLOW)]
        pub env: References => TEMPLATE_MAP,
        /// standard input (default inherited)
        #[on(SCRIPT)]
        pub stdin: Option<Text>,
        /// whether the command goes on when Convoke dies, to be attached to by `resume`; needs a `timeout`
        #[on(SCRIPT)]
        pub survive: Option<Spanned<bool>>,
        /// Secrets that it is given, as variables of their names.
        pub secrets: Option<Names>,
        /// Directory (template), relative to the process.
        pub working_dir: Option<Text>,
        /// Schema of the JSON object on stdout; an empty one means any object.
        #[by(read::output::output_schema)]
        pub output: Option<OutputSchema>,
        /// How long it may write nothing (`idle`); it has no other parts.
        pub timeouts: Timeouts = Timeouts::default(),
    }
}

section! {
    /// `probe`: a command or a tool that says whether an effect happened. It must change nothing.
    #[derive(Debug, Clone)]
    pub struct Probe = "probe", "`probe`" {
        /// program to run: exit code 0 says that it happened, 10 that it did not
        pub command: Option<Text>,
        /// its arguments; `{key}` stands for the idempotency key
        pub args: Vec<Text> = Vec::new(),
        /// further environment
        #[by(read::work::references)]
        pub env: References => TEMPLATE_MAP,
        /// directory of the command
        pub working_dir: Option<Text>,
        /// standard input of the command
        pub stdin: Option<Text>,
        /// MCP server that has the tool (default the only one)
        #[by(read::fixed::fixed)]
        pub server: Option<Spanned<String>>,
        /// tool to call: `true`, or `happened: true` in its result, says that it happened
        #[by(read::fixed::fixed)]
        pub tool: Option<Spanned<String>>,
        /// what the tool is called with; a text `{key}` stands for the idempotency key
        #[by(read::tool::arguments)]
        pub arguments: Arguments => Map(&Any),
        /// how long the answer may take (default 60 s)
        pub timeout: Option<Spanned<Duration>>,
    } with {
        /// Place of the block.
        pub span: Span = Fields::place,
    }
}

section! {
    /// `type: set`: one value, or several.
    #[derive(Debug, Clone)]
    pub struct SetStep of steps {
        /// template of the one value
        #[on(SET)]
        pub value: Option<Text>,
        /// templates of several values
        #[on(SET)]
        pub values: Option<Templates>,
        /// how the text of `value` is read (default auto)
        #[on(SET)]
        pub output_type: Option<Spanned<SetType>>,
    } judge read::work::judge_set
}

section! {
    /// `type: terminate`.
    #[derive(Debug, Clone)]
    pub struct TerminateStep of steps {
        /// how the workflow ends
        #[by(read::work::status)]
        #[on(TERMINATE)]
        #[required_on(TERMINATE)]
        pub status: Spanned<TerminateStatus>,
        /// why
        #[by(read::work::non_blank)]
        #[on(TERMINATE | WAIT)]
        #[required_on(TERMINATE)]
        pub reason: Option<Text>,
        /// output instead of the workflow's
        #[on(TERMINATE)]
        pub output_template: Option<Templates>,
    }
}

/// How a terminate step ends the workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TerminateStatus {
    Success,
    Failed,
}

section! {
    /// `type: wait`.
    #[derive(Debug, Clone)]
    pub struct WaitStep of steps {
        /// how long: seconds, a text such as `5m`, or a template
        #[by(read::work::wait_duration)]
        #[on(WAIT)]
        #[required_on(WAIT)]
        #[instead("use `timeout` to bound a step")]
        pub duration: Option<WaitDuration> => OneOf(&[Duration, Template]),
        /// Why (template).
        pub reason: Option<Text>,
    }
}

/// How long to wait.
#[derive(Debug, Clone)]
pub enum WaitDuration {
    /// A number of seconds or `5m`, already in range.
    Literal(Spanned<Duration>),
    /// Known when rendered.
    Template(Text),
}

section! {
    /// `type: workflow`.
    #[derive(Debug, Clone)]
    pub struct WorkflowStep of steps {
        /// path of the workflow file
        #[by(read::work::workflow_path)]
        #[on(WORKFLOW)]
        #[required_on(WORKFLOW)]
        #[ignored_on(AGENT | PEOPLE | SCRIPT)]
        pub workflow: Option<Spanned<String>>,
        /// inputs of the workflow (default: this one's inputs)
        #[on(WORKFLOW)]
        pub input_mapping: Option<Templates>,
        /// bound of nesting (of a goal: default 4)
        #[on(WORKFLOW | GOAL)]
        pub max_depth: Option<Spanned<u64>> => Integer(1, 10),
    }
}
