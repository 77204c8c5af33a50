//! The outputs that programs look into. They stay here; programs get what they ask for.
//!
//! An output is read at its first use. Places in texts are counted in characters, as Python does.

use super::worker::{ErrorKind, Given};
use convoke_model::ProgramSource;
use convoke_model::excerpt::{first_chars, last_chars, one_line, place_of};
use convoke_model::synthesis::{bare, readable};
use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// Characters of an output that `outputs()` shows.
const PREFIX: usize = 100;
/// Characters around a place that was found.
const AROUND: usize = 80;
/// Places that one search gives at most.
pub(super) const MOST_FOUND: u64 = 1_000;
/// How large a compiled pattern may be.
const PATTERN_BYTES: usize = 1 << 20;

/// The outputs of one call, in order.
pub(super) struct Library {
    sources: Vec<ProgramSource>,
    read: Vec<OnceLock<Output>>,
}

/// One output, read.
pub(super) struct Output {
    /// The value, unless it is the text.
    data: Option<Value>,
    text: String,
    pub chars: usize,
}

/// What is looked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Look {
    Outputs,
    Get(usize),
    Slice { of: usize, start: i64, end: Option<i64> },
    Search { pattern: String, of: Option<Vec<usize>>, limit: u64 },
}

impl Library {
    pub fn new(sources: &[ProgramSource]) -> Library {
        let read = sources.iter().map(|_| OnceLock::new()).collect();
        Library { sources: sources.to_vec(), read }
    }

    pub fn len(&self) -> usize {
        self.sources.len()
    }

    pub fn source(&self, index: usize) -> &ProgramSource {
        &self.sources[index]
    }

    /// The output with this mark, however it is spelt: `S3`, `s3`, `[S3]`.
    pub fn find(&self, mark: &str) -> Option<usize> {
        let bare = mark.trim().trim_matches(['[', ']']);
        self.sources.iter().position(|source| source.mark.eq_ignore_ascii_case(bare))
    }

    pub fn output(&self, index: usize) -> &Output {
        self.read[index].get_or_init(|| Output::of(self.sources[index].output.value()))
    }

    /// Answers a look. May take as long as reading everything takes.
    pub fn look(&self, look: &Look) -> Given {
        match look {
            Look::Outputs => Given::Value((0..self.len()).map(|index| self.described(index)).collect()),
            Look::Get(index) => Given::Value(self.output(*index).value()),
            Look::Slice { of, start, end } => Given::Value(self.output(*of).slice(*start, *end).into()),
            Look::Search { pattern, of, limit } => self.search(pattern, of.as_deref(), *limit),
        }
    }

    fn described(&self, index: usize) -> Value {
        let (source, output) = (&self.sources[index], self.output(index));
        json!({
            "id": source.mark, "title": source.title, "task": source.task, "type": output.kind(),
            "chars": output.chars, "prefix": output.prefix(PREFIX),
        })
    }

    fn search(&self, pattern: &str, of: Option<&[usize]>, limit: u64) -> Given {
        let regex = match RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build() {
            Ok(regex) => regex,
            Err(error) => return Given::error(ErrorKind::Value, format!("search(): {error}")),
        };
        let all: Vec<usize>;
        let of = match of {
            Some(of) => of,
            None => {
                all = (0..self.len()).collect();
                &all
            }
        };
        let found = of.iter().flat_map(|index| self.found(*index, &regex));
        Given::Value(found.take(limit.min(MOST_FOUND) as usize).collect())
    }

    fn found<'a>(&'a self, index: usize, regex: &'a Regex) -> impl Iterator<Item = Value> + 'a {
        let (mark, text) = (&self.sources[index].mark, self.output(index).text.as_str());
        // Matches come in order, so characters are counted once.
        let (mut at, mut chars) = (0, 0);
        regex.find_iter(text).map(move |found| {
            chars += text[at..found.start()].chars().count();
            at = found.start();
            let length = found.as_str().chars().count();
            let (before, after) =
                (last_chars(&text[..at], AROUND), first_chars(&text[found.end()..], AROUND));
            json!({
                "id": mark, "start": chars, "end": chars + length, "match": found.as_str(),
                "context": format!("{before}{}{after}", found.as_str()),
            })
        })
    }
}

impl Output {
    fn of(value: Value) -> Output {
        let (text, value) = (readable(&value), bare(value));
        let chars = text.chars().count();
        Output { data: Some(value).filter(|value| !value.is_string() && !value.is_null()), text, chars }
    }

    fn value(&self) -> Value {
        self.data.clone().unwrap_or_else(|| Value::from(self.text.as_str()))
    }

    /// A word for what it is.
    pub fn kind(&self) -> &'static str {
        match &self.data {
            None => "text",
            Some(Value::Object(_)) => "record",
            Some(Value::Array(_)) => "list",
            Some(Value::Number(_)) => "number",
            Some(_) => "value",
        }
    }

    /// The beginning, in one line.
    pub fn prefix(&self, chars: usize) -> String {
        let start = first_chars(&self.text, chars * 2);
        first_chars(&one_line(start), chars).to_owned()
    }

    /// As Python slices a text.
    fn slice(&self, start: i64, end: Option<i64>) -> &str {
        let length = self.chars as i64;
        let place = |place: i64| if place < 0 { (length + place).max(0) } else { place.min(length) };
        let (start, end) = (place(start) as usize, place(end.unwrap_or(length)) as usize);
        let rest = &self.text[place_of(&self.text, start)..];
        &rest[..place_of(rest, end.saturating_sub(start))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{JsonText, TaskId};
    use proptest::prelude::*;

    fn library(outputs: &[Value]) -> Library {
        let source = |(at, output): (usize, &Value)| ProgramSource {
            mark: format!("S{}", at + 1),
            task: TaskId(format!("items[{at}]").into()),
            title: format!("item {at}"),
            output: JsonText::of(output),
        };
        Library::new(&outputs.iter().enumerate().map(source).collect::<Vec<_>>())
    }

    fn given(library: &Library, look: Look) -> Value {
        match library.look(&look) {
            Given::Value(value) => value,
            Given::Error { message, .. } => panic!("{message}"),
        }
    }

    #[test]
    fn an_output_is_a_text_or_a_value_and_both_can_be_searched() {
        let library =
            library(&[json!({"result": "Wörter\nund mehr"}), json!({"n": 1, "deep": {"x": "Wörter"}})]);
        assert_eq!(given(&library, Look::Get(0)), json!("Wörter\nund mehr"));
        assert_eq!(given(&library, Look::Get(1)), json!({"n": 1, "deep": {"x": "Wörter"}}));
        let search = Look::Search { pattern: "(?i)wörter".into(), of: None, limit: 10 };
        let found = given(&library, search);
        assert_eq!(
            found[0],
            json!({"id": "S1", "start": 0, "end": 6, "match": "Wörter", "context": "Wörter\nund mehr"})
        );
        assert_eq!((&found[1]["id"], found.as_array().unwrap().len()), (&json!("S2"), 2));
        let listed = given(&library, Look::Outputs);
        assert_eq!(listed[0]["prefix"], json!("Wörter und mehr"));
        assert_eq!((&listed[0]["type"], &listed[1]["type"]), (&json!("text"), &json!("record")));
    }

    #[test]
    fn searches_keep_to_their_limit_and_their_outputs() {
        let library = library(&[json!("a a a"), json!("a")]);
        let search = |of, limit| Look::Search { pattern: "a".into(), of, limit };
        assert_eq!(given(&library, search(None, 2)).as_array().unwrap().len(), 2);
        assert_eq!(given(&library, search(Some(vec![1]), 9)).as_array().unwrap().len(), 1);
        let bad = Look::Search { pattern: "(".into(), of: None, limit: 1 };
        assert!(matches!(library.look(&bad), Given::Error { kind: ErrorKind::Value, .. }));
    }

    proptest! {
        #[test]
        fn what_is_found_stands_where_it_is_said(text in "[aé\\n ]{0,60}") {
            let library = library(&[json!(text)]);
            let found = given(&library, Look::Search { pattern: "a+".into(), of: None, limit: 99 });
            for place in found.as_array().unwrap() {
                let (start, end) = (place["start"].as_i64().unwrap(), place["end"].as_i64().unwrap());
                prop_assert_eq!(given(&library, Look::Slice { of: 0, start, end: Some(end) }), place["match"].clone());
            }
        }

        #[test]
        fn slices_are_those_of_python(text in "[aéb]{0,12}", start in -15i64..15, end in prop::option::of(-15i64..15)) {
            let library = library(&[json!(text)]);
            let chars: Vec<char> = text.chars().collect();
            let length = chars.len() as i64;
            let place = |at: i64| (if at < 0 { at + length } else { at }).clamp(0, length) as usize;
            let (from, to) = (place(start), end.map_or(chars.len(), place));
            let expected: String = chars.get(from..to).unwrap_or_default().iter().collect();
            prop_assert_eq!(given(&library, Look::Slice { of: 0, start, end }), json!(expected));
        }
    }
}
