//! The list of runs, as one object: a line for each run, written when a run stands otherwise than before. And the cluster's
//! identity, by which a command knows a cluster that was set up anew.

use crate::wire::{Identity, Listed};
use convoke_model::{Digest, RunId};
use restate_sdk::context::IntoServiceClient;
use restate_sdk::endpoint::ContextInternal;
use restate_sdk::prelude::*;

/// The key of the one directory.
pub const ALL: &str = "all";
const IDENTITY: &str = "!identity";
const RUN: &str = "run/";

struct Raw<'ctx>(&'ctx ContextInternal);

impl<'ctx> IntoServiceClient<'ctx> for Raw<'ctx> {
    fn create_client(ctx: &'ctx ContextInternal) -> Self {
        Raw(ctx)
    }
}

/// The object.
pub struct Directory;

#[restate_sdk::object(
    name = "ConvokeDirectory",
    client_visibility = "pub(crate)",
    journal_retention = "0s",
    lazy_state,
    invocation_retry_policy(initial_interval = "20ms", factor = 2.0, max_interval = "2s")
)]
impl Directory {
    /// Which cluster this is, once that is settled. Shared, so that no call that is stuck is waited for.
    #[handler]
    async fn known(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<Identity>>> {
        Ok(Json(ctx.get::<Json<Identity>>(IDENTITY).await?.map(Json::into_inner)))
    }

    /// Which cluster this is.
    #[handler]
    async fn identity(&self, ctx: ObjectContext<'_>) -> HandlerResult<Json<Identity>> {
        if let Some(known) = ctx.get::<Json<Identity>>(IDENTITY).await? {
            return Ok(known);
        }
        let made =
            ctx.run(|| async { Ok(Json(Identity(Digest::of(crate::worker::random_name().as_bytes())))) });
        let Json(made) = made.name("identity").await?;
        ctx.set(IDENTITY, Json(made.clone()));
        Ok(Json(made))
    }

    /// From a run: it stands otherwise than before.
    #[handler(ingress_private)]
    async fn note(&self, ctx: ObjectContext<'_>, line: Json<Listed>) -> HandlerResult<()> {
        let line = line.into_inner();
        let key = format!("{RUN}{}", line.run);
        ctx.set(&key, Json(line));
        Ok(())
    }

    /// A run is erased.
    #[handler]
    async fn forget(&self, ctx: ObjectContext<'_>, run: Json<RunId>) -> HandlerResult<()> {
        ctx.clear(&format!("{RUN}{}", run.into_inner()));
        Ok(())
    }

    /// Every run, by its name.
    #[handler]
    async fn list(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Vec<Listed>>> {
        let mut keys = ctx.get_keys().await?;
        keys.retain(|key| key.starts_with(RUN));
        keys.sort();
        let Raw(raw) = ctx.service_client::<Raw>();
        let asked: Vec<_> = keys.iter().map(|key| raw.get::<Json<Listed>>(key)).collect();
        let mut all = Vec::with_capacity(asked.len());
        for line in asked {
            all.extend(line.await?.map(Json::into_inner));
        }
        Ok(Json(all))
    }
}
