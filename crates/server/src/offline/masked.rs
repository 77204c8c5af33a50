//! Texts on their way into the file: without secrets, and so that no browser takes them for anything but texts.
//!
//! A text that was shortened may end within a secret, of which no pattern knows a half. So the word that the cut goes through is left
//! out as well.

use convoke_agent::redaction::Scrubber;
use convoke_model::json_without_controls;
use serde::Serialize;
use serde_json::Value;

/// The longest word that is left out at a cut.
const LONGEST_WORD: usize = 8_192;

/// A thing as JSON for an element of a document.
pub(super) fn json(scrubber: &Scrubber, thing: &impl Serialize) -> String {
    let mut value = serde_json::to_value(thing).unwrap_or_default();
    whole_words(&mut value);
    scrubber.scrub(&mut value);
    // Such a sign stands in a string, where an escape is the same; in the document it would begin or end an element.
    json_without_controls(&value.to_string()).replace('<', "\\u003c")
}

fn whole_words(value: &mut Value) {
    match value {
        Value::String(text) if text.ends_with('…') => {
            text.pop();
            drop_last_word(text);
            text.push('…');
        }
        Value::Array(items) => items.iter_mut().for_each(whole_words),
        Value::Object(fields) => {
            let is_cut = fields
                .get("cut")
                .is_some_and(|cut| cut.as_bool().unwrap_or_default() || cut.as_u64().unwrap_or_default() > 0);
            for name in ["text", "arguments"].into_iter().filter(|_| is_cut) {
                if let Some(Value::String(text)) = fields.get_mut(name) {
                    drop_last_word(text);
                }
            }
            fields.values_mut().for_each(whole_words);
        }
        _ => {}
    }
}

fn drop_last_word(text: &mut String) {
    let from = text.floor_char_boundary(text.len().saturating_sub(LONGEST_WORD));
    let end = text[from..].rfind(char::is_whitespace).map_or(from, |at| from + at);
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECRET: &str = "hunter2-is-the-password";

    #[test]
    fn no_secret_passes_whole_or_cut_through() {
        let scrubber = Scrubber::new([SECRET.to_owned()]);
        let half = &SECRET[..12];
        let thing = json!({
            "whole": format!("say {SECRET} now"),
            "clipped": format!("it says {half}…"),
            "output": {"text": format!("begin {half}"), "cut": true},
            "part": {"text": format!("begin {half}"), "cut": 12},
            "kept": {"text": "begin and end", "cut": false},
            SECRET: 1,
        });
        let text = super::json(&scrubber, &thing);
        assert!(!text.contains(SECRET) && !text.contains(half), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&value["output"]["text"], &value["kept"]["text"]),
            (&json!("begin"), &json!("begin and end"))
        );
        assert_eq!(value["clipped"], "it says…");
    }

    #[test]
    fn nothing_in_a_text_is_a_tag_or_a_raw_control() {
        let hostile = "</script><script>alert(1)</script><!-- \u{2028}\u{202e}\u{0}";
        let text = super::json(&Scrubber::new([]), &json!({ "text": hostile }));
        assert!(!text.contains('<') && !text.contains('\u{2028}') && !text.contains('\u{202e}'), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["text"], hostile);
    }

    #[test]
    fn a_word_without_end_is_left_out_as_far_as_a_secret_is_long() {
        let mut value = json!({"text": "é".repeat(20_000), "cut": true});
        whole_words(&mut value);
        let left = value["text"].as_str().unwrap().len();
        assert!((40_000 - LONGEST_WORD - 2..=40_000 - LONGEST_WORD).contains(&left), "{left}");
    }
}
