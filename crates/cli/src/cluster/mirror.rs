//! Copies of the journals of runs on a cluster.
//!
//! A copy is a journal like any other: the same events with the same numbers, the same large values. Kept true: what is copied was
//! checked against the hash over all turns, and an event is in the copy once, wherever a copying process was killed.

use super::network;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_cluster::{Client, ClusterError, Listed, Tail};
use convoke_journal::{Error, Inbox, Journal, Remote, RunMeta, Sqlite, StateDir, blobs_of};
use convoke_model::{Blob, RunId, RunStatus, Stamped};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a run that is followed is looked at: soon after something happened, later where nothing does.
const SOON: Duration = Duration::from_millis(30);
const LATE: Duration = Duration::from_millis(250);
/// How often a copy that another process makes is looked at.
const PATIENCE: Duration = Duration::from_millis(50);
/// Copies that are made at the same time.
const AT_ONCE: usize = 8;

/// Copies runs.
#[derive(Clone)]
pub struct Mirror {
    client: Client,
    state: StateDir,
    address: String,
}

impl Mirror {
    /// Copies into a folder.
    pub fn new(client: Client, state: StateDir, address: String) -> Mirror {
        Mirror { client, state, address }
    }

    /// Where the copies are.
    pub fn state(&self) -> &StateDir {
        &self.state
    }

    /// Every run of the cluster.
    pub async fn list(&self) -> Result<Vec<Listed>, CommandFailure> {
        Ok(self.client.list().await?)
    }

    /// Brings every run up to date.
    pub async fn bring_all(&self) -> Result<(), CommandFailure> {
        use futures::{StreamExt, TryStreamExt};
        let stale = self.list().await?.into_iter().filter(|line| !self.is_whole(line));
        let copies = futures::stream::iter(stale).map(|line| async move { self.bring(&line.run).await });
        copies.buffer_unordered(AT_ONCE).try_collect().await
    }

    /// A run that has stopped does not change until its status does.
    fn is_whole(&self, line: &Listed) -> bool {
        let known = Remote::read(&self.state, &line.run);
        line.status.is_end() && known.is_some_and(|remote| remote.status == Some(line.status))
    }

    /// Brings a run up to date.
    pub async fn bring(&self, run: &RunId) -> Result<(), CommandFailure> {
        Copy::of(self, run).more().await.map(drop)
    }

    /// Passes on what was left for a run here.
    pub async fn pass_on(&self, run: &RunId) -> Result<(), CommandFailure> {
        for message in Inbox::waiting(&self.state, run)? {
            self.client.say(run, message.at, message.body).await?;
            Inbox::passed_on(&self.state, run, &[message.id])?;
        }
        Ok(())
    }

    /// The runs of which there are copies.
    pub fn copied(&self) -> Result<Vec<RunId>, CommandFailure> {
        Ok(self.state.runs()?)
    }

    /// Erases those of these runs from the cluster whose copies are gone: a run that began meanwhile has none yet. One that goes on
    /// stays.
    pub async fn erase_removed(&self, copied: &[RunId]) {
        for run in copied.iter().filter(|run| !self.state.run_dir(run).exists()) {
            self.client.erase(run).await.ok();
        }
    }
}

/// A copy in the making.
struct Copy<'a> {
    mirror: &'a Mirror,
    run: RunId,
    tail: Tail,
    known: Remote,
    /// The copy's journal, owned by this process for as long as it follows the run.
    journal: Option<Sqlite>,
}

impl<'a> Copy<'a> {
    fn of(mirror: &'a Mirror, run: &RunId) -> Copy<'a> {
        let known = Remote::read(&mirror.state, run).unwrap_or_default();
        let tail = mirror.client.tail_from(run, known.turns, known.hash.clone());
        Copy { mirror, run: run.clone(), tail, known, journal: None }
    }

    /// Copies what there is more; whether that was anything.
    async fn more(&mut self) -> Result<bool, CommandFailure> {
        let (events, status) = match self.tail.more().await {
            // The place is of another history: the run was erased and begun anew, or the copy is damaged.
            Err(ClusterError::Torn(_)) if self.known.turns > 0 => self.anew().await?,
            more => more?,
        };
        if events.is_empty() && status == self.known.status {
            return Ok(false);
        }
        if self.write(&events).await? {
            let (turns, hash) = self.tail.place();
            let (address, hash) = (self.mirror.address.clone(), hash.to_owned());
            self.known = Remote { address, status, turns, hash };
            self.known.write(&self.mirror.state, &self.run)?;
        }
        Ok(true)
    }

    /// Everything from the beginning. Events that are in the copy already are known by their numbers.
    async fn anew(&mut self) -> Result<(Vec<Stamped>, Option<RunStatus>), CommandFailure> {
        self.tail = self.mirror.client.tail(&self.run);
        Ok(self.tail.more().await?)
    }

    /// Puts events into the copy; false if another process does that.
    async fn write(&mut self, events: &[Stamped]) -> Result<bool, CommandFailure> {
        let Some(last) = events.last().map(|last| last.seq) else { return Ok(true) };
        if !self.own().await? {
            self.wait_for(last).await?;
            return Ok(false);
        }
        let journal = self.journal.as_mut().expect("just owned");
        let next = journal.next_seq();
        let new: Vec<Stamped> = events.iter().filter(|event| event.seq >= next).cloned().collect();
        if new.is_empty() {
            return Ok(true);
        }
        let mut blobs = Vec::new();
        let named: HashSet<_> = new.iter().flat_map(|stamped| blobs_of(&stamped.event)).collect();
        for (digest, _) in named {
            let known = journal.blob(&digest)?.is_some();
            let text = if known { None } else { self.mirror.client.blob(&self.run, &digest).await? };
            blobs.extend(text.map(|text| Blob { digest, text }));
        }
        journal.append(&new, &blobs, &[])?;
        Ok(true)
    }

    async fn own(&mut self) -> Result<bool, CommandFailure> {
        if self.journal.is_some() {
            return Ok(true);
        }
        let (state, owner) = (&self.mirror.state, stored::ourselves());
        let opened = match state.run_dir(&self.run).join("journal.db").exists() {
            true => Sqlite::open_owner(state, &self.run, &owner),
            false => {
                let origin = self.mirror.client.origin(&self.run).await?;
                let gone = || ClusterError::Torn(self.run.to_string());
                let (plan, source) = origin.ok_or_else(gone)?;
                Sqlite::create(state, &self.run, &RunMeta { plan, source }, &owner)
            }
        };
        match opened {
            Ok(journal) => self.journal = Some(journal),
            Err(Error::Owned { .. } | Error::RunExists { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Waits until the process that copies the run has copied so much, or has ended.
    async fn wait_for(&mut self, last: u64) -> Result<(), CommandFailure> {
        loop {
            let reader = convoke_journal::Reader::open(&self.mirror.state, &self.run);
            if reader.is_ok_and(|reader| reader.last() >= last) {
                return Ok(());
            }
            tokio::time::sleep(PATIENCE).await;
        }
    }
}

/// Keeps one copy up to date, and passes on what is left for its run, on a thread of its own.
pub struct Keeper {
    over: Arc<AtomicBool>,
    thread: std::sync::Mutex<Option<JoinHandle<()>>>,
}

impl Keeper {
    /// Begins.
    pub fn start(mirror: Mirror, run: RunId) -> Keeper {
        let over = Arc::new(AtomicBool::new(false));
        let told = over.clone();
        let thread = std::thread::Builder::new().name("copy".to_owned()).spawn(move || {
            if let Ok(network) = network() {
                network.block_on(keep(&mirror, &run, &told));
            }
        });
        Keeper { over, thread: std::sync::Mutex::new(thread.ok()) }
    }

    /// Ends, after a last look.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().expect("a panic poisoned this lock").take();
        thread.and_then(|thread| thread.join().ok());
    }
}

async fn keep(mirror: &Mirror, run: &RunId, over: &AtomicBool) {
    let (mut copy, mut pause) = (Copy::of(mirror, run), SOON);
    while !over.load(Ordering::Relaxed) {
        // A cluster that is away is waited for: the copy says that the run goes on until it is heard otherwise.
        mirror.pass_on(run).await.ok();
        pause = match copy.more().await {
            Ok(true) => SOON,
            _ => (pause * 2).min(LATE),
        };
        tokio::time::sleep(pause).await;
    }
    mirror.pass_on(run).await.ok();
    copy.more().await.ok();
}
