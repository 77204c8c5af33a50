//! What the rewritten operators do: Python's `<`, `+`, `*`, `%`, `~` and slices.
//!
//! Values that Python would not compare or add are an error here as well; nothing is ordered by its type.

use std::cmp::Ordering;

use indexmap::IndexMap;
use minijinja::value::{Tuple, Value, ValueKind};
use minijinja::{Environment, Error, State};

use super::arguments::{defined, failure, integer, items};
use super::flags::own_entry;
use super::formatting::percent;
use super::limits::{Cost, ITEMS, charge, charge_call, charge_items, charge_read, shallow};
use super::list::{Dict, List};
use super::python::write_text;

/// Registers everything that `rewrite` writes calls of.
pub(super) fn register(environment: &mut Environment<'_>) {
    environment.add_filter("__compare", compare);
    environment
        .add_filter("__equal", |state: &mut State, left: Value, right: Value| equal(state, &left, &right));
    environment.add_filter("__unequal", |state: &mut State, left: Value, right: Value| {
        equal(state, &left, &right).map(|equal| !equal)
    });
    environment.add_filter("__in", |state: &mut State, item: Value, list: Value| found(state, &item, &list));
    environment.add_filter("__not_in", |state: &mut State, item: Value, list: Value| {
        found(state, &item, &list).map(|found| !found)
    });
    environment.add_filter("__part", part);
    environment.add_filter("__key", key);
    environment.add_filter("__subject", subject);
    environment.add_filter("__raw", raw);
    environment.add_filter("__add", add);
    environment.add_filter("__multiply", multiply);
    environment.add_filter("__modulo", modulo);
    environment.add_filter("__concat", concat);
    environment.add_filter("__slice", slice);
    environment.add_filter("__iterable", iterable);
    environment.add_filter("__checked", checked);
    environment.add_filter("__list", list);
    environment.add_filter("__dict", dict);
}

/// What people call the type of a value.
pub(super) fn kind_name(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined => "an undefined value",
        ValueKind::None => "null",
        ValueKind::Bool => "a boolean",
        ValueKind::Number => "a number",
        ValueKind::String => "a text",
        ValueKind::Seq | ValueKind::Iterable => "a list",
        ValueKind::Map => "a map",
        _ => "an object",
    }
}

/// Links of a comparison: `a < b <= c` holds if every link does.
fn compare(state: &mut State, first: Value, links: minijinja::value::Rest<Value>) -> Result<bool, Error> {
    let mut left = first;
    for link in links.chunks_exact(2) {
        charge_call(state, Cost::Whole, &[left.clone(), link[1].clone()])?;
        if !holds(&left, link[0].as_str().unwrap_or_default(), &link[1])? {
            return Ok(false);
        }
        left = link[1].clone();
    }
    Ok(true)
}

/// Whether one comparison holds; `<` and its kin need values that have an order.
pub(super) fn holds(left: &Value, operator: &str, right: &Value) -> Result<bool, Error> {
    defined(left)?;
    defined(right)?;
    match operator {
        "==" => Ok(left == right),
        "!=" => Ok(left != right),
        "in" => contains(right, left),
        "not in" => contains(right, left).map(|found| !found),
        _ => {
            let Some(order) = order(left, operator, right)? else { return Ok(false) };
            Ok(match operator {
                "<" => order == Ordering::Less,
                "<=" => order != Ordering::Greater,
                ">" => order == Ordering::Greater,
                _ => order != Ordering::Less,
            })
        }
    }
}

/// Minijinja's `==`, paid for.
fn equal(state: &mut State, left: &Value, right: &Value) -> Result<bool, Error> {
    charge_call(state, Cost::Whole, &[left.clone(), right.clone()])?;
    Ok(left == right)
}

/// Minijinja's `in`, paid for.
fn found(state: &mut State, item: &Value, container: &Value) -> Result<bool, Error> {
    defined(item)?;
    defined(container)?;
    match container.kind() {
        // A map looks at no other entry, but it reads the whole key.
        ValueKind::Map => charge_call(state, Cost::Items, std::slice::from_ref(item))?,
        _ => charge_call(state, Cost::Whole, &[container.clone(), item.clone()])?,
    }
    match (container.kind(), container.as_str()) {
        (_, Some(text)) => {
            Ok(item.as_str().map_or_else(|| text.contains(&item.to_string()), |part| text.contains(part)))
        }
        (ValueKind::Map, _) => Ok(container.as_object().is_some_and(|map| map.get_value(item).is_some())),
        (ValueKind::Seq | ValueKind::Iterable, _) => Ok(container.try_iter()?.any(|other| other == *item)),
        (ValueKind::Plain, _) => Ok(false),
        _ => Err(failure("cannot perform a containment check on this value")),
    }
}

/// A part of a value, and undefined where there is no value to have it.
fn part(value: Value, key: Value) -> Result<Value, Error> {
    if value.is_undefined() || value.is_none() {
        return Ok(Value::UNDEFINED);
    }
    Ok(match key.as_str() {
        Some(name) => value.get_attr(name),
        None => value.get_item(&key),
    }
    .unwrap_or(Value::UNDEFINED))
}

/// Pays for a key that is about to be looked up: a map reads the whole of it.
fn key(state: &mut State, key: Value, _: Value) -> Result<Value, Error> {
    charge_call(state, Cost::Items, std::slice::from_ref(&key)).map(|()| key)
}

/// Pays for a text that is about to be indexed: its characters are counted from the start. Lists and maps cost nothing.
fn subject(state: &mut State, value: Value) -> Result<Value, Error> {
    charge_read(state, value.as_str().map_or(0, str::len)).map(|()| value)
}

/// Pays for words between two tags, which a block may keep instead of giving them away.
fn raw(state: &mut State, bytes: usize) -> Result<Value, Error> {
    charge(state, bytes).map(|()| Value::from(""))
}

/// The order of two values; `None` if one is not a number at all (NaN), an error if Python knows no order.
pub(super) fn order(left: &Value, operator: &str, right: &Value) -> Result<Option<Ordering>, Error> {
    let sequence = |value: &Value| matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable);
    match (number(left), number(right)) {
        (Some(left), Some(right)) => return Ok(left.compare(right)),
        _ if left.as_str().is_some() && right.as_str().is_some() => {
            return Ok(Some(left.as_str().cmp(&right.as_str())));
        }
        _ if sequence(left) && sequence(right) && left.is_tuple() == right.is_tuple() => {}
        _ => {
            let (left, right) = (kind_name(left), kind_name(right));
            return Err(failure(format!("`{operator}` cannot compare {left} with {right}")));
        }
    }
    let (mut ones, mut others) = (left.try_iter()?, right.try_iter()?);
    loop {
        match (ones.next(), others.next()) {
            (Some(one), Some(other)) if one == other => {}
            (Some(one), Some(other)) => return order(&one, operator, &other),
            (one, other) => return Ok(Some(one.is_some().cmp(&other.is_some()))),
        }
    }
}

/// A number as arithmetic sees it; booleans count, as in Python.
#[derive(Debug, Clone, Copy)]
pub(super) enum Numeric {
    /// Exact.
    Integer(i128),
    /// Anything else.
    Float(f64),
}

impl Numeric {
    pub(super) fn as_f64(self) -> f64 {
        match self {
            Numeric::Integer(integer) => integer as f64,
            Numeric::Float(float) => float,
        }
    }

    fn compare(self, other: Numeric) -> Option<Ordering> {
        match (self, other) {
            (Numeric::Integer(left), Numeric::Integer(right)) => Some(left.cmp(&right)),
            (left, right) => left.as_f64().partial_cmp(&right.as_f64()),
        }
    }
}

/// The number in a value, if it is one.
pub(super) fn number(value: &Value) -> Option<Numeric> {
    match value.kind() {
        ValueKind::Bool => Some(Numeric::Integer(i128::from(value.is_true()))),
        ValueKind::Number if value.is_integer() => i128::try_from(value.clone()).ok().map(Numeric::Integer),
        ValueKind::Number => f64::try_from(value.clone()).ok().map(Numeric::Float),
        _ => None,
    }
}

/// An integer as a value, small where it can be.
pub(super) fn integer_value(integer: i128) -> Value {
    i64::try_from(integer).map_or_else(|_| Value::from(integer), Value::from)
}

fn contains(container: &Value, item: &Value) -> Result<bool, Error> {
    match (container.kind(), container.as_str(), item.as_str()) {
        (_, Some(text), Some(part)) => Ok(text.contains(part)),
        (ValueKind::Map, ..) => Ok(container.as_object().is_some_and(|map| own_entry(map, item).is_some())),
        (ValueKind::Seq | ValueKind::Iterable, ..) => Ok(container.try_iter()?.any(|other| other == *item)),
        _ => Err(failure(format!("`in` cannot look into {} for {}", kind_name(container), kind_name(item)))),
    }
}

fn cannot(operator: &str, left: &Value, right: &Value) -> Error {
    failure(format!("`{operator}` cannot take {} and {}", kind_name(left), kind_name(right)))
}

fn add(state: &mut State, left: Value, right: Value) -> Result<Value, Error> {
    defined(&left)?;
    defined(&right)?;
    if let (Some(one), Some(other)) = (number(&left), number(&right)) {
        return match (one, other) {
            (Numeric::Integer(one), Numeric::Integer(other)) => {
                one.checked_add(other).map(integer_value).ok_or_else(|| failure("the sum is too large"))
            }
            _ => Ok(Value::from(one.as_f64() + other.as_f64())),
        };
    }
    if let (Some(one), Some(other)) = (left.as_str(), right.as_str()) {
        charge(state, one.len() + other.len())?;
        return Ok(Value::from([one, other].concat()));
    }
    let sequences =
        [&left, &right].iter().all(|value| matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable));
    if !sequences || left.is_tuple() != right.is_tuple() {
        return Err(cannot("+", &left, &right));
    }
    let mut all = items(&left)?;
    all.extend(items(&right)?);
    charge_items(state, all.len())?;
    Ok(if left.is_tuple() { Value::from(Tuple::from(all)) } else { Value::from(all) })
}

fn multiply(state: &mut State, left: Value, right: Value) -> Result<Value, Error> {
    defined(&left)?;
    defined(&right)?;
    match (number(&left), number(&right)) {
        (Some(Numeric::Integer(one)), Some(Numeric::Integer(other))) => {
            one.checked_mul(other).map(integer_value).ok_or_else(|| failure("the product is too large"))
        }
        (Some(one), Some(other)) => Ok(Value::from(one.as_f64() * other.as_f64())),
        (None, Some(Numeric::Integer(times))) => repeat(state, &left, times),
        (Some(Numeric::Integer(times)), None) => repeat(state, &right, times),
        _ => Err(cannot("*", &left, &right)),
    }
}

fn repeat(state: &mut State, value: &Value, times: i128) -> Result<Value, Error> {
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    if let Some(text) = value.as_str() {
        charge(state, text.len().saturating_mul(times))?;
        return Ok(Value::from(text.repeat(times)));
    }
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(cannot("*", value, &Value::from(1)));
    }
    let once = items(value)?;
    let total = once.len().saturating_mul(times);
    charge_items(state, total)?;
    if total > ITEMS {
        return Err(super::limits::too_large());
    }
    let all: Vec<Value> = once.iter().cycle().take(total).cloned().collect();
    Ok(if value.is_tuple() { Value::from(Tuple::from(all)) } else { Value::from(all) })
}

/// The remainder of numbers, or `%` formatting of a text.
fn modulo(state: &mut State, left: Value, right: Value) -> Result<Value, Error> {
    defined(&left)?;
    defined(&right)?;
    if let Some(pattern) = left.as_str() {
        let places = if right.is_tuple() { items(&right)? } else { vec![right] };
        return percent(state, pattern, &places);
    }
    match (number(&left), number(&right)) {
        (Some(Numeric::Integer(_)), Some(Numeric::Integer(0))) => Err(failure("modulo by zero")),
        (Some(Numeric::Integer(one)), Some(Numeric::Integer(other))) => {
            let rest = one.checked_rem(other).unwrap_or(0);
            let rest = if rest != 0 && (rest < 0) != (other < 0) { rest + other } else { rest };
            Ok(integer_value(rest))
        }
        (Some(_), Some(other)) if other.as_f64() == 0.0 => Err(failure("modulo by zero")),
        (Some(one), Some(other)) => {
            let (one, other) = (one.as_f64(), other.as_f64());
            let rest = one % other;
            Ok(Value::from(if rest != 0.0 && (rest < 0.0) != (other < 0.0) { rest + other } else { rest }))
        }
        _ => Err(cannot("%", &left, &right)),
    }
}

fn concat(state: &mut State, left: Value, right: Value) -> Result<Value, Error> {
    defined(&left)?;
    defined(&right)?;
    charge_call(state, Cost::Whole, &[left.clone(), right.clone()])?;
    let mut text = String::new();
    write_text(&mut text, &left);
    write_text(&mut text, &right);
    charge(state, text.len())?;
    Ok(Value::from(text))
}

/// `value[start:stop:step]` of a text, a list or a tuple.
fn slice(state: &mut State, value: Value, args: minijinja::value::Rest<Value>) -> Result<Value, Error> {
    defined(&value)?;
    charge_call(state, Cost::Items, std::slice::from_ref(&value))?;
    let bound = |at: usize| integer("a slice", args.get(at).cloned());
    let (start, stop, step) = (bound(0)?, bound(1)?, bound(2)?.unwrap_or(1));
    if step == 0 {
        return Err(failure("slice step cannot be zero"));
    }
    if let Some(text) = value.as_str() {
        let characters: Vec<char> = text.chars().collect();
        return Ok(Value::from(
            indexes(characters.len(), start, stop, step).map(|at| characters[at]).collect::<String>(),
        ));
    }
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(failure(format!("{} cannot be sliced", kind_name(&value))));
    }
    let all = items(&value)?;
    let some: Vec<Value> = indexes(all.len(), start, stop, step).map(|at| all[at].clone()).collect();
    Ok(if value.is_tuple() { Value::from(Tuple::from(some)) } else { Value::from(some) })
}

/// The indexes of a slice, as Python's `slice.indices` gives them.
fn indexes(length: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let clamp = |at: i64| if at < 0 { (at.saturating_add(length)).max(low) } else { at.min(high) };
    let (first, last) = match step > 0 {
        true => (start.map_or(0, clamp), stop.map_or(length, clamp)),
        false => (start.map_or(length - 1, clamp), stop.map_or(-1, clamp)),
    };
    let mut at = first;
    std::iter::from_fn(move || {
        if (step > 0 && at >= last) || (step < 0 && at <= last) {
            return None;
        }
        let here = at;
        at = at.saturating_add(step);
        usize::try_from(here).ok()
    })
}

/// What a loop runs over: null is refused, where minijinja would see an empty list.
fn iterable(value: Value) -> Result<Value, Error> {
    defined(&value)?;
    if value.is_none() { Err(failure("a loop cannot run over null")) } else { Ok(value) }
}

/// A literal in a template that keeps state: it may wrap what the last round of a loop made.
fn checked(state: &mut State, value: Value) -> Result<Value, Error> {
    shallow(state, &value).map(|()| value)
}

fn list(state: &mut State, value: Value) -> Result<Value, Error> {
    shallow(state, &value)?;
    items(&value).map(|items| Value::from_object(List::new(items)))
}

fn dict(state: &mut State, value: Value) -> Result<Value, Error> {
    shallow(state, &value)?;
    let pairs = value.as_object().and_then(|map| map.try_iter_pairs());
    Ok(Value::from_object(Dict::new(pairs.into_iter().flatten().collect::<IndexMap<_, _>>())))
}
