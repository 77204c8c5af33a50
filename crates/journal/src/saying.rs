//! What the agents of a run say at this moment: the ends of answers that are being made.
//!
//! Shown and forgotten: nothing of it is part of the run, and a run never waits for it. The process that drives a run replaces one small file
//! a few times a second while anything is said; other processes read it. Invariant: the file is private, and no larger than its bounds.

use crate::{Error, StateDir, replace_private};
use convoke_model::{RunId, TaskId};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

/// What one task says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saying {
    /// The task.
    pub task: TaskId,
    /// The end of what it has said since its turn began.
    pub text: String,
    /// Bytes before that which are not kept.
    #[serde(default)]
    pub dropped: u64,
    /// Tools that it calls at this moment.
    #[serde(default)]
    pub tools: Vec<String>,
}

impl Saying {
    /// Publishes what is said in a run; nothing takes the file away.
    pub fn publish(state: &StateDir, run: &RunId, all: &[Saying]) -> Result<(), Error> {
        let path = path(state, run);
        if all.is_empty() {
            fs::remove_file(path).ok();
            return Ok(());
        }
        replace_private(&path, &serde_json::to_vec(all).unwrap_or_default())
    }

    /// When something was published last; `None` if nothing is said.
    pub fn published(state: &StateDir, run: &RunId) -> Option<SystemTime> {
        fs::metadata(path(state, run)).ok()?.modified().ok()
    }

    /// What is said in a run; nothing where it cannot be read.
    pub fn read(state: &StateDir, run: &RunId) -> Vec<Saying> {
        let text = fs::read(path(state, run)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

fn path(state: &StateDir, run: &RunId) -> PathBuf {
    state.run_dir(run).join("saying")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_read_until_nothing_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let (state, run) = (StateDir::for_reading(folder.path()), RunId("r".into()));
        fs::create_dir_all(state.run_dir(&run)).unwrap();
        assert_eq!((Saying::read(&state, &run), Saying::published(&state, &run)), (vec![], None));
        let said =
            Saying { task: TaskId("a".into()), text: "é".into(), dropped: 7, tools: vec!["t".into()] };
        Saying::publish(&state, &run, std::slice::from_ref(&said)).unwrap();
        assert_eq!(Saying::read(&state, &run), [said]);
        assert!(Saying::published(&state, &run).is_some());
        Saying::publish(&state, &run, &[]).unwrap();
        assert_eq!(Saying::read(&state, &run), []);
    }
}
