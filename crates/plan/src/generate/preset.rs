//! Presets: manifests for work that comes up again and again, made from a few inputs.

use std::collections::HashSet;

use convoke_model::FieldType;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::files::{self, Names, Texts};
use super::{Document, presets as made};
use crate::diagnostic::Diagnostic;
use crate::plan::{Input, InputRule};
use crate::source::Sources;
use crate::source::escape;

/// A named way to make a manifest.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name, as in `preset:NAME`.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What it takes.
    pub inputs: &'static [PresetInput],
    /// Makes the manifest of values that fit the inputs; or says what is wrong with them.
    pub(super) make: fn(&Given<'_>) -> Result<Value, String>,
}

/// One input of a preset.
#[derive(Debug, Clone, Copy)]
pub struct PresetInput {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: FieldType,
    /// Its value when it is not given, as JSON; without one it must be given.
    pub default: Option<&'static str>,
    /// What it is for.
    pub about: &'static str,
    /// Whether it names files.
    pub names: Names,
}

/// A manifest that a preset made.
#[derive(Debug)]
pub struct Made {
    /// The manifest.
    pub document: Document,
    /// What was given and reaches models as a bare name, unless they can read by themselves.
    pub warnings: Vec<Diagnostic>,
}

/// The input of a made manifest that holds the texts of files by path.
const TEXTS: &str = "texts";

/// As many tasks as a run can have.
const MOST_ITEMS: usize = 100_000;

/// What every preset takes besides its own inputs.
const COMMON: &[PresetInput] = &[
    PresetInput::optional("context", FieldType::String, "\"\"", "what every agent is told besides its task"),
    PresetInput::optional(
        "model",
        FieldType::String,
        "\"\"",
        "model of all agents (default: the configured one)",
    ),
    PresetInput::optional("max_concurrency", FieldType::Number, "60", "agents at one time, 1 to 100000"),
    PresetInput::optional("verify", FieldType::Boolean, "false", "examine the answer before it is given"),
];

impl PresetInput {
    /// An input that must be given.
    pub(super) const fn required(name: &'static str, ty: FieldType, about: &'static str) -> Self {
        Self { name, ty, default: None, about, names: Names::Nothing }
    }

    /// An input that may be left out.
    pub(super) const fn optional(
        name: &'static str,
        ty: FieldType,
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, ty, default: Some(default), about, names: Names::Nothing }
    }

    /// The same, for texts that may name files.
    pub(super) const fn naming(self, names: Names) -> Self {
        Self { names, ..self }
    }
}

/// Every preset that there is without a file.
pub fn presets() -> &'static [Preset] {
    made::ALL
}

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    made::ALL.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// What it takes, as a workflow would declare it.
    pub fn declared(&self) -> IndexMap<String, Input> {
        let input = |input: &PresetInput| Input {
            ty: input.ty,
            required: input.default.is_none(),
            default: input.default.map(|text| serde_json::from_str(text).expect("defaults are JSON")),
            description: Some(input.about.to_owned()),
            rule: InputRule::None,
            files: false,
        };
        self.inputs.iter().chain(COMMON).map(|each| (each.name.to_owned(), input(each))).collect()
    }

    /// The manifest for these values, which fit what it declares; or what is wrong with them.
    pub fn manifest(&self, values: &Map<String, Value>, sources: &dyn Sources) -> Result<Made, String> {
        let mut warnings = Vec::new();
        let mut read = Texts::default();
        let values = &self.expanded(values, sources, &mut warnings)?;
        for input in self.inputs.iter().chain(COMMON).filter(|input| input.name != "model") {
            let texts = Texts::of(input, values, sources)?;
            warnings.extend(texts.warnings(input.name));
            // One input of a preset names files.
            read = if texts.is_empty() { read } else { texts };
        }
        let given = Given { values, has_texts: !read.is_empty() };
        let made = (self.make)(&given)?;
        let mut fields = Map::new();
        fields.insert("name".to_owned(), json!(self.name));
        fields.insert("source".to_owned(), json!(format!("preset:{}", self.name)));
        if given.has_texts {
            let texts =
                json!({"type": "object", "description": "texts of files", "default": read.into_value()});
            fields.insert("inputs".to_owned(), json!({ TEXTS: texts }));
        }
        fields.extend(Document::from(made).0);
        given.add_common(&mut fields)?;
        if given.has_texts {
            stand_for_themselves(&mut fields);
        }
        Ok(Made { document: Document(fields), warnings })
    }
}

impl Preset {
    /// The values, with files in the place of folders and patterns that stand for them.
    fn expanded(
        &self,
        values: &Map<String, Value>,
        sources: &dyn Sources,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Map<String, Value>, String> {
        let mut values = values.clone();
        for input in self.inputs.iter().filter(|input| input.names != Names::Nothing) {
            if let Some(Value::Array(given)) = values.get(input.name) {
                let (names, skipped) = files::expanded(input.name, input.names, given, sources)?;
                values.insert(input.name.to_owned(), Value::Array(names));
                warnings.extend(skipped);
            }
        }
        Ok(values)
    }
}

/// In a manifest with `inputs` the query and the context are templates, and what was given is none.
fn stand_for_themselves(fields: &mut Map<String, Value>) {
    for name in ["query", "context"] {
        if let Some(Value::String(text)) = fields.get_mut(name) {
            *text = escape::template(text);
        }
    }
}

/// The values that a preset was given.
pub(super) struct Given<'a> {
    values: &'a Map<String, Value>,
    has_texts: bool,
}

impl Given<'_> {
    /// The part of a task that shows the file which its partition names; nothing where no file was read.
    pub fn file_of_partition(&self) -> String {
        let texts = format!("workflow.input.{TEXTS}");
        let block = format!("\n\n<file>\n{{{{ {texts}[partition] }}}}\n</file>");
        if self.has_texts {
            format!("{{% if partition in {texts} %}}{block}{{% endif %}}")
        } else {
            String::new()
        }
    }

    /// A text that says something.
    pub fn text(&self, name: &str) -> Result<String, String> {
        let text = self.words(name);
        if text.trim().is_empty() { Err(format!("`{name}` is empty")) } else { Ok(text) }
    }

    /// A text, which may be empty.
    pub fn words(&self, name: &str) -> String {
        self.values.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Whether a list was given, and is not empty.
    pub fn is_given(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_array).is_some_and(|items| !items.is_empty())
    }

    /// Whether a number is another one than its default.
    pub fn differs(&self, name: &str, default: f64) -> bool {
        self.values.get(name).and_then(Value::as_f64).is_some_and(|number| number != default)
    }

    /// A list with something in it, each a text.
    pub fn list(&self, name: &str) -> Result<Vec<String>, String> {
        let items = self.values.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let text = |item: &Value| match item {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if items.len() > MOST_ITEMS {
            return Err(format!("`{name}` holds {} items, at most {MOST_ITEMS} are possible", items.len()));
        }
        let items: Vec<String> = items.iter().map(text).collect();
        let mut seen = HashSet::new();
        match items.iter().find(|item| item.trim().is_empty() || !seen.insert(item.as_str())) {
            _ if items.is_empty() => Err(format!("`{name}` is empty")),
            Some(item) if item.trim().is_empty() => Err(format!("`{name}` holds an empty text")),
            Some(item) => Err(format!("`{item}` stands twice in `{name}`")),
            None => Ok(items),
        }
    }

    /// A whole number within bounds.
    pub fn count(&self, name: &str, least: u64, most: u64) -> Result<u64, String> {
        let number = self.values.get(name).and_then(Value::as_f64).unwrap_or_default();
        let fits = number.fract() == 0.0 && number >= least as f64 && number <= most as f64;
        if fits {
            Ok(number as u64)
        } else {
            Err(format!("`{name}` must be a whole number between {least} and {most}, found {number}"))
        }
    }

    fn add_common(&self, fields: &mut Map<String, Value>) -> Result<(), String> {
        for name in ["context", "model"] {
            let words = self.words(name);
            if !words.is_empty() {
                fields.insert(name.to_owned(), json!(words));
            }
        }
        let at_once = self.count("max_concurrency", 1, 100_000)?;
        if at_once != 60 {
            fields.insert("max_concurrency".to_owned(), json!(at_once));
        }
        if self.values.get("verify") == Some(&json!(true)) {
            fields.insert("verify".to_owned(), json!(true));
        }
        Ok(())
    }
}
