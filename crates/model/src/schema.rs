//! The shape that an answer must have, as a workflow declares it.
//!
//! Data and its JSON Schema form; checking an answer against it is `agent`'s work, checking the declaration is
//! `plan`'s.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The fields of an answer, in the order of the file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutputSchema {
    /// Name and shape of each field.
    pub fields: IndexMap<String, OutputField>,
}

/// The five types of the language, and any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// Text.
    String,
    /// A number; a boolean is none.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// A map.
    Object,
    /// Anything: a schema from elsewhere may leave it open.
    Any,
}

impl FieldType {
    /// The word used in files.
    pub fn word(self) -> &'static str {
        match self {
            FieldType::String => "string",
            FieldType::Number => "number",
            FieldType::Boolean => "boolean",
            FieldType::Array => "array",
            FieldType::Object => "object",
            FieldType::Any => "any",
        }
    }

    /// Whether a value is of this type.
    pub fn fits(self, value: &Value) -> bool {
        match self {
            FieldType::String => value.is_string(),
            FieldType::Number => value.is_number(),
            FieldType::Boolean => value.is_boolean(),
            FieldType::Array => value.is_array(),
            FieldType::Object => value.is_object(),
            FieldType::Any => true,
        }
    }
}

/// One field of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputField {
    /// Its type.
    #[serde(rename = "type")]
    pub ty: FieldType,
    /// Told to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The shape of an array's items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<OutputField>>,
    /// The fields of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<IndexMap<String, OutputField>>,
    /// The allowed values.
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Value>>,
    /// A regular expression that must be found in the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The smallest number allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// The largest number allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    /// The fewest characters allowed.
    #[serde(default, rename = "minLength", skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// The most characters allowed.
    #[serde(default, rename = "maxLength", skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// Whether it must be there (only inside objects can it be left out).
    #[serde(default = "yes")]
    pub required: bool,
    /// Whether null is allowed.
    #[serde(default)]
    pub nullable: bool,
    /// Whether a number must be whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub integer: bool,
    /// Whether it names something that stands elsewhere, such as another task or a tool: such a name cannot be made up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refers: bool,
}

fn yes() -> bool {
    true
}

impl OutputField {
    /// A required field of a type, without further rules.
    pub fn of(ty: FieldType) -> OutputField {
        OutputField {
            ty,
            description: None,
            items: None,
            properties: None,
            choices: None,
            pattern: None,
            minimum: None,
            maximum: None,
            min_length: None,
            max_length: None,
            required: true,
            nullable: false,
            integer: false,
            refers: false,
        }
    }

    /// The same shape as JSON Schema.
    pub fn json_schema(&self) -> Value {
        let mut schema = Map::new();
        let word = if self.integer { "integer" } else { self.ty.word() };
        if self.ty != FieldType::Any {
            schema.insert("type".into(), if self.nullable { json!([word, "null"]) } else { json!(word) });
        }
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                schema.insert(key.into(), value);
            }
        };
        put("description", self.description.clone().map(Value::from));
        put("items", self.items.as_ref().map(|items| items.json_schema()));
        put("enum", self.choices.clone().map(|choices| self.with_null(choices)));
        put("pattern", self.pattern.clone().map(Value::from));
        put("minimum", self.minimum.map(Value::from));
        put("maximum", self.maximum.map(Value::from));
        put("minLength", self.min_length.map(Value::from));
        put("maxLength", self.max_length.map(Value::from));
        if let Some(properties) = &self.properties {
            schema.extend(object_schema(properties));
        }
        Value::Object(schema)
    }

    fn with_null(&self, mut choices: Vec<Value>) -> Value {
        if self.nullable {
            choices.push(Value::Null);
        }
        Value::Array(choices)
    }
}

impl OutputSchema {
    /// Whether there is nothing to check.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The same shape as JSON Schema. Keys that are not declared are allowed.
    pub fn json_schema(&self) -> Value {
        let mut schema = Map::new();
        schema.insert("type".into(), json!("object"));
        schema.extend(object_schema(&self.fields));
        Value::Object(schema)
    }
}

fn object_schema(fields: &IndexMap<String, OutputField>) -> Map<String, Value> {
    let properties: Map<_, _> =
        fields.iter().map(|(name, field)| (name.clone(), field.json_schema())).collect();
    let required: Vec<_> =
        fields.iter().filter(|(_, field)| field.required).map(|(name, _)| json!(name)).collect();
    let mut schema = Map::new();
    schema.insert("properties".into(), Value::Object(properties));
    schema.insert("required".into(), Value::Array(required));
    schema
}
