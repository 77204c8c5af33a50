//! A turn: decided once as a journaled step, then carried out as it was recorded.
//!
//! Kept true: after the step nothing is looked up and no clock is read, so that a repetition of the call does the same to the byte.
//! The order is events, head, sends: an event that is on record before its effect is what a crash may leave.

use crate::attempt::AttemptClient;
use crate::directory::{self, DirectoryClient};
use crate::process::{Input, Process};
use crate::run::{BOOK, HEAD, RunClient, attempt_key, blob_key, chunk_key, value_key};
use crate::wire::{Act, Answered, Book, Decided, Delivery, Head, Launch, Listed, TermsOfCalls};
use convoke_model::{Event, RunId, Stamped};
use restate_sdk::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Takes one turn of a run.
pub async fn take(process: &Arc<Process>, ctx: &ObjectContext<'_>, input: Input) -> HandlerResult<Head> {
    let run = RunId(ctx.key().into());
    let before = ctx.get::<Json<Head>>(HEAD).await?.map(Json::into_inner).unwrap_or_default();
    let book = ctx.get::<Json<Book>>(BOOK).await?.map(Json::into_inner).unwrap_or_default();
    let step = {
        let (process, run, before, book) = (process.clone(), run.clone(), before.clone(), book.clone());
        ctx.run(move || async move { Ok(Json(process.decide(run, before, book, input).await?)) })
    };
    let Json(decided) = step.name("turn").await?;
    record(ctx, &before, &book, &decided);
    let (head, acts) = (decided.head, decided.acts);
    for act in acts {
        perform(ctx, &run, &head, act).await?;
    }
    Ok(head)
}

/// Makes the turn part of the run.
fn record(ctx: &ObjectContext<'_>, before: &Head, book: &Book, decided: &Decided) {
    for blob in &decided.blobs {
        ctx.set(&blob_key(&blob.digest), Json(blob.text.clone()));
    }
    for digest in &decided.stored {
        ctx.set(&value_key(digest), String::new());
    }
    if !decided.events.is_empty() {
        ctx.set(&chunk_key(before.turns), Json(decided.events.clone()));
    }
    for act in &decided.acts {
        if let Act::Launch { name, .. } = act {
            ctx.set(&attempt_key(name), String::new());
        }
    }
    let run = ctx.key();
    decided
        .events
        .iter()
        .filter_map(|event| ended(run, event))
        .for_each(|name| ctx.clear(&attempt_key(&name)));
    if decided.book != *book {
        ctx.set(BOOK, Json(decided.book.clone()));
    }
    if decided.head != *before {
        ctx.set(HEAD, Json(decided.head.clone()));
    }
}

/// The name of the attempt that an event ends.
fn ended(run: &str, stamped: &Stamped) -> Option<String> {
    let (task, attempt) = match &stamped.event {
        Event::AttemptFinished { task, attempt, .. }
        | Event::AttemptFailed { task, attempt, .. }
        | Event::AttemptSuspended { task, attempt, .. }
        | Event::AttemptLost { task, attempt, .. }
        | Event::AttemptDetached { task, attempt }
        | Event::EffectProbed { task, attempt, .. } => (task, *attempt),
        _ => return None,
    };
    Some(crate::wire::attempt_name(&RunId(run.into()), task, attempt))
}

async fn perform(ctx: &ObjectContext<'_>, run: &RunId, head: &Head, act: Act) -> HandlerResult<()> {
    match act {
        Act::Launch { name, launch } => {
            drop(ctx.service_client::<AttemptClient>().perform(Json(*launch)).idempotency_key(name).send());
        }
        // The same key gives the same call, and so its id. If the attempt never arrived, this takes its place and ends at once.
        Act::Abort { name } => {
            let calls = TermsOfCalls::Free;
            let nothing = Launch { run: run.clone(), assignment: None, stored: None, calls };
            let attempt = ctx.service_client::<AttemptClient>().perform(Json(nothing)).idempotency_key(name);
            attempt.send().await?.cancel();
        }
        Act::Answer { awakeable, answer } => {
            ctx.resolve_awakeable::<Json<Answered>>(&awakeable, Json(answer))
        }
        Act::Wake { delay, .. } => {
            let wake = ctx.object_client::<RunClient>(&*run.0).deliver(Json(Delivery::default()));
            drop(wake.send_after(Duration::from_micros(delay)));
        }
        Act::List => {
            if let Some(status) = head.status {
                let line = Listed { run: run.clone(), status };
                drop(ctx.object_client::<DirectoryClient>(directory::ALL).note(Json(line)).send());
            }
        }
    }
    Ok(())
}
