//! Shortens a conversation that becomes too long for its model.
//!
//! Whole turns are left out, the oldest first: what the model said and what came of it stay together or go together.
//! The opening and the last turn stay. What was left out becomes one kept value, which names the one before it, so that
//! the note in the conversation stays short however often this happens. Where the last turn alone is too long, its
//! longest results are cut further.

use super::{gauge::Gauge, recall};
use crate::{Message, Role, shelf, tokens_in};
use convoke_model::JsonText;
use convoke_model::excerpt::BYTES_PER_TOKEN;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write;
use std::ops::Range;

/// Results are never cut below this many bytes.
const SHORTEST: u64 = 400;

/// What is no longer part of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LeftOut {
    /// How many turns.
    pub turns: u32,
    /// The number of the kept value with the latest of them.
    pub latest: usize,
    /// How long the prompt is without the note, in bytes.
    pub prompt: usize,
}

/// Turns as they are kept.
#[derive(Debug, Serialize, Deserialize)]
struct Turns {
    /// The first and the last, from 1.
    turns: (u32, u32),
    /// Where the ones before are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    messages: Vec<Message>,
}

/// How many messages the conversation opens with: the system's and the prompt.
pub(crate) fn head(messages: &[Message]) -> usize {
    messages.iter().position(|message| message.role == Role::Assistant).unwrap_or(messages.len())
}

/// The oldest whole turns that have at least this many tokens together, and how many turns these are; never the last.
pub(crate) fn oldest(messages: &[Message], tokens: u64) -> Option<(Range<usize>, u32)> {
    let head = head(messages);
    let starts = || (head..messages.len()).filter(|at| messages[*at].role == Role::Assistant);
    let (mut end, mut turns, mut freed) = (head, 0, 0);
    for next in starts().skip(1) {
        if freed >= tokens {
            break;
        }
        freed += tokens_in(&messages[end..next]);
        turns += 1;
        end = next;
    }
    (turns > 0).then_some((head..end, turns))
}

impl LeftOut {
    /// The value to keep for these messages, which are the next turns to be left out.
    pub fn value(&self, messages: Vec<Message>, turns: u32) -> JsonText {
        let before = (self.turns > 0).then(|| shelf::name(self.latest));
        JsonText::of(&Turns { turns: (self.turns + 1, self.turns + turns), before, messages })
    }

    /// Counts them, once they are kept under this number.
    pub fn add(&mut self, turns: u32, latest: usize) {
        self.turns += turns;
        self.latest = latest;
    }

    /// What the prompt says about them.
    pub fn note(&self, can_read: bool) -> String {
        let how = match can_read {
            true => format!(
                "; the latest of them are kept as `{}`, which says where the ones before are: read it with `{}`",
                shelf::name(self.latest),
                recall::NAME
            ),
            false => String::new(),
        };
        let (turns, were) = if self.turns == 1 { ("turn", "was") } else { ("turns", "were") };
        format!(
            "\n\n[The first {} {turns} of this conversation {were} left out to save room{how}.]",
            self.turns
        )
    }
}

/// The length in bytes to which results of the last turn must be cut so that this many tokens are saved; `None` if
/// there is nothing to cut.
pub(crate) fn cut_for(messages: &[Message], gauge: Gauge, excess: u64) -> Option<u64> {
    let lengths: Vec<u64> = last_turn(messages)
        .filter(|message| message.role == Role::Tool)
        .map(|message| message.text.len() as u64)
        .collect();
    let longest = lengths.iter().copied().max().filter(|longest| *longest > SHORTEST)?;
    let saved = |limit: u64| -> u64 {
        lengths.iter().map(|length| gauge.weighed(saved_tokens(length.saturating_sub(limit)))).sum()
    };
    let (mut low, mut high) = (SHORTEST, longest);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if saved(middle) >= excess { low = middle } else { high = middle - 1 }
    }
    Some(low)
}

/// Rounded down: what is saved must not be less than it is taken for.
fn saved_tokens(bytes: u64) -> u64 {
    bytes / BYTES_PER_TOKEN
}

fn last_turn(messages: &[Message]) -> impl Iterator<Item = &Message> {
    let start = messages.iter().rposition(|message| message.role == Role::Assistant).unwrap_or(0);
    messages[start..].iter()
}

/// Kept turns as an agent reads them; `None` if the value is something else.
pub(crate) fn in_words(value: &Value) -> Option<String> {
    let kept: Turns = serde_json::from_value(value.clone()).ok()?;
    let mut text = format!("Turns {} to {} of the conversation.", kept.turns.0, kept.turns.1);
    if let Some(before) = &kept.before {
        let _ = write!(text, " The ones before are kept as `{before}`.");
    }
    for message in &kept.messages {
        let _ = match &message.result_of {
            Some(result_of) => write!(text, "\n\n--- result of {} ---\n{}", result_of.name, message.text),
            None => write!(text, "\n\n--- {} ---\n{}", message.role.word(), message.text),
        };
        for call in &message.tool_calls {
            let _ = write!(text, "\n→ {} {}", call.name, call.arguments.as_str());
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolCall;
    use proptest::prelude::*;

    fn turn(id: usize, results: usize, length: usize) -> Vec<Message> {
        let calls: Vec<_> = (0..results).map(|at| ToolCall::new(format!("{id}.{at}"), "f", "{}")).collect();
        let said = Message { tool_calls: calls.clone(), ..Message::new(Role::Assistant, "hm") };
        let results = calls.iter().map(|call| Message::tool_result(call, "x".repeat(length), false));
        std::iter::once(said).chain(results).collect()
    }

    fn conversation(turns: &[(usize, usize)]) -> Vec<Message> {
        let opening = [Message::new(Role::System, "s"), Message::new(Role::User, "go")];
        let turns = turns.iter().enumerate().flat_map(|(at, (results, length))| turn(at, *results, *length));
        opening.into_iter().chain(turns).collect()
    }

    #[test]
    fn the_oldest_turns_go_and_the_last_stays() {
        let messages = conversation(&[(1, 400), (2, 400), (1, 400)]);
        assert_eq!(oldest(&messages, 50), Some((2..4, 1)));
        assert_eq!(oldest(&messages, 200), Some((2..7, 2)));
        assert_eq!(oldest(&messages, 9999), Some((2..7, 2)));
        assert_eq!(oldest(&conversation(&[(1, 400)]), 1), None);
        assert_eq!(oldest(&conversation(&[]), 1), None);
    }

    #[test]
    fn what_was_left_out_can_be_read_and_leads_on() {
        let mut left_out = LeftOut { turns: 0, latest: 0, prompt: 2 };
        let first = left_out.value(turn(0, 1, 3), 1);
        left_out.add(1, 4);
        let second = left_out.value(turn(1, 2, 3), 1);
        left_out.add(1, 9);
        assert!(
            in_words(&first.value())
                .unwrap()
                .starts_with("Turns 1 to 1 of the conversation.\n\n--- assistant")
        );
        let words = in_words(&second.value()).unwrap();
        assert!(
            words.contains("before are kept as `r4`") && words.contains("→ f {}") && words.contains("\nxxx"),
            "{words}"
        );
        assert!(left_out.note(true).contains("first 2 turns") && left_out.note(true).contains("`r9`"));
        assert!(!left_out.note(false).contains("r9"));
        assert_eq!(in_words(&serde_json::json!({"n": 1})), None);
    }

    #[test]
    fn results_of_the_last_turn_are_cut_as_far_as_needed() {
        let messages = conversation(&[(1, 90_000), (2, 10_000)]);
        let limit = cut_for(&messages, Gauge::default(), 2500).unwrap();
        assert!((4900..=5000).contains(&limit), "{limit}");
        assert_eq!(cut_for(&messages, Gauge::default(), 99_999), Some(SHORTEST));
        assert_eq!(cut_for(&conversation(&[(1, 300)]), Gauge::default(), 10), None);
    }

    proptest! {
        #[test]
        fn calls_and_results_are_never_parted(turns in prop::collection::vec((0usize..4, 0usize..500), 0..12), tokens in 0u64..2000) {
            let mut messages = conversation(&turns);
            if let Some((range, _)) = oldest(&messages, tokens) {
                messages.drain(range);
            }
            let mut expected: Vec<String> = Vec::new();
            for message in &messages {
                match &message.result_of {
                    Some(result_of) => prop_assert_eq!(&expected.remove(0), &result_of.id),
                    None => prop_assert!(expected.is_empty()),
                }
                expected.extend(message.tool_calls.iter().map(|call| call.id.clone()));
            }
            prop_assert!(expected.is_empty());
        }
    }
}
