//! The record of a lease: one file, written before anything is made and removed after everything is gone.

use crate::error::Trouble;
use crate::naming::slug;
use convoke_model::Ports;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How a lease stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Its worktree is being made: no task has worked in it.
    Making,
    /// A task works in it.
    Ready,
    /// It was found to be without anything of value, and is being removed.
    Removing,
    /// It was let go of, and something of it stays.
    Kept,
}

/// One lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The run.
    pub run: String,
    /// The task.
    pub task: String,
    /// How it stands.
    pub standing: Standing,
    /// The worktree, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeRecord>,
    /// Its ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<Ports>,
    /// The task whose workspace it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// A command may go on in it without an engine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub survives: bool,
    /// Why something of it was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// A worktree, as its record has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRecord {
    /// The folder that the repository's own files lie in.
    pub common: PathBuf,
    /// Its folder.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit that the branch began at.
    pub base: String,
    /// The branch that it comes back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// Whether only some paths are checked out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sparse: bool,
}

/// All records below one folder, a folder for each run.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    pub root: PathBuf,
}

impl Records {
    fn place(&self, run: &str, task: &str) -> PathBuf {
        self.root.join(slug(run)).join(format!("{}.json", slug(task)))
    }

    pub fn read(&self, run: &str, task: &str) -> Result<Option<Record>, Trouble> {
        read(&self.place(run, task))
    }

    /// Replaces the record as a whole; durable on return.
    pub fn write(&self, record: &Record) -> Result<(), Trouble> {
        let place = self.place(&record.run, &record.task);
        let folder = place.parent().expect("it lies in the folder of its run");
        let written = || -> std::io::Result<()> {
            fs::create_dir_all(folder)?;
            let beside = place.with_extension("new");
            let mut file = fs::File::create(&beside)?;
            file.write_all(&serde_json::to_vec_pretty(record).expect("a record is JSON"))?;
            file.sync_all()?;
            fs::rename(&beside, &place)
        };
        written().map_err(Trouble::io(format!("the record `{}`", place.display())))
    }

    pub fn remove(&self, record: &Record) -> Result<(), Trouble> {
        let place = self.place(&record.run, &record.task);
        match fs::remove_file(&place) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Trouble::io(format!("the record `{}`", place.display()))(error))
            }
            _ => {
                // The folder of a run goes with its last record.
                let _ = place.parent().map(fs::remove_dir);
                Ok(())
            }
        }
    }

    /// Every record, in the order of runs and tasks. One that cannot be read is left out: it may be being written.
    pub fn all(&self) -> Vec<Record> {
        let mut all: Vec<Record> = files(&self.root)
            .iter()
            .flat_map(|folder| files(folder))
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .filter_map(|path| read(&path).ok().flatten())
            .collect();
        all.sort_by(|a, b| (&a.run, &a.task).cmp(&(&b.run, &b.task)));
        all
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn read(path: &Path) -> Result<Option<Record>, Trouble> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| Trouble::io(format!("the record `{}`", path.display()))(error.into())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Trouble::io(format!("the record `{}`", path.display()))(error)),
    }
}
