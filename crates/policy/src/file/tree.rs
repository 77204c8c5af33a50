//! A policy file as a tree in which every value keeps its place. Aliases, tags and second documents are no part of policies.

use super::finding::Findings;
use granit_parser::{Event, Parser, ScalarStyle, options};
use std::ops::Range;

/// Levels of nesting.
const MAX_DEPTH: usize = 16;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// Where it stands.
    pub range: Range<usize>,
}

/// The three shapes of values.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A single value, and whether it was written without quotes.
    Scalar(String, bool),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<(String, Range<usize>, Node)>),
}

impl Node {
    /// Whether it is nothing.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(text, true) if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// The word for what it is.
    pub fn describe(&self) -> &'static str {
        match &self.value {
            Value::Scalar(..) if self.is_null() => "nothing",
            Value::Scalar(..) => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

enum Frame {
    List(Vec<Node>, usize),
    Map(Vec<(String, Range<usize>, Node)>, Option<(String, Range<usize>)>, usize),
}

/// Reads a text; what is no YAML is a finding, and nothing comes of it.
pub fn build(text: &str, findings: &mut Findings<'_>) -> Option<Node> {
    let mut stack: Vec<Frame> = Vec::new();
    let mut root = None;
    let options = options! { emit_comments: false, emit_unresolved_aliases: true };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, at) = match event {
            Ok(event) => event,
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(0).min(text.len());
                findings.add("yaml::syntax", &(at..at), format!("yaml syntax: {}", error.kind()), None);
                return None;
            }
        };
        let range = at.byte_range().unwrap_or(0..0);
        let finished = match event {
            Event::DocumentStart(..) if root.is_some() => {
                let help = "keep one document per file".to_owned();
                findings.add(
                    "yaml::multiple_documents",
                    &range,
                    "the file holds more than one YAML document",
                    Some(help),
                );
                return None;
            }
            Event::Scalar(text, style, _, tag) => {
                if tag.is_some() {
                    findings.add("yaml::unknown_tag", &range, "a policy has no tags", None);
                }
                Node { value: Value::Scalar(text.into_owned(), style == ScalarStyle::Plain), range }
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if stack.len() >= MAX_DEPTH => {
                findings.add("yaml::too_deep", &range, "the file is nested too deeply", None);
                return None;
            }
            Event::SequenceStart(_, _, Some(_)) | Event::MappingStart(_, _, Some(_)) => {
                findings.add("yaml::unknown_tag", &range, "a policy has no tags", None);
                return None;
            }
            Event::SequenceStart(..) => {
                stack.push(Frame::List(Vec::new(), range.start));
                continue;
            }
            Event::MappingStart(..) => {
                stack.push(Frame::Map(Vec::new(), None, range.start));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match stack.pop() {
                Some(Frame::List(items, start)) => {
                    Node { value: Value::List(items), range: start..range.end }
                }
                Some(Frame::Map(pairs, _, start)) => {
                    Node { value: Value::Map(pairs), range: start..range.end }
                }
                None => continue,
            },
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                let help = "write the value out: a policy is read by people".to_owned();
                findings.add("policy::alias", &range, "a policy has no aliases", Some(help));
                Node { value: Value::Scalar(String::new(), true), range }
            }
            _ => continue,
        };
        match stack.last_mut() {
            None => root = Some(finished),
            Some(Frame::List(items, _)) => items.push(finished),
            Some(Frame::Map(pairs, key, _)) => match key.take() {
                Some((name, at)) => pairs.push((name, at, finished)),
                None => *key = key_of(finished, pairs, findings),
            },
        }
    }
    root
}

fn key_of(
    node: Node,
    pairs: &[(String, Range<usize>, Node)],
    findings: &mut Findings<'_>,
) -> Option<(String, Range<usize>)> {
    let Value::Scalar(name, _) = node.value else {
        findings.add("yaml::complex_key", &node.range, "a key is a list or a mapping, expected a name", None);
        return Some((String::new(), node.range));
    };
    if pairs.iter().any(|(known, ..)| *known == name) {
        let help = "remove one of them".to_owned();
        findings.add("yaml::duplicate_key", &node.range, format!("key `{name}` is given twice"), Some(help));
    }
    Some((name, node.range))
}
