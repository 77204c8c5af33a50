//! Turns what a model said into an output, or says what is wrong with it.
//!
//! Without a declared shape every text is an answer: `{"result": text}`, whatever it looks like. With one, the value is
//! searched (`answer`), repaired where that is safe (`repair`) and checked (`fit`).

use crate::answer::{self, Found};
use crate::{Finish, Reply, repair};
use convoke_model::fit;
use convoke_model::{JsonText, OutputSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The key of an answer that is no object.
const RESULT: &str = "result";

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misfit {
    /// The finer word of the failure.
    pub reason: Reason,
    /// What is wrong, word for word as the model is told.
    pub message: String,
}

/// The ways in which an answer can be unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No JSON, or none that can be read.
    Malformed,
    /// JSON of another shape.
    SchemaInvalid,
    /// Nothing at all.
    Empty,
    /// It stops in the middle.
    Truncated,
    /// JSON, but no object.
    WrongType,
    /// The tokens were used up before there was an answer, so asking again would only use up more.
    Budget,
}

impl Reason {
    /// The word used in failures.
    pub fn word(self) -> &'static str {
        match self {
            Reason::Malformed => "malformed",
            Reason::SchemaInvalid => "schema_invalid",
            Reason::Empty => "empty",
            Reason::Truncated => "truncated",
            Reason::WrongType => "wrong_type",
            Reason::Budget => "budget",
        }
    }
}

/// The output that a reply stands for. `schema` is absent where the text itself is the answer.
pub fn judge(reply: &Reply, schema: Option<&OutputSchema>) -> Result<JsonText, Misfit> {
    if reply.text.trim().is_empty() {
        return Err(nothing_in(reply));
    }
    match schema {
        None => judge_text(reply),
        Some(schema) => judge_value(reply, schema).map_err(|misfit| blame_the_cut(reply, misfit)),
    }
}

fn nothing_in(reply: &Reply) -> Misfit {
    match reply.finish {
        Finish::Length => misfit(Reason::Budget, "the tokens were used up before the answer began".into()),
        _ => misfit(Reason::Empty, "the answer is empty".into()),
    }
}

fn judge_text(reply: &Reply) -> Result<JsonText, Misfit> {
    if reply.finish == Finish::Length {
        return Err(misfit(Reason::Truncated, "the answer was cut off at the token limit".into()));
    }
    Ok(JsonText::of(&json!({ RESULT: reply.text })))
}

fn judge_value(reply: &Reply, schema: &OutputSchema) -> Result<JsonText, Misfit> {
    let Found { value, text } = read(reply)?;
    match value {
        Value::Object(object) => checked(schema, &object, text.into_owned()),
        other if schema.fields.contains_key(RESULT) => {
            checked(schema, &Map::from_iter([(RESULT.to_owned(), other)]), format!("{{\"{RESULT}\":{text}}}"))
        }
        other => {
            let message = format!("expected a JSON object, got {}", fit::describe(&other));
            Err(misfit(Reason::WrongType, message))
        }
    }
}

fn checked(schema: &OutputSchema, object: &Map<String, Value>, text: String) -> Result<JsonText, Misfit> {
    let violations = fit::violations(schema, object);
    if !violations.is_empty() {
        return Err(misfit(Reason::SchemaInvalid, violations.join("; ")));
    }
    JsonText::parse(text).map_err(|error| misfit(Reason::Malformed, error.to_string()))
}

fn read(reply: &Reply) -> Result<Found<'_>, Misfit> {
    let text = without_thoughts(&reply.text);
    answer::find(text).or_else(|message| {
        let repaired = || answer::candidates(text).into_iter().find_map(repair::repair);
        // Closing what the token limit cut off would invent an end that the model never wrote.
        let repaired = if reply.finish == Finish::Length { None } else { repaired() };
        let reason = if answer::is_cut_off(text) { Reason::Truncated } else { Reason::Malformed };
        repaired.ok_or_else(|| misfit(reason, message))
    })
}

/// Some models think aloud before they answer, in JSON too.
pub fn without_thoughts(text: &str) -> &str {
    let thinks = text.trim_start().starts_with("<think>");
    text.rsplit_once("</think>").filter(|_| thinks).map_or(text, |(_, answer)| answer)
}

fn blame_the_cut(reply: &Reply, found: Misfit) -> Misfit {
    if reply.finish != Finish::Length {
        return found;
    }
    misfit(Reason::Truncated, format!("the answer was cut off at the token limit; {}", found.message))
}

fn misfit(reason: Reason, message: String) -> Misfit {
    Misfit { reason, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::Usage;

    fn reply(text: &str, finish: Finish) -> Reply {
        Reply::said(text, finish, Usage::default(), "")
    }

    fn schema(value: Value) -> OutputSchema {
        serde_json::from_value(value).unwrap()
    }

    fn reason_of(text: &str, finish: Finish) -> Reason {
        let schema = schema(json!({"n": {"type": "number"}}));
        judge(&reply(text, finish), Some(&schema)).unwrap_err().reason
    }

    #[test]
    fn text_stays_text_without_a_schema() {
        for text in ["line one\nline two", "{\"n\": 3}", "7"] {
            let output = judge(&reply(text, Finish::Stop), None).unwrap();
            assert_eq!(output.value(), json!({"result": text}));
        }
    }

    #[test]
    fn every_misfit_has_its_reason() {
        assert_eq!(reason_of("about three", Finish::Stop), Reason::Malformed);
        assert_eq!(reason_of("{\"n\": \"x\"}", Finish::Stop), Reason::SchemaInvalid);
        assert_eq!(reason_of(" \n", Finish::Stop), Reason::Empty);
        assert_eq!(reason_of("{\"n\": 3, \"m\": [1", Finish::Length), Reason::Truncated);
        assert_eq!(reason_of("[1, 2]", Finish::Stop), Reason::WrongType);
        assert_eq!(reason_of("{\"n\": \"thr", Finish::Stop), Reason::Truncated);
        assert_eq!(reason_of("{not valid json at all,,,}", Finish::Stop), Reason::Malformed);
        assert_eq!(reason_of("", Finish::Length), Reason::Budget);
        assert_eq!(judge(&reply("cut", Finish::Length), None).unwrap_err().reason, Reason::Truncated);
    }

    #[test]
    fn a_list_is_the_result_where_the_schema_has_one() {
        let schema = schema(json!({"result": {"type": "array"}}));
        let output = judge(&reply("```\n[1, 2]\n```", Finish::Stop), Some(&schema)).unwrap();
        assert_eq!(output.value(), json!({"result": [1, 2]}));
    }

    #[test]
    fn thoughts_are_no_answer() {
        let schema = schema(json!({"n": {"type": "number"}}));
        let text = "<think>maybe {\"n\": 1}</think>\n{\"n\": 2}";
        let output = judge(&reply(text, Finish::Stop), Some(&schema)).unwrap();
        assert_eq!(output.value(), json!({"n": 2}));
    }

    #[test]
    fn slips_cost_no_second_question() {
        let schema = schema(json!({"n": {"type": "number"}}));
        let output = judge(&reply("Here:\n```json\n{'n': 3,}\n```", Finish::Stop), Some(&schema)).unwrap();
        assert_eq!(output.as_str(), "{\"n\":3}");
    }
}
