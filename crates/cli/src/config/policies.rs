//! `policy`: what agents may do with tools of our own, whatever a workflow says.
//!
//! Policies add up and the strictest verdict counts, so each one said here only makes less possible. A person's own file may choose a
//! policy in the place of the usual one; a project's file adds to whatever holds, because what works in the project could write it.

use super::discovery::PROJECT_FILE;
use super::layer::{Entry, Layer, LayerError, Origin, Scalar};
use crate::cedar;
use convoke_model::{CedarSource, POLICY_PRESETS, PolicySource};
use convoke_plan::compile::named_rules;
use convoke_tools::{Rulebook, read_policy};
use std::path::{Path, PathBuf};

/// The policies that the layers name, read from their files; or what is wrong with them.
pub fn read(layers: &[Layer]) -> Result<Rulebook, Vec<LayerError>> {
    let mut book = Rulebook { standing: Vec::new(), adds_to_usual: true, cedar: cedar::READ };
    let mut faults = Vec::new();
    for entry in layers.iter().flat_map(|layer| &layer.entries).filter(|entry| entry.key == "policy") {
        let Scalar::Text(name) = &entry.value else { continue };
        let source = source(name, &folder(entry));
        match source.and_then(|source| read_policy(&source, cedar::READ).map(|_| source)) {
            Ok(source) => {
                book.adds_to_usual &= is_of_project(entry);
                book.standing.push(source);
            }
            Err(message) => faults.push(LayerError::Value {
                key: entry.key.clone(),
                origin: entry.origin.clone(),
                message,
            }),
        }
    }
    if faults.is_empty() { Ok(book) } else { Err(faults) }
}

fn source(name: &str, folder: &Path) -> Result<PolicySource, String> {
    let name = name.to_owned();
    if POLICY_PRESETS.contains(&name.as_str()) {
        return Ok(PolicySource { name, text: None, cedar: None });
    }
    let file = folder.join(&name);
    let text = text_of(&file)?;
    let rules = named_rules(&text);
    let rules = rules.map(|name| {
        let beside = file.parent().unwrap_or(folder).join(&name);
        text_of(&beside).map(|text| CedarSource { name, text })
    });
    Ok(PolicySource { name, cedar: rules.transpose()?, text: Some(text) })
}

fn text_of(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| {
        let presets = POLICY_PRESETS.join(", ");
        format!(
            "`{}` cannot be read: {error}; name a file beside this one, or one of: {presets}",
            file.display()
        )
    })
}

/// The folder from which a file is named.
fn folder(entry: &Entry) -> PathBuf {
    match &entry.origin {
        Origin::File { path, .. } => path.parent().unwrap_or(Path::new("")).to_owned(),
        _ => PathBuf::new(),
    }
}

fn is_of_project(entry: &Entry) -> bool {
    matches!(&entry.origin, Origin::File { path, .. } if path.file_name().is_some_and(|name| name == PROJECT_FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(folder: &Path, file: &str, text: &str) -> Layer {
        Layer::from_toml(text, Some(folder.join(file))).unwrap()
    }

    #[test]
    fn a_project_adds_a_policy_and_takes_none_away() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("wide.yaml"), "binaries: {allow: [\"*\"]}\n").unwrap();
        let project = || layer(folder.path(), PROJECT_FILE, "policy = 'wide.yaml'");
        let own = layer(folder.path(), "config.toml", "policy = 'read-only'");
        let of_project = read(&[project()]).unwrap();
        assert!(of_project.adds_to_usual, "the usual policy holds beside a project's");
        let both = read(&[own, project()]).unwrap();
        let names: Vec<&str> = both.standing.iter().map(|policy| policy.name.as_str()).collect();
        assert_eq!((names, both.adds_to_usual), (vec!["read-only", "wide.yaml"], false));
    }

    #[test]
    fn a_policy_that_cannot_be_read_is_told_of_before_anything_runs() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bad.yaml"), "binarys: {}\n").unwrap();
        std::fs::write(folder.path().join("rules.yaml"), "extends: develop\ncedar: gone.cedar\n").unwrap();
        for (name, expected) in
            [("gone.yaml", "gone.yaml"), ("bad.yaml", "binarys"), ("rules.yaml", "gone.cedar")]
        {
            let faults =
                read(&[layer(folder.path(), "config.toml", &format!("policy = '{name}'"))]).unwrap_err();
            assert!(faults[0].to_string().contains(expected), "{}", faults[0]);
        }
    }
}
