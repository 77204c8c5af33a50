//! Runs as they lie in the state folder: found by name, read back.

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::gate;
use crate::short_history::ShortHistory;
use convoke_journal::{Error, Index, Owner, Reader, RunRow, Search, StateDir};
use convoke_model::{
    AnswerOrigin, AnswerSource, Ask, GateId, JsonText, Payload, RunId, Stamped, TaskId, Timestamp,
};
use convoke_view::{Gates, Question};
use std::sync::LazyLock;
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
pub fn note_line(state: &StateDir, run: &RunId, history: &ShortHistory) {
    let is_short = || Some(Reader::open(state, run).ok()?.last() <= ShortHistory::MOST);
    let events = history.events();
    if (events.is_some() || !history.is_long() && is_short() == Some(true))
        && let Ok(mut index) = Index::open_within(state, PATIENCE)
    {
        match events {
            Some(events) => index.conclude(run, events).ok(),
            None => index.refresh(run).map(drop).ok(),
        };
    }
}

/// The end of a run does not wait for other processes.
const PATIENCE: Duration = Duration::from_millis(20);

/// This process, for the lock of a run. Asked of the kernel once: none of it changes while a process lives.
pub fn ourselves() -> Owner {
    static OURSELVES: LazyLock<Owner> = LazyLock::new(|| {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let pid = std::process::id();
        Owner { pid, start: convoke_journal::start_of(pid), host, boot: boot.trim().to_owned() }
    });
    OURSELVES.clone()
}

/// The actor, for the record: the user's name and how they spoke.
pub fn actor(how: &str) -> String {
    format!("{} ({how})", user())
}

/// The user's name, for the record.
pub fn user() -> String {
    crate::env::get_filled(crate::env::USER)
        .unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

/// Where an answer of this process comes from, for the record.
pub fn source(origin: AnswerOrigin) -> AnswerSource {
    let Owner { host, pid, .. } = ourselves();
    let terminal = |fd: &str| {
        let path = std::fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
        let path = path.to_str()?;
        (path.starts_with("/dev/pts/") || path.starts_with("/dev/tty")).then(|| path.to_owned())
    };
    AnswerSource { origin, host, pid, tty: terminal("0").or_else(|| terminal("2")) }
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
        Gates::of(&self.events)
    }

    /// The tasks that wait for a person, by name.
    pub fn waiting(&self) -> Vec<TaskId> {
        let mut tasks: Vec<TaskId> = self.gates().open().map(|question| question.id.task.clone()).collect();
        tasks.sort();
        tasks
    }

    /// The questions that wait, by the names of their tasks.
    pub fn questions(&self) -> Vec<Question> {
        let mut questions: Vec<Question> = self.gates().open().cloned().collect();
        questions.sort_by(|a, b| a.id.cmp(&b.id));
        questions
    }

    /// What a question asks.
    pub fn ask(&self, question: &Question) -> Result<Ask, CommandFailure> {
        let gate = &question.id;
        let damaged =
            || CommandFailure::new(Exit::Failed, format!("the question of `{gate}` cannot be read"));
        let text = self.text(&question.ask)?.ok_or_else(damaged)?;
        serde_json::from_str(text.as_str()).map_err(|_| damaged())
    }

    /// The questions that wait, for programs.
    pub fn gates_json(&self) -> Result<Vec<serde_json::Value>, CommandFailure> {
        let record = |question: Question| {
            let ask = self.ask(&question)?;
            Ok(serde_json::json!({
                "gate": question.id.to_string(),
                "task": question.id.task,
                "question": question.id.question,
                "shown": question.shown.unwrap_or_else(|| ask.shown()),
                "asked_at": question.at.rfc3339(),
                "until": question.until.map(Timestamp::rfc3339),
                "ask": ask,
            }))
        };
        self.questions().into_iter().map(record).collect()
    }

    /// The question that a name stands for: a gate's id, or the task that asks now.
    pub fn question(&self, name: &str) -> Result<Question, NoQuestion> {
        let gates = self.gates();
        let by_task = |task: &TaskId| gates.waiting(task).cloned();
        if let Some(question) = by_task(&TaskId(name.into())) {
            return Ok(question);
        }
        let id = GateId::parse(name);
        let found = id.as_ref().and_then(|id| by_task(&id.task).filter(|question| question.id == *id));
        found.map_or_else(|| Err(self.no_question(name, id)), Ok)
    }

    /// Why a gate cannot be answered: its question has ended, or there never was one.
    fn no_question(&self, name: &str, id: Option<GateId>) -> NoQuestion {
        let is_meant = |question: &&Question| match &id {
            Some(id) => question.id == *id || *question.id.task.0 == *name,
            None => *question.id.task.0 == *name,
        };
        // Of each task that asked, all questions: an answer to an earlier one is told what became of that.
        let asked = convoke_view::all_questions(&self.events);
        let Some(question) = asked.iter().rev().find(is_meant) else {
            return NoQuestion::Unknown;
        };
        match gate::ended(&self.reader, question) {
            Ok(Some(refused)) => NoQuestion::Ended(question.id.clone(), refused),
            Ok(None) => NoQuestion::Ended(question.id.clone(), gate::Refused::Over { at: None }),
            Err(error) => NoQuestion::Unreadable(error),
        }
    }

    /// The gates that wait, as advice.
    pub fn what_waits(&self) -> String {
        let names: Vec<_> = self.questions().iter().map(|question| format!("`{}`", question.id)).collect();
        match names.is_empty() {
            true => "it waits for no answer".to_owned(),
            false => format!("it waits for {}", names.join(", ")),
        }
    }
}

/// Why there is no question to answer.
pub enum NoQuestion {
    /// No gate of the run has this name, or it has not asked yet.
    Unknown,
    /// It has asked, and that is over.
    Ended(GateId, gate::Refused),
    /// The journal cannot be read.
    Unreadable(Error),
}
