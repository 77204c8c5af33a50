//! The most tokens that a service can count of one request: what is set aside of a budget before the request is sent.
//!
//! A token stands for one byte at least, so a request has no more tokens than bytes. What a service adds is not in the request:
//! marks around messages, a system prompt of its own, instructions for tools. For that there is an allowance, larger than any
//! that a service documents. Estimates (windows, plans, rates) are made elsewhere (`ledger`), at four bytes a token.
//!
//! Kept true: whatever is sent to the model is counted here, byte for byte.

use crate::{Message, Question, ToolSpec};

/// What a service may add to any request: a system prompt of its own, with the day and its name.
const OF_REQUEST: u64 = 128;
/// Marks around a message, or around a call that it holds.
const OF_MESSAGE: u64 = 8;
/// Words around a tool, beside its name, its description and its schema.
const OF_TOOL: u64 = 16;
/// Instructions how tools are called, or how a shape is kept to.
const OF_MEANS: u64 = 1_024;

/// The most tokens of a question.
pub(super) fn most_tokens(question: &Question<'_>) -> u64 {
    let messages: u64 = question.messages.iter().map(of_message).sum();
    let tools: u64 = question.tools.iter().map(of_tool).sum();
    let shape = question.schema.filter(|_| question.native_schema());
    // Some services are sent it in words of their own, which say most things twice.
    let shape = shape.map(|shape| 2 * shape.json_schema().to_string().len() as u64);
    let means = if shape.is_some() || !question.tools.is_empty() { OF_MEANS } else { 0 };
    OF_REQUEST + messages + tools + shape.unwrap_or(0) + means
}

fn of_message(message: &Message) -> u64 {
    let calls = message.tool_calls.iter();
    let calls: u64 = calls
        .map(|call| OF_MESSAGE + bytes(&call.id) + bytes(&call.name) + bytes(call.arguments.as_str()))
        .sum();
    let result_of = message.result_of.as_ref().map_or(0, |call| bytes(&call.id) + bytes(&call.name));
    let thoughts = message.thoughts.as_ref().map_or(0, |thoughts| bytes(thoughts.as_str()));
    OF_MESSAGE + bytes(&message.text) + calls + result_of + thoughts
}

fn of_tool(tool: &ToolSpec) -> u64 {
    OF_TOOL + bytes(&tool.name) + bytes(&tool.description) + tool.input_schema.to_string().len() as u64
}

fn bytes(text: &str) -> u64 {
    text.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Role, ToolCall};
    use convoke_model::JsonText;
    use proptest::prelude::*;
    use std::borrow::Cow;

    fn most(messages: &[Message], tools: &[ToolSpec]) -> u64 {
        most_tokens(&Question {
            model: "m",
            messages: Cow::Borrowed(messages),
            schema: None,
            tools,
            tool_tokens: 0,
            answered: None,
            purpose: Purpose::Answer,
            call: 1,
        })
    }

    proptest! {
        /// Whatever is in a request, there is a token for each of its bytes, and for the marks around each part.
        #[test]
        fn every_byte_of_a_request_counts_and_every_mark(
            texts in prop::collection::vec(any::<String>(), 1..5),
            arguments in any::<String>(),
            description in any::<String>(),
        ) {
            let mut messages: Vec<_> = texts.iter().map(|text| Message::new(Role::User, text)).collect();
            let call = ToolCall::new("call-1", "look", JsonText::of(&arguments).as_str());
            messages[0].tool_calls.push(call.clone());
            messages.push(Message::tool_result(&call, description.clone(), false));
            messages[0].thoughts = Some(JsonText::of(&description));
            let input_schema = serde_json::json!({"type": "object", "description": description});
            let tools = [ToolSpec { name: "look".into(), description, input_schema }];
            let sent = serde_json::to_string(&(&messages, &tools)).unwrap();
            // Escapes of JSON are not seen by the model, and neither are the words of our own format.
            let words: usize = texts.iter().map(String::len).sum();
            prop_assert!(most(&messages, &tools) >= words as u64 + 5 * messages.len() as u64 + OF_MEANS);
            prop_assert!(most(&messages, &tools) <= sent.len() as u64 + 2 * OF_MEANS);
        }
    }

    #[test]
    fn a_prompt_of_dense_text_counts_byte_by_byte() {
        let prompt = "7f3a9c1e".repeat(500);
        let most = most(&[Message::new(Role::User, prompt)], &[]);
        assert_eq!(most, 4_000 + OF_MESSAGE + OF_REQUEST);
    }
}
