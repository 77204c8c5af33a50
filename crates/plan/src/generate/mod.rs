//! Manifests and workflows that are made from values instead of files: presets, and goals of the command line.
//!
//! A preset starts from its inputs, and the files that these name, and makes a [`Document`], which is read like a manifest
//! that a person wrote. Front-ends that start from a file (teams, planners' output, skills) are `source::front_end`. Invariant:
//! the text of what a generator makes, saved to a file, runs unchanged.

pub mod files;
pub mod goal;
pub mod preset;
mod presets;
pub mod yaml;

pub use preset::{Made, Preset, PresetInput, preset, presets};

use crate::source::escape;
use serde_json::{Map, Value};

/// An execution manifest as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Document(pub Map<String, Value>);

impl Document {
    /// The manifest as a file. Texts stand for themselves: what looks like a reference to the environment is none.
    pub fn yaml(&self) -> String {
        yaml::print(&escape::references(&Value::Object(self.0.clone())))
    }
}

/// A manifest as data, with values as defaults of its inputs: with these it runs by itself.
pub fn with_inputs(mut manifest: Value, given: &Map<String, Value>) -> Value {
    for (name, value) in given {
        let value = escape::references(value);
        let declared = manifest.get_mut("inputs").and_then(|inputs| inputs.get_mut(name));
        match declared.and_then(Value::as_object_mut) {
            Some(input) => drop(input.insert("default".to_owned(), value)),
            None => manifest[name.as_str()] = value,
        }
    }
    manifest
}

impl From<Value> for Document {
    /// Takes a mapping; anything else makes an empty one.
    fn from(value: Value) -> Self {
        match value {
            Value::Object(fields) => Self(fields),
            _ => Self(Map::new()),
        }
    }
}
