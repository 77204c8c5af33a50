//! An attempt's link to its run: what it asks for and what it tells, from a worker.
//!
//! Before each call the run is asked whether it still waits for this attempt: a worker that was stopped or cut off for so long that
//! the attempt was given up sends nothing more. A cluster that does not answer is waited for, and nothing is sent meanwhile.

use crate::error::ClusterError;
use crate::process::{Process, READ, blob, now};
use crate::question::Asked;
use crate::run::Standing;
use crate::wire::{Answered, ClusterFact, Launch, Said, TermsOfCalls};
use convoke_agent::{Admission, Admitted, CallDemand, CallPermit, Report, Sink, TurnLog, TurnRecord};
use convoke_engine::stopping;
use convoke_govern::Outcome;
use convoke_handover::Permission;
use convoke_model::{Assignment, Class, Digest, Failure, JsonText, ProofTold, RunId, TaskId, Usage, reason};
use futures::future::BoxFuture;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Between tries to reach the cluster.
const PAUSE: Duration = Duration::from_millis(500);

/// The link of one attempt.
pub struct AttemptLink {
    process: Arc<Process>,
    run: RunId,
    task: TaskId,
    attempt: u32,
    name: String,
    cancel: CancellationToken,
    calls: Mutex<TermsOfCalls>,
    asked: AtomicU64,
}

/// An open call. Dropped unsettled, its outcome is unknown.
struct Open {
    tell: Box<dyn Fn(Option<Usage>, Outcome) + Send>,
    settled: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.settled {
            (self.tell)(None, Outcome::Unknown);
        }
    }
}

impl AttemptLink {
    pub fn new(
        process: Arc<Process>,
        launch: &Launch,
        assignment: &Assignment,
        name: &str,
        cancel: CancellationToken,
    ) -> AttemptLink {
        AttemptLink {
            process,
            run: launch.run.clone(),
            task: assignment.task.clone(),
            attempt: assignment.attempt,
            name: name.to_owned(),
            cancel,
            calls: Mutex::new(launch.calls.clone()),
            asked: AtomicU64::new(0),
        }
    }

    fn send(&self, said: Said) {
        self.process.facts.send(&self.run, &ClusterFact { at: now(), said });
    }

    fn mention(&self, said: Said) {
        self.process.facts.mention(&self.run, &ClusterFact { at: now(), said });
    }

    fn write(&self, said: Said) -> BoxFuture<'static, Result<(), Failure>> {
        let (process, run, fact) = (self.process.clone(), self.run.clone(), ClusterFact { at: now(), said });
        Box::pin(async move {
            let gone = || Failure::new(Class::Cancelled, "the worker ended before the turn was on record");
            process.facts.deliver(&run, &fact).await.then_some(()).ok_or_else(gone)
        })
    }

    fn open(&self) -> Open {
        let (facts, run, task, attempt) =
            (self.process.facts.clone(), self.run.clone(), self.task.clone(), self.attempt);
        let tell = move |usage, outcome| {
            let said = Said::CallEnded { task: task.clone(), attempt, usage, outcome };
            facts.send(&run, &ClusterFact { at: now(), said });
        };
        Open { tell: Box::new(tell), settled: false }
    }

    /// Whether a call need not be asked for; `Some(true)` if a permit is held for it all the same.
    fn is_ready(&self, call: &CallDemand) -> Option<bool> {
        match &mut *self.calls.lock().expect("a panic poisoned this lock") {
            TermsOfCalls::Free => Some(false),
            TermsOfCalls::Asked(first) => match first.take() {
                Some(model) if model == call.model => Some(true),
                _ => None,
            },
        }
    }

    /// Asks until the cluster answers, or the attempt is told to stop.
    async fn persist<T, F: Future<Output = Result<T, ClusterError>>>(
        &self,
        ask: impl Fn() -> F,
    ) -> Result<T, Failure> {
        loop {
            let answer = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(told_to_stop()),
                answer = ask() => answer,
            };
            match answer {
                Ok(answer) => return Ok(answer),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    async fn stands(&self) -> Result<(), Failure> {
        let path = format!("ConvokeRun/{}/standing", self.run);
        match self.persist(|| self.process.ingress.call(&path, &self.name, Some(READ))).await? {
            Standing::Good => Ok(()),
            Standing::Stopping => Err(stopping()),
            Standing::Over => {
                let message = "the run has given the attempt up while this worker was away; nothing was sent";
                Err(Failure::new(Class::Cancelled, message).reason(reason::FENCED))
            }
        }
    }

    async fn ask(&self, demand: CallDemand) -> Result<Admitted, Failure> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let key = format!("{}/call{number}", self.name);
        let asked = Asked { run: self.run.clone(), at: now(), demand };
        let open = self.open();
        let answer: Answered =
            self.persist(|| self.process.ingress.call_once("ConvokeQuestion/ask", &asked, &key)).await?;
        Ok(match answer? {
            Permission::Go => Admitted::Go(CallPermit::holding(open)),
            Permission::Instead(model) => Admitted::Instead(model),
        })
    }

    async fn admitted(&self, call: CallDemand) -> Result<Admitted, Failure> {
        if self.cancel.is_cancelled() {
            return Err(told_to_stop());
        }
        let admitted = match self.is_ready(&call) {
            Some(true) => Admitted::Go(CallPermit::holding(self.open())),
            Some(false) => Admitted::Go(CallPermit::free()),
            None => self.ask(call).await?,
        };
        self.stands().await?;
        Ok(admitted)
    }
}

fn told_to_stop() -> Failure {
    Failure::new(Class::Cancelled, "the attempt was told to stop")
}

impl Sink for AttemptLink {
    fn report(&self, report: Report) {
        let (task, attempt) = (self.task.clone(), self.attempt);
        match report {
            // Shown and forgotten, or recorded with the attempt's end.
            Report::Progress { .. } | Report::ToolStarted { .. } | Report::Usage(_) => {}
            Report::TakenBy { .. } | Report::Silent | Report::LetGo => {}
            // Its number means nothing on another machine, where no owner ends it: it ends with its worker.
            report @ (Report::ProcessStarted { .. } | Report::SurvivorStarted { .. }) => {
                self.mention(Said::Reported { task, attempt, report: report.into() });
            }
            report => self.send(Said::Reported { task, attempt, report: report.into() }),
        }
    }
}

impl Admission for AttemptLink {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        Box::pin(self.admitted(call))
    }

    fn settle(&self, permit: CallPermit, usage: &Usage, failure: Option<&Failure>) {
        if let Some(mut open) = permit.into_guard::<Open>() {
            open.settled = true;
            (open.tell)(Some(*usage), failure.map_or(Outcome::Succeeded, Outcome::of));
        }
    }
}

impl TurnLog for AttemptLink {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        let (task, attempt) = (self.task.clone(), self.attempt);
        let claims = !record.claimed.is_empty();
        let written = self.write(Said::Turned { task, attempt, record: Box::new(record) });
        Box::pin(async move {
            written.await?;
            // What was claimed is done next: not in the name of an attempt that was given up.
            if claims { self.stands().await } else { Ok(()) }
        })
    }

    fn settle_tools(&self, allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        let (task, attempt) = (self.task.clone(), self.attempt);
        self.write(Said::ToolsSettled { task, attempt, allowed })
    }

    fn prove(&self, told: ProofTold) -> BoxFuture<'_, Result<(), Failure>> {
        let (task, attempt) = (self.task.clone(), self.attempt);
        self.write(Said::Proof { task, attempt, told: Box::new(told) })
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        Box::pin(async move {
            self.persist(|| blob(&self.process.ingress, &self.run, &digest)).await.ok().flatten()
        })
    }
}
