//! Questions to people and their answers, as gates carry them.

use crate::asked::{AskedCall, Ruling, refused_rulings};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A question to a person, as `GateOpened` carries it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Choose one of some options.
    Choice {
        /// The question.
        prompt: String,
        /// The options, in the order of the file.
        options: Vec<AskOption>,
        /// The option that is taken when the time to answer is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    /// Answer some questions.
    Questions {
        /// Words before the first question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// The questions.
        questions: Vec<Question>,
        /// One may go back to the question before.
        allow_back: bool,
        /// A question may be skipped.
        allow_skip: bool,
        /// All that are left may be skipped.
        allow_skip_all: bool,
        /// The form may be given up.
        allow_abort: bool,
        /// The questions' own defaults are taken when the time to answer is over.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        default_on_timeout: bool,
    },
    /// A plan that a model made: may it be carried out, perhaps changed?
    Plan {
        /// The question.
        prompt: String,
        /// The plan, as YAML that a person can edit.
        plan: String,
    },
    /// An attempt that a crash cut off: did it happen?
    Unknown {
        /// What is not known.
        prompt: String,
    },
    /// An agent wants to call tools: may each of these calls be made?
    Approval {
        /// Who asks, and what it was asked to do.
        prompt: String,
        /// The calls, all of one turn.
        calls: Vec<AskedCall>,
        /// The time to answer, in milliseconds; then the calls count as denied.
        within_ms: u64,
    },
}

/// One option of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskOption {
    /// What a person reads.
    pub label: String,
    /// What the workflow gets.
    pub value: String,
    /// A text to ask for when it is chosen; also the text's name in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_for: Option<String>,
    /// Whether that text may have several lines.
    #[serde(default)]
    pub multiline: bool,
}

/// One question of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its name in the answers.
    pub id: String,
    /// The question.
    pub text: String,
    /// A word of help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Answers to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Whether other text may be given.
    pub allow_free_text: bool,
    /// The answer if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether it must be answered.
    pub required: bool,
    /// Whether the answer may have several lines.
    pub multiline: bool,
}

/// A person's answer, as `GateAnswered` carries it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// One option was chosen.
    Choice {
        /// The option's value.
        value: String,
        /// The texts that were asked for.
        #[serde(default)]
        input: IndexMap<String, String>,
    },
    /// The form was filled in: an answer per question id; absent ones were skipped.
    Questions {
        /// The answers.
        answers: IndexMap<String, String>,
        /// The form was given up.
        #[serde(default)]
        aborted: bool,
        /// What was left was skipped at once.
        #[serde(default)]
        skipped_rest: bool,
    },
    /// The plan is to be carried out as it stands here.
    Plan {
        /// The plan, as YAML.
        plan: String,
    },
    /// A cut-off attempt: try it again.
    Retry,
    /// A cut-off attempt: take it as failed; a plan: do not carry it out.
    Fail,
    /// What is decided about each call, by the call's name in the question.
    Approval {
        /// The decisions.
        rulings: IndexMap<String, Ruling>,
    },
}

impl Answer {
    /// Why this answer does not fit the question; `None` if it does.
    pub fn refusal(&self, ask: &Ask) -> Option<String> {
        match (ask, self) {
            (Ask::Choice { options, .. }, Answer::Choice { value, .. }) => {
                let known: Vec<_> = options.iter().map(|option| option.value.as_str()).collect();
                (!known.contains(&value.as_str()))
                    .then(|| format!("`{value}` is not among its options: {}", known.join(", ")))
            }
            (Ask::Questions { questions, allow_abort, .. }, Answer::Questions { answers, aborted, .. }) => {
                refused_form(questions, *allow_abort, answers, *aborted)
            }
            (Ask::Plan { .. }, Answer::Plan { .. } | Answer::Fail) => None,
            (Ask::Unknown { .. }, Answer::Retry | Answer::Fail) => None,
            (Ask::Approval { calls, .. }, Answer::Approval { rulings }) => refused_rulings(calls, rulings),
            _ => Some("it asks something else".into()),
        }
    }
}

fn refused_form(
    questions: &[Question],
    allow_abort: bool,
    answers: &IndexMap<String, String>,
    aborted: bool,
) -> Option<String> {
    if aborted {
        return (!allow_abort).then(|| "it cannot be given up".into());
    }
    let unknown = answers.keys().find(|id| !questions.iter().any(|question| question.id == **id));
    if let Some(id) = unknown {
        let known: Vec<_> = questions.iter().map(|question| question.id.as_str()).collect();
        return Some(format!("there is no question `{id}`; the questions are {}", known.join(", ")));
    }
    questions.iter().find_map(|question| match answers.get(&question.id) {
        Some(text) if !question.allow_free_text && !question.choices.contains(text) => Some(format!(
            "`{text}` is not among the choices of `{}`: {}",
            question.id,
            question.choices.join(", ")
        )),
        None if question.required && question.default.is_none() => {
            Some(format!("question `{}` must be answered", question.id))
        }
        _ => None,
    })
}
