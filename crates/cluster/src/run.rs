//! A run, as an object of the cluster. Its exclusive calls are turns; its shared calls read.
//!
//! Keys of its state: `!head` and `!book` (small, and first in order, so they come along with every call), `meta`, `ev/N` for the
//! events of turn N, `blob/DIGEST`, `value/DIGEST` for each value that is an object of its own, and `at/NAME` for each attempt that is under way.

use crate::process::{Input, Process};
use crate::turn;
use crate::values::ValueClient;
use crate::wire::{Begin, Delivery, Head, Reopen};
use bytes::{BufMut, Bytes, BytesMut};
use convoke_model::{Digest, JsonText};
use restate_sdk::context::IntoServiceClient;
use restate_sdk::endpoint::ContextInternal;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub const HEAD: &str = "!head";
pub const BOOK: &str = "!book";
const META: &str = "meta";
const VALUE: &str = "value/";
/// Turns that one answer holds at most, and bytes after which it ends: messages of the cluster end at 32 MiB.
const MOST_TURNS: u64 = 1_000;
const MOST_BYTES: usize = 8 << 20;

pub fn chunk_key(turn: u64) -> String {
    format!("ev/{turn:08}")
}

pub fn blob_key(digest: &Digest) -> String {
    format!("blob/{digest}")
}

/// Names a value that is an object of its own, so that it is erased with the run.
pub fn value_key(digest: &Digest) -> String {
    format!("{VALUE}{digest}")
}

pub fn attempt_key(name: &str) -> String {
    format!("at/{name}")
}

/// What a run was begun with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Meta {
    /// The plan, as JSON.
    pub plan: JsonText,
    /// Its first event, as JSON.
    pub started: JsonText,
    /// The settings of its providers and servers.
    pub settings: JsonText,
    /// How it is decided about.
    pub options: crate::wire::RunOptions,
}

/// Turns to be read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Range {
    /// The first, from 0.
    pub from: u64,
    /// Behind the last.
    pub to: u64,
}

/// Whether an attempt may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The run waits for it.
    Good,
    /// The run waits for its end; no further call is made.
    Stopping,
    /// The run has given it up.
    Over,
}

/// State by keys that are made at run time: the context's own `get` wants keys that live as long as the context.
struct Raw<'ctx>(&'ctx ContextInternal);

impl<'ctx> IntoServiceClient<'ctx> for Raw<'ctx> {
    fn create_client(ctx: &'ctx ContextInternal) -> Self {
        Raw(ctx)
    }
}

/// The object.
pub struct Run(pub Arc<Process>);

#[restate_sdk::object(
    name = "ConvokeRun",
    client_visibility = "pub(crate)",
    inactivity_timeout = "10m",
    abort_timeout = "10m",
    journal_retention = "0s",
    lazy_state,
    invocation_retry_policy(initial_interval = "20ms", factor = 2.0, max_interval = "2s")
)]
impl Run {
    /// From a command: begins the run. A run that has begun stays as it is.
    #[handler]
    async fn begin(&self, ctx: ObjectContext<'_>, begin: Json<Begin>) -> HandlerResult<Json<Head>> {
        let begin = begin.into_inner();
        if let Some(Json(head)) = ctx.get::<Json<Head>>(HEAD).await? {
            return Ok(Json(head));
        }
        let Begin { plan, started, settings, options, .. } = begin.clone();
        ctx.set(META, Json(Meta { plan, started, settings, options }));
        Ok(Json(turn::take(&self.0, &ctx, Input::Begin(Box::new(begin))).await?))
    }

    /// From a command: resumes a run that has stopped. A run that is under way stays as it is.
    #[handler]
    async fn reopen(&self, ctx: ObjectContext<'_>, reopen: Json<Reopen>) -> HandlerResult<Json<Head>> {
        let reopen = reopen.into_inner();
        let Some(Json(meta)) = ctx.get::<Json<Meta>>(META).await? else {
            return Err(TerminalError::new_with_code(404, "there is no such run").into());
        };
        let (options, settings) = (reopen.options.clone(), reopen.settings.clone());
        ctx.set(META, Json(Meta { options, settings, ..meta }));
        Ok(Json(turn::take(&self.0, &ctx, Input::Reopen(Box::new(reopen))).await?))
    }

    /// From attempts, commands and timers: something happened.
    #[handler]
    async fn deliver(&self, ctx: ObjectContext<'_>, delivery: Json<Delivery>) -> HandlerResult<Json<Head>> {
        Ok(Json(turn::take(&self.0, &ctx, Input::Facts(delivery.into_inner())).await?))
    }

    /// Forgets everything, once the run has stopped.
    #[handler]
    async fn erase(&self, ctx: ObjectContext<'_>) -> HandlerResult<Json<bool>> {
        let head = ctx.get::<Json<Head>>(HEAD).await?.map(Json::into_inner).unwrap_or_default();
        if head.is_live() {
            return Ok(Json(false));
        }
        let keys = ctx.get_keys().await?;
        for digest in keys.iter().filter_map(|key| key.strip_prefix(VALUE)) {
            drop(ctx.object_client::<ValueClient>(format!("{}.{digest}", ctx.key())).erase().send());
        }
        ctx.clear_all();
        Ok(Json(true))
    }

    /// How far the run has come.
    #[handler]
    async fn head(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Head>> {
        Ok(Json(ctx.get::<Json<Head>>(HEAD).await?.map(Json::into_inner).unwrap_or_default()))
    }

    /// What it was begun with.
    #[handler]
    async fn meta(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<Meta>>> {
        Ok(Json(ctx.get::<Json<Meta>>(META).await?.map(Json::into_inner)))
    }

    /// The events of turns, as a list with one entry a turn; perhaps fewer turns than were asked for. All are asked for before the
    /// first is waited for.
    #[handler]
    async fn events(&self, ctx: SharedObjectContext<'_>, range: Json<Range>) -> HandlerResult<Bytes> {
        let Range { from, to } = range.into_inner();
        let Raw(raw) = ctx.service_client::<Raw>();
        let keys: Vec<String> = (from..to.min(from + MOST_TURNS)).map(chunk_key).collect();
        let asked: Vec<_> = keys.iter().map(|key| raw.get::<Bytes>(key)).collect();
        let mut all = BytesMut::new();
        all.put_u8(b'[');
        for chunk in asked {
            let Some(chunk) = chunk.await? else { break };
            if all.len() > MOST_BYTES {
                break;
            }
            if all.len() > 1 {
                all.put_u8(b',');
            }
            all.extend_from_slice(&chunk);
        }
        all.put_u8(b']');
        Ok(all.freeze())
    }

    /// A large value.
    #[handler]
    async fn blob(
        &self,
        ctx: SharedObjectContext<'_>,
        digest: Json<Digest>,
    ) -> HandlerResult<Json<Option<JsonText>>> {
        let key = blob_key(&digest.into_inner());
        let Raw(raw) = ctx.service_client::<Raw>();
        Ok(Json(raw.get::<Json<JsonText>>(&key).await?.map(Json::into_inner)))
    }

    /// Whether an attempt may go on; asked before each call, so that a worker that was away does nothing in the name of an attempt
    /// that was given up.
    #[handler]
    async fn standing(
        &self,
        ctx: SharedObjectContext<'_>,
        name: Json<String>,
    ) -> HandlerResult<Json<Standing>> {
        let key = attempt_key(&name.into_inner());
        let Raw(raw) = ctx.service_client::<Raw>();
        if raw.get::<String>(&key).await?.is_none() {
            return Ok(Json(Standing::Over));
        }
        let head = ctx.get::<Json<Head>>(HEAD).await?.map(Json::into_inner).unwrap_or_default();
        Ok(Json(if head.stopping { Standing::Stopping } else { Standing::Good }))
    }
}
