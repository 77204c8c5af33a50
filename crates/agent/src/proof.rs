//! Proof of work: a reported success is checked before it counts.
//!
//! A [`Prover`] checks conditions on files, commands and expressions. This module says when it does, and what follows. The baseline (the
//! state before the work) is on disk before the work begins. Each check is on disk before anything follows from it, and is not made again
//! once it is there. A command whose proof does not hold has failed; an agent gets the findings and continues (`conversation::proving`).
//!
//! Invariant: an attempt that must prove something succeeds only with a check on disk in which every condition holds.

use crate::{Asker, EngineLink};
use convoke_failpoint::failpoint;
use convoke_model::{
    Assignment, AttemptEnd, Class, Condition, EffectCommit, Failure, JsonText, ProbeFinding, ProofCall,
    ProofCheck, ProofFinding, ProofLook, ProofTold, Work, missing, reason, unproven,
};
use futures::future::BoxFuture;
use std::collections::BTreeSet;
use tokio_util::sync::CancellationToken;

/// Looks whether conditions hold.
pub trait Prover: Send + Sync {
    /// What is there now, for conditions that compare. Refused where a condition could not be checked later, so that nothing is
    /// spent on work that cannot be proven.
    fn begin<'a>(
        &'a self,
        asker: Asker<'a>,
        proof: &'a ProofCall,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<JsonText, Failure>>;

    /// What is found about each condition but those about the conversation, in their order.
    fn check<'a>(
        &'a self,
        asker: Asker<'a>,
        proof: &'a ProofCall,
        output: &'a JsonText,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<ProofFinding>, Failure>>;
}

/// Looks at nothing, and says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProver;

impl Prover for NoProver {
    fn begin<'a>(
        &'a self,
        _: Asker<'a>,
        _: &'a ProofCall,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<JsonText, Failure>> {
        Box::pin(std::future::ready(Err(no_prover())))
    }

    fn check<'a>(
        &'a self,
        _: Asker<'a>,
        _: &'a ProofCall,
        _: &'a JsonText,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<ProofFinding>, Failure>> {
        Box::pin(std::future::ready(Err(no_prover())))
    }
}

pub(crate) fn no_prover() -> Failure {
    Failure::new(Class::Fatal, "conditions cannot be checked in this process").reason(reason::UNPROVABLE)
}

/// Looks at the work of a task that has parts: what is there before they begin, or what holds once they have ended. The caller has
/// it on disk before anything follows from it.
pub(crate) async fn look(
    prover: &dyn Prover,
    look: &ProofLook,
    cancel: &CancellationToken,
) -> Result<ProofTold, Failure> {
    let (proof, folder) = (&look.proof, look.proof.folder.as_deref());
    let asker = Asker {
        task: &look.task,
        attempt: 0,
        key: "",
        trace: None,
        folder,
        step: &look.step,
        contract: None,
    };
    let named = |mut failure: Failure| {
        failure.message = format!("step `{}`: {}", look.step, failure.message);
        failure
    };
    failpoint!("agent.proof.look");
    let told = match &look.ended {
        None => prover.begin(asker, proof, cancel.child_token()).await.map(ProofTold::Begun),
        Some((check, output)) => prover.check(asker, proof, output, cancel.child_token()).await.map(|seen| {
            let findings = complete(proof, seen, &BTreeSet::new());
            ProofTold::Checked(ProofCheck { check: check.clone(), findings })
        }),
    };
    failpoint!("agent.proof.looked");
    if cancel.is_cancelled() {
        return Err(named(Failure::new(Class::Cancelled, "cancelled")));
    }
    told.map_err(named)
}

/// Checks the work of one attempt.
#[derive(Clone, Copy)]
pub(crate) struct Checker<'a> {
    pub prover: &'a dyn Prover,
    pub assignment: &'a Assignment,
    pub link: &'a dyn EngineLink,
}

impl Checker<'_> {
    fn asker<'p>(&'p self, proof: &'p ProofCall) -> Asker<'p> {
        let own = Asker::from(self.assignment);
        let of_script = match &self.assignment.work {
            Work::Script(call) => call.working_dir.as_deref(),
            _ => None,
        };
        let agreed = self.assignment.contract.as_deref().and_then(|contract| contract.working_dir.as_deref());
        let folder = proof.folder.as_deref().or(own.folder).or(agreed).or(of_script);
        Asker { folder, ..own }
    }

    /// Has on disk what the work will be compared with. What is there already is not looked at again: it was there first.
    pub async fn begin(
        &self,
        proof: &ProofCall,
        cancel: &CancellationToken,
    ) -> Result<Option<JsonText>, Failure> {
        if proof.baseline.is_some() {
            return Ok(None);
        }
        failpoint!("agent.proof.begin");
        let found = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(self.cancelled()),
            found = self.prover.begin(self.asker(proof), proof, cancel.child_token()) => found,
        };
        let baseline = found.map_err(|failure| self.named(failure))?;
        self.link.prove(ProofTold::Begun(baseline.clone())).await.map_err(|failure| self.named(failure))?;
        failpoint!("agent.proof.begun");
        Ok(Some(baseline))
    }

    /// What is found, on disk. `called` are the entries of tools that were called with success.
    pub async fn check(
        &self,
        proof: &ProofCall,
        check: &str,
        output: &JsonText,
        called: &BTreeSet<String>,
        cancel: &CancellationToken,
    ) -> Result<Vec<ProofFinding>, Failure> {
        if let Some(known) = proof.known(check) {
            return Ok(known.to_vec());
        }
        failpoint!("agent.proof.before");
        let seen = self.prover.check(self.asker(proof), proof, output, cancel.child_token()).await;
        failpoint!("agent.proof.checked");
        if cancel.is_cancelled() {
            return Err(self.cancelled());
        }
        let findings = complete(proof, seen.map_err(|failure| self.named(failure))?, called);
        let told = ProofCheck { check: check.to_owned(), findings: findings.clone() };
        self.link.prove(ProofTold::Checked(told)).await.map_err(|failure| self.named(failure))?;
        failpoint!("agent.proof.told");
        Ok(findings)
    }

    /// The end of a command, a tool or a probe once its work was looked at. It cannot be told what is missing, as an agent can: it has failed.
    pub async fn judge(&self, proof: &ProofCall, end: AttemptEnd, cancel: &CancellationToken) -> AttemptEnd {
        let (output, usage) = match &end {
            AttemptEnd::Finished { output, usage } => (output.clone(), *usage),
            AttemptEnd::Probed(ProbeFinding::Happened(output)) => (output.clone(), Default::default()),
            _ => return end,
        };
        if !proof.claims(&output) {
            return end;
        }
        let is_probe = matches!(end, AttemptEnd::Probed(_));
        if !is_probe {
            // It is on disk before it is looked at, so that it is not done again whatever becomes of this process meanwhile.
            let (key, result) = (self.assignment.key.to_string(), Some(output.clone()));
            let done = ProofTold::Done(EffectCommit { key, failed: false, result });
            if let Err(failure) = self.link.prove(done).await {
                return AttemptEnd::Failed { failure: self.named(failure), usage, partial: Some(output) };
            }
            failpoint!("agent.proof.done");
        }
        let check = format!("{}attempt {}", proof.about, self.assignment.attempt);
        let findings = match self.check(proof, &check, &output, &BTreeSet::new(), cancel).await {
            Ok(findings) => findings,
            Err(failure) => return AttemptEnd::Failed { failure, usage, partial: Some(output) },
        };
        match (findings.iter().all(|finding| finding.held), is_probe) {
            (true, _) => end,
            (false, false) => {
                let failure = unproven(&self.assignment.step, &findings, 1);
                AttemptEnd::Failed { failure, usage, partial: Some(output) }
            }
            (false, true) => {
                let why = format!("the probe says that it happened, but {}", missing(&findings));
                AttemptEnd::Probed(ProbeFinding::Unclear(why))
            }
        }
    }

    /// The outcome of a command or a tool that an attempt before this one knew, and that was only not looked at yet.
    pub fn known_output(&self) -> Option<AttemptEnd> {
        let known = self.assignment.known_results.iter();
        let mut own = known.filter(|known| *known.key == *self.assignment.key);
        own.next_back()
            .map(|known| AttemptEnd::Finished { output: known.result.clone(), usage: Default::default() })
    }

    fn cancelled(&self) -> Failure {
        Failure::new(Class::Cancelled, format!("step `{}`: cancelled", self.assignment.step))
    }

    fn named(&self, mut failure: Failure) -> Failure {
        failure.message = format!("step `{}`: {}", self.assignment.step, failure.message);
        failure
    }
}

/// The findings in the order of the conditions, those about the conversation among them.
fn complete(proof: &ProofCall, seen: Vec<ProofFinding>, called: &BTreeSet<String>) -> Vec<ProofFinding> {
    let mut seen = seen.into_iter();
    let finding = |condition: Condition| match &condition {
        Condition::ToolCalled(tool) => {
            let held = called.contains(tool);
            let evidence = if held { "" } else { "no call of it succeeded" };
            ProofFinding::new(condition, held, evidence)
        }
        _ => seen.next().unwrap_or_else(|| ProofFinding::new(condition, false, "it was not looked at")),
    };
    proof.all().map(|stated| stated.condition).map(finding).collect()
}
