//! Methods of maps.

use minijinja::Error;
use minijinja::value::Value;

use crate::template::arguments::{bind, required};
use crate::template::flags::own_entry;
use crate::template::list::{Dict, Part, View};

/// Calls a method of a map; `None` if maps have no such method.
pub(super) fn call(map: &Value, method: &str, args: &[Value]) -> Option<Result<Value, Error>> {
    Some(match method {
        "get" => get(map, args),
        "keys" => view(Part::Keys, map, args),
        "values" => view(Part::Values, map, args),
        "items" => view(Part::Items, map, args),
        "copy" => bind("copy", &[], args).map(|[]| copy(map)),
        _ => return None,
    })
}

fn get(map: &Value, args: &[Value]) -> Result<Value, Error> {
    let [key, default] = bind("get", &["key", "default"], args)?;
    let key = required("get", "key", key)?;
    let found = map.as_object().and_then(|map| own_entry(map, &key));
    Ok(found.or(default).unwrap_or(Value::from(())))
}

fn view(part: Part, map: &Value, args: &[Value]) -> Result<Value, Error> {
    let [] = bind("the view of a map", &[], args)?;
    Ok(Value::from_object(View::new(part, map)))
}

fn copy(map: &Value) -> Value {
    let pairs = map.as_object().and_then(|map| map.try_iter_pairs());
    Value::from_object(Dict::new(pairs.into_iter().flatten().collect()))
}
