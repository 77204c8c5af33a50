//! A folder to work in: a small state folder with a run that no list shows. It goes with its owner, or with the next sweep.

use crate::index::sweep::DRAFT;
use crate::owner::claim;
use crate::state::private_folder;
use crate::{Error, StateDir};
use convoke_model::RunId;
use std::fs::{self, File};
use std::path::PathBuf;

pub(super) struct Draft {
    path: PathBuf,
    _lock: File,
}

impl Draft {
    pub fn new(state: &StateDir, purpose: &str) -> Result<Draft, Error> {
        let name = |number: u32| format!("{DRAFT}{purpose}-{}-{number}", std::process::id());
        for number in 0..1_000 {
            let path = state.runs_dir().join(name(number));
            if path.exists() {
                continue;
            }
            private_folder(&path)?;
            let lock = claim(&path)?.ok_or_else(|| Error::Busy { path: path.clone() })?;
            return Ok(Draft { path, _lock: lock });
        }
        Err(Error::Busy { path: state.runs_dir() })
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The state folder that the draft is.
    pub fn state(&self) -> StateDir {
        StateDir::for_reading(&self.path)
    }

    /// The folder of the run in it, made.
    pub fn run_dir(&self, run: &RunId) -> Result<PathBuf, Error> {
        let state = self.state();
        private_folder(&state.runs_dir())?;
        state.make_run_dir(run)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.path).ok();
    }
}
