//! Puts the pieces of Gemini's stream together.
//!
//! Each piece is a whole response with the next parts. There is no last event: an answer counts once a reason to stop
//! has come, and the connection ends it.

use crate::fault::Fault;
use crate::parts::Parts;
use crate::trouble::Trouble;
use crate::wire::{Gather, Step};
use convoke_agent::{Finish, Reply, Request};
use convoke_model::{JsonText, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What has come of an answer.
#[derive(Default)]
pub struct Gathering {
    parts: Parts,
    finish: Option<Finish>,
    /// What seals the thoughts before a call, by the number of the call.
    signatures: Vec<(usize, String)>,
}

impl Gather for Gathering {
    fn take(&mut self, data: &str) -> Result<Step, Trouble> {
        let piece: Piece =
            serde_json::from_str(data).map_err(|error| Trouble::Unreadable(error.to_string()))?;
        self.take_piece(piece)
    }

    fn whole(&mut self, text: &str) -> Result<(), Trouble> {
        // Without the parameter for events, a proxy may send all pieces as one list.
        let pieces: Vec<Piece> = match serde_json::from_str(text) {
            Ok(pieces) => pieces,
            Err(_) => {
                vec![serde_json::from_str(text).map_err(|error| Trouble::Unreadable(error.to_string()))?]
            }
        };
        pieces.into_iter().try_for_each(|piece| self.take_piece(piece).map(drop))
    }

    fn len(&self) -> usize {
        self.parts.len()
    }

    fn reply(self, request: &Request<'_>) -> Result<Reply, Trouble> {
        let Some(finish) = self.finish else {
            return Err(Trouble::Cut("it ended without a reason".into()));
        };
        let mut reply = self.parts.reply(request, finish);
        let sealed = self.signatures.into_iter();
        let sealed =
            sealed.filter_map(|(at, seal)| Some((reply.tool_calls.get(at)?.id.clone(), seal.into())));
        let sealed: Map<String, Value> = sealed.collect();
        reply.thoughts = (!sealed.is_empty()).then(|| JsonText::of(&sealed));
        Ok(reply)
    }
}

impl Gathering {
    fn take_piece(&mut self, piece: Piece) -> Result<Step, Trouble> {
        if let Some(error) = piece.error {
            return Err(Trouble::Fault(Fault::in_stream(&error)));
        }
        if !piece.model.is_empty() {
            self.parts.model = piece.model;
        }
        self.parts.usage = piece.usage.and_then(Tokens::usage).or(self.parts.usage);
        if piece.feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.finish = Some(Finish::Refusal);
        }
        let Some(candidate) = piece.candidates.into_iter().find(|it| it.index == 0) else {
            return Ok(Step::Quiet);
        };
        if let Some(reason) = candidate.finish_reason {
            self.finish = Some(finish_of(&reason));
        }
        let shown = candidate.content.parts.into_iter().map(|part| self.take_part(part)).collect();
        Ok(Step::Text(shown))
    }

    /// Takes a part; gives what of it can be shown.
    fn take_part(&mut self, part: Part) -> String {
        if let Some(function) = part.function_call {
            let at = self.parts.calls.len();
            let call = self.parts.call(at as u64, &function.id);
            call.name = function.name;
            call.arguments = if function.args.is_null() { String::new() } else { function.args.to_string() };
            self.signatures.extend(part.signature.map(|seal| (at, seal)));
            return String::new();
        }
        if part.thought {
            return String::new();
        }
        self.parts.text.push_str(&part.text);
        part.text
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "MAX_TOKENS" => Finish::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            Finish::Refusal
        }
        _ => Finish::Stop,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece {
    #[serde(default)]
    candidates: Vec<Candidate>,
    #[serde(default, rename = "usageMetadata")]
    usage: Option<Tokens>,
    #[serde(default, rename = "modelVersion")]
    model: String,
    #[serde(default, rename = "promptFeedback")]
    feedback: Option<Feedback>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Candidate {
    index: u32,
    content: Content,
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Content {
    parts: Vec<Part>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Part {
    text: String,
    thought: bool,
    #[serde(rename = "thoughtSignature")]
    signature: Option<String>,
    function_call: Option<Function>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Function {
    id: String,
    name: String,
    args: Value,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Tokens {
    prompt_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
    cached_content_token_count: u64,
}

impl Tokens {
    /// Thoughts are paid for like the answer. Nothing, if the service only fills the field in.
    fn usage(self) -> Option<Usage> {
        let output_tokens = self.candidates_token_count + self.thoughts_token_count;
        (self.prompt_token_count + output_tokens > 0).then(|| Usage {
            calls: 1,
            input_tokens: self.prompt_token_count,
            output_tokens,
            cache_read_tokens: self.cached_content_token_count.min(self.prompt_token_count),
            ..Usage::default()
        })
    }
}
