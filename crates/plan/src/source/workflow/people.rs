//! Steps that ask a person: gates and questions.

use super::super::read::{self, Fields};
use super::super::section::section;
use super::super::text::{Spanned, Text};
use crate::diagnostic::Span;
use std::time::Duration;

section! {
    /// `type: human_gate`.
    #[derive(Debug, Clone)]
    pub struct GateStep of steps {
        /// answers to choose from
        #[by(read::people::gate_options)]
        #[on(GATE)]
        #[required_on(GATE)]
        #[ignored_on(AGENT)]
        #[instead("a questions step has `choices` inside each question")]
        pub options: Vec<GateOption>,
        /// the option that is taken when the time to answer is over; needs `timeout`
        #[on(GATE)]
        #[instead("a question of a questions step has its own `default`")]
        pub default: Option<Spanned<String>>,
        /// what happens when the time to answer is over: `default`, or `fail` (default `default` where a gate has one)
        #[on(PEOPLE)]
        pub on_timeout: Option<Spanned<OnTimeout>>,
        /// The question (template); `None` when it is missing (which is reported).
        pub prompt: Option<Text>,
        /// The time to answer.
        pub timeout_seconds: Option<Spanned<Duration>> => Seconds(1.0),
    } judge read::people::judge_gate
}

/// What becomes of a question when the time to answer it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTimeout {
    /// The default is the answer.
    Default,
    /// The step fails, as if it had been refused.
    Fail,
}

section! {
    /// One answer of a gate.
    #[derive(Debug, Clone)]
    pub struct GateOption = "gate_option", "an option" {
        /// what the person reads
        pub label: Text,
        /// what becomes `selected`
        pub value: Spanned<String>,
        /// step or group to go to, or `$end`; not inside a group
        pub route: Option<Spanned<String>>,
        /// name of a further text to ask for
        pub prompt_for: Option<Spanned<String>>,
        /// whether that text may have several lines (default false)
        pub multiline: bool = false,
    } with {
        /// Place of the option.
        pub span: Span = Fields::place,
    }
}

section! {
    /// `type: questions`: from a list in the file, or from one that is known when the run is there.
    #[derive(Debug, Clone)]
    pub struct QuestionsStep of steps {
        /// the questions
        #[by(read::people::questions)]
        #[on(QUESTIONS)]
        pub questions: Option<Vec<Question>>,
        /// path of a list of questions
        #[on(QUESTIONS)]
        pub source: Option<Spanned<String>>,
        /// whether one may go back (default true)
        #[on(QUESTIONS)]
        pub allow_back: bool = true,
        /// whether a question may be skipped (default true)
        #[on(QUESTIONS)]
        pub allow_skip: bool = true,
        /// whether the rest may be skipped (default true)
        #[on(QUESTIONS)]
        pub allow_skip_all: bool = true,
        /// whether one may abort (default false)
        #[on(QUESTIONS)]
        pub allow_abort: bool = false,
        /// where an abort goes (default `$end`)
        #[on(QUESTIONS)]
        pub abort_route: Option<Spanned<String>>,
        /// What happens when the time to answer is over.
        pub on_timeout: Option<Spanned<OnTimeout>>,
        /// The time to answer.
        pub timeout_seconds: Option<Spanned<Duration>> => Seconds(1.0),
        /// Shown before the first question (template).
        pub prompt: Option<Text>,
    } judge read::people::judge_questions
}

section! {
    /// One question.
    #[derive(Debug, Clone)]
    pub struct Question = "question", "a question" {
        /// name of the answer (default q1, q2, …)
        pub id: Option<Spanned<String>>,
        /// the question
        #[by(read::people::question_text)]
        #[required = true]
        pub text: Text,
        /// further help
        pub hint: Option<Text>,
        /// answers to choose from
        pub choices: Vec<Text> = Vec::new(),
        /// whether any text may be answered (default true)
        pub allow_free_text: bool = true,
        /// answer when nothing is entered
        pub default: Option<Text>,
        /// whether it must be answered (default false)
        pub required: bool = false,
        /// whether the answer may have several lines (default true)
        pub multiline: bool = true,
    } with {
        /// Place of the question.
        pub span: Span = Fields::place,
    } judge read::people::judge_question
}
