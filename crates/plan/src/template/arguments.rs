//! How filters, methods and functions take their arguments: by place or by name, as in Python.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};

use super::python::python_repr;

/// An error of a filter, a method or an operator.
pub(super) fn failure(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Refuses an undefined value, with an error that knows where it came from.
pub(super) fn defined(value: &Value) -> Result<(), Error> {
    // `get_attr` is the public way to the error that remembers the expression which was undefined.
    if value.is_undefined() { value.get_attr("").map(|_| ()) } else { Ok(()) }
}

/// Keyword arguments in the order they were given.
pub(super) type Named = Vec<(String, Value)>;

/// Positional arguments and keyword arguments, apart.
pub(super) fn split(args: &[Value]) -> Result<(&[Value], Named), Error> {
    match args.split_last() {
        Some((last, rest)) if last.is_kwargs() => {
            let named = Kwargs::try_from(last.clone())?;
            let pairs = named.args().map(|name| Ok((name.to_owned(), named.peek::<Value>(name)?)));
            Ok((rest, pairs.collect::<Result<_, Error>>()?))
        }
        _ => Ok((args, Vec::new())),
    }
}

/// Puts arguments in the places of `parameters`; too many, unknown or repeated ones are errors.
pub(super) fn bind<const N: usize>(
    name: &str,
    parameters: &[&str; N],
    args: &[Value],
) -> Result<[Option<Value>; N], Error> {
    let mut bound: [Option<Value>; N] = std::array::from_fn(|_| None);
    let (places, named) = split(args)?;
    if places.len() > N {
        return Err(failure(format!("{name} takes at most {N} arguments, not {}", places.len())));
    }
    for (slot, value) in bound.iter_mut().zip(places) {
        *slot = Some(value.clone());
    }
    for (key, value) in named {
        match parameters.iter().position(|parameter| *parameter == key) {
            Some(at) if bound[at].is_none() => bound[at] = Some(value),
            Some(_) => return Err(failure(format!("{name} got `{key}` twice"))),
            None => return Err(failure(format!("{name} has no argument `{key}`"))),
        }
    }
    bound.iter().flatten().try_for_each(defined)?;
    Ok(bound)
}

/// An argument that has to be there.
pub(super) fn required(name: &str, parameter: &str, value: Option<Value>) -> Result<Value, Error> {
    value.ok_or_else(|| failure(format!("{name} needs `{parameter}`")))
}

/// An argument that is a text; `None` stays `None`, and so does a null.
pub(super) fn text(name: &str, value: Option<Value>) -> Result<Option<String>, Error> {
    match value {
        None => Ok(None),
        Some(value) if value.is_none() => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(failure(format!("{name} needs a text, not {}", python_repr(&value)))),
        },
    }
}

/// An argument that is an integer; `None` stays `None`, and so does a null.
pub(super) fn integer(name: &str, value: Option<Value>) -> Result<Option<i64>, Error> {
    match value {
        None => Ok(None),
        Some(value) if value.is_none() => Ok(None),
        Some(value) => match (value.kind(), value.as_i64()) {
            (ValueKind::Bool, _) => Ok(Some(i64::from(value.is_true()))),
            (_, Some(integer)) if value.is_integer() => Ok(Some(integer)),
            _ => Err(failure(format!("{name} needs an integer, not {}", python_repr(&value)))),
        },
    }
}

/// A flag, by truth.
pub(super) fn flag(value: Option<Value>, otherwise: bool) -> bool {
    value.map_or(otherwise, |value| value.is_true())
}

/// The items of a value that must be iterable.
pub(super) fn items(value: &Value) -> Result<Vec<Value>, Error> {
    defined(value)?;
    if value.is_none() {
        return Err(failure("None is not iterable"));
    }
    value.try_iter().map(Iterator::collect)
}
