//! Payloads as templates see them, read once and kept for a while.

use crate::composite::goal::GoalAnswer;
use crate::context::Roots;
use crate::state::{FrameIx, TaskIx};
use crate::view::View;
use convoke_model::hash::HashMap;
use convoke_model::{JsonText, Payload};
use convoke_plan::Plan;
use convoke_plan::template::{Value, from_json_text};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Values that were read from payloads, and what texts refer to. A cache: dropping it changes nothing.
pub(crate) struct Values {
    pub(crate) template_roots: RefCell<Vec<Option<Arc<Roots>>>>,
    pub(crate) condition_roots: RefCell<Vec<Option<Arc<Roots>>>>,
    outputs: RefCell<HashMap<TaskIx, Value>>,
    inputs: RefCell<HashMap<u32, Value>>,
    workflows: RefCell<HashMap<u32, Value>>,
    items: RefCell<HashMap<TaskIx, Arc<Vec<Value>>>>,
    /// What the roles of goals answered.
    pub(crate) said: RefCell<HashMap<TaskIx, Arc<GoalAnswer>>>,
    /// How many tasks of goals were looked at.
    pub(crate) looked: Cell<u64>,
}

/// Values kept at most; beyond that the cache starts anew.
const KEPT_VALUES: usize = 4096;

impl Values {
    pub fn new(plan: &Plan) -> Values {
        Values {
            template_roots: RefCell::new(vec![None; plan.templates.len()]),
            condition_roots: RefCell::new(vec![None; plan.conditions.len()]),
            outputs: RefCell::default(),
            inputs: RefCell::default(),
            workflows: RefCell::default(),
            items: RefCell::default(),
            said: RefCell::default(),
            looked: Cell::default(),
        }
    }
}

impl View<'_> {
    /// The JSON text behind a payload; `None` for gathered ones and for blobs that are not to be had.
    pub(crate) fn read(&self, payload: &Payload) -> Option<JsonText> {
        payload.text(|digest| self.outputs.get(digest))
    }

    /// What a task gave, as templates see it.
    pub(crate) fn output_value(&self, task: TaskIx) -> Value {
        if let Some(value) = self.kept_value(task) {
            return value;
        }
        let value = match &self.tasks[task].output {
            None => Value::from(()),
            Some(Payload::Gathered) => self.group_value(task),
            Some(payload) => self.read_value(payload),
        };
        let mut kept = self.values.outputs.borrow_mut();
        if kept.len() >= KEPT_VALUES {
            kept.clear();
        }
        kept.insert(task, value.clone());
        value
    }

    /// The same for a value of its group, which is kept and has this one in it.
    pub(crate) fn member_value(&self, task: TaskIx) -> Value {
        match &self.tasks[task].output {
            Some(payload @ (Payload::Inline(_) | Payload::Blob { .. })) => {
                self.kept_value(task).unwrap_or_else(|| self.read_value(payload))
            }
            _ => self.output_value(task),
        }
    }

    fn kept_value(&self, task: TaskIx) -> Option<Value> {
        self.values.outputs.borrow().get(&task).cloned()
    }

    pub(crate) fn read_value(&self, payload: &Payload) -> Value {
        let text = self.read(payload);
        text.and_then(|text| from_json_text(text.as_str()).ok()).unwrap_or_else(|| Value::from(()))
    }

    pub(crate) fn inputs_value(&self, frame: FrameIx) -> Value {
        let mut inputs = self.values.inputs.borrow_mut();
        inputs.entry(frame.0).or_insert_with(|| self.read_value(&self.frame(frame).inputs)).clone()
    }

    /// What `workflow` is in the texts of a frame that see all its inputs.
    pub(crate) fn whole_workflow_value(&self, frame: FrameIx) -> Value {
        let mut workflows = self.values.workflows.borrow_mut();
        let value = || self.workflow_value(frame, self.inputs_value(frame));
        workflows.entry(frame.0).or_insert_with(value).clone()
    }

    pub(crate) fn item_value(&self, group: TaskIx, index: u32) -> Value {
        let mut items = self.values.items.borrow_mut();
        let list = items.entry(group).or_insert_with(|| {
            let payload = self.group(group).items.clone().expect("a for_each has items");
            let value = self.read_value(&payload);
            Arc::new(value.try_iter().map(|items| items.collect()).unwrap_or_default())
        });
        list.get(index as usize).cloned().unwrap_or_else(|| Value::from(()))
    }
}
