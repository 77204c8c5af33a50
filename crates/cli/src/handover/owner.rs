//! The owner's side: offers attempts that others may perform, and hands each over to one thief at most.
//!
//! Performs attempts as another does; which of them, that one does not notice. An attempt is offered when this process is
//! full and others have room; one that nobody claims at once is performed here. What its attempt says once it was handed
//! over is `serve`'s.

use super::desk::Desk;
use super::link::Link;
use super::needs::Needs;
use super::seats::Seats;
use super::serve::{Given, serve};
use super::socket;
use super::tasks::Tasks;
use super::wire::{FromOwner, FromThief, Task};
use crate::driving::Gear;
use crate::env;
use convoke_agent::EngineLink;
use convoke_capacity::{Capacity, Offer, OfferId, Progress};
use convoke_engine::Executor;
use convoke_model::{Assignment, AttemptEnd, Digest, JsonText, RunId, TaskId};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// How long an attempt waits for somebody to claim it.
const CLAIM_TIME: Duration = Duration::from_millis(50);

/// How long each step from a claim to the beginning may take; then the attempt is performed here.
const STEP_TIME: Duration = Duration::from_secs(5);

/// Thieves at one desk: the first, and those that come after its death.
const CALLERS: usize = 4;

/// Thieves at the door that have not said yet what they come for. Others wait outside.
const AT_THE_DOOR: usize = 64;

/// A run whose attempts others may perform.
pub struct Owner {
    office: Arc<Office>,
    run_dir: PathBuf,
    _door: AbortOnDropHandle<()>,
}

/// What a run is, for those who perform its attempts.
pub struct Lent {
    /// Its name.
    pub run: RunId,
    /// Its providers and servers.
    pub gear: Gear,
    /// Who performs what stays here.
    pub inner: Arc<dyn Executor>,
    /// What all processes share.
    pub table: Arc<Capacity>,
    /// What this process serves by itself.
    pub seats: Arc<Seats>,
    /// A thief that has sent no heartbeat for so long is given up on.
    pub silence: Duration,
    /// A call that a silent thief has under way is over after so long at the latest.
    pub longest: Duration,
    /// Waits for word from silent thieves. Ends with the run: then nothing is held for them any more.
    pub silent: Tasks,
}

impl Owner {
    /// Opens the run's door.
    pub fn open(run_dir: &Path, lent: Lent) -> io::Result<Owner> {
        let folder = std::env::current_dir()?.display().to_string();
        let listener = socket::listen(run_dir)?;
        let office = Arc::new(Office {
            lent,
            folder,
            desks: Mutex::default(),
            offered: AtomicU32::new(0),
            removed: Mutex::default(),
        });
        let door = AbortOnDropHandle::new(tokio::spawn(attend(listener, office.clone())));
        Ok(Owner { office, run_dir: run_dir.to_owned(), _door: door })
    }

    /// Who performs the run's attempts, here or elsewhere.
    pub fn executor(&self) -> Arc<dyn Executor> {
        Arc::new(Lending(self.office.clone()))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        socket::remove(&self.run_dir);
    }
}

struct Lending(Arc<Office>);

impl Executor for Lending {
    fn attempt(
        &self,
        assignment: Assignment,
        line: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let office = self.0.clone();
        match office.worth_offering(&assignment) {
            Some((needs, waiting)) => {
                Box::pin(async move { office.lend(assignment, needs, waiting, line, cancel).await })
            }
            None => office.perform_here(assignment, line, cancel),
        }
    }
}

struct Office {
    lent: Lent,
    folder: String,
    /// Where thieves come to, by the number of the offer.
    desks: Mutex<HashMap<u64, Sender<Caller>>>,
    /// Attempts that wait for a thief.
    offered: AtomicU32,
    /// Offers that are over, and that somebody has a claim to still.
    removed: Mutex<Vec<OfferId>>,
}

/// A thief that has come with its claim.
struct Caller {
    link: Link<FromThief, FromOwner>,
    fence: u64,
    pid: u32,
}

/// Counts an attempt that waits for a thief.
struct Waiting(Arc<Office>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.offered.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Office {
    /// Whether an attempt is better offered: this process is full, others have room that is not spoken for, and the work
    /// needs nothing that only this process has.
    fn worth_offering(self: &Arc<Office>, assignment: &Assignment) -> Option<(Needs, Waiting)> {
        if self.lent.seats.free() > 0 {
            return None;
        }
        if self.offered.load(Ordering::Relaxed) >= self.lent.table.spare_elsewhere() {
            return None;
        }
        let needs = Needs::of(&assignment.work, &self.folder, &env::get)?;
        self.offered.fetch_add(1, Ordering::Relaxed);
        Some((needs, Waiting(self.clone())))
    }

    fn perform_here(
        &self,
        assignment: Assignment,
        line: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let seat = self.lent.seats.take();
        let work = self.lent.inner.attempt(assignment, line, cancel);
        Box::pin(async move {
            let end = work.await;
            drop(seat);
            end
        })
    }

    async fn lend(
        &self,
        assignment: Assignment,
        needs: Needs,
        waiting: Waiting,
        line: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> AttemptEnd {
        let given = self.hand_over(&assignment, needs, &cancel).await;
        drop(waiting);
        let Some((id, given)) = given else { return self.perform_here(assignment, line, cancel).await };
        let end = serve(given, &self.lent, id, line, cancel).await;
        self.take_down(id);
        end
    }

    /// Finds somebody who begins the attempt. Once this answers with nobody, nobody will.
    async fn hand_over(
        &self,
        assignment: &Assignment,
        needs: Needs,
        cancel: &CancellationToken,
    ) -> Option<(OfferId, Given)> {
        let keys = needs.keys();
        let task = Task { assignment: assignment.clone(), gear: self.lent.gear.clone(), needs };
        let payload = JsonText::of(&task);
        let (id, mut callers) = self.put_up(&assignment.task, keys, &payload)?;
        let given = self.wait_for_thief(id, &payload, &mut callers, cancel).await;
        self.desks().remove(&id.number);
        if given.is_none() {
            self.take_down(id);
        }
        given.map(|given| (id, given))
    }

    fn put_up(
        &self,
        task: &TaskId,
        needs: Vec<u64>,
        payload: &JsonText,
    ) -> Option<(OfferId, Receiver<Caller>)> {
        self.sweep();
        let payload = Digest::of(payload.as_str().as_bytes()).0;
        let offer = Offer { run: self.lent.run.to_string(), task: task.to_string(), payload, needs };
        let (desk, callers) = channel(CALLERS);
        // A thief can be at the door before the offer is in the book, and waits for the book.
        let mut desks = self.desks();
        let id = self.lent.table.offer(&offer).ok()?;
        desks.insert(id.number, desk);
        Some((id, callers))
    }

    async fn wait_for_thief(
        &self,
        id: OfferId,
        payload: &JsonText,
        callers: &mut Receiver<Caller>,
        cancel: &CancellationToken,
    ) -> Option<Given> {
        let (mut desk, until) = (Desk::default(), Instant::now() + STEP_TIME);
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                Some(caller) = callers.recv() => {
                    let given = self.give(caller, id, payload, &mut desk, cancel).await;
                    if given.is_some() {
                        return given;
                    }
                    break;
                }
                () = sleep(CLAIM_TIME) => match self.lent.table.revoke(id, self.lent.silence) {
                    Progress::Claimed { .. } if Instant::now() < until => {}
                    _ => break,
                },
            }
        }
        desk.keep();
        None
    }

    /// Shows a thief the task, and has it begin if it can.
    async fn give(
        &self,
        mut caller: Caller,
        id: OfferId,
        payload: &JsonText,
        desk: &mut Desk,
        cancel: &CancellationToken,
    ) -> Option<Given> {
        caller.link.send(FromOwner::Task(payload.clone()));
        let answer = tokio::select! {
            answer = caller.link.next_within(STEP_TIME) => answer,
            () = cancel.cancelled() => None,
        };
        let held = match self.lent.table.progress(id) {
            Progress::Claimed { fence, .. } => Some(fence),
            _ => None,
        };
        if !matches!(answer, Some(FromThief::Ready)) || !desk.give(caller.fence, held) {
            // The thief hears that the link has ended, and takes it as a no.
            return None;
        }
        caller.link.send(FromOwner::Go);
        Some(Given { link: caller.link, pid: caller.pid })
    }

    /// Takes an offer off the table, now or when its thief has let go of it.
    fn take_down(&self, id: OfferId) {
        if let Progress::Claimed { .. } = self.lent.table.take_back(id) {
            self.removed().push(id);
        }
    }

    fn sweep(&self) {
        let table = &self.lent.table;
        self.removed().retain(|id| matches!(table.take_back(*id), Progress::Claimed { .. }));
    }

    fn desks(&self) -> MutexGuard<'_, HashMap<u64, Sender<Caller>>> {
        self.desks.lock().expect("nobody panics while holding it")
    }

    fn removed(&self) -> MutexGuard<'_, Vec<OfferId>> {
        self.removed.lock().expect("nobody panics while holding it")
    }
}

/// Lets thieves in, each to the desk that it names. Those on their way there go when the door is closed.
async fn attend(listener: UnixListener, office: Arc<Office>) {
    let mut guests = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            Some(_) = guests.join_next() => continue,
            accepted = listener.accept(), if guests.len() < AT_THE_DOOR => accepted,
        };
        match accepted {
            Ok((stream, _)) if socket::is_ours(&stream) => {
                guests.spawn(timeout(STEP_TIME * 2, introduce(stream, office.clone())));
            }
            Ok(_) => {}
            // Out of descriptors, say: others will close some.
            Err(_) => sleep(CLAIM_TIME).await,
        }
    }
}

async fn introduce(stream: UnixStream, office: Arc<Office>) {
    let mut link = Link::over(stream);
    let Some(FromThief::Hello { offer, fence, pid }) = link.next_within(STEP_TIME).await else { return };
    let desk = office.desks().get(&offer).cloned();
    let caller = Caller { link, fence, pid };
    let refused = match desk {
        Some(desk) => desk.try_send(caller).err().map(|full| full.into_inner()),
        None => Some(caller),
    };
    if let Some(caller) = refused {
        caller.link.send(FromOwner::Gone);
        caller.link.close().await;
    }
}
