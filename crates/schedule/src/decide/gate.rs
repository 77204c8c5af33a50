//! Questions to people: gates and forms.
//!
//! A task that waits for an answer is parked and holds nothing. An answer that does not fit is refused where it is
//! given (`answer_fits`), so that what is in the journal can always be acted on.

use crate::outputs::{Outputs, store};
use crate::scheduler::{Command, Scheduler};
use crate::state::{State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::{
    Answer, AnswerOrigin, AnswerSource, Ask, AskOption, Class, Event, Failure, Question, Timestamp, Verdict,
    ruled_alike,
};
use convoke_plan::template::{Value, to_json};
use convoke_plan::{Gate, GateRoute, Kind, QuestionSource, QuestionText, Questions, Span};
use indexmap::IndexMap;
use serde_json::{Value as Json, json};
use std::time::Duration;

impl Scheduler {
    pub(crate) fn begin_gate(&mut self, task: TaskIx, gate: &Gate, outputs: &dyn Outputs) {
        match self.view(outputs).gate_ask(task, gate) {
            Err(failure) => self.fail_begin(task, failure),
            Ok(ask) if self.skip_gates => {
                let value = gate.options.first().map(|option| option.value.clone()).unwrap_or_default();
                self.open_gate(task, &ask, outputs);
                let answer = Answer::Choice { value, input: IndexMap::new() };
                self.answer_by_rule(task, &answer, AnswerOrigin::SkipGates, outputs);
            }
            Ok(ask) => self.open_gate(task, &ask, outputs),
        }
    }

    pub(crate) fn begin_questions(&mut self, task: TaskIx, form: &Questions, outputs: &dyn Outputs) {
        match self.view(outputs).form_ask(task, form) {
            Err(failure) => self.fail_begin(task, failure),
            // Nothing to ask is nothing to wait for, and nothing that could be skipped.
            Ok(Ask::Questions { questions, .. }) if questions.is_empty() => {
                self.succeed(task, &form_output(&[], &IndexMap::new(), false, false), outputs);
            }
            Ok(ask) if self.skip_gates => {
                // No person is there: what has a default takes it, the rest is skipped.
                self.open_gate(task, &ask, outputs);
                self.answer_by_rule(task, &no_answers(), AnswerOrigin::SkipGates, outputs);
            }
            Ok(ask) => self.open_gate(task, &ask, outputs),
        }
    }

    /// Every question of a run is opened here: it gets its number, and the hash that answers are bound to.
    pub(crate) fn open_gate(&mut self, task: TaskIx, ask: &Ask, outputs: &dyn Outputs) {
        // It may have asked for a permit already: a task that waits for a person holds no place in the queue.
        if self.tasks[task].queued {
            self.command(Command::Withdraw(task));
        }
        let shown = Some(ask.shown());
        let until = match ask {
            Ask::Approval { within_ms, .. } if !self.answers_in_its_time(task) => {
                Some(self.now + Duration::from_millis(*within_ms))
            }
            _ => self.answer_deadline(task),
        };
        let ask = store(outputs, &serde_json::to_value(ask).expect("an ask is JSON"));
        let (id, question, until) = (self.tasks[task].id.clone(), self.question(task) + 1, until);
        self.emit(Event::GateOpened { task: id, question, ask, shown, until });
    }

    /// An answer that no person gave.
    fn answer_by_rule(&mut self, task: TaskIx, answer: &Answer, origin: AnswerOrigin, outputs: &dyn Outputs) {
        let answer = store(outputs, &serde_json::to_value(answer).expect("an answer is JSON"));
        self.emit(Event::GateAnswered {
            task: self.tasks[task].id.clone(),
            question: self.question(task),
            answer,
            by: origin.words().to_owned(),
            from: Some(Box::new(AnswerSource::rule(origin))),
        });
    }

    /// The time to answer is over: the default is the answer if there is one. False if not.
    pub(crate) fn expire_gate(&mut self, task: TaskIx, outputs: &dyn Outputs) -> bool {
        if self.tasks[task].state != TaskState::Asking {
            return false;
        }
        // An answer that came in time is acted on next; what it leads to is not the time's business.
        let is_gate = matches!(self.node(task).kind, Kind::Gate(_) | Kind::Questions(_));
        if self.is_answered(task) {
            return is_gate;
        }
        let answer = match &self.node(task).kind {
            Kind::Gate(Gate { default: Some(value), .. }) => {
                Answer::Choice { value: value.clone(), input: IndexMap::new() }
            }
            Kind::Questions(form) if form.default_on_timeout => no_answers(),
            _ => return false,
        };
        // Questions that are found when the run is there may have no default where one is needed.
        let fits = self.asked(task, outputs).is_some_and(|ask| answer.refusal(&ask).is_none());
        if fits {
            self.answer_by_rule(task, &answer, AnswerOrigin::Timeout, outputs);
        }
        fits
    }

    /// The time to allow calls is over: that counts as a refusal, of which the agent learns.
    pub(crate) fn expire_approval(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        if self.tasks[task].state != TaskState::Asking || self.is_answered(task) {
            return;
        }
        if let Some(Ask::Approval { calls, .. }) = self.asked(task, outputs) {
            let answer = ruled_alike(&calls, Verdict::Expired, None);
            self.answer_by_rule(task, &answer, AnswerOrigin::Timeout, outputs);
        }
    }

    pub(crate) fn asked(&self, task: TaskIx, outputs: &dyn Outputs) -> Option<Ask> {
        let ask = self.tasks[task].ask.clone().and_then(|ask| self.view(outputs).read(&ask))?;
        serde_json::from_str(ask.as_str()).ok()
    }

    /// An answer becomes the step's output.
    pub(crate) fn settle_gate(&mut self, task: TaskIx, answer: &Answer, outputs: &dyn Outputs) {
        let output = match answer {
            Answer::Choice { value, input } => json!({ "selected": value, "additional_input": input }),
            Answer::Questions { answers, aborted, skipped_rest } => {
                let Some(Ask::Questions { questions, .. }) = self.asked(task, outputs) else { return };
                form_output(&questions, answers, *aborted, *skipped_rest)
            }
            Answer::Plan { .. } | Answer::Retry | Answer::Fail | Answer::Approval { .. } => return,
        };
        self.succeed(task, &output, outputs);
    }
}

impl View<'_> {
    fn gate_ask(&self, task: TaskIx, gate: &Gate) -> Result<Ask, Failure> {
        let prompt = self.render_full(task, &gate.prompt, "prompt")?;
        let mut options = Vec::new();
        for option in &gate.options {
            options.push(AskOption {
                label: self.render_full(task, &option.label, "option label")?,
                value: option.value.clone(),
                prompt_for: option.prompt_for.clone(),
                multiline: option.multiline,
            });
        }
        Ok(Ask::Choice { prompt, options, default: gate.default.clone() })
    }

    fn form_ask(&self, task: TaskIx, form: &Questions) -> Result<Ask, Failure> {
        let prompt = form.prompt.as_ref().map(|text| self.render_full(task, text, "prompt")).transpose()?;
        let mut questions = match &form.source {
            QuestionSource::Listed(listed) => listed
                .iter()
                .map(|question| self.listed_question(task, question))
                .collect::<Result<_, _>>()?,
            QuestionSource::Path(path) => self.found_questions(task, path)?,
        };
        number_questions(&mut questions);
        if let Some(twice) = duplicate_id(&questions) {
            return Err(self.bad_form(task, &format!("two questions have the id `{twice}`")));
        }
        if let Some(question) = questions.iter().find(|q| q.choices.is_empty() && !q.allow_free_text) {
            return Err(
                self.bad_form(task, &format!("question `{}` has neither choices nor free text", question.id))
            );
        }
        Ok(Ask::Questions {
            prompt,
            questions,
            allow_back: form.allow_back,
            allow_skip: form.allow_skip,
            allow_skip_all: form.allow_skip_all,
            allow_abort: form.allow_abort,
            default_on_timeout: form.default_on_timeout,
        })
    }

    fn listed_question(&self, task: TaskIx, question: &QuestionText) -> Result<Question, Failure> {
        let optional = |text: &Option<convoke_plan::Text>, what: &str| {
            text.as_ref().map(|text| self.render_full(task, text, what)).transpose()
        };
        Ok(Question {
            id: question.id.clone().unwrap_or_default(),
            text: self.render_full(task, &question.text, "question")?,
            hint: optional(&question.hint, "hint")?,
            choices: question.choices.clone(),
            allow_free_text: question.allow_free_text,
            default: optional(&question.default, "default")?,
            required: question.required,
            multiline: question.multiline,
        })
    }

    /// Questions from an earlier output: plain texts, or objects with the keys of the file.
    fn found_questions(&self, task: TaskIx, path: &[String]) -> Result<Vec<Question>, Failure> {
        let list = self.value_at(task, path, "source")?;
        let Json::Array(items) = to_json(&list) else {
            return Err(self.bad_form(task, &format!("source `{}` is not a list", path.join("."))));
        };
        items
            .into_iter()
            .map(|item| {
                question_from(&item).ok_or_else(|| {
                    self.bad_form(
                        task,
                        &format!("source `{}` holds something that is no question: {item}", path.join(".")),
                    )
                })
            })
            .collect()
    }

    /// Where a gate's chosen option, or a form that was given up, leads.
    pub(crate) fn answered_route(&self, task: TaskIx) -> Option<GateRoute> {
        let output = || to_json(&self.output_value(task));
        match &self.node(task).kind {
            Kind::Gate(gate) => {
                let output = output();
                let chosen = output.get("selected")?.as_str()?;
                gate.options.iter().find(|option| option.value == chosen)?.route
            }
            Kind::Questions(form) if output().get("outcome") == Some(&json!("aborted")) => {
                Some(form.abort_route.unwrap_or(GateRoute::End))
            }
            _ => None,
        }
    }

    /// The value at a dotted path such as `finder.output.items` or `workflow.input.items`.
    pub(crate) fn value_at(&self, task: TaskIx, path: &[String], what: &str) -> Result<Value, Failure> {
        let fail = |why: String| {
            let text = format!("step `{}`: {what} `{}`: {why}", self.node(task).name, path.join("."));
            Failure::new(Class::Fatal, text)
        };
        let mut value =
            self.named_value(task, &path[0])?.ok_or_else(|| fail(format!("`{}` is not there", path[0])))?;
        for field in &path[1..] {
            let next = match field.parse::<usize>() {
                Ok(index) if value.kind() == minijinja_sequence() => value.get_item_by_index(index),
                _ => value.get_attr(field),
            };
            value = next
                .ok()
                .filter(|next| !next.is_undefined())
                .ok_or_else(|| fail(format!("there is no `{field}` in {}", kind_word(&value))))?;
        }
        Ok(value)
    }
}

/// A form that nobody has filled in.
fn no_answers() -> Answer {
    Answer::Questions { answers: IndexMap::new(), aborted: false, skipped_rest: true }
}

impl State {
    /// When the time to answer a question that is asked now is over.
    fn answer_deadline(&self, task: TaskIx) -> Option<Timestamp> {
        if !self.answers_in_its_time(task) {
            return None;
        }
        match (self.tasks[task].started, &self.node(task).timeout) {
            (None, Some(Span::Millis(limit))) => Some(self.now + Duration::from_millis(*limit)),
            _ => self.deadline(task),
        }
    }

    fn bad_form(&self, task: TaskIx, why: &str) -> Failure {
        Failure::new(Class::Fatal, format!("questions step `{}`: {why}", self.node(task).name))
    }
}

fn minijinja_sequence() -> convoke_plan::template::ValueKind {
    convoke_plan::template::ValueKind::Seq
}

/// What kind of thing a value is, in words.
pub(crate) fn kind_word(value: &Value) -> &'static str {
    match to_json(value) {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a map",
    }
}

fn question_from(item: &Json) -> Option<Question> {
    let text_of = |key: &str| item.get(key).and_then(Json::as_str).map(str::to_owned);
    let flag = |key: &str, default: bool| item.get(key).and_then(Json::as_bool).unwrap_or(default);
    let text =
        item.as_str().map(str::to_owned).or_else(|| text_of("text")).or_else(|| text_of("question"))?;
    let choices = item.get("choices").and_then(Json::as_array);
    let words =
        |list: &Vec<Json>| list.iter().filter_map(|choice| choice.as_str().map(str::to_owned)).collect();
    Some(Question {
        id: text_of("id").unwrap_or_default(),
        text,
        hint: text_of("hint"),
        choices: choices.map(words).unwrap_or_default(),
        allow_free_text: flag("allow_free_text", true),
        default: text_of("default"),
        required: flag("required", false),
        multiline: flag("multiline", true),
    })
}

fn number_questions(questions: &mut [Question]) {
    for (position, question) in questions.iter_mut().enumerate() {
        if question.id.is_empty() {
            question.id = format!("q{}", position + 1);
        }
    }
}

fn duplicate_id(questions: &[Question]) -> Option<&str> {
    let mut known = convoke_model::hash::HashSet::default();
    questions.iter().map(|question| question.id.as_str()).find(|id| !known.insert(*id))
}

fn form_output(
    questions: &[Question],
    given: &IndexMap<String, String>,
    aborted: bool,
    skipped_rest: bool,
) -> Json {
    let mut answers = serde_json::Map::new();
    let mut items = Vec::new();
    let mut transcript = Vec::new();
    for (position, question) in questions.iter().enumerate() {
        let answer = given.get(&question.id).or(question.default.as_ref().filter(|_| !aborted));
        let source = match (given.get(&question.id), answer) {
            (Some(text), _) if question.choices.contains(text) => "choice",
            (Some(_), _) => "free_text",
            (None, Some(_)) => "default",
            (None, None) => "skipped",
        };
        if let Some(answer) = answer {
            answers.insert(question.id.clone(), json!(answer));
            transcript.push(format!("Q{}. {}\nA: {answer}", position + 1, question.text));
        }
        items.push(json!({
            "id": question.id, "question": question.text, "answer": answer,
            "source": source, "skipped": answer.is_none(),
        }));
    }
    let answered = answers.len();
    let outcome = if aborted {
        "aborted"
    } else if skipped_rest {
        "skipped_remaining"
    } else {
        "completed"
    };
    json!({
        "answers": answers, "items": items, "transcript": transcript.join("\n\n"), "answered_count": answered,
        "skipped_count": questions.len() - answered, "answered_any": answered > 0, "outcome": outcome,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_nobody_answers_keeps_its_defaults_and_says_what_was_skipped() {
        let asked = json!([
            "Who?",
            { "id": "how", "text": "How?", "choices": ["slow", "fast"], "default": "fast" },
        ]);
        let mut questions: Vec<_> = asked.as_array().unwrap().iter().filter_map(question_from).collect();
        number_questions(&mut questions);
        let expected = json!({
            "answers": { "how": "fast" },
            "items": [
                { "id": "q1", "question": "Who?", "answer": null, "source": "skipped", "skipped": true },
                { "id": "how", "question": "How?", "answer": "fast", "source": "default", "skipped": false },
            ],
            "transcript": "Q2. How?\nA: fast",
            "answered_count": 1, "skipped_count": 1, "answered_any": true, "outcome": "skipped_remaining",
        });
        assert_eq!(form_output(&questions, &IndexMap::new(), false, true), expected);
    }

    #[test]
    fn a_transcript_separates_its_answers_by_a_blank_line() {
        let mut questions: Vec<_> =
            [json!("Who?"), json!("When?")].iter().filter_map(question_from).collect();
        number_questions(&mut questions);
        let given =
            IndexMap::from([("q1".to_owned(), "Ann".to_owned()), ("q2".to_owned(), "now".to_owned())]);
        let output = form_output(&questions, &given, false, false);
        assert_eq!(output["transcript"], "Q1. Who?\nA: Ann\n\nQ2. When?\nA: now");
        assert_eq!(output["outcome"], "completed");
    }
}
