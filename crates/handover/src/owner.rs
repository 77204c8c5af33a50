//! The owner's side: an executor that performs attempts here or has them performed by other processes.
//!
//! The engine cannot tell which. `offers` decides where an attempt is performed; this file holds what both need and lets
//! claimants in.

use crate::background::BackgroundTasks;
use crate::channel::Channel;
use crate::host::HostEnvironment;
use crate::local_slots::LocalSlots;
use crate::messages::{FromClaimant, FromOwner};
use crate::offers::{Candidate, Offers};
use crate::socket;
use convoke_agent::{EngineLink, Executor, Looked};
use convoke_capacity::Capacity;
use convoke_model::{Assignment, AttemptEnd, JsonText, ProofLook, RunId};
use futures::future::BoxFuture;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// Connections whose claimant has not sent `Hello` yet. Further ones wait in the socket's queue.
const MOST_UNNAMED: usize = 64;

/// Ends the process that has this id and was started at this time, with everything that it started.
pub type EndLeftovers = Arc<dyn Fn(u32, u64) + Send + Sync>;

/// A run whose attempts other processes may perform.
pub struct Owner {
    offers: Arc<Offers>,
    run_dir: PathBuf,
    _listener: AbortOnDropHandle<()>,
}

/// The parts of a run that other processes and this one perform it with.
pub struct SharedRun {
    /// The run.
    pub run: RunId,
    /// The settings of its providers and servers, for performers in other processes.
    pub settings: JsonText,
    /// Performs the attempts that stay in this process.
    pub inner: Arc<dyn Executor>,
    /// The table that all processes share.
    pub table: Arc<Capacity>,
    /// The attempts that this process performs by itself.
    pub slots: Arc<LocalSlots>,
    /// The properties of this process on which attempts may depend.
    pub host: Arc<dyn HostEnvironment>,
    /// A claimant without a heartbeat for this long is given up.
    pub silence: Duration,
    /// The longest time that a call of a silent claimant can still be under way.
    pub longest: Duration,
    /// Waits for messages from silent claimants. Ends with the run: then nothing is held for them any more.
    pub silent: BackgroundTasks,
    /// Ends what a claimant that is gone has started.
    pub end_leftovers: EndLeftovers,
    /// How long the owner waits for claimants.
    pub timeouts: Timeouts,
}

/// How long an owner waits for claimants.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Until an offer is claimed; then the attempt is performed here.
    pub claim: Duration,
    /// For each step from the claim to the beginning; then the attempt is performed here.
    pub step: Duration,
    /// Between two looks at the heartbeat of a claimant.
    pub heartbeat: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            claim: Duration::from_millis(50),
            step: Duration::from_secs(5),
            heartbeat: Duration::from_secs(1),
        }
    }
}

impl Owner {
    /// Opens the run's socket.
    pub fn open(run_dir: &Path, shared: SharedRun) -> io::Result<Owner> {
        let listener = socket::listen(run_dir)?;
        let offers = Arc::new(Offers::new(shared));
        let accepting = AbortOnDropHandle::new(tokio::spawn(accept_claimants(listener, offers.clone())));
        Ok(Owner { offers, run_dir: run_dir.to_owned(), _listener: accepting })
    }

    /// Performs the run's attempts, here or elsewhere.
    pub fn executor(&self) -> Arc<dyn Executor> {
        Arc::new(SharingExecutor(self.offers.clone()))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        socket::remove(&self.run_dir);
    }
}

struct SharingExecutor(Arc<Offers>);

impl Executor for SharingExecutor {
    fn attempt(
        &self,
        assignment: Assignment,
        link: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let offers = self.0.clone();
        match offers.worth_offering(&assignment) {
            Some(offerable) => {
                Box::pin(async move { offers.perform_elsewhere(assignment, offerable, link, cancel).await })
            }
            None => offers.perform_here(assignment, link, cancel),
        }
    }

    /// What must be proven is looked at by the process that owns the run.
    fn look(&self, look: ProofLook, cancel: CancellationToken) -> BoxFuture<'static, Looked> {
        self.0.look(look, cancel)
    }
}

/// Accepts connections, and gives each claimant to the offer that it names. Connections that are not given yet end with this.
async fn accept_claimants(listener: UnixListener, offers: Arc<Offers>) {
    let timeouts = offers.timeouts();
    let mut unnamed = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            Some(_) = unnamed.join_next() => continue,
            accepted = listener.accept(), if unnamed.len() < MOST_UNNAMED => accepted,
        };
        match accepted {
            Ok((stream, _)) if socket::is_ours(&stream) => {
                unnamed.spawn(timeout(timeouts.step * 2, greet(stream, offers.clone(), timeouts.step)));
            }
            Ok(_) => {}
            // Out of file descriptors, for one: other tasks close some.
            Err(_) => sleep(timeouts.claim).await,
        }
    }
}

async fn greet(stream: UnixStream, offers: Arc<Offers>, step: Duration) {
    let mut channel = Channel::over(stream);
    let Some(FromClaimant::Hello { offer, fence, pid }) = channel.next_within(step).await else { return };
    if let Err(refused) = offers.present(offer, Candidate { channel, fence, pid }) {
        refused.channel.send(FromOwner::Gone);
        refused.channel.close().await;
    }
}
