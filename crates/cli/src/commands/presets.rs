//! `convoke presets`: manifests that are made from a few inputs.

use crate::args::{Format, PresetsArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::presets::{self, Found, Summary};
use convoke_plan::Input;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Lists all presets, or says all about one.
pub fn run(console: &Console, args: &PresetsArgs) -> Result<Exit, CommandFailure> {
    let found = match &args.name {
        Some(name) => vec![presets::find(name.strip_prefix(presets::PREFIX).unwrap_or(name))?],
        None => presets::all(),
    };
    let found: Vec<_> =
        found.into_iter().map(|preset| (presets::summary(console, &preset), preset)).collect();
    if let (Some(_), [(summary, preset)]) = (&args.name, found.as_slice())
        && !summary.usable
    {
        let message = format!("preset `{}` {}", preset.name(), summary.words);
        return Err(CommandFailure::new(Exit::Refused, message));
    }
    match (args.format, args.name.is_some()) {
        (Format::Json, _) => console.json(&found.iter().map(record).collect::<Vec<_>>())?,
        (Format::Text, false) => console.data(&list(&found))?,
        (Format::Text, true) => console.data(&found.iter().map(page).collect::<String>())?,
    }
    Ok(Exit::Success)
}

fn record((summary, preset): &(Summary, Found)) -> Value {
    let path = match preset {
        Found::Ours(_) => Value::Null,
        Found::File { path, .. } => json!(path.display().to_string()),
    };
    let inputs: serde_json::Map<String, Value> =
        summary.inputs.iter().map(|(name, input)| (name.clone(), described(input))).collect();
    json!({
        "name": preset.name(), "about": summary.words, "from": preset.origin(), "file": path, "inputs": inputs,
    })
}

/// An input, in the words of files.
fn described(input: &Input) -> Value {
    json!({
        "type": input.ty.word(), "required": input.required, "default": input.default,
        "description": input.description,
    })
}

fn list(found: &[(Summary, Found)]) -> String {
    let width = found.iter().map(|(_, preset)| preset.name().len()).max().unwrap_or(0);
    let mut text = String::new();
    for (summary, preset) in found {
        let origin = match preset {
            Found::Ours(_) => String::new(),
            Found::File { origin, .. } => format!(" ({origin})"),
        };
        let needed: Vec<&str> = summary
            .inputs
            .iter()
            .filter(|(_, input)| is_needed(input))
            .map(|(name, _)| name.as_str())
            .collect();
        let takes = if needed.is_empty() { String::new() } else { format!("  [{}]", needed.join(", ")) };
        let line = format!("{:<width$}  {}{origin}{takes}", preset.name(), summary.words);
        writeln!(text, "{}", line.trim_end()).expect("text takes text");
    }
    text
}

fn page((summary, preset): &(Summary, Found)) -> String {
    let mut text = format!("{}: {}\n", preset.name(), summary.words);
    if let Found::File { path, .. } = preset {
        writeln!(text, "  file: {}", path.display()).expect("text takes text");
    }
    let width = summary.inputs.keys().map(String::len).max().unwrap_or(0);
    for (name, input) in &summary.inputs {
        let line = format!("  {name:<width$}  {:<8} {}{}", input.ty.word(), words(input), otherwise(input));
        writeln!(text, "{}", line.trim_end()).expect("text takes text");
    }
    let needed = summary.inputs.iter().filter(|(_, input)| is_needed(input));
    let example: String = needed.map(|(name, input)| format!(" -i {name}={}", sample(input))).collect();
    writeln!(text, "\nconvoke run {}{}{example}", presets::PREFIX, preset.name()).expect("text takes text");
    text
}

/// Whether a value must be given.
fn is_needed(input: &Input) -> bool {
    input.required && input.default.is_none()
}

fn words(input: &Input) -> &str {
    input.description.as_deref().unwrap_or_default()
}

fn otherwise(input: &Input) -> String {
    match &input.default {
        _ if is_needed(input) => " (required)".to_owned(),
        None => String::new(),
        Some(Value::String(text)) if text.is_empty() => String::new(),
        Some(value) => format!(" (default {value})"),
    }
}

fn sample(input: &Input) -> &'static str {
    match input.ty.word() {
        "array" => "'[\"…\"]'",
        "object" => "'{…}'",
        "number" => "N",
        "boolean" => "true",
        _ => "'…'",
    }
}
