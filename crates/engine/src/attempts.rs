//! The attempts that run: launched, listened to, stopped.
//!
//! Every attempt is a task of the runtime that ends by itself or is told to; its end is a fact like any other. A panic
//! inside an attempt is its failure, not the run's. A run that is dropped drops its attempts: nothing goes on behind it.

use crate::capacity::client::CapacityClient;
use crate::capacity::terms::Terms;
use crate::fact::What;
use crate::handle::{Handle, Notice};
use crate::link::{AttemptLink, taken_over};
use crate::tenure::Tenure;
use convoke_agent::{Executor, Looked};
use convoke_journal::Writer;
use convoke_model::hash::HashMap;
use convoke_model::{Assignment, AttemptEnd, Class, Failure, MergeMode, ProofLook, TaskId, Usage, Work};
use convoke_schedule::TaskIx;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// How long an attempt that was told to stop may take before it is dropped where it stands.
const STOP_GRACE: Duration = Duration::from_secs(8);

pub(crate) struct Attempts {
    executor: Arc<dyn Executor>,
    handle: Handle,
    watchers: Option<UnboundedSender<Notice>>,
    /// Where large values of conversations are read back from.
    writer: Arc<Writer>,
    /// Whether the run is still ours.
    tenure: Arc<Tenure>,
    /// What all processes share, where this one takes part.
    client: Option<Arc<CapacityClient>>,
    running: HashMap<TaskIx, Running>,
    /// Looks at the work of tasks that have parts.
    looks: HashMap<TaskIx, Look>,
    /// No further call is made: the run is stopping.
    stopping: Arc<AtomicBool>,
}

/// A look at work, under way.
struct Look {
    cancel: CancellationToken,
    task: AbortOnDropHandle<()>,
}

/// An attempt under way.
struct Running {
    cancel: CancellationToken,
    /// Its command goes on when the engine lets go of the run.
    survives: bool,
    attempt: u32,
    /// What people say to its task meanwhile.
    guidance: Arc<Mutex<Vec<String>>>,
    task: AbortOnDropHandle<()>,
}

impl Attempts {
    pub fn new(
        executor: Arc<dyn Executor>,
        handle: Handle,
        watchers: Option<UnboundedSender<Notice>>,
        writer: Arc<Writer>,
        tenure: Arc<Tenure>,
        client: Option<Arc<CapacityClient>>,
    ) -> Attempts {
        Attempts {
            executor,
            handle,
            watchers,
            writer,
            tenure,
            client,
            running: HashMap::default(),
            looks: HashMap::default(),
            stopping: Arc::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// Starts an attempt. Its start is on disk already.
    pub fn launch(&mut self, task: TaskIx, assignment: Assignment, terms: Terms) {
        let cancel = CancellationToken::new();
        let (attempt, guidance) = (assignment.attempt, Arc::<Mutex<Vec<String>>>::default());
        let link = Arc::new(AttemptLink {
            task,
            attempt,
            id: assignment.task.clone(),
            handle: self.handle.clone(),
            watchers: self.watchers.clone(),
            writer: self.writer.clone(),
            tenure: self.tenure.clone(),
            cancel: cancel.clone(),
            stopping: self.stopping.clone(),
            client: self.client.clone(),
            fence: terms.fence,
            calls: Mutex::new(terms.calls),
            guidance: guidance.clone(),
        });
        let survives = matches!(&assignment.work, Work::Script(call) if call.survival.is_some());
        let work = self.executor.attempt(assignment, link, cancel.clone());
        let (handle, told, tenure) = (self.handle.clone(), cancel.clone(), self.tenure.clone());
        let driven = AbortOnDropHandle::new(tokio::spawn(async move {
            let end = match tenure.confirm().await {
                Ok(()) => finish(work, told).await,
                // Nothing of this reaches the journal: the next append is refused too.
                Err(_) => failed(taken_over()),
            };
            handle.send(What::Ended { task, attempt, end });
        }));
        self.running.insert(task, Running { cancel, survives, attempt, guidance, task: driven });
    }

    /// Lets go of a task's workspace; what became of it comes as a fact.
    pub fn let_go(&self, task: TaskIx, owner: TaskId, back: Option<MergeMode>) {
        let (left, handle) = (self.executor.let_go(owner, back), self.handle.clone());
        tokio::spawn(async move { handle.send(What::WorkspaceLeft { task, left: left.await }) });
    }

    /// Looks at the work of a task that has parts; what is seen comes as a fact.
    pub fn look(&mut self, task: TaskIx, look: ProofLook) {
        let cancel = CancellationToken::new();
        let (seen, handle) = (self.executor.look(look, cancel.clone()), self.handle.clone());
        let (told, tenure) = (cancel.clone(), self.tenure.clone());
        let driven = AbortOnDropHandle::new(tokio::spawn(async move {
            let seen = match tenure.confirm().await {
                Ok(()) => looked(seen, told).await,
                Err(_) => Err(taken_over()),
            };
            handle.send(What::ProofLooked { task, seen: Box::new(seen) });
        }));
        self.looks.retain(|_, look| !look.task.is_finished());
        self.looks.insert(task, Look { cancel, task: driven });
    }

    /// Tells an attempt what a person said to its task; it is on disk.
    pub fn guide(&self, task: TaskIx, text: String) {
        if let Some(running) = self.running.get(&task) {
            running.guidance.lock().expect("a panic poisoned this lock").push(text);
        }
    }

    /// Tells an attempt to stop; its end comes as a fact.
    pub fn abort(&self, task: TaskIx) {
        if let Some(look) = self.looks.get(&task) {
            look.cancel.cancel();
        }
        if let Some(running) = self.running.get(&task) {
            running.cancel.cancel();
        }
    }

    /// Tells every attempt to stop, because the engine lets go of the run. Commands that outlive the engine are left alone.
    pub fn abort_all(&self) {
        self.looks.values().for_each(|look| look.cancel.cancel());
        for (task, running) in &self.running {
            if !running.survives {
                running.cancel.cancel();
            } else if !running.task.is_finished() {
                running.task.abort();
                let (task, attempt) = (*task, running.attempt);
                self.handle.send(What::Ended { task, attempt, end: AttemptEnd::Detached });
            }
        }
    }

    /// Lets no attempt make a further call.
    pub fn stop_calls(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub fn ended(&mut self, task: TaskIx) {
        self.running.remove(&task);
    }
}

/// Waits for an attempt as for all work.
async fn finish(work: BoxFuture<'static, AttemptEnd>, cancel: CancellationToken) -> AttemptEnd {
    ended(work, cancel, "the attempt").await.unwrap_or_else(failed)
}

/// Waits for a look as for all work.
async fn looked(seen: BoxFuture<'static, Looked>, cancel: CancellationToken) -> Looked {
    ended(seen, cancel, "the look at its work").await.unwrap_or_else(Err)
}

/// Waits for work: to its end, through a panic, and no longer than the grace once it was told to stop.
async fn ended<T>(
    work: BoxFuture<'static, T>,
    cancel: CancellationToken,
    what: &'static str,
) -> Result<T, Failure> {
    let guarded = AssertUnwindSafe(work).catch_unwind();
    tokio::pin!(guarded);
    let ended = tokio::select! {
        biased;
        ended = &mut guarded => Some(ended),
        () = cancel.cancelled() => tokio::time::timeout(STOP_GRACE, &mut guarded).await.ok(),
    };
    match ended {
        Some(Ok(end)) => Ok(end),
        Some(Err(_)) => Err(Failure::new(Class::Fatal, format!("{what} panicked")).reason("panic")),
        None => Err(Failure::new(Class::Cancelled, format!("{what} did not stop in time and was dropped"))),
    }
}

fn failed(failure: Failure) -> AttemptEnd {
    AttemptEnd::Failed { failure, usage: Usage::default(), partial: None }
}
