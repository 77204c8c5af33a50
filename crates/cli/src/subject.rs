//! What `run`, `check` and `plan` are about: a file, a preset with its inputs, or a goal.

use crate::compiling;
use crate::config::Config;
use crate::failure::CommandFailure;
use crate::inputs;
use crate::presets::{self, Found, PREFIX};
use crate::sources::Disk;
use convoke_plan::compile::{Compiled, GivenInput, check_declared, check_inputs};
use convoke_plan::generate::{Preset, with_inputs, yaml};
use convoke_plan::source::manifest_data;
use convoke_plan::{Diagnostic, Plan};
use std::path::{Path, PathBuf};

/// Something that can be compiled and run.
pub struct Subject {
    /// The file; `preset:NAME` for what was made.
    pub file: PathBuf,
    /// The text of what was made.
    made: Option<String>,
    /// Inputs of the run.
    pub given: Vec<(String, GivenInput)>,
}

impl Subject {
    /// What a word of the command line stands for.
    pub fn of(file: &Path, given: Vec<(String, GivenInput)>) -> Result<Subject, CommandFailure> {
        let Some(name) = file.to_str().and_then(|text| text.strip_prefix(PREFIX)) else {
            return Ok(Subject { file: file.to_owned(), made: None, given });
        };
        match presets::find(name)? {
            Found::File { path, .. } => Ok(Subject { file: path, made: None, given }),
            Found::Ours(preset) => {
                Ok(Subject { file: file.to_owned(), made: Some(make(preset, &given)?), given: Vec::new() })
            }
        }
    }

    /// A text that was made, under a name that says what it is.
    pub fn made(name: &str, text: String) -> Subject {
        Subject { file: name.into(), made: Some(text), given: Vec::new() }
    }

    /// Compiles it.
    pub fn compile(&self, config: &Config, provider: Option<&str>) -> Result<Compiled, CommandFailure> {
        match &self.made {
            Some(text) => Ok(compiling::compile_text(&self.file.to_string_lossy(), text, config, provider)),
            None => compiling::compile_file(&self.file, config, provider),
        }
    }

    /// Refuses inputs that a run would refuse. Without any, nothing is asked of them: a plan is the same for all.
    pub fn refuse_inputs(&self, plan: &Plan) -> Result<(), CommandFailure> {
        match self.given.is_empty() {
            true => Ok(()),
            false => {
                check_inputs(plan.root(), &self.given).map(drop).map_err(|errors| inputs::refused(&errors))
            }
        }
    }

    /// The manifest that would run, with the inputs that were given: saved, it runs by itself.
    pub fn manifest(&self, plan: &Plan) -> Result<Result<String, Vec<Diagnostic>>, CommandFailure> {
        if let Some(text) = &self.made {
            return Ok(Ok(text.clone()));
        }
        let mut declared = plan.root().inputs.clone().unwrap_or_default();
        declared.retain(|name, _| self.given.iter().any(|(given, _)| given == name));
        let given = check_declared(&declared, &self.given).map_err(|errors| inputs::refused(&errors))?;
        let path = self.file.to_string_lossy();
        let (data, found) = manifest_data(&path, &Disk::for_file(&path));
        Ok(data.map(|data| yaml::print(&with_inputs(data, &given))).ok_or(found))
    }
}

fn make(preset: &Preset, given: &[(String, GivenInput)]) -> Result<String, CommandFailure> {
    let values = check_declared(&preset.declared(), given).map_err(|errors| inputs::refused(&errors))?;
    let made = preset.manifest(&values).map_err(|why| {
        let words = format!("preset `{}`: {why}", preset.name);
        CommandFailure::new(crate::exit::Exit::Refused, words)
            .hint(format!("`convoke presets {}` says what it takes", preset.name))
    })?;
    Ok(made.yaml())
}
