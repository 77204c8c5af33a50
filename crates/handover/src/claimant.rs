//! The claimant's side: claims tasks of other processes while there are free slots, and performs them with its own performers.
//!
//! A thread waits for offers, without polling. Every claim that was won ends with `finish`, however the task ended, so that no
//! offer goes round.

use crate::background::BackgroundTasks;
use crate::channel::Channel;
use crate::host::{HostEnvironment, Performer, Performers};
use crate::local_slots::{LocalSlot, LocalSlots};
use crate::messages::{FromClaimant, FromOwner, Task};
use crate::remote_link::RemoteLink;
use crate::requirements::keys_met_by;
use crate::socket;
use convoke_capacity::{Capacity, Claim, Claimed, OpenOffer};
use convoke_failpoint::failpoint;
use convoke_model::{Assignment, AttemptEnd, Digest, JsonText, RunId};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long the owner may take for each step before the beginning, and to acknowledge the end.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);

/// How often this process renews its heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Runs whose connections and servers are kept for their next task.
const MOST_PERFORMERS: usize = 16;

/// How a claimant stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Tasks that it has begun may end.
    AfterTasks,
    /// Tasks that it has begun are given up.
    AtOnce,
}

/// The folder of a run, in which its owner's socket is.
pub type RunFolder = Arc<dyn Fn(&RunId) -> PathBuf + Send + Sync>;

/// Claims and performs tasks of other processes.
pub struct Claimant {
    table: Arc<Capacity>,
    run_folder: RunFolder,
    slots: Arc<LocalSlots>,
    host: Arc<dyn HostEnvironment>,
    makers: Arc<dyn Performers>,
    /// The keys of requirements that this process meets.
    keys: HashSet<u64>,
    /// Performers by the settings of their run.
    performers: Mutex<HashMap<String, Arc<dyn Performer>>>,
    /// Closes performers that made room for others.
    closing: BackgroundTasks,
    finishing: CancellationToken,
    stopping: CancellationToken,
    offers: Arc<Notify>,
    step_timeout: Duration,
    /// The receiver of the reasons why offers are not taken, and the reasons sent so far. Each is sent once, so the queue needs no
    /// limit.
    reasons: Option<UnboundedSender<String>>,
    sent_reasons: Mutex<HashSet<String>>,
}

impl Claimant {
    /// A claimant for this process. It claims nothing before [`work`](Self::work).
    pub fn new<H>(
        run_folder: RunFolder,
        table: Arc<Capacity>,
        slots: Arc<LocalSlots>,
        host: Arc<H>,
    ) -> Claimant
    where
        H: HostEnvironment + Performers + 'static,
    {
        Claimant {
            keys: keys_met_by(&*host),
            table,
            run_folder,
            slots,
            host: host.clone(),
            makers: host,
            performers: Mutex::default(),
            closing: BackgroundTasks::default(),
            finishing: CancellationToken::new(),
            stopping: CancellationToken::new(),
            offers: Arc::default(),
            step_timeout: STEP_TIMEOUT,
            reasons: None,
            sent_reasons: Mutex::default(),
        }
    }

    /// Changes how long the owner may take for each step.
    pub fn with_step_timeout(mut self, step: Duration) -> Claimant {
        self.step_timeout = step;
        self
    }

    /// Sends the reasons why offers are not taken, each once.
    pub fn with_reasons(mut self, reasons: UnboundedSender<String>) -> Claimant {
        self.reasons = Some(reasons);
        self
    }

    fn not_taken(&self, run: &str, why: &str) {
        let Some(reasons) = &self.reasons else { return };
        let words = format!("run {run} offers work that is not taken: {why}");
        if self.sent_reasons.lock().expect("a panic poisoned this lock").insert(words.clone()) {
            let _ = reasons.send(words);
        }
    }

    /// Stops claiming.
    pub fn stop(&self, how: Stop) {
        self.finishing.cancel();
        if how == Stop::AtOnce {
            self.stopping.cancel();
        }
    }

    /// Performs tasks until [`stop`](Self::stop), or until it has had none for so long. Answers with how many it performed.
    pub async fn work(self: Arc<Self>, idle: Option<Duration>) -> io::Result<u64> {
        self.table.set_spare(self.slots.free());
        let listener = OfferListener::start(self.table.clone(), self.offers.clone())?;
        let (mut tasks, mut done, mut since) = (JoinSet::new(), 0, Instant::now());
        loop {
            self.claim_offers(&mut tasks);
            let leaving = idle.filter(|_| tasks.is_empty()).map(|idle| since + idle);
            let over = self.finishing.is_cancelled() || leaving.is_some_and(|at| at <= Instant::now());
            if tasks.is_empty() && over {
                break;
            }
            tokio::select! {
                Some(performed) = tasks.join_next() => {
                    done += u64::from(matches!(performed, Ok(true)));
                    since = Instant::now();
                }
                () = self.offers.notified() => {}
                () = self.slots.changed() => {}
                () = self.finishing.cancelled(), if !self.finishing.is_cancelled() => {}
                () = sleep_until(leaving.unwrap_or(since)), if leaving.is_some() => {}
            }
        }
        self.table.set_spare(0);
        drop(listener);
        self.close_performers().await;
        Ok(done)
    }

    /// Claims offers while slots are free, and publishes how many are left.
    fn claim_offers(self: &Arc<Self>, tasks: &mut JoinSet<bool>) {
        if self.finishing.is_cancelled() {
            return self.table.set_spare(0);
        }
        if self.slots.free() > 0 {
            for open in self.table.offers() {
                if self.slots.free() == 0 {
                    break;
                }
                self.try_to_claim(open, tasks);
            }
        }
        self.table.set_spare(self.slots.free());
    }

    fn try_to_claim(self: &Arc<Self>, open: OpenOffer, tasks: &mut JoinSet<bool>) {
        if let Some(unmet) = open.offer.needs.iter().find(|key| !self.keys.contains(key)) {
            // The key of the folder comes first; of variables there are only digests.
            let is_folder = open.offer.needs.first() == Some(unmet);
            let why = if is_folder {
                "it is run in another folder"
            } else {
                "a variable that it needs has another value here"
            };
            return self.not_taken(&open.offer.run, why);
        }
        if let Claimed::Won(claim) = self.table.claim(open.id) {
            let (claimant, slot) = (self.clone(), self.slots.take());
            tasks.spawn(async move { claimant.perform(open, claim, slot).await });
        }
    }

    /// Answers whether the task was performed to its end.
    async fn perform(self: Arc<Self>, open: OpenOffer, claim: Claim, slot: LocalSlot) -> bool {
        failpoint!("handover.claim.won");
        let performed = self.hand_over(&open, claim).await.is_some();
        failpoint!("handover.claim.before_finish");
        self.table.finish(&claim);
        failpoint!("handover.claim.finished");
        drop(slot);
        performed
    }

    /// Connects to the owner with a claim, and performs the task on `Go`.
    async fn hand_over(&self, open: &OpenOffer, claim: Claim) -> Option<()> {
        let run = RunId(open.offer.run.as_str().into());
        let Some(stream) = socket::connect(&(self.run_folder)(&run)).await.ok().filter(socket::is_ours)
        else {
            self.not_taken(&open.offer.run, "its process cannot be reached");
            return None;
        };
        let mut channel = Channel::over(stream);
        let (offer, fence, pid) = (claim.id.number, claim.fence, self.table.pid());
        channel.send(FromClaimant::Hello { offer, fence, pid });
        failpoint!("handover.hello.sent");
        let Some(FromOwner::Task(text)) = channel.next_within(self.step_timeout).await else { return None };
        let (performer, assignment) = match self.prepare(&text, &open.offer.payload) {
            Ok(ready) => ready,
            Err(why) => {
                self.not_taken(&open.offer.run, &why);
                channel.send(FromClaimant::Refused { why });
                channel.close().await;
                return None;
            }
        };
        failpoint!("handover.ready.before");
        channel.send(FromClaimant::Ready);
        let Some(FromOwner::Go) = channel.next_within(self.step_timeout).await else { return None };
        if !self.table.holds(&claim) {
            return None;
        }
        failpoint!("handover.go.heard");
        self.carry_out(channel, &*performer, assignment, claim).await
    }

    /// The performer of the task, if this process meets its requirements.
    fn prepare(
        &self,
        text: &JsonText,
        digest: &[u8; 32],
    ) -> Result<(Arc<dyn Performer>, Assignment), String> {
        if Digest::of(text.as_str().as_bytes()).0 != *digest {
            return Err("the task is not the one that was offered".into());
        }
        let task: Task = serde_json::from_str(text.as_str()).map_err(|error| error.to_string())?;
        if let Some(unmet) = task.requirements.unmet_by(&*self.host) {
            return Err(unmet);
        }
        Ok((self.performer_for(&task.settings)?, task.assignment))
    }

    fn performer_for(&self, settings: &JsonText) -> Result<Arc<dyn Performer>, String> {
        let mut known = self.performers.lock().expect("a panic poisoned this lock");
        if let Some(performer) = known.get(settings.as_str()) {
            return Ok(performer.clone());
        }
        if known.len() >= MOST_PERFORMERS {
            self.close_unused(&mut known);
        }
        let performer = self.makers.for_run(settings)?;
        known.insert(settings.as_str().to_owned(), performer.clone());
        Ok(performer)
    }

    /// Performs the attempt. Its end is not sent if the owner is gone, or if it was given up here.
    async fn carry_out(
        &self,
        mut channel: Channel<FromOwner, FromClaimant>,
        performer: &dyn Performer,
        assignment: Assignment,
        claim: Claim,
    ) -> Option<()> {
        let link = Arc::new(RemoteLink::new(channel.outgoing(), self.table.clone(), claim));
        let cancel = CancellationToken::new();
        let mut work = performer.executor().attempt(assignment, link.clone(), cancel.clone());
        let (mut owned, mut given_up) = (true, false);
        let end = loop {
            tokio::select! {
                end = &mut work => break end,
                message = channel.next(), if owned => match message {
                    Some(FromOwner::Cancel) => cancel.cancel(),
                    Some(answer) => link.deliver(answer),
                    None => {
                        owned = false;
                        link.disconnect();
                        cancel.cancel();
                    }
                },
                () = self.stopping.cancelled(), if !given_up => {
                    given_up = true;
                    cancel.cancel();
                }
            }
        };
        if !owned || given_up && !matches!(end, AttemptEnd::Finished { .. }) {
            return None;
        }
        failpoint!("handover.end.before");
        channel.send(FromClaimant::End(Box::new(end)));
        failpoint!("handover.end.sent");
        let acknowledged = channel.next_within(self.step_timeout).await;
        matches!(acknowledged, Some(FromOwner::Done)).then_some(())
    }

    async fn close_performers(&self) {
        let all = std::mem::take(&mut *self.performers.lock().expect("a panic poisoned this lock"));
        for performer in all.into_values() {
            performer.close().await;
        }
        self.closing.finish().await;
    }

    /// Closes performers that no attempt uses at this moment.
    fn close_unused(&self, known: &mut HashMap<String, Arc<dyn Performer>>) {
        for (_, performer) in known.extract_if(|_, performer| Arc::strong_count(performer) == 1) {
            self.closing.spawn(async move { performer.close().await });
        }
    }
}

/// A thread that waits for offers and renews the heartbeat of this process. Ends when it is dropped.
struct OfferListener {
    table: Arc<Capacity>,
    closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl OfferListener {
    fn start(table: Arc<Capacity>, offers: Arc<Notify>) -> io::Result<OfferListener> {
        let closed = Arc::new(AtomicBool::new(false));
        let (ours, over) = (table.clone(), closed.clone());
        let listen = move || {
            let mut seen = u32::MAX;
            while !over.load(Ordering::SeqCst) {
                ours.beat();
                let latest = ours.wait_for_offers(seen, HEARTBEAT);
                if std::mem::replace(&mut seen, latest) != latest {
                    offers.notify_one();
                }
            }
        };
        let thread = std::thread::Builder::new().name("offers".into()).spawn(listen)?;
        Ok(OfferListener { table, closed, thread: Some(thread) })
    }
}

impl Drop for OfferListener {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        self.table.stir();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
