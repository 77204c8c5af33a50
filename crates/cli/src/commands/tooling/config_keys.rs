//! `convoke config keys` and `convoke config variables`: what a configuration may say, from the tables that read it.
//!
//! The reference of the documents is printed from these commands, so that it cannot part from the program.

use crate::args::Format;
use crate::config::keys::{KEYS, Kind, expected};
use crate::config::{DEFAULTS, Entry, Layer};
use crate::console::Console;
use crate::env;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use serde_json::json;

/// One key, as a reader needs it.
struct Row {
    key: String,
    takes: String,
    default: Option<String>,
    variable: Option<&'static str>,
}

/// Prints every key.
pub fn keys(console: &Console, format: Format) -> Result<Exit, CommandFailure> {
    let defaults = Layer::from_toml(DEFAULTS, None).expect("the built-in defaults are TOML").entries;
    let rows: Vec<Row> = KEYS.iter().map(|(key, kind)| row(key, *kind, &defaults)).collect();
    match format {
        Format::Json => console.json(&rows.iter().map(record).collect::<Vec<_>>())?,
        Format::Text => console.data(&rows.iter().map(line).collect::<String>())?,
    }
    Ok(Exit::Success)
}

fn row(key: &str, kind: Kind, defaults: &[Entry]) -> Row {
    Row {
        key: key.replace('*', "NAME"),
        takes: expected(kind),
        default: defaults.iter().find(|entry| entry.key == key).map(|entry| entry.value.to_string()),
        variable: env::LIST.iter().find(|variable| variable.key == Some(key)).map(|variable| variable.name),
    }
}

fn record(row: &Row) -> serde_json::Value {
    json!({"key": row.key, "takes": row.takes, "default": row.default, "variable": row.variable})
}

fn line(row: &Row) -> String {
    let default = row.default.as_deref().map(|value| format!(", default {value}")).unwrap_or_default();
    let variable = row.variable.map(|name| format!(" ({name})")).unwrap_or_default();
    format!("{:<40}  {}{default}{variable}\n", row.key, row.takes)
}

/// Prints every variable.
pub fn variables(console: &Console, format: Format) -> Result<Exit, CommandFailure> {
    match format {
        Format::Json => {
            let record = |variable: &env::Variable| json!({"name": variable.name, "key": variable.key, "meaning": variable.meaning});
            console.json(&env::LIST.iter().map(record).collect::<Vec<_>>())?;
        }
        Format::Text => {
            let line = |variable: &env::Variable| format!("{:<32}  {}\n", variable.name, variable.meaning);
            console.data(&env::LIST.iter().map(line).collect::<String>())?;
        }
    }
    Ok(Exit::Success)
}
