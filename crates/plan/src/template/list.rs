//! The sequences that Python has and minijinja has not: lists and maps that can grow, views of maps, groups.
//!
//! `rewrite` makes literals growable only in templates that call a method which changes its object, so that everything
//! else works on plain immutable values.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use minijinja::value::{Enumerator, Object, ObjectRepr, Value};
use minijinja::{Error, ErrorKind, State};

use super::arguments::{bind, failure, required};
use super::limits::{Cost, charge_call, charge_items};
use super::python::python_repr;

/// A list made in a template, which may grow.
#[derive(Debug, Default)]
pub(super) struct List {
    items: Mutex<Vec<Value>>,
}

impl List {
    pub(super) fn new(items: Vec<Value>) -> List {
        List { items: Mutex::new(items) }
    }

    fn items(&self) -> MutexGuard<'_, Vec<Value>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, args: &[Value]) -> Result<Value, Error> {
        let [at, item] = bind("insert", &["index", "object"], args)?;
        let (at, item) =
            (integer("insert", required("insert", "index", at)?)?, required("insert", "object", item)?);
        let mut items = self.items();
        let place = position(at, items.len()).min(items.len());
        items.insert(place, item);
        Ok(Value::from(()))
    }

    fn pop(&self, args: &[Value]) -> Result<Value, Error> {
        let [at] = bind("pop", &["index"], args)?;
        let at = at.map_or(Ok(-1), |at| integer("pop", at))?;
        let mut items = self.items();
        let place = position(at, items.len());
        if place < items.len() { Ok(items.remove(place)) } else { Err(failure("pop index out of range")) }
    }

    fn remove(&self, args: &[Value]) -> Result<Value, Error> {
        let [item] = bind("remove", &["value"], args)?;
        let item = required("remove", "value", item)?;
        let mut items = self.items();
        let place = items.iter().position(|other| *other == item);
        match place {
            Some(place) => items.remove(place),
            None => return Err(failure(format!("{} is not in the list", python_repr(&item)))),
        };
        Ok(Value::from(()))
    }
}

fn integer(name: &str, value: Value) -> Result<i64, Error> {
    value.as_i64().ok_or_else(|| failure(format!("{name} needs an integer, not {}", python_repr(&value))))
}

/// A Python index as an offset: negative ones count from the end, and stop at the start.
fn position(at: i64, length: usize) -> usize {
    if at >= 0 { at as usize } else { length.saturating_sub(at.unsigned_abs() as usize) }
}

/// A list or a map may not come to hold itself: it could never be shown, compared or freed.
fn refuse_cycle<T: Object + 'static>(
    state: &mut State,
    this: &Arc<T>,
    item: &Value,
    depth: usize,
) -> Result<(), Error> {
    charge_items(state, 1)?;
    if depth > 64 {
        return Err(failure("lists and maps nest too deeply"));
    }
    let Some(object) = item.as_object() else { return Ok(()) };
    if object.downcast::<T>().is_some_and(|other| Arc::ptr_eq(&other, this)) {
        return Err(failure("a list or map cannot hold itself"));
    }
    if object.downcast_ref::<List>().is_some() || object.downcast_ref::<Dict>().is_some() {
        for (key, inner) in object.try_iter_pairs().into_iter().flatten() {
            refuse_cycle(state, this, &key, depth + 1)?;
            refuse_cycle(state, this, &inner, depth + 1)?;
        }
    }
    Ok(())
}

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.items().get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items().clone())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.items().len())
    }

    fn call_method(
        self: &Arc<Self>,
        state: &mut State,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        // Only `append` leaves the other items where they are.
        let moved = if method == "append" { 1 } else { self.items().len() + 1 };
        charge_items(state, moved)?;
        if method == "remove" {
            let all = Value::from(self.items().clone());
            charge_call(state, Cost::Whole, &[all])?;
        }
        for item in args {
            refuse_cycle(state, self, item, 0)?;
        }
        match method {
            "append" => {
                let [item] = bind("append", &["object"], args)?;
                self.items().push(required("append", "object", item)?);
            }
            "extend" => {
                let [more] = bind("extend", &["iterable"], args)?;
                let more: Vec<Value> = required("extend", "iterable", more)?.try_iter()?.collect();
                charge_items(state, more.len())?;
                self.items().extend(more);
            }
            "insert" => return self.insert(args),
            "pop" => return self.pop(args),
            "remove" => return self.remove(args),
            "clear" => self.items().clear(),
            "reverse" => self.items().reverse(),
            "sort" => {
                let mut call = vec![Value::from(self.items().clone())];
                call.extend_from_slice(args);
                let sorted: Vec<Value> = state.apply_filter("__sorted", &call)?.try_iter()?.collect();
                *self.items() = sorted;
            }
            _ => return Err(Error::from(ErrorKind::UnknownMethod)),
        }
        Ok(Value::from(()))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&python_repr(&Value::from_dyn_object(self.clone())))
    }
}

/// A map made in a template, which may change.
#[derive(Debug, Default)]
pub(super) struct Dict {
    entries: Mutex<IndexMap<Value, Value>>,
}

impl Dict {
    pub(super) fn new(entries: IndexMap<Value, Value>) -> Dict {
        Dict { entries: Mutex::new(entries) }
    }

    fn entries(&self) -> MutexGuard<'_, IndexMap<Value, Value>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, args: &[Value]) -> Result<Value, Error> {
        let mut entries = self.entries();
        for source in args {
            let pairs = source.as_object().and_then(|object| object.try_iter_pairs());
            for (key, item) in pairs.into_iter().flatten() {
                match source.kind() {
                    minijinja::value::ValueKind::Map => entries.insert(key, item),
                    _ => entries.insert(item.get_item_by_index(0)?, item.get_item_by_index(1)?),
                };
            }
        }
        Ok(Value::from(()))
    }

    fn pop(&self, args: &[Value]) -> Result<Value, Error> {
        let [key, default] = bind("pop", &["key", "default"], args)?;
        let key = required("pop", "key", key)?;
        match (self.entries().shift_remove(&key), default) {
            (Some(item), _) | (None, Some(item)) => Ok(item),
            (None, None) => Err(failure(format!("the map has no key {}", python_repr(&key)))),
        }
    }

    fn set_default(&self, args: &[Value]) -> Result<Value, Error> {
        let [key, default] = bind("setdefault", &["key", "default"], args)?;
        let key = required("setdefault", "key", key)?;
        Ok(self.entries().entry(key).or_insert_with(|| default.unwrap_or(Value::from(()))).clone())
    }
}

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.entries().get(key).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.entries().keys().cloned().collect())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.entries().len())
    }

    fn call_method(
        self: &Arc<Self>,
        state: &mut State,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        let moved = if method == "setdefault" { 1 } else { self.entries().len() + 1 };
        charge_items(state, moved)?;
        charge_call(state, Cost::Items, args)?;
        for item in args {
            refuse_cycle(state, self, item, 0)?;
        }
        match method {
            "update" => self.update(args),
            "pop" => self.pop(args),
            "setdefault" => self.set_default(args),
            "clear" => {
                self.entries().clear();
                Ok(Value::from(()))
            }
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&python_repr(&Value::from_dyn_object(self.clone())))
    }
}

/// What a [`View`] shows of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// `keys()`.
    Keys,
    /// `values()`.
    Values,
    /// `items()`.
    Items,
}

/// `keys()`, `values()` or `items()` of a map.
#[derive(Debug)]
pub(super) struct View {
    part: Part,
    items: Vec<Value>,
}

impl View {
    pub(super) fn new(part: Part, map: &Value) -> View {
        let pairs = map.as_object().and_then(|object| object.try_iter_pairs());
        let pick = |(key, item): (Value, Value)| match part {
            Part::Keys => key,
            Part::Values => item,
            Part::Items => Value::from((key, item)),
        };
        View { part, items: pairs.into_iter().flatten().map(pick).collect() }
    }

    /// How Python encloses such a view.
    pub(super) fn brackets(&self) -> (&'static str, &'static str) {
        match self.part {
            Part::Keys => ("dict_keys([", "])"),
            Part::Values => ("dict_values([", "])"),
            Part::Items => ("dict_items([", "])"),
        }
    }
}

impl Object for View {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items.clone())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.items.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&python_repr(&Value::from_dyn_object(self.clone())))
    }
}

/// One group of `groupby`: a pair that also answers to `grouper` and `list`.
#[derive(Debug)]
pub(super) struct Group {
    pub grouper: Value,
    pub list: Value,
}

impl Object for Group {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match (key.as_str(), key.as_usize()) {
            (Some("grouper"), _) | (None, Some(0)) => Some(self.grouper.clone()),
            (Some("list"), _) | (None, Some(1)) => Some(self.list.clone()),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(2)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&python_repr(&Value::from_dyn_object(self.clone())))
    }
}
