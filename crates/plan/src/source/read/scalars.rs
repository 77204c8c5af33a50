//! Single values: text, numbers, booleans, words, credentials, JSON.
//!
//! Coercion is the language's: a text field takes text only, number and boolean fields also take text that reads as
//! one. `${NAME}` is replaced here, in everything but credentials and what programs are started with.

use convoke_model::reference::Unresolved;
use serde_json::Value as Json;

use super::super::env;
use super::super::text::{SecretText, Spanned, Text};
use super::super::tree::scalar::{Typed, shorten, typed};
use super::super::tree::{Node, Scalar, Value, segments};
use super::Reader;
use crate::diagnostic::Span;
use convoke_model::nearest;

/// What a value belongs to: `key` of `owner`, for messages.
#[derive(Clone, Copy)]
pub(in crate::source) struct Of<'a> {
    pub key: &'a str,
    pub owner: &'a str,
}

impl std::fmt::Display for Of<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` of {}", self.key, self.owner)
    }
}

impl Reader<'_> {
    /// Text that can be traced back to its file.
    pub fn template(&mut self, node: &Node, of: Of<'_>) -> Option<Text> {
        let text = self.raw_text(node, of)?;
        Some(self.substituted(text))
    }

    /// Text that is taken as it is.
    pub fn text(&mut self, node: &Node, of: Of<'_>) -> Option<Spanned<String>> {
        let plain = matches!(&node.value, Value::Scalar(scalar) if !env::has_reference(&scalar.raw));
        if plain && node.included.is_none() {
            let scalar = self.text_scalar(node, of)?;
            return Some(Spanned::new(scalar.raw.clone(), node.span.clone()));
        }
        let text = self.template(node, of)?;
        Some(Spanned::new(text.value, text.span))
    }

    fn raw_text(&mut self, node: &Node, of: Of<'_>) -> Option<Text> {
        // A text field wants the text, even if an included file happens to read as a list or a mapping.
        if let (Some(included), Value::Seq(_) | Value::Map(_)) = (&node.included, &node.value) {
            let value = included.file.text.clone();
            let segments = segments(&value, &value, 0, super::super::tree::Style::Verbatim);
            let (base, origin) = (Some(included.path.clone()), included.file.clone());
            return Some(Text { value, span: node.span.clone(), base, origin, segments });
        }
        let scalar = self.text_scalar(node, of)?;
        Some(Text {
            value: scalar.raw.clone(),
            span: node.span.clone(),
            base: node.included.as_ref().map(|included| included.path.clone()),
            origin: scalar.inner.file.clone(),
            segments: segments_of(scalar),
        })
    }

    fn text_scalar<'n>(&mut self, node: &'n Node, of: Of<'_>) -> Option<&'n Scalar> {
        let help = match &node.value {
            Value::Scalar(scalar) if matches!(typed(scalar), Typed::Text(_)) => return Some(scalar),
            Value::Scalar(scalar) => Some(format!("put it in quotes: \"{}\"", scalar.raw)),
            Value::Map(_) if looks_like_template(node) => {
                Some("a template must stand in quotes: \"{{ … }}\"".to_owned())
            }
            _ => None,
        };
        if let Some(finding) = self.wrong_type(node, of, "text") {
            finding.help = help;
        }
        None
    }

    /// Follows `${NAME}`; what cannot be followed is reported and left out.
    pub fn substituted(&mut self, text: Text) -> Text {
        if !env::has_reference(&text.value) {
            return text;
        }
        self.refuse_secrets(&text);
        let result = env::substitute(&text.value, &|name| self.value_or_secret(name));
        for (range, problem) in &result.problems {
            self.env_error(problem, &text.place_of(range.clone()));
        }
        let segments = result.places(&text.segments);
        Text { value: result.text, segments, ..text }
    }

    fn env_error(&mut self, problem: &Unresolved, span: &Span) {
        match problem {
            Unresolved::Unset(name) => {
                let message = format!("environment variable `{name}` is not set");
                let help = format!("set it, or give a default: `${{{name}:-…}}`");
                self.error("env::unset", message, span, "no value and no default").help = Some(help);
            }
            Unresolved::TooDeep(name) => {
                let message =
                    format!("environment variable `{name}` refers to further variables without end");
                self.error("env::recursion", message, span, "more than 10 levels");
            }
        }
    }

    /// A credential: kept as written, with a word if it will be missing.
    pub fn secret(&mut self, node: &Node, of: Of<'_>) -> Option<SecretText> {
        let text = self.raw_text(node, of)?;
        let result = env::substitute(&text.value, &|name| self.value_or_secret(name));
        for (range, problem) in &result.problems {
            let (Unresolved::Unset(name) | Unresolved::TooDeep(name)) = problem;
            let message = format!("environment variable `{name}` for {of} is not set");
            let label = "needed when the run starts";
            self.warning("env::unset_secret", message, &text.place_of(range.clone()), label);
        }
        if result.problems.is_empty() && result.text.trim().is_empty() {
            let message = format!("{of} is empty, probably because a variable is");
            self.warning("workflow::empty_value", message, &text.span, "nothing here");
        }
        Some(SecretText { raw: Spanned::new(text.value, text.span) })
    }

    /// What a program is started with: kept as written, because it may hold a credential. What will be missing is an error.
    pub fn reference(&mut self, node: &Node, of: Of<'_>) -> Option<SecretText> {
        let text = self.raw_text(node, of)?;
        let raw = Spanned::new(text.value.clone(), text.span.clone());
        let result = env::substitute(&text.value, &|name| self.value_or_secret(name));
        for (range, problem) in &result.problems {
            self.env_error(problem, &text.place_of(range.clone()));
        }
        Some(SecretText { raw })
    }

    /// True or false, also as one of the words that YAML 1.1 had.
    pub fn boolean(&mut self, node: &Node, of: Of<'_>) -> Option<bool> {
        let found = match self.loose(node)? {
            Loose::Bool(value) => Some(value),
            Loose::Integer(0) => Some(false),
            Loose::Integer(1) => Some(true),
            Loose::Text(text) => boolean_word(&text),
            _ => None,
        };
        if found.is_none() {
            self.wrong_type(node, of, "true or false");
        }
        found
    }

    /// A whole number between two bounds.
    pub fn integer(&mut self, node: &Node, of: Of<'_>, (min, max): (u64, u64)) -> Option<u64> {
        let number = match self.loose(node)? {
            Loose::Integer(value) => Some(value as f64),
            Loose::Float(value) if value.fract() == 0.0 => Some(value),
            Loose::Text(text) => text.trim().parse::<i64>().ok().map(|value| value as f64),
            _ => None,
        };
        let Some(number) = number else {
            self.wrong_type(node, of, "a whole number");
            return None;
        };
        if number < min as f64 || number > max as f64 {
            self.out_of_range(node, of, &bounds(min as f64, max as f64, max == u64::MAX));
            return None;
        }
        Some(number as u64)
    }

    /// A number between two bounds.
    pub fn number(&mut self, node: &Node, of: Of<'_>, (min, max): (f64, f64)) -> Option<f64> {
        let number = match self.loose(node)? {
            Loose::Integer(value) => Some(value as f64),
            Loose::Float(value) => Some(value),
            Loose::Text(text) => text.trim().parse().ok(),
            Loose::Bool(_) | Loose::Other => None,
        };
        let Some(number) = number.filter(|number: &f64| number.is_finite()) else {
            self.wrong_type(node, of, "a number");
            return None;
        };
        if number < min || number > max {
            self.out_of_range(node, of, &bounds(min, max, max == f64::MAX));
            return None;
        }
        Some(number)
    }

    /// One of a few words.
    pub fn choice(
        &mut self,
        node: &Node,
        of: Of<'_>,
        words: &[&'static str],
    ) -> Option<Spanned<&'static str>> {
        let written = self.text(node, of)?;
        let known = words.iter().find(|word| **word == written.value);
        if known.is_none() {
            self.unknown_word(&written, of, words);
        }
        known.map(|word| Spanned::new(*word, written.span))
    }

    /// Reports a word that is none of those allowed.
    pub fn unknown_word(&mut self, written: &Spanned<String>, of: Of<'_>, words: &[&str]) {
        let found = shorten(&written.value);
        let message = format!("{of} must be one of {}, found `{found}`", words.join(", "));
        let finding = self.error("workflow::unknown_value", message, &written.span, "not one of these");
        finding.help =
            nearest(&written.value, words.iter().copied()).map(|word| format!("did you mean `{word}`?"));
    }

    /// Anything, as JSON.
    pub fn json(&mut self, node: &Node) -> Json {
        match &node.value {
            Value::Scalar(scalar) => self.json_scalar(node, scalar),
            Value::Seq(items) => Json::Array(items.iter().map(|item| self.json(item)).collect()),
            Value::Map(pairs) => Json::Object(
                pairs.iter().map(|pair| (pair.key.value.clone(), self.json(&pair.value))).collect(),
            ),
            Value::Broken => Json::Null,
        }
    }

    fn json_scalar(&mut self, node: &Node, scalar: &Scalar) -> Json {
        match typed(scalar) {
            Typed::Null => Json::Null,
            Typed::Bool(value) => Json::Bool(value),
            Typed::Integer(value) => Json::from(value),
            Typed::Float(value) => serde_json::Number::from_f64(value).map_or_else(
                || {
                    let message = format!("the number `{}` has no finite value", scalar.raw);
                    self.error("workflow::wrong_type", message, &node.span, "not a finite number");
                    Json::Null
                },
                Json::Number,
            ),
            Typed::Text(_) => {
                let text = self.template(node, Of { key: "text", owner: "this value" });
                text.map_or(Json::Null, |text| Json::String(text.value))
            }
        }
    }

    /// A scalar whose text may stand for another type; `None` for what was already reported.
    fn loose(&mut self, node: &Node) -> Option<Loose> {
        match &node.value {
            Value::Broken => None,
            Value::Scalar(scalar) => match typed(scalar) {
                Typed::Bool(value) => Some(Loose::Bool(value)),
                Typed::Integer(value) => Some(Loose::Integer(value)),
                Typed::Float(value) => Some(Loose::Float(value)),
                Typed::Null => Some(Loose::Other),
                Typed::Text(text) if !env::has_reference(text) => Some(Loose::Text(text.to_owned())),
                Typed::Text(_) => self.loose_reference(node),
            },
            _ => Some(Loose::Other),
        }
    }

    fn loose_reference(&mut self, node: &Node) -> Option<Loose> {
        let before = self.diagnostics.len();
        let text = self.template(node, Of { key: "text", owner: "this value" })?;
        (self.diagnostics.len() == before).then_some(Loose::Text(text.value))
    }

    /// Reports a value of the wrong type, unless it was already reported as broken.
    pub fn wrong_type(
        &mut self,
        node: &Node,
        of: Of<'_>,
        expected: &str,
    ) -> Option<&mut crate::diagnostic::Diagnostic> {
        if matches!(node.value, Value::Broken) {
            return None;
        }
        let message = format!("{of} must be {expected}, found {}", node.describe());
        Some(self.error("workflow::wrong_type", message, &head(node), &format!("not {expected}")))
    }

    /// Reports a number outside its bounds.
    pub fn out_of_range(&mut self, node: &Node, of: Of<'_>, bounds: &str) {
        let message = format!("{of} must be {bounds}, found {}", node.describe());
        self.error("workflow::out_of_range", message, &node.span, "out of range");
    }
}

enum Loose {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Other,
}

/// A place that begins where the value begins and does not run over the rest of the file.
pub(in crate::source) fn head(node: &Node) -> Span {
    match &node.value {
        Value::Map(pairs) if node.included.is_none() => {
            pairs.first().map_or_else(|| node.span.clone(), |pair| pair.key.span.clone())
        }
        Value::Seq(items) if node.included.is_none() => {
            items.first().map_or_else(|| node.span.clone(), |item| head(item))
        }
        _ => node.span.clone(),
    }
}

fn segments_of(scalar: &Scalar) -> Vec<super::super::text::Segment> {
    let range = scalar.inner.range.clone();
    let source = scalar.inner.file.text.get(range.clone()).unwrap_or("");
    segments(&scalar.raw, source, range.start, scalar.style)
}

fn looks_like_template(node: &Node) -> bool {
    node.span.file.text.get(node.span.range.clone()).is_some_and(|text| text.starts_with("{{"))
}

fn boolean_word(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" | "t" | "1" => Some(true),
        "false" | "no" | "off" | "n" | "f" | "0" => Some(false),
        _ => None,
    }
}

fn bounds(min: f64, max: f64, endless: bool) -> String {
    match (endless, min == f64::MIN_POSITIVE) {
        (true, true) => "greater than 0".to_owned(),
        (true, false) => format!("at least {min}"),
        (false, true) => format!("greater than 0 and at most {max}"),
        _ => format!("between {min} and {max}"),
    }
}
