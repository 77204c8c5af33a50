//! Where an attempt writes down how far it has come.
//!
//! What is recorded is on disk when the future is ready, and another attempt of the task is given it back in the same
//! order: so a call with an effect is written down before it is made, and its result after.

use convoke_model::{
    Digest, EffectClaim, EffectCommit, Failure, JsonText, ProofTold, TaskId, Usage, WorkspaceTold,
};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// One attempt's turn log.
pub trait TurnLog: Send + Sync {
    /// Makes a piece durable, with the large values that it names.
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>>;

    /// Makes durable which tools the attempt may use, by their full names: its contract's from here on. Once, and before its
    /// first call.
    fn settle_tools(&self, allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>>;

    /// Makes durable what work is compared with, that it is done, or what a check of it found. Links of processes that perform attempts for others
    /// have none to tell of: what must be proven is done by the owner of the run.
    fn prove(&self, _told: ProofTold) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// A large value that was recorded earlier, by this attempt or one before it.
    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>>;

    /// What people have said to the task since the attempt began, oldest first: all of it at each call, and all of it is on disk. Links of
    /// processes that perform attempts for others hear nothing: the task's next attempt does.
    fn guidance(&self) -> Vec<String> {
        Vec::new()
    }

    /// Makes durable what became of the workspace that the attempt works in, whose owner is named. Links of processes that perform
    /// attempts for others have none to tell of.
    fn workspace(&self, _owner: TaskId, _told: WorkspaceTold) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What is written down at once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TurnRecord {
    /// What is new since the last record.
    pub piece: JsonText,
    /// Large values, which the piece names by their digests.
    pub kept: Vec<JsonText>,
    /// What was used since the last record.
    pub usage: Usage,
    /// Calls that are made once this is on disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claimed: Vec<EffectClaim>,
    /// Calls whose results are in this record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub committed: Vec<EffectCommit>,
}

impl TurnRecord {
    /// A record of what is new, without calls.
    pub fn new(piece: JsonText, kept: Vec<JsonText>, usage: Usage) -> TurnRecord {
        TurnRecord { piece, kept, usage, claimed: Vec::new(), committed: Vec::new() }
    }
}

/// An attempt's link to the engine that launched it: capacity, reports and the turn log.
pub trait EngineLink: crate::Admission + crate::Sink + TurnLog {}

impl<T: crate::Admission + crate::Sink + TurnLog> EngineLink for T {}

/// A link on which everything is admitted, nothing is heard and nothing is kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl TurnLog for Alone {
    fn record(&self, _page: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn settle_tools(&self, _allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn recall(&self, _digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        Box::pin(std::future::ready(None))
    }
}

impl crate::Sink for Alone {
    fn report(&self, _report: crate::Report) {}
}

impl crate::Admission for Alone {
    fn admit(&self, call: crate::CallDemand) -> BoxFuture<'_, Result<crate::Admitted, Failure>> {
        crate::Unlimited.admit(call)
    }

    fn settle(&self, _permit: crate::CallPermit, _usage: &Usage, _failure: Option<&Failure>) {}
}
