//! What is kept besides journals: what runs have learned about services, and how a live run uses its capacity.
//!
//! Both are aids. A file that cannot be read or written costs nobody a run, so nothing is said about it.

use convoke_govern::{Learned, Metrics};
use convoke_journal::StateDir;
use convoke_model::RunId;
use std::path::{Path, PathBuf};

fn learned_path(state: &StateDir) -> PathBuf {
    state.path().join("learned.json")
}

/// Where a run says how it uses its capacity.
pub fn metrics_path(state: &StateDir, run: &RunId) -> PathBuf {
    state.path().join("runs").join(&*run.0).join("metrics.json")
}

/// What earlier runs have learned.
pub fn learned(state: &StateDir) -> Learned {
    let text = std::fs::read(learned_path(state)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Keeps what a run has learned, beside what others have. Of two that end at once, one may be forgotten.
pub fn keep(state: &StateDir, news: &Learned) {
    if news.0.is_empty() {
        return;
    }
    let mut all = learned(state);
    all.0.extend(news.0.iter().map(|(name, limit)| (name.clone(), *limit)));
    replace(&learned_path(state), &all);
}

/// Says how a run uses its capacity.
pub fn tell(state: &StateDir, run: &RunId, metrics: &Metrics) {
    replace(&metrics_path(state, run), metrics);
}

/// Puts a whole file in place of the old one, so that nobody reads half of it.
fn replace(path: &Path, value: &impl serde::Serialize) {
    let Ok(text) = serde_json::to_vec_pretty(value) else { return };
    let draft = path.with_extension(format!("json.{}", std::process::id()));
    if std::fs::write(&draft, text).and_then(|()| std::fs::rename(&draft, path)).is_err() {
        let _ = std::fs::remove_file(&draft);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(learned(&state), Learned::default());
        keep(&state, &of("model:a/b", 4));
        keep(&state, &of("model:c/d", 5));
        keep(&state, &of("model:a/b", 6));
        let all = learned(&state);
        assert_eq!((all.0.len(), all.0["model:a/b"].limit), (2, 6));
        std::fs::write(learned_path(&state), "{").unwrap();
        assert_eq!(learned(&state), Learned::default());
    }
}
