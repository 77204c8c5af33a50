//! Methods of Python's texts, lists and maps, for values that have none of their own.
//!
//! A method wins over a key of the same name when it is called (`m.items()`), the key wins when it is read (`m.items`).

mod map;
mod sequence;
mod string;

pub(super) use string::{capitalize as with_capital, lines, replace, strip};

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::limits::{Cost, charge_call};

/// Calls a method that the value itself does not know.
pub(super) fn call(state: &mut State, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    charge_call(state, cost(value, method), std::slice::from_ref(value))?;
    charge_call(state, Cost::Whole, args)?;
    let result = match (value.as_str(), value.kind()) {
        (Some(text), _) => string::call(state, text, method, args),
        (_, ValueKind::Map) => map::call(value, method, args),
        (_, ValueKind::Seq | ValueKind::Iterable) => sequence::call(value, method, args),
        (_, ValueKind::Number) => number(value, method),
        _ => None,
    };
    result.unwrap_or_else(|| Err(Error::from(ErrorKind::UnknownMethod)))
}

/// What a method reads of its own value.
fn cost(value: &Value, method: &str) -> Cost {
    match (value.kind(), method) {
        (ValueKind::Map, "get") => Cost::Fixed,
        // Both compare items.
        (ValueKind::Seq | ValueKind::Iterable, "index" | "count") => Cost::Whole,
        _ => Cost::Items,
    }
}

fn number(value: &Value, method: &str) -> Option<Result<Value, Error>> {
    match method {
        "is_integer" => {
            let whole = f64::try_from(value.clone()).is_ok_and(|number| number.fract() == 0.0);
            Some(Ok(Value::from(whole)))
        }
        _ => None,
    }
}
