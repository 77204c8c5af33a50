//! Inputs as they are given on the command line and in a file.
//!
//! What they must be is the workflow's business (`plan::compile::check_inputs`); here they are only read.

use crate::args::InputArgs;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::sources::Disk;
use convoke_plan::Plan;
use convoke_plan::compile::{GivenInput, InputError};
use convoke_plan::generate::files;
use convoke_plan::value::{SetType, read_set};
use serde_json::{Map, Value};
use std::path::Path;

/// Every input, the file's first, so that the command line goes over it.
pub fn given(args: &InputArgs) -> Result<Vec<(String, GivenInput)>, CommandFailure> {
    let from_file = args.input_file.as_deref().map(read_file).transpose()?.unwrap_or_default();
    let from_file = from_file.into_iter().map(|(name, value)| (name, GivenInput::Json(value)));
    let typed = args.inputs.iter().map(|(name, text)| (name.clone(), GivenInput::Text(text.clone())));
    let mut all: indexmap::IndexMap<_, _> = from_file.collect();
    all.extend(typed);
    Ok(all.into_iter().collect())
}

/// Everything that is wrong with the inputs, as one failure.
pub fn refused(errors: &[InputError]) -> CommandFailure {
    let (first, rest) = errors.split_first().expect("a refusal has a reason");
    let mut failure = CommandFailure::new(Exit::Refused, first.message.clone());
    failure.causes = rest.iter().map(|error| error.message.clone()).collect();
    failure.hints =
        errors.iter().filter_map(|error| Some(format!("{}: {}", error.name, error.help.as_ref()?))).collect();
    failure.hint("give inputs with -i NAME=VALUE or --input-file FILE")
}

/// The inputs of a run with the files that they name (`files: true`) read; of what was left out the person is told.
pub fn with_files(
    console: &Console,
    plan: &Plan,
    mut inputs: Map<String, Value>,
) -> Result<Map<String, Value>, CommandFailure> {
    let found = files::read_inputs(plan.root().inputs.as_ref(), &mut inputs, &Disk::here());
    for warning in found.map_err(|error| refused(&[error]))? {
        console.finding(&warning, false);
    }
    Ok(inputs)
}

fn read_file(path: &Path) -> Result<Map<String, Value>, CommandFailure> {
    let refuse =
        |why: String| CommandFailure::new(Exit::Refused, format!("input file `{}`: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    let value = parse(&text).map_err(refuse)?;
    match value {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        _ => Err(refuse("it must hold a mapping of names to values".to_owned())),
    }
}

/// JSON first, because its numbers and texts must stay exactly as they are; YAML otherwise, read as workflow files are
/// (`yes` and `007` are words). The strict reader only finds where a broken file is broken.
fn parse(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"));
    }
    let seen: Value = serde_saphyr::from_str(text).map_err(|error| format!("not valid YAML: {error}"))?;
    match seen {
        Value::Object(_) => read_set(text, SetType::Dict).map_err(|error| error.to_string()),
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(name: &str, text: &str) -> Result<Map<String, Value>, CommandFailure> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        read_file(&path)
    }

    #[test]
    fn a_file_may_be_json_or_yaml() {
        let expected = json!({"a": 1, "b": ["x", true], "c": "007"});
        let json = read("i.json", "{\"a\": 1, \"b\": [\"x\", true], \"c\": \"007\"}").unwrap();
        let yaml = read("i.yaml", "a: 1\nb: [x, true]\nc: \"007\"\n").unwrap();
        assert_eq!((Value::Object(json), Value::Object(yaml)), (expected.clone(), expected));
    }

    #[test]
    fn words_of_yaml_stay_words() {
        let read = read("i.yaml", "a: [yes, no, on, 0x10, true]\n").unwrap();
        assert_eq!(Value::Object(read), json!({"a": ["yes", "no", "on", 16, true]}));
    }

    #[test]
    fn what_is_no_mapping_is_refused_by_name() {
        for text in ["[1]", "a: [", "{\"a\":", "just text"] {
            let failure = read("i.yaml", text).unwrap_err();
            assert_eq!(failure.exit, Exit::Refused);
            assert!(failure.message.contains("i.yaml"), "{}", failure.message);
        }
        assert!(read("i.yaml", "").unwrap().is_empty());
    }

    #[test]
    fn the_command_line_goes_over_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("i.json");
        std::fs::write(&path, "{\"a\": 1, \"b\": 2}").unwrap();
        let args = InputArgs { inputs: vec![("a".into(), "x".into())], input_file: Some(path), down: false };
        let all = given(&args).unwrap();
        let expected = [
            ("a".to_owned(), GivenInput::Text("x".to_owned())),
            ("b".to_owned(), GivenInput::Json(json!(2))),
        ];
        assert_eq!(all, expected);
    }
}
