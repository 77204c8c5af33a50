//! Presets: those of the program, and the manifests that a project or a user keeps in a folder.
//!
//! A name is looked for in the project, then with the user, then in the program, so that a person's own goes over what
//! comes with it.

use crate::compiling;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::nearest;
use convoke_plan::Input;
use convoke_plan::generate::{self, Preset};
use etcetera::BaseStrategy;
use indexmap::IndexMap;
use std::path::{Path, PathBuf};

/// How a preset is named on the command line.
pub const PREFIX: &str = "preset:";

/// Endings of manifests.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// A preset that was found.
#[derive(Debug, Clone)]
pub enum Found {
    /// One of the program.
    Ours(&'static Preset),
    /// A manifest in a folder.
    File {
        /// Its name: that of the file.
        name: String,
        /// Where it is.
        path: PathBuf,
        /// Where it comes from, in a word: `project` or `user`.
        origin: &'static str,
        /// Whether it is the person's own: a project's lies in a folder that was only opened.
        is_own: bool,
    },
}

impl Found {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Found::Ours(preset) => preset.name,
            Found::File { name, .. } => name,
        }
    }

    /// Where it comes from: the program, the project or the user.
    pub fn origin(&self) -> &'static str {
        match self {
            Found::Ours(_) => "convoke",
            Found::File { origin, .. } => origin,
        }
    }
}

/// What a preset does and takes.
pub struct Summary {
    /// What it does; why not, if it cannot be used.
    pub words: String,
    /// What it takes.
    pub inputs: IndexMap<String, Input>,
    /// Whether it could be run.
    pub usable: bool,
}

/// Every preset, each name once: the project's, the user's, then the program's.
pub fn all() -> Vec<Found> {
    let mut found = in_folder(Path::new(".convoke/presets"), "project");
    if let Ok(folders) = etcetera::base_strategy::Xdg::new() {
        found.extend(in_folder(&folders.config_dir().join("convoke/presets"), "user"));
    }
    found.extend(generate::presets().iter().map(Found::Ours));
    let mut names = std::collections::HashSet::new();
    found.retain(|preset| names.insert(preset.name().to_owned()));
    found
}

/// The preset of a name; a refusal names the nearest.
pub fn find(name: &str) -> Result<Found, CommandFailure> {
    let all = all();
    if let Some(found) = all.iter().find(|preset| preset.name() == name) {
        return alone(found);
    }
    if name.is_empty() {
        let failure = CommandFailure::new(Exit::Refused, "no preset is named");
        return Err(failure.hint("write `preset:NAME`; `convoke presets` lists them"));
    }
    let failure = CommandFailure::new(Exit::Refused, format!("there is no preset `{name}`"));
    Err(match nearest(name, all.iter().map(Found::name)) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("`convoke presets` lists them"),
    })
}

/// How the preset is called that a word stands for which is no file; `None` where there is a file, or no preset.
pub fn of_that_name(file: &Path) -> Option<String> {
    let name = file.to_str().filter(|_| !file.exists())?;
    all().iter().find(|preset| preset.name() == name).map(|preset| format!("{PREFIX}{}", preset.name()))
}

/// A preset with exactly one file: of two files either could be meant.
fn alone(found: &Found) -> Result<Found, CommandFailure> {
    let Found::File { name, path, .. } = found else { return Ok(found.clone()) };
    let others = ENDINGS.iter().map(|ending| path.with_extension(ending));
    match others.filter(|other| other != path).find(|other| other.exists()) {
        None => Ok(found.clone()),
        Some(other) => {
            let message =
                format!("preset `{name}` is in two files: `{}` and `{}`", path.display(), other.display());
            Err(CommandFailure::new(Exit::Refused, message).hint("keep one of the two"))
        }
    }
}

fn in_folder(folder: &Path, origin: &'static str) -> Vec<Found> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_manifest = |path: &PathBuf| {
        path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| ENDINGS.contains(&ending))
    };
    let named = |path: PathBuf| {
        let name = path.file_stem()?.to_str()?.to_owned();
        Some(Found::File { name, path, origin, is_own: origin == "user" })
    };
    let mut found: Vec<_> = entries.filter(is_manifest).filter_map(named).collect();
    found.sort_by(|a, b| a.name().cmp(b.name()));
    found
}

/// What a preset does and takes; a file is compiled to see.
pub fn summary(console: &Console, preset: &Found) -> Summary {
    let (path, compiled) = match preset {
        Found::Ours(preset) => {
            return Summary { words: preset.about.to_owned(), inputs: preset.declared(), usable: true };
        }
        Found::File { path, .. } => (path, compiling::compile_file(path, &console.config, None)),
    };
    match compiled.ok().and_then(|compiled| compiled.plan) {
        Some(plan) => Summary {
            words: plan.root().description.clone().unwrap_or_default(),
            inputs: plan.root().inputs.clone().unwrap_or_default(),
            usable: true,
        },
        None => {
            let words = format!("cannot be used: see `convoke check {}`", path.display());
            Summary { words, inputs: IndexMap::new(), usable: false }
        }
    }
}
