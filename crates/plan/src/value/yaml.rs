//! A YAML text as a value, for texts that a template made: one document, texts as keys, nothing exotic.
//!
//! Workflow files have a reader of their own (`source`), which keeps places; this one only wants the value.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value};

use super::json;
use super::scalar::core_scalar;

/// Nodes that one text may unfold to, aliases included.
pub(super) const NODES: usize = 200_000;
/// How deep lists and maps may nest.
pub(super) const DEPTH: usize = 120;

/// Why a text is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not YAML, or YAML that has no place here (several documents, unknown tags, a key twice).
    NotYaml,
    /// A map has a key that is no text.
    Key(String),
}

/// Reads one YAML 1.2 document; an empty one is null. JSON, which is YAML, goes a shorter way.
pub(super) fn read(text: &str) -> Result<Value, Fault> {
    json::read(text).map_or_else(|| read_yaml(text), Ok)
}

pub(super) fn read_yaml(text: &str) -> Result<Value, Fault> {
    let events =
        Parser::new_from_str(text).map(|event| event.map(|(event, _)| event).map_err(|_| Fault::NotYaml));
    let mut reader = Reader { events, anchors: HashMap::new(), nodes: 0 };
    let mut document = None;
    loop {
        match reader.next()? {
            Event::StreamEnd => return Ok(document.unwrap_or(Value::Null)),
            Event::DocumentStart(..) if document.is_some() => return Err(Fault::NotYaml),
            Event::DocumentStart(..) => {
                let event = reader.next()?;
                document = Some(reader.node(event, 0)?);
            }
            _ => {}
        }
    }
}

/// Builds values from events; an anchor keeps its value and how many nodes that has.
struct Reader<I> {
    events: I,
    anchors: HashMap<usize, (Value, usize)>,
    nodes: usize,
}

impl<'t, I: Iterator<Item = Result<Event<'t>, Fault>>> Reader<I> {
    /// The next event that is no comment.
    fn next(&mut self) -> Result<Event<'t>, Fault> {
        loop {
            match self.events.next() {
                Some(Ok(Event::Comment(..))) => {}
                Some(event) => return event,
                None => return Err(Fault::NotYaml),
            }
        }
    }

    fn node(&mut self, event: Event<'t>, depth: usize) -> Result<Value, Fault> {
        let before = self.nodes;
        self.count(1)?;
        if depth > DEPTH {
            return Err(Fault::NotYaml);
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => (scalar(&text, style, tag.as_deref())?, anchor),
            Event::SequenceStart(_, anchor, tag) => (self.sequence(tag.as_deref(), depth)?, anchor),
            Event::MappingStart(_, anchor, tag) => (self.mapping(tag.as_deref(), depth)?, anchor),
            Event::Alias(anchor) => return self.alias(anchor),
            _ => return Err(Fault::NotYaml),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), self.nodes - before));
        }
        Ok(value)
    }

    fn count(&mut self, nodes: usize) -> Result<(), Fault> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > NODES { Err(Fault::NotYaml) } else { Ok(()) }
    }

    fn alias(&mut self, anchor: usize) -> Result<Value, Fault> {
        let nodes = self.anchors.get(&anchor).map(|(_, nodes)| *nodes).ok_or(Fault::NotYaml)?;
        self.count(nodes)?;
        Ok(self.anchors[&anchor].0.clone())
    }

    fn sequence(&mut self, tag: Option<&Tag>, depth: usize) -> Result<Value, Fault> {
        expect_tag(tag, "seq")?;
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(Value::Array(items)),
                event => items.push(self.node(event, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, tag: Option<&Tag>, depth: usize) -> Result<Value, Fault> {
        expect_tag(tag, "map")?;
        let mut entries = Map::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(Value::Object(entries)),
                event => self.node(event, depth + 1)?,
            };
            let Value::String(key) = key else { return Err(Fault::Key(key.to_string())) };
            let event = self.next()?;
            let value = self.node(event, depth + 1)?;
            if entries.insert(key, value).is_some() {
                return Err(Fault::NotYaml);
            }
        }
    }
}

fn expect_tag(tag: Option<&Tag>, suffix: &str) -> Result<(), Fault> {
    match tag {
        None => Ok(()),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix() == suffix => Ok(()),
        Some(_) => Err(Fault::NotYaml),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, Fault> {
    let as_text = || Value::String(text.to_owned());
    match tag {
        None if style == ScalarStyle::Plain => Ok(core_scalar(text)),
        None => Ok(as_text()),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix() == "str" => Ok(as_text()),
        Some(tag) if tag.is_yaml_core_schema() => Ok(core_scalar(text)),
        Some(_) => Err(Fault::NotYaml),
    }
}
