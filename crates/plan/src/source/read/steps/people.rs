//! `type: human_gate` and `type: questions`: rules about their keys.

use std::collections::HashMap;

use super::super::super::section::Section;
use super::super::super::text::{Spanned, Text};
use super::super::super::workflow::{GateOption, GateStep, OnTimeout, Question, QuestionsStep};
use super::super::Reader;
use super::super::fields::Fields;
use super::super::group::check_source;
use super::agent::two_timeouts;
use crate::diagnostic::Span;

/// Reads the options of a gate.
pub fn gate_options(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Vec<GateOption> {
    let items = fields.list(cx, key);
    if let (Some([]), Some(place)) = (items, fields.place_of(key)) {
        let message = format!("`{key}` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, place, "a gate needs at least one option");
    }
    let mut options = Vec::new();
    for (index, item) in items.unwrap_or_default().iter().enumerate() {
        options.extend(GateOption::at(cx, item, format!("option {} of {}", index + 1, fields.owner)));
    }
    unique(cx, &fields.owner, "option value", options.iter().map(|option| &option.value));
    options
}

/// What a gate takes when the time is over must be an answer that a person could give, and there must be such a time.
pub fn judge_gate(cx: &mut Reader<'_>, fields: &Fields<'_>, gate: &mut GateStep) {
    needs_time(cx, fields, &["default", "on_timeout"]);
    match (&gate.default, gate.on_timeout.as_ref()) {
        (None, Some(word)) if word.value == OnTimeout::Default => {
            let message = format!("`on_timeout: default` of {} needs `default`", fields.owner);
            cx.error("workflow::needs_key", message, &word.span, "which option is that?");
        }
        (Some(_), Some(word)) if word.value == OnTimeout::Fail => {
            let message = format!("`default` of {} is never taken: it has `on_timeout: fail`", fields.owner);
            cx.error("workflow::bad_default", message, &word.span, "leave one of the two out");
        }
        (Some(default), _) => judge_default(cx, fields, default, &gate.options),
        _ => {}
    }
}

fn judge_default(
    cx: &mut Reader<'_>,
    fields: &Fields<'_>,
    default: &Spanned<String>,
    options: &[GateOption],
) {
    let known =
        || options.iter().map(|option| format!("`{}`", option.value.value)).collect::<Vec<_>>().join(", ");
    let (message, label) = match options.iter().find(|option| option.value.value == default.value) {
        // Options that could not be read were reported.
        None if options.is_empty() => return,
        None => {
            let message =
                format!("`{}` is not among the options of {}: {}", default.value, fields.owner, known());
            (message, "no option has this value")
        }
        Some(option) if option.prompt_for.is_some() => {
            let message = format!("option `{}` of {} asks for a text", default.value, fields.owner);
            (message, "nobody is there to give it when the time is over")
        }
        Some(_) => return,
    };
    cx.error("workflow::bad_default", message, &default.span, label);
}

/// These keys say what follows when a time is over, so there must be one.
fn needs_time(cx: &mut Reader<'_>, fields: &Fields<'_>, keys: &[&str]) {
    two_timeouts(cx, fields);
    if fields.place_of("timeout").is_some() || fields.place_of("timeout_seconds").is_some() {
        return;
    }
    for (key, place) in keys.iter().filter_map(|key| Some((key, fields.place_of(key)?))) {
        let message = format!("`{key}` of {} needs `timeout`", fields.owner);
        cx.error("workflow::needs_key", message, place, "without a time to answer it has no effect");
    }
}

/// Reads a list of questions. That it is empty says nothing where they come from a `source`.
pub fn questions(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Vec<Question>> {
    let items = fields.list(cx, key)?;
    if let ([], Some(place), None) = (items, fields.place_of(key), fields.place_of("source")) {
        let message = format!("`{key}` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, place, "ask at least one question");
    }
    let mut questions = Vec::new();
    for (index, item) in items.iter().enumerate() {
        questions.extend(Question::at(cx, item, format!("question {} of {}", index + 1, fields.owner)));
    }
    unique(cx, &fields.owner, "question id", questions.iter().filter_map(|question| question.id.as_ref()));
    Some(questions)
}

/// Questions come from one place, and an abort goes somewhere only where one may abort.
pub fn judge_questions(cx: &mut Reader<'_>, fields: &Fields<'_>, step: &mut QuestionsStep) {
    if !fields.exactly_one(cx, "questions", "source") {
        (step.questions, step.source) = (None, None);
    }
    step.source.take_if(|source| !check_source(cx, source, fields.of("source")));
    if let (Some(route), false) = (&step.abort_route, step.allow_abort) {
        let message = format!("`abort_route` of {} needs `allow_abort: true`", fields.owner);
        cx.error("workflow::needs_key", message, &route.span, "the questions cannot be aborted");
    }
    needs_time(cx, fields, &["on_timeout"]);
    let takes_defaults = step.on_timeout.as_ref().is_some_and(|word| word.value == OnTimeout::Default);
    let listed = step.questions.iter().flatten();
    for question in
        listed.filter(|question| takes_defaults && question.required && question.default.is_none())
    {
        let message = format!(
            "`on_timeout: default` of {}: a question that must be answered has no default",
            fields.owner
        );
        cx.error(
            "workflow::bad_default",
            message,
            &question.span,
            "give it a `default`, or do not require it",
        );
    }
}

/// The text of a question; an empty one where it is missing (which is reported).
pub fn question_text(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Text {
    fields.template(cx, key).unwrap_or_else(|| Text::opaque("", fields.head.clone()))
}

/// A question can be answered, in ways that can be told apart.
pub fn judge_question(cx: &mut Reader<'_>, fields: &Fields<'_>, question: &mut Question) {
    if question.choices.is_empty() && !question.allow_free_text {
        let message = format!("{} has no `choices` and allows no free text", fields.owner);
        cx.error("workflow::bad_question", message, &fields.head, "it could never be answered");
    }
    let choices: Vec<_> =
        question.choices.iter().map(|text| Spanned::new(text.value.clone(), text.span.clone())).collect();
    unique(cx, &fields.owner, "choice", choices.iter());
    let plain =
        question.default.as_ref().filter(|text| !text.value.contains("{{") && !text.value.contains("{%"));
    let misses = |text: &&Text| !question.choices.iter().any(|choice| choice.value == text.value);
    let closed = !question.allow_free_text && !question.choices.is_empty();
    if let Some(default) = plain.filter(misses).filter(|_| closed) {
        let message = format!("the default `{}` of {} is not among its choices", default.value, fields.owner);
        cx.error("workflow::bad_default", message, &default.span, "no choice has this value");
    }
}

/// Reports a word that stands twice where each may stand once.
fn unique<'a>(
    cx: &mut Reader<'_>,
    owner: &str,
    what: &str,
    words: impl Iterator<Item = &'a Spanned<String>>,
) {
    let mut seen: HashMap<&str, &Span> = HashMap::new();
    for word in words {
        if let Some(first) = seen.insert(&word.value, &word.span) {
            let message = format!("{what} `{}` stands twice in {owner}", word.value);
            let finding = cx.error("workflow::duplicate", message, &word.span, "the second one");
            finding
                .labels
                .push(crate::diagnostic::Label { span: first.clone(), text: "the first one".into() });
        }
    }
}
