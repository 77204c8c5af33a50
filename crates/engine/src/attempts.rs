//! The attempts that run: launched, listened to, stopped.
//!
//! Every attempt is a task of the runtime that ends by itself or is told to; its end is a fact like any other. A panic
//! inside an attempt is its failure, not the run's.

use crate::executor::Executor;
use crate::fact::What;
use crate::handle::{Handle, Notice};
use convoke_agent::{Admission, Admitted, CallDemand, CallPermit, Diary, Page, Report, Sink};
use convoke_journal::Writer;
use convoke_model::{Assignment, AttemptEnd, Class, Digest, Failure, JsonText, TaskId, Usage};
use convoke_schedule::TaskIx;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// How long an attempt that was told to stop may take before it is dropped where it stands.
const STOP_GRACE: Duration = Duration::from_secs(8);

pub(crate) struct Attempts {
    executor: Arc<dyn Executor>,
    handle: Handle,
    watchers: Option<UnboundedSender<Notice>>,
    /// Where large values of conversations are read back from.
    writer: Arc<Writer>,
    running: HashMap<TaskIx, CancellationToken>,
}

impl Attempts {
    pub fn new(
        executor: Arc<dyn Executor>,
        handle: Handle,
        watchers: Option<UnboundedSender<Notice>>,
        writer: Arc<Writer>,
    ) -> Attempts {
        Attempts { executor, handle, watchers, writer, running: HashMap::new() }
    }

    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// Starts an attempt. Its start is on disk already.
    pub fn launch(&mut self, task: TaskIx, assignment: Assignment) {
        let cancel = CancellationToken::new();
        self.running.insert(task, cancel.clone());
        let attempt = assignment.attempt;
        let line = Arc::new(Line {
            task,
            attempt,
            id: assignment.task.clone(),
            handle: self.handle.clone(),
            watchers: self.watchers.clone(),
            writer: self.writer.clone(),
            cancel: cancel.clone(),
        });
        let work = self.executor.attempt(assignment, line, cancel.clone());
        let handle = self.handle.clone();
        tokio::spawn(async move {
            let end = finish(work, cancel).await;
            handle.send(What::Ended { task, attempt, end });
        });
    }

    /// Tells an attempt to stop; its end comes as a fact.
    pub fn abort(&self, task: TaskIx) {
        if let Some(cancel) = self.running.get(&task) {
            cancel.cancel();
        }
    }

    pub fn abort_all(&self) {
        self.running.values().for_each(CancellationToken::cancel);
    }

    pub fn ended(&mut self, task: TaskIx) {
        self.running.remove(&task);
    }
}

/// Waits for an attempt: to its end, through a panic, and no longer than the grace once it was told to stop.
async fn finish(work: BoxFuture<'static, AttemptEnd>, cancel: CancellationToken) -> AttemptEnd {
    let guarded = AssertUnwindSafe(work).catch_unwind();
    tokio::pin!(guarded);
    let ended = tokio::select! {
        biased;
        ended = &mut guarded => Some(ended),
        () = cancel.cancelled() => tokio::time::timeout(STOP_GRACE, &mut guarded).await.ok(),
    };
    match ended {
        Some(Ok(end)) => end,
        Some(Err(_)) => failed(Failure::new(Class::Fatal, "the attempt panicked").reason("panic")),
        None => failed(Failure::new(Class::Cancelled, "the attempt did not stop in time and was dropped")),
    }
}

fn failed(failure: Failure) -> AttemptEnd {
    AttemptEnd::Failed { failure, usage: Usage::default(), partial: None }
}

/// One attempt's line to the engine: what it asks for and what it tells.
struct Line {
    task: TaskIx,
    attempt: u32,
    id: TaskId,
    handle: Handle,
    watchers: Option<UnboundedSender<Notice>>,
    writer: Arc<Writer>,
    cancel: CancellationToken,
}

impl Sink for Line {
    fn report(&self, report: Report) {
        match report {
            Report::Progress { text } => {
                if let Some(watchers) = &self.watchers {
                    let _ = watchers.send(Notice::Progress { task: self.id.clone(), text });
                }
            }
            // Usage is recorded with the attempt's end, once.
            Report::Usage(_) => {}
            report => self.handle.send(What::Reported { task: self.task, attempt: self.attempt, report }),
        }
    }
}

/// The attempt's own permit covers its calls, one at a time; an attempt that was told to stop makes no further call.
impl Admission for Line {
    fn admit(&self, _call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        let answer = match self.cancel.is_cancelled() {
            true => Err(Failure::new(Class::Cancelled, "the attempt was told to stop")),
            false => Ok(Admitted::Go(CallPermit::free())),
        };
        Box::pin(std::future::ready(answer))
    }

    fn settle(&self, _permit: CallPermit, _usage: &Usage, _failure: Option<&Failure>) {}
}

impl Diary for Line {
    fn record(&self, page: Page) -> BoxFuture<'_, Result<(), Failure>> {
        let (written, answer) = tokio::sync::oneshot::channel();
        self.handle.send(What::Turned { task: self.task, attempt: self.attempt, page, written });
        Box::pin(async move {
            let gone = |_| Failure::new(Class::Cancelled, "the run ended before the turn was on disk");
            answer.await.map_err(gone)
        })
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        let (reply, answer) = tokio::sync::oneshot::channel();
        self.writer.ask(move |journal| {
            let found = journal.and_then(|journal| journal.blob(&digest)).ok().flatten();
            let _ = reply.send(found);
        });
        Box::pin(async move { answer.await.ok().flatten() })
    }
}
