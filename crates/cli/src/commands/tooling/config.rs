//! `convoke config show`: every value, and where it came from.

use crate::args::Format;
use crate::config::{Config, Entry, Scalar};
use crate::config_snapshot::{is_secret, shown};
use crate::console::Console;
use crate::driving::destinations;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_providers::preset::{self, Preset};
use serde_json::{Value, json};

/// Prints the configuration.
pub fn show(console: &Console, format: Format) -> Result<Exit, CommandFailure> {
    let entries = &console.config.entries;
    let services = services(&console.config);
    match format {
        Format::Json => {
            let addresses = services.iter().map(|(service, address, origin)| {
                json!({"key": format!("addresses.{service}"), "value": address, "origin": origin})
            });
            console.json(&entries.iter().map(record).chain(addresses).collect::<Vec<_>>())?;
        }
        Format::Text => console.data(&format!("{}{}", text(entries), addresses(&services)))?,
    }
    Ok(Exit::Success)
}

/// Each service with the address at which it is asked where no file gives one, and the origin of that address.
fn services(config: &Config) -> Vec<(&'static str, String, String)> {
    let service = |preset: &'static Preset| {
        let own = config.providers.get(preset.name).filter(|known| known.settings.name == preset.name);
        let own = own.and_then(|known| known.settings.base_url.as_deref());
        let replaced = config.addresses.get(preset.name);
        let (given, origin) = match (own, replaced) {
            (Some(own), _) => (Some(own), format!("providers.{}.base_url", preset.name)),
            (None, Some(address)) => (Some(address.url.as_str()), address.origin.to_string()),
            (None, None) => (None, "built in".to_owned()),
        };
        Some((preset.name, destinations::address(given, preset.name)?, origin))
    };
    preset::ALL.iter().filter_map(service).collect()
}

fn addresses(services: &[(&str, String, String)]) -> String {
    let lines = services.iter().map(|(name, address, origin)| format!("#   {name}: {address} ({origin})\n"));
    format!(
        "# Prompts go to these addresses, unless a workflow file gives one:\n{}",
        lines.collect::<String>()
    )
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
