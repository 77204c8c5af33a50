//! What a worker's process has for all its handlers, and how a turn is decided in it.
//!
//! The folded state of a run is kept between turns and checked against the run's head: a state of another history, or of a turn that
//! was never committed, is dropped and folded anew from the events. Those never change, so reading them needs no place in the
//! record of the call.

use crate::error::ClusterError;
use crate::facts::FactQueue;
use crate::hosted::{Hosted, Load, Past, chain};
use crate::ingress::Ingress;
use crate::jobs::Jobs;
use crate::peers::Peer;
use crate::run::{Meta, Range};
use crate::values::{self, LARGE};
use crate::wire::{Act, Begin, Book, ClusterFact, Decided, Delivery, FORMAT, Head, Home, Reopen, Said};
use convoke_engine::EngineError;
use convoke_handover::{Performer, Performers};
use convoke_journal::Message;
use convoke_model::{Blob, Digest, JsonText, RunId, RunStatus, Stamped, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Runs whose state is kept in memory, and whose providers and servers are kept for their next attempt.
const MOST_RUNS: usize = 64;
/// Bytes of values and attempts that a turn holds itself.
const ROOM: usize = 8 << 20;
/// How long a read of the cluster may take.
pub const READ: Duration = Duration::from_secs(20);

/// What a turn is about.
pub enum Input {
    /// The run begins.
    Begin(Box<Begin>),
    /// It goes on after a rest.
    Reopen(Box<Reopen>),
    /// Something happened.
    Facts(Delivery),
}

/// A turn that another process is asked to decide.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TurnAsked {
    /// The run.
    pub run: RunId,
    /// How far it has come.
    pub head: Head,
    /// What no event says.
    pub book: Book,
    /// What happened.
    pub delivery: Delivery,
}

/// The process.
pub struct Process {
    /// A random name, which begins with the time at which the process did.
    pub name: String,
    pub ingress: Ingress,
    /// For other workers.
    pub http: reqwest::Client,
    pub jobs: Jobs,
    pub facts: FactQueue,
    /// Attempts at once.
    pub slots: Arc<Semaphore>,
    performers: Arc<dyn Performers>,
    /// Performers by run, the last one that was asked for at the end.
    made: Mutex<Vec<(RunId, Arc<dyn Performer>)>>,
    hosts: Mutex<HashMap<RunId, Hosted>>,
    /// Tells people what goes wrong, each thing once.
    remarks: tokio::sync::mpsc::UnboundedSender<String>,
}

impl Process {
    pub fn new(
        name: String,
        ingress: Ingress,
        (jobs, slots): (Jobs, usize),
        performers: Arc<dyn Performers>,
        remarks: tokio::sync::mpsc::UnboundedSender<String>,
    ) -> Process {
        let facts = FactQueue::start(name.clone(), ingress.clone(), remarks.clone());
        let slots = Arc::new(Semaphore::new(slots));
        let (made, hosts) = (Mutex::default(), Mutex::default());
        let http = ingress.http();
        Process { name, ingress, http, jobs, facts, slots, performers, made, hosts, remarks }
    }

    /// Tells people something.
    pub fn remark(&self, words: String) {
        self.remarks.send(words).ok();
    }

    /// Decides a turn: here, or in the process that has the run's state at hand. What comes of it counts only once it is on record.
    pub async fn decide(
        self: &Arc<Self>,
        run: RunId,
        head: Head,
        book: Book,
        input: Input,
    ) -> Result<Decided, ClusterError> {
        let elsewhere = book.home.clone().filter(|home| home.process != self.name && head.is_live());
        if let (Some(Home { address, process }), Input::Facts(delivery)) = (elsewhere, &input)
            && !self.has_at_hand(&run, &head, &book)
        {
            let asked = TurnAsked {
                run: run.clone(),
                head: head.clone(),
                book: book.clone(),
                delivery: delivery.clone(),
            };
            let peer = Peer { http: self.http.clone(), address, process };
            if let Some(decided) = peer.decide(&asked).await {
                return Ok(decided);
            }
        }
        self.decide_here(run, head, book, input).await
    }

    fn has_at_hand(&self, run: &RunId, head: &Head, book: &Book) -> bool {
        let hosts = self.hosts.lock().expect("a panic poisoned this lock");
        hosts.get(run).is_some_and(|hosted| hosted.is_at(head, book))
    }

    /// Decides a turn in this process.
    pub async fn decide_here(
        self: &Arc<Self>,
        run: RunId,
        head: Head,
        book: Book,
        input: Input,
    ) -> Result<Decided, ClusterError> {
        if head.format != FORMAT {
            let (run, found, known) = (run.to_string(), head.format, FORMAT);
            return Err(ClusterError::Newer { run, found, known });
        }
        let taken_up = match input {
            Input::Begin(begin) => Some((self.begun(&run, &begin)?, Vec::new())),
            Input::Reopen(reopen) => {
                self.reopens(&run, &head, &reopen).await?.map(|hosted| (hosted, Vec::new()))
            }
            Input::Facts(delivery) => self.hears(&run, &head, &book, delivery).await?,
        };
        let Some((mut hosted, facts)) = taken_up else { return Ok(nothing(head, book)) };
        hosted.set_home(Home { address: self.jobs.address.clone(), process: self.name.clone() });
        // Rendering takes time, and looking up a large value waits.
        let decided = tokio::task::spawn_blocking(move || {
            let decided = hosted.decide(now(), facts);
            (decided, hosted)
        });
        let (decided, hosted) = decided.await.map_err(|error| ClusterError::Unreadable(error.to_string()))?;
        let decided = self.put_down(&run, decided).await?;
        self.keep(run, hosted, decided.head.is_live());
        Ok(decided)
    }

    /// A run that goes on after a rest; `None`: it is under way already, or nothing is left to do.
    async fn reopens(
        &self,
        run: &RunId,
        head: &Head,
        reopen: &Reopen,
    ) -> Result<Option<Hosted>, ClusterError> {
        if head.status == Some(RunStatus::Running) {
            return Ok(None);
        }
        match self.reopened(run, head, reopen).await {
            Err(ClusterError::Engine(EngineError::Ended(_))) => Ok(None),
            reopened => reopened.map(Some),
        }
    }

    /// A run to which something happens, with the facts; `None`: they came before, or they change nothing in a run that has ended.
    async fn hears(
        &self,
        run: &RunId,
        head: &Head,
        book: &Book,
        delivery: Delivery,
    ) -> Result<Option<(Hosted, Vec<ClusterFact>)>, ClusterError> {
        if delivery.sender.as_ref().is_some_and(|sender| !Hosted::is_new(book, sender)) {
            return Ok(None);
        }
        let mut hosted = match head.status {
            Some(RunStatus::Running) => self.attended(run, head, book).await?,
            // A person has spoken to a run that waits for that: the engine is there, so it goes on.
            Some(RunStatus::Parked) if delivery.facts.iter().any(wakes) => {
                let reopen = self.as_before(run).await?;
                self.reopened(run, head, &reopen).await?
            }
            // An attempt that was given up has ended late: what it cost is noted.
            Some(RunStatus::Parked | RunStatus::Interrupted) if delivery.facts.iter().any(ends) => {
                self.attended(run, head, book).await?
            }
            _ => return Ok(None),
        };
        delivery.sender.into_iter().for_each(|sender| hosted.note_sender(sender));
        Ok(Some((hosted, delivery.facts)))
    }

    /// Puts down what is large in a turn, and what is too much together, so that the turn is one message.
    async fn put_down(&self, run: &RunId, mut decided: Decided) -> Result<Decided, ClusterError> {
        let mut room = ROOM;
        let mut fits = |text: &JsonText| {
            let size = text.as_str().len();
            let fits = size <= LARGE && size <= room;
            room -= if fits { size } else { 0 };
            fits
        };
        let (small, large): (Vec<Blob>, Vec<Blob>) =
            decided.blobs.into_iter().partition(|blob| fits(&blob.text));
        decided.blobs = small;
        for Blob { digest, text } in large {
            values::put(&self.ingress, run, &digest, &text).await?;
            decided.stored.push(digest);
        }
        for act in &mut decided.acts {
            let Act::Launch { launch, .. } = act else { continue };
            let text = JsonText::of(&launch.assignment);
            if !fits(&text) {
                let digest = Digest::of(text.as_str().as_bytes());
                values::put(&self.ingress, run, &digest, &text).await?;
                decided.stored.push(digest);
                (launch.assignment, launch.stored) = (None, Some(digest));
            }
        }
        Ok(decided)
    }

    fn begun(&self, run: &RunId, begin: &Begin) -> Result<Hosted, ClusterError> {
        let started = read(run, &begin.started)?;
        Ok(Hosted::begin(run.clone(), read(run, &begin.plan)?, started, begin, self.load(run))?)
    }

    async fn reopened(&self, run: &RunId, head: &Head, reopen: &Reopen) -> Result<Hosted, ClusterError> {
        let past = self.past(run, head).await?;
        Ok(Hosted::reopen(run.clone(), past, head.clone(), reopen, self.load(run))?)
    }

    /// The same terms as before.
    async fn as_before(&self, run: &RunId) -> Result<Reopen, ClusterError> {
        let Meta { settings, options, .. } = self.meta(run).await?;
        let (host, pid) = (self.ingress.address().to_string(), std::process::id());
        Ok(Reopen { options, settings, host, pid, at: now() })
    }

    /// The run's state after its last turn: as it was kept, or folded anew.
    async fn attended(&self, run: &RunId, head: &Head, book: &Book) -> Result<Hosted, ClusterError> {
        let kept = self.hosts.lock().expect("a panic poisoned this lock").remove(run);
        if let Some(kept) = kept.filter(|kept| kept.is_at(head, book)) {
            return Ok(kept);
        }
        let past = self.past(run, head).await?;
        let (load, at) = (self.load(run), (head.clone(), book.clone()));
        let run = run.clone();
        let folded = tokio::task::spawn_blocking(move || Hosted::attending(run, past, at, now(), load)).await;
        Ok(folded.map_err(|error| ClusterError::Unreadable(error.to_string()))??)
    }

    fn keep(&self, run: RunId, hosted: Hosted, live: bool) {
        let mut hosts = self.hosts.lock().expect("a panic poisoned this lock");
        hosts.remove(&run);
        if hosts.len() >= MOST_RUNS && live {
            // Any of them: it is folded again when its next turn comes.
            let first = hosts.keys().next().cloned();
            first.and_then(|first| hosts.remove(&first));
        }
        if live {
            hosts.insert(run, hosted);
        }
    }

    /// Everything that happened, checked against the head.
    async fn past(&self, run: &RunId, head: &Head) -> Result<Past, ClusterError> {
        let meta = self.meta(run).await?;
        let events = history(&self.ingress, run, head).await?;
        Ok(Past { plan: Arc::new(read(run, &meta.plan)?), events, options: meta.options })
    }

    async fn meta(&self, run: &RunId) -> Result<Meta, ClusterError> {
        let meta: Option<Meta> = self.ingress.ask(&format!("ConvokeRun/{run}/meta"), READ).await?;
        meta.ok_or_else(|| ClusterError::Torn(run.to_string()))
    }

    fn load(&self, run: &RunId) -> Load {
        let (ingress, run, runtime) = (self.ingress.clone(), run.clone(), Handle::current());
        Box::new(move |digest| runtime.block_on(blob(&ingress, &run, &digest)).ok().flatten())
    }

    /// What performs the attempts of a run.
    pub async fn performer(&self, run: &RunId) -> Result<Arc<dyn Performer>, String> {
        if let Some(made) = self.made(run) {
            return Ok(made);
        }
        let meta = self.meta(run).await.map_err(|error| error.to_string())?;
        // Another attempt may have asked meanwhile: the servers of a run are started once.
        if let Some(made) = self.made(run) {
            return Ok(made);
        }
        let performer = self.performers.for_run(&meta.settings)?;
        let mut all = self.made.lock().expect("a panic poisoned this lock");
        all.push((run.clone(), performer.clone()));
        if all.len() > MOST_RUNS {
            let (_, oldest) = all.remove(0);
            tokio::spawn(async move { oldest.close().await });
        }
        Ok(performer)
    }

    fn made(&self, run: &RunId) -> Option<Arc<dyn Performer>> {
        let mut all = self.made.lock().expect("a panic poisoned this lock");
        let place = all.iter().position(|(known, _)| known == run)?;
        let found = all.remove(place);
        all.push(found.clone());
        Some(found.1)
    }

    /// Ends the connections and servers of all runs.
    pub async fn close(&self) {
        let all = std::mem::take(&mut *self.made.lock().expect("a panic poisoned this lock"));
        futures::future::join_all(all.iter().map(|(_, performer)| performer.close())).await;
    }
}

/// A turn in which nothing happens.
fn nothing(head: Head, book: Book) -> Decided {
    let (events, blobs, stored, acts) = Default::default();
    Decided { events, blobs, stored, head, book, acts }
}

/// Whether a fact has a parked run go on.
fn wakes(fact: &ClusterFact) -> bool {
    matches!(&fact.said, Said::Message(message) if matches!(**message, Message::Answer(_) | Message::Guide { .. }))
}

/// Whether a fact is the end of an attempt.
fn ends(fact: &ClusterFact) -> bool {
    matches!(fact.said, Said::Ended { .. })
}

fn read<T: serde::de::DeserializeOwned>(run: &RunId, text: &JsonText) -> Result<T, ClusterError> {
    serde_json::from_str(text.as_str())
        .map_err(|error| ClusterError::Unreadable(format!("run `{run}`: {error}")))
}

/// The events of a run up to its head.
pub async fn history(ingress: &Ingress, run: &RunId, head: &Head) -> Result<Vec<Stamped>, ClusterError> {
    let (events, hash) = turns(ingress, run, 0, head.turns, "").await?;
    match hash == head.hash {
        true => Ok(events),
        false => Err(ClusterError::Torn(run.to_string())),
    }
}

/// The events of some turns, and the hash after them.
pub async fn turns(
    ingress: &Ingress,
    run: &RunId,
    mut from: u64,
    to: u64,
    before: &str,
) -> Result<(Vec<Stamped>, String), ClusterError> {
    let (mut events, mut hash) = (Vec::new(), before.to_owned());
    while from < to {
        let path = format!("ConvokeRun/{run}/events");
        let chunks: Vec<Box<RawValue>> = ingress.call(&path, &Range { from, to }, Some(READ)).await?;
        if chunks.is_empty() {
            return Err(ClusterError::Torn(run.to_string()));
        }
        from += chunks.len() as u64;
        for chunk in chunks {
            hash = chain(&hash, chunk.get().as_bytes());
            let part: Vec<Stamped> = serde_json::from_str(chunk.get())
                .map_err(|error| ClusterError::Unreadable(format!("run `{run}`: {error}")))?;
            events.extend(part);
        }
    }
    Ok((events, hash))
}

/// A large value of a run.
pub async fn blob(ingress: &Ingress, run: &RunId, digest: &Digest) -> Result<Option<JsonText>, ClusterError> {
    let small: Option<JsonText> = ingress.call(&format!("ConvokeRun/{run}/blob"), digest, Some(READ)).await?;
    match small {
        Some(text) => Ok(Some(text)),
        None => values::get(ingress, run, digest).await,
    }
}

/// The date.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_micros() as u64)
}
