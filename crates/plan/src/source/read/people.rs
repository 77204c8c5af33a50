//! `type: human_gate` and `type: questions`.

use std::collections::HashMap;

use super::super::keys::people::{OPTION, QUESTION};
use super::super::text::Spanned;
use super::super::tree::Node;
use super::super::workflow::{GateOption, GateStep, Question, QuestionsFrom, QuestionsStep};
use super::Reader;
use super::fields::Fields;
use super::group::check_source;
use super::scalars::Of;
use crate::diagnostic::Span;

/// Reads a gate.
pub(super) fn gate(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> GateStep {
    let prompt = fields.template(cx, "prompt");
    let items = fields.list(cx, "options");
    if let (Some([]), Some(place)) = (items, fields.place_of("options")) {
        let message = format!("`options` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, place, "a gate needs at least one option");
    }
    let mut options = Vec::new();
    for (index, item) in items.unwrap_or_default().iter().enumerate() {
        options.extend(option(cx, item, format!("option {} of {}", index + 1, fields.owner)));
    }
    unique(cx, &fields.owner, "option value", options.iter().map(|option| &option.value));
    GateStep { prompt, options }
}

fn option(cx: &mut Reader<'_>, node: &Node, owner: String) -> Option<GateOption> {
    let mut fields = Fields::open(cx, node, &OPTION, owner)?;
    let label = fields.template(cx, "label");
    let value = fields.text(cx, "value");
    let route = fields.text(cx, "route");
    let prompt_for = fields.text(cx, "prompt_for");
    let multiline = fields.flag(cx, "multiline", false);
    fields.finish(cx);
    Some(GateOption { label: label?, value: value?, route, prompt_for, multiline, span: node.span.clone() })
}

/// Reads a questions step.
pub(super) fn questions(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> QuestionsStep {
    let from = questions_from(cx, fields);
    let step = QuestionsStep {
        from,
        prompt: fields.template(cx, "prompt"),
        allow_back: fields.flag(cx, "allow_back", true),
        allow_skip: fields.flag(cx, "allow_skip", true),
        allow_skip_all: fields.flag(cx, "allow_skip_all", true),
        allow_abort: fields.flag(cx, "allow_abort", false),
        abort_route: fields.text(cx, "abort_route"),
    };
    if let (Some(route), false) = (&step.abort_route, step.allow_abort) {
        let message = format!("`abort_route` of {} needs `allow_abort: true`", fields.owner);
        cx.error("workflow::needs_key", message, &route.span, "the questions cannot be aborted");
    }
    step
}

fn questions_from(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<QuestionsFrom> {
    if !fields.exactly_one(cx, "questions", "source") {
        fields.take("questions");
        fields.take("source");
        return None;
    }
    if let Some(source) = fields.text(cx, "source") {
        return check_source(cx, &source, Of { key: "source", owner: &fields.owner })
            .then_some(QuestionsFrom::Source(source));
    }
    let items = fields.list(cx, "questions")?;
    if let ([], Some(place)) = (items, fields.place_of("questions")) {
        let message = format!("`questions` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, place, "ask at least one question");
    }
    let mut questions = Vec::new();
    for (index, item) in items.iter().enumerate() {
        questions.extend(question(cx, item, format!("question {} of {}", index + 1, fields.owner)));
    }
    unique(cx, &fields.owner, "question id", questions.iter().filter_map(|question| question.id.as_ref()));
    Some(QuestionsFrom::Written(questions))
}

fn question(cx: &mut Reader<'_>, node: &Node, owner: String) -> Option<Question> {
    let mut fields = Fields::open(cx, node, &QUESTION, owner)?;
    let text = fields.template(cx, "text");
    let question = Question {
        id: fields.text(cx, "id"),
        text: text.unwrap_or_else(|| super::super::text::Text::opaque("", fields.head.clone())),
        hint: fields.template(cx, "hint"),
        choices: fields.templates(cx, "choices").unwrap_or_default(),
        allow_free_text: fields.flag(cx, "allow_free_text", true),
        default: fields.template(cx, "default"),
        required: fields.flag(cx, "required", false),
        multiline: fields.flag(cx, "multiline", true),
        span: node.span.clone(),
    };
    if question.choices.is_empty() && !question.allow_free_text {
        let message = format!("{} has no `choices` and allows no free text", fields.owner);
        cx.error("workflow::bad_question", message, &fields.head, "it could never be answered");
    }
    let choices: Vec<_> =
        question.choices.iter().map(|text| Spanned::new(text.value.clone(), text.span.clone())).collect();
    unique(cx, &fields.owner, "choice", choices.iter());
    fields.finish(cx);
    Some(question)
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
