//! What an agent and its tools said to each other, for people and for programs.
//!
//! Read from the records that the agent wrote down; an agent that answered at once wrote none. For people each text is cut,
//! and the last turns are shown; `--full` has all of it. Values that were too long for the agent itself go by names
//! (`r1`) and are printed by `--kept`.

use super::InspectedRun;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::view::format;
use convoke_agent::{Account, Message, ResultOf, Role};
use convoke_engine::report::TaskWord;
use convoke_model::excerpt::{headed, place_of};
use convoke_model::{Event, JsonText, Payload, TaskId};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// How much of a conversation is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The last turns, each cut.
    Short,
    /// Everything.
    Full,
}

/// Characters of a text that are shown.
const MOST_TEXT: usize = 1_000;
/// Turns that are shown.
const MOST_TURNS: usize = 20;

impl InspectedRun {
    /// The conversations of a task, the newest last.
    pub(super) fn conversations(&self, task: &TaskId) -> Result<Vec<Account>, CommandFailure> {
        let records = self.stored.events.iter().filter_map(|stamped| record(&stamped.event, task));
        let texts: Result<Vec<_>, _> = records.map(|payload| self.value(Some(payload))).collect();
        let pieces: Vec<JsonText> = texts?.into_iter().flatten().collect();
        Account::read(&pieces).ok_or_else(|| {
            CommandFailure::new(Exit::Failed, format!("the conversation of `{task}` cannot be read"))
        })
    }

    /// A value that the newest conversation of a task put aside.
    pub(super) fn kept(&self, task: &TaskId, name: &str) -> Result<JsonText, CommandFailure> {
        let accounts = self.conversations(task)?;
        let kept: Vec<_> = accounts.last().into_iter().flat_map(Account::kept).collect();
        let found = kept.iter().find(|(known, _)| known == name);
        let value = found.map(|(_, digest)| self.stored.reader.blob(digest)).transpose()?.flatten();
        value.ok_or_else(|| {
            let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
            let hint = match names.is_empty() {
                true => "it has put nothing aside".to_owned(),
                false => format!("it has {}", names.join(", ")),
            };
            let message = format!("the conversation of `{task}` has put nothing aside as `{name}`");
            CommandFailure::new(Exit::Usage, message).hint(hint)
        })
    }
}

fn record<'a>(event: &'a Event, wanted: &TaskId) -> Option<&'a Payload> {
    match event {
        Event::TurnRecorded { task, piece, .. } if task == wanted => Some(piece),
        Event::AttemptSuspended { task, state, .. } if task == wanted => Some(state),
        _ => None,
    }
}

/// Conversations as data: every message, whole.
pub fn json(accounts: &[Account]) -> Option<Value> {
    let conversations = accounts.iter().filter(|account| !account.messages.is_empty()).map(|account| {
        let kept: Vec<String> = account.kept().map(|(name, _)| name).collect();
        let mut value = json!({ "messages": account.messages });
        if !kept.is_empty() {
            value["kept"] = json!(kept);
        }
        value
    });
    let conversations: Vec<Value> = conversations.collect();
    (!conversations.is_empty()).then(|| Value::Array(conversations))
}

/// Conversations in words; `command` is how to see more of them.
pub fn text(accounts: &[Account], state: TaskWord, extent: Extent, command: &str) -> String {
    let mut teller = Teller { extent, is_cut: false, state };
    let told: Vec<_> = accounts.iter().filter(|account| !account.messages.is_empty()).collect();
    let mut out = String::new();
    for (at, account) in told.iter().enumerate() {
        let which = if at + 1 < told.len() { " (given up; a new conversation followed)" } else { "" };
        let _ = write!(out, "\nconversation{which}:\n{}", teller.account(account));
    }
    if teller.is_cut {
        let _ = writeln!(out, "  … shortened: {command} --full shows all");
    }
    if let Some((name, _)) = told.last().and_then(|account| account.kept().last()) {
        let _ = writeln!(out, "  … put aside up to `{name}`: {command} --kept {name} shows one whole");
    }
    out
}

struct Teller {
    extent: Extent,
    is_cut: bool,
    /// How the task stands: what a call without a result means.
    state: TaskWord,
}

impl Teller {
    fn account(&mut self, account: &Account) -> String {
        let messages = &account.messages;
        let starts = (0..messages.len()).filter(|at| messages[*at].role == Role::Assistant);
        let starts: Vec<usize> = starts.collect();
        let skipped = match self.extent {
            Extent::Full => 0,
            Extent::Short => starts.len().saturating_sub(MOST_TURNS),
        };
        let mut out = String::new();
        if skipped > 0 {
            self.is_cut = true;
            let _ = writeln!(out, "  … {} before these", format::plural(skipped as u64, "turn"));
        }
        let first = starts.get(skipped).copied().filter(|_| skipped > 0).unwrap_or(0);
        let mut turn = skipped;
        for (at, message) in messages.iter().enumerate().skip(first) {
            turn += usize::from(message.role == Role::Assistant);
            out.push_str(&self.message(message, &messages[at + 1..], turn));
        }
        out
    }

    fn message(&mut self, message: &Message, after: &[Message], turn: usize) -> String {
        match (message.role, &message.result_of) {
            (Role::Assistant, _) => self.turn(message, after, turn),
            (Role::Tool, Some(result_of)) => self.result(result_of, &message.text),
            _ => format!("  told:\n{}", self.indented(&message.text, 4)),
        }
    }

    fn turn(&mut self, message: &Message, after: &[Message], turn: usize) -> String {
        let mut out = format!("  turn {turn}:\n{}", self.indented(&message.text, 4));
        for call in &message.tool_calls {
            let arguments = self.cut(call.arguments.as_str());
            let _ = writeln!(out, "    calls {} {arguments}", call.name);
        }
        let answered = after.iter().take_while(|message| message.role == Role::Tool).count();
        for call in message.tool_calls.iter().skip(answered) {
            let _ = writeln!(out, "    {} {}", call.name, self.without_result());
        }
        out
    }

    fn without_result(&self) -> &'static str {
        match self.state {
            TaskWord::Running => "has not answered yet",
            TaskWord::Asking => "has no result: a person is asked",
            _ => "has no recorded result: whether it took effect is unknown",
        }
    }

    fn result(&mut self, result_of: &ResultOf, text: &str) -> String {
        let how = match (result_of.unknown, result_of.failed) {
            (true, _) => "has an unknown outcome",
            (false, true) => "failed",
            (false, false) => "gave",
        };
        format!("    {} {how}:\n{}", result_of.name, self.indented(text, 6))
    }

    fn indented(&mut self, text: &str, by: usize) -> String {
        self.cut(text).lines().map(|line| format!("{:by$}{line}\n", "")).collect()
    }

    fn cut(&mut self, text: &str) -> String {
        let text = text.trim();
        let most = match self.extent {
            Extent::Full => text.len(),
            Extent::Short => place_of(text, MOST_TEXT),
        };
        self.is_cut |= most < text.len();
        headed(text, most, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_agent::ToolCall;

    fn wants(calls: &[(&str, &str)]) -> Message {
        let calls = calls.iter().enumerate();
        let tool_calls = calls.map(|(at, (name, given))| ToolCall::new(format!("c{at}"), *name, given));
        Message { tool_calls: tool_calls.collect(), ..Message::new(Role::Assistant, "let me see") }
    }

    fn account(messages: Vec<Message>) -> Vec<Account> {
        let mut account = Account::default();
        account.messages = messages;
        vec![account]
    }

    fn told(messages: Vec<Message>, state: TaskWord, extent: Extent) -> String {
        text(&account(messages), state, extent, "convoke show R t")
    }

    #[test]
    fn calls_results_failures_and_unknown_outcomes_are_told_apart() {
        let asked = wants(&[("look", "{\"n\":1}"), ("act", "{}"), ("act", "{}")]);
        let [look, act, again] = &asked.tool_calls[..] else { panic!("three calls") };
        let mut unknown = Message::tool_result(again, "nobody knows", true);
        unknown.result_of.as_mut().unwrap().unknown = true;
        let (gave, failed) =
            (Message::tool_result(look, "one\ntwo", false), Message::tool_result(act, "no", true));
        let expected = "\nconversation:\n  turn 1:\n    let me see\n    calls look {\"n\":1}\n    calls act {}\n    \
                        calls act {}\n    look gave:\n      one\n      two\n    act failed:\n      no\n    \
                        act has an unknown outcome:\n      nobody knows\n";
        let messages = vec![asked, gave, failed, unknown];
        assert_eq!(told(messages, TaskWord::Succeeded, Extent::Short), expected);
    }

    #[test]
    fn a_call_without_a_result_runs_or_is_unknown() {
        let asked = || vec![wants(&[("act", "{}")])];
        let running = told(asked(), TaskWord::Running, Extent::Short);
        assert!(running.ends_with("    act has not answered yet\n"), "{running}");
        let waits = told(asked(), TaskWord::Asking, Extent::Short);
        assert!(waits.ends_with("    act has no result: a person is asked\n"), "{waits}");
        let lost = told(asked(), TaskWord::Failed, Extent::Short);
        assert!(lost.ends_with("has no recorded result: whether it took effect is unknown\n"), "{lost}");
    }

    #[test]
    fn long_ones_are_cut_and_say_how_to_see_all() {
        let turn = |number: usize| {
            let asked = wants(&[("look", &format!("{{\"n\":{number}}}"))]);
            let result = Message::tool_result(&asked.tool_calls[0], "é".repeat(1_500), false);
            [asked, result]
        };
        let messages: Vec<Message> = (1..=30).flat_map(turn).collect();
        let short = told(messages.clone(), TaskWord::Succeeded, Extent::Short);
        assert!(short.starts_with("\nconversation:\n  … 10 turns before these\n  turn 11:\n"), "{short}");
        assert!(short.contains("[… 500 more characters]\n"));
        assert!(short.ends_with("  … shortened: convoke show R t --full shows all\n"), "{short}");
        let full = told(messages, TaskWord::Succeeded, Extent::Full);
        assert!(full.contains("  turn 1:\n") && full.contains(&"é".repeat(1_500)) && !full.contains('…'));
    }

    #[test]
    fn nothing_is_said_of_who_answered_at_once() {
        assert_eq!(text(&[], TaskWord::Succeeded, Extent::Short, ""), "");
        assert_eq!((json(&[]), json(&account(vec![]))), (None, None));
    }
}
