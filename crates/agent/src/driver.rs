//! Performs attempts: the only place of this crate that waits.

use crate::{Admission, Commands, Providers, Sink};
use convoke_model::{Assignment, AttemptEnd, Class, Failure, Usage, Work};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Runs attempts of every kind.
#[derive(Clone)]
pub struct Attempts {
    providers: Arc<dyn Providers>,
    commands: Arc<dyn Commands>,
}

impl Attempts {
    /// An executor that asks these providers and runs commands so.
    pub fn new(providers: Arc<dyn Providers>, commands: Arc<dyn Commands>) -> Attempts {
        Attempts { providers, commands }
    }

    /// Runs one attempt to its end. Never panics over what a model or a command says.
    ///
    /// When `cancel` fires, connections and processes are gone before this returns.
    pub async fn attempt(
        &self,
        assignment: Assignment,
        admission: &dyn Admission,
        sink: &dyn Sink,
        cancel: CancellationToken,
    ) -> AttemptEnd {
        let _ = (admission, &self.providers);
        let failure = match &assignment.work {
            Work::Agent(_) => Failure::new(Class::Fatal, "no conversation yet"),
            Work::Script(call) => match self.commands.run(call, cancel, sink).await {
                Ok(_) => Failure::new(Class::Fatal, "no output yet"),
                Err(failure) => failure,
            },
        };
        AttemptEnd::Failed { failure, usage: Usage::default(), partial: None }
    }
}
