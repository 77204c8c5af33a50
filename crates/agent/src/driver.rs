//! Performs attempts: the entry point that the engine calls.

use crate::proof::Checker;
use crate::refusals::Refusals;
use crate::talk::Talk;
use crate::{
    Commands, EngineLink, NoProver, Programmer, Programs, Prover, Provider, Providers, Toolbox, probe,
    script, tool,
};
use convoke_failpoint::failpoint;
use convoke_model::{
    AgentCall, Assignment, AttemptEnd, Contract, Failure, ProgramCall, ProofLook, ProofTold, ScriptCall,
    TRACEPARENT, Usage, Work, reason,
};
use std::borrow::Cow;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Runs attempts of every kind.
#[derive(Clone)]
pub struct Attempts {
    providers: Arc<dyn Providers>,
    commands: Arc<dyn Commands>,
    toolbox: Arc<dyn Toolbox>,
    programs: Arc<dyn Programs>,
    prover: Arc<dyn Prover>,
    refusals: Arc<Refusals>,
}

impl Attempts {
    /// An executor that asks these providers, runs commands so, has these tools and runs programs there.
    pub fn new(
        providers: Arc<dyn Providers>,
        commands: Arc<dyn Commands>,
        toolbox: Arc<dyn Toolbox>,
        programs: Arc<dyn Programs>,
    ) -> Attempts {
        let prover = Arc::new(NoProver);
        Attempts { providers, commands, toolbox, programs, prover, refusals: Arc::default() }
    }

    /// The same, with what looks whether work is done that must be proven.
    pub fn proving(self, prover: Arc<dyn Prover>) -> Attempts {
        Attempts { prover, ..self }
    }

    /// Runs one attempt to its end. Never panics over what a model or a command says.
    ///
    /// When `cancel` fires, connections and processes are gone before this returns.
    pub async fn attempt(
        &self,
        mut assignment: Assignment,
        link: &dyn EngineLink,
        cancel: CancellationToken,
    ) -> AttemptEnd {
        let Some(mut proof) = assignment.proof.take() else {
            return self.perform(&assignment, link, cancel).await;
        };
        let checker = Checker { prover: &*self.prover, assignment: &assignment, link };
        match checker.begin(&proof, &cancel).await {
            Ok(begun) => proof.baseline = begun.or(proof.baseline.take()),
            Err(failure) => return unused(failure),
        }
        if matches!(assignment.work, Work::Agent(_)) {
            // A conversation is told what does not hold, and goes on.
            assignment.proof = Some(proof);
            return self.perform(&assignment, link, cancel).await;
        }
        let end = match checker.known_output() {
            Some(known) => known,
            None => self.perform(&assignment, link, cancel.clone()).await,
        };
        checker.judge(&proof, end, &cancel).await
    }

    /// Looks at the work of a task that has parts.
    pub(crate) async fn look(
        &self,
        look: &ProofLook,
        cancel: &CancellationToken,
    ) -> Result<ProofTold, Failure> {
        crate::proof::look(&*self.prover, look, cancel).await
    }

    async fn perform(
        &self,
        assignment: &Assignment,
        link: &dyn EngineLink,
        cancel: CancellationToken,
    ) -> AttemptEnd {
        match &assignment.work {
            Work::Agent(call) => self.talk(assignment, call, link, &cancel).await,
            Work::Script(call) => self.run(assignment, call, link, cancel).await,
            Work::Program(call) => self.program(assignment, call, link, &cancel).await,
            Work::Tool(work) => tool::perform(&*self.toolbox, assignment, work, link, cancel).await,
            Work::Probe(work) => {
                probe::perform(&*self.commands, &*self.toolbox, assignment, work, link, cancel).await
            }
        }
    }

    async fn talk(
        &self,
        assignment: &Assignment,
        call: &AgentCall,
        link: &dyn EngineLink,
        cancel: &CancellationToken,
    ) -> AttemptEnd {
        match self.providers.get(&call.settings.provider) {
            Ok(provider) => self.talk_with(&*provider, assignment, call, link).perform(cancel).await,
            Err(failure) => unused(failure),
        }
    }

    async fn program(
        &self,
        assignment: &Assignment,
        call: &ProgramCall,
        link: &dyn EngineLink,
        cancel: &CancellationToken,
    ) -> AttemptEnd {
        match self.providers.get(&call.agent.settings.provider) {
            Ok(provider) => {
                let talk = self.talk_with(&*provider, assignment, &call.agent, link);
                Programmer { talk, call, programs: &*self.programs }.perform(cancel).await
            }
            Err(failure) => unused(failure),
        }
    }

    fn talk_with<'a>(
        &'a self,
        provider: &'a dyn Provider,
        assignment: &'a Assignment,
        call: &'a AgentCall,
        link: &'a dyn EngineLink,
    ) -> Talk<'a> {
        let contract = assignment.contract.as_deref();
        let (toolbox, prover, refusals) = (&*self.toolbox, &*self.prover, &*self.refusals);
        Talk { assignment, contract, call, provider, toolbox, prover, link, refusals }
    }

    async fn run(
        &self,
        assignment: &Assignment,
        call: &ScriptCall,
        link: &dyn EngineLink,
        cancel: CancellationToken,
    ) -> AttemptEnd {
        let (step, call) = (&assignment.step, placed(call, assignment.contract.as_deref()));
        let call = &*traced(call, assignment.trace.as_deref());
        let result = match self.commands.run(call, cancel, link).await {
            Ok(result) => result,
            // Nothing is left that says how the command ended, or whether it did.
            Err(failure) if failure.reason.as_deref() == Some(reason::RECORD_LOST) => {
                return AttemptEnd::Lost;
            }
            Err(mut failure) => {
                failure.message = format!("step `{step}`: {}", failure.message);
                return unused(failure);
            }
        };
        failpoint!("agent.script.ended");
        match script::output(step, call, &result) {
            Ok(output) => AttemptEnd::Finished { output, usage: Usage::default() },
            Err(failure) => {
                let partial = Some(script::leftovers(&result));
                AttemptEnd::Failed { failure, usage: Usage::default(), partial }
            }
        }
    }
}

/// The call in the folder of its contract, where there is one.
pub(crate) fn placed<'a>(call: &'a ScriptCall, contract: Option<&Contract>) -> Cow<'a, ScriptCall> {
    match contract.and_then(|contract| contract.working_dir.clone()) {
        Some(folder) => Cow::Owned(ScriptCall { working_dir: Some(folder), ..call.clone() }),
        None => Cow::Borrowed(call),
    }
}

/// The call whose command is told the span of its attempt, where there is one. What the author gives it stands.
fn traced<'a>(mut call: Cow<'a, ScriptCall>, trace: Option<&str>) -> Cow<'a, ScriptCall> {
    if let Some(trace) = trace.filter(|_| !call.env.iter().any(|(name, _)| name == TRACEPARENT)) {
        call.to_mut().env.push((TRACEPARENT.to_owned(), trace.to_owned()));
    }
    call
}

pub(crate) fn unused(failure: Failure) -> AttemptEnd {
    AttemptEnd::Failed { failure, usage: Usage::default(), partial: None }
}

#[cfg(test)]
mod tests;
