//! The offers of one run: decides which attempts are offered, and hands each over to one claimant at most.
//!
//! An attempt is offered when this process has no free slot and other processes have room. An offer without a claim is taken
//! back at once and performed here. After the hand-over the attempt is `remote_attempt`'s.

use crate::channel::Channel;
use crate::claims::ClaimState;
use crate::messages::{FromClaimant, FromOwner, Task};
use crate::owner::{SharedRun, Timeouts};
use crate::remote_attempt::{Granted, follow};
use crate::requirements::Requirements;
use convoke_agent::{EngineLink, Looked};
use convoke_capacity::{Offer, OfferId, Progress};
use convoke_failpoint::failpoint;
use convoke_model::{Assignment, AttemptEnd, Digest, JsonText, ProofLook, TaskId};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Claimants that wait for one offer: the first, and those that claim it after its death.
const MOST_CANDIDATES: usize = 4;

/// The offers of one run.
pub struct Offers {
    shared: SharedRun,
    /// Where claimants are sent, by the number of the offer.
    open: Mutex<HashMap<u64, Sender<Candidate>>>,
    /// Attempts that wait for a claimant.
    waiting: AtomicU32,
    /// Offers that are over and still claimed.
    removed: Mutex<Vec<OfferId>>,
}

/// A claimant that has connected and named its claim.
pub struct Candidate {
    /// The connection.
    pub channel: Channel<FromClaimant, FromOwner>,
    /// The fence of its claim.
    pub fence: u64,
    /// Its process id.
    pub pid: u32,
}

/// An attempt that is worth offering.
pub struct Offerable {
    requirements: Requirements,
    waiting: Waiting,
}

/// Counts an attempt that waits for a claimant.
struct Waiting(Arc<Offers>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Offers {
    /// No offers yet.
    pub fn new(shared: SharedRun) -> Offers {
        Offers { shared, open: Mutex::default(), waiting: AtomicU32::new(0), removed: Mutex::default() }
    }

    /// How long claimants are waited for.
    pub fn timeouts(&self) -> Timeouts {
        self.shared.timeouts
    }

    /// Whether an attempt is better offered: this process is full, other processes have room that no other offer of this run
    /// counts on, and another process can perform the work.
    pub fn worth_offering(self: &Arc<Offers>, assignment: &Assignment) -> Option<Offerable> {
        // What must be proven is looked at, and written down, by the process that owns the run.
        if assignment.proof.is_some() {
            return None;
        }
        if self.shared.slots.free() > 0 {
            return None;
        }
        if self.waiting.load(Ordering::Relaxed) >= self.shared.table.spare_elsewhere() {
            return None;
        }
        let requirements = Requirements::of(&assignment.work, &*self.shared.host)?;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Some(Offerable { requirements, waiting: Waiting(self.clone()) })
    }

    /// Looks at work in this process.
    pub fn look(&self, look: ProofLook, cancel: CancellationToken) -> BoxFuture<'static, Looked> {
        self.shared.inner.look(look, cancel)
    }

    /// Performs the attempt in this process.
    pub fn perform_here(
        &self,
        assignment: Assignment,
        link: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let slot = self.shared.slots.take();
        let work = self.shared.inner.attempt(assignment, link, cancel);
        Box::pin(async move {
            let end = work.await;
            drop(slot);
            end
        })
    }

    /// Offers the attempt, and performs it here if no claimant begins it.
    pub async fn perform_elsewhere(
        &self,
        assignment: Assignment,
        offerable: Offerable,
        link: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> AttemptEnd {
        let granted = self.hand_over(&assignment, offerable.requirements, &cancel).await;
        drop(offerable.waiting);
        let Some((id, granted)) = granted else { return self.perform_here(assignment, link, cancel).await };
        let end = follow(granted, &self.shared, id, link, cancel).await;
        self.take_down(id);
        end
    }

    /// Gives a claimant to the offer that it names, or back if that is over.
    pub fn present(&self, offer: u64, candidate: Candidate) -> Result<(), Candidate> {
        let candidates = self.open().get(&offer).cloned();
        match candidates {
            Some(candidates) => candidates.try_send(candidate).map_err(|full| full.into_inner()),
            None => Err(candidate),
        }
    }

    /// Finds a claimant that begins the attempt. After `None` no claimant will.
    async fn hand_over(
        &self,
        assignment: &Assignment,
        requirements: Requirements,
        cancel: &CancellationToken,
    ) -> Option<(OfferId, Granted)> {
        let keys = requirements.keys();
        let settings = self.shared.settings.clone();
        let task = JsonText::of(&Task { assignment: assignment.clone(), settings, requirements });
        let (id, mut candidates) = self.put_up(&assignment.task, keys, &task)?;
        failpoint!("handover.offered");
        let granted = self.wait_for_claimant(id, &task, &mut candidates, cancel).await;
        self.open().remove(&id.number);
        if granted.is_none() {
            self.take_down(id);
        }
        granted.map(|granted| (id, granted))
    }

    fn put_up(
        &self,
        task: &TaskId,
        needs: Vec<u64>,
        text: &JsonText,
    ) -> Option<(OfferId, Receiver<Candidate>)> {
        self.sweep();
        let payload = Digest::of(text.as_str().as_bytes()).0;
        let offer = Offer { run: self.shared.run.to_string(), task: task.to_string(), payload, needs };
        let (sender, candidates) = channel(MOST_CANDIDATES);
        // Locked first: a claimant can connect before the offer is in the map, and waits for the lock.
        let mut open = self.open();
        let id = self.shared.table.offer(&offer).ok()?;
        open.insert(id.number, sender);
        Some((id, candidates))
    }

    async fn wait_for_claimant(
        &self,
        id: OfferId,
        task: &JsonText,
        candidates: &mut Receiver<Candidate>,
        cancel: &CancellationToken,
    ) -> Option<Granted> {
        let timeouts = self.timeouts();
        let (mut state, until) = (ClaimState::default(), Instant::now() + timeouts.step);
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                Some(candidate) = candidates.recv() => {
                    let granted = self.grant(candidate, id, task, &mut state, cancel).await;
                    if granted.is_some() {
                        return granted;
                    }
                    break;
                }
                () = sleep(timeouts.claim) => match self.shared.table.revoke(id, self.shared.silence) {
                    Progress::Claimed { .. } if Instant::now() < until => {}
                    _ => break,
                },
            }
        }
        state.keep();
        None
    }

    /// Sends the task to a claimant, and `Go` if it is ready.
    async fn grant(
        &self,
        mut candidate: Candidate,
        id: OfferId,
        task: &JsonText,
        state: &mut ClaimState,
        cancel: &CancellationToken,
    ) -> Option<Granted> {
        failpoint!("handover.task.before");
        candidate.channel.send(FromOwner::Task(task.clone()));
        let answer = tokio::select! {
            answer = candidate.channel.next_within(self.timeouts().step) => answer,
            () = cancel.cancelled() => None,
        };
        let held = match self.shared.table.progress(id) {
            Progress::Claimed { fence, .. } => Some(fence),
            _ => None,
        };
        if !matches!(answer, Some(FromClaimant::Ready)) || !state.grant(candidate.fence, held) {
            // The claimant sees the end of the channel, and takes it as a refusal.
            return None;
        }
        failpoint!("handover.go.before");
        candidate.channel.send(FromOwner::Go);
        failpoint!("handover.go.sent");
        Some(Granted { channel: candidate.channel, pid: candidate.pid })
    }

    /// Takes an offer off the table, now or when its claimant has ended its claim.
    fn take_down(&self, id: OfferId) {
        if let Progress::Claimed { .. } = self.shared.table.take_back(id) {
            self.removed().push(id);
        }
    }

    fn sweep(&self) {
        let table = &self.shared.table;
        self.removed().retain(|id| matches!(table.take_back(*id), Progress::Claimed { .. }));
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Sender<Candidate>>> {
        self.open.lock().expect("a panic poisoned this lock")
    }

    fn removed(&self) -> MutexGuard<'_, Vec<OfferId>> {
        self.removed.lock().expect("a panic poisoned this lock")
    }
}
