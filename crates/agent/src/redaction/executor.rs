//! An executor whose attempts say nothing secret.

use super::link::{redacted_failure, redacted_proof};
use super::{RedactedLink, Scrubber};
use crate::{EngineLink, Executor, Looked};
use convoke_model::{Assignment, AttemptEnd, ProofLook, ProofSeen};
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Performs attempts by another executor, each on a redacted link.
pub struct RedactedExecutor {
    inner: Arc<dyn Executor>,
    scrubber: Arc<Scrubber>,
}

impl RedactedExecutor {
    /// Redacts what attempts of `inner` say. A scrubber that knows no secret leaves `inner` as it is.
    pub fn over(inner: Arc<dyn Executor>, scrubber: Scrubber) -> Arc<dyn Executor> {
        match scrubber.knows_any() {
            true => Arc::new(RedactedExecutor { inner, scrubber: Arc::new(scrubber) }),
            false => inner,
        }
    }
}

impl Executor for RedactedExecutor {
    fn attempt(
        &self,
        assignment: Assignment,
        link: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let redacted = RedactedLink::over(link, self.scrubber.clone());
        let work = self.inner.attempt(assignment, redacted.clone(), cancel);
        Box::pin(async move { redacted.end(work.await) })
    }

    /// What commands print may hold anything.
    fn look(&self, look: ProofLook, cancel: CancellationToken) -> BoxFuture<'static, Looked> {
        let (seen, scrubber) = (self.inner.look(look, cancel), self.scrubber.clone());
        Box::pin(async move {
            let ProofSeen { leased, told } = seen.await.map_err(|why| redacted_failure(&scrubber, why))?;
            Ok(ProofSeen { leased, told: redacted_proof(&scrubber, told) })
        })
    }
}
