//! A snapshot of the configuration, to be shown and recorded: every value by its key, secrets hidden.
//!
//! A run remembers what it was started with (`RunStarted`), and one that goes on says what is different now.

use crate::config::{Config, Entry, Origin, Scalar};
use indexmap::IndexMap;

/// Keys that change nothing about a run's work.
const ASIDE: [&str; 4] = ["state_dir", "state", "color", "run.quiet"];

/// Tables of such keys: what others are told. Addresses in them may be secrets, and a journal is kept.
const ASIDE_TABLES: [&str; 2] = ["notify.", "telemetry."];

/// What a run remembers: each value that is not a default.
pub fn stated(config: &Config) -> IndexMap<String, String> {
    let entries = config.entries.iter().filter(|entry| entry.origin != Origin::Default);
    let is_aside =
        |key: &str| ASIDE.contains(&key) || ASIDE_TABLES.iter().any(|table| key.starts_with(table));
    let entries = entries.filter(|entry| !is_aside(&entry.key));
    entries.map(|entry| (entry.key.clone(), shown(entry))).collect()
}

/// What is different from when the run was started, one line for each key.
pub fn differences(started: &IndexMap<String, String>, config: &Config) -> Vec<String> {
    let now = stated(config);
    let origin = |key: &str| {
        let entry = config.entries.iter().find(|entry| entry.key == key);
        entry.map(|entry| format!(" ({})", entry.origin)).unwrap_or_default()
    };
    let changed = now.iter().filter(|(key, value)| started.get(*key) != Some(*value));
    let changed = changed.map(|(key, value)| match started.get(key) {
        Some(before) => format!("`{key}` is {value}{}; it was {before}", origin(key)),
        None => format!("`{key}` is {value}{}; it was not set", origin(key)),
    });
    let gone = started.iter().filter(|(key, _)| !now.contains_key(*key));
    let gone = gone.map(|(key, before)| format!("`{key}` is not set; it was {before}"));
    changed.chain(gone).collect()
}

/// A value as it may be shown.
pub fn shown(entry: &Entry) -> String {
    if is_secret(entry) { "\"(hidden)\"".to_owned() } else { entry.value.to_string() }
}

/// A key that is written out; references such as `${NAME}` are no secret.
pub fn is_secret(entry: &Entry) -> bool {
    let reference =
        matches!(&entry.value, Scalar::Text(text) if text.starts_with("${") && text.ends_with('}'));
    let private = [".headers.", ".env."].iter().any(|table| entry.key.contains(table));
    // An address may hold a user's name and password.
    let with_user =
        entry.key.ends_with("url") && matches!(&entry.value, Scalar::Text(text) if text.contains('@'));
    // Whoever knows the address of a webhook can post to it.
    let webhook = entry.key.starts_with("notify.webhooks.")
        && [".url", ".secret"].iter().any(|end| entry.key.ends_with(end));
    (entry.key.ends_with("api_key") || private || with_user || webhook) && !reference
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_the_start_is_told_key_by_key() {
        let config = |file: &str| crate::config::resolved_from(file);
        let before = stated(&config("run.max_concurrency = 4\nprovider.api_key = 'sk-1'\ncolor = 'never'"));
        assert_eq!(before["provider.api_key"], "\"(hidden)\"");
        let now = config("run.max_concurrency = 5\nprovider.model = 'm'");
        let wanted = [
            "`provider.model` is \"m\" (f.toml:2); it was not set",
            "`run.max_concurrency` is 5 (f.toml:1); it was 4",
            "`provider.api_key` is not set; it was \"(hidden)\"",
        ];
        assert_eq!(differences(&before, &now), wanted);
        assert!(
            differences(&before, &config("run.max_concurrency = 4\nprovider.api_key = 'sk-2'")).is_empty()
        );
    }
}
