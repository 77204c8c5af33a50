//! What names a question, binds an answer to it and says where the answer came from.

use crate::{Ask, Digest, TaskId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The id of one question: the task that asks, which has its path and its visit in its own id, and the number of the
/// question among those of the task. It is never given to another question of the run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GateId {
    /// The task.
    pub task: TaskId,
    /// Which of its questions, from 1.
    pub question: u32,
}

impl GateId {
    /// Reads `TASK~NUMBER`; `None` if there is no number.
    pub fn parse(text: &str) -> Option<GateId> {
        let (task, number) = text.rsplit_once('~')?;
        // `+1` and `01` are no second way to write it.
        let question: u32 =
            number.parse().ok().filter(|number: &u32| number.to_string() == text[task.len() + 1..])?;
        (question > 0 && !task.is_empty()).then(|| GateId { task: TaskId(task.into()), question })
    }
}

impl fmt::Display for GateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", self.task, self.question)
    }
}

impl Ask {
    /// The hash of everything that a person is shown: the digest of its canonical JSON (keys sorted, no blanks). An answer
    /// that carries it answers this question and no other.
    pub fn shown(&self) -> Digest {
        let value = serde_json::to_value(self).expect("a question is JSON");
        Digest::of(canonical_json(&value).as_bytes())
    }
}

/// The JSON of a value in one way only: keys sorted, no blanks.
pub fn canonical_json(value: &serde_json::Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

/// Questions are a few levels deep, so this may call itself.
fn write_canonical(value: &serde_json::Value, text: &mut String) {
    match value {
        serde_json::Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (place, (key, value)) in entries.into_iter().enumerate() {
                text.push_str(if place > 0 { "," } else { "" });
                text.push_str(&serde_json::Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(value, text);
            }
            text.push('}');
        }
        serde_json::Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                text.push_str(if place > 0 { "," } else { "" });
                write_canonical(item, text);
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

/// By which way an answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOrigin {
    /// The terminal of the process that drives the run.
    Terminal,
    /// `convoke answer`.
    Command,
    /// The terminal of `convoke attach`.
    Attach,
    /// A page or a program, through `convoke serve`.
    Server,
    /// `--skip-gates`: no person was asked.
    SkipGates,
    /// The time was over, and the gate has a default.
    Timeout,
    /// The answer to another question that one answer settles too: a budget that is raised.
    Implied,
}

impl AnswerOrigin {
    /// In words, behind a name.
    pub fn words(self) -> &'static str {
        match self {
            AnswerOrigin::Terminal => "terminal",
            AnswerOrigin::Command => "convoke answer",
            AnswerOrigin::Attach => "convoke attach",
            AnswerOrigin::Server => "convoke serve",
            AnswerOrigin::SkipGates => "--skip-gates",
            AnswerOrigin::Timeout => "timeout",
            AnswerOrigin::Implied => "by another answer",
        }
    }
}

/// Where an answer came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerSource {
    /// By which way.
    pub origin: AnswerOrigin,
    /// The machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// The process; 0 where no process but the run's own had a part in it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pid: u32,
    /// The terminal of that process, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<String>,
}

impl AnswerSource {
    /// Of a rule, which has no process of its own.
    pub fn rule(origin: AnswerOrigin) -> AnswerSource {
        AnswerSource { origin, host: String::new(), pid: 0, tty: None }
    }
}

impl fmt::Display for AnswerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.origin.words())?;
        if self.pid > 0 {
            write!(f, ", process {} on {}", self.pid, self.host)?;
        }
        self.tty.as_ref().map_or(Ok(()), |tty| write!(f, ", {tty}"))
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_gate_id_reads_back(task in "[a-z~/#0-9]{1,12}", question in 1u32..) {
            let id = GateId { task: TaskId(task.into()), question };
            prop_assert_eq!(GateId::parse(&id.to_string()), Some(id));
        }
    }

    #[test]
    fn what_has_no_number_is_no_gate_id() {
        for text in ["approve", "approve~", "approve~0", "approve~+1", "approve~01", "approve~x", "~1"] {
            assert_eq!(GateId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_hash_is_of_what_is_shown_in_any_order_of_keys() {
        let ask = |prompt: &str| Ask::Unknown { prompt: prompt.into() };
        assert_eq!(ask("a").shown(), ask("a").shown());
        assert_ne!(ask("a").shown(), ask("b").shown());
        let mut texts = [String::new(), String::new()];
        write_canonical(&serde_json::json!({"b": [1, {"d": 2, "c": "\"x"}], "a": null}), &mut texts[0]);
        write_canonical(&serde_json::json!({"a": null, "b": [1, {"c": "\"x", "d": 2}]}), &mut texts[1]);
        assert_eq!(texts[0], texts[1]);
        assert_eq!(texts[0], r#"{"a":null,"b":[1,{"c":"\"x","d":2}]}"#);
    }
}
