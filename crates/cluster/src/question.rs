//! An attempt's question to its run: whether a call may be made. The answer may come turns later, so it has an address of its own:
//! an awakeable of this call.

use crate::run::RunClient;
use crate::wire::{Answered, ClusterFact, Delivery, Said};
use convoke_agent::CallDemand;
use convoke_model::{RunId, Timestamp};
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asked {
    /// The run.
    pub run: RunId,
    /// When.
    pub at: Timestamp,
    /// What the call needs.
    pub demand: CallDemand,
}

/// The service.
pub struct Question;

#[restate_sdk::service(
    name = "ConvokeQuestion",
    client_visibility = "pub(crate)",
    inactivity_timeout = "1m",
    abort_timeout = "1m",
    journal_retention = "0s",
    idempotency_retention = "10m",
    invocation_retry_policy(
        initial_interval = "20ms",
        factor = 2.0,
        max_interval = "2s",
        max_attempts = 1000000000
    )
)]
impl Question {
    /// From an attempt: waits until the call may be made, or never may.
    #[handler]
    async fn ask(&self, ctx: Context<'_>, asked: Json<Asked>) -> HandlerResult<Json<Answered>> {
        let Asked { run, at, demand } = asked.into_inner();
        let (awakeable, answer) = ctx.awakeable::<Json<Answered>>();
        let said = Said::CallAsked { demand: Box::new(demand), awakeable };
        let delivery = Delivery { sender: None, facts: vec![ClusterFact { at, said }] };
        drop(ctx.object_client::<RunClient>(&*run.0).deliver(Json(delivery)).send());
        Ok(answer.await?)
    }
}
