//! Filters about lists and other things with items.

use convoke_model::fnv;
use minijinja::value::{Value, ValueIter, ValueKind};
use minijinja::{Error, State};

use super::select::{attribute_of, present};
use crate::template::arguments::{bind, failure, integer, items, required};
use crate::template::limits::{Cost, charge, charge_call, charge_items, shallow};
use crate::template::list::{Part, View};
use crate::template::operators::kind_name;
use crate::template::python::{python_text, write_text};

fn subject(name: &str, args: &[Value]) -> Result<Value, Error> {
    let [value] = bind(name, &["value"], args)?;
    required(name, "value", value)
}

/// `length`, `count`.
pub(super) fn length(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = subject("length", args)?;
    // A list knows its length; the characters of a text are counted.
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Map) {
        charge_call(state, Cost::Items, args)?;
    }
    let counted = || value.try_iter().ok().map(Iterator::count);
    match value.kind() {
        ValueKind::None => Err(failure("null has no length")),
        ValueKind::Iterable => {
            value.len().or_else(counted).map(Value::from).ok_or_else(|| failure("it has no length"))
        }
        _ => value
            .len()
            .map(Value::from)
            .ok_or_else(|| failure(format!("{} has no length", kind_name(&value)))),
    }
}

/// `list`.
pub(super) fn list(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    if args.is_empty() {
        return Ok(Value::from(Vec::<Value>::new()));
    }
    let value = subject("list", args)?;
    let length = value.len();
    charge_items(state, length.unwrap_or(0))?;
    let all = items(&value)?;
    charge_items(state, if length.is_none() { all.len() } else { 0 })?;
    Ok(Value::from(all))
}

/// `first`; undefined if there is none.
pub(super) fn first(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    Ok(iterable(&subject("first", args)?)?.next().unwrap_or(Value::UNDEFINED))
}

/// `last`; undefined if there is none.
pub(super) fn last(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = subject("last", args)?;
    match (value.kind(), value.as_str(), value.len()) {
        (_, Some(text), _) => Ok(text.chars().next_back().map_or(Value::UNDEFINED, Value::from)),
        (ValueKind::Seq, _, Some(length)) => match length.checked_sub(1) {
            Some(at) => value.get_item_by_index(at),
            None => Ok(Value::UNDEFINED),
        },
        _ => {
            charge_call(state, Cost::Items, args)?;
            Ok(iterable(&value)?.last().unwrap_or(Value::UNDEFINED))
        }
    }
}

fn iterable(value: &Value) -> Result<ValueIter, Error> {
    if value.is_none() { Err(failure("None is not iterable")) } else { value.try_iter() }
}

/// `random`: an item that depends on the items alone, so that a replayed run chooses the same.
pub(super) fn random(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = subject("random", args)?;
    let mut all = items(&value)?;
    if all.is_empty() {
        return Ok(Value::UNDEFINED);
    }
    let at = usize::try_from(fnv(python_text(&value).bytes()) % all.len() as u64).unwrap_or(0);
    Ok(all.swap_remove(at))
}

/// `reverse`: a text backwards, or the items in the other order.
pub(super) fn reverse(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = subject("reverse", args)?;
    if let Some(text) = value.as_str() {
        return Ok(Value::from(text.chars().rev().collect::<String>()));
    }
    let mut all = items(&value)?;
    all.reverse();
    Ok(Value::from(all))
}

/// `items`: the pairs of a map.
pub(super) fn items_of(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = args.first().cloned().unwrap_or(Value::UNDEFINED);
    match value.kind() {
        ValueKind::Undefined => Ok(Value::from(Vec::<Value>::new())),
        ValueKind::Map => Ok(items(&Value::from_object(View::new(Part::Items, &value)))?.into()),
        _ => Err(failure(format!("items needs a map, not {}", kind_name(&value)))),
    }
}

/// `join`: the texts of the items, or of an attribute of each.
pub(super) fn join(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, separator, attribute] = bind("join", &["value", "d", "attribute"], args)?;
    let separator = separator.map(|separator| python_text(&separator)).unwrap_or_default();
    let mut out = String::new();
    for (at, item) in items(&required("join", "value", value)?)?.iter().enumerate() {
        let item = present(attribute_of(state, item, attribute.as_ref())?, attribute.as_ref())?;
        let before = out.len();
        if at > 0 {
            out.push_str(&separator);
        }
        write_text(&mut out, &item);
        charge(state, out.len() - before)?;
    }
    Ok(Value::from(out))
}

/// `batch`: lists of so many items, the last one filled up on request.
pub(super) fn batch(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, count, fill] = bind("batch", &["value", "linecount", "fill_with"], args)?;
    let value = required("batch", "value", value)?;
    shallow(state, &value)?;
    let count = positive("batch", count)?;
    // Each row is a list of its own, so short rows weigh as much as their items.
    let length = value.len().unwrap_or(0);
    charge_items(state, length.saturating_add(length / count))?;
    let all = items(&value)?;
    let mut rows: Vec<Vec<Value>> = all.chunks(count).map(<[Value]>::to_vec).collect();
    if let (Some(fill), Some(row)) = (fill.filter(|fill| !fill.is_none()), rows.last_mut()) {
        charge_items(state, count)?;
        row.resize(count, fill);
    }
    Ok(rows.into_iter().map(Value::from).collect())
}

/// `slice`: so many lists, as equal as can be, the shorter ones filled up on request.
pub(super) fn slice(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, count, fill] = bind("slice", &["value", "slices", "fill_with"], args)?;
    let value = required("slice", "value", value)?;
    shallow(state, &value)?;
    let count = positive("slice", count)?;
    charge_items(state, value.len().unwrap_or(0).saturating_add(count))?;
    let all = items(&value)?;
    let (each, longer) = (all.len() / count, all.len() % count);
    let mut columns = Vec::new();
    let mut start = 0;
    for column in 0..count {
        let end = start + each + usize::from(column < longer);
        let mut part = all[start..end].to_vec();
        if let Some(fill) = fill.as_ref().filter(|fill| !fill.is_none() && column >= longer) {
            part.push(fill.clone());
        }
        columns.push(Value::from(part));
        start = end;
    }
    Ok(Value::from(columns))
}

fn positive(name: &str, count: Option<Value>) -> Result<usize, Error> {
    let count =
        integer(name, count)?.and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0);
    count.ok_or_else(|| failure(format!("{name} needs a number above zero")))
}
