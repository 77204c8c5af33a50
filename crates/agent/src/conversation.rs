//! Decides what is said next; says nothing itself.
//!
//! A conversation takes replies and gives requests until it is done: ask, send back what does not fit, have the answer
//! graded, ask once more with what the grader found. It knows no clock and no network, and what it holds between two
//! turns is data, so that it can be stored and go on elsewhere. Tokens, time and cancellation are the driver's.

use crate::grade::{self, Verdict};
use crate::{Finish, Message, Misfit, Purpose, Reply, Role, judge, wording};
use convoke_model::{AgentCall, Class, Failure, JsonText, OutputSchema, Validator};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// One agent's conversation with its model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    stage: Stage,
    messages: Vec<Message>,
    /// Answers that could not be used, as they came.
    rejected: Vec<String>,
    /// How often an answer that does not fit may still be sent back.
    recoveries: u32,
    /// How often a graded answer may still be asked for again.
    regrades: u32,
    /// Requests made so far.
    calls: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    /// The step's own model is to speak.
    Asking {
        /// Whether the answer is graded.
        graded: bool,
    },
    /// The grader is to speak about this output.
    Grading { output: JsonText, messages: Vec<Message> },
    /// Nobody is.
    Over(Ending),
}

/// How a conversation ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With an output.
    Output(JsonText),
    /// With a failure.
    Failed(Failure),
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next<'a> {
    /// Ask this and feed the reply.
    Ask(Question<'a>),
    /// Nothing; it has ended.
    Done(&'a Ending),
}

/// One request, without what only the driver knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Question<'a> {
    /// The model to ask.
    pub model: &'a str,
    /// The messages, oldest first.
    pub messages: &'a [Message],
    /// The shape of the answer.
    pub schema: Option<&'a OutputSchema>,
    /// What the answer is for.
    pub purpose: Purpose,
    /// Which request of the attempt this is, from 1.
    pub call: u32,
}

/// Something that a person should know about a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// A stable word.
    pub code: &'static str,
    /// The words.
    pub message: String,
}

impl Conversation {
    /// A conversation that begins.
    pub fn new(call: &AgentCall) -> Conversation {
        let validator = call.settings.validator.as_ref();
        Conversation {
            stage: Stage::Asking { graded: validator.is_some() },
            messages: opening(call, &call.prompt),
            rejected: Vec::new(),
            recoveries: call.settings.parse_recovery,
            regrades: validator.map_or(0, |validator| validator.max_retries),
            calls: 0,
        }
    }

    /// What to do next. Asking again without feeding gives the same answer.
    pub fn next<'a>(&'a self, call: &'a AgentCall) -> Next<'a> {
        let (model, messages, schema, purpose) = match &self.stage {
            Stage::Over(ending) => return Next::Done(ending),
            Stage::Asking { .. } => (&call.model, &self.messages, declared(call), Purpose::Answer),
            Stage::Grading { messages, .. } => {
                (grader_model(call), messages, Some(&*grade::SCHEMA), Purpose::Grade)
            }
        };
        Next::Ask(Question { model, messages, schema, purpose, call: self.calls + 1 })
    }

    /// Takes the answer to the last question, or why there is none.
    pub fn feed(&mut self, call: &AgentCall, step: &str, reply: Result<Reply, Failure>) -> Option<Note> {
        self.calls += 1;
        match std::mem::replace(&mut self.stage, Stage::Asking { graded: false }) {
            Stage::Asking { graded } => {
                self.stage = match reply {
                    Ok(reply) => self.answered(call, step, reply, graded),
                    Err(failure) => Stage::Over(Ending::Failed(failure)),
                };
                None
            }
            Stage::Grading { output, .. } => {
                let (stage, note) = self.graded(call, step, output, reply);
                self.stage = stage;
                note
            }
            over @ Stage::Over(_) => {
                self.stage = over;
                None
            }
        }
    }

    /// The answers that could not be used, for whoever looks into a failure.
    pub fn rejected(&self) -> &[String] {
        &self.rejected
    }

    fn answered(&mut self, call: &AgentCall, step: &str, reply: Reply, graded: bool) -> Stage {
        if reply.finish == Finish::Refusal {
            return self.refused(step, reply);
        }
        match judge::judge(&reply, declared(call)) {
            Ok(output) => match &call.settings.validator {
                Some(validator) if graded => grading(call, step, validator, output),
                _ => Stage::Over(Ending::Output(output)),
            },
            Err(misfit) => self.misfitted(call, step, reply.text, &misfit, graded),
        }
    }

    fn refused(&mut self, step: &str, reply: Reply) -> Stage {
        let said = if reply.text.trim().is_empty() { "" } else { ": " };
        let message = format!("step `{step}`: the model declined to answer{said}{}", reply.text.trim());
        self.rejected.push(reply.text);
        Stage::Over(Ending::Failed(Failure::new(Class::Refused, message).reason("refused")))
    }

    fn misfitted(
        &mut self,
        call: &AgentCall,
        step: &str,
        text: String,
        misfit: &Misfit,
        graded: bool,
    ) -> Stage {
        self.rejected.push(text.clone());
        if self.recoveries == 0 {
            return Stage::Over(Ending::Failed(self.gave_up(step, misfit)));
        }
        self.recoveries -= 1;
        self.messages.push(Message::new(Role::Assistant, text));
        self.messages.push(Message::new(Role::User, wording::ask_again(misfit, declared(call))));
        Stage::Asking { graded }
    }

    fn gave_up(&self, step: &str, misfit: &Misfit) -> Failure {
        let tries = match self.rejected.len() {
            1 => String::new(),
            many => format!(" (asked {many} times)"),
        };
        let message = format!("step `{step}`: the answer does not fit{tries}: {}", misfit.message);
        Failure::new(Class::InvalidOutput, message).reason(misfit.reason.word())
    }

    fn graded(
        &mut self,
        call: &AgentCall,
        step: &str,
        output: JsonText,
        reply: Result<Reply, Failure>,
    ) -> (Stage, Option<Note>) {
        let verdict = match reply {
            Ok(reply) => grade::read(&reply.text),
            Err(failure) if failure.class == Class::Cancelled => {
                return (Stage::Over(Ending::Failed(failure)), None);
            }
            Err(failure) => Verdict::Unclear(failure.message),
        };
        match verdict {
            Verdict::Passed => (Stage::Over(Ending::Output(output)), None),
            Verdict::Rejected(issues) => self.rejected_by_grader(call, step, output, &issues),
            Verdict::Unclear(why) => {
                let message =
                    format!("step `{step}`: the validator gave no verdict, so the answer passes: {why}");
                (Stage::Over(Ending::Output(output)), Some(Note { code: "validator_failed", message }))
            }
        }
    }

    fn rejected_by_grader(
        &mut self,
        call: &AgentCall,
        step: &str,
        output: JsonText,
        issues: &[String],
    ) -> (Stage, Option<Note>) {
        let issues_in_words = issues.join("; ");
        if self.regrades == 0 {
            let message =
                format!("step `{step}`: the validator rejects the answer, which is kept: {issues_in_words}");
            return (Stage::Over(Ending::Output(output)), Some(Note { code: "validation_failed", message }));
        }
        self.regrades -= 1;
        self.messages = opening(call, &wording::answer_again(&call.prompt, &in_words(&output), issues));
        // The last answer counts ungraded: a verdict that nothing follows from would only cost money.
        let stage = Stage::Asking { graded: self.regrades > 0 };
        let message =
            format!("step `{step}`: the validator rejects the answer, asking again: {issues_in_words}");
        (stage, Some(Note { code: "validation_failed", message }))
    }
}

/// The first messages: the system message if there is anything to say, then the prompt.
fn opening(call: &AgentCall, prompt: &str) -> Vec<Message> {
    let system = wording::system(call.system.as_deref(), declared(call));
    let mut messages: Vec<_> = system.map(|text| Message::new(Role::System, text)).into_iter().collect();
    messages.push(Message::new(Role::User, prompt));
    messages
}

/// The shape that the answer must have; none where the text itself is the answer.
fn declared(call: &AgentCall) -> Option<&OutputSchema> {
    call.settings.schema.as_ref().filter(|schema| !schema.is_empty() && !call.settings.raw)
}

fn grading(call: &AgentCall, step: &str, validator: &Validator, output: JsonText) -> Stage {
    let messages = vec![
        Message::new(Role::System, wording::grader_system(validator)),
        Message::new(Role::User, wording::grader_prompt(step, &call.prompt, &in_words(&output))),
    ];
    Stage::Grading { output, messages }
}

fn grader_model(call: &AgentCall) -> &String {
    let own = call.settings.validator.as_ref().and_then(|validator| validator.model.as_ref());
    own.unwrap_or(&call.model)
}

/// An output as a person would show it: plain text without its wrapper, anything else as JSON.
fn in_words(output: &JsonText) -> String {
    match output.value() {
        serde_json::Value::Object(object) if object.len() == 1 && object.contains_key("result") => {
            object["result"].as_str().map_or_else(|| object["result"].to_string(), str::to_owned)
        }
        other => format!("{other:#}"),
    }
}

/// What is kept of a conversation that failed.
pub fn leftovers(rejected: &[String], unfinished: &str) -> Option<JsonText> {
    match (rejected.is_empty(), unfinished.is_empty()) {
        (true, true) => None,
        (false, true) => Some(JsonText::of(&json!({ "answers": rejected }))),
        (true, false) => Some(JsonText::of(&json!({ "text": unfinished }))),
        (false, false) => Some(JsonText::of(&json!({ "answers": rejected, "text": unfinished }))),
    }
}

#[cfg(test)]
mod tests;
