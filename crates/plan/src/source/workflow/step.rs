//! Steps: what every one has, the kinds there are, and the agent among them.

use std::time::Duration;

use indexmap::IndexMap;

use super::super::approvals::APPROVE_OF_STEP;
use super::super::capability::Capabilities;
use super::super::keys::flow::{JOIN, NEEDS, ON_ERROR, ROUTES};
use super::super::keys::output::OUTPUT;
use super::super::keys::reduce::HELPER_MODEL;
use super::super::output::OutputField;
use super::super::read::{self, Fields};
use super::super::section::{FromNode, section};
use super::super::settings::{PLUGINS, PluginUse, Provider, Sandbox, Timeouts};
use super::super::shape::{Shape, WINDOW};
use super::super::text::{Spanned, Text};
use super::super::words::{CONTEXT_TIERS, EFFORTS};
use super::ensure::{ENSURE, Ensure};
use super::workspace::{PORTS, WORKSPACE, Workspace};
use super::{
    Budget, Entry, ErrorRoute, GateStep, GoalStep, Join, Labels, Names, Need, OnUnknown, PhaseStep, Probe,
    QuestionsStep, ReduceStep, Retry, Route, ScriptStep, SetStep, TerminateStep, ToolStep, VerifyStep,
    WaitStep, Worker, WorkflowStep,
};
use crate::diagnostic::Span;
use convoke_model::{Approvals, MergeMode};

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

section! {
    /// Keys that every kind of step has. Groups have those of them that their tables have.
    #[derive(Debug, Clone)]
    pub struct Common of steps {
        /// what it is for
        #[on(ALL)]
        pub description: Option<Spanned<String>>,
        /// references that the step sees in explicit mode
        #[on(ALL)]
        pub input: Names = Names::new(),
        /// what the step relies on in outputs of others: fields by the step's name
        #[by(read::helper_model::expects)]
        #[on(ALL)]
        pub expects: IndexMap<String, Entry<OutputSchema>> => Map(&OUTPUT),
        /// whether, and by which model, an output is put into the expected shape
        #[by(read::helper_model::repair_input)]
        #[on(ALL)]
        pub repair_input: Option<Box<AgentStep>> => OneOf(&[Boolean, Object(&HELPER_MODEL)]),
        /// where to go afterwards; the first that fits is taken
        #[by(read::flow::routes)]
        #[on(ALL & !TERMINATE)]
        #[instead("a terminate step ends the workflow, nothing comes after it")]
        pub routes: Vec<Route> => ROUTES,
        /// steps that must have ended before
        #[by(read::flow::needs)]
        #[on(ALL)]
        pub needs: Vec<Need> => NEEDS,
        /// how many of the needs must be met (default all)
        #[by(read::flow::join)]
        #[on(ALL)]
        pub join: Option<Spanned<Join>> => JOIN,
        /// where to go when the step fails
        #[by(read::flow::on_error)]
        #[on(ALL)]
        pub on_error: Vec<ErrorRoute> => ON_ERROR,
        /// further attempts after a failure
        #[on(ALL)]
        pub retry: Option<Retry>,
        /// bound of the step over all its attempts: seconds, or a text such as `5m`
        #[on(ALL)]
        pub timeout: Option<Spanned<Duration>>,
        /// how long an attempt may wait for its permit; then it fails as `capacity`
        #[on(ALL)]
        pub max_wait: Option<Spanned<Duration>>,
        /// what to do with an attempt that a crash cut off
        #[on(ALL)]
        pub on_unknown: Option<Spanned<OnUnknown>>,
        /// how `on_unknown: probe` finds out whether a script or a tool had its effect
        #[on(SCRIPT | TOOL)]
        pub probe: Option<Probe>,
        /// whether the step may be repeated without harm
        #[on(ALL)]
        pub idempotent: Option<Spanned<bool>>,
        /// priority, class and tenant
        #[on(ALL)]
        pub labels: Labels = Labels::default(),
        /// what it needs besides a permit, such as `{gpu: 1}`
        #[by(read::budget::resources)]
        #[on(AGENT | SCRIPT | TOOL)]
        pub resources: IndexMap<String, Entry<u64>> => Map(&Integer(1, 1_000_000_000)),
        /// a git worktree of its own to work in, for each task
        #[by(read::workspace::workspace)]
        #[on(AGENT | SCRIPT | GOAL | WORKFLOW)]
        pub workspace: Option<Workspace> => WORKSPACE,
        /// so many ports of its own, for each task
        #[on(AGENT | SCRIPT | GOAL | WORKFLOW)]
        pub ports: Option<Spanned<u64>> => PORTS,
        /// how the work in its worktree comes back (default none: the branch stays)
        #[on(AGENT | SCRIPT | GOAL | WORKFLOW)]
        pub merge: Option<Spanned<MergeMode>>,
        /// what must hold for its work to count as done; the engine checks it
        #[by(read::ensure::ensure)]
        #[on(AGENT | GOAL | REDUCE | SCRIPT | TOOL | VERIFY | WORKFLOW)]
        #[instead("this step does no work: say it on the step or group whose work it is about")]
        pub ensure: Option<Ensure> => ENSURE,
        /// patterns of files that its work must leave as they are: what proves it
        #[on(AGENT | GOAL | SCRIPT | TOOL | WORKFLOW)]
        #[instead("this step changes no file: say it on the step or group that works on files")]
        pub protect: Names = Names::new(),
        /// what all its tasks together may spend
        #[on(MODEL)]
        pub budget: Option<Budget>,
    } with {
        /// Place of the key `routes` if it was written, even as an empty list.
        pub routes_key: Option<Span> = read::flow::place_of_routes,
        /// Place of the whole step.
        pub span: Span = Fields::place,
    } judge read::workspace::judge_workspace
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
            probe: None,
            workspace: None,
            ports: None,
            merge: None,
            idempotent: None,
            labels: Labels::default(),
            ensure: None,
            protect: Names::new(),
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
    /// A goal in words becomes tasks, and their results an answer.
    Goal(Box<GoalStep>),
    /// Its type could not be read (which is reported); only its name and its edges are known.
    Unknown,
}

section! {
    /// `type: agent` (or no type), and what every model has that a step asks. What is absent is the workflow's.
    #[derive(Debug, Clone, Default)]
    pub struct AgentStep of steps {
        /// model service of this step: a name, or a name with settings
        #[on(MODEL)]
        #[ignored_on(GATE)]
        pub provider: Option<Provider>,
        /// model of this step
        #[on(MODEL)]
        #[ignored_on(GATE)]
        pub model: Option<Text>,
        /// models of this step: the next one is asked when one cannot answer
        #[by(read::agent::models_of_step)]
        #[on(MODEL)]
        pub models: Option<Names>,
        /// what the model (or the person) is asked; of a reduce step: what the model that merges is asked, instead of our words
        #[on(AGENT | PEOPLE | REDUCE)]
        #[required_on(GATE)]
        #[instead("a verify step has `query`, and `prompt` in `assessor` and `repairer`; a goal has `goal`")]
        pub prompt: Option<Text>,
        /// instructions for the model
        #[on(ANSWER | GOAL)]
        #[ignored_on(PEOPLE)]
        pub system_prompt: Option<Text>,
        /// tools that it may use (default all, `[]` none)
        #[on(AGENT | GOAL)]
        #[ignored_on(GATE)]
        pub tools: Option<Names>,
        /// policy of what its own tools may do, besides the workflow's: `read-only`, `develop` (default), `network`, or a file
        #[by(read::fixed::fixed)]
        #[on(AGENT | GOAL)]
        pub policy: Option<Spanned<String>>,
        /// calls of its tools that a person must allow: `none`, `high-risk` (default), `all`, or a list of tools; of a goal also
        /// `true`: whether a person must approve the plan before anything is done
        #[by(read::approve::approve)]
        #[on(AGENT | GOAL)]
        pub approve: Option<Approvals> => APPROVE_OF_STEP,
        /// of an agent: secrets whose values the model may see, all others are masked; of a script: secrets that it is given, as variables
        #[on(AGENT | SCRIPT)]
        pub secrets: Option<Names>,
        /// fields of the output
        #[by(read::output::output_fields)]
        #[on(ANSWER | SCRIPT | TOOL)]
        #[ignored_on(GATE | SET | WORKFLOW)]
        #[instead("a terminate step has `output_template`; questions and wait steps have a fixed output")]
        pub output: Option<OutputSchema> => OUTPUT,
        /// raw text, or JSON where there is any
        #[on(AGENT)]
        pub output_mode: Option<Spanned<OutputMode>>,
        /// bound of the step in seconds
        #[on(AGENT | PEOPLE)]
        #[instead("use `timeout`, which every type of step has")]
        pub timeout_seconds: Option<Spanned<Duration>> => Seconds(1.0),
        /// bounds of the parts of a request (default the workflow's); of a script, `idle`: how long it may write nothing
        #[on(MODEL | SCRIPT)]
        pub timeouts: Timeouts = Timeouts::default(),
        /// seconds for one session
        #[on(MODEL)]
        #[ignored_on(PEOPLE)]
        pub max_session as "max_session_seconds": Option<Spanned<Duration>> => Seconds(1.0),
        /// rounds of the tool loop
        #[on(AGENT | GOAL)]
        #[ignored_on(PEOPLE)]
        pub max_agent_iterations: Option<Spanned<u64>> => Integer(1, 500),
        /// what bounds the conversation (default the workflow's)
        #[by(read::capability::capabilities)]
        #[on(ANSWER | GOAL)]
        pub capabilities: Capabilities,
        /// tokens that the model can take in (default the workflow's)
        #[on(MODEL)]
        pub context_window: Option<Spanned<u64>> => WINDOW,
        /// randomness of the answers (default the workflow's)
        #[on(MODEL)]
        pub temperature: Option<Spanned<f64>> => Number(0.0, 2.0),
        /// output tokens of one answer (default the workflow's)
        #[on(MODEL)]
        pub max_tokens: Option<Spanned<u64>> => Integer(1, 200_000),
        /// what the answer must meet: a second model checks it
        #[by(read::capability::success_criteria)]
        #[on(ANSWER)]
        pub success_criteria: Option<SuccessCriteria> => OneOf(&[Text, SuccessCriteria::SHAPE]),
        /// model that puts the answer into shape when the agent's own could not
        #[by(read::fixed::fixed)]
        #[on(MODEL)]
        pub repair_model: Option<Spanned<String>>,
        /// conversation shared between steps (claude-agent-sdk only)
        #[by(read::fixed::fixed)]
        #[on(AGENT)]
        pub session_key: Option<Spanned<String>>,
        /// chat with a person
        #[on(AGENT)]
        pub dialog: Option<Dialog>,
        /// how hard to think
        #[by(read::agent::effort)]
        #[on(MODEL)]
        pub reasoning_effort as "reasoning": Option<Text> => Reasoning::SHAPE,
        /// context size class (copilot only)
        #[on(AGENT)]
        pub context_tier: Option<Text> => ChoiceOrTemplate(CONTEXT_TIERS),
        /// a second model that grades the answer
        #[on(ANSWER)]
        pub validator: Option<Validator>,
        /// sandbox of the step (aca only)
        #[on(AGENT)]
        pub sandbox: Option<Sandbox>,
        /// directory of the step
        #[on(AGENT | GOAL | SCRIPT)]
        pub working_dir: Option<Text>,
        /// whether the outputs of what it needs stand behind its prompt: true, or the most tokens of each
        #[by(read::helper_model::dependency_outputs)]
        #[on(AGENT)]
        pub dependency_outputs: Option<Spanned<u64>> => OneOf(&[Boolean, DEPENDENCY_TOKENS]),
        /// skills (default inherited, `[]` none)
        #[on(ANSWER | GOAL)]
        pub skills: Option<Names>,
        /// plugins (default inherited, `[]` none)
        #[by(read::runtime::plugins)]
        #[on(AGENT)]
        pub plugins: Option<Vec<PluginUse>> => PLUGINS,
    } judge read::agent::judge_agent
}

/// The most tokens of one output that stands behind a prompt.
pub(in crate::source) const DEPENDENCY_TOKENS: Shape = Shape::Integer(1, 1_000_000);

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

section! {
    /// `dialog`.
    #[derive(Debug, Clone)]
    pub struct Dialog = "dialog", "`dialog`" {
        /// decides whether a chat is opened
        pub trigger_prompt: Text,
    } with {
        /// Place of the block.
        pub span: Span = Fields::place,
    }
}

section! {
    /// `reasoning` of an agent.
    #[derive(Debug, Clone)]
    pub struct Reasoning = "reasoning", "`reasoning`" {
        /// how hard to think
        pub effort: Text => ChoiceOrTemplate(EFFORTS),
    }
}

section! {
    /// `validator`.
    #[derive(Debug, Clone)]
    pub struct Validator = "validator", "`validator`" {
        /// what a good answer is
        pub criteria: Text,
        /// the model that grades
        pub model: Option<Text>,
        /// re-runs with feedback (default 1)
        pub max_retries: u32 = 1 => Integer(0, 1),
    } with {
        /// Place of the block.
        pub span: Span = Fields::place,
    } judge read::agent::judge_validator
}

section! {
    /// `success_criteria`; a text alone stands for its `criteria`.
    #[derive(Debug, Clone)]
    pub struct SuccessCriteria = "success_criteria", "`success_criteria`" {
        /// what the answer must meet
        #[by(read::fixed::fixed)]
        #[required = true]
        pub criteria: Spanned<String>,
        /// the model that judges
        #[by(read::fixed::fixed)]
        pub model: Option<Spanned<String>>,
        /// how often a rejected answer is asked for again (default 1)
        pub max_retries: u32 = 1 => Integer(0, 10),
    }
}
