//! Calls of an agent's tools that a person must allow: how they are shown, asked about at a terminal, and answered in words.
//!
//! A word decides all calls of the question, `ID=WORD` one of them. Every decision carries the hash of its own call.

use super::Terminal;
use super::form::{AskOutcome, Step, numbered, read};
use super::reply::Given;
use convoke_model::{Answer, AskedCall, Verdict, ruled_alike};
use indexmap::IndexMap;

/// What refuses a call with words to the agent, where a front-end asks for them.
const DENY_WITH_WORDS: &str = "deny-because";

/// The name of the words to the agent among the texts of an answer.
const WORDS: &str = "words";

/// What may be said, and how it reads.
pub(super) const OPTIONS: [(&str, &str); 3] = [
    ("approve", "Make it, once"),
    ("remember", "Make it, and this very call again in this run without asking"),
    ("deny", "Do not make it"),
];

/// The answer that was typed on a command line.
pub fn answer(calls: &[AskedCall], given: &Given) -> Result<Answer, String> {
    let words = words(given)?;
    match given.values.as_slice() {
        [word] if !word.contains('=') => {
            let verdict = verdict(word, words.is_some())?;
            if let Some(words) = words.filter(|_| verdict.allows()) {
                return Err(format!("words to the agent go with `deny`: `{words}`"));
            }
            Ok(ruled_alike(calls, verdict, words))
        }
        [] => Err(format!("say `approve`, `remember` or `deny`, or ID=WORD for each of: {}", ids(calls))),
        each => {
            let rulings = each.iter().map(|value| one(calls, value, words)).collect::<Result<_, String>>()?;
            Ok(Answer::Approval { rulings })
        }
    }
}

fn words(given: &Given) -> Result<Option<&str>, String> {
    match given.inputs.iter().find(|(name, _)| name != WORDS) {
        Some((name, _)) => {
            Err(format!("an approval asks for no text named `{name}`; words to the agent are `{WORDS}`"))
        }
        None => Ok(given.inputs.first().map(|(_, text)| text.as_str())),
    }
}

fn one(
    calls: &[AskedCall],
    value: &str,
    words: Option<&str>,
) -> Result<(String, convoke_model::Ruling), String> {
    let (id, word) = value.split_once('=').ok_or_else(|| {
        format!("`{value}` decides nothing: write ID=WORD, where ID is one of {}", ids(calls))
    })?;
    let call = calls
        .iter()
        .find(|call| call.id == id)
        .ok_or_else(|| format!("there is no call `{id}`; the calls are {}", ids(calls)))?;
    let verdict = verdict(word, false)?;
    let words = words.filter(|_| !verdict.allows()).map(str::to_owned);
    Ok((id.to_owned(), call.ruled(verdict, words)))
}

fn verdict(word: &str, has_words: bool) -> Result<Verdict, String> {
    match word {
        DENY_WITH_WORDS if has_words => Ok(Verdict::Deny),
        DENY_WITH_WORDS => Err(format!("`{DENY_WITH_WORDS}` asks for a text: --input {WORDS}=TEXT")),
        word => Verdict::from_word(word)
            .ok_or_else(|| format!("`{word}` is not among the answers: `{}`", Verdict::WORDS.join("`, `"))),
    }
}

fn ids(calls: &[AskedCall]) -> String {
    calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// Asks about each call on the terminal.
pub(super) fn ask(terminal: &mut dyn Terminal, prompt: &str, calls: &[AskedCall]) -> Step<Answer> {
    terminal.show(&format!("{}\n", prompt.trim_end()));
    let mut rulings = IndexMap::new();
    for call in calls {
        terminal.show(&format!("\n{}\n\n", call.text()));
        rulings.insert(call.id.clone(), decide(terminal, call)?);
    }
    Ok(Answer::Approval { rulings })
}

fn decide(terminal: &mut dyn Terminal, call: &AskedCall) -> Result<convoke_model::Ruling, AskOutcome> {
    let labels = OPTIONS.iter().map(|(_, label)| *label);
    numbered(terminal, labels.chain(["Do not make it, and tell the agent why"]));
    loop {
        match read(terminal, "> ")?.trim() {
            "1" | "approve" => return Ok(call.ruled(Verdict::Approve, None)),
            "2" | "remember" => return Ok(call.ruled(Verdict::Remember, None)),
            "3" | "deny" => return Ok(call.ruled(Verdict::Deny, None)),
            "4" => {
                let words = read(terminal, "why? ")?;
                return Ok(call.ruled(Verdict::Deny, Some(words.trim().to_owned())));
            }
            _ => terminal.show("type a number\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::Digest;

    fn calls(count: usize) -> Vec<AskedCall> {
        let call = |at: usize| AskedCall {
            id: (at + 1).to_string(),
            tool: "fs__delete".into(),
            server: "fs".into(),
            arguments: "{}".into(),
            action: None,
            folder: None,
            reasons: vec!["its name".into()],
            plan: Digest::of(b"plan"),
            hash: Digest::of(&[at as u8]),
        };
        (0..count).map(call).collect()
    }

    fn given(values: &[&str], words: Option<&str>) -> Given {
        let inputs = words.map(|words| (WORDS.to_owned(), words.to_owned())).into_iter().collect();
        Given { values: values.iter().map(|value| value.to_string()).collect(), inputs, ..Given::default() }
    }

    #[test]
    fn a_word_decides_all_calls_and_each_by_its_own_hash() {
        let calls = calls(2);
        let Ok(Answer::Approval { rulings }) = answer(&calls, &given(&["deny"], Some("too much"))) else {
            panic!("it is an answer")
        };
        assert_eq!(rulings["1"], calls[0].ruled(Verdict::Deny, Some("too much".into())));
        assert_eq!(rulings["2"], calls[1].ruled(Verdict::Deny, Some("too much".into())));
        assert_ne!(rulings["1"].hash, rulings["2"].hash);
        assert_eq!(
            answer(&calls, &given(&["approve"], None)),
            Ok(ruled_alike(&calls, Verdict::Approve, None))
        );
        assert_eq!(
            answer(&calls, &given(&["deny-because"], Some("no"))),
            Ok(ruled_alike(&calls, Verdict::Deny, Some("no")))
        );
    }

    #[test]
    fn calls_are_decided_one_by_one_too() {
        let calls = calls(2);
        let Ok(Answer::Approval { rulings }) = answer(&calls, &given(&["2=deny", "1=remember"], Some("no")))
        else {
            panic!("it is an answer")
        };
        assert_eq!(rulings["1"], calls[0].ruled(Verdict::Remember, None));
        assert_eq!(rulings["2"], calls[1].ruled(Verdict::Deny, Some("no".into())));
    }

    #[test]
    fn what_is_no_decision_is_refused() {
        let calls = calls(2);
        let refused = |values: &[&str], words| answer(&calls, &given(values, words)).unwrap_err();
        assert!(refused(&["yes"], None).contains("`approve`, `remember`, `deny`"));
        assert!(refused(&["expired"], None).contains("not among"));
        assert!(refused(&["3=deny"], None).contains("no call `3`"));
        assert!(refused(&["approve"], Some("x")).contains("go with `deny`"));
        assert!(refused(&["deny-because"], None).contains("--input words=TEXT"));
        assert!(refused(&[], None).contains("1, 2"));
    }
}
