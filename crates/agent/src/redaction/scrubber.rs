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
#[derive(Default)]
pub struct Scrubber {
    known: Option<Regex>,
    /// Every form of every value, sorted.
    forms: Vec<String>,
    /// The length of the longest form.
    longest: usize,
}

/// The forms are secrets.
impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scrubber({} forms)", self.forms.len())
    }
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
        let longest = all.first().map_or(0, String::len);
        all.sort_unstable();
        Scrubber { known, forms: all, longest }
    }

    /// The text without secrets.
    pub fn text(&self, text: &str) -> String {
        let text = match &self.known {
            Some(known) => known.replace_all(text, MARK),
            None => text.into(),
        };
        key_patterns::without(&text)
    }

    /// How much of a text that goes on is decided: behind that stands what could be the beginning of a secret.
    pub fn decided(&self, text: &str) -> usize {
        let starts = text.char_indices().map(|(at, _)| at);
        let mut starts = starts.skip_while(|at| text.len() - at > self.longest);
        let begins = starts.find(|at| self.begins_a_form(&text[*at..])).unwrap_or(text.len());
        // The end of a whole secret can be the beginning of another: what is whole is not parted.
        let mut whole = self.known.iter().flat_map(|known| known.find_iter(text));
        let parted = whole.find(|found| found.start() < begins && begins < found.end());
        parted.map_or(begins, |found| found.end())
    }

    /// Whether a form begins so and goes on.
    fn begins_a_form(&self, text: &str) -> bool {
        let from = self.forms.partition_point(|form| form.as_str() <= text);
        self.forms.get(from).is_some_and(|form| form.starts_with(text))
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
    fn a_secret_that_comes_in_pieces_is_held_back_until_it_is_whole() {
        let scrubber = Scrubber::new([SECRET.to_owned()]);
        for form in encodings_of(SECRET) {
            let text = format!("before {form} after");
            for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                let (mut shown, mut held) = (String::new(), String::new());
                for piece in [&text[..cut], &text[cut..], " the end"] {
                    held.push_str(piece);
                    let decided = scrubber.decided(&held);
                    let rest = held.split_off(decided);
                    shown.push_str(&scrubber.without_known(&held).unwrap_or(held.clone()));
                    held = rest;
                }
                shown.push_str(&held);
                assert!(!shown.contains(&form), "{form} cut at {cut}: {shown}");
                assert!(shown.ends_with("the end"), "{shown}");
            }
        }
        assert_eq!(scrubber.decided("nothing of the kind."), 20);
    }

    #[test]
    fn every_text_of_a_value_is_scrubbed_and_words_are_left() {
        let scrubber = Scrubber::new(["topsecretvalue".to_owned(), "the".to_owned()]);
        let mut value = json!({"a": ["the topsecretvalue", 1], "topsecretvalue": null});
        scrubber.scrub(&mut value);
        assert_eq!(value, json!({"a": ["the [secret]", 1], "[secret]": null}));
    }
}
