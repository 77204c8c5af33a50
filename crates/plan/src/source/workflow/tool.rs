//! `type: tool`: one call of an MCP tool, without a model.

use indexmap::IndexMap;

use super::super::read;
use super::super::section::section;
use super::super::text::{Spanned, Text};
use super::{Entry, OutputSchema};

section! {
    /// `type: tool`.
    #[derive(Debug, Clone)]
    pub struct ToolStep of steps {
        /// MCP server that has the tool (default the only one)
        #[by(read::fixed::fixed)]
        #[on(TOOL)]
        pub server: Option<Spanned<String>>,
        /// the tool, as its server names it
        #[by(read::fixed::fixed)]
        #[on(TOOL)]
        #[required_on(TOOL)]
        pub tool: Option<Spanned<String>>,
        /// what it is called with: values whose texts are templates
        #[by(read::tool::arguments)]
        #[on(TOOL)]
        pub arguments: Arguments => Map(&Any),
        /// Schema of the output; `None` when absent or empty.
        #[by(read::output::output_fields)]
        pub output: Option<OutputSchema>,
    }
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
