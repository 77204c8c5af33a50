//! Texts that are `{{ path | json }}` and nothing else: read back as an output, they are the value itself.
//!
//! A workflow's output may hold a report of thousands of sources; to write it as text only to read it again takes longer
//! than all the rest of the workflow's end.
//!
//! Invariant: a value given here is what `value::read_output` reads from the rendered text. Where that is in doubt (a
//! number alone, keys that are no texts, what JSON cannot hold or readers refuse) nothing is given, and the text decides.

use minijinja::value::{Value, ValueKind};
use serde_json::{Map, Value as Json};

use super::super::expression::alone;
use super::super::json::{Layout, dump};
use super::super::limits::OUTPUT_BYTES;

/// How deep a value may nest here; readers of JSON refuse what is a little deeper.
const LEVELS: usize = 100;
/// Bytes that a character takes in JSON at most, and that an item takes beside its own.
const CHARACTER_BYTES: usize = 6;
const ITEM_BYTES: usize = 8 + 2 * LEVELS;

/// The expression whose JSON a text is.
pub(in crate::template) fn quoted(text: &str) -> Option<&str> {
    let inner = &text[alone(text)?];
    let value = inner.strip_suffix("json")?.trim_end().strip_suffix('|')?.trim_end();
    // A filter binds closer than operators do, so only a path and a filter of it may stand before.
    let path = value.strip_suffix("| default([])").map_or(value, str::trim_end);
    let in_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    (!path.is_empty() && path.chars().all(in_path)).then_some(value)
}

/// What is read from a value's JSON, if that is known without writing it.
pub(in crate::template) fn read_back(value: &Value) -> Option<Json> {
    let whole = matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::String);
    whole.then(|| Reader { left: OUTPUT_BYTES }.read(value, LEVELS)).flatten()
}

/// Reads values as long as their text would surely fit.
struct Reader {
    left: usize,
}

impl Reader {
    fn read(&mut self, value: &Value, levels: usize) -> Option<Json> {
        self.left = self.left.checked_sub(ITEM_BYTES)?;
        let levels = levels.checked_sub(1)?;
        Some(match value.kind() {
            ValueKind::None => Json::Null,
            ValueKind::Bool => Json::Bool(value.is_true()),
            ValueKind::Number => number(value)?,
            ValueKind::String => Json::String(self.text(value)?),
            ValueKind::Seq => Json::Array(
                value.try_iter().ok()?.map(|item| self.read(&item, levels)).collect::<Option<_>>()?,
            ),
            ValueKind::Map => Json::Object(self.entries(value, levels)?),
            _ => return None,
        })
    }

    fn entries(&mut self, value: &Value, levels: usize) -> Option<Map<String, Json>> {
        let pairs = value.as_object()?.try_iter_pairs()?;
        pairs.map(|(key, item)| Some((self.text(&key)?, self.read(&item, levels)?))).collect()
    }

    fn text(&mut self, value: &Value) -> Option<String> {
        let text = value.as_str()?;
        self.left = self.left.checked_sub(text.len().checked_mul(CHARACTER_BYTES)?)?;
        Some(text.to_owned())
    }
}

/// What is no small integer goes through its text: readers of JSON have their own ways with it.
fn number(value: &Value) -> Option<Json> {
    match value.is_integer().then(|| value.as_i64()).flatten() {
        Some(integer) => Some(Json::from(integer)),
        None => serde_json::from_str(&dump(value, &Layout::default())?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::super::{Renderer, TemplateId, TemplateSource, from_json};
    use super::*;
    use crate::value::read_output;

    fn both(text: &str, context: Value) -> (Option<Json>, Option<Json>) {
        let source = TemplateSource { text: text.into(), base: None };
        let renderer = Renderer::new(&[source], &[], &BTreeMap::new());
        let rendered = renderer.render(TemplateId(0), context.clone()).ok();
        (renderer.read_back(TemplateId(0), || context), rendered.map(|text| read_output(&text)))
    }

    #[test]
    fn only_a_path_is_quoted() {
        let cases = [
            ("{{ a.output.sources | json }}", Some("a.output.sources")),
            (" {{a|json}}\n", Some("a")),
            ("{{ a.b | default([]) | json }}", Some("a.b | default([])")),
            ("{{ a + b | json }}", None),
            ("{{ a if b else c | json }}", None),
            ("{{ a | json(2) }}", None),
            ("{{ a | tojson }}", None),
            ("{{ ajson }}", None),
            ("{{ a | sort | json }}", None),
            ("x {{ a | json }}", None),
            ("{{ | json }}", None),
        ];
        for (text, expected) in cases {
            assert_eq!(quoted(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_missing_or_a_single_number_is_left_to_the_text() {
        for (text, expected) in
            [("{{ x.gone | json }}", None), ("{{ x.n | json }}", None), ("{{ y | json }}", None)]
        {
            assert_eq!(both(text, from_json(&json!({"x": {"n": 5}}))).0, expected, "{text}");
        }
        let (value, read) = both("{{ x.gone | default([]) | json }}", from_json(&json!({"x": {}})));
        assert_eq!((value, read), (Some(json!([])), Some(json!([]))));
    }

    #[test]
    fn what_readers_refuse_is_left_to_the_text() {
        let deep = (0..130).fold(Value::from(1), |inner, _| Value::from(vec![inner]));
        let odd = [
            Value::from(vec![f64::NAN]),
            Value::from_iter([(1, 2)]),
            Value::from(vec![Value::UNDEFINED]),
            deep,
        ];
        for value in odd {
            assert_eq!(both("{{ x | json }}", Value::from_iter([("x", value)])).0, None);
        }
    }

    fn anything() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            any::<f64>().prop_map(Json::from),
            "\\PC{0,8}|[\"\\\\\r\n\t {}]{0,8}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
                prop::collection::vec(("\\PC{0,6}", inner), 0..6)
                    .prop_map(|entries| Json::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_is_what_its_text_is_read_as(value in anything()) {
            let (value, read) = both("{{ x | json }}", from_json(&json!({ "x": value })));
            if let Some(value) = value {
                prop_assert_eq!(Some(value), read);
            }
        }
    }
}
