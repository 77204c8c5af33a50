//! What is said about a command, a path or a tool, and why.

use crate::authority::Opinion;
use crate::plan::CommandPlan;
use serde::{Deserialize, Serialize};

/// May it be done? Ordered: the strictest of several is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Without asking.
    Allow,
    /// Only if a person says so.
    Ask,
    /// No.
    Deny,
}

impl Verdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        }
    }
}

/// What becomes of a command that no rule allows and no rule denies, and of the work that wanted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnViolation {
    /// A person is asked.
    Ask,
    /// It is denied; the agent is told and goes on.
    ValidationFail,
    /// It is denied, and the run that wanted it ends.
    HardAbort,
}

impl OnViolation {
    /// The words for all of them, as a policy has them.
    pub const WORDS: [&'static str; 3] = ["hard_abort", "validation_fail", "ask"];

    /// The one of a word.
    pub fn from_word(word: &str) -> Option<OnViolation> {
        match word {
            "hard_abort" => Some(OnViolation::HardAbort),
            "validation_fail" => Some(OnViolation::ValidationFail),
            "ask" => Some(OnViolation::Ask),
            _ => None,
        }
    }

    /// The verdict on what no rule allows.
    pub fn verdict(self) -> Verdict {
        match self {
            OnViolation::Ask => Verdict::Ask,
            OnViolation::ValidationFail | OnViolation::HardAbort => Verdict::Deny,
        }
    }
}

/// The rule behind a reason. Stable names for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The text is no plain command, or too large.
    Text,
    /// The shell would compute something.
    Complex,
    /// A deny rule of the policy.
    Denied,
    /// A program or sub-command that the policy does not list.
    Program,
    /// An option, an operand or a program text that the profile of the program does not have.
    Argument,
    /// A path outside the folders of the policy.
    Path,
    /// A protected or secret file.
    Protected,
    /// A variable of the environment.
    Environment,
    /// A host that the policy does not list.
    Network,
    /// A tool.
    Tool,
    /// What another authority of the policy (`cedar`) does not permit.
    Authority,
}

impl Rule {
    /// Whether a person may not override it by saying yes.
    pub fn is_final(self) -> bool {
        matches!(self, Rule::Text | Rule::Denied | Rule::Protected | Rule::Authority)
    }
}

/// Why it is not allowed, in one sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reason {
    /// The rule.
    pub rule: Rule,
    /// The sentence: the word, what is wrong with it, what to do instead.
    pub message: String,
}

impl Reason {
    /// A reason.
    pub fn new(rule: Rule, message: impl Into<String>) -> Reason {
        Reason { rule, message: message.into() }
    }
}

/// What is said about one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// May it be done?
    pub verdict: Verdict,
    /// Why not; empty if it is allowed.
    pub reasons: Vec<Reason>,
    /// What would be executed. Nothing for a text that is no plain command, and for paths and tools.
    pub plan: Option<CommandPlan>,
    /// Whether it ends the work that wanted it: it is denied, and the policy says `hard_abort`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aborts: bool,
    /// What another authority of the policy said to each part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opinions: Vec<Opinion>,
}

impl Judgement {
    /// Allowed, with nothing to execute.
    pub fn allowed() -> Judgement {
        Judgement {
            verdict: Verdict::Allow,
            reasons: Vec::new(),
            plan: None,
            aborts: false,
            opinions: Vec::new(),
        }
    }

    /// The judgement that follows from reasons.
    pub(crate) fn from_reasons(
        reasons: Vec<Reason>,
        otherwise: OnViolation,
        plan: Option<CommandPlan>,
    ) -> Judgement {
        let of = |reason: &Reason| if reason.rule.is_final() { Verdict::Deny } else { otherwise.verdict() };
        let verdict = reasons.iter().map(of).max().unwrap_or(Verdict::Allow);
        Judgement { verdict, reasons, plan, aborts: false, opinions: Vec::new() }
    }

    /// The stricter of two; the reasons of both.
    pub fn strictest(self, other: Judgement) -> Judgement {
        let (mut first, second) = if other.verdict > self.verdict { (other, self) } else { (self, other) };
        for reason in second.reasons {
            if !first.reasons.contains(&reason) {
                first.reasons.push(reason);
            }
        }
        first.aborts |= second.aborts;
        first.opinions.extend(second.opinions);
        first
    }
}
