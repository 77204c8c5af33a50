//! What other processes say to a run.
//!
//! They write to `inbox.db` beside the journal, so that the journal itself has one writer. The owner takes messages and
//! names those it has dealt with in its next append; that commit is the moment a message counts. Rows are deleted
//! afterwards, for tidiness only. Invariant: a message is neither lost nor applied twice, wherever a crash falls.

use crate::sqlite::{file_uri, refusal};
use crate::{Error, Reader, StateDir};
use convoke_failpoint::failpoint;
use convoke_model::{Answer, AnswerSource, Digest, RunId, TaskId, Timestamp};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The name of a message: random, never used again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub Arc<str>);

/// What can be said to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The answer to a gate.
    Answer(Box<Reply>),
    /// Guidance for every call from now on.
    Guide {
        /// The words.
        text: String,
        /// The author of the guidance.
        by: String,
    },
    /// Guidance for the agent of one task.
    GuideTask {
        /// The task.
        task: TaskId,
        /// The words.
        text: String,
        /// The author of the guidance.
        by: String,
    },
    /// Stop the run.
    Stop {
        /// At once, without letting attempts finish.
        now: bool,
        /// The author of the request.
        by: String,
    },
    /// Something that this version cannot read; to be noted, not dropped.
    Unreadable {
        /// As it was written.
        text: String,
    },
}

/// An answer to a gate, on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The task that asks.
    pub task: TaskId,
    /// Which of its questions: the number of the event that opened it; without one, whatever it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<u64>,
    /// The hash of what the author was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Digest>,
    /// The answer.
    pub answer: Answer,
    /// The author of the answer.
    pub by: String,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Box<AnswerSource>>,
}

impl Reply {
    /// An answer to whatever a task asks.
    pub fn new(task: TaskId, answer: Answer, by: impl Into<String>) -> Reply {
        Reply { task, question: None, shown: None, answer, by: by.into(), from: None }
    }
}

/// A message that has arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxMessage {
    /// Its name, to be given to the append that deals with it.
    pub id: MessageId,
    /// When it was sent.
    pub at: Timestamp,
    /// What it says.
    pub body: Message,
}

/// The way for other processes to reach a run.
pub struct Inbox;

impl Inbox {
    /// Leaves a message for the run's owner, now or the next one. Durable on return.
    pub fn send(state: &StateDir, run: &RunId, at: Timestamp, body: &Message) -> Result<MessageId, Error> {
        let path = inbox_path(&state.existing(run)?);
        let connection = connect(&path, OpenFlags::SQLITE_OPEN_CREATE, SEND_PATIENCE);
        connection
            .and_then(|mut connection| insert(begin(&mut connection)?, at, body))
            .map_err(|error| refusal(&path, error))
    }

    /// Leaves a message unless `refusal` objects. It sees what is left here and not dealt with, and the time; nothing can be
    /// left or taken away until it has spoken; what the run has dealt with by then is in its journal. So of several senders
    /// that would each object to the others, the one that is first on disk is heard. Durable on return.
    pub fn send_unless<R>(
        state: &StateDir,
        run: &RunId,
        now: impl FnOnce() -> Timestamp,
        body: &Message,
        refusal_of: impl FnOnce(&[InboxMessage], Timestamp) -> Result<Option<R>, Error>,
    ) -> Result<Result<MessageId, R>, Error> {
        let path = inbox_path(&state.existing(run)?);
        let fail = |error| refusal(&path, error);
        let mut connection = connect(&path, OpenFlags::SQLITE_OPEN_CREATE, SEND_PATIENCE).map_err(fail)?;
        let transaction = begin(&mut connection).map_err(fail)?;
        let mut waiting = messages(&transaction, &path)?;
        if !waiting.is_empty() {
            // An owner that died between dealing with a message and deleting it leaves it here.
            let consumed = Reader::open(state, run)?.consumed()?;
            waiting.retain(|message| !consumed.contains(&message.id));
        }
        // Read where no other process can write: a moment that an owner has seen the end of is not before it.
        let at = now();
        if let Some(refused) = refusal_of(&waiting, at)? {
            return Ok(Err(refused));
        }
        insert(transaction, at, body).map(Ok).map_err(fail)
    }

    /// Takes messages away that were passed on to where the run is driven. For copies of runs: an owner names them in its journal.
    pub fn passed_on(state: &StateDir, run: &RunId, ids: &[MessageId]) -> Result<(), Error> {
        let path = inbox_path(&state.existing(run)?);
        let fail = |error| refusal(&path, error);
        let mut connection = connect(&path, OpenFlags::empty(), SEND_PATIENCE).map_err(fail)?;
        let transaction = begin(&mut connection).map_err(fail)?;
        for id in ids {
            transaction.execute("DELETE FROM messages WHERE id = ?1", [&*id.0]).map_err(fail)?;
        }
        transaction.commit().map_err(fail)
    }

    /// The messages as they are written, to be kept elsewhere. Some may have been dealt with: the journal knows which.
    pub(crate) fn kept(state: &StateDir, run: &RunId) -> Result<Vec<InboxRow>, Error> {
        let as_written = |message: InboxMessage| InboxRow {
            id: message.id.0.to_string(),
            at: message.at.0 as i64,
            body: match message.body {
                Message::Unreadable { text } => text,
                body => serde_json::to_string(&body).expect("messages are JSON"),
            },
        };
        Ok(Inbox::waiting(state, run)?.into_iter().map(as_written).collect())
    }

    /// What was left for the run and may not have been dealt with yet; nothing is taken.
    pub fn waiting(state: &StateDir, run: &RunId) -> Result<Vec<InboxMessage>, Error> {
        let path = inbox_path(&state.existing(run)?);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let connection = connect(&path, OpenFlags::empty(), SEND_PATIENCE);
        messages(&connection.map_err(|error| refusal(&path, error))?, &path)
    }
}

/// A message as it is written.
pub(crate) struct InboxRow {
    pub id: String,
    pub at: i64,
    pub body: String,
}

/// Makes the inbox of a run that is put together, with these messages. Durable on return.
pub(crate) fn restore(dir: &Path, messages: &[InboxRow]) -> Result<(), Error> {
    let path = inbox_path(dir);
    let insert = || {
        let mut connection = connect(&path, OpenFlags::SQLITE_OPEN_CREATE, SEND_PATIENCE)?;
        let transaction = begin(&mut connection)?;
        for InboxRow { id, at, body } in messages {
            let sql = "INSERT INTO messages(id, at, body) VALUES (?1, ?2, ?3)";
            transaction.execute(sql, params![id, at, body])?;
        }
        transaction.commit()
    };
    insert().map_err(|error| refusal(&path, error))
}

/// A person waits for the sender, and other senders take milliseconds.
const SEND_PATIENCE: Duration = Duration::from_secs(2);

/// The owner has better things to do; it comes back at the next turn.
const OWNER_PATIENCE: Duration = Duration::from_millis(100);

const VERSION: i64 = 1;

const SCHEMA: &str = "
    CREATE TABLE messages(
        place INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        at INTEGER NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    PRAGMA user_version = 1;";

fn inbox_path(dir: &Path) -> PathBuf {
    dir.join("inbox.db")
}

fn connect(path: &Path, create: OpenFlags, patience: Duration) -> rusqlite::Result<Connection> {
    // `modeof` makes the file as private as the journal from its first moment.
    let uri = format!(
        "{}?modeof={}",
        file_uri(path),
        &file_uri(&path.with_file_name("journal.db"))["file:".len()..]
    );
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags | create)?;
    connection.busy_timeout(patience)?;
    Ok(connection)
}

/// From here on no other process can write, until the transaction ends.
fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if version(&transaction)? == 0 {
        transaction.execute_batch(SCHEMA)?;
    }
    failpoint!("inbox.send.begun");
    Ok(transaction)
}

fn insert(transaction: Transaction<'_>, at: Timestamp, body: &Message) -> rusqlite::Result<MessageId> {
    let text = serde_json::to_string(body).expect("messages are JSON");
    let sql = "INSERT INTO messages(id, at, body) VALUES (lower(hex(randomblob(12))), ?1, ?2) RETURNING id";
    let id: String = transaction.query_row(sql, params![at.0 as i64, text], |row| row.get(0))?;
    failpoint!("inbox.send.inserted");
    transaction.commit()?;
    failpoint!("inbox.send.committed");
    Ok(MessageId(id.into()))
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// The owner's side of the inbox.
pub(crate) struct OwnerInbox {
    path: PathBuf,
    connection: Option<Connection>,
    /// The state of the file when messages were last taken.
    seen: Option<i64>,
    /// Taken by this owner, or consumed by an earlier one.
    done: HashSet<MessageId>,
    knows_consumed: bool,
}

impl OwnerInbox {
    pub fn new(dir: &Path) -> OwnerInbox {
        OwnerInbox {
            path: inbox_path(dir),
            connection: None,
            seen: None,
            done: HashSet::new(),
            knows_consumed: false,
        }
    }

    /// Whether there may be something new. An error is new, too: taking will tell.
    pub fn changed(&mut self) -> bool {
        if self.connection.is_none() && !self.path.exists() {
            return false;
        }
        match self.data_version() {
            Ok(version) => self.seen != Some(version),
            Err(_) => true,
        }
    }

    /// The same, after every sender that has begun: what is sent later is sent after this moment.
    pub fn take_settled(
        &mut self,
        consumed: impl FnOnce() -> Result<HashSet<MessageId>, Error>,
    ) -> Result<Vec<InboxMessage>, Error> {
        if self.connection.is_some() || self.path.exists() {
            let path = self.path.clone();
            let fail = |error| refusal(&path, error);
            let connection = self.open().map_err(fail)?;
            // Nothing is written; the lock is what is wanted, for as long as the last sender needs.
            connection.execute_batch("BEGIN IMMEDIATE; COMMIT;").map_err(fail)?;
        }
        self.take(consumed)
    }

    /// The messages that were not taken yet. `consumed` tells which ones the journal has dealt with already.
    pub fn take(
        &mut self,
        consumed: impl FnOnce() -> Result<HashSet<MessageId>, Error>,
    ) -> Result<Vec<InboxMessage>, Error> {
        if self.connection.is_none() && !self.path.exists() {
            return Ok(Vec::new());
        }
        if !self.knows_consumed {
            self.done.extend(consumed()?);
            self.knows_consumed = true;
        }
        let path = self.path.clone();
        let version = self.data_version().map_err(|error| refusal(&path, error))?;
        let messages = self.messages()?;
        failpoint!("inbox.take.read");
        self.seen = Some(version);
        Ok(messages.into_iter().filter(|message| self.done.insert(message.id.clone())).collect())
    }

    /// Deletes consumed messages. Not needed, so an error is ignored: the journal remembers them.
    pub fn forget(&mut self, ids: &[MessageId]) {
        let Some(connection) = &self.connection else { return };
        let delete = || -> rusqlite::Result<()> {
            let transaction = connection.unchecked_transaction()?;
            for id in ids {
                transaction.execute("DELETE FROM messages WHERE id = ?1", [&*id.0])?;
            }
            failpoint!("inbox.forget.deleted");
            transaction.commit()
        };
        delete().ok();
    }

    fn open(&mut self) -> rusqlite::Result<&Connection> {
        if self.connection.is_none() {
            self.connection = Some(connect(&self.path, OpenFlags::empty(), OWNER_PATIENCE)?);
        }
        Ok(self.connection.as_ref().expect("just opened"))
    }

    fn data_version(&mut self) -> rusqlite::Result<i64> {
        let mut statement = self.open()?.prepare_cached("PRAGMA data_version")?;
        statement.query_row([], |row| row.get(0))
    }

    fn messages(&mut self) -> Result<Vec<InboxMessage>, Error> {
        let path = self.path.clone();
        messages(self.open().map_err(|error| refusal(&path, error))?, &path)
    }
}

fn messages(connection: &Connection, path: &Path) -> Result<Vec<InboxMessage>, Error> {
    let fail = |error| refusal(path, error);
    match version(connection).map_err(fail)? {
        0 => return Ok(Vec::new()), // its maker has not got far
        VERSION => {}
        found if found < 0 => return Err(Error::NoFormat { path: path.to_owned(), found }),
        found => return Err(Error::Newer { path: path.to_owned(), found, known: VERSION }),
    }
    let query = || {
        let mut statement = connection.prepare_cached("SELECT id, at, body FROM messages ORDER BY place")?;
        statement.query_map([], message)?.collect::<rusqlite::Result<_>>()
    };
    query().map_err(fail)
}

fn message(row: &rusqlite::Row<'_>) -> rusqlite::Result<InboxMessage> {
    let (id, at, text): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let body = serde_json::from_str(&text).unwrap_or(Message::Unreadable { text });
    Ok(InboxMessage { id: MessageId(id.into()), at: Timestamp(at as u64), body })
}
