//! JSON Schema in the words that Gemini knows: types in capitals, `nullable`, and no list of types.

use serde_json::{Map, Value, json};

/// Keys that mean the same to both.
const SAME: &[&str] =
    &["description", "required", "pattern", "minimum", "maximum", "minLength", "maxLength", "format"];

/// The same shape, as far as the service can be told; the rest is checked when the answer is there.
pub fn of(schema: &Value) -> Value {
    let mut out = Map::new();
    let types = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(one)) => vec![one.as_str()],
        _ => Vec::new(),
    };
    if let Some(word) = types.iter().find(|word| **word != "null") {
        out.insert("type".into(), json!(word.to_uppercase()));
    }
    if types.contains(&"null") {
        out.insert("nullable".into(), json!(true));
    }
    let same = SAME.iter().filter_map(|key| Some((key.to_string(), schema.get(key)?.clone())));
    out.extend(same);
    if let Some(items) = schema.get("items") {
        out.insert("items".into(), of(items));
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let inner: Map<_, _> = properties.iter().map(|(name, inner)| (name.clone(), of(inner))).collect();
        // Without it the service answers in the order of the alphabet, and models think in the order they write.
        out.insert("propertyOrdering".into(), properties.keys().cloned().collect());
        out.insert("properties".into(), Value::Object(inner));
    }
    // Only texts can be chosen from.
    let choices = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<_> = choices.iter().filter(|choice| !choice.is_null()).collect();
    if !texts.is_empty() && texts.iter().all(|choice| choice.is_string()) {
        out.insert("enum".into(), json!(texts));
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_stays_and_the_words_change() {
        let schema = json!({
            "type": "object",
            "properties": {
                "n": {"type": ["number", "null"], "minimum": 1.0},
                "kind": {"type": "string", "enum": ["a", "b"]},
                "list": {"type": "array", "items": {"type": "boolean"}},
                "one_of": {"type": "number", "enum": [1, 2]}
            },
            "required": ["n"]
        });
        let wanted = json!({
            "type": "OBJECT",
            "required": ["n"],
            "propertyOrdering": ["n", "kind", "list", "one_of"],
            "properties": {
                "n": {"type": "NUMBER", "nullable": true, "minimum": 1.0},
                "kind": {"type": "STRING", "enum": ["a", "b"]},
                "list": {"type": "ARRAY", "items": {"type": "BOOLEAN"}},
                "one_of": {"type": "NUMBER"}
            }
        });
        assert_eq!(of(&schema), wanted);
    }
}
