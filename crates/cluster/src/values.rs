//! Large values of runs, each an object of its own, by run and digest.
//!
//! A message of the cluster ends at 32 MiB, and a turn is one message: what is large goes beside it. A value is put down before the
//! turn that names it is on record, so nothing on record is ever missing; a turn that comes to nothing leaves a value that the same
//! turn, decided again, names again.

use crate::error::ClusterError;
use crate::ingress::Ingress;
use crate::process::READ;
use convoke_model::{Digest, JsonText, RunId};
use restate_sdk::prelude::*;

/// A value that is larger goes beside the turn.
pub const LARGE: usize = 64 << 10;
/// The largest value that a message holds, with room for what is around it.
pub const LARGEST: usize = 24 << 20;
const TEXT: &str = "text";

/// The object.
pub struct Value;

#[restate_sdk::object(
    name = "ConvokeValue",
    client_visibility = "pub(crate)",
    journal_retention = "0s",
    lazy_state,
    invocation_retry_policy(
        initial_interval = "20ms",
        factor = 2.0,
        max_interval = "2s",
        max_attempts = 1000000000
    )
)]
impl Value {
    /// From a worker that decides a turn. The same value may come twice.
    #[handler]
    async fn put(&self, ctx: ObjectContext<'_>, text: Json<JsonText>) -> HandlerResult<()> {
        ctx.set(TEXT, text);
        Ok(())
    }

    /// The value.
    #[handler]
    async fn get(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<JsonText>>> {
        Ok(Json(ctx.get::<Json<JsonText>>(TEXT).await?.map(Json::into_inner)))
    }

    /// From its run, which is erased.
    #[handler(ingress_private)]
    async fn erase(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        ctx.clear_all();
        Ok(())
    }
}

/// The object of a value.
pub fn key(run: &RunId, digest: &Digest) -> String {
    format!("{run}.{digest}")
}

/// Puts a value down. Checked by its address when it is read.
pub async fn put(
    ingress: &Ingress,
    run: &RunId,
    digest: &Digest,
    text: &JsonText,
) -> Result<(), ClusterError> {
    ingress.call(&format!("ConvokeValue/{}/put", key(run, digest)), text, Some(READ)).await
}

/// Reads a value that was put down.
pub async fn get(ingress: &Ingress, run: &RunId, digest: &Digest) -> Result<Option<JsonText>, ClusterError> {
    let found: Option<JsonText> =
        ingress.ask(&format!("ConvokeValue/{}/get", key(run, digest)), READ).await?;
    match found {
        Some(text) if Digest::of(text.as_str().as_bytes()) != *digest => {
            Err(ClusterError::Torn(run.to_string()))
        }
        found => Ok(found),
    }
}
