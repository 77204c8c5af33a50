//! The definition of an output field, as written and already known to be free of contradictions.

use indexmap::IndexMap;

use super::text::Spanned;
use super::workflow::{Entry, ValueType};
use crate::diagnostic::Span;

impl OutputField {
    /// A required field of a type, without further rules.
    pub fn plain(kind: ValueType, about: Option<&str>, span: &Span) -> Self {
        Self {
            kind: Spanned::new(kind, span.clone()),
            description: about.map(|text| Spanned::new(text.to_owned(), span.clone())),
            items: None,
            properties: None,
            allowed: None,
            pattern: None,
            minimum: None,
            maximum: None,
            min_length: None,
            max_length: None,
            required: true,
            nullable: false,
            integer: false,
            span: span.clone(),
        }
    }
}

/// One field of an output schema.
#[derive(Debug, Clone)]
pub struct OutputField {
    /// Declared type.
    pub kind: Spanned<ValueType>,
    /// What it is for.
    pub description: Option<Spanned<String>>,
    /// Type of the elements of an array.
    pub items: Option<Box<OutputField>>,
    /// Fields of an object.
    pub properties: Option<IndexMap<String, Entry<OutputField>>>,
    /// Allowed values, scalars of the declared type.
    pub allowed: Option<Vec<serde_json::Value>>,
    /// Regular expression that must be found in the text.
    pub pattern: Option<Spanned<String>>,
    /// Smallest number.
    pub minimum: Option<f64>,
    /// Largest number.
    pub maximum: Option<f64>,
    /// Fewest characters.
    pub min_length: Option<u64>,
    /// Most characters.
    pub max_length: Option<u64>,
    /// Whether it must be there (default true; meaningful inside `properties`).
    pub required: bool,
    /// Whether null is a value (default false).
    pub nullable: bool,
    /// Whether a number must be whole; only a JSON Schema can say so.
    pub integer: bool,
    /// Place of the definition.
    pub span: Span,
}
