//! Statistics that runs leave to later runs: how many calls at once a service is good for, and how long steps take.
//!
//! One file of the state directory, `learned.json`. It is an aid: a file that cannot be read counts as empty, and one that cannot
//! be written changes no run, so no error leaves this module. The file is replaced as a whole, so a reader never sees half of
//! it. Of two runs that end at the same moment, the statistics of one may be lost.

use crate::capacity::Durations;
use convoke_failpoint::failpoint;
use convoke_govern::Learned;
use convoke_journal::{StateDir, replace_private};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The statistics of all runs of a state directory.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedStatistics {
    /// How many calls at once services are good for.
    #[serde(default)]
    pub services: Learned,
    /// How long steps take.
    #[serde(default)]
    pub durations: Durations,
}

impl LearnedStatistics {
    /// The statistics that earlier runs have left.
    pub fn load(state: &StateDir) -> LearnedStatistics {
        let text = std::fs::read(path(state)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Adds the statistics of a run to those of all others.
    pub fn add(state: &StateDir, services: &Learned, durations: &Durations) {
        if services.0.is_empty() && durations.0.is_empty() {
            return;
        }
        let mut all = LearnedStatistics::load(state);
        let now = durations.0.values().map(|known| known.at).max().unwrap_or_default();
        let changed = all.durations.learn(durations, now);
        if !changed && services.0.is_empty() {
            return;
        }
        all.services.0.extend(services.0.iter().map(|(name, limit)| (name.clone(), *limit)));
        failpoint!("engine.learned.before");
        all.store(state);
        failpoint!("engine.learned.stored");
    }

    /// Removes the statistics of these services.
    pub fn forget(state: &StateDir, services: &BTreeSet<String>) {
        let mut all = LearnedStatistics::load(state);
        let before = all.services.0.len();
        all.services.0.retain(|name, _| !services.contains(name));
        if all.services.0.len() != before {
            all.store(state);
        }
    }

    fn store(&self, state: &StateDir) {
        let text = serde_json::to_vec_pretty(self).expect("statistics are data");
        replace_private(&path(state), &text).ok();
    }
}

fn path(state: &StateDir) -> PathBuf {
    state.path().join("learned.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::Known;
    use convoke_govern::LearnedLimit;
    use convoke_model::Timestamp;

    fn of(name: &str, limit: u64) -> Learned {
        let learned = LearnedLimit { limit, known: Some(limit), at: Timestamp(1) };
        Learned([(name.to_owned(), learned)].into())
    }

    fn state(folder: &tempfile::TempDir) -> StateDir {
        StateDir::open(folder.path().join("state")).unwrap()
    }

    #[test]
    fn statistics_of_runs_add_up_and_a_broken_file_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let state = state(&folder);
        assert_eq!(LearnedStatistics::load(&state), LearnedStatistics::default());
        let known = Known { ms: 5, count: 1, at: Timestamp(1) };
        let durations = Durations([("step".to_owned(), known)].into());
        LearnedStatistics::add(&state, &of("model:a/b", 4), &Durations::default());
        LearnedStatistics::add(&state, &of("model:c/d", 5), &durations);
        LearnedStatistics::add(&state, &of("model:a/b", 6), &Durations::default());
        let all = LearnedStatistics::load(&state);
        assert_eq!((all.services.0.len(), all.services.0["model:a/b"].limit), (2, 6));
        assert_eq!(all.durations, durations);
        std::fs::write(path(&state), "{").unwrap();
        assert_eq!(LearnedStatistics::load(&state), LearnedStatistics::default());
    }

    #[test]
    fn a_forgotten_service_leaves_the_others_and_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let state = state(&folder);
        LearnedStatistics::add(&state, &of("model:a/b", 4), &Durations::default());
        LearnedStatistics::add(&state, &of("model:c/d", 5), &Durations::default());
        LearnedStatistics::forget(&state, &BTreeSet::from(["model:a/b".to_owned()]));
        assert_eq!(LearnedStatistics::load(&state).services, of("model:c/d", 5));
        let names: Vec<_> =
            std::fs::read_dir(state.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!names.iter().any(|name| name.to_string_lossy().starts_with("learned.json.")), "{names:?}");
    }
}
