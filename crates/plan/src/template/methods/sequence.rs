//! Methods of lists and tuples that only read.

use minijinja::Error;
use minijinja::value::Value;

use crate::template::arguments::{bind, failure, integer, items, required};
use crate::template::list::List;
use crate::template::python::python_repr;

/// Calls a method of a sequence; `None` if sequences have no such method.
pub(super) fn call(list: &Value, method: &str, args: &[Value]) -> Option<Result<Value, Error>> {
    Some(match method {
        "index" => index(list, args),
        "count" => count(list, args),
        "copy" => items(list).map(|items| Value::from_object(List::new(items))),
        "append" | "extend" | "insert" | "pop" | "remove" | "clear" => {
            Err(failure(format!("this list cannot change, so it has no `{method}`: make a new one with `+`")))
        }
        _ => return None,
    })
}

fn index(list: &Value, args: &[Value]) -> Result<Value, Error> {
    let [item, start, stop] = bind("index", &["value", "start", "stop"], args)?;
    let item = required("index", "value", item)?;
    let all = items(list)?;
    let place =
        |at: i64| if at < 0 { all.len().saturating_sub(at.unsigned_abs() as usize) } else { at as usize };
    let start = place(integer("index", start)?.unwrap_or(0));
    let stop = place(integer("index", stop)?.unwrap_or(i64::MAX)).min(all.len());
    match (start..stop).find(|&at| all[at] == item) {
        Some(at) => Ok(Value::from(at)),
        None => Err(failure(format!("{} is not in the list", python_repr(&item)))),
    }
}

fn count(list: &Value, args: &[Value]) -> Result<Value, Error> {
    let [item] = bind("count", &["value"], args)?;
    let item = required("count", "value", item)?;
    Ok(Value::from(items(list)?.iter().filter(|other| **other == item).count()))
}
