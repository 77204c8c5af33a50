//! Values between JSON and Python.
//!
//! What JSON cannot say is said as an object of one key: `{"$int": "…digits"}` beyond 64 bits, `{"$float": "nan"}`,
//! `inf` and `-inf`. Tuples, named tuples and sets become lists, keys become texts as `json.dumps` does it. Everything
//! else is refused by name, so that nothing is lost without a word.

use monty_types::MontyObject;
use num_bigint::BigInt;
use serde_json::{Map, Value};

/// How deep values may be nested. The parser of either side stops at 128, messages around them included.
const DEEPEST: usize = 100;

/// The longest integer that is written out, in bits: about 4300 digits, where Python stops as well. Writing takes time
/// that grows with the square of the length.
const LONGEST_INT: u64 = 14_280;

const INT: &str = "$int";
const FLOAT: &str = "$float";

/// Why a value cannot be said as JSON.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum Unsayable {
    /// It is something else than data.
    #[error("{0} cannot leave the program: pass text, numbers, lists or dicts")]
    Type(String),
    /// It contains itself.
    #[error("a value that contains itself cannot leave the program")]
    Cycle,
    /// It is nested too deep.
    #[error("a value that is nested deeper than {DEEPEST} cannot leave the program")]
    Deep,
    /// An integer with too many digits.
    #[error("an integer of more than 4300 digits cannot leave the program")]
    Long,
}

/// A Python value as JSON.
pub fn to_json(object: &MontyObject) -> Result<Value, Unsayable> {
    say(object, 0)
}

fn say(object: &MontyObject, depth: usize) -> Result<Value, Unsayable> {
    if depth > DEEPEST {
        return Err(Unsayable::Deep);
    }
    match object {
        MontyObject::None => Ok(Value::Null),
        MontyObject::Bool(it) => Ok(Value::Bool(*it)),
        MontyObject::Int(it) => Ok(Value::from(*it)),
        MontyObject::BigInt(it) => integer(it),
        MontyObject::Float(it) => Ok(float(*it)),
        MontyObject::String(it) => Ok(Value::String(it.clone())),
        MontyObject::List(items)
        | MontyObject::Tuple(items)
        | MontyObject::Set(items)
        | MontyObject::FrozenSet(items)
        | MontyObject::NamedTuple { values: items, .. } => list(items, depth),
        MontyObject::Dict(pairs) => dict(pairs, depth),
        MontyObject::Cycle(..) => Err(Unsayable::Cycle),
        other => Err(Unsayable::Type(described(other))),
    }
}

fn integer(number: &BigInt) -> Result<Value, Unsayable> {
    match u64::try_from(number) {
        Ok(small) => Ok(Value::from(small)),
        Err(_) if number.bits() > LONGEST_INT => Err(Unsayable::Long),
        Err(_) => Ok(tagged(INT, number.to_string())),
    }
}

fn float(number: f64) -> Value {
    match serde_json::Number::from_f64(number) {
        Some(number) => Value::Number(number),
        None if number.is_nan() => tagged(FLOAT, "nan".into()),
        None if number > 0.0 => tagged(FLOAT, "inf".into()),
        None => tagged(FLOAT, "-inf".into()),
    }
}

fn tagged(tag: &str, text: String) -> Value {
    Value::Object(Map::from_iter([(tag.to_string(), Value::String(text))]))
}

fn list(items: &[MontyObject], depth: usize) -> Result<Value, Unsayable> {
    items.iter().map(|item| say(item, depth + 1)).collect::<Result<_, _>>().map(Value::Array)
}

fn dict(pairs: &monty_types::DictPairs, depth: usize) -> Result<Value, Unsayable> {
    let entry = |(name, value): &(MontyObject, MontyObject)| Ok((key(name)?, say(value, depth + 1)?));
    pairs.into_iter().map(entry).collect::<Result<Map<_, _>, _>>().map(Value::Object)
}

/// A key as `json.dumps` writes it.
fn key(object: &MontyObject) -> Result<String, Unsayable> {
    match object {
        MontyObject::String(it) => Ok(it.clone()),
        MontyObject::None => Ok("null".into()),
        MontyObject::Bool(it) => Ok(it.to_string()),
        MontyObject::Int(_) | MontyObject::Float(_) => Ok(object.py_repr()),
        MontyObject::BigInt(it) if it.bits() <= LONGEST_INT => Ok(it.to_string()),
        other => Err(Unsayable::Type(format!("{} as a key", described(other)))),
    }
}

fn described(object: &MontyObject) -> String {
    match object {
        MontyObject::Bytes(_) => "bytes".into(),
        MontyObject::Tuple(_) => "a tuple".into(),
        MontyObject::Function { .. } | MontyObject::BuiltinFunction(_) => "a function".into(),
        MontyObject::ClassInstance(it) => format!("an object of class {}", it.class_type.name),
        MontyObject::Type(_) => "a class".into(),
        MontyObject::Exception { .. } => "an exception".into(),
        MontyObject::Date(_)
        | MontyObject::DateTime(_)
        | MontyObject::Time(_)
        | MontyObject::TimeDelta(_)
        | MontyObject::TimeZone(_) => "a date or time".into(),
        _ => "this object".into(),
    }
}

/// A value as Python shows it.
pub fn shown(object: &MontyObject) -> String {
    match object {
        MontyObject::Repr(text) => text.clone(),
        other => other.to_string(),
    }
}

/// JSON as a Python value.
pub fn from_json(value: Value) -> MontyObject {
    match value {
        Value::Null => MontyObject::None,
        Value::Bool(it) => MontyObject::Bool(it),
        Value::Number(it) => number(&it),
        Value::String(it) => MontyObject::String(it),
        Value::Array(items) => MontyObject::List(items.into_iter().map(from_json).collect()),
        Value::Object(map) => match special(&map) {
            Some(object) => object,
            None => MontyObject::dict(
                map.into_iter()
                    .map(|(key, it)| (MontyObject::String(key), from_json(it)))
                    .collect::<Vec<_>>(),
            ),
        },
    }
}

fn number(number: &serde_json::Number) -> MontyObject {
    if let Some(it) = number.as_i64() {
        MontyObject::Int(it)
    } else if let Some(it) = number.as_u64() {
        MontyObject::BigInt(it.into())
    } else {
        MontyObject::Float(number.as_f64().unwrap_or(f64::NAN))
    }
}

/// What an object of one key stands for, if it does.
fn special(map: &Map<String, Value>) -> Option<MontyObject> {
    let (tag, Value::String(text)) = map.iter().next().filter(|_| map.len() == 1)? else { return None };
    match tag.as_str() {
        INT if text.len() <= 4400 => text.parse().ok().map(MontyObject::BigInt),
        FLOAT => text.parse().ok().map(MontyObject::Float),
        _ => None,
    }
}

/// Whether a value is nested deeper than can be sent.
pub fn is_too_deep(value: &Value) -> bool {
    fn deeper(value: &Value, left: usize) -> bool {
        match (value, left.checked_sub(1)) {
            (Value::Array(items), Some(left)) => items.iter().any(|item| deeper(item, left)),
            (Value::Object(map), Some(left)) => map.values().any(|item| deeper(item, left)),
            (Value::Array(_) | Value::Object(_), None) => true,
            _ => false,
        }
    }
    deeper(value, DEEPEST)
}

/// The value for readers that are no programs: integers beyond 64 bits and floats that are no numbers as plain texts.
pub fn readable(value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(readable).collect()),
        Value::Object(map) => match special(&map) {
            Some(_) => map.into_iter().next().map_or(Value::Null, |(_, text)| text),
            None => Value::Object(map.into_iter().map(|(key, it)| (key, readable(it))).collect()),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn there_and_back(value: Value) -> Value {
        to_json(&from_json(value)).unwrap()
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("JSON has no others", |it| it.is_finite()).prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((".*", inner), 0..6)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_json_is_the_same_after_both_ways(value in values()) {
            prop_assert_eq!(there_and_back(value.clone()), value);
        }
    }

    #[test]
    fn what_json_cannot_say_is_said_by_a_tag() {
        for value in [
            json!({"$int": "1267650600228229401496703205376"}),
            json!({"$int": "-9223372036854775809"}),
            json!({"$float": "nan"}),
            json!({"$float": "inf"}),
            json!([{"$float": "-inf"}]),
        ] {
            assert_eq!(there_and_back(value.clone()), value);
        }
        assert_eq!(readable(json!({"a": [{"$int": "12"}, {"$float": "nan"}]})), json!({"a": ["12", "nan"]}));
    }

    #[test]
    fn what_only_looks_like_a_tag_is_left_alone() {
        for value in
            [json!({"$int": 3}), json!({"$int": "x"}), json!({"$int": "1", "b": 2}), json!({"$x": "1"})]
        {
            assert_eq!(there_and_back(value.clone()), value);
        }
    }

    #[test]
    fn an_integer_without_end_is_refused_and_not_written_out() {
        assert_eq!(to_json(&MontyObject::BigInt(BigInt::from(1) << 1_000_000_000u64)), Err(Unsayable::Long));
    }

    #[test]
    fn depth_has_an_end_on_both_sides() {
        let nested = |depth| (0..depth).fold(MontyObject::None, |inner, _| MontyObject::List(vec![inner]));
        let deepest = to_json(&nested(DEEPEST)).unwrap();
        assert!(!is_too_deep(&deepest));
        assert_eq!(to_json(&nested(DEEPEST + 1)), Err(Unsayable::Deep));
        assert!(is_too_deep(&json!([deepest])));
    }
}
