//! `convoke presets`: manifests that are made from a few inputs.

use crate::args::{Format, PresetsArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::presets::{self, About, Found};
use convoke_plan::Input;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Lists all presets, or says all about one.
pub fn run(console: &Console, args: &PresetsArgs) -> Result<Exit, CommandFailure> {
    let found = match &args.name {
        Some(name) => vec![presets::find(name.strip_prefix(presets::PREFIX).unwrap_or(name))?],
        None => presets::all(),
    };
    let found: Vec<_> = found.into_iter().map(|preset| (presets::about(console, &preset), preset)).collect();
    if let (Some(_), [(about, preset)]) = (&args.name, found.as_slice())
        && !about.usable
    {
        let message = format!("preset `{}` {}", preset.name(), about.words);
        return Err(CommandFailure::new(Exit::Refused, message));
    }
    match (args.format, args.name.is_some()) {
        (Format::Json, _) => console.json(&found.iter().map(record).collect::<Vec<_>>())?,
        (Format::Text, false) => console.data(&list(&found))?,
        (Format::Text, true) => console.data(&found.iter().map(page).collect::<String>())?,
    }
    Ok(Exit::Success)
}

fn record((about, preset): &(About, Found)) -> Value {
    let path = match preset {
        Found::Ours(_) => Value::Null,
        Found::File { path, .. } => json!(path.display().to_string()),
    };
    let inputs: serde_json::Map<String, Value> =
        about.inputs.iter().map(|(name, input)| (name.clone(), described(input))).collect();
    json!({
        "name": preset.name(), "about": about.words, "from": preset.whose(), "file": path, "inputs": inputs,
    })
}

/// An input, in the words of files.
fn described(input: &Input) -> Value {
    json!({
        "type": input.ty.word(), "required": input.required, "default": input.default,
        "description": input.description,
    })
}

fn list(found: &[(About, Found)]) -> String {
    let width = found.iter().map(|(_, preset)| preset.name().len()).max().unwrap_or(0);
    let mut text = String::new();
    for (about, preset) in found {
        let whose = match preset {
            Found::Ours(_) => String::new(),
            Found::File { whose, .. } => format!(" ({whose})"),
        };
        let needed: Vec<&str> = about
            .inputs
            .iter()
            .filter(|(_, input)| is_needed(input))
            .map(|(name, _)| name.as_str())
            .collect();
        let takes = if needed.is_empty() { String::new() } else { format!("  [{}]", needed.join(", ")) };
        let line = format!("{:<width$}  {}{whose}{takes}", preset.name(), about.words);
        writeln!(text, "{}", line.trim_end()).expect("text takes text");
    }
    text
}

fn page((about, preset): &(About, Found)) -> String {
    let mut text = format!("{}: {}\n", preset.name(), about.words);
    if let Found::File { path, .. } = preset {
        writeln!(text, "  file: {}", path.display()).expect("text takes text");
    }
    let width = about.inputs.keys().map(String::len).max().unwrap_or(0);
    for (name, input) in &about.inputs {
        let line = format!("  {name:<width$}  {:<8} {}{}", input.ty.word(), words(input), otherwise(input));
        writeln!(text, "{}", line.trim_end()).expect("text takes text");
    }
    let needed = about.inputs.iter().filter(|(_, input)| is_needed(input));
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
