//! The functions that every template knows: Jinja2's, and the few of Python's that conditions use.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use minijinja::value::{Enumerator, Object, ObjectRepr, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State};

use super::arguments::{bind, failure, integer, items, required, split};
use super::limits::{ITEMS, shallow};
use super::list::Dict;
use super::python::python_repr;

/// Names of the functions, for messages about unknown ones.
pub(super) const NAMES: [&str; 12] = [
    "range",
    "dict",
    "cycler",
    "joiner",
    "namespace",
    "int",
    "float",
    "str",
    "len",
    "loop",
    "caller",
    "super",
];

/// Registers the functions.
pub(super) fn register(environment: &mut Environment<'_>) {
    environment.remove_global("debug");
    environment.add_function("range", |args: Rest<Value>| Range::new(&args).map(Value::from_object));
    environment.add_function("dict", dict);
    environment.add_function("cycler", |args: Rest<Value>| Cycler::new(args.0).map(Value::from_object));
    environment.add_function("joiner", joiner);
    // Python's own functions are Jinja2's filters under another name. Only those that conditions had: each further name
    // would be `defined` for a step that is called so and has not run yet.
    let filters = [("int", "__int"), ("float", "__float"), ("str", "string"), ("len", "length")];
    for (name, filter) in filters {
        environment.add_function(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            state.apply_filter(filter, &args.into_values())
        });
    }
}

/// `range(start, stop, step)`, never longer than a template may walk.
#[derive(Debug)]
pub(super) struct Range {
    start: i64,
    stop: i64,
    step: i64,
    length: usize,
}

impl Range {
    fn new(args: &[Value]) -> Result<Range, Error> {
        let [first, second, step] = bind("range", &["start", "stop", "step"], args)?;
        let first = integer("range", Some(required("range", "stop", first)?))?.unwrap_or(0);
        let (start, stop) = match integer("range", second)? {
            Some(stop) => (first, stop),
            None => (0, first),
        };
        let step = integer("range", step)?.unwrap_or(1);
        if step == 0 {
            return Err(failure("range needs a step that is not zero"));
        }
        let distance = if step > 0 {
            i128::from(stop) - i128::from(start)
        } else {
            i128::from(start) - i128::from(stop)
        };
        let stride = i128::from(step).abs();
        let length = usize::try_from((distance.max(0) + stride - 1) / stride).unwrap_or(usize::MAX);
        if length > ITEMS {
            return Err(Error::new(
                ErrorKind::OutOfFuel,
                format!("range has {length} items, more than {ITEMS}"),
            ));
        }
        Ok(Range { start, stop, step, length })
    }

    fn item(&self, at: usize) -> Option<Value> {
        (at < self.length).then(|| Value::from(self.start + self.step * at as i64))
    }

    pub(super) fn write_repr(&self, out: &mut String) {
        let Range { start, stop, step, .. } = self;
        out.push_str(&match step {
            1 => format!("range({start}, {stop})"),
            _ => format!("range({start}, {stop}, {step})"),
        });
    }
}

impl Object for Range {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.item(key.as_usize()?)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.length)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&python_repr(&Value::from_dyn_object(self.clone())))
    }
}

fn dict(state: &mut State, args: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let args = args.into_values();
    args.iter().try_for_each(|value| shallow(state, value))?;
    let (places, named) = split(&args)?;
    let mut entries = indexmap::IndexMap::new();
    for source in places {
        match (source.kind(), source.as_object()) {
            (ValueKind::Map, Some(map)) => entries.extend(map.try_iter_pairs().into_iter().flatten()),
            _ => {
                for pair in items(source)? {
                    entries.insert(pair.get_item_by_index(0)?, pair.get_item_by_index(1)?);
                }
            }
        }
    }
    entries.extend(named.into_iter().map(|(name, value)| (Value::from(name), value)));
    Ok(Value::from_object(Dict::new(entries)))
}

/// `cycler('odd', 'even')`.
#[derive(Debug)]
struct Cycler {
    items: Vec<Value>,
    at: AtomicUsize,
}

impl Cycler {
    fn new(items: Vec<Value>) -> Result<Cycler, Error> {
        if items.is_empty() {
            Err(failure("cycler needs at least one item"))
        } else {
            Ok(Cycler { items, at: AtomicUsize::new(0) })
        }
    }

    fn current(&self) -> Value {
        self.items[self.at.load(Ordering::Relaxed) % self.items.len()].clone()
    }
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        (key.as_str() == Some("current")).then(|| self.current())
    }

    fn call_method(self: &Arc<Self>, _: &mut State, method: &str, _: &[Value]) -> Result<Value, Error> {
        match method {
            "next" => {
                let current = self.current();
                self.at.fetch_add(1, Ordering::Relaxed);
                Ok(current)
            }
            "reset" => {
                self.at.store(0, Ordering::Relaxed);
                Ok(Value::from(()))
            }
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }
}

/// `joiner(', ')`: nothing the first time, the separator from then on.
fn joiner(args: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let [separator] = bind("joiner", &["sep"], &args.into_values())?;
    let separator = separator.unwrap_or_else(|| Value::from(", "));
    Ok(Value::from_object(Joiner { separator, used: AtomicBool::new(false) }))
}

#[derive(Debug)]
struct Joiner {
    separator: Value,
    used: AtomicBool,
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _: &mut State, _: &[Value]) -> Result<Value, Error> {
        match self.used.swap(true, Ordering::Relaxed) {
            true => Ok(self.separator.clone()),
            false => Ok(Value::from("")),
        }
    }
}
