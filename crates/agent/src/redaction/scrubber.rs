//! Takes secrets out of what is written down: values that are known, and texts that look like keys.
//!
//! Both are looked for as they are, in base64, in hex, percent-encoded, escaped for JSON, and backwards, because models
//! and tools pass them on in these forms. What is asked during a replay goes through here as well, so that a prompt
//! with a secret in it is found again.

use super::{encodings_of, key_patterns};
use regex::Regex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::cell::Cell;

/// The text that replaces a secret.
pub(super) const MARK: &str = "[secret]";
/// A value shorter than this is a word, not a secret.
const SHORTEST: usize = 8;

/// Takes secrets out of texts.
#[derive(Debug, Default)]
pub struct Scrubber {
    known: Option<Regex>,
}

impl Scrubber {
    /// A scrubber that knows these values, besides what any key looks like.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Scrubber {
        let long = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST);
        let mut all: Vec<String> = long.flat_map(|secret| encodings_of(&secret)).collect();
        // The longest first: a form that contains another must go as a whole.
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        let pattern = all.iter().map(|form| regex::escape(form)).collect::<Vec<_>>().join("|");
        let known = (!all.is_empty()).then(|| Regex::new(&pattern).expect("escaped texts are a pattern"));
        Scrubber { known }
    }

    /// The text without secrets.
    pub fn text(&self, text: &str) -> String {
        let text = match &self.known {
            Some(known) => known.replace_all(text, MARK),
            None => text.into(),
        };
        key_patterns::without(&text)
    }

    /// Whether any value is known to be secret.
    pub fn knows_any(&self) -> bool {
        self.known.is_some()
    }

    /// The text without the values that are known; `None` where there is none in it.
    pub fn without_known(&self, text: &str) -> Option<String> {
        match self.known.as_ref()?.replace_all(text, MARK) {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(clean) => Some(clean),
        }
    }

    /// Whether something in the text stands for a secret that was taken out.
    pub fn stands_in(text: &str) -> bool {
        text.contains(MARK)
    }

    /// Takes the secrets out of every text of a value.
    pub fn scrub(&self, value: &mut Value) {
        every_text(value, &|text| *text = self.text(text));
    }

    /// Takes the values that are known out of every text of a value; whether there was any.
    pub fn scrub_known(&self, value: &mut Value) -> bool {
        let found = Cell::new(false);
        every_text(value, &|text| {
            if let Some(clean) = self.without_known(text) {
                *text = clean;
                found.set(true);
            }
        });
        found.get()
    }

    /// The same thing without secrets in its texts.
    pub fn clean<T: Serialize + DeserializeOwned>(&self, thing: &T) -> T {
        let mut value = serde_json::to_value(thing).expect("our types are JSON");
        self.scrub(&mut value);
        serde_json::from_value(value).expect("texts stay texts")
    }
}

/// Changes every text of a value, names of fields too.
fn every_text(value: &mut Value, change: &dyn Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| every_text(item, change)),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            let field = |(mut name, mut value): (String, Value)| {
                change(&mut name);
                every_text(&mut value, change);
                (name, value)
            };
            *fields = old.into_iter().map(field).collect::<Map<_, _>>();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECRET: &str = "hunter2/\"quoted\"+pass word";

    #[test]
    fn a_known_secret_is_found_in_every_form() {
        let scrubber = Scrubber::new([SECRET.to_owned()]);
        for form in [
            SECRET,
            "aHVudGVyMi8icXVvdGVkIitwYXNzIHdvcmQ=",
            "68756e746572322f2271756f746564222b7061737320776f7264",
            "68756E746572322F2271756F746564222B7061737320776F7264",
            "hunter2%2F%22quoted%22%2Bpass%20word",
            "hunter2%2f%22quoted%22%2bpass+word",
            "hunter2/\\\"quoted\\\"+pass word",
            "drow ssap+\"detouq\"/2retnuh",
        ] {
            let scrubbed = scrubber.text(&format!("before {form} after"));
            assert!(scrubbed.starts_with("before [secret]"), "{form}: {scrubbed}");
            assert!(scrubbed.ends_with(" after") && scrubbed.len() < 30, "{form}: {scrubbed}");
        }
    }

    #[test]
    fn base64_of_a_text_around_a_secret_gives_nothing_away() {
        let scrubber = Scrubber::new(["swordfish-canary".to_owned()]);
        // user:swordfish-canary and us:swordfish-canary!, so that the secret begins at each place of a group.
        for encoded in
            ["dXNlcjpzd29yZGZpc2gtY2FuYXJ5", "dXM6c3dvcmRmaXNoLWNhbmFyeSE=", "dTpzd29yZGZpc2gtY2FuYXJ5"]
        {
            let scrubbed = scrubber.text(encoded);
            assert!(scrubbed.contains(MARK) && !scrubbed.contains("d29yZGZpc2"), "{encoded}: {scrubbed}");
        }
    }

    #[test]
    fn every_text_of_a_value_is_scrubbed_and_words_are_left() {
        let scrubber = Scrubber::new(["topsecretvalue".to_owned(), "the".to_owned()]);
        let mut value = json!({"a": ["the topsecretvalue", 1], "topsecretvalue": null});
        scrubber.scrub(&mut value);
        assert_eq!(value, json!({"a": ["the [secret]", 1], "[secret]": null}));
    }
}
