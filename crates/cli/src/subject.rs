//! What `run`, `check` and `plan` are about: a file, a preset with its inputs, or a goal.

use crate::compiling;
use crate::config::Config;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::inputs;
use crate::organisation;
use crate::presets::{self, Found, PREFIX};
use crate::sources::Disk;
use crate::trust::{self, Origin, Place};
use convoke_plan::compile::{Compiled, GivenInput, check_declared, check_inputs};
use convoke_plan::generate::{Made, Preset, files, with_inputs, yaml};
use convoke_plan::source::manifest_data;
use convoke_plan::{Diagnostic, Plan, Severity};
use std::path::{Path, PathBuf};

/// Something that can be compiled and run.
pub struct Subject {
    /// The file; `preset:NAME` for what was made.
    pub file: PathBuf,
    /// The text of what was made.
    made: Option<String>,
    /// Inputs of the run.
    pub given: Vec<(String, GivenInput)>,
    /// What models would know by name alone.
    bare: BareNames,
    /// What was found while it was made; with an error there is nothing to compile.
    found: Vec<Diagnostic>,
    /// How it came to this command.
    pub origin: Origin,
}

/// Where names that reach models without what they stand for are looked for.
enum BareNames {
    /// Nowhere: a file may do with its inputs what it likes.
    Nowhere,
    /// In the inputs of a preset that is a file.
    OfFile,
    /// They are known, because the preset was made from its inputs.
    Found(Vec<Diagnostic>),
}

impl Subject {
    /// What a word of the command line stands for.
    pub fn of(file: &Path, given: Vec<(String, GivenInput)>, down: bool) -> Result<Subject, CommandFailure> {
        if let Some(words) = file.to_str().and_then(|text| text.strip_prefix(organisation::PREFIX)) {
            let (text, found) = organisation::manifest(words, &given, down)?;
            return Ok(Subject { given, found, ..Subject::made_as(file, text) });
        }
        if down {
            let failure = CommandFailure::new(Exit::Usage, "--down is about superiors and their reports");
            return Err(failure.hint("it goes with org:FILE or org:FILE#DEPARTMENT"));
        }
        if let Some(address) = file.to_str().filter(|text| trust::is_url(text)) {
            let fetched = Subject::made_as(file, trust::fetch(address)?);
            return Ok(Subject { given, origin: Origin::Fetched, ..fetched });
        }
        let found = Vec::new();
        let Some(name) = file.to_str().and_then(|text| text.strip_prefix(PREFIX)) else {
            let (made, bare, origin) = (None, BareNames::Nowhere, Origin::Named);
            return Ok(Subject { file: file.to_owned(), made, given, bare, found, origin });
        };
        match presets::find(name)? {
            Found::File { path, is_own, .. } => {
                let origin = if is_own { Origin::Named } else { Origin::Found };
                Ok(Subject { file: path, made: None, given, bare: BareNames::OfFile, found, origin })
            }
            Found::Ours(preset) => {
                let made = make(preset, &given)?;
                Ok(Subject {
                    bare: BareNames::Found(made.warnings),
                    ..Subject::made_as(file, made.document.yaml())
                })
            }
        }
    }

    /// A text that was made, under a name that says what it is.
    pub fn made(name: &str, text: String) -> Subject {
        Subject::made_as(Path::new(name), text)
    }

    fn made_as(file: &Path, text: String) -> Subject {
        let (given, bare, found, origin) = (Vec::new(), BareNames::Nowhere, Vec::new(), Origin::Named);
        Subject { file: file.to_owned(), made: Some(text), given, bare, found, origin }
    }

    /// Refuses what nobody named and nobody trusts. `found` says that a caller of the API named it, and no person.
    pub fn require_trust(&self, config: &Config, found: bool, plan: &Plan) -> Result<(), CommandFailure> {
        let origin = if found && self.origin == Origin::Named { Origin::Found } else { self.origin };
        trust::require(config, origin, &Place::of(&self.file), plan)
    }

    /// Compiles it.
    pub fn compile(&self, config: &Config, provider: Option<&str>) -> Result<Compiled, CommandFailure> {
        if self.found.iter().any(|found| found.severity == Severity::Error) {
            return Ok(Compiled { plan: None, diagnostics: self.found.clone() });
        }
        let mut compiled = match &self.made {
            Some(text) if self.origin == Origin::Fetched => {
                compiling::compile_fetched(&self.file.to_string_lossy(), text, config, provider)
            }
            Some(text) => compiling::compile_text(&self.file.to_string_lossy(), text, config, provider),
            None => compiling::compile_file(&self.file, config, provider)?,
        };
        let bare = compiled.plan.as_ref().map(|plan| self.bare_names(plan)).unwrap_or_default();
        compiled.diagnostics.extend(bare);
        compiled.diagnostics.extend(self.found.iter().cloned());
        Ok(compiled)
    }

    fn bare_names(&self, plan: &Plan) -> Vec<Diagnostic> {
        match &self.bare {
            _ if files::can_read(plan) => Vec::new(),
            BareNames::Nowhere => Vec::new(),
            BareNames::Found(found) => found.clone(),
            BareNames::OfFile => {
                // Values that do not fit are refused before anything starts.
                let values = check_inputs(plan.root(), &self.given).unwrap_or_default();
                files::bare_names(plan, &values, &Disk::here())
            }
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

fn make(preset: &Preset, given: &[(String, GivenInput)]) -> Result<Made, CommandFailure> {
    let values = check_declared(&preset.declared(), given).map_err(|errors| inputs::refused(&errors))?;
    preset.manifest(&values, &Disk::here()).map_err(|why| {
        let words = format!("preset `{}`: {why}", preset.name);
        CommandFailure::new(Exit::Refused, words)
            .hint(format!("`convoke presets {}` says what it takes", preset.name))
    })
}
