//! Filters about numbers.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::select::{attribute_of, present};
use crate::template::arguments::{bind, failure, flag, integer, items, required, text};
use crate::template::operators::{Numeric, integer_value, kind_name, number};
use crate::template::python::python_repr;

/// `abs`.
pub(super) fn abs(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value] = bind("abs", &["x"], args)?;
    let value = required("abs", "x", value)?;
    match number(&value) {
        Some(Numeric::Integer(integer)) => Ok(integer_value(integer.saturating_abs())),
        Some(Numeric::Float(float)) => Ok(Value::from(float.abs())),
        None => Err(failure(format!("abs cannot take {}", kind_name(&value)))),
    }
}

/// `int`: what can be read as an integer, else the default.
pub(super) fn int(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, default, base] = bind("int", &["value", "default", "base"], args)?;
    let base = integer("int", base)?.and_then(|base| u32::try_from(base).ok()).unwrap_or(10);
    let value = required("int", "value", value)?;
    Ok(to_integer(&value, base).unwrap_or_else(|| default.unwrap_or(Value::from(0))))
}

fn to_integer(value: &Value, base: u32) -> Option<Value> {
    if let Some(text) = value.as_str() {
        return integer_in(text, base).or_else(|| float_in(text).and_then(truncated));
    }
    match number(value)? {
        Numeric::Integer(integer) => Some(integer_value(integer)),
        Numeric::Float(float) => truncated(float),
    }
}

fn truncated(float: f64) -> Option<Value> {
    (float.is_finite() && float.abs() < 1e38).then(|| integer_value(float.trunc() as i128))
}

/// An integer as Python reads one: blanks around it, `_` between digits, a prefix if the base allows it.
fn integer_in(text: &str, base: u32) -> Option<Value> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (if text.starts_with('-') { -1 } else { 1 }, rest),
        None => (1, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match (base, lower.get(..2)) {
        (16 | 0, Some("0x")) => (16, &lower[2..]),
        (8 | 0, Some("0o")) => (8, &lower[2..]),
        (2 | 0, Some("0b")) => (2, &lower[2..]),
        (0, _) => (10, lower.as_str()),
        _ => (base, lower.as_str()),
    };
    if !(2..=36).contains(&base) || !digits_are_grouped(digits, base) {
        return None;
    }
    i128::from_str_radix(&digits.replace('_', ""), base).ok().map(|integer| integer_value(sign * integer))
}

fn digits_are_grouped(digits: &str, base: u32) -> bool {
    !digits.is_empty()
        && digits.split('_').all(|group| !group.is_empty() && group.chars().all(|c| c.is_digit(base)))
}

/// A float as Python reads one.
fn float_in(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.replace('_', "");
    let grouped = text.split('_').all(|part| !part.is_empty()) || !text.contains('_');
    (grouped && !plain.is_empty()).then(|| plain.parse().ok()).flatten()
}

/// `float`: what can be read as a float, else the default.
pub(super) fn float(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, default] = bind("float", &["value", "default"], args)?;
    let value = required("float", "value", value)?;
    Ok(to_float(&value).map_or_else(|| default.unwrap_or(Value::from(0.0)), Value::from))
}

fn to_float(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some(text) => float_in(text),
        None => number(value).map(Numeric::as_f64),
    }
}

/// Python's `int()`, which fails where the filter has a default.
pub(super) fn python_int(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, base] = bind("int", &["x", "base"], args)?;
    let base = integer("int", base)?.and_then(|base| u32::try_from(base).ok()).unwrap_or(10);
    let value = value.unwrap_or(Value::from(0));
    let read = match value.as_str() {
        Some(text) => integer_in(text, base),
        None => to_integer(&value, base),
    };
    read.ok_or_else(|| failure(format!("int cannot read {}", python_repr(&value))))
}

/// Python's `float()`.
pub(super) fn python_float(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value] = bind("float", &["x"], args)?;
    let value = value.unwrap_or(Value::from(0));
    to_float(&value)
        .map(Value::from)
        .ok_or_else(|| failure(format!("float cannot read {}", python_repr(&value))))
}

/// Python's `bool()`.
pub(super) fn python_bool(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value] = bind("bool", &["x"], args)?;
    Ok(Value::from(flag(value, false)))
}

/// `round`: to a number of places, half to even; `ceil` and `floor` on request.
pub(super) fn round(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, precision, method] = bind("round", &["value", "precision", "method"], args)?;
    let value = required("round", "value", value)?;
    let precision = integer("round", precision)?.unwrap_or(0);
    let Some(subject) = number(&value) else {
        return Err(failure(format!("round cannot take {}", kind_name(&value))));
    };
    let scale = 10f64.powi(i32::try_from(precision).unwrap_or(0));
    match (text("round", method)?.as_deref().unwrap_or("common"), subject) {
        ("common", Numeric::Integer(_)) if precision >= 0 => Ok(value),
        ("common", subject) => Ok(Value::from(round_half_even(subject.as_f64(), precision))),
        ("ceil", subject) => Ok(Value::from((subject.as_f64() * scale).ceil() / scale)),
        ("floor", subject) => Ok(Value::from((subject.as_f64() * scale).floor() / scale)),
        (other, _) => Err(failure(format!("round knows common, ceil and floor, not {other:?}"))),
    }
}

/// Python's `round()`: an integer unless places are given.
pub(super) fn python_round(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, places] = bind("round", &["number", "ndigits"], args)?;
    let value = required("round", "number", value)?;
    match places.filter(|places| !places.is_none()) {
        Some(places) => round(state, &[value, places]),
        None => {
            let rounded = round(state, &[value])?;
            to_integer(&rounded, 10).ok_or_else(|| failure("round needs a finite number"))
        }
    }
}

/// Rounds by the exact decimal digits of the float, as Python does.
fn round_half_even(float: f64, precision: i64) -> f64 {
    if !float.is_finite() {
        return float;
    }
    match usize::try_from(precision) {
        Ok(places) if places <= 300 => format!("{float:.places$}").parse().unwrap_or(float),
        Ok(_) => float,
        Err(_) => {
            let scale = 10f64.powi(i32::try_from(-precision).unwrap_or(400));
            let scaled = float / scale;
            format!("{scaled:.0}")
                .parse::<f64>()
                .map_or(float, |whole| if scale.is_finite() { whole * scale } else { 0.0 })
        }
    }
}

/// `sum`: of the items, or of an attribute of each.
pub(super) fn sum(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, attribute, start] = bind("sum", &["iterable", "attribute", "start"], args)?;
    let mut total = start.unwrap_or(Value::from(0));
    for item in items(&required("sum", "iterable", value)?)? {
        let item = present(attribute_of(state, &item, attribute.as_ref())?, attribute.as_ref())?;
        total = state.apply_filter("__add", &[total, item])?;
    }
    Ok(total)
}

/// `filesizeformat`: bytes for people.
pub(super) fn file_size(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, binary] = bind("filesizeformat", &["value", "binary"], args)?;
    let value = required("filesizeformat", "value", value)?;
    let bytes = to_float(&value)
        .ok_or_else(|| failure(format!("filesizeformat cannot read {}", python_repr(&value))))?;
    let (base, units) = match flag(binary, false) {
        true => (1024f64, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]),
        false => (1000f64, ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"]),
    };
    if bytes == 1.0 {
        return Ok(Value::from("1 Byte"));
    }
    if bytes < base {
        return Ok(Value::from(format!("{} Bytes", bytes.trunc())));
    }
    let mut unit = base;
    for name in &units[..7] {
        unit *= base;
        if bytes < unit {
            return Ok(Value::from(format!("{:.1} {name}", base * bytes / unit)));
        }
    }
    Ok(Value::from(format!("{:.1} {}", bytes / unit, units[7])))
}
