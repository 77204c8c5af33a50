//! `org:FILE#DEPARTMENT`: a file that describes an organisation becomes a manifest.

use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::view::format::plural;
use convoke_knowledge::org::{Chart, Flow, Made, Scope, Text, load, manifest as manifest_of};
use convoke_model::nearest;
use convoke_plan::Diagnostic;
use convoke_plan::compile::GivenInput;
use convoke_plan::diagnostic::{SourceFile, Span};
use convoke_plan::generate::yaml;
use convoke_plan::source::{Organisation, OrganisationError};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// How an organisation is named on the command line.
pub const PREFIX: &str = "org:";

/// The largest file that is read at all.
const LARGEST: u64 = 32 << 20;

/// The manifest of what a word behind the prefix stands for, and what was found. With an error among the findings the text is empty.
pub fn manifest(
    words: &str,
    given: &[(String, GivenInput)],
    down: bool,
) -> Result<(String, Vec<Diagnostic>), CommandFailure> {
    let (file, department) = match words.split_once('#') {
        Some((file, department)) => (file, Some(department)),
        None => (words, None),
    };
    let text = read(Path::new(file))?;
    let (organisation, found) = load(std::slice::from_ref(&text));
    let Some(organisation) = organisation else { return Ok((String::new(), found)) };
    let scope = match department {
        None => Scope::All,
        Some(word) => Scope::Department(department_of(&organisation.chart, word, file)?),
    };
    let flow = if down { Flow::Down } else { Flow::Up };
    let Made { manifest, notes } = manifest_of(&organisation.chart, &scope, flow, &query(given), file);
    let source = Arc::new(SourceFile { path: file.to_owned(), text: text.text });
    let outside = |note: String| {
        let place = Span { file: source.clone(), range: 0..0 };
        Diagnostic::warning("org::outside", note, place, "described here")
    };
    Ok((yaml::print(&manifest), notes.into_iter().map(outside).collect()))
}

/// What a file that a role is taken from says.
pub fn roles(file: &SourceFile) -> Result<Organisation, OrganisationError> {
    let text = Text { path: file.path.clone(), text: file.text.clone() };
    convoke_knowledge::org::roles(&text).map_err(OrganisationError::Broken)
}

/// The query that was given, so that a printed manifest runs by itself.
fn query(given: &[(String, GivenInput)]) -> String {
    let stated = given.iter().find(|(name, _)| name == "query").map(|(_, value)| value);
    match stated {
        Some(GivenInput::Text(text)) => text.clone(),
        Some(GivenInput::Json(Value::String(text))) => text.clone(),
        _ => String::new(),
    }
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Text, CommandFailure> {
    let shown = path.display().to_string();
    let refuse = |why: String| CommandFailure::new(Exit::Refused, format!("`{shown}` cannot be read: {why}"));
    let size = std::fs::metadata(path).map_err(|error| refuse(error.to_string()))?.len();
    if size > LARGEST {
        return Err(refuse(format!("it has {size} bytes, more than {LARGEST}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
    Ok(Text { path: shown, text })
}

/// The department that a word stands for; a refusal names the nearest.
pub fn department_of(chart: &Chart, word: &str, file: &str) -> Result<String, CommandFailure> {
    if let Some(found) = chart.department(word) {
        return Ok(found.clone());
    }
    let names: Vec<&str> = chart.departments.keys().map(|iri| convoke_knowledge::vocab::local(iri)).collect();
    let words = format!(
        "`{file}` describes no department `{word}`; it has {}",
        plural(names.len() as u64, "department")
    );
    let failure = CommandFailure::new(Exit::Refused, words);
    Err(match nearest(word, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!("`convoke org show {file}` lists them")),
    })
}
