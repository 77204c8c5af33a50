//! Manifests that are made instead of written: from teams, planners' output, skills and presets.
//!
//! Each generator is a pure function to an execution manifest, which is then read like one that somebody wrote; there
//! is no other way into the engine. Those that start from a file (`team`, `planner`, `skill`) keep the places of that
//! file; presets start from values, and the files that these name, and make a [`Document`]. Invariant: what a generator makes, printed and saved, runs
//! unchanged.

mod escape;
pub mod files;
pub mod goal;
pub mod planner;
pub mod preset;
mod presets;
pub mod skill;
pub mod team;
pub mod yaml;

pub(crate) use escape::template as literal;
pub use preset::{Made, Preset, PresetInput, preset, presets};

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
