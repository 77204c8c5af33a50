//! `type: tool`: one call of an MCP tool, without a model.

use indexmap::IndexMap;

use super::super::text::{Spanned, Text};
use super::{Entry, OutputSchema};

/// `type: tool`.
#[derive(Debug, Clone)]
pub struct ToolStep {
    /// The server that has the tool; `None` means the only one there is.
    pub server: Option<Spanned<String>>,
    /// The tool, as its server names it; `None` when it is missing (which is reported).
    pub tool: Option<Spanned<String>>,
    /// What it is called with.
    pub arguments: Arguments,
    /// Schema of the output; `None` when absent or empty.
    pub output: Option<OutputSchema>,
}

/// Arguments by name, in the order of the file.
pub type Arguments = IndexMap<String, Entry<Argument>>;

/// A value whose texts are templates.
#[derive(Debug, Clone)]
pub enum Argument {
    /// A template; one that is a single expression stands for its value.
    Text(Text),
    /// A number, a boolean or null.
    Value(serde_json::Value),
    /// A list.
    List(Vec<Argument>),
    /// A mapping.
    Map(Arguments),
}

impl Argument {
    /// Every text in it, from left to right.
    pub fn texts(&self) -> Vec<&Text> {
        match self {
            Argument::Text(text) => vec![text],
            Argument::Value(_) => Vec::new(),
            Argument::List(items) => items.iter().flat_map(Argument::texts).collect(),
            Argument::Map(entries) => entries.values().flat_map(|entry| entry.value.texts()).collect(),
        }
    }
}
