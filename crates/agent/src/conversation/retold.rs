//! A conversation retold in words, for a request that offers no tools.
//!
//! Some services refuse calls and results in a request that defines no tools. So what the model called becomes a part
//! of what it said, and the results become what it was told. Speakers take turns as before.

use crate::{Message, Role};
use std::borrow::Cow;
use std::fmt::Write;

/// The same messages, without calls and results of tools.
pub(super) fn without_tools(messages: &[Message]) -> Cow<'_, [Message]> {
    if messages.iter().all(|message| message.tool_calls.is_empty()) {
        return Cow::Borrowed(messages);
    }
    let mut told: Vec<Message> = Vec::new();
    for message in messages {
        match (&message.result_of, told.last_mut()) {
            (Some(_), Some(last)) if last.role == Role::User => {
                last.text.push_str(&format!("\n\n{}", result(message)))
            }
            (Some(_), _) => told.push(Message::new(Role::User, result(message))),
            (None, _) => told.push(said(message)),
        }
    }
    Cow::Owned(told)
}

fn said(message: &Message) -> Message {
    if message.tool_calls.is_empty() {
        return message.clone();
    }
    let mut text = message.text.clone();
    for call in &message.tool_calls {
        let space = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{space}(I called the tool {} with {})", call.name, call.arguments.as_str());
    }
    Message::new(message.role, text)
}

fn result(message: &Message) -> String {
    let (name, failed) = message.result_of.as_ref().map_or(("", false), |of| (of.name.as_str(), of.failed));
    let what = if failed { "Failure" } else { "Result" };
    format!("--- {what} of the tool {name} ---\n{}", message.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolCall;

    #[test]
    fn nothing_is_lost_but_the_form() {
        let calls = [ToolCall::new("1", "look", "{\"n\":1}"), ToolCall::new("2", "act", "{}")];
        let messages = [
            Message::new(Role::System, "s"),
            Message::new(Role::User, "go"),
            Message { tool_calls: calls.to_vec(), ..Message::new(Role::Assistant, "Let me see.") },
            Message::tool_result(&calls[0], "three", false),
            Message::tool_result(&calls[1], "no", true),
            Message::new(Role::Assistant, "Done."),
        ];
        let told = without_tools(&messages);
        let words: Vec<_> = told.iter().map(|message| (message.role, message.text.as_str())).collect();
        let calls = "Let me see.\n(I called the tool look with {\"n\":1})\n(I called the tool act with {})";
        let results = "--- Result of the tool look ---\nthree\n\n--- Failure of the tool act ---\nno";
        let wanted = [
            (Role::System, "s"),
            (Role::User, "go"),
            (Role::Assistant, calls),
            (Role::User, results),
            (Role::Assistant, "Done."),
        ];
        assert_eq!(words, wanted);
        assert!(told.iter().all(|message| message.tool_calls.is_empty() && message.result_of.is_none()));
    }

    #[test]
    fn without_tools_nothing_is_copied() {
        let messages = [Message::new(Role::User, "go")];
        assert!(matches!(without_tools(&messages), Cow::Borrowed(_)));
    }
}
