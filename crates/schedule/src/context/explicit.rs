//! Explicit mode: a step sees what its `input` names, and nothing else.

use crate::context::{Names, Roots, map_value};
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::{Class, Failure, reason};
use convoke_plan::template::Value;
use convoke_plan::{InputRef, InputTarget, Kind, NodeIx};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A part of an output: whole, or some fields of it.
enum Part {
    Whole(Value),
    Fields(BTreeMap<String, Part>),
}

impl Part {
    fn put(&mut self, path: &[String], value: Value) {
        match (self, path) {
            (Part::Whole(_), _) => {}
            (part @ Part::Fields(_), []) => *part = Part::Whole(value),
            (Part::Fields(fields), [first, rest @ ..]) => {
                fields.entry(first.clone()).or_insert_with(|| Part::Fields(BTreeMap::new())).put(rest, value);
            }
        }
    }

    fn value(self) -> Value {
        match self {
            Part::Whole(value) => value,
            Part::Fields(fields) => map_value(fields.into_iter().map(|(name, part)| (name, part.value()))),
        }
    }
}

impl View<'_> {
    pub(crate) fn add_explicit(&self, task: TaskIx, roots: &Roots, names: &mut Names) -> Result<(), Failure> {
        let mut parts: BTreeMap<Arc<str>, Part> = BTreeMap::new();
        let mut inputs: BTreeMap<String, Value> = BTreeMap::new();
        for input in &self.node(task).inputs {
            match &input.target {
                InputTarget::Input(name) => {
                    if let Some(value) = self.explicit_input(task, input, name)? {
                        inputs.insert(name.clone(), value);
                    }
                }
                InputTarget::Node { node, path } => {
                    if let Some(value) = self.explicit_output(task, input, *node, path)? {
                        let name = self.workflow_of(task).node(*node).name.clone();
                        parts.entry(name).or_insert_with(|| Part::Fields(BTreeMap::new())).put(path, value);
                    }
                }
            }
        }
        names.extend(parts.into_iter().map(|(name, part)| (name.into(), part.value())));
        if roots.want("workflow") {
            let frame = self.tasks[task].place.frame;
            let input = match self.sees_all_inputs(task) {
                true => self.inputs_value(frame),
                false => map_value(inputs),
            };
            names.insert("workflow".into(), self.workflow_value(frame, input));
        }
        Ok(())
    }

    fn explicit_input(&self, task: TaskIx, input: &InputRef, name: &str) -> Result<Option<Value>, Failure> {
        let inputs = self.inputs_value(self.tasks[task].place.frame);
        match inputs.get_attr(name).ok().filter(|value| !value.is_undefined()) {
            Some(value) => Ok(Some(value)),
            None if input.optional => Ok(Some(Value::from(()))),
            None => Err(self.missing(task, input, "no such input was given")),
        }
    }

    fn explicit_output(
        &self,
        task: TaskIx,
        input: &InputRef,
        node: NodeIx,
        path: &[String],
    ) -> Result<Option<Value>, Failure> {
        let Some(step) = self.ancestor_of(task, node) else {
            let name = &self.workflow_of(task).node(node).name;
            let missing = self.missing(task, input, &format!("step `{name}` has not run before it"));
            return if input.optional { Ok(None) } else { Err(missing) };
        };
        let seen = self.repaired(task, node).unwrap_or(step);
        let mut value = self.entry_value(seen);
        for (depth, field) in path.iter().enumerate() {
            value = match value.get_attr(field).ok().filter(|value| !value.is_undefined()) {
                Some(value) => value,
                None if input.optional => return Ok(None),
                None => {
                    let before = path[..depth].join(".");
                    return Err(self.missing(task, input, &format!("`{before}` has no field `{field}`")));
                }
            };
        }
        Ok(Some(value))
    }
}

impl State {
    /// Steps that ask no model may read every input of the workflow.
    fn sees_all_inputs(&self, task: TaskIx) -> bool {
        matches!(
            self.node(task).kind,
            Kind::Script(_) | Kind::Tool(_) | Kind::Set(_) | Kind::Wait(_) | Kind::SubPlan(_)
        )
    }

    fn missing(&self, task: TaskIx, input: &InputRef, why: &str) -> Failure {
        let message = format!("step `{}`: input `{}` is missing: {why}", self.node(task).name, input.text);
        Failure::new(Class::Fatal, message)
            .reason(reason::TEMPLATE)
            .hint(format!("write `{}?` if it may be absent", input.text))
    }
}
