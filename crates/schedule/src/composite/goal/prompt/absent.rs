//! What a template sees of something that does not apply: false, and empty wherever it is looked into.
//!
//! A failure that nobody had has no class and no message, but asking for them is no mistake. Names that it would not have
//! either are one, as everywhere.

use convoke_plan::template::{Enumerator, Object, Value, from_json};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// An object without anything in it that knows its fields.
#[derive(Debug)]
struct Absent(Value);

impl Object for Absent {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get_item(key).ok().filter(|value| !value.is_undefined())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Empty
    }
}

/// A variable of a role's templates as they see it.
pub(in crate::composite::goal) fn shown(name: &str, value: &Json) -> Value {
    match (name, value) {
        ("item", Json::Null) => {
            absent(&json!({"id": "", "description": "", "depth": 0, "inputs": [], "tools": []}))
        }
        ("failure", Json::Null) => {
            absent(&json!({"class": "", "message": "", "attempts": 0, "strategies": []}))
        }
        (_, Json::Null) => Value::from(""),
        _ => from_json(value),
    }
}

fn absent(empty: &Json) -> Value {
    Value::from_object(Absent(from_json(empty)))
}
