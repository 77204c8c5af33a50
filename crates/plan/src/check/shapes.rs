//! What is known about the shape of an output before anything has run.
//!
//! A shape is looked into only as far as a path leads: groups may be large, and in a file that is wrong they may even
//! contain each other.

use super::outline::{Item, Outline};
use crate::source::output::OutputField;
use crate::source::workflow::{Entry, OutputMode, OutputSchema, Step, StepKind};
use indexmap::IndexMap;

/// A shape, as far as the file tells it.
#[derive(Debug, Clone)]
pub(super) enum Shape<'a> {
    /// Nothing is known.
    Open,
    /// What stands behind the name of a step: `output`, or `error` after a failure.
    Step(usize),
    /// What a group gives.
    Group(usize),
    /// The outputs of a parallel group, by member.
    Members(usize),
    /// Declared fields.
    Declared(&'a IndexMap<String, Entry<OutputField>>),
    /// The outcome of a command: its declared fields beside the fixed ones.
    Command(&'a OutputSchema),
    /// A map with these keys.
    Keys(Vec<&'a str>),
}

/// A part of a path that is not there, as far as the file tells.
pub(super) struct Missing<'a> {
    /// Its position in the path.
    pub at: usize,
    /// What is there.
    pub available: Vec<&'a str>,
}

const GROUP: &[&str] = &["outputs", "errors", "count", "type", "aligned"];
const COMMAND: &[&str] = &["stdout", "stderr", "exit_code"];
const REDUCE: &[&str] = &[
    "result", "strategy", "sources", "missing", "rounds", "calls", "usage", "notes", "vote", "winner",
    "reason",
];
const GOAL: &[&str] = &["status", "message", "next_steps", "issues", "reason", "tasks", "usage", "plan"];
const PLANNED: &[&str] = &["status", "tasks", "complete"];
const VERIFY: &[&str] = &["result", "verdict", "findings", "sources", "rounds", "calls", "usage", "notes"];
const PHASE: &[&str] = &["status", "payload", "attempts", "events"];
const QUESTIONS: &[&str] =
    &["answers", "items", "transcript", "answered_count", "skipped_count", "answered_any", "outcome"];
/// Names that a map answers to without having them as keys.
pub(super) const METHODS: &[&str] =
    &["items", "keys", "values", "get", "copy", "pop", "update", "setdefault"];

impl<'a> Shape<'a> {
    /// What stands behind the name of a step or group in a template.
    pub fn of(outline: &Outline<'a>, ix: usize) -> Shape<'a> {
        if outline.items[ix].is_group() { Shape::Group(ix) } else { Shape::Step(ix) }
    }

    /// What `output` is in the routes of a step or group.
    pub fn of_output(outline: &Outline<'a>, ix: usize) -> Shape<'a> {
        match outline.items[ix] {
            Item::Step(step) => step_shape(step),
            _ => Shape::Group(ix),
        }
    }

    /// The keys of a map; `None` when nothing is known.
    pub fn keys(&self, outline: &Outline<'a>) -> Option<Vec<&'a str>> {
        match self {
            Shape::Open => None,
            Shape::Step(_) => Some(vec!["output", "error"]),
            Shape::Group(_) => Some(GROUP.to_vec()),
            Shape::Members(ix) => Some(outline.members(*ix).iter().map(|name| name.value.as_str()).collect()),
            Shape::Declared(fields) => Some(fields.keys().map(String::as_str).collect()),
            Shape::Command(schema) => {
                Some(COMMAND.iter().copied().chain(schema.fields.keys().map(String::as_str)).collect())
            }
            Shape::Keys(keys) => Some(keys.clone()),
        }
    }

    /// The first part of a path that is not there; `at` is where the path enters this shape.
    pub fn missing(self, outline: &Outline<'a>, path: &[String], at: usize) -> Option<Missing<'a>> {
        let mut shape = self;
        for (at, part) in path.iter().enumerate().skip(at) {
            let available = shape.keys(outline)?;
            if !available.contains(&part.as_str()) {
                return (!METHODS.contains(&part.as_str())).then_some(Missing { at, available });
            }
            shape = shape.inner(outline, part);
        }
        None
    }

    /// What stands behind one key.
    fn inner(&self, outline: &Outline<'a>, key: &str) -> Shape<'a> {
        match self {
            Shape::Step(ix) if key == "output" => Shape::of_output(outline, *ix),
            Shape::Group(ix) if key == "outputs" && matches!(outline.items[*ix], Item::Parallel(_)) => {
                Shape::Members(*ix)
            }
            Shape::Members(_) => outline.find(key).map_or(Shape::Open, |ix| Shape::of_output(outline, ix)),
            Shape::Declared(fields) => fields.get(key).map_or(Shape::Open, |entry| field(&entry.value)),
            Shape::Command(schema) => schema.fields.get(key).map_or(Shape::Open, |entry| field(&entry.value)),
            Shape::Open | Shape::Step(_) | Shape::Group(_) | Shape::Keys(_) => Shape::Open,
        }
    }
}

fn step_shape(step: &Step) -> Shape<'_> {
    match &step.kind {
        StepKind::Agent(agent) => match (&agent.output, &agent.output_mode) {
            (_, Some(mode)) if mode.value == OutputMode::Raw => Shape::Keys(vec!["result"]),
            (Some(schema), _) if !schema.fields.is_empty() => Shape::Declared(&schema.fields),
            _ => Shape::Open,
        },
        StepKind::Script(script) => match &script.output {
            Some(schema) if !schema.fields.is_empty() => Shape::Command(schema),
            _ => Shape::Open,
        },
        StepKind::Tool(tool) => {
            tool.output.as_ref().map_or(Shape::Open, |schema| Shape::Declared(&schema.fields))
        }
        StepKind::Set(set) => match &set.values {
            Some(values) => Shape::Keys(values.keys().map(String::as_str).collect()),
            None => Shape::Open,
        },
        StepKind::HumanGate(_) => Shape::Keys(vec!["selected", "additional_input"]),
        StepKind::Questions(_) => Shape::Keys(QUESTIONS.to_vec()),
        StepKind::Wait(_) => Shape::Keys(vec!["waited_seconds", "requested_seconds", "interrupted"]),
        StepKind::Terminate(_) => Shape::Keys(vec!["status", "reason", "terminated_by"]),
        StepKind::Reduce(_) => Shape::Keys(REDUCE.to_vec()),
        StepKind::Goal(goal) if goal.plan_only => Shape::Keys(PLANNED.to_vec()),
        StepKind::Goal(_) => Shape::Keys(GOAL.to_vec()),
        StepKind::Verify(_) => Shape::Keys(VERIFY.to_vec()),
        StepKind::Phase(_) => Shape::Keys(PHASE.to_vec()),
        StepKind::Workflow(_) | StepKind::Unknown => Shape::Open,
    }
}

fn field(field: &OutputField) -> Shape<'_> {
    match &field.properties {
        Some(properties) if !properties.is_empty() => Shape::Declared(properties),
        _ => Shape::Open,
    }
}
