//! An executor whose attempts work in the workspaces of their tasks.
//!
//! Before the attempt the workspace is leased, and that is on disk; afterwards its work is committed, sealed (from then on the
//! attempt is not made again), brought back and let go of, all before the attempt ends, so that what follows from the task sees its
//! work. A workspace of an attempt that fails stays: another attempt goes on in it, or the scheduler lets go of it.

mod forecasts;
mod place;
mod resolve;

use crate::error::Trouble;
use crate::lease::Lease;
use crate::leases::Leases;
use crate::merge::Merged;
use convoke_agent::{EngineLink, Executor, LetGo, Looked};
use convoke_failpoint::failpoint;
use convoke_model::{
    Assignment, AttemptEnd, Class, Failure, JsonText, MergeMode, ProbeFinding, ProofLook, TaskId, Usage,
    Work, WorkspaceCall, WorkspaceTold, reason,
};
use forecasts::Forecasts;
use futures::future::BoxFuture;
use resolve::Rounds;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often worktrees are compared while attempts work in them.
pub const FORECAST_PERIOD: Duration = Duration::from_secs(10);

/// Performs attempts by another executor, each in the workspace of its task.
#[derive(Clone)]
pub struct WorkspaceExecutor {
    inner: Arc<dyn Executor>,
    leases: Arc<Leases>,
    forecasts: Arc<Forecasts>,
}

impl WorkspaceExecutor {
    /// Puts attempts of `inner` into the workspaces of a run.
    pub fn over(inner: Arc<dyn Executor>, leases: Arc<Leases>, period: Duration) -> WorkspaceExecutor {
        let forecasts = Arc::new(Forecasts::new(leases.clone(), period));
        WorkspaceExecutor { inner, leases, forecasts }
    }
}

impl Executor for WorkspaceExecutor {
    fn attempt(
        &self,
        mut assignment: Assignment,
        link: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let Some(call) = assignment.workspace.take() else {
            return self.inner.attempt(assignment, link, cancel);
        };
        let attempt = Attempt { executor: self.clone(), call: *call, assignment, link, cancel };
        Box::pin(async move { attempt.perform().await.unwrap_or_else(|end| end) })
    }

    fn look(&self, mut look: ProofLook, cancel: CancellationToken) -> BoxFuture<'static, Looked> {
        let Some(call) = look.workspace.take() else { return self.inner.look(look, cancel) };
        let executor = self.clone();
        Box::pin(async move { executor.look_within(*call, look, cancel).await })
    }

    fn let_go(&self, owner: TaskId, back: Option<MergeMode>) -> BoxFuture<'static, LetGo> {
        let (leases, who) = (self.leases.clone(), owner.clone());
        let done = tokio::task::spawn_blocking(move || leases.settle(&owner.0, back));
        Box::pin(async move {
            let lost =
                || Failure::new(Class::Fatal, format!("the workspace of `{who}` could not be looked after"));
            let told = done.await.map_err(|_| lost())?;
            told.map_err(|trouble| trouble.failure())?.map_err(|paths| {
                let message = format!(
                    "the work of `{who}` contradicts what its target got meanwhile, in {}",
                    paths.join(", ")
                );
                Failure::new(Class::Conflict, message)
                    .reason(reason::MERGE_CONFLICT)
                    .hint("`convoke workspaces` shows where it is kept; merge it by hand")
            })
        })
    }
}

impl WorkspaceExecutor {
    /// Looks at work where it is done: in the workspace that the parts of a task have in common.
    async fn look_within(
        &self,
        call: WorkspaceCall,
        mut look: ProofLook,
        cancel: CancellationToken,
    ) -> Looked {
        let (leases, asked) = (self.leases.clone(), call.clone());
        let lease = match tokio::task::spawn_blocking(move || leases.acquire(&asked)).await {
            Ok(lease) => lease.map_err(|trouble| trouble.failure()),
            Err(_) => Err(Failure::new(Class::Fatal, "its workspace could not be looked after")),
        };
        let named = |failure: Failure| Failure {
            message: format!("step `{}`: {}", look.step, failure.message),
            ..failure
        };
        let lease = lease.map_err(named)?;
        look.proof.folder = lease.working_dir(None);
        let mut seen = self.inner.look(look, cancel).await?;
        seen.leased.splice(0..0, leased(&call, &lease, &call.owner));
        Ok(seen)
    }
}

/// What is to be said of a lease: of a workspace that it is a part of first, unless that is known.
fn leased(call: &WorkspaceCall, lease: &Lease, own: &TaskId) -> Vec<(TaskId, WorkspaceTold)> {
    let above = call.parent.as_deref().zip(lease.parent.as_deref());
    let mut all = above.map(|(call, lease)| leased(call, lease, own)).unwrap_or_default();
    if !call.known || call.owner == *own {
        all.push((call.owner.clone(), WorkspaceTold::Leased(Box::new(lease.told(&call.owner)))));
    }
    all
}

/// One attempt in a workspace.
struct Attempt {
    executor: WorkspaceExecutor,
    call: WorkspaceCall,
    assignment: Assignment,
    link: Arc<dyn EngineLink>,
    cancel: CancellationToken,
}

/// A step of the attempt, or the end that it comes to instead.
type Step<T> = Result<T, AttemptEnd>;

impl Attempt {
    async fn perform(&self) -> Step<AttemptEnd> {
        if let Some(sealed) = self.call.sealed.as_ref().filter(|sealed| sealed.settled) {
            self.let_go().await?;
            return Ok(self.ended(sealed.output.clone(), sealed.usage));
        }
        let call = self.call.clone();
        let lease = self.with_leases(move |leases| leases.acquire(&call)).await?;
        self.tell_leased(&self.call, &lease).await?;
        failpoint!("workspaces.attempt.leased");
        let (output, usage) = match &self.call.sealed {
            Some(sealed) => (sealed.output.clone(), sealed.usage),
            None => self.work(&lease).await?,
        };
        if self.call.shared {
            return Ok(self.ended(output, usage));
        }
        let further = self.bring_back(&lease, &output, usage).await.map_err(|end| with(end, usage))?;
        let usage = sum(usage, further);
        self.let_go().await.map_err(|end| with(end, usage))?;
        failpoint!("workspaces.attempt.let_go");
        Ok(self.ended(output, usage))
    }

    /// The attempt itself. Only work that is done, and good by its own account, comes out of it.
    async fn work(&self, lease: &Lease) -> Step<(JsonText, Usage)> {
        let placed = place::placed(&self.assignment, lease);
        let watched = self.executor.forecasts.watch(lease, &self.call, &self.link);
        let end = self.executor.inner.attempt(placed, self.link.clone(), self.cancel.clone()).await;
        drop(watched);
        match end {
            AttemptEnd::Finished { output, usage } if self.is_good(&output) => Ok((output, usage)),
            AttemptEnd::Probed(ProbeFinding::Happened(output)) => Ok((output, Usage::default())),
            other => Err(other),
        }
    }

    fn is_good(&self, output: &JsonText) -> bool {
        if !self.call.judged {
            return true;
        }
        let said = output.value();
        let status = said.get("status").and_then(|status| status.as_str());
        let achieved = said.get("goal_achieved").and_then(|achieved| achieved.as_bool());
        status.is_none_or(|status| status == "success") && achieved != Some(false)
    }

    fn ended(&self, output: JsonText, usage: Usage) -> AttemptEnd {
        match &self.assignment.work {
            Work::Probe(_) if self.call.sealed.is_none() => {
                AttemptEnd::Probed(ProbeFinding::Happened(output))
            }
            _ => AttemptEnd::Finished { output, usage },
        }
    }

    /// Commits the work, says that it is done, and brings it back. Gives what that used.
    async fn bring_back(&self, lease: &Lease, output: &JsonText, usage: Usage) -> Step<Usage> {
        let Some(worktree) = self.call.worktree.as_ref() else { return Ok(Usage::default()) };
        let merge = worktree.merge;
        let (message, sealed) = (self.message(), lease.clone());
        let (commit, has_work) = self.with_leases(move |leases| leases.seal(&sealed, &message)).await?;
        failpoint!("workspaces.attempt.committed");
        if !has_work {
            return Ok(Usage::default());
        }
        if self.call.sealed.is_none() {
            let into = lease.tree().and_then(|tree| tree.into.as_deref()).unwrap_or_default();
            let what = merge.moves_target().then(|| format!("{} into {into}", merge.word()));
            let output = output.clone();
            self.tell(WorkspaceTold::Sealed { commit, merge, what, output, usage }).await?;
            failpoint!("workspaces.attempt.sealed");
        }
        match merge {
            MergeMode::None => Ok(Usage::default()),
            MergeMode::PullRequestFile => {
                let (described, title) = (lease.clone(), self.assignment.step.to_string());
                let file = self.with_leases(move |leases| leases.describe(&described, &title)).await?;
                let commit = self.head(lease).await?;
                self.tell(WorkspaceTold::Merged { into: file.display().to_string(), commit }).await?;
                Ok(Usage::default())
            }
            MergeMode::FastForward | MergeMode::Rebase => self.merge(lease, merge).await,
        }
    }

    async fn head(&self, lease: &Lease) -> Step<String> {
        let (sealed, message) = (lease.clone(), self.message());
        Ok(self.with_leases(move |leases| leases.seal(&sealed, &message)).await?.0)
    }

    /// Brings the work onto its target, through as many conflicts as may be resolved.
    async fn merge(&self, lease: &Lease, mode: MergeMode) -> Step<Usage> {
        let mut spent = Usage::default();
        let mut rounds = Rounds::of(&self.call, &self.assignment);
        let mut resolved = rounds.person_was_asked();
        loop {
            let back = lease.clone();
            let merged = self.with_leases(move |leases| leases.bring_back(&back, mode, resolved)).await;
            let merged = merged.map_err(|end| with(end, spent))?;
            match merged {
                Merged::Done { commit } => {
                    failpoint!("workspaces.attempt.merged");
                    let into = lease.tree().and_then(|tree| tree.into.clone()).unwrap_or_default();
                    let told = self.tell(WorkspaceTold::Merged { into, commit }).await;
                    told.map_err(|end| with(end, spent))?;
                    failpoint!("workspaces.attempt.merge_told");
                    return Ok(spent);
                }
                Merged::Conflict { paths, shown } => {
                    let asked = self.resolve(lease, &mut rounds, paths, shown).await;
                    spent += asked.map_err(|end| with(end, spent))?;
                    resolved = true;
                }
            }
        }
    }

    /// Says what is leased: a workspace that it is a part of first, unless that is known.
    async fn tell_leased(&self, call: &WorkspaceCall, lease: &Lease) -> Step<()> {
        for (owner, told) in leased(call, lease, &self.call.owner) {
            self.link.workspace(owner, told).await.map_err(failed)?;
        }
        Ok(())
    }

    async fn let_go(&self) -> Step<()> {
        let owner = self.call.owner.0.clone();
        let told = match self.with_leases(move |leases| leases.release(&owner)).await? {
            Some(remains) => WorkspaceTold::Kept(remains),
            None => WorkspaceTold::Released,
        };
        self.tell(told).await
    }

    async fn tell(&self, told: WorkspaceTold) -> Step<()> {
        self.link.workspace(self.call.owner.clone(), told).await.map_err(failed)
    }

    /// Has something done on a thread that may wait. What the attempt was told to stop for is not begun.
    async fn with_leases<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Leases) -> Result<T, Trouble> + Send + 'static,
    ) -> Step<T> {
        if self.cancel.is_cancelled() {
            return Err(failed(Failure::new(Class::Cancelled, "the attempt was told to stop")));
        }
        let leases = self.executor.leases.clone();
        match tokio::task::spawn_blocking(move || act(&leases)).await {
            Ok(done) => done.map_err(|trouble| failed(self.failure(&trouble))),
            Err(_) => {
                let message =
                    format!("step `{}`: its workspace could not be looked after", self.assignment.step);
                Err(failed(Failure::new(Class::Fatal, message).reason(reason::WORKSPACE)))
            }
        }
    }

    fn failure(&self, trouble: &Trouble) -> Failure {
        let failure = trouble.failure();
        Failure { message: format!("step `{}`: {}", self.assignment.step, failure.message), ..failure }
    }

    fn message(&self) -> String {
        let (step, task) = (&self.assignment.step, &self.assignment.task);
        format!("{step}\n\nWork of the task `{task}`, committed by Convoke.")
    }
}

/// The end of an attempt that has used this besides.
fn with(end: AttemptEnd, besides: Usage) -> AttemptEnd {
    match end {
        AttemptEnd::Failed { failure, usage, partial } => {
            AttemptEnd::Failed { failure, usage: sum(besides, usage), partial }
        }
        AttemptEnd::Suspended { state, waits_for, usage } => {
            AttemptEnd::Suspended { state, waits_for, usage: sum(besides, usage) }
        }
        end => end,
    }
}

fn sum(mut one: Usage, other: Usage) -> Usage {
    one += other;
    one
}

fn failed(failure: Failure) -> AttemptEnd {
    AttemptEnd::Failed { failure, usage: Usage::default(), partial: None }
}

#[cfg(test)]
mod tests;
