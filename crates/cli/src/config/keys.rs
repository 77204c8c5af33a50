//! The keys that a configuration may have, and the nearest one to a key that it may not.

use super::layer::Scalar;

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A whole number, at least this.
    Count(u64),
    /// `true` or `false`.
    Switch,
    /// A number that may have a fraction, not below nothing.
    Price,
    /// A list of texts.
    List,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// What becomes of a coding agent's wishes.
const PERMISSIONS: &[&str] = &["ask", "allow", "deny"];

/// The keys, as dotted paths; `*` stands for a name that the user chooses.
pub const KEYS: &[(&str, Kind)] = &[
    ("state_dir", Kind::Text),
    ("machine_concurrency", Kind::Count(1)),
    ("color", Kind::OneOf(&["auto", "always", "never"])),
    ("run.quiet", Kind::Switch),
    ("run.strict", Kind::Switch),
    ("run.max_concurrency", Kind::Count(1)),
    ("provider.name", Kind::Text),
    ("provider.base_url", Kind::Text),
    ("provider.api_key", Kind::Text),
    ("provider.api_key_file", Kind::Text),
    ("provider.headers.*", Kind::Text),
    ("provider.model", Kind::Text),
    ("provider.file", Kind::Text),
    ("provider.latency_ms", Kind::Count(0)),
    ("provider.command", Kind::Text),
    ("provider.args", Kind::List),
    ("provider.env.*", Kind::Text),
    ("provider.permissions", Kind::OneOf(PERMISSIONS)),
    ("providers.*.name", Kind::Text),
    ("providers.*.base_url", Kind::Text),
    ("providers.*.api_key", Kind::Text),
    ("providers.*.api_key_file", Kind::Text),
    ("providers.*.headers.*", Kind::Text),
    ("providers.*.model", Kind::Text),
    ("providers.*.file", Kind::Text),
    ("providers.*.latency_ms", Kind::Count(0)),
    ("providers.*.command", Kind::Text),
    ("providers.*.args", Kind::List),
    ("providers.*.env.*", Kind::Text),
    ("providers.*.permissions", Kind::OneOf(PERMISSIONS)),
    ("pricing.*.input_per_mtok", Kind::Price),
    ("pricing.*.output_per_mtok", Kind::Price),
    ("pricing.*.cache_read_per_mtok", Kind::Price),
    ("pricing.*.cache_write_per_mtok", Kind::Price),
];

/// What a key takes, if it is a key.
pub fn kind_of(path: &[&str]) -> Option<Kind> {
    KEYS.iter().find(|(key, _)| matches(key, path)).map(|(_, kind)| *kind)
}

/// Whether keys lie below a path, so that a table may stand there.
pub fn is_table(path: &[&str]) -> bool {
    KEYS.iter().any(|(key, _)| {
        let parts: Vec<_> = key.split('.').collect();
        parts.len() > path.len() && path.iter().zip(&parts).all(|(have, want)| fits(want, have))
    })
}

/// The known key that is most like an unknown one, if any is like it.
pub fn nearest(path: &[&str]) -> Option<String> {
    let candidates: Vec<_> = KEYS.iter().map(|(key, _)| with_name(key, path)).collect();
    convoke_plan::source::nearest(&path.join("."), candidates.iter().map(String::as_str)).map(str::to_owned)
}

/// What is wrong with a value, if something is.
pub fn mismatch(kind: Kind, value: &Scalar) -> Option<String> {
    match (kind, value) {
        (Kind::Text, Scalar::Text(_)) | (Kind::Switch, Scalar::Switch(_)) | (Kind::List, Scalar::List(_)) => {
            None
        }
        (Kind::Count(least), Scalar::Number(number)) if u64::try_from(*number).is_ok_and(|n| n >= least) => {
            None
        }
        (Kind::Price, Scalar::Number(number)) if *number >= 0 => None,
        (Kind::Price, Scalar::Fraction(text)) if text.parse().is_ok_and(|price: f64| price >= 0.0) => None,
        (Kind::OneOf(words), Scalar::Text(word)) if words.contains(&word.as_str()) => None,
        (kind, value) => Some(format!("expected {}, found {value}", expected(kind))),
    }
}

fn expected(kind: Kind) -> String {
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::Count(least) => format!("a whole number from {least}"),
        Kind::Switch => "true or false".to_owned(),
        Kind::Price => "a number from 0".to_owned(),
        Kind::List => "a list of texts".to_owned(),
        Kind::OneOf(words) => format!("one of {}", words.join(", ")),
    }
}

fn matches(key: &str, path: &[&str]) -> bool {
    key.split('.').count() == path.len() && key.split('.').zip(path).all(|(want, have)| fits(want, have))
}

fn fits(want: &str, have: &str) -> bool {
    want == "*" || want == have
}

/// The key with the name that the user chose in place of `*`, so that only the mistake counts.
fn with_name(key: &str, path: &[&str]) -> String {
    let name = path.get(1).copied().unwrap_or("NAME");
    key.replace('*', name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_finds_its_key() {
        assert_eq!(nearest(&["machine_concurency"]).as_deref(), Some("machine_concurrency"));
        assert_eq!(nearest(&["providers", "mine", "base_ulr"]).as_deref(), Some("providers.mine.base_url"));
        assert_eq!(nearest(&["zzzzzzzz"]), None);
    }

    #[test]
    fn names_are_free_and_keys_are_not() {
        assert_eq!(kind_of(&["providers", "anything", "model"]), Some(Kind::Text));
        assert_eq!(kind_of(&["providers", "anything", "modell"]), None);
        assert!(is_table(&["providers"]) && is_table(&["providers", "x"]) && !is_table(&["state_dir"]));
    }
}
