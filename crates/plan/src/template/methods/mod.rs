//! Methods of Python's texts, lists and maps, for values that have none of their own.
//!
//! A method wins over a key of the same name when it is called (`m.items()`), the key wins when it is read (`m.items`).

mod map;
mod sequence;
mod string;

pub(super) use string::{capitalize as with_capital, lines, replace, strip};

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

/// Calls a method that the value itself does not know.
pub(super) fn call(state: &mut State, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let result = match (value.as_str(), value.kind()) {
        (Some(text), _) => string::call(state, text, method, args),
        (_, ValueKind::Map) => map::call(value, method, args),
        (_, ValueKind::Seq | ValueKind::Iterable) => sequence::call(value, method, args),
        (_, ValueKind::Number) => number(value, method),
        _ => None,
    };
    result.unwrap_or_else(|| Err(Error::from(ErrorKind::UnknownMethod)))
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
