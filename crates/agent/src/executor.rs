//! The one interface by which attempts are performed: by [`Attempts`], redacted, by another process, or by a test.

use crate::{Attempts, EngineLink};
use convoke_model::{Assignment, AttemptEnd};
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Performs attempts.
pub trait Executor: Send + Sync {
    /// Runs one attempt to its end. When `cancel` fires it ends soon, with nothing left running.
    fn attempt(
        &self,
        assignment: Assignment,
        link: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd>;
}

impl Executor for Attempts {
    fn attempt(
        &self,
        assignment: Assignment,
        link: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let attempts = self.clone();
        Box::pin(async move { Attempts::attempt(&attempts, assignment, &*link, cancel).await })
    }
}
