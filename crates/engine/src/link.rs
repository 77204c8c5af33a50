//! One attempt's link to the engine: what it asks for and what it tells.
//!
//! A call whose permit came with the attempt's is made at once, and one that nobody counts as well; all others are asked
//! for. Before each the attempt's lease and the run's ownership are looked at: a process that was stopped for longer than
//! these last sends nothing more.

use crate::capacity::client::CapacityClient;
use crate::capacity::terms::{Calls, Fence};
use crate::core::stopping;
use crate::fact::What;
use crate::handle::{Handle, Notice};
use crate::tenure::Tenure;
use convoke_agent::{Admission, Admitted, CallDemand, CallPermit, Report, Sink, TurnLog, TurnRecord};
use convoke_capacity::LeaseStatus;
use convoke_govern::Outcome;
use convoke_journal::Writer;
use convoke_model::{Class, Digest, Failure, JsonText, ProofTold, TaskId, Usage, WorkspaceTold, reason};
use convoke_schedule::TaskIx;
use futures::future::BoxFuture;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How often a lease that waits for its renewal is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

pub(crate) struct AttemptLink {
    pub task: TaskIx,
    pub attempt: u32,
    pub id: TaskId,
    pub handle: Handle,
    pub watchers: Option<UnboundedSender<Notice>>,
    pub writer: Arc<Writer>,
    pub tenure: Arc<Tenure>,
    pub cancel: CancellationToken,
    pub stopping: Arc<AtomicBool>,
    pub client: Option<Arc<CapacityClient>>,
    pub fence: Option<Fence>,
    pub calls: Mutex<Calls>,
    /// What people said to the task since the attempt was launched.
    pub guidance: Arc<Mutex<Vec<String>>>,
}

impl Sink for AttemptLink {
    fn report(&self, report: Report) {
        match report {
            Report::Progress { text } => self.show(|task| Notice::Progress { task, text }),
            Report::ToolStarted { tool } => self.show(|task| Notice::ToolStarted { task, tool }),
            // Usage is recorded with the attempt's end, once.
            Report::Usage(_) => {}
            report => self.handle.send(What::Reported { task: self.task, attempt: self.attempt, report }),
        }
    }

    fn starts_until(&self) -> Option<std::time::Instant> {
        self.tenure.sure_until()
    }
}

/// An open call. Dropped unsettled, it says that nobody knows what became of the call.
struct Open {
    handle: Handle,
    task: TaskIx,
    attempt: u32,
    settled: bool,
}

impl Open {
    fn end(mut self, usage: Usage, outcome: Outcome) {
        self.settled = true;
        self.tell(Some(usage), outcome);
    }

    fn tell(&self, usage: Option<Usage>, outcome: Outcome) {
        self.handle.send(What::CallEnded { task: self.task, attempt: self.attempt, usage, outcome });
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.settled {
            self.tell(None, Outcome::Unknown);
        }
    }
}

impl AttemptLink {
    /// Tells watchers what is shown and forgotten.
    fn show(&self, notice: impl FnOnce(TaskId) -> Notice) {
        if let Some(watchers) = &self.watchers {
            let _ = watchers.send(notice(self.id.clone()));
        }
    }

    fn open(&self) -> Open {
        Open { handle: self.handle.clone(), task: self.task, attempt: self.attempt, settled: false }
    }

    /// Whether a call need not be asked for; `Some(true)` if a permit is held for it all the same.
    fn is_ready(&self, call: &CallDemand) -> Option<bool> {
        let mut calls = self.calls.lock().expect("a panic poisoned this lock");
        match &mut *calls {
            Calls::Free => Some(false),
            Calls::Asked(first) => match first.take() {
                Some(model) if *model == *call.model => Some(true),
                _ => None,
            },
        }
    }

    async fn ask(&self, demand: CallDemand) -> Result<Admitted, Failure> {
        let open = self.open();
        let (reply, answer) = oneshot::channel();
        self.handle.send(What::CallAsked { task: self.task, attempt: self.attempt, demand, reply });
        let gone = |_| Failure::new(Class::Cancelled, "the run ended before the call could be made");
        match answer.await.map_err(gone)?? {
            Admitted::Go(_) => Ok(Admitted::Go(CallPermit::holding(open))),
            instead => Ok(instead),
        }
    }

    /// Waits until the attempt's lease is good for another call; fails if it ran out.
    async fn lease_status(&self) -> Result<(), Failure> {
        let (Some(client), Some(fence)) = (&self.client, self.fence) else { return Ok(()) };
        loop {
            match client.lease_status(fence) {
                LeaseStatus::Good => return Ok(()),
                LeaseStatus::Late => tokio::time::sleep(LOOK_AGAIN).await,
                LeaseStatus::Lost => return Err(fenced()),
            }
        }
    }

    async fn admitted(&self, call: CallDemand) -> Result<Admitted, Failure> {
        if self.cancel.is_cancelled() {
            return Err(Failure::new(Class::Cancelled, "the attempt was told to stop"));
        }
        if self.stopping.load(Ordering::Relaxed) {
            return Err(stopping());
        }
        let admitted = match self.is_ready(&call) {
            Some(true) => Admitted::Go(CallPermit::holding(self.open())),
            Some(false) => Admitted::Go(CallPermit::free()),
            None => self.ask(call).await?,
        };
        self.lease_status().await?;
        self.tenure.confirm().await.map_err(|_| taken_over())?;
        Ok(admitted)
    }
}

fn fenced() -> Failure {
    let message = "the process was away for longer than its lease lasts; nothing was sent";
    Failure::new(Class::Cancelled, message).reason(reason::FENCED)
}

pub(crate) fn taken_over() -> Failure {
    Failure::new(Class::Cancelled, "another process drives the run; nothing was sent").reason(reason::FENCED)
}

impl Admission for AttemptLink {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        Box::pin(self.admitted(call))
    }

    fn settle(&self, permit: CallPermit, usage: &Usage, failure: Option<&Failure>) {
        if let Some(open) = permit.into_guard::<Open>() {
            open.end(*usage, failure.map_or(Outcome::Succeeded, Outcome::of));
        }
    }
}

impl TurnLog for AttemptLink {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        let (written, answer) = oneshot::channel();
        self.handle.send(What::Turned { task: self.task, attempt: self.attempt, record, written });
        Box::pin(async move {
            let gone = |_| Failure::new(Class::Cancelled, "the run ended before the turn was on disk");
            answer.await.map_err(gone)
        })
    }

    fn settle_tools(&self, allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        let (written, answer) = oneshot::channel();
        self.handle.send(What::ToolsSettled { task: self.task, attempt: self.attempt, allowed, written });
        Box::pin(async move {
            let gone = |_| Failure::new(Class::Cancelled, "the run ended before its tools were on disk");
            answer.await.map_err(gone)
        })
    }

    fn guidance(&self) -> Vec<String> {
        self.guidance.lock().expect("a panic poisoned this lock").clone()
    }

    fn workspace(&self, owner: TaskId, told: WorkspaceTold) -> BoxFuture<'_, Result<(), Failure>> {
        let (written, answer) = oneshot::channel();
        let (task, attempt, told) = (self.task, self.attempt, Box::new(told));
        self.handle.send(What::Workspace { task, attempt, owner, told, written });
        Box::pin(async move {
            let gone = |_| Failure::new(Class::Cancelled, "the run ended before its workspace was on disk");
            answer.await.map_err(gone)
        })
    }

    fn prove(&self, told: ProofTold) -> BoxFuture<'_, Result<(), Failure>> {
        let (written, answer) = oneshot::channel();
        let (task, attempt, told) = (self.task, self.attempt, Box::new(told));
        self.handle.send(What::Proof { task, attempt, told, written });
        Box::pin(async move {
            let gone = |_| Failure::new(Class::Cancelled, "the run ended before its proof was on disk");
            answer.await.map_err(gone)
        })
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        let (reply, answer) = oneshot::channel();
        self.writer.ask(move |journal| {
            let found = journal.and_then(|journal| journal.blob(&digest)).ok().flatten();
            let _ = reply.send(found);
        });
        Box::pin(async move { answer.await.ok().flatten() })
    }
}
