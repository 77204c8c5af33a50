//! Filters that choose items, or look into them.

use minijinja::value::Value;
use minijinja::{Error, ErrorKind, State};

use crate::template::arguments::{bind, defined, failure, items, required, split};
use crate::template::limits::charge_read;
use crate::template::python::{python_repr, python_text};

/// A path of no more than so many bytes costs nothing beside its item.
const SHORT_PATH: usize = 48;

/// What a dotted path of names and indexes leads to; undefined where it leads nowhere.
///
/// The filter has paid for its path once and follows it for each item, so a long one is paid for each time.
pub(super) fn attribute_of(state: &mut State, item: &Value, path: Option<&Value>) -> Result<Value, Error> {
    let Some(path) = path.filter(|path| !path.is_none()) else { return Ok(item.clone()) };
    let Some(text) = path.as_str() else { return item.get_item(path) };
    if text.len() > SHORT_PATH {
        charge_read(state, text.len())?;
    }
    let mut found = item.clone();
    for part in text.split('.') {
        found = match part.parse::<i64>() {
            Ok(index) => found.get_item(&Value::from(index))?,
            Err(_) => found.get_attr(part)?,
        };
    }
    Ok(found)
}

/// Refuses an attribute that an item does not have.
pub(super) fn present(found: Value, path: Option<&Value>) -> Result<Value, Error> {
    match path.filter(|path| found.is_undefined() && !path.is_none()) {
        Some(path) => {
            let message = format!("'{}' is undefined in an item", python_text(path));
            Err(Error::new(ErrorKind::UndefinedError, message))
        }
        None => defined(&found).map(|()| found),
    }
}

/// `attr`: one attribute by name.
pub(super) fn attr(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, name] = bind("attr", &["obj", "name"], args)?;
    let (value, name) = (required("attr", "obj", value)?, required("attr", "name", name)?);
    let name = name.as_str().unwrap_or_default();
    charge_read(state, name.len())?;
    value.get_attr(name)
}

/// `map`: an attribute of every item, or a filter on every item.
pub(super) fn map(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let (places, named) = split(args)?;
    let value = places.first().ok_or_else(|| failure("map needs a value"))?;
    let named_value = |name: &str| named.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let mut out = Vec::new();
    if let (1, Some(path)) = (places.len(), named_value("attribute")) {
        for item in items(value)? {
            let found = attribute_of(state, &item, Some(path))?;
            out.push(if found.is_undefined() {
                named_value("default").cloned().unwrap_or(found)
            } else {
                found
            });
        }
        return Ok(Value::from(out));
    }
    let filter = places.get(1).ok_or_else(|| failure("map needs a filter or `attribute`"))?;
    let name = filter
        .as_str()
        .ok_or_else(|| failure(format!("map needs the name of a filter, not {}", python_repr(filter))))?;
    let rest = &args[2..];
    for item in items(value)? {
        let mut call = vec![item];
        call.extend_from_slice(rest);
        out.push(state.apply_filter(name, &call)?);
    }
    Ok(Value::from(out))
}

/// `select`: the items that pass a test, or are true.
pub(super) fn select(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    choose(state, "select", args, None, true)
}

/// `reject`: the others.
pub(super) fn reject(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    choose(state, "reject", args, None, false)
}

/// `selectattr`: the items of which an attribute passes a test, or is true.
pub(super) fn select_attribute(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    choose(state, "selectattr", args, args.get(1), true)
}

/// `rejectattr`: the others.
pub(super) fn reject_attribute(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    choose(state, "rejectattr", args, args.get(1), false)
}

fn choose(
    state: &mut State,
    filter: &str,
    args: &[Value],
    attribute: Option<&Value>,
    wanted: bool,
) -> Result<Value, Error> {
    let value = args.first().ok_or_else(|| failure(format!("{filter} needs a value")))?;
    if filter.ends_with("attr") && attribute.is_none() {
        return Err(failure(format!("{filter} needs the name of an attribute")));
    }
    let test_at = if attribute.is_some() { 2 } else { 1 };
    let test = args.get(test_at).filter(|test| !test.is_kwargs());
    let name = match test {
        None => None,
        Some(test) => Some(
            test.as_str().ok_or_else(|| failure(format!("{filter} needs the name of a test")))?.to_owned(),
        ),
    };
    let rest = args.get(test_at + 1..).unwrap_or_default();
    let mut out = Vec::new();
    for item in items(value)? {
        let subject = attribute_of(state, &item, attribute)?;
        if passes(state, name.as_deref(), subject, attribute, rest)? == wanted {
            out.push(item);
        }
    }
    Ok(Value::from(out))
}

fn passes(
    state: &mut State,
    test: Option<&str>,
    subject: Value,
    attribute: Option<&Value>,
    rest: &[Value],
) -> Result<bool, Error> {
    let Some(test) = test else {
        return present(subject, attribute).map(|subject| subject.is_true());
    };
    let mut call = vec![subject];
    call.extend_from_slice(rest);
    state.perform_test(test, &call)
}
