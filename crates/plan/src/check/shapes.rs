//! What is known about the shape of an output before anything has run.

use super::outline::{Item, Outline};
use crate::source::output::OutputField;
use crate::source::workflow::{Entry, OutputMode, OutputSchema, SetWhat, Step, StepKind};
use indexmap::IndexMap;

/// A shape, as far as the file tells it.
#[derive(Debug, Clone)]
pub(super) enum Shape<'a> {
    /// Nothing is known.
    Open,
    /// A map with these keys.
    Map(Vec<(&'a str, Shape<'a>)>),
}

/// A part of a path that is not there, as far as the file tells.
pub(super) struct Missing<'a> {
    /// Its position in the path.
    pub at: usize,
    /// What is there.
    pub available: Vec<&'a str>,
}

/// Groups inside groups are followed this far.
const DEPTH: usize = 4;
const QUESTIONS: &[&str] =
    &["answers", "items", "transcript", "answered_count", "skipped_count", "answered_any", "outcome"];
/// Names that a map answers to without having them as keys.
const METHODS: &[&str] = &["items", "keys", "values", "get", "copy", "pop", "update", "setdefault"];

impl<'a> Shape<'a> {
    /// What stands behind the name of a step or group in a template.
    pub fn of(outline: &Outline<'a>, ix: usize) -> Shape<'a> {
        match outline.items[ix] {
            Item::Step(step) => Shape::Map(vec![("output", step_shape(step)), ("error", Shape::Open)]),
            _ => group(outline, ix, DEPTH),
        }
    }

    /// What `output` is in the routes of a step or group.
    pub fn of_output(outline: &Outline<'a>, ix: usize) -> Shape<'a> {
        content(outline, ix, DEPTH)
    }

    /// The keys of a map; `None` when nothing is known.
    pub fn keys(&self) -> Option<Vec<&'a str>> {
        match self {
            Shape::Open => None,
            Shape::Map(fields) => Some(fields.iter().map(|(name, _)| *name).collect()),
        }
    }

    /// The first part of a path that is not there; `at` is where the path enters this shape.
    pub fn missing(&self, path: &[String], at: usize) -> Option<Missing<'a>> {
        let Shape::Map(fields) = self else { return None };
        let part = path.get(at)?.as_str();
        match fields.iter().find(|(name, _)| *name == part) {
            Some((_, inner)) => inner.missing(path, at + 1),
            None if METHODS.contains(&part) => None,
            None => Some(Missing { at, available: self.keys().unwrap_or_default() }),
        }
    }
}

fn fixed<'a>(names: &[&'a str]) -> Shape<'a> {
    Shape::Map(names.iter().map(|name| (*name, Shape::Open)).collect())
}

/// A fan-out's outputs are a list, or a map by keys that nobody knows yet.
fn group<'a>(outline: &Outline<'a>, ix: usize, depth: usize) -> Shape<'a> {
    let outputs = match outline.items[ix] {
        Item::Parallel(group) if depth > 0 => {
            let member =
                |name: &'a str| outline.find(name).map_or(Shape::Open, |ix| content(outline, ix, depth - 1));
            Shape::Map(group.agents.iter().map(|name| (name.value.as_str(), member(&name.value))).collect())
        }
        _ => Shape::Open,
    };
    let others = ["type", "errors", "count", "aligned"].map(|name| (name, Shape::Open));
    Shape::Map([("outputs", outputs)].into_iter().chain(others).collect())
}

fn content<'a>(outline: &Outline<'a>, ix: usize, depth: usize) -> Shape<'a> {
    match outline.items[ix] {
        Item::Step(step) => step_shape(step),
        _ => group(outline, ix, depth),
    }
}

fn step_shape(step: &Step) -> Shape<'_> {
    match &step.kind {
        StepKind::Agent(agent) => match (&agent.output, &agent.output_mode) {
            (_, Some(mode)) if mode.value == OutputMode::Raw => fixed(&["result"]),
            (Some(schema), _) if !schema.fields.is_empty() => declared(&schema.fields),
            _ => Shape::Open,
        },
        StepKind::Script(script) => script.output.as_ref().map_or(Shape::Open, command),
        StepKind::Set(set) => match &set.what {
            Some(SetWhat::Values(values)) => {
                Shape::Map(values.keys().map(|name| (name.as_str(), Shape::Open)).collect())
            }
            _ => Shape::Open,
        },
        StepKind::HumanGate(_) => fixed(&["selected", "additional_input"]),
        StepKind::Questions(_) => fixed(QUESTIONS),
        StepKind::Wait(_) => fixed(&["waited_seconds", "requested_seconds", "interrupted"]),
        StepKind::Terminate(_) => fixed(&["status", "reason", "terminated_by"]),
        StepKind::Workflow(_) | StepKind::Unknown => Shape::Open,
    }
}

/// A command's declared fields stand beside the fixed ones; without a declaration anything may.
fn command(schema: &OutputSchema) -> Shape<'_> {
    let own = ["stdout", "stderr", "exit_code"].map(|name| (name, Shape::Open));
    match declared(&schema.fields) {
        Shape::Map(fields) if !fields.is_empty() => Shape::Map(own.into_iter().chain(fields).collect()),
        _ => Shape::Open,
    }
}

fn declared(fields: &IndexMap<String, Entry<OutputField>>) -> Shape<'_> {
    Shape::Map(fields.iter().map(|(name, entry)| (name.as_str(), field(&entry.value))).collect())
}

fn field(field: &OutputField) -> Shape<'_> {
    match &field.properties {
        Some(properties) if !properties.is_empty() => declared(properties),
        _ => Shape::Open,
    }
}
