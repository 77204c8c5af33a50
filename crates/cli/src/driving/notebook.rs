//! What is kept besides journals: what runs have learned about services and steps, and how a live run uses its capacity.
//!
//! Both are aids. A file that cannot be read or written costs nobody a run, so nothing is said about it.

use convoke_engine::{Durations, Metrics};
use convoke_govern::Learned;
use convoke_journal::{StateDir, write_private};
use convoke_model::RunId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn learned_path(state: &StateDir) -> PathBuf {
    state.path().join("learned.json")
}

/// Where a run says how it uses its capacity.
pub fn metrics_path(state: &StateDir, run: &RunId) -> PathBuf {
    state.path().join("runs").join(&*run.0).join("metrics.json")
}

/// What runs have learned.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notes {
    /// How many calls at once services are good for.
    #[serde(default)]
    pub services: Learned,
    /// How long steps take.
    #[serde(default)]
    pub durations: Durations,
}

/// What earlier runs have learned.
pub fn learned(state: &StateDir) -> Notes {
    let text = std::fs::read(learned_path(state)).unwrap_or_default();
    // An earlier version kept services only, by their names.
    let services = || Some(Notes { services: serde_json::from_slice(&text).ok()?, ..Notes::default() });
    serde_json::from_slice(&text).ok().or_else(services).unwrap_or_default()
}

/// Keeps what a run has learned, beside what others have. Of two that end at once, one may be forgotten.
pub fn keep(state: &StateDir, services: &Learned, durations: &Durations) {
    if services.0.is_empty() && durations.0.is_empty() {
        return;
    }
    let mut all = learned(state);
    let now = durations.0.values().map(|known| known.at).max().unwrap_or_default();
    let news = all.durations.learn(durations, now);
    if !news && services.0.is_empty() {
        return;
    }
    all.services.0.extend(services.0.iter().map(|(name, limit)| (name.clone(), *limit)));
    replace(&learned_path(state), &all);
}

/// Forgets what was learned of these services.
pub fn forget(state: &StateDir, services: &BTreeSet<String>) {
    let mut all = learned(state);
    let before = all.services.0.len();
    all.services.0.retain(|name, _| !services.contains(name));
    if all.services.0.len() != before {
        replace(&learned_path(state), &all);
    }
}

/// Says how a run uses its capacity.
pub fn tell(state: &StateDir, run: &RunId, metrics: &Metrics) {
    replace(&metrics_path(state, run), metrics);
}

/// Puts a whole file in place of the old one, so that nobody reads half of it.
fn replace(path: &Path, value: &impl serde::Serialize) {
    let Ok(text) = serde_json::to_vec_pretty(value) else { return };
    let draft = path.with_extension(format!("json.{}", std::process::id()));
    if write_private(&draft, &text).is_err() || std::fs::rename(&draft, path).is_err() {
        let _ = std::fs::remove_file(&draft);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_engine::Known;
    use convoke_govern::LearnedLimit;
    use convoke_model::Timestamp;

    fn of(name: &str, limit: u64) -> Learned {
        let learned = LearnedLimit { limit, known: Some(limit), at: Timestamp(1) };
        Learned([(name.to_owned(), learned)].into())
    }

    #[test]
    fn what_is_learned_adds_up_and_a_broken_file_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        assert_eq!(learned(&state), Notes::default());
        let known = Known { ms: 5, count: 1, at: Timestamp(1) };
        let durations = Durations([("step".to_owned(), known)].into());
        keep(&state, &of("model:a/b", 4), &Durations::default());
        keep(&state, &of("model:c/d", 5), &durations);
        keep(&state, &of("model:a/b", 6), &Durations::default());
        let all = learned(&state);
        assert_eq!((all.services.0.len(), all.services.0["model:a/b"].limit), (2, 6));
        assert_eq!(all.durations, durations);
        std::fs::write(learned_path(&state), "{").unwrap();
        assert_eq!(learned(&state), Notes::default());
    }

    #[test]
    fn what_an_earlier_version_kept_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        std::fs::write(learned_path(&state), serde_json::to_vec(&of("model:a/b", 4)).unwrap()).unwrap();
        assert_eq!(learned(&state).services, of("model:a/b", 4));
    }
}
