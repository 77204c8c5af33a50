//! Every key of a policy file: its form, and one line about it. The reader, the schema and the reference are made from this.

use serde_json::{Map, Value, json};

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A text.
    Text,
    /// One of some words.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A mapping of names to texts.
    Pairs,
    /// A number.
    Number,
    /// A duration, such as `90s` or `5m`.
    Duration,
    /// A size, such as `1MiB`.
    Size,
    /// A mapping with these keys.
    Keys(&'static [Key]),
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What its value looks like.
    pub form: Form,
    /// What it is for.
    pub about: &'static str,
}

const fn key(name: &'static str, form: Form, about: &'static str) -> Key {
    Key { name, form, about }
}

/// The keys of a file.
pub const FILE: &[Key] = &[
    key("name", Form::Text, "What the policy is called in reasons and in the journal."),
    key(
        "extends",
        Form::Word(&super::presets::NAMES),
        "The preset that it begins with; lists are added to, single values replaced.",
    ),
    key("binaries", Form::Keys(BINARIES), "Programs that may run."),
    key(
        "paths",
        Form::Keys(PATHS),
        "Files and folders, seen from the root. `src/**` takes what is beneath, `*.lock` a name at any depth.",
    ),
    key("network", Form::Keys(NETWORK), "What may be reached."),
    key("tools", Form::Keys(TOOLS), "Tools that may be called, by name; `*` stands for any text."),
    key("environment", Form::Keys(ENVIRONMENT), "Variables of what runs."),
    key("limits", Form::Keys(LIMITS), "How much of everything."),
    key(
        "cedar",
        Form::Text,
        "A file of Cedar policies beside this one. They judge everything that this policy judges; what they do not permit is denied.",
    ),
    key(
        "on_violation",
        Form::Word(&crate::verdict::OnViolation::WORDS),
        "What becomes of what no rule allows: a person is asked, or it is denied and the agent is told (`validation_fail`), or it is denied and the run ends (`hard_abort`).",
    ),
];

const BINARIES: &[Key] = &[
    key(
        "allow",
        Form::Texts,
        "Programs, or programs with a sub-command: `ls`, `git status`. `*` allows every program that no rule denies.",
    ),
    key("deny", Form::Texts, "What stays denied however it is spelled, whatever allows it."),
    key(
        "trust",
        Form::Texts,
        "Programs without a profile that may run with any arguments, in the sandbox, as code of the project.",
    ),
    key("only", Form::Texts, "Takes the place of the preset's list of programs."),
];

const PATHS: &[Key] = &[
    key("read", Form::Texts, "What may be read; everything beneath the root unless told."),
    key("write", Form::Texts, "What may be written."),
    key("protect", Form::Texts, "What may not be written, beside the names that are always protected."),
    key("secret", Form::Texts, "What may not be read, beside the names that are always secret."),
];

const NETWORK: &[Key] = &[key(
    "hosts",
    Form::Texts,
    "Hosts that may be reached, compared as a whole: `docs.example` is https on port 443, `http://localhost:3000` says otherwise.",
)];

const TOOLS: &[Key] = &[
    key("allow", Form::Texts, "Tools that may be called; every one unless told."),
    key("deny", Form::Texts, "Tools that may not be called, whatever allows them."),
];

const ENVIRONMENT: &[Key] = &[
    key(
        "assign",
        Form::Texts,
        "Variables that a command may set for itself, as in `RUST_LOG=debug cargo test`.",
    ),
    key("pass", Form::Texts, "Variables of the engine's own environment that are passed on."),
    key("set", Form::Pairs, "Variables that are always set."),
];

const LIMITS: &[Key] = &[
    key("bytes", Form::Size, "Bytes of a command text; 64KiB unless told, which is also the most."),
    key("words", Form::Number, "Words of one command; 256 unless told."),
    key("commands", Form::Number, "Commands of one text; 64 unless told."),
    key("timeout", Form::Duration, "How long a command may run; 120s unless told."),
    key("output", Form::Size, "How much output of a command is kept; 1MiB unless told."),
];

/// The JSON Schema (draft 2020-12) of a policy file.
pub fn schema() -> Value {
    let mut root = object(FILE);
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".into(), json!("Convoke policy"));
    schema.extend(root.as_object_mut().map(std::mem::take).unwrap_or_default());
    Value::Object(schema)
}

fn object(keys: &[Key]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| {
            let mut form = of_form(key.form);
            form["description"] = json!(key.about);
            (key.name.to_owned(), form)
        })
        .collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn of_form(form: Form) -> Value {
    match form {
        Form::Text => json!({ "type": "string" }),
        Form::Word(words) => json!({ "enum": words }),
        Form::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Form::Pairs => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Form::Number => json!({ "type": "integer", "minimum": 1 }),
        Form::Duration => json!({ "type": ["string", "integer"], "pattern": "^[0-9]+(ms|s|m|h)$" }),
        Form::Size => json!({ "type": ["string", "integer"], "pattern": "^[0-9]+(B|KiB|MiB|GiB)?$" }),
        Form::Keys(keys) => object(keys),
    }
}
