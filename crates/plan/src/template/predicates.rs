//! Jinja2's tests (`x is defined`), with Jinja2's meaning.

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State};

use super::arguments::{bind, failure, required};
use super::operators::{Numeric, holds, kind_name, number};

/// A test: the value and the arguments.
type Test = fn(&mut State, &[Value]) -> Result<bool, Error>;

/// Tests under the names that templates use.
pub(super) const TESTS: &[(&str, Test)] = &[
    ("!=", |_, args| compare("!=", args)),
    ("<", |_, args| compare("<", args)),
    ("<=", |_, args| compare("<=", args)),
    ("==", |_, args| compare("==", args)),
    (">", |_, args| compare(">", args)),
    (">=", |_, args| compare(">=", args)),
    ("False", |_, args| kind(args, |value| value.kind() == ValueKind::Bool && !value.is_true())),
    ("None", |_, args| kind(args, Value::is_none)),
    ("True", |_, args| kind(args, |value| value.kind() == ValueKind::Bool && value.is_true())),
    ("boolean", |_, args| kind(args, |value| value.kind() == ValueKind::Bool)),
    ("callable", |_, args| kind(args, is_callable)),
    ("defined", |_, args| Ok(!is_undefined(args))),
    ("divisibleby", divisible),
    ("eq", |_, args| compare("==", args)),
    ("equalto", |_, args| compare("==", args)),
    ("escaped", |_, args| kind(args, Value::is_safe)),
    ("even", |_, args| remainder(args, 2).map(|rest| rest == 0)),
    ("false", |_, args| kind(args, |value| value.kind() == ValueKind::Bool && !value.is_true())),
    ("filter", |state, args| {
        one(args, |name| is_known(state, name, super::filters::FILTERS.iter().map(|(name, _)| *name)))
    }),
    ("float", |_, args| kind(args, |value| value.kind() == ValueKind::Number && !value.is_integer())),
    ("ge", |_, args| compare(">=", args)),
    ("greaterthan", |_, args| compare(">", args)),
    ("gt", |_, args| compare(">", args)),
    ("in", |_, args| compare("in", args)),
    ("integer", |_, args| kind(args, |value| value.kind() == ValueKind::Number && value.is_integer())),
    ("iterable", |_, args| one(args, is_iterable)),
    ("le", |_, args| compare("<=", args)),
    ("lessthan", |_, args| compare("<", args)),
    ("lower", |_, args| one(args, |value| is_cased(value, char::is_lowercase, char::is_uppercase))),
    ("lt", |_, args| compare("<", args)),
    ("mapping", |_, args| kind(args, |value| value.kind() == ValueKind::Map)),
    ("ne", |_, args| compare("!=", args)),
    ("none", |_, args| kind(args, Value::is_none)),
    ("number", |_, args| kind(args, |value| matches!(value.kind(), ValueKind::Number | ValueKind::Bool))),
    ("odd", |_, args| remainder(args, 2).map(|rest| rest == 1)),
    ("sameas", same),
    ("sequence", |_, args| one(args, is_sequence)),
    ("string", |_, args| kind(args, |value| value.kind() == ValueKind::String)),
    ("test", |state, args| one(args, |name| is_known(state, name, TESTS_BY_NAME.iter().copied()))),
    ("true", |_, args| kind(args, |value| value.kind() == ValueKind::Bool && value.is_true())),
    ("undefined", |_, args| Ok(is_undefined(args))),
    ("upper", |_, args| one(args, |value| is_cased(value, char::is_uppercase, char::is_lowercase))),
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
    for &(name, test) in TESTS {
        environment.add_test(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            test(state, &args.into_values())
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
            .map(|(name, _)| *name)
            .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
            .collect();
        assert_eq!(words, TESTS_BY_NAME);
    }
}
