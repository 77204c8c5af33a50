//! The trait by which a script step has its command run.

use crate::Sink;
use convoke_model::{Failure, ScriptCall};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// Runs commands. When `cancel` fires, the whole process group is dead before the future is ready.
pub trait Commands: Send + Sync {
    /// Runs one command to its end. An exit code that is not zero is a result, not a failure.
    fn run<'a>(
        &'a self,
        call: &'a ScriptCall,
        cancel: CancellationToken,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<ScriptResult, Failure>>;
}

/// What a command left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptResult {
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// Its exit code; 128 + n when signal n ended it.
    pub exit_code: i32,
}
