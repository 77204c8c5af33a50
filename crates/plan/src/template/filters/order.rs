//! Filters about the order of items.
//!
//! Like Jinja2's they ignore case unless told otherwise, keep the order of equals, and refuse what Python cannot order.

use std::cmp::Ordering;

use indexmap::IndexSet;
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, State};

use super::select::{attribute_of, present};
use crate::template::arguments::{bind, failure, flag, items, required, split, text};
use crate::template::limits::charge_items;
use crate::template::list::Group;
use crate::template::operators::order;

/// What an item is ordered by.
fn key_of(
    state: &mut State,
    item: &Value,
    attribute: Option<&Value>,
    case_sensitive: bool,
) -> Result<Value, Error> {
    let found = present(attribute_of(state, item, attribute)?, attribute)?;
    Ok(folded(found, case_sensitive))
}

fn folded(value: Value, case_sensitive: bool) -> Value {
    match value.as_str() {
        Some(text) if !case_sensitive => Value::from(text.to_lowercase()),
        _ => value,
    }
}

/// Sorts by keys, keeping the order of equals; the first pair that has no order is the error.
///
/// The standard library's sort wants an order that cannot fail and may panic without one.
fn sort_by_keys<T>(mut pairs: Vec<(Vec<Value>, T)>, reverse: bool) -> Result<Vec<(Vec<Value>, T)>, Error> {
    if pairs.len() < 2 {
        return Ok(pairs);
    }
    let second = pairs.split_off(pairs.len() / 2);
    let mut left = sort_by_keys(pairs, reverse)?.into_iter().peekable();
    let mut right = sort_by_keys(second, reverse)?.into_iter().peekable();
    let mut merged = Vec::with_capacity(left.len() + right.len());
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        let order = compare_keys(&one.0, &other.0)?;
        let order = if reverse { order.reverse() } else { order };
        merged.extend(if order == Ordering::Greater { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}

fn compare_keys(left: &[Value], right: &[Value]) -> Result<Ordering, Error> {
    for (one, other) in left.iter().zip(right) {
        match order(one, "sorting", other)? {
            Some(Ordering::Equal) | None => {}
            Some(different) => return Ok(different),
        }
    }
    Ok(Ordering::Equal)
}

/// `sort`: by the items or by attributes (`'a,b'`).
pub(super) fn sort(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, reverse, case, attribute] =
        bind("sort", &["value", "reverse", "case_sensitive", "attribute"], args)?;
    let paths: Vec<Option<Value>> = match attribute.as_ref().and_then(Value::as_str) {
        Some(several) => several.split(',').map(|path| Some(Value::from(path.trim()))).collect(),
        None => vec![attribute],
    };
    let case_sensitive = flag(case, false);
    let all = items(&required("sort", "value", value)?)?;
    charge_items(state, all.len().saturating_mul(paths.len()))?;
    let mut pairs = Vec::new();
    for item in all {
        let keys: Result<Vec<Value>, Error> =
            paths.iter().map(|path| key_of(state, &item, path.as_ref(), case_sensitive)).collect();
        pairs.push((keys?, item));
    }
    let pairs = sort_by_keys(pairs, flag(reverse, false))?;
    Ok(pairs.into_iter().map(|(_, item)| item).collect())
}

/// Python's `sorted()`, which minds case.
pub(super) fn python_sorted(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, reverse] = bind("sorted", &["iterable", "reverse"], args)?;
    let all = items(&required("sorted", "iterable", value)?)?;
    let pairs: Vec<_> = all.into_iter().map(|item| (vec![item.clone()], item)).collect();
    let pairs = sort_by_keys(pairs, flag(reverse, false))?;
    Ok(pairs.into_iter().map(|(_, item)| item).collect())
}

/// `dictsort`: the pairs of a map by key or by value.
pub(super) fn dictsort(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [map, case, by, reverse] = bind("dictsort", &["value", "case_sensitive", "by", "reverse"], args)?;
    let map = required("dictsort", "value", map)?;
    let by_value = match text("dictsort", by)?.as_deref() {
        None | Some("key") => false,
        Some("value") => true,
        Some(other) => return Err(failure(format!("dictsort sorts by key or value, not by {other:?}"))),
    };
    if map.kind() != ValueKind::Map {
        return Err(failure("dictsort needs a map"));
    }
    let case_sensitive = flag(case, false);
    let entries = map.as_object().and_then(|map| map.try_iter_pairs()).into_iter().flatten();
    let pairs: Vec<(Vec<Value>, (Value, Value))> = entries
        .map(|(key, item)| {
            (vec![folded(if by_value { item.clone() } else { key.clone() }, case_sensitive)], (key, item))
        })
        .collect();
    let pairs = sort_by_keys(pairs, flag(reverse, false))?;
    Ok(pairs.into_iter().map(|(_, pair)| Value::from(pair)).collect())
}

/// `groupby`: pairs of a common attribute and the items that have it, sorted by the attribute.
pub(super) fn group_by(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let parameters = ["value", "attribute", "default", "case_sensitive"];
    let [value, attribute, default, case] = bind("groupby", &parameters, args)?;
    let attribute = required("groupby", "attribute", attribute)?;
    let case_sensitive = flag(case, false);
    let mut pairs = Vec::new();
    for item in items(&required("groupby", "value", value)?)? {
        let found = attribute_of(state, &item, Some(&attribute))?;
        let found = if found.is_undefined() { default.clone().unwrap_or(found) } else { found };
        let found = present(found, Some(&attribute))?;
        pairs.push((vec![folded(found.clone(), case_sensitive)], (found, item)));
    }
    let pairs = sort_by_keys(pairs, false)?;
    let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
    for (mut keys, (grouper, item)) in pairs {
        let key = keys.remove(0);
        match groups.last_mut() {
            Some(group) if group.0 == key => group.2.push(item),
            _ => groups.push((key, grouper, vec![item])),
        }
    }
    Ok(groups
        .into_iter()
        .map(|(_, grouper, list)| Value::from_object(Group { grouper, list: Value::from(list) }))
        .collect())
}

/// `unique`: the first of each kind.
pub(super) fn unique(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, case, attribute] = bind("unique", &["value", "case_sensitive", "attribute"], args)?;
    let case_sensitive = flag(case, false);
    let mut seen = IndexSet::new();
    let mut out = Vec::new();
    for item in items(&required("unique", "value", value)?)? {
        if seen.insert(key_of(state, &item, attribute.as_ref(), case_sensitive)?) {
            out.push(item);
        }
    }
    Ok(Value::from(out))
}

/// `min`; undefined if there is nothing.
pub(super) fn min(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    extreme(state, "min", args, Ordering::Less)
}

/// `max`; undefined if there is nothing.
pub(super) fn max(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    extreme(state, "max", args, Ordering::Greater)
}

fn extreme(state: &mut State, name: &str, args: &[Value], wanted: Ordering) -> Result<Value, Error> {
    let [value, case, attribute] = bind(name, &["value", "case_sensitive", "attribute"], args)?;
    let case_sensitive = flag(case, false);
    let mut best: Option<(Value, Value)> = None;
    for item in items(&required(name, "value", value)?)? {
        let key = key_of(state, &item, attribute.as_ref(), case_sensitive)?;
        let better = match &best {
            None => true,
            Some((other, _)) => order(&key, name, other)? == Some(wanted),
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::UNDEFINED, |(_, item)| item))
}

/// Python's `min()`: of one list, or of several values.
pub(super) fn python_min(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    python_extreme(state, "min", args, Ordering::Less)
}

/// Python's `max()`: of one list, or of several values.
pub(super) fn python_max(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    python_extreme(state, "max", args, Ordering::Greater)
}

fn python_extreme(state: &mut State, name: &str, args: &[Value], wanted: Ordering) -> Result<Value, Error> {
    let (places, named) = split(args)?;
    let default = named.into_iter().find(|(key, _)| key == "default").map(|(_, value)| value);
    let all = if places.len() == 1 { items(&places[0])? } else { places.to_vec() };
    let found = extreme(state, name, &[Value::from(all), Value::from(true)], wanted)?;
    match (found.is_undefined(), default) {
        (true, Some(default)) => Ok(default),
        (true, None) => Err(failure(format!("{name} needs at least one value"))),
        _ => Ok(found),
    }
}
