//! Performs attempts: the door through which the engine comes in.

use crate::talk::Talk;
use crate::{Admission, Commands, Providers, Sink, script};
use convoke_model::{AgentCall, Assignment, AttemptEnd, Failure, ScriptCall, Usage, Work};
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
        match &assignment.work {
            Work::Agent(call) => self.talk(&assignment, call, admission, sink, &cancel).await,
            Work::Script(call) => self.run(&assignment.step, call, sink, cancel).await,
        }
    }

    async fn talk(
        &self,
        assignment: &Assignment,
        call: &AgentCall,
        admission: &dyn Admission,
        sink: &dyn Sink,
        cancel: &CancellationToken,
    ) -> AttemptEnd {
        match self.providers.get(&call.settings.provider) {
            Ok(provider) => {
                Talk { assignment, call, provider: &*provider, admission, sink }.perform(cancel).await
            }
            Err(failure) => unused(failure),
        }
    }

    async fn run(
        &self,
        step: &str,
        call: &ScriptCall,
        sink: &dyn Sink,
        cancel: CancellationToken,
    ) -> AttemptEnd {
        let result = match self.commands.run(call, cancel, sink).await {
            Ok(result) => result,
            Err(mut failure) => {
                failure.message = format!("step `{step}`: {}", failure.message);
                return unused(failure);
            }
        };
        match script::output(step, call, &result) {
            Ok(output) => AttemptEnd::Finished { output, usage: Usage::default() },
            Err(failure) => {
                let partial = Some(script::leftovers(&result));
                AttemptEnd::Failed { failure, usage: Usage::default(), partial }
            }
        }
    }
}

fn unused(failure: Failure) -> AttemptEnd {
    AttemptEnd::Failed { failure, usage: Usage::default(), partial: None }
}

#[cfg(test)]
mod tests;
