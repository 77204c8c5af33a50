//! An attempt, as a call of a service: it records which process begins it, begins a job there, and waits for the job's end.
//!
//! The cluster repeats a call that it cannot prove to be finished; an attempt must not be repeated silently. So the record stands before
//! the work, and a repeated call decides by it:
//!
//! | record | process | the repeated call |
//! |---|---|---|
//! | none | | begins the attempt: it never began |
//! | begun | alive | waits for the same job |
//! | begun | gone | tells the run that the attempt is lost; the step's `on_unknown` decides |
//!
//! Kept true: while the job goes on the call awaits nothing but its awakeable, so each repetition of the call is the same.

use crate::link::AttemptLink;
use crate::peers::Peer;
use crate::process::{Process, now};
use crate::values::{self, LARGEST};
use crate::wire::{ClusterFact, Launch, Said, attempt_name};
use convoke_model::{Assignment, AttemptEnd, Class, Failure, RunId, TaskId, Usage, reason};
use futures::FutureExt;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// How long an attempt that was told to stop may take before it is dropped where it stands.
const STOP_GRACE: Duration = Duration::from_secs(8);
/// Between tries to say that a job is over.
const PAUSE: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_secs(10);

/// Who began an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Begun {
    /// Where its process answers others.
    address: String,
    /// Its process.
    process: String,
}

/// The service.
pub struct Attempt(pub Arc<Process>);

#[restate_sdk::service(
    name = "ConvokeAttempt",
    client_visibility = "pub(crate)",
    inactivity_timeout = "30 days",
    abort_timeout = "1h",
    journal_retention = "0s",
    idempotency_retention = "10m",
    invocation_retry_policy(
        initial_interval = "20ms",
        factor = 2.0,
        max_interval = "5s",
        max_attempts = 1000000000
    )
)]
impl Attempt {
    /// From a run: performs an attempt, or waits for the process that does.
    #[handler(ingress_private)]
    async fn perform(&self, ctx: Context<'_>, launch: Json<Launch>) -> HandlerResult<()> {
        let launch = launch.into_inner();
        // What was to be stopped has never come here.
        let process = &self.0;
        let Some(assignment) = assignment_of(process, &launch).await? else { return Ok(()) };
        let name = attempt_name(&launch.run, &assignment.task, assignment.attempt);
        let (cell, over) = ctx.awakeable::<Json<()>>();
        let slot = match process.jobs.goes_on(&name) {
            true => None,
            false => Some(process.slots.clone().acquire_owned().await.map_err(|_| "this worker is leaving")?),
        };
        let me = Begun { address: process.jobs.address.clone(), process: process.name.clone() };
        let mark = me.clone();
        let began = match ctx.run(move || async move { Ok(Json(mark)) }).name("began").await {
            Ok(Json(began)) => began,
            Err(error) if is_cancelled(&error) => {
                return not_begun(&ctx, process, &launch, &assignment).await;
            }
            Err(error) => return Err(error.into()),
        };
        let peer = (began != me).then(|| Peer {
            http: process.http.clone(),
            address: began.address.clone(),
            process: began.process.clone(),
        });
        match &peer {
            None => begin(process, launch, *assignment, &name, slot, cell),
            Some(_) => watch(process, launch, *assignment, &name, &began, cell),
        }
        let mut ends = DurableFuturesUnordered::new();
        ends.push(over);
        loop {
            match (ends.next().await, &peer) {
                (Ok(_), _) => return Ok(()),
                // Told to stop: the job is told, and its end is awaited as before.
                (Err(_), None) => process.jobs.stop(&name),
                (Err(_), Some(_)) => {
                    let (http, name) = (process.http.clone(), name.clone());
                    let Begun { address, process } = began.clone();
                    tokio::spawn(async move { Peer { http, address, process }.stop(&name).await });
                }
            }
        }
    }
}

/// What is to be done; `None` of a call that only takes the place of an attempt that never came. A value that was put down never
/// changes, so reading it needs no place in the record of the call.
async fn assignment_of(process: &Process, launch: &Launch) -> HandlerResult<Option<Box<Assignment>>> {
    let Some(digest) = &launch.stored else { return Ok(launch.assignment.clone()) };
    let text = values::get(&process.ingress, &launch.run, digest).await?;
    let text = text.ok_or("what is to be done is not put down")?;
    Ok(serde_json::from_str(text.as_str())?)
}

/// The call was cancelled before the attempt began.
async fn not_begun(
    ctx: &Context<'_>,
    process: &Arc<Process>,
    launch: &Launch,
    assignment: &Assignment,
) -> HandlerResult<()> {
    let failure = Failure::new(Class::Cancelled, "the attempt was told to stop before it began")
        .reason(reason::NEVER_STARTED);
    let end = AttemptEnd::Failed { failure, usage: Usage::default(), partial: None };
    let (process, run, fact) = (process.clone(), launch.run.clone(), ended(assignment, end));
    let told = ctx.run(move || async move {
        process.facts.deliver(&run, &fact).await;
        Ok(())
    });
    Ok(told.name("not begun").await?)
}

/// Begins the job, unless it was begun by an earlier execution of the call.
fn begin(
    process: &Arc<Process>,
    launch: Launch,
    assignment: Assignment,
    name: &str,
    slot: Option<OwnedSemaphorePermit>,
    cell: String,
) {
    let Some(cancel) = process.jobs.claim(name) else { return };
    let (process, name) = (process.clone(), name.to_owned());
    tokio::spawn(async move {
        let run = launch.run.clone();
        let who = (assignment.task.clone(), assignment.attempt);
        let end = perform(&process, launch, assignment, &name, cancel).await;
        drop(slot);
        conclude(&process, &run, ended_as(&who.0, who.1, end), &cell).await;
        process.jobs.end(&name);
    });
}

/// Waits for the process that began the attempt, and tells the run if it is gone without having ended it.
fn watch(
    process: &Arc<Process>,
    launch: Launch,
    assignment: Assignment,
    name: &str,
    began: &Begun,
    cell: String,
) {
    let watching = format!("watch {name}");
    if process.jobs.claim(&watching).is_none() {
        return;
    }
    let peer =
        Peer { http: process.http.clone(), address: began.address.clone(), process: began.process.clone() };
    let (process, name) = (process.clone(), name.to_owned());
    tokio::spawn(async move {
        peer.gone(&name).await;
        // If it was ended in time, the run has that already and hears nothing new.
        conclude(&process, &launch.run, ended(&assignment, AttemptEnd::Lost), &cell).await;
        process.jobs.end(&watching);
    });
}

/// Tells the run, and then the call.
async fn conclude(process: &Arc<Process>, run: &RunId, fact: ClusterFact, cell: &str) {
    process.facts.deliver(run, &fact).await;
    while let Err(error) = process.ingress.resolve(cell, ANSWER).await {
        // A call that is over needs no word.
        if error.is_final() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The attempt itself.
async fn perform(
    process: &Arc<Process>,
    launch: Launch,
    assignment: Assignment,
    name: &str,
    cancel: CancellationToken,
) -> AttemptEnd {
    let performer = match process.performer(&launch.run).await {
        Ok(performer) => performer,
        Err(why) => {
            process.remark(format!("run {} cannot be worked on here: {why}", launch.run));
            let failure = Failure::new(Class::Fatal, format!("the worker cannot perform it: {why}"));
            return AttemptEnd::Failed { failure, usage: Usage::default(), partial: None };
        }
    };
    let link = AttemptLink::new(process.clone(), &launch, &assignment, name, cancel.clone());
    let work = performer.executor().attempt(assignment, Arc::new(link), cancel.clone());
    let guarded = AssertUnwindSafe(work).catch_unwind();
    tokio::pin!(guarded);
    let ended = tokio::select! {
        biased;
        ended = &mut guarded => Some(ended),
        () = cancel.cancelled() => tokio::time::timeout(STOP_GRACE, &mut guarded).await.ok(),
    };
    let failure = match ended {
        Some(Ok(end)) => return fitting(end),
        Some(Err(_)) => Failure::new(Class::Fatal, "the attempt panicked").reason("panic"),
        None => Failure::new(Class::Cancelled, "the attempt did not stop in time and was dropped"),
    };
    AttemptEnd::Failed { failure, usage: Usage::default(), partial: None }
}

/// An end that a message of the cluster holds. A result that is larger is a failure, with what it has cost.
fn fitting(end: AttemptEnd) -> AttemptEnd {
    let (text, usage) = match &end {
        AttemptEnd::Finished { output, usage } => (output, *usage),
        AttemptEnd::Suspended { state, usage, .. } => (state, *usage),
        _ => return end,
    };
    let bytes = text.as_str().len();
    if bytes <= LARGEST {
        return end;
    }
    let (is, most) = (bytes >> 20, LARGEST >> 20);
    let message = format!("the result has {is} MiB, and a cluster keeps values of {most} MiB at most");
    let failure = Failure::new(Class::Fatal, message)
        .reason("value_too_large")
        .hint("have the step write it to a file or a service, and give its address");
    AttemptEnd::Failed { failure, usage, partial: None }
}

fn ended(assignment: &Assignment, end: AttemptEnd) -> ClusterFact {
    ended_as(&assignment.task, assignment.attempt, end)
}

fn ended_as(task: &TaskId, attempt: u32, end: AttemptEnd) -> ClusterFact {
    ClusterFact { at: now(), said: Said::Ended { task: task.clone(), attempt, end: Box::new(end) } }
}

/// The code of a call that was cancelled.
fn is_cancelled(error: &TerminalError) -> bool {
    error.code() == 409
}
