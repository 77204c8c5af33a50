//! The types of steps, and which of them has which key.
//!
//! A key of steps is a field of a struct of `workflow`; the structs are listed here in the order of the reference. A key is an
//! error on a type that neither uses it nor takes it without any effect (files written for Conductor may have it there).

use std::sync::LazyLock;

use super::super::section::OfSteps;
use super::super::shape::Shape::{Choice, Text};
use super::super::shape::{Key, Shape, optional};
use super::super::workflow::{
    AgentStep, Common, GateStep, GoalStep, QuestionsStep, ReduceStep, ScriptStep, SetStep, TerminateStep,
    ToolStep, VerifyStep, WaitStep, WorkflowStep,
};

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
    /// The types that use it.
    pub(in crate::source) used: u16,
    /// Those that take it without any effect.
    pub(in crate::source) ignored: u16,
    /// Those that cannot do without it.
    pub(in crate::source) must: u16,
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
}

/// The key of this name.
pub fn step_key(name: &str) -> Option<&'static StepKey> {
    STEP_KEYS.iter().copied().find(|row| row.key.name == name)
}

/// Sets of types of steps, as fields of structs name them.
pub(in crate::source) mod types {
    use super::StepType;

    pub const AGENT: u16 = StepType::Agent.bit();
    pub const GOAL: u16 = StepType::Goal.bit();
    pub const GATE: u16 = StepType::HumanGate.bit();
    pub const QUESTIONS: u16 = StepType::Questions.bit();
    pub const REDUCE: u16 = StepType::Reduce.bit();
    pub const SCRIPT: u16 = StepType::Script.bit();
    pub const SET: u16 = StepType::Set.bit();
    pub const TERMINATE: u16 = StepType::Terminate.bit();
    pub const TOOL: u16 = StepType::Tool.bit();
    pub const VERIFY: u16 = StepType::Verify.bit();
    pub const WAIT: u16 = StepType::Wait.bit();
    pub const WORKFLOW: u16 = StepType::Workflow.bit();
    pub const ALL: u16 = (1 << StepType::ALL.len()) - 1;
    pub const PEOPLE: u16 = GATE | QUESTIONS;
    /// Types that ask a model whose keys stand on the step.
    pub const MODEL: u16 = AGENT | GOAL | REDUCE | VERIFY;
    /// Those that let it answer in a shape, and judge what it says.
    pub const ANSWER: u16 = AGENT | REDUCE;
}

/// What every step begins with.
static BEGIN: [StepKey; 3] = [
    StepKey { must: types::ALL, ..every("name", Text, "name of the step") },
    every("type", Choice(StepType::WORDS), "what the step does (default agent)"),
    StepKey {
        used: types::AGENT,
        ..every(
            "role",
            Text,
            "a role of an organisation, `org:FILE#ROLE`: gives what the step does not say itself",
        )
    },
];

const fn every(name: &'static str, shape: Shape, doc: &'static str) -> StepKey {
    StepKey { key: optional(name, shape, doc), used: types::ALL, ignored: 0, must: 0, instead: "" }
}

/// Every key that some type of step has.
pub static STEP_KEYS: LazyLock<Vec<&'static StepKey>> = LazyLock::new(|| {
    let structs = [
        Common::ROWS,
        AgentStep::ROWS,
        ReduceStep::ROWS,
        VerifyStep::ROWS,
        GoalStep::ROWS,
        GateStep::ROWS,
        QuestionsStep::ROWS,
        ScriptStep::ROWS,
        ToolStep::ROWS,
        SetStep::ROWS,
        TerminateStep::ROWS,
        WaitStep::ROWS,
        WorkflowStep::ROWS,
    ];
    BEGIN.iter().chain(structs.into_iter().flatten().copied().flatten()).collect()
});
