//! Conflicts on the way back: shown to the one that resolves them, a bounded number of times.

use super::{Attempt, Step, failed, place};
use crate::conflict::{Conflict, prompt};
use crate::lease::Lease;
use convoke_model::{
    AgentCall, AgentSettings, Assignment, AttemptEnd, Class, Contract, Failure, ProofCall, Usage, Work,
    WorkspaceCall, WorkspaceTold, reason,
};
use std::sync::Arc;

/// How far the resolving has come.
pub(super) struct Rounds {
    most: u32,
    /// The rounds that have begun.
    begun: u32,
    /// The last of them was cut off, and begins anew.
    cut_off: bool,
    /// A conversation of it goes on.
    goes_on: bool,
}

impl Rounds {
    pub fn of(call: &WorkspaceCall, assignment: &Assignment) -> Rounds {
        let begun = call.sealed.as_ref().map_or(0, |sealed| sealed.rounds);
        let most = call.resolve_attempts;
        let cut_off = begun > 0 && begun <= most;
        Rounds { most, begun, cut_off, goes_on: cut_off && !assignment.continues.is_empty() }
    }

    /// All rounds were used up before: since then a person may have resolved it.
    pub fn person_was_asked(&self) -> bool {
        self.begun > self.most
    }
}

impl Attempt {
    /// Has a conflict resolved. Gives what that cost.
    pub(super) async fn resolve(
        &self,
        lease: &Lease,
        rounds: &mut Rounds,
        paths: Vec<String>,
        shown: String,
    ) -> Step<Usage> {
        let goes_on = std::mem::take(&mut rounds.goes_on);
        if !std::mem::take(&mut rounds.cut_off) {
            rounds.begun += 1;
        }
        let resolver = self.resolver().filter(|_| rounds.begun <= rounds.most);
        let Some((name, work, contract)) = resolver else {
            let (round, paths_told) = (rounds.begun.max(rounds.most + 1), paths.clone());
            let told = WorkspaceTold::Conflicted { round, paths: paths_told, resolver: None, contract: None };
            self.tell(told).await?;
            return Err(failed(self.conflict(lease, &paths)));
        };
        if !goes_on {
            let (round, paths) = (rounds.begun, paths.clone());
            let told =
                WorkspaceTold::Conflicted { round, paths, resolver: Some(name), contract: contract.clone() };
            self.tell(told).await?;
        }
        let conflict = Conflict { paths, shown };
        let asked = self.resolution(lease, &conflict, work, contract, (goes_on, rounds.begun));
        match self.executor.inner.attempt(asked, self.link.clone(), self.cancel.clone()).await {
            AttemptEnd::Finished { usage, .. } => Ok(usage),
            AttemptEnd::Detached | AttemptEnd::Probed(_) => {
                let message = "a resolver neither goes on alone nor answers a probe";
                Err(failed(Failure::new(Class::Fatal, message)))
            }
            end => Err(end),
        }
    }

    /// The one that resolves: the one that is named, or the task's own agent.
    fn resolver(&self) -> Option<(String, Work, Option<Box<Contract>>)> {
        if let Some(named) = &self.call.resolver {
            return Some((named.name.clone(), named.work.clone(), named.contract.clone()));
        }
        match &self.assignment.work {
            work @ Work::Agent(_) => {
                Some((self.assignment.step.to_string(), work.clone(), self.assignment.contract.clone()))
            }
            _ => None,
        }
    }

    /// What the resolver is asked. It works at the root of the worktree, which the files are named from.
    fn resolution(
        &self,
        lease: &Lease,
        conflict: &Conflict,
        mut work: Work,
        contract: Option<Box<Contract>>,
        (goes_on, round): (bool, u32),
    ) -> Assignment {
        let tree = lease.tree().expect("only a worktree has conflicts");
        let (folder, into) = (tree.path.display().to_string(), tree.into.as_deref().unwrap_or_default());
        match &mut work {
            Work::Agent(call) => {
                let words = prompt(conflict, &folder, into, self.asked_for());
                **call = AgentCall {
                    prompt: words,
                    settings: plain(&call.settings),
                    working_dir: Some(folder.clone()),
                    ..(**call).clone()
                };
            }
            Work::Script(call) => {
                call.working_dir = Some(folder.clone());
                call.schema = None;
                call.survival = None;
                call.env.push(("CONVOKE_CONFLICTS".to_owned(), conflict.paths.join("\n")));
            }
            _ => {}
        }
        let contract =
            contract.map(|contract| Box::new(Contract { working_dir: Some(folder.clone()), ..*contract }));
        let asked = Assignment {
            work,
            contract,
            proof: self.proof_of_files(lease, round),
            ..self.assignment.clone()
        };
        let asked = match goes_on {
            true => asked,
            false => Assignment {
                continues: Vec::new(),
                past: Vec::new(),
                answer: None,
                known_results: Vec::new(),
                ..asked
            },
        };
        place::placed(&Assignment { key: format!("{}-resolve", self.assignment.key).into(), ..asked }, lease)
    }

    /// What is proven of work must be proven again once a conflict in it was resolved, as far as it is about files.
    fn proof_of_files(&self, lease: &Lease, round: u32) -> Option<Box<ProofCall>> {
        let own = self.assignment.proof.as_deref()?;
        let mut proof = own.clone();
        proof.conditions.retain(|stated| !stated.condition.is_about_answer());
        let folder = place::placed(&self.assignment, lease);
        (proof.folder, proof.about) = (place::folder(&folder), format!("resolve {round}: "));
        proof.judged = false;
        Some(Box::new(proof))
    }

    /// What the task's own agent was asked.
    fn asked_for(&self) -> Option<&str> {
        match &self.assignment.work {
            Work::Agent(call) => Some(&call.prompt),
            _ => None,
        }
    }

    fn conflict(&self, lease: &Lease, paths: &[String]) -> Failure {
        let tree = lease.tree().expect("only a worktree has conflicts");
        let (step, into, path) =
            (&self.assignment.step, tree.into.as_deref().unwrap_or_default(), tree.path.display());
        let message = format!(
            "step `{step}`: its work contradicts what `{into}` got meanwhile, in {}; it is kept in `{path}` on branch `{}`",
            paths.join(", "),
            tree.branch
        );
        Failure::new(Class::Conflict, message).reason(reason::MERGE_CONFLICT).hint(
            "resolve it in that folder without a commit, then `convoke resume`: only the merge is done then",
        )
    }
}

/// The answer of a resolver is what stands in the files: no shape is asked of its words.
fn plain(settings: &Arc<AgentSettings>) -> Arc<AgentSettings> {
    Arc::new(AgentSettings {
        schema: None,
        raw: true,
        validator: None,
        success_criteria: None,
        ..(**settings).clone()
    })
}
