//! The JSON Schema of workflow files, made from the tables of keys.
//!
//! It serves editors: keys, types, allowed words and one line about each. What depends on several values at once is
//! judged by the readers only.

use serde_json::{Map, Value, json};

use super::keys::header::FILE;
use super::keys::manifest::MANIFEST;
use super::keys::personas::PERSONAS;
use super::keys::step::{STEP_KEYS, StepType};
use super::shape::{Extended, Key, ObjectType, Shape};

/// The JSON Schema (draft 2020-12) of a workflow file.
pub fn schema() -> Value {
    let mut definitions = Definitions::default();
    let root = definitions.object(&FILE);
    definitions.steps();
    document("Convoke workflow", root, definitions)
}

/// The JSON Schema (draft 2020-12) of an execution manifest.
pub fn manifest_schema() -> Value {
    let mut definitions = Definitions::default();
    let root = definitions.object(&MANIFEST);
    document("Convoke execution manifest", root, definitions)
}

/// The JSON Schema (draft 2020-12) of a persona manifest.
pub fn persona_schema() -> Value {
    let mut definitions = Definitions::default();
    let root = definitions.object(&PERSONAS);
    document("Convoke persona manifest", root, definitions)
}

fn document(title: &str, mut root: Value, definitions: Definitions) -> Value {
    let root = root.as_object_mut().map(std::mem::take).unwrap_or_default();
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".into(), json!(title));
    schema.extend(root);
    schema.insert("$defs".into(), Value::Object(definitions.0));
    Value::Object(schema)
}

/// Definitions by name; one that is being made stands there already, so that types may contain themselves.
#[derive(Default)]
struct Definitions(Map<String, Value>);

impl Definitions {
    fn object(&mut self, object: &'static ObjectType) -> Value {
        let required: Vec<&str> = object.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
        self.mapping(object.keys.iter(), &required)
    }

    fn mapping(&mut self, keys: impl Iterator<Item = &'static Key>, required: &[&str]) -> Value {
        let properties: Map<String, Value> =
            keys.map(|key| (key.name.to_owned(), self.property(key))).collect();
        let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    fn property(&mut self, key: &'static Key) -> Value {
        let mut schema = self.shape(&key.shape);
        schema["description"] = json!(key.doc);
        schema
    }

    fn shape(&mut self, shape: &'static Shape) -> Value {
        match shape {
            Shape::Text | Shape::Template | Shape::Secret => json!({ "type": "string" }),
            Shape::Boolean => json!({ "type": "boolean" }),
            Shape::Integer(min, max) => integer(*min, *max),
            Shape::Number(min, max) => number(*min, *max),
            Shape::Seconds(min) => json!({ "type": "number", "minimum": min }),
            Shape::Duration => json!({ "type": ["number", "string"] }),
            Shape::Choice(words) => json!({ "enum": words }),
            Shape::ChoiceOrTemplate(words) => {
                json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": "\\{[{%]" }] })
            }
            Shape::List(element) => json!({ "type": "array", "items": self.shape(element) }),
            Shape::Map(value) => json!({ "type": "object", "additionalProperties": self.shape(value) }),
            Shape::Object(object) => self.reference(object),
            Shape::Extended(extended) => self.extended(extended),
            Shape::Step => json!({ "$ref": "#/$defs/step" }),
            Shape::OneOf(shapes) => {
                let shapes: Vec<Value> = shapes.iter().map(|shape| self.shape(shape)).collect();
                json!({ "anyOf": shapes })
            }
            Shape::Any => json!({}),
        }
    }

    fn reference(&mut self, object: &'static ObjectType) -> Value {
        self.defined(object.name, |definitions| definitions.object(object))
    }

    fn extended(&mut self, extended: &'static Extended) -> Value {
        self.defined(extended.own.name, |definitions| {
            let required: Vec<&str> =
                extended.own.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
            definitions.mapping(extended.keys(), &required)
        })
    }

    fn defined(&mut self, name: &str, define: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), Value::Null);
            let definition = define(self);
            self.0.insert(name.to_owned(), definition);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// A step has the keys of its type; without `type` it is an agent.
    fn steps(&mut self) {
        let mut branches = Vec::new();
        for kind in StepType::ALL {
            let name = format!("step_{}", kind.word());
            let definition = self.step(kind);
            branches.push(json!({ "if": is_of(kind), "then": { "$ref": format!("#/$defs/{name}") } }));
            self.0.insert(name, definition);
        }
        let kinds = json!({ "type": { "enum": StepType::WORDS } });
        self.0.insert("step".to_owned(), json!({ "type": "object", "properties": kinds, "allOf": branches }));
    }

    fn step(&mut self, kind: StepType) -> Value {
        let keys = STEP_KEYS
            .iter()
            .filter(|row| row.is_used_by(kind) || row.is_ignored_by(kind))
            .map(|row| &row.key);
        let required: Vec<&str> =
            STEP_KEYS.iter().filter(|row| row.is_required_by(kind)).map(|row| row.key.name).collect();
        self.mapping(keys, &required)
    }
}

fn is_of(kind: StepType) -> Value {
    let stated = json!({ "properties": { "type": { "const": kind.word() } }, "required": ["type"] });
    match kind {
        StepType::Agent => json!({ "anyOf": [{ "not": { "required": ["type"] } }, stated] }),
        _ => stated,
    }
}

fn integer(min: u64, max: u64) -> Value {
    match max {
        u64::MAX => json!({ "type": "integer", "minimum": min }),
        _ => json!({ "type": "integer", "minimum": min, "maximum": max }),
    }
}

fn number(min: f64, max: f64) -> Value {
    let mut schema = json!({ "type": "number" });
    match min {
        f64::MIN => {}
        f64::MIN_POSITIVE => schema["exclusiveMinimum"] = json!(0),
        _ => schema["minimum"] = json!(min),
    }
    if max != f64::MAX {
        schema["maximum"] = json!(max);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::super::section::Section;
    use super::super::settings::Runtime;
    use super::*;

    fn properties(schema: &Value, pointer: &str) -> Vec<String> {
        let found =
            schema.pointer(pointer).and_then(Value::as_object).unwrap_or_else(|| panic!("no {pointer}"));
        found.keys().cloned().collect()
    }

    #[test]
    fn every_key_of_the_readers_is_in_the_schema() {
        let schema = schema();
        let file: Vec<String> = FILE.keys.iter().map(|key| key.name.to_owned()).collect();
        assert_eq!(properties(&schema, "/properties"), file);
        for kind in StepType::ALL {
            let known = properties(&schema, &format!("/$defs/step_{}/properties", kind.word()));
            for row in STEP_KEYS.iter().filter(|row| row.is_used_by(kind)) {
                assert!(known.contains(&row.key.name.to_owned()), "{} of {}", row.key.name, kind.word());
            }
        }
        for key in Runtime::TABLE.keys {
            assert!(
                schema.pointer(&format!("/$defs/runtime/properties/{}", key.name)).is_some(),
                "{}",
                key.name
            );
        }
    }

    #[test]
    fn every_reference_leads_to_a_definition() {
        let schema = schema();
        let text = schema.to_string();
        for part in text.split("\"#/$defs/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schema["$defs"][name].is_object(), "{name}");
        }
    }

    #[test]
    fn every_property_says_what_it_is_for() {
        let schema = schema();
        for (name, definition) in
            schema["$defs"].as_object().unwrap().iter().filter(|(name, _)| *name != "step")
        {
            for (key, property) in definition["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{key} of {name}");
            }
        }
    }
}
