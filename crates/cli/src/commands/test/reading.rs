//! Reads the tests of a file: all that is wrong is told at once, each mistake with its line and the nearest word.
//!
//! A misspelt key is read as the one that was meant, so that it is one mistake and hides none. Whether steps of a workflow
//! have the names that a test uses is known only when it runs (`findings`).

use super::case::Case;
use convoke_model::RunStatus;
use convoke_model::nearest;
use convoke_plan::source::place_of;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// One thing that is wrong with a file of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The line, from 1, where it is known.
    line: Option<usize>,
    /// The test and what is wrong with it.
    words: String,
}

impl Mistake {
    /// The mistake with its place.
    pub fn at(&self, file: &Path) -> String {
        match self.line {
            Some(line) => format!("{}:{line}: {}", file.display(), self.words),
            None => format!("{}: {}", file.display(), self.words),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// What a key takes.
#[derive(Clone, Copy)]
enum Takes {
    Anything,
    Text,
    Texts,
    Count,
    Mapping,
    Status,
}

const CASE: &[(&str, Takes)] = &[
    ("name", Takes::Text),
    ("inputs", Takes::Mapping),
    ("args", Takes::Texts),
    ("cassette", Takes::Text),
    ("replies", Takes::Text),
    ("expect", Takes::Mapping),
];

const EXPECT: &[(&str, Takes)] = &[
    ("status", Takes::Status),
    ("output", Takes::Anything),
    ("exact_output", Takes::Anything),
    ("ran", Takes::Texts),
    ("skipped", Takes::Texts),
    ("max_calls", Takes::Count),
    ("error", Takes::Text),
];

/// How a run can end, as tests call it.
const STATUSES: [&str; 8] = [
    RunStatus::Succeeded.word(),
    RunStatus::Partial.word(),
    RunStatus::SkippedAll.word(),
    RunStatus::Failed.word(),
    RunStatus::Parked.word(),
    RunStatus::Cancelled.word(),
    RunStatus::Interrupted.word(),
    "refused",
];

/// The tests of a text, or everything that is wrong with it. `yes`, `no`, `on` and `off` are words, as they are in
/// workflow files.
pub fn read(text: &str) -> Result<Vec<Case>, Vec<Mistake>> {
    let options = serde_saphyr::options! { strict_booleans: true };
    let written: Vec<Map<String, Value>> = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| vec![Mistake { line: None, words: error.to_string() }])?;
    let mut reader = Reader { text, index: 0, test: String::new(), mistakes: Vec::new() };
    let mut names = HashMap::new();
    let mut cases = Vec::new();
    for (index, case) in written.into_iter().enumerate() {
        reader.index = index;
        cases.extend(reader.case(case));
        let name = cases.last().filter(|_| reader.mistakes.is_empty()).map(|case: &Case| case.name.clone());
        if let Some(first) = name.and_then(|name| names.insert(name, index + 1)) {
            reader.mistake(&["name"], format!("test {first} has the same name"));
        }
    }
    if reader.mistakes.is_empty() { Ok(cases) } else { Err(reader.mistakes) }
}

struct Reader<'a> {
    text: &'a str,
    index: usize,
    /// How messages call the test.
    test: String,
    mistakes: Vec<Mistake>,
}

impl Reader<'_> {
    fn case(&mut self, mut written: Map<String, Value>) -> Option<Case> {
        let name = written.get("name").and_then(Value::as_str);
        self.test = name.map_or_else(|| format!("test {}", self.index + 1), |name| format!("test `{name}`"));
        let before = self.mistakes.len();
        self.judge(&mut written, CASE, None);
        if let Some(Value::Object(expect)) = written.get_mut("expect") {
            self.judge(expect, EXPECT, Some("expect"));
        }
        if !written.contains_key("name") {
            self.mistake(&[], "it has no `name`".to_owned());
        }
        if written.contains_key("cassette") && written.contains_key("replies") {
            self.mistake(&["replies"], "it has a cassette and replies; one of them must answer".to_owned());
        }
        if self.mistakes.len() > before {
            return None;
        }
        match serde_json::from_value(Value::Object(written)) {
            Ok(case) => Some(case),
            Err(error) => {
                self.mistake(&[], error.to_string());
                None
            }
        }
    }

    /// Looks at every key and value, and puts misspelt keys right.
    fn judge(&mut self, map: &mut Map<String, Value>, known: &[(&str, Takes)], within: Option<&str>) {
        for (key, value) in std::mem::take(map) {
            let path: Vec<&str> = within.into_iter().chain([key.as_str()]).collect();
            let meant = match known.iter().any(|(name, _)| *name == key) {
                true => Some(key.as_str()),
                false => self.unknown(&path, known),
            };
            let Some((name, takes)) = known.iter().find(|(name, _)| Some(*name) == meant) else { continue };
            if let Some(wrong) = mismatch(*takes, &value) {
                self.mistake(&path, format!("`{}`: {wrong}", path.join(".")));
            }
            map.entry(*name).or_insert(value);
        }
    }

    /// Reports a key that is none; the one that was meant, if any is near.
    fn unknown<'k>(&mut self, path: &[&str], known: &[(&'k str, Takes)]) -> Option<&'k str> {
        let names: Vec<&'k str> = known.iter().map(|(name, _)| *name).collect();
        let near = nearest(path.last()?, names.iter().copied());
        let advice = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", names.join(", ")),
        };
        self.mistake(path, format!("unknown key `{}`; {advice}", path.join(".")));
        near
    }

    fn mistake(&mut self, path: &[&str], words: String) {
        let path: Vec<String> =
            [self.index.to_string()].into_iter().chain(path.iter().map(|step| (*step).to_owned())).collect();
        let place = place_of(self.text, &path).or_else(|| place_of(self.text, &path[..1]));
        let line = place.map(|place| self.text[..place.start].matches('\n').count() + 1);
        self.mistakes.push(Mistake { line, words: format!("{}: {words}", self.test) });
    }
}

/// What is wrong with a value, if something is.
fn mismatch(takes: Takes, value: &Value) -> Option<String> {
    let is_text = |value: &Value| value.is_string();
    let expected = match takes {
        Takes::Anything => return None,
        Takes::Text if is_text(value) => return None,
        Takes::Texts if value.as_array().is_some_and(|items| items.iter().all(is_text)) => return None,
        Takes::Count if value.is_u64() => return None,
        Takes::Mapping if value.is_object() => return None,
        Takes::Status => return value.as_str().map_or_else(|| Some(no_status("")), status),
        Takes::Text => "a text",
        Takes::Texts => "a list of texts",
        Takes::Count => "a whole number",
        Takes::Mapping => "a mapping",
    };
    Some(format!("expected {expected}, found {value}"))
}

fn status(word: &str) -> Option<String> {
    (!STATUSES.contains(&word)).then(|| no_status(word))
}

fn no_status(word: &str) -> String {
    let near = nearest(word, STATUSES).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("expected one of {}{near}", STATUSES.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn mistakes(text: &str) -> Vec<String> {
        read(text).unwrap_err().iter().map(|mistake| mistake.at(Path::new("t"))).collect()
    }

    #[test]
    fn words_are_read_as_in_workflow_files() {
        let cases = read("- {name: a, expect: {output: [yes, no, on, off, true, False]}}").unwrap();
        let expected = serde_json::json!(["yes", "no", "on", "off", true, false]);
        assert_eq!(cases[0].expect.output, Some(expected));
    }

    #[test]
    fn every_mistake_is_told_at_once_with_its_line_and_the_nearest_word() {
        let text = "\
- name: one
  arg: [--skip-gates]
  casette: cassettes/gate
  expect:
    otuput: {published: x}
    status: prked
- nam: two
  expect:
    calls: 3
    ran: publish
- name: three
  replies: {a: x}
  expect: [1]
";
        assert_eq!(
            mistakes(text),
            [
                "t:2: test `one`: unknown key `arg`; did you mean `args`?",
                "t:3: test `one`: unknown key `casette`; did you mean `cassette`?",
                "t:5: test `one`: unknown key `expect.otuput`; did you mean `output`?",
                "t:6: test `one`: `expect.status`: expected one of succeeded, partial, skipped_all, failed, parked, \
                 cancelled, interrupted, refused; did you mean `parked`?",
                "t:7: test 2: unknown key `nam`; did you mean `name`?",
                "t:9: test 2: unknown key `expect.calls`; known here: status, output, exact_output, ran, skipped, \
                 max_calls, error",
                "t:10: test 2: `expect.ran`: expected a list of texts, found \"publish\"",
                "t:12: test `three`: `replies`: expected a text, found {\"a\":\"x\"}",
                "t:13: test `three`: `expect`: expected a mapping, found [1]",
            ]
        );
    }

    #[test]
    fn a_test_has_a_name_of_its_own() {
        assert_eq!(mistakes("- {inputs: {}}\n"), ["t:1: test 1: it has no `name`"]);
        assert_eq!(
            mistakes("- {name: a}\n- {name: b}\n- {name: a}\n"),
            ["t:3: test `a`: test 1 has the same name"]
        );
        assert_eq!(
            mistakes("- {name: a, cassette: x, replies: y}\n"),
            ["t:1: test `a`: it has a cassette and replies; one of them must answer"]
        );
    }
}
