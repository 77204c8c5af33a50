//! `--set TASK.output[.FIELD…]=VALUE`: what if this step had answered otherwise?
//!
//! A value is JSON where it is that, else a text. A field is changed in the output that the task had in the base; the whole must
//! have the shape that the step declares.

use super::payload;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored::Stored;
use convoke_model::fit::{describe, violations};
use convoke_model::{Blob, Event, SetOutput, Stamped, TaskId};
use convoke_plan::Plan;
use convoke_schedule::{Scheduler, check_settable, replayable};
use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The outputs that were set, with their blobs.
pub fn outputs(
    base: &Stored,
    plan: &Arc<Plan>,
    prefix: &[Stamped],
    given: &[(String, String)],
) -> Result<(Vec<SetOutput>, Vec<Blob>), CommandFailure> {
    if given.is_empty() {
        return Ok(Default::default());
    }
    let mut whole: IndexMap<TaskId, Value> = IndexMap::new();
    for (key, text) in given {
        let (task, fields) = place(key)?;
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
        if fields.is_empty() {
            whole.insert(task, value);
            continue;
        }
        if !whole.contains_key(&task) {
            whole.insert(task.clone(), output_of(base, &task)?);
        }
        put(&mut whole[&task], &fields, value).map_err(|why| refused(key, &why))?;
    }
    check(plan, prefix, &whole)?;
    let made = whole.into_iter().map(|(task, value)| payload(task, &value));
    let (set, blobs): (Vec<_>, Vec<_>) = made.unzip();
    Ok((set, blobs.into_iter().flatten().collect()))
}

/// The task and the fields that a key names.
fn place(key: &str) -> Result<(TaskId, Vec<String>), CommandFailure> {
    let split = key.strip_suffix(".output").map(|task| (task, "")).or_else(|| key.split_once(".output."));
    match split {
        Some((task, fields)) if !task.is_empty() => {
            let fields = fields.split('.').filter(|field| !field.is_empty()).map(str::to_owned);
            Ok((TaskId(task.into()), fields.collect()))
        }
        _ => Err(refused(key, "it names no output").hint(
            "--set STEP.output.FIELD=VALUE, or --set STEP.output=VALUE for all of it; inputs: -i NAME=VALUE",
        )),
    }
}

fn refused(key: &str, why: &str) -> CommandFailure {
    CommandFailure::new(Exit::Usage, format!("--set {key}: {why}"))
}

/// The output that a task had in the base.
fn output_of(base: &Stored, task: &TaskId) -> Result<Value, CommandFailure> {
    let found = base.events.iter().rev().find_map(|stamped| match &stamped.event {
        Event::AttemptFinished { task: other, output, .. }
        | Event::TaskSucceeded { task: other, output }
        | Event::OutputTaken { task: other, output, .. }
            if other == task =>
        {
            Some(output)
        }
        _ => None,
    });
    let text = found.map(|output| base.text(output)).transpose()?.flatten();
    text.and_then(|text| serde_json::from_str(text.as_str()).ok()).ok_or_else(|| {
        refused(&format!("{task}.output"), "the task has no output in that run, so no field of it can be set")
            .hint(format!("--set {task}.output='{{…}}' sets all of it"))
    })
}

fn put(target: &mut Value, fields: &[String], value: Value) -> Result<(), String> {
    let Some((field, rest)) = fields.split_first() else {
        *target = value;
        return Ok(());
    };
    let inner = match target {
        Value::Object(map) if rest.is_empty() => map.entry(field.clone()).or_insert(Value::Null),
        Value::Object(map) => map.get_mut(field).ok_or_else(|| format!("there is no `{field}`"))?,
        Value::Array(items) => {
            let at = field.parse::<usize>().ok().filter(|at| *at < items.len());
            at.and_then(|at| items.get_mut(at)).ok_or_else(|| format!("there is no item `{field}`"))?
        }
        _ => return Err(format!("`{field}` would stand in {}", describe(target))),
    };
    put(inner, rest, value)
}

/// Refuses what cannot be set, and what a step could not have answered.
fn check(
    plan: &Arc<Plan>,
    prefix: &[Stamped],
    whole: &IndexMap<TaskId, Value>,
) -> Result<(), CommandFailure> {
    let mut scheduler = Scheduler::new(plan.clone());
    for stamped in replayable(prefix.to_vec()) {
        scheduler.apply(&stamped).map_err(|error| CommandFailure::new(Exit::Failed, error.to_string()))?;
    }
    for (task, value) in whole {
        let key = format!("{task}.output");
        let schema = check_settable(&scheduler, task).map_err(|why| refused(&key, &why.to_string()))?;
        let nothing = Map::new();
        let wrong = match (schema, value) {
            (Some(schema), Value::Object(fields)) => violations(&schema, fields),
            (Some(schema), _) if !schema.fields.is_empty() => violations(&schema, &nothing),
            _ => Vec::new(),
        };
        if let Some(first) = wrong.first() {
            return Err(refused(&key, &format!("the step declares another shape: {first}")));
        }
    }
    Ok(())
}
