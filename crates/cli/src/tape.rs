//! Whether a run's calls to models are written down, or played back: `--record`, `--replay`, or what the run was
//! started with.

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
pub enum Tape {
    /// Models are asked, and nobody writes it down.
    Off,
    /// A new cassette is made in a folder.
    Record(PathBuf),
    /// The cassette in a folder is gone on with.
    RecordOn(PathBuf),
    /// The cassette in a folder answers.
    Replay(PathBuf),
}

impl Tape {
    /// For a new run.
    pub fn of_run(flags: &RunFlags) -> Tape {
        match (&flags.record, &flags.replay) {
            (Some(folder), _) => Tape::Record(folder.clone()),
            (_, Some(folder)) => Tape::Replay(folder.clone()),
            (None, None) => Tape::Off,
        }
    }

    /// For a run that goes on; its folder is entered afterwards, so what was typed is made independent of it.
    pub fn of_resume(flags: &RunFlags) -> Result<Tape, CommandFailure> {
        let absolute = |folder: PathBuf| {
            std::path::absolute(&folder).map_err(|error| {
                CommandFailure::new(Exit::Usage, format!("folder `{}`: {error}", folder.display()))
            })
        };
        Ok(match Tape::of_run(flags) {
            Tape::Record(folder) => Tape::RecordOn(absolute(folder)?),
            Tape::Replay(folder) => Tape::Replay(absolute(folder)?),
            other => other,
        })
    }

    /// This, or if nothing was said, what the run was started with.
    pub fn or_as_started(self, metadata: &IndexMap<String, Value>) -> Tape {
        let word = |key: &str| metadata.get(key).and_then(Value::as_str).map(PathBuf::from);
        match (self, word(REPLAYED), word(RECORDED)) {
            (Tape::Off, Some(folder), _) => Tape::Replay(folder),
            (Tape::Off, None, Some(folder)) => Tape::RecordOn(folder),
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

    /// Whether a cassette answers, so that nothing is sent to anybody.
    pub fn is_replay(&self) -> bool {
        matches!(self, Tape::Replay(_))
    }

    /// The word and the folder that a run remembers.
    pub fn memory(&self) -> Option<(&'static str, &Path)> {
        match self {
            Tape::Off => None,
            Tape::Record(folder) | Tape::RecordOn(folder) => Some((RECORDED, folder)),
            Tape::Replay(folder) => Some((REPLAYED, folder)),
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
        let replayed: IndexMap<_, _> = [(REPLAYED.to_owned(), json!("tape"))].into();
        let recorded: IndexMap<_, _> = [(RECORDED.to_owned(), json!("tape"))].into();
        assert_eq!(Tape::Off.or_as_started(&replayed), Tape::Replay("tape".into()));
        assert_eq!(Tape::Off.or_as_started(&recorded), Tape::RecordOn("tape".into()));
        assert_eq!(Tape::Off.or_as_started(&IndexMap::new()), Tape::Off);
        let other = Tape::Replay("/other".into());
        assert_eq!(other.clone().or_as_started(&recorded), other);
    }

    #[test]
    fn what_a_run_remembers_is_said() {
        let replayed: IndexMap<_, _> = [(REPLAYED.to_owned(), json!("tape"))].into();
        assert_eq!(words(&replayed), ", replayed from tape: no model is asked");
        assert_eq!(words(&IndexMap::new()), "");
    }
}
