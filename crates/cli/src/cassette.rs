//! Whether a run's calls to models are recorded to a cassette or replayed from one: `--record`, `--replay`, or the mode that the
//! run was started with.

use crate::args::RunFlags;
use crate::env;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::{Failure, ProviderSettings};
use convoke_providers::names;
use indexmap::IndexMap;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Under this word the run remembers where it is recorded.
pub const RECORDED: &str = "recorded_to";
/// Under this word the run remembers where it is replayed from.
pub const REPLAYED: &str = "replayed_from";

/// What happens to a run's calls to models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CassetteMode {
    /// Models are called, and no cassette is written.
    Off,
    /// A new cassette is made in a folder.
    Record(PathBuf),
    /// The cassette in a folder is gone on with.
    RecordOn(PathBuf),
    /// The cassette in a folder answers.
    Replay(PathBuf),
}

impl CassetteMode {
    /// For a new run.
    pub fn of_run(flags: &RunFlags) -> CassetteMode {
        match (&flags.record, &flags.replay) {
            (Some(folder), _) => CassetteMode::Record(folder.clone()),
            (_, Some(folder)) => CassetteMode::Replay(folder.clone()),
            (None, None) => CassetteMode::Off,
        }
    }

    /// For a run that goes on; its folder is entered afterwards, so what was typed is made independent of it.
    pub fn of_resume(flags: &RunFlags) -> Result<CassetteMode, CommandFailure> {
        let absolute = |folder: PathBuf| {
            std::path::absolute(&folder).map_err(|error| {
                CommandFailure::new(Exit::Usage, format!("folder `{}`: {error}", folder.display()))
            })
        };
        Ok(match CassetteMode::of_run(flags) {
            CassetteMode::Record(folder) => CassetteMode::RecordOn(absolute(folder)?),
            CassetteMode::Replay(folder) => CassetteMode::Replay(absolute(folder)?),
            other => other,
        })
    }

    /// This, or if nothing was said, what the run was started with.
    pub fn or_as_started(self, metadata: &IndexMap<String, Value>) -> CassetteMode {
        let word = |key: &str| metadata.get(key).and_then(Value::as_str).map(PathBuf::from);
        match (self, word(REPLAYED), word(RECORDED)) {
            (CassetteMode::Off, Some(folder), _) => CassetteMode::Replay(folder),
            (CassetteMode::Off, None, Some(folder)) => CassetteMode::RecordOn(folder),
            (said, ..) => said,
        }
    }

    /// What to say about a run that goes on so; its first line may be long gone.
    pub fn announcement(&self) -> Option<String> {
        let (word, folder) = self.memory()?;
        Some(match word {
            REPLAYED => format!("replaying from {}: no model is asked", folder.display()),
            _ => format!("recording to {}", folder.display()),
        })
    }

    /// Whether a cassette answers, so that nothing is sent to a service.
    pub fn is_replay(&self) -> bool {
        matches!(self, CassetteMode::Replay(_))
    }

    /// The word and the folder that a run remembers.
    pub fn memory(&self) -> Option<(&'static str, &Path)> {
        match self {
            CassetteMode::Off => None,
            CassetteMode::Record(folder) | CassetteMode::RecordOn(folder) => Some((RECORDED, folder)),
            CassetteMode::Replay(folder) => Some((REPLAYED, folder)),
        }
    }
}

/// What is said about a run that is recorded or replayed; empty for any other.
pub fn words(metadata: &IndexMap<String, Value>) -> String {
    let word = |key: &str| metadata.get(key).and_then(Value::as_str);
    match (word(REPLAYED), word(RECORDED)) {
        (Some(folder), _) => format!(", replayed from {folder}: no model is asked"),
        (None, Some(folder)) => format!(", recorded to {folder}"),
        (None, None) => String::new(),
    }
}

/// The keys of some providers: in the file, in the variables that it names, in key files.
pub fn own_keys<'a>(providers: impl IntoIterator<Item = &'a ProviderSettings>) -> Vec<String> {
    let providers: Vec<_> = providers.into_iter().collect();
    let files = providers.iter().filter_map(|provider| provider.api_key_file.as_deref());
    let kept: Vec<_> = files.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    let texts = providers.into_iter().flat_map(|provider| {
        let headers = provider.headers.iter().map(|(_, value)| value.as_str());
        provider.api_key.as_deref().into_iter().chain(headers)
    });
    let own = texts.flat_map(|text| match names(text) {
        named if named.is_empty() => vec![text.to_owned()],
        named => named.iter().filter_map(|name| env::get_filled(name)).collect(),
    });
    let kept = kept.into_iter().map(|text| text.trim().to_owned());
    own.chain(kept).collect()
}

/// A cassette that cannot be used refuses the run.
pub fn refused(failure: Failure) -> CommandFailure {
    let refusal = CommandFailure::new(Exit::Refused, failure.message);
    failure.hint.into_iter().fold(refusal, CommandFailure::hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_resumed_run_goes_on_as_it_was_started_unless_told_otherwise() {
        let replayed: IndexMap<_, _> = [(REPLAYED.to_owned(), json!("folder"))].into();
        let recorded: IndexMap<_, _> = [(RECORDED.to_owned(), json!("folder"))].into();
        assert_eq!(CassetteMode::Off.or_as_started(&replayed), CassetteMode::Replay("folder".into()));
        assert_eq!(CassetteMode::Off.or_as_started(&recorded), CassetteMode::RecordOn("folder".into()));
        assert_eq!(CassetteMode::Off.or_as_started(&IndexMap::new()), CassetteMode::Off);
        let other = CassetteMode::Replay("/other".into());
        assert_eq!(other.clone().or_as_started(&recorded), other);
    }

    #[test]
    fn what_a_run_remembers_is_said() {
        let replayed: IndexMap<_, _> = [(REPLAYED.to_owned(), json!("folder"))].into();
        assert_eq!(words(&replayed), ", replayed from folder: no model is asked");
        assert_eq!(words(&IndexMap::new()), "");
    }
}
