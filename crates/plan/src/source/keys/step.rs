//! The keys of steps, and which type owns which.
//!
//! One row per key: the types that use it, and the types that take it without any effect (files written for Conductor
//! may have it there). On every other type the key is an error.

use super::super::shape::Shape::{
    Any, Boolean, Choice, ChoiceOrTemplate, Integer, List, Map, Number, Object, OneOf, Seconds, Template,
    Text,
};
use super::super::shape::{Key, Shape, TEMPLATE_MAP, TEMPLATES, TEXTS, optional};
use super::super::words::{CONTEXT_TIERS, SEVERITIES, STRATEGIES};
use super::super::workflow::{OnUnknown, OutputMode, SetType, TerminateStatus};
use super::capability::{CAPABILITIES_SHAPE, CRITERIA, WINDOW};
use super::flow::{BUDGET, JOIN, LABELS, NEEDS, ON_ERROR, RESOURCES, RETRY, ROUTES, TIMEOUT};
use super::goal::{
    MAX_CHILDREN, MAX_RECOVERIES, MAX_ROUNDS, MAX_SUBAGENTS, MAX_TASKS, PLAN, POLICIES, ROLES,
    SKIP_THRESHOLD, SPAWN,
};
use super::output::OUTPUT;
use super::people::{DIALOG, OPTION, QUESTION};
use super::reduce::{
    ASKED, DEPENDENCY_OUTPUTS, EXPECTS, GROUP_TOKENS, MIN_SOURCES, RATIO, REPAIR_INPUT, RLM, ROUNDS, VOTE,
};
use super::runtime::{PLUGINS, PROVIDER_SHAPE, REASONING, SANDBOX, TIMEOUTS, VALIDATOR};

/// The types of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum StepType {
    Agent,
    Goal,
    HumanGate,
    Questions,
    Reduce,
    Script,
    Set,
    Terminate,
    Tool,
    Verify,
    Wait,
    Workflow,
}

impl StepType {
    /// Every type.
    pub const ALL: [Self; 12] = [
        Self::Agent,
        Self::Goal,
        Self::HumanGate,
        Self::Questions,
        Self::Reduce,
        Self::Script,
        Self::Set,
        Self::Terminate,
        Self::Tool,
        Self::Verify,
        Self::Wait,
        Self::Workflow,
    ];
    /// Their words, in the same order.
    pub const WORDS: &'static [&'static str] = &[
        "agent",
        "goal",
        "human_gate",
        "questions",
        "reduce",
        "script",
        "set",
        "terminate",
        "tool",
        "verify",
        "wait",
        "workflow",
    ];

    /// The type that a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// A key of steps.
#[derive(Debug)]
pub struct StepKey {
    /// Name, shape and meaning.
    pub key: Key,
    used: u16,
    ignored: u16,
    must: u16,
    /// What to write instead where it is not allowed.
    pub instead: &'static str,
}

impl StepKey {
    /// Whether the type makes use of it.
    pub fn is_used_by(&self, kind: StepType) -> bool {
        self.used & kind.bit() != 0
    }

    /// Whether the type takes it without any effect.
    pub fn is_ignored_by(&self, kind: StepType) -> bool {
        self.ignored & kind.bit() != 0
    }

    /// Whether the type cannot do without it.
    pub fn is_required_by(&self, kind: StepType) -> bool {
        self.must & kind.bit() != 0
    }

    /// The types that use it.
    pub fn owners(&self) -> impl Iterator<Item = StepType> + '_ {
        StepType::ALL.into_iter().filter(|kind| self.is_used_by(*kind))
    }

    const fn ignored_by(mut self, types: u16) -> Self {
        self.ignored = types;
        self
    }

    const fn required_by(mut self, types: u16) -> Self {
        self.must = types;
        self
    }

    const fn instead(mut self, advice: &'static str) -> Self {
        self.instead = advice;
        self
    }
}

/// The key of this name.
pub fn step_key(name: &str) -> Option<&'static StepKey> {
    STEP_KEYS.iter().find(|row| row.key.name == name)
}

const AGENT: u16 = StepType::Agent.bit();
const GOAL: u16 = StepType::Goal.bit();
const GATE: u16 = StepType::HumanGate.bit();
const QUESTIONS: u16 = StepType::Questions.bit();
const REDUCE: u16 = StepType::Reduce.bit();
const SCRIPT: u16 = StepType::Script.bit();
const SET: u16 = StepType::Set.bit();
const TERMINATE: u16 = StepType::Terminate.bit();
const TOOL: u16 = StepType::Tool.bit();
const VERIFY: u16 = StepType::Verify.bit();
const WAIT: u16 = StepType::Wait.bit();
const WORKFLOW: u16 = StepType::Workflow.bit();
const ALL: u16 = (1 << StepType::ALL.len()) - 1;
const PEOPLE: u16 = GATE | QUESTIONS;
/// Types that ask a model whose keys stand on the step.
const MODEL: u16 = AGENT | GOAL | REDUCE | VERIFY;
/// Those that let it answer in a shape, and judge what it says.
const ANSWER: u16 = AGENT | REDUCE;

const fn of(used: u16, name: &'static str, shape: Shape, doc: &'static str) -> StepKey {
    StepKey { key: optional(name, shape, doc), used, ignored: 0, must: 0, instead: "" }
}

/// Every key that some type of step has.
pub static STEP_KEYS: &[StepKey] = &[
    of(ALL, "name", Text, "name of the step").required_by(ALL),
    of(ALL, "type", Choice(StepType::WORDS), "what the step does (default agent)"),
    of(ALL, "description", Text, "what it is for"),
    of(ALL, "input", TEXTS, "references that the step sees in explicit mode"),
    of(ALL, "expects", EXPECTS, "what the step relies on in outputs of others: fields by the step's name"),
    of(
        ALL,
        "repair_input",
        REPAIR_INPUT,
        "whether, and by which model, an output is put into the expected shape",
    ),
    of(ALL & !TERMINATE, "routes", ROUTES, "where to go afterwards; the first that fits is taken")
        .instead("a terminate step ends the workflow, nothing comes after it"),
    of(ALL, "needs", NEEDS, "steps that must have ended before"),
    of(ALL, "join", JOIN, "how many of the needs must be met (default all)"),
    of(ALL, "on_error", ON_ERROR, "where to go when the step fails"),
    of(ALL, "retry", Object(&RETRY), "further attempts after a failure"),
    of(ALL, "timeout", TIMEOUT, "bound of the step over all its attempts: seconds, or a text such as `5m`"),
    of(ALL, "max_wait", TIMEOUT, "how long an attempt may wait for its permit; then it fails as `capacity`"),
    of(ALL, "on_unknown", Choice(OnUnknown::WORDS), "what to do with an attempt that a crash cut off"),
    of(ALL, "idempotent", Boolean, "whether the step may be repeated without harm"),
    of(ALL, "labels", Object(&LABELS), "priority, class and tenant"),
    of(AGENT | SCRIPT | TOOL, "resources", RESOURCES, "what it needs besides a permit, such as `{gpu: 1}`"),
    // Agents.
    of(MODEL, "budget", Object(&BUDGET), "what all its tasks together may spend"),
    of(MODEL, "provider", PROVIDER_SHAPE, "model service of this step: a name, or a name with settings")
        .ignored_by(GATE),
    of(MODEL, "model", Template, "model of this step").ignored_by(GATE),
    of(MODEL, "models", TEXTS, "models of this step: the next one is asked when one cannot answer"),
    of(
        AGENT | PEOPLE | REDUCE,
        "prompt",
        Template,
        "what the model (or the person) is asked; of a reduce step: what the model that merges is asked, instead of our words",
    )
    .required_by(GATE)
    .instead("a verify step has `query`, and `prompt` in `assessor` and `repairer`; a goal has `goal`"),
    of(ANSWER | GOAL, "system_prompt", Template, "instructions for the model").ignored_by(PEOPLE),
    of(AGENT | GOAL, "tools", TEXTS, "tools that it may use (default all, `[]` none)").ignored_by(GATE),
    of(
        AGENT,
        "secrets",
        TEXTS,
        "variables whose values the model may see; all other known secrets are masked",
    ),
    of(ANSWER | SCRIPT | TOOL, "output", OUTPUT, "fields of the output")
        .ignored_by(GATE | SET | WORKFLOW)
        .instead("a terminate step has `output_template`; questions and wait steps have a fixed output"),
    of(AGENT, "output_mode", Choice(OutputMode::WORDS), "raw text, or JSON where there is any"),
    of(AGENT, "timeout_seconds", Seconds(1.0), "bound of the step in seconds")
        .instead("use `timeout`, which every type of step has"),
    of(
        MODEL | SCRIPT,
        "timeouts",
        Object(&TIMEOUTS),
        "bounds of the parts of a request (default the workflow's); of a script, `idle`: how long it may write nothing",
    ),
    of(MODEL, "max_session_seconds", Seconds(1.0), "seconds for one session").ignored_by(PEOPLE),
    of(AGENT | GOAL, "max_agent_iterations", Integer(1, 500), "rounds of the tool loop").ignored_by(PEOPLE),
    of(
        ANSWER | GOAL,
        "capabilities",
        CAPABILITIES_SHAPE,
        "what bounds the conversation (default the workflow's)",
    ),
    of(MODEL, "context_window", WINDOW, "tokens that the model can take in (default the workflow's)"),
    of(MODEL, "temperature", Number(0.0, 2.0), "randomness of the answers (default the workflow's)"),
    of(MODEL, "max_tokens", Integer(1, 200_000), "output tokens of one answer (default the workflow's)"),
    of(ANSWER, "success_criteria", CRITERIA, "what the answer must meet: a second model checks it"),
    of(MODEL, "repair_model", Text, "model that puts the answer into shape when the agent's own could not"),
    of(AGENT, "session_key", Text, "conversation shared between steps (claude-agent-sdk only)"),
    of(AGENT, "dialog", Object(&DIALOG), "chat with a person"),
    of(MODEL, "reasoning", Object(&REASONING), "how hard to think"),
    of(AGENT, "context_tier", ChoiceOrTemplate(CONTEXT_TIERS), "context size class (copilot only)"),
    of(ANSWER, "validator", Object(&VALIDATOR), "a second model that grades the answer"),
    of(AGENT, "sandbox", Object(&SANDBOX), "sandbox of the step (aca only)"),
    of(AGENT | GOAL | SCRIPT, "working_dir", Template, "directory of the step"),
    of(
        AGENT,
        "dependency_outputs",
        DEPENDENCY_OUTPUTS,
        "whether the outputs of what it needs stand behind its prompt: true, or the most tokens of each",
    ),
    of(ANSWER | GOAL, "skills", TEXTS, "skills (default inherited, `[]` none)"),
    of(AGENT, "plugins", PLUGINS, "plugins (default inherited, `[]` none)"),
    // One answer from many.
    of(
        REDUCE | VERIFY,
        "of",
        OneOf(&[Text, TEXTS]),
        "steps whose outputs are merged, or the step whose answer is examined (default what it needs)",
    ),
    of(REDUCE | VERIFY, "query", Template, "what the answer must answer"),
    of(REDUCE, "strategy", Choice(STRATEGIES), "how outputs are merged (default auto)"),
    of(REDUCE, "ratio", RATIO, "the most outputs in one call (default 10)"),
    of(REDUCE, "group_tokens", GROUP_TOKENS, "the most tokens of outputs in one call (default 24000)"),
    of(REDUCE, "instructions", Template, "further instructions for the model that merges"),
    of(REDUCE, "vote", Object(&VOTE), "how votes are counted"),
    of(REDUCE, "rlm", Object(&RLM), "how programs over outputs are run"),
    of(REDUCE, "min_sources", MIN_SOURCES, "fewer outputs than this are a failure (default 1)"),
    of(REDUCE, "deadline", Shape::Duration, "when it begins with what is there, after the workflow's start"),
    of(VERIFY, "constraints", Template, "what the answer must keep to"),
    of(VERIFY, "assessor", Object(&ASKED), "the model that looks for what is wrong"),
    of(VERIFY, "repairer", Object(&ASKED), "the model that corrects"),
    of(VERIFY, "rounds", ROUNDS, "how often the answer may be corrected (default 2)"),
    of(VERIFY, "severity", Choice(SEVERITIES), "from here on a finding must be corrected (default medium)"),
    of(
        VERIFY,
        "when_open",
        Choice(&["report", "fail"]),
        "what findings that remain come to (default report)",
    ),
    // From a sentence.
    of(GOAL, "goal", Template, "what is to be reached").required_by(GOAL),
    of(GOAL, "context", Template, "further information for the planner"),
    of(GOAL, "roles", Object(&ROLES), "models and words of the single roles, over those of the step"),
    of(GOAL, "max_children", MAX_CHILDREN, "tasks that one task may be split into (default 4)"),
    of(GOAL, "max_tasks", MAX_TASKS, "tasks of the goal in all, however deep (default 100)"),
    of(GOAL, "max_rounds", MAX_ROUNDS, "how often the goal may be planned (default 3)"),
    of(
        GOAL,
        "max_subagents",
        MAX_SUBAGENTS,
        "tasks that may be handed to a sub-agent, which splits them; further ones are done directly (default no bound)",
    ),
    of(GOAL, "max_recoveries", MAX_RECOVERIES, "how often one task may be recovered (default 3)"),
    of(
        GOAL,
        "skip_threshold",
        SKIP_THRESHOLD,
        "percent from which on a task that is thought impossible is skipped (default 70)",
    ),
    of(GOAL, "spawn", Object(&SPAWN), "from here on a task is handed to children without asking"),
    of(GOAL, "policies", Object(&POLICIES), "what follows from a failed task, by its class, first to last"),
    of(GOAL, "backoff", Shape::Duration, "pause before a task is retried; it doubles each time (default 1s)"),
    of(GOAL, "approve", Boolean, "whether a person must approve the plan before anything is done"),
    of(GOAL, "plan_only", Boolean, "whether the plan itself is the answer"),
    of(GOAL, "results", Boolean, "whether the output has the result of each task"),
    of(GOAL, "plan", PLAN, "the plan, where it is known already: no model is asked for one"),
    // People.
    of(GATE, "options", List(&Object(&OPTION)), "answers to choose from")
        .required_by(GATE)
        .ignored_by(AGENT)
        .instead("a questions step has `choices` inside each question"),
    of(QUESTIONS, "questions", List(&Object(&QUESTION)), "the questions"),
    of(QUESTIONS, "source", Text, "path of a list of questions"),
    of(QUESTIONS, "allow_back", Boolean, "whether one may go back (default true)"),
    of(QUESTIONS, "allow_skip", Boolean, "whether a question may be skipped (default true)"),
    of(QUESTIONS, "allow_skip_all", Boolean, "whether the rest may be skipped (default true)"),
    of(QUESTIONS, "allow_abort", Boolean, "whether one may abort (default false)"),
    of(QUESTIONS, "abort_route", Text, "where an abort goes (default `$end`)"),
    // Programs.
    of(SCRIPT, "command", Template, "program to run").required_by(SCRIPT).ignored_by(AGENT | PEOPLE),
    of(SCRIPT, "args", TEMPLATES, "its arguments").ignored_by(AGENT | PEOPLE | WORKFLOW),
    of(SCRIPT, "env", TEMPLATE_MAP, "further environment").ignored_by(AGENT | PEOPLE | WORKFLOW),
    of(SCRIPT, "stdin", Template, "standard input (default inherited)"),
    // Tools.
    of(TOOL, "server", Text, "MCP server that has the tool (default the only one)"),
    of(TOOL, "tool", Text, "the tool, as its server names it").required_by(TOOL),
    of(TOOL, "arguments", Map(&Any), "what it is called with: values whose texts are templates"),
    // Values.
    of(SET, "value", Template, "template of the one value"),
    of(SET, "values", TEMPLATE_MAP, "templates of several values"),
    of(SET, "output_type", Choice(SetType::WORDS), "how the text of `value` is read (default auto)"),
    // Ends and pauses.
    of(TERMINATE, "status", Choice(TerminateStatus::WORDS), "how the workflow ends").required_by(TERMINATE),
    of(TERMINATE | WAIT, "reason", Template, "why").required_by(TERMINATE),
    of(TERMINATE, "output_template", TEMPLATE_MAP, "output instead of the workflow's"),
    of(
        WAIT,
        "duration",
        OneOf(&[Shape::Duration, Template]),
        "how long: seconds, a text such as `5m`, or a template",
    )
    .required_by(WAIT)
    .instead("use `timeout` to bound a step"),
    // Other workflows.
    of(WORKFLOW, "workflow", Text, "path of the workflow file")
        .required_by(WORKFLOW)
        .ignored_by(AGENT | PEOPLE | SCRIPT),
    of(WORKFLOW, "input_mapping", TEMPLATE_MAP, "inputs of the workflow (default: this one's inputs)"),
    of(WORKFLOW | GOAL, "max_depth", Integer(1, 10), "bound of nesting (of a goal: default 4)"),
];
