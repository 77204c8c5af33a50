//! Runs as they lie in the state folder: found by name, read back.

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::gate::Gates;
use convoke_journal::{Error, Index, Owner, Reader, RunRow, Search, StateDir};
use convoke_model::{Event, JsonText, Payload, RunId, Stamped, TaskId};
use std::time::Duration;

/// The state folder, to look at.
pub fn for_reading(console: &Console) -> StateDir {
    StateDir::for_reading(&console.config.state_dir)
}

/// The state folder, to write to.
pub fn for_writing(console: &Console) -> Result<StateDir, CommandFailure> {
    Ok(StateDir::open(&console.config.state_dir)?)
}

/// Stands for the last run of this folder wherever a run's name may stand.
pub const LAST: &str = "last";

/// The run that a name, or the beginning of one, stands for.
pub fn find(state: &StateDir, name: &str) -> Result<RunId, CommandFailure> {
    if name == LAST {
        return last_here(state);
    }
    Ok(state.resolve(name)?)
}

/// The newest run that was started in this folder.
pub fn last_here(state: &StateDir) -> Result<RunId, CommandFailure> {
    let here = folder();
    let search = Search { folder: Some(here), limit: Some(1), ..Search::default() };
    let newest = search_runs(state, &search)?.into_iter().next();
    newest.map(|row| row.id).ok_or_else(|| {
        CommandFailure::new(Exit::Usage, "no run was started in this folder")
            .hint("`convoke runs` lists the runs of every folder")
    })
}

/// This folder, as runs record theirs.
pub fn folder() -> String {
    std::env::current_dir().unwrap_or_default().display().to_string()
}

/// Every run, newest first.
pub fn list(state: &StateDir) -> Result<Vec<RunRow>, CommandFailure> {
    search_runs(state, &Search::default())
}

/// The runs that are asked for, newest first.
pub fn search_runs(state: &StateDir, search: &Search) -> Result<Vec<RunRow>, CommandFailure> {
    Ok(Index::open(state)?.find(search)?)
}

/// Puts the line of a run that this process has driven into the index, so that the next list need not read its journal. Only an
/// aid: a list finds out by itself, and does so where the journal is long or the index is busy.
pub fn note_line(state: &StateDir, run: &RunId) {
    let is_short = || Some(Reader::open(state, run).ok()?.last() <= SHORT);
    if is_short() == Some(true)
        && let Ok(mut index) = Index::open_within(state, PATIENCE)
    {
        index.refresh(run).ok();
    }
}

/// A journal of so many events is read in a few milliseconds.
const SHORT: u64 = 5_000;

/// The end of a run does not wait for other processes.
const PATIENCE: Duration = Duration::from_millis(20);

/// This process, for the lock of a run.
pub fn ourselves() -> Owner {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let pid = std::process::id();
    Owner { pid, start: convoke_journal::start_of(pid), host, boot: boot.trim().to_owned() }
}

/// The actor, for the record: the user's name and how they spoke.
pub fn actor(how: &str) -> String {
    let user = crate::env::get_filled(crate::env::USER).unwrap_or_else(|| "unknown user".to_owned());
    format!("{user} ({how})")
}

/// A run that was read back.
pub struct Stored {
    /// Its name.
    pub run: RunId,
    /// Everything that happened.
    pub events: Vec<Stamped>,
    /// Its journal, for blobs and the plan.
    pub reader: Reader,
}

impl Stored {
    /// Reads a run by its name.
    pub fn open(state: &StateDir, name: &str) -> Result<Stored, CommandFailure> {
        let run = find(state, name)?;
        let reader = Reader::open(state, &run)?;
        let events = reader.read_all()?;
        Ok(Stored { run, events, reader })
    }

    /// The text of a payload; `None` for what is made of other tasks' outputs.
    pub fn text(&self, payload: &Payload) -> Result<Option<JsonText>, Error> {
        match payload {
            Payload::Inline(text) => Ok(Some(text.clone())),
            Payload::Blob { digest, .. } => self.reader.blob(digest),
            Payload::Gathered => Ok(None),
        }
    }

    /// The gates that wait for a person.
    pub fn gates(&self) -> Gates {
        let mut gates = Gates::default();
        self.events.iter().for_each(|stamped| gates.apply(stamped));
        gates
    }

    /// The tasks that wait for a person, by name.
    pub fn waiting(&self) -> Vec<TaskId> {
        let mut tasks: Vec<TaskId> = self.gates().open().map(|(task, _)| task.clone()).collect();
        tasks.sort();
        tasks
    }

    /// The question of a gate that waits, or why there is none.
    pub fn question(&self, gate: &str) -> Result<(TaskId, convoke_model::Ask), CommandFailure> {
        let gates = self.gates();
        let Some((task, payload)) = gates.open().find(|(task, _)| *task.0 == *gate) else {
            return Err(self.no_such_gate(gate));
        };
        let damaged =
            || CommandFailure::new(Exit::Failed, format!("the question of `{gate}` cannot be read"));
        let text = self.text(payload)?.ok_or_else(damaged)?;
        let ask = serde_json::from_str(text.as_str()).map_err(|_| damaged())?;
        Ok((task.clone(), ask))
    }

    /// Why a gate cannot be answered.
    pub fn no_such_gate(&self, gate: &str) -> CommandFailure {
        let answered = self.events.iter().rev().find_map(|stamped| match &stamped.event {
            Event::GateAnswered { task, by, .. } if *task.0 == *gate => {
                Some(format!(": it was answered by {by}"))
            }
            _ => None,
        });
        let words = format!("run `{}` does not wait for `{gate}`{}", self.run, answered.unwrap_or_default());
        let failure = CommandFailure::new(Exit::Usage, words);
        let names: Vec<_> = self.waiting().iter().map(|task| format!("`{task}`")).collect();
        match names.is_empty() {
            true => failure.hint("it waits for no answer"),
            false => failure.hint(format!("it waits for {}", names.join(", "))),
        }
    }
}
