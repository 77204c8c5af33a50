//! `convoke config show`: every value, and where it came from.

use crate::args::Format;
use crate::config::{Entry, Scalar};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use serde_json::{Value, json};

/// Prints the configuration.
pub fn show(console: &Console, format: Format) -> Result<Exit, CommandFailure> {
    let entries = &console.config.entries;
    match format {
        Format::Json => console.json(&entries.iter().map(record).collect::<Vec<_>>())?,
        Format::Text => console.data(&text(entries))?,
    }
    Ok(Exit::Success)
}

fn text(entries: &[Entry]) -> String {
    let values: Vec<_> = entries.iter().map(|entry| format!("{} = {}", entry.key, shown(entry))).collect();
    let width = values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
    let lines =
        values.iter().zip(entries).map(|(value, entry)| format!("{value:<width$}  # {}\n", entry.origin));
    lines.collect()
}

fn record(entry: &Entry) -> Value {
    let value = match (&entry.value, is_secret(entry)) {
        (_, true) => json!(shown(entry).trim_matches('"')),
        (Scalar::Text(text), _) => json!(text),
        (Scalar::Number(number), _) => json!(number),
        (Scalar::Fraction(text), _) => json!(text.parse::<f64>().unwrap_or_default()),
        (Scalar::Switch(switch), _) => json!(switch),
        (Scalar::List(texts), _) => json!(texts),
        (Scalar::Other(word), _) => json!(word),
    };
    json!({"key": entry.key, "value": value, "origin": entry.origin.to_string()})
}

fn shown(entry: &Entry) -> String {
    if is_secret(entry) { "\"(hidden)\"".to_owned() } else { entry.value.to_string() }
}

/// A key that somebody wrote out; references such as `${NAME}` are no secret.
fn is_secret(entry: &Entry) -> bool {
    let reference =
        matches!(&entry.value, Scalar::Text(text) if text.starts_with("${") && text.ends_with('}'));
    let private = [".headers.", ".env."].iter().any(|table| entry.key.contains(table));
    (entry.key.ends_with("api_key") || private) && !reference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Origin;

    fn entry(key: &str, text: &str) -> Entry {
        Entry { key: key.into(), value: Scalar::Text(text.into()), origin: Origin::Default }
    }

    #[test]
    fn keys_are_never_shown() {
        let shown = text(&[entry("provider.api_key", "sk-123"), entry("providers.x.api_key", "${KEY}")]);
        let expected = "\
provider.api_key = \"(hidden)\"   # default
providers.x.api_key = \"${KEY}\"  # default
";
        assert_eq!(shown, expected);
        assert!(!record(&entry("provider.api_key", "sk-123")).to_string().contains("sk-123"));
    }
}
