//! What a template sees of something that does not apply: false, and empty wherever it is looked into.
//!
//! A failure that did not happen has no class and no message, but asking for them is no mistake. Names that it would not have
//! either are one, as everywhere.

use convoke_plan::template::{Enumerator, Object, Value, from_json};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// An object without anything in it that knows its fields.
#[derive(Debug)]
struct NotApplicable(Value);

impl Object for NotApplicable {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get_item(key).ok().filter(|value| !value.is_undefined())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Empty
    }
}

/// A variable of a role's templates as they see it.
pub(in crate::composite::goal) fn value_of(name: &str, value: &Json) -> Value {
    match (name, value) {
        ("item", Json::Null) => {
            not_applicable(&json!({"id": "", "description": "", "depth": 0, "inputs": [], "tools": []}))
        }
        ("failure", Json::Null) => {
            not_applicable(&json!({"class": "", "message": "", "attempts": 0, "strategies": []}))
        }
        (_, Json::Null) => Value::from(""),
        _ => from_json(value),
    }
}

fn not_applicable(empty: &Json) -> Value {
    Value::from_object(NotApplicable(from_json(empty)))
}
