//! A JSON text as a value, where YAML would read the same: lists and maps that templates print with `| json` are long, and the
//! YAML reader takes five times as long for them.
//!
//! It gives up, and leaves the text to the YAML reader, wherever the two may differ: a key twice, numbers without an exact form,
//! more nodes than a text may unfold to.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::yaml::{DEPTH, NODES};

/// Whole numbers up to this have one exact form, written with or without an exponent.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The value of a list or map in JSON; `None` if it is neither, or YAML has to look at it.
pub(super) fn read(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    let nodes = Cell::new(0);
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Node { nodes: &nodes, depth: 0 }.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value)
}

#[derive(Clone, Copy)]
struct Node<'a> {
    nodes: &'a Cell<usize>,
    depth: usize,
}

impl Node<'_> {
    fn inner<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth + 1;
        if depth > DEPTH { Err(E::custom("too deep")) } else { Ok(Node { depth, ..self }) }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        self.nodes.set(self.nodes.get() + 1);
        if self.nodes.get() > NODES {
            return Err(D::Error::custom("too many"));
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let plain = value.abs() < EXACT && !(value == 0.0 && value.is_sign_negative());
        if plain { Ok(value.into()) } else { Err(E::custom("a number that YAML may read otherwise")) }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut entries = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            self.nodes.set(self.nodes.get() + 1);
            if entries.insert(key, map.next_value_seed(inner)?).is_some() {
                return Err(A::Error::custom("a key twice"));
            }
        }
        Ok(Value::Object(entries))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::value::yaml;

    fn values() -> impl Strategy<Value = Value> {
        let number = prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from)
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            number,
            "\\PC*".prop_map(Value::from),
            "[a-z:#\\[\\]{}, \"']{0,9}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            let map = prop::collection::btree_map("\\PC{0,6}", inner.clone(), 0..5);
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(Value::from),
                map.prop_map(|map| json!(map))
            ]
        })
    }

    proptest! {
        /// The short way changes the time, not the value.
        #[test]
        fn json_gives_what_yaml_gives(value in values(), wide in any::<bool>()) {
            let list = Value::Array(vec![value]);
            let text = if wide { serde_json::to_string_pretty(&list).unwrap() } else { list.to_string() };
            if let (Some(short), Ok(long)) = (read(&text), yaml::read_yaml(&text)) {
                prop_assert_eq!(short, long, "{}", text);
            }
        }

        #[test]
        fn what_is_nearly_json_gives_what_yaml_gives(text in "[\\[{][-0-9eE.+:,\" a\\[\\]{}]{0,12}[\\]}]") {
            if let Some(short) = read(&text) {
                prop_assert_eq!(Ok(short), yaml::read_yaml(&text), "{}", text);
            }
        }
    }

    #[test]
    fn yaml_looks_at_what_is_not_plain() {
        for text in [
            r#"{"a": 1, "a": 2}"#,
            "[1e300]",
            "[-0]",
            "[-0.0]",
            "[1] # one",
            "[a]",
            "text",
            "7",
            "[18446744073709551616]",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(
            read("[1, {\"a\": [null, true, 2.5, \"x\"]}]"),
            Some(json!([1, {"a": [null, true, 2.5, "x"]}]))
        );
        let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(read(&deep(DEPTH)).is_some() && read(&deep(DEPTH + 2)).is_none());
    }
}
