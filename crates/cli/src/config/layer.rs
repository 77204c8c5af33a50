//! One source of configuration values as written: a file, the environment, the flags.
//!
//! A layer is a list of dotted keys with values and origins. Whether a key exists and a value fits is checked here,
//! because only here is the place known; what the values mean is `config`'s.

use super::keys;
use std::fmt;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// A value as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scalar {
    /// Text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A number with a fraction, as written.
    Fraction(String),
    /// True or false.
    Switch(bool),
    /// A list of texts.
    List(Vec<String>),
    /// Something that no key takes, by the name of its type.
    Other(&'static str),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Text(text) => write!(f, "{text:?}"),
            Scalar::Number(number) => write!(f, "{number}"),
            Scalar::Fraction(text) => f.write_str(text),
            Scalar::Switch(switch) => write!(f, "{switch}"),
            Scalar::List(texts) => write!(f, "{texts:?}"),
            Scalar::Other(word) => f.write_str(word),
        }
    }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Convoke itself.
    Default,
    /// A file and a line of it.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Variable(&'static str),
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Variable(name) => write!(f, "environment variable {name}"),
            Origin::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// One value with its key and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The dotted key.
    pub key: String,
    /// The value.
    pub value: Scalar,
    /// Where it came from.
    pub origin: Origin,
}

/// What is wrong with a layer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// The file is not TOML.
    #[error("{}:{line}: not valid TOML: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The parser's words.
        message: String,
    },
    /// A value does not fit its key.
    #[error("{origin}: `{key}`: {message}")]
    Value {
        /// The key.
        key: String,
        /// Where it stands.
        origin: Origin,
        /// What is wrong.
        message: String,
    },
    /// There is no such key.
    #[error("{origin}: unknown key `{key}`; {advice}")]
    Unknown {
        /// The key.
        key: String,
        /// Where it stands.
        origin: Origin,
        /// What is known there.
        advice: String,
    },
}

impl LayerError {
    /// The key that it is about; none of a file that cannot be read.
    pub fn key(&self) -> Option<&str> {
        match self {
            LayerError::Syntax { .. } => None,
            LayerError::Value { key, .. } | LayerError::Unknown { key, .. } => Some(key),
        }
    }

    /// The line that it is about; none outside of files.
    fn line(&self) -> Option<usize> {
        match self {
            LayerError::Syntax { line, .. } => Some(*line),
            LayerError::Value { origin, .. } | LayerError::Unknown { origin, .. } => match origin {
                Origin::File { line, .. } => Some(*line),
                _ => None,
            },
        }
    }
}

/// A layer with what else was noticed.
#[derive(Debug, Default)]
pub struct Layer {
    /// The values.
    pub entries: Vec<Entry>,
    /// What is wrong with it, in the order of the text.
    pub faults: Vec<LayerError>,
}

impl Layer {
    /// Reads a file's text. `None` as path means the built-in defaults.
    pub fn from_toml(text: &str, path: Option<PathBuf>) -> Result<Layer, LayerError> {
        Layer::from_toml_at(text, path, None)
    }

    /// The same for a file whose relative paths begin at a folder.
    pub fn from_toml_at(
        text: &str,
        path: Option<PathBuf>,
        anchor: Option<&Path>,
    ) -> Result<Layer, LayerError> {
        let shown = path.clone().unwrap_or_else(|| "default.toml".into());
        let document = DeTable::parse(text).map_err(|error| LayerError::Syntax {
            line: error.span().map_or(1, |span| line_of(text, span.start)),
            message: error.message().trim_end().to_owned(),
            path: shown,
        })?;
        let mut layer = Layer::default();
        layer.walk(&mut Vec::new(), document.get_ref(), &FileText { text, path, anchor });
        layer.faults.sort_by_key(LayerError::line);
        Ok(layer)
    }

    /// Takes the variables that set a key.
    pub fn from_environment(get: impl Fn(&str) -> Option<String>) -> Layer {
        let mut layer = Layer::default();
        for variable in crate::env::LIST {
            let Some(key) = variable.key else { continue };
            let Some(text) = get(variable.name).filter(|text| !text.is_empty()) else { continue };
            layer.push(key, read_text(key, &text), Origin::Variable(variable.name));
        }
        layer
    }

    /// Adds a value, if it fits its key.
    pub fn push(&mut self, key: &str, value: Scalar, origin: Origin) {
        let path: Vec<_> = key.split('.').collect();
        self.push_at(&path, value, origin);
    }

    /// The same for a path, of which a part that the user chose may hold dots.
    fn push_at(&mut self, path: &[&str], value: Scalar, origin: Origin) {
        let kind = keys::kind_of(path).expect("callers name keys of the list");
        let key = path.join(".");
        match keys::mismatch(kind, &value) {
            Some(message) => self.faults.push(LayerError::Value { key, origin, message }),
            None => self.entries.push(Entry { key, value, origin }),
        }
    }

    fn walk<'a>(&mut self, above: &mut Vec<&'a str>, table: &'a DeTable<'_>, file: &FileText<'_>) {
        for (key, value) in table {
            above.push(key.get_ref());
            let origin = file.origin(key.span().start);
            match value.get_ref() {
                DeValue::Table(inner) if keys::is_table(above) => self.walk(above, inner, file),
                _ if keys::kind_of(above).is_none() => self.refuse(above, value.get_ref(), origin),
                value => self.push_at(above, file.anchored(above, scalar(value)), origin),
            }
            above.pop();
        }
    }

    /// A key that is none, or a value where a table belongs.
    fn refuse(&mut self, path: &[&str], value: &DeValue<'_>, origin: Origin) {
        let key = path.join(".");
        if keys::is_table(path) {
            let message = format!("expected a table, found {}", scalar(value));
            return self.faults.push(LayerError::Value { key, origin, message });
        }
        let advice = match keys::nearest(path) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", keys::siblings(path)),
        };
        self.faults.push(LayerError::Unknown { key, origin, advice });
    }
}

struct FileText<'a> {
    text: &'a str,
    path: Option<PathBuf>,
    /// The folder that relative paths begin at, if it is not the one that the command works in.
    anchor: Option<&'a Path>,
}

impl FileText<'_> {
    fn anchored(&self, key: &[&str], value: Scalar) -> Scalar {
        let (Some(folder), Scalar::Text(text)) = (self.anchor, &value) else { return value };
        let is_path = match keys::kind_of(key) {
            Some(keys::Kind::Path) => !text.is_empty(),
            // Without a stroke it is looked for where all programs are.
            Some(keys::Kind::Command) => text.contains('/'),
            _ => false,
        };
        match is_path && !text.starts_with("${") {
            true => Scalar::Text(folder.join(text).display().to_string()),
            false => value,
        }
    }

    fn origin(&self, offset: usize) -> Origin {
        match &self.path {
            Some(path) => Origin::File { path: path.clone(), line: line_of(self.text, offset) },
            None => Origin::Default,
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn scalar(value: &DeValue<'_>) -> Scalar {
    match value {
        DeValue::String(text) => Scalar::Text(text.to_string()),
        DeValue::Boolean(switch) => Scalar::Switch(*switch),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Scalar::Other("a number that is too large"), Scalar::Number),
        DeValue::Float(number) => Scalar::Fraction(number.as_str().to_owned()),
        DeValue::Array(values) => texts(values.iter().map(|value| value.get_ref())),
        other => Scalar::Other(other.type_str()),
    }
}

/// A list in which everything is text.
fn texts<'a>(values: impl Iterator<Item = &'a DeValue<'a>>) -> Scalar {
    let text = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    };
    values.map(text).collect::<Option<_>>().map_or(Scalar::Other("a list of something else"), Scalar::List)
}

/// A variable's text, read as its key takes it.
fn read_text(key: &str, text: &str) -> Scalar {
    let path: Vec<_> = key.split('.').collect();
    match keys::kind_of(&path) {
        Some(keys::Kind::Count(_) | keys::Kind::Within(..)) => {
            text.trim().parse().map_or(Scalar::Text(text.to_owned()), Scalar::Number)
        }
        Some(keys::Kind::Price | keys::Kind::Money | keys::Kind::Seconds) => match text.trim() {
            text if text.parse::<f64>().is_ok_and(f64::is_finite) => Scalar::Fraction(text.to_owned()),
            text => Scalar::Text(text.to_owned()),
        },
        Some(keys::Kind::Switch) => match text.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" => Scalar::Switch(true),
            "0" | "false" | "no" => Scalar::Switch(false),
            _ => Scalar::Text(text.to_owned()),
        },
        _ => Scalar::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Result<Layer, LayerError> {
        Layer::from_toml(text, Some("convoke.toml".into()))
    }

    #[track_caller]
    fn faults(text: &str) -> Vec<String> {
        file(text).unwrap().faults.iter().map(LayerError::to_string).collect()
    }

    #[test]
    fn the_defaults_use_only_known_keys() {
        let layer = Layer::from_toml(include_str!("default.toml"), None).unwrap();
        assert_eq!(layer.faults, []);
        assert!(layer.entries.iter().all(|entry| entry.origin == Origin::Default));
    }

    #[test]
    fn every_unknown_key_is_reported_with_its_line_and_what_is_known() {
        let expected = [
            "convoke.toml:3: unknown key `run.quite`; did you mean `run.quiet`?",
            "convoke.toml:4: unknown key `run.zzzzzz`; known here: quiet, strict, max_concurrency",
        ];
        assert_eq!(faults("\n[run]\nquite = true\nzzzzzz = 1\n"), expected);
    }

    #[test]
    fn a_value_that_does_not_fit_names_its_place() {
        let words = "convoke.toml:1: `machine_concurrency`: expected a whole number from 1 to 1000000, found \"many\"";
        assert_eq!(faults("machine_concurrency = \"many\"\n"), [words]);
        let error = file("a = [1\n").unwrap_err();
        assert!(matches!(error, LayerError::Syntax { .. }), "{error}");
    }

    #[test]
    fn a_number_or_table_where_the_other_belongs_is_no_crash() {
        assert_eq!(faults("provider = 3"), ["convoke.toml:1: `provider`: expected a table, found 3"]);
        assert_eq!(faults("color.auto = true").len(), 1);
    }

    #[test]
    fn variables_are_read_as_their_key_takes_them() {
        let get = |name: &str| match name {
            "CONVOKE_MACHINE_CONCURRENCY" => Some("7".to_owned()),
            "CONVOKE_QUIET" => Some("1".to_owned()),
            "CONVOKE_STATE_DIR" => Some(String::new()),
            _ => None,
        };
        let layer = Layer::from_environment(get);
        let values: Vec<_> = layer.entries.iter().map(|e| (e.key.as_str(), e.value.clone())).collect();
        let expected = [("machine_concurrency", Scalar::Number(7)), ("run.quiet", Scalar::Switch(true))];
        assert_eq!(values, expected);
    }
}
