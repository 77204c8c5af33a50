//! The one interface by which attempts are performed: by [`Attempts`], redacted, by another process, or by a test.

use crate::proof::no_prover;
use crate::{Attempts, EngineLink};
use convoke_model::{
    Assignment, AttemptEnd, Failure, MergeMode, ProofLook, ProofSeen, TaskId, WorkspaceTold,
};
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

    /// Looks at the work of a task that has parts, where it must be proven.
    fn look(&self, _look: ProofLook, _cancel: CancellationToken) -> BoxFuture<'static, Looked> {
        Box::pin(std::future::ready(Err(no_prover())))
    }

    /// Lets go of a task's workspace, after bringing its work back where that is said. Tells what became of it, one after the other.
    fn let_go(&self, _owner: TaskId, _back: Option<MergeMode>) -> BoxFuture<'static, LetGo> {
        Box::pin(std::future::ready(Ok(vec![WorkspaceTold::Released])))
    }
}

/// What a look saw; or why nothing could be looked at.
pub type Looked = Result<ProofSeen, Failure>;

/// What became of a workspace that was let go of; or why its work could not be brought back.
pub type LetGo = Result<Vec<WorkspaceTold>, Failure>;

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

    fn look(&self, look: ProofLook, cancel: CancellationToken) -> BoxFuture<'static, Looked> {
        let attempts = self.clone();
        Box::pin(async move {
            let told = attempts.look(&look, &cancel).await?;
            Ok(ProofSeen { leased: Vec::new(), told })
        })
    }
}
