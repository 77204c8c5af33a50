//! Says in the journal that commands run without a sandbox, once, before the first attempt does anything.

use convoke_agent::{EngineLink, Executor, Looked, Report};
use convoke_model::{Assignment, AttemptEnd, ProofLook, Work};
use convoke_plan::{Kind, Plan};
use convoke_sandbox::{Ground, means};
use futures::future::BoxFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// Why commands run without a sandbox; `None` if they have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unconfined {
    /// A short name for it.
    pub code: &'static str,
    /// The same in words.
    pub message: String,
}

impl Unconfined {
    /// How it stands on this ground.
    pub fn on(ground: &Ground) -> Option<Unconfined> {
        let (code, why) = match ground.level {
            None => ("sandbox_given_up", "--unsafe-no-sandbox was given".to_owned()),
            Some(_) => ("no_sandbox", means().trusted().err()?.to_string()),
        };
        Some(Unconfined {
            code,
            message: format!("commands run without a sandbox, with all rights of their user: {why}"),
        })
    }

    /// Has the first attempt that may start a command report it.
    pub fn told_by(self, inner: Arc<dyn Executor>) -> Arc<dyn Executor> {
        Arc::new(Telling { inner, unconfined: self, is_told: AtomicBool::new(false) })
    }
}

/// Whether a plan may start commands of the machine at all.
pub fn starts_commands(plan: &Plan) -> bool {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    nodes.into_iter().any(|node| match &node.kind {
        Kind::Script(_) | Kind::Tool(_) => true,
        Kind::Agent(agent) => {
            !agent.settings.servers.is_empty()
                || matches!(agent.settings.provider.name.as_str(), "acp" | "cli")
        }
        _ => false,
    })
}

struct Telling {
    inner: Arc<dyn Executor>,
    unconfined: Unconfined,
    is_told: AtomicBool,
}

impl Executor for Telling {
    fn attempt(
        &self,
        assignment: Assignment,
        link: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let may_start = !matches!(assignment.work, Work::Program(_));
        if may_start && !self.is_told.swap(true, Ordering::Relaxed) {
            let Unconfined { code, message } = self.unconfined.clone();
            link.report(Report::Noted { code, message });
        }
        self.inner.attempt(assignment, link, cancel)
    }

    /// Commands that check work run in the full sandbox or not at all.
    fn look(&self, look: ProofLook, cancel: CancellationToken) -> BoxFuture<'static, Looked> {
        self.inner.look(look, cancel)
    }
}
