//! Calls of tools that a person is asked about, and what the person says to each.
//!
//! A call is bound by two hashes. Its plan ([`AskedCall::plan`]) is all that it does: calls that do the same have one plan. Its
//! own hash ([`AskedCall::hash`]) is the plan with its place in the run; the decision repeats it, so that it allows this call and
//! no other. What is shown of a call is whole: what cannot be seen is written as an escape, and nothing is cut.

use crate::{Answer, Digest, is_control};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write;

/// One call of a tool that a person must allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedCall {
    /// Its name among the calls that are asked about together.
    pub id: String,
    /// The tool, as the model knows it.
    pub tool: String,
    /// Its server, and what that is: the command or the address.
    pub server: String,
    /// The arguments: canonical JSON, with an escape for whatever cannot be seen.
    pub arguments: String,
    /// The whole action, where the tool can say what the call comes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Where it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Why a person is asked.
    pub reasons: Vec<String>,
    /// The hash of all that the call does.
    pub plan: Digest,
    /// The hash of that and of where it is made: run, task, turn and place. No two calls have the same.
    pub hash: Digest,
}

/// What is said to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is made, once.
    Approve,
    /// It is made, and so is every call of this run that has the same plan.
    Remember,
    /// It is not made.
    Deny,
    /// Nobody answered in time: it is not made.
    Expired,
}

impl Verdict {
    /// What a person may say.
    pub const WORDS: [&'static str; 3] = ["approve", "remember", "deny"];

    /// The verdict that a person's word stands for.
    pub fn from_word(word: &str) -> Option<Verdict> {
        match word {
            "approve" => Some(Verdict::Approve),
            "remember" => Some(Verdict::Remember),
            "deny" => Some(Verdict::Deny),
            _ => None,
        }
    }

    /// Whether the call is made.
    pub fn allows(self) -> bool {
        matches!(self, Verdict::Approve | Verdict::Remember)
    }
}

/// What a person decided about one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// The call: see [`AskedCall::hash`].
    pub hash: Digest,
    /// What it does: see [`AskedCall::plan`].
    pub plan: Digest,
    /// The tool, for whoever reads the journal.
    pub tool: String,
    /// The decision.
    pub verdict: Verdict,
    /// Words to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

impl AskedCall {
    /// This verdict on it.
    pub fn ruled(&self, verdict: Verdict, words: Option<String>) -> Ruling {
        Ruling { hash: self.hash, plan: self.plan, tool: self.tool.clone(), verdict, words }
    }

    /// All that a person is shown of it.
    pub fn text(&self) -> String {
        let mut text = format!("{} {}", self.tool, self.arguments);
        let _ = write!(text, "\nserver: {}", self.server);
        if let Some(action) = &self.action {
            let _ = write!(text, "\naction: {action}");
        }
        if let Some(folder) = &self.folder {
            let _ = write!(text, "\nfolder: {folder}");
        }
        let _ = write!(text, "\nwhy: {}", self.reasons.join("; "));
        let _ = write!(text, "\nplan: {}\nhash: {}", self.plan, self.hash);
        text
    }
}

/// All that a person is shown of some calls: one as it is, several with their names.
pub fn asked_text(prompt: &str, calls: &[AskedCall]) -> String {
    let mut text = prompt.to_owned();
    for call in calls {
        let name = if calls.len() > 1 { format!("{}: ", call.id) } else { String::new() };
        let _ = write!(text, "\n\n{name}{}", call.text());
    }
    text
}

/// The same verdict on all of these.
pub fn ruled_alike(calls: &[AskedCall], verdict: Verdict, words: Option<&str>) -> Answer {
    let ruled = |call: &AskedCall| (call.id.clone(), call.ruled(verdict, words.map(str::to_owned)));
    Answer::Approval { rulings: calls.iter().map(ruled).collect() }
}

/// Why these rulings do not answer these calls: each call is decided, and by its own hash.
pub(crate) fn refused_rulings(calls: &[AskedCall], rulings: &IndexMap<String, Ruling>) -> Option<String> {
    let known = |id: &String| calls.iter().any(|call| call.id == *id);
    if let Some(id) = rulings.keys().find(|id| !known(id)) {
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        return Some(format!("there is no call `{id}`; the calls are {}", ids.join(", ")));
    }
    calls.iter().find_map(|call| match rulings.get(&call.id) {
        None => Some(format!("call {} of `{}` must be decided", call.id, call.tool)),
        Some(ruling) if ruling.hash != call.hash || ruling.plan != call.plan => {
            Some(format!("call {} of `{}` is not the one that was decided", call.id, call.tool))
        }
        Some(_) => None,
    })
}

/// The JSON of a value in one way only: keys sorted, no blanks, and an escape for every character that is obeyed or cannot
/// be seen, so that who reads it sees all of it.
pub fn visible_json(value: &Value) -> String {
    let mut text = String::new();
    for c in crate::canonical_json(value).chars() {
        match is_control(c) || is_unseen(c) {
            true => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
            false => text.push(c),
        }
    }
    text
}

/// The text with an escape for every character that is obeyed or cannot be seen, but for the ends of lines.
pub fn visible_text(text: &str) -> String {
    let escaped = |c: char| is_control(c) && c != '\n' || is_unseen(c);
    let shown = |c: char| if escaped(c) { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// Characters that take no room: a text with them is not the one that it looks like.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ask;
    use serde_json::json;

    fn call(id: &str, arguments: &str) -> AskedCall {
        AskedCall {
            id: id.into(),
            tool: "fs__delete".into(),
            server: "fs".into(),
            arguments: arguments.into(),
            action: None,
            folder: None,
            reasons: vec!["its name".into()],
            plan: Digest::of(arguments.as_bytes()),
            hash: Digest::of(id.as_bytes()),
        }
    }

    #[test]
    fn what_cannot_be_seen_is_written_out_and_stays_the_same_value() {
        let value = json!({"b": "x\u{202e}\u{200b}\u{e0041}y", "a": "\\u202e\n"});
        let text = visible_json(&value);
        assert_eq!(text, "{\"a\":\"\\\\u202e\\n\",\"b\":\"x\\u202e\\u200b\\udb40\\udc41y\"}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(visible_text("a\u{1b}[2K\nb\u{200b}"), "a\\u{1b}[2K\nb\\u{200b}");
    }

    #[test]
    fn every_call_is_decided_by_its_own_hash() {
        let ask =
            Ask::Approval { prompt: "p".into(), calls: vec![call("1", "a"), call("2", "b")], within_ms: 1 };
        let Ask::Approval { calls, .. } = &ask else { unreachable!() };
        let all = ruled_alike(calls, Verdict::Approve, None);
        assert_eq!(all.refusal(&ask), None);
        let Answer::Approval { rulings } = all else { unreachable!() };
        let one = rulings.clone().into_iter().take(1).collect();
        let missing = Answer::Approval { rulings: one }.refusal(&ask).unwrap();
        assert!(missing.contains("call 2 of `fs__delete` must be decided"), "{missing}");
        let swapped = [("1", "2"), ("2", "1")].map(|(id, of)| (id.to_owned(), rulings[of].clone()));
        let swapped = Answer::Approval { rulings: swapped.into() }.refusal(&ask).unwrap();
        assert!(swapped.contains("not the one that was decided"), "{swapped}");
        let mut more = rulings;
        more.insert("3".into(), call("3", "c").ruled(Verdict::Deny, None));
        assert!(Answer::Approval { rulings: more }.refusal(&ask).unwrap().contains("no call `3`"));
    }

    #[test]
    fn nothing_of_a_call_is_cut() {
        let long = "x".repeat(200_000);
        assert!(asked_text("p", &[call("1", &long)]).contains(&long));
    }
}
