//! Jinja2's tests (`x is defined`), with Jinja2's meaning.

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State};

use super::arguments::{bind, failure, required};
use super::limits::{Cost, charge_call};
use super::operators::{Numeric, holds, kind_name, number};

/// A test: the value and the arguments.
type Test = fn(&mut State, &[Value]) -> Result<bool, Error>;

/// Tests under the names that templates use, and what one call of each costs.
pub(super) const TESTS: &[(&str, Cost, Test)] = &[
    ("!=", Cost::Whole, |_, args| compare("!=", args)),
    ("<", Cost::Whole, |_, args| compare("<", args)),
    ("<=", Cost::Whole, |_, args| compare("<=", args)),
    ("==", Cost::Whole, |_, args| compare("==", args)),
    (">", Cost::Whole, |_, args| compare(">", args)),
    (">=", Cost::Whole, |_, args| compare(">=", args)),
    ("False", Cost::Fixed, |_, args| kind(args, |value| value.kind() == ValueKind::Bool && !value.is_true())),
    ("None", Cost::Fixed, |_, args| kind(args, Value::is_none)),
    ("True", Cost::Fixed, |_, args| kind(args, |value| value.kind() == ValueKind::Bool && value.is_true())),
    ("boolean", Cost::Fixed, |_, args| kind(args, |value| value.kind() == ValueKind::Bool)),
    ("callable", Cost::Fixed, |_, args| kind(args, is_callable)),
    ("defined", Cost::Fixed, |_, args| Ok(!is_undefined(args))),
    ("divisibleby", Cost::Fixed, divisible),
    ("eq", Cost::Whole, |_, args| compare("==", args)),
    ("equalto", Cost::Whole, |_, args| compare("==", args)),
    ("escaped", Cost::Fixed, |_, args| kind(args, Value::is_safe)),
    ("even", Cost::Fixed, |_, args| remainder(args, 2).map(|rest| rest == 0)),
    ("false", Cost::Fixed, |_, args| kind(args, |value| value.kind() == ValueKind::Bool && !value.is_true())),
    ("filter", Cost::Fixed, |state, args| {
        one(args, |name| is_known(state, name, super::filters::FILTERS.iter().map(|(name, ..)| *name)))
    }),
    ("float", Cost::Fixed, |_, args| {
        kind(args, |value| value.kind() == ValueKind::Number && !value.is_integer())
    }),
    ("ge", Cost::Whole, |_, args| compare(">=", args)),
    ("greaterthan", Cost::Whole, |_, args| compare(">", args)),
    ("gt", Cost::Whole, |_, args| compare(">", args)),
    ("in", Cost::Whole, |_, args| compare("in", args)),
    ("integer", Cost::Fixed, |_, args| {
        kind(args, |value| value.kind() == ValueKind::Number && value.is_integer())
    }),
    ("iterable", Cost::Fixed, |_, args| one(args, is_iterable)),
    ("le", Cost::Whole, |_, args| compare("<=", args)),
    ("lessthan", Cost::Whole, |_, args| compare("<", args)),
    ("lower", Cost::Whole, |_, args| {
        one(args, |value| is_cased(value, char::is_lowercase, char::is_uppercase))
    }),
    ("lt", Cost::Whole, |_, args| compare("<", args)),
    ("mapping", Cost::Fixed, |_, args| kind(args, |value| value.kind() == ValueKind::Map)),
    ("ne", Cost::Whole, |_, args| compare("!=", args)),
    ("none", Cost::Fixed, |_, args| kind(args, Value::is_none)),
    ("number", Cost::Fixed, |_, args| {
        kind(args, |value| matches!(value.kind(), ValueKind::Number | ValueKind::Bool))
    }),
    ("odd", Cost::Fixed, |_, args| remainder(args, 2).map(|rest| rest == 1)),
    ("sameas", Cost::Whole, same),
    ("sequence", Cost::Fixed, |_, args| one(args, is_sequence)),
    ("string", Cost::Fixed, |_, args| kind(args, |value| value.kind() == ValueKind::String)),
    ("test", Cost::Fixed, |state, args| {
        one(args, |name| is_known(state, name, TESTS_BY_NAME.iter().copied()))
    }),
    ("true", Cost::Fixed, |_, args| kind(args, |value| value.kind() == ValueKind::Bool && value.is_true())),
    ("undefined", Cost::Fixed, |_, args| Ok(is_undefined(args))),
    ("upper", Cost::Whole, |_, args| {
        one(args, |value| is_cased(value, char::is_uppercase, char::is_lowercase))
    }),
];

/// The names that `is test` looks for; a copy because a table cannot mention itself.
const TESTS_BY_NAME: &[&str] = &[
    "boolean",
    "callable",
    "defined",
    "divisibleby",
    "eq",
    "equalto",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sameas",
    "sequence",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

/// Registers all tests.
pub(super) fn register(environment: &mut Environment<'_>) {
    for &(name, cost, test) in TESTS {
        environment.add_test(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            charge_call(state, cost, &args)?;
            test(state, &args)
        });
    }
}

fn is_undefined(args: &[Value]) -> bool {
    args.first().is_none_or(Value::is_undefined)
}

/// A question about the type alone, to which an undefined value answers no.
fn kind(args: &[Value], test: impl Fn(&Value) -> bool) -> Result<bool, Error> {
    if is_undefined(args) { Ok(false) } else { one(args, test) }
}

fn one(args: &[Value], test: impl Fn(&Value) -> bool) -> Result<bool, Error> {
    let [value] = bind("the test", &["value"], args)?;
    Ok(test(&required("the test", "value", value)?))
}

fn compare(operator: &str, args: &[Value]) -> Result<bool, Error> {
    match args {
        [left, right] => holds(left, operator, right),
        _ => Err(failure(format!("the test `{operator}` needs one argument"))),
    }
}

fn remainder(args: &[Value], divisor: i128) -> Result<i128, Error> {
    let [value] = bind("the test", &["value"], args)?;
    let value = required("the test", "value", value)?;
    match number(&value) {
        Some(Numeric::Integer(integer)) => Ok(integer.rem_euclid(divisor)),
        Some(Numeric::Float(float)) if float.fract() == 0.0 => Ok((float as i128).rem_euclid(divisor)),
        Some(Numeric::Float(_)) => Ok(-1),
        None => Err(failure(format!("{} is neither odd nor even", kind_name(&value)))),
    }
}

fn divisible(_: &mut State, args: &[Value]) -> Result<bool, Error> {
    let [value, divisor] = bind("divisibleby", &["value", "num"], args)?;
    let pair = (value.as_ref().and_then(number), divisor.as_ref().and_then(number));
    match pair {
        (Some(Numeric::Integer(_)), Some(Numeric::Integer(0))) => Err(failure("division by zero")),
        (Some(Numeric::Integer(value)), Some(Numeric::Integer(divisor))) => {
            Ok(value.rem_euclid(divisor) == 0)
        }
        (Some(value), Some(divisor)) => Ok(value.as_f64() % divisor.as_f64() == 0.0),
        _ => Err(failure("divisibleby needs two numbers")),
    }
}

/// Python's `is`: the same object, or the same small constant.
fn same(_: &mut State, args: &[Value]) -> Result<bool, Error> {
    let [value, other] = bind("sameas", &["value", "other"], args)?;
    let (value, other) = (required("sameas", "value", value)?, required("sameas", "other", other)?);
    Ok(minijinja::tests::is_sameas(&value, &other))
}

fn is_iterable(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map | ValueKind::String)
}

/// Whatever has a length and can be indexed: texts and maps too, as in Jinja2.
fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::String)
}

fn is_callable(value: &Value) -> bool {
    value.kind() == ValueKind::Plain
}

fn is_cased(value: &Value, wanted: fn(char) -> bool, other: fn(char) -> bool) -> bool {
    let text = super::python::python_text(value);
    text.chars().any(wanted) && !text.chars().any(other)
}

fn is_known<'n>(_: &State, name: &Value, mut names: impl Iterator<Item = &'n str>) -> bool {
    name.as_str().is_some_and(|name| names.any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_of_the_names_is_complete() {
        let words: Vec<&str> = TESTS
            .iter()
            .map(|(name, ..)| *name)
            .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
            .collect();
        assert_eq!(words, TESTS_BY_NAME);
    }
}
