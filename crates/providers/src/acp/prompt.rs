//! What an agent is told: standing orders and the conversation, as one text.
//!
//! The protocol has no place for standing orders or for what was said before, so both stand in the prompt.

use convoke_agent::{Message, Role};

/// Said before the prompt when an agent goes on with a session that was cut off.
const INTERRUPTED: &str = "The work on the following was interrupted. Go on from where it stopped.";

/// The text of a conversation.
pub fn of(messages: &[Message]) -> String {
    let orders = messages.iter().filter(|message| message.role == Role::System);
    let said: Vec<&Message> = messages.iter().filter(|message| message.role != Role::System).collect();
    let mut parts: Vec<String> = orders.map(|message| message.text.clone()).collect();
    match said[..] {
        [only] => parts.push(only.text.clone()),
        _ => parts.extend(said.into_iter().map(told)),
    }
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n\n")
}

/// The text of a conversation that the session may know already.
pub fn again(messages: &[Message]) -> String {
    format!("{INTERRUPTED}\n\n{}", of(messages))
}

fn told(message: &Message) -> String {
    let who = match message.role {
        Role::Assistant => "You answered",
        Role::Tool => "A tool gave",
        Role::User | Role::System => "The user says",
    };
    format!("{who}:\n{}", message.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_question_stands_for_itself_and_a_conversation_names_its_speakers() {
        let mut messages = vec![Message::new(Role::System, "Be brief."), Message::new(Role::User, "Why?")];
        assert_eq!(of(&messages), "Be brief.\n\nWhy?");
        messages.push(Message::new(Role::Assistant, "Because."));
        messages.push(Message::new(Role::User, "As JSON."));
        assert_eq!(
            of(&messages),
            "Be brief.\n\nThe user says:\nWhy?\n\nYou answered:\nBecause.\n\nThe user says:\nAs JSON."
        );
    }
}
