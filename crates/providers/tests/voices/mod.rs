//! The services of the conformance suite, each with its own words for the same things.
#![allow(dead_code, unused_imports, missing_docs)]

mod chat;
mod gemini;
mod messages;
mod responses;

pub use chat::Chat;
pub use gemini::Gemini;
pub use messages::Messages;
pub use responses::Responses;

use serde_json::{Value, json};

/// Why a fake service stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Stop,
    Length,
    Refusal,
    Calls,
}

/// One call that a fake service makes.
pub struct Called {
    pub id: &'static str,
    pub name: &'static str,
    pub arguments: &'static str,
}

/// How a service says things on the wire.
pub trait Voice {
    /// The provider's name.
    const NAME: &'static str;
    /// The path of a request.
    const PATH: &'static str;
    /// Whether the service names its calls.
    const NAMES_CALLS: bool = true;

    /// Events before the answer.
    fn opening() -> String {
        String::new()
    }

    /// The text of an answer, in so many pieces.
    fn words(pieces: &[&str]) -> Vec<String>;

    /// Calls, their arguments cut into two pieces where the service does that.
    fn calls(calls: &[Called]) -> Vec<String>;

    /// A structured answer.
    fn structured(json: &str) -> Vec<String> {
        Self::words(&[json])
    }

    /// Events after the answer: 11 tokens sent, 8 of them from the cache, 4 received. `said` is what came before.
    fn closing(end: End, said: &[String]) -> String;

    /// An error's body.
    fn fault(status: u16) -> Value {
        json!({"error": {"message": format!("no {status}"), "type": "some_error", "code": status}})
    }

    /// The event that says overloaded in the middle of an answer.
    fn overloaded() -> String;

    /// The shape of the answer in a request's body.
    fn shape(body: &Value) -> &Value;

    /// The names of the tools in a request's body.
    fn tools(body: &Value) -> Vec<&str>;

    /// The results of tools in a request's body: which call, and what it gave.
    fn results(body: &Value) -> Vec<(String, String)>;
}

/// An event with this data, and its type where the service writes that twice.
pub fn event(data: &Value) -> String {
    match data["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}

/// The text of a value, wherever it is.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
