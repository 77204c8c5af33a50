//! `shell`: a command of an agent, judged by the policies that hold and run in the sandbox.
//!
//! What is allowed is run as its plan says: by argument vectors, each program in a sandbox of its own, with pipes and redirects that
//! the engine makes (`pipeline`). What a person allowed though no plan holds it is run by a shell, inside the sandbox too. What is
//! denied, and everything where no sandbox can be had, is a result that says why. Whether a person is asked is decided before
//! (`review`), by the same judgement.
//!
//! Invariant: no command of an agent runs outside the full sandbox, unless the person gave sandboxes up for the whole run.

mod judge;
mod kept;
mod pipeline;
mod sinks;
mod world;

use super::rulebook::Held;
use crate::environment::Environment;
use crate::mcp::content::failed;
use convoke_agent::{Review, ToolResult};
use convoke_files::Root;
use convoke_model::{Class, Failure};
use convoke_policy::{Judgement, Verdict};
use convoke_process::{Launcher, OnDrop};
use convoke_sandbox::{Confinement, Ground, Network};
use futures::future::BoxFuture;
use judge::Judged;
pub(super) use judge::judge_paths;
use pipeline::{Ran, Runner};
use serde_json::Value;
use std::ffi::OsString;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Judges and runs commands.
pub trait Shell: Send + Sync {
    /// What is to be said of a command before it is run.
    fn review(&self, root: &Root, held: &Held, arguments: &Value) -> Review;

    /// Why no command can be run at all, if that is so.
    fn missing(&self) -> Option<String> {
        None
    }

    /// Runs a command beneath a root, below the span of its attempt. One that the policies deny is a result that says why.
    fn run<'a>(
        &'a self,
        root: Root,
        held: &'a Held,
        arguments: &'a Value,
        trace: Option<&'a str>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>>;
}

/// Runs no command, and says why.
pub struct NoShell(pub String);

impl Shell for NoShell {
    fn review(&self, _: &Root, _: &Held, _: &Value) -> Review {
        Review::Allow
    }

    fn missing(&self) -> Option<String> {
        Some(self.0.clone())
    }

    fn run<'a>(
        &'a self,
        _: Root,
        _: &'a Held,
        _: &'a Value,
        _: Option<&'a str>,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        let why = format!("no command can be run here: {}", self.0);
        Box::pin(std::future::ready(Ok(failed(why))))
    }
}

/// Runs commands in the sandbox.
pub struct Sandboxed {
    launcher: Launcher,
    /// What commands see of the environment, as far as the sandbox and the policies let it through.
    variables: Vec<(OsString, OsString)>,
    /// The person gave sandboxes up.
    given_up: bool,
}

impl Sandboxed {
    /// Commands see of these variables what the sandbox and the policies let through.
    pub fn new(environment: Environment) -> Sandboxed {
        let launcher = Launcher::new("shell", OnDrop::Kill);
        Sandboxed { launcher, variables: environment.into_variables(), given_up: false }
    }

    /// The same, with what the person's configuration says of every sandbox.
    pub fn on(self, ground: Ground) -> Sandboxed {
        let given_up = ground.level.is_none();
        Sandboxed { launcher: self.launcher.on(ground), given_up, ..self }
    }

    async fn perform(
        &self,
        root: &Root,
        held: &Held,
        arguments: &Value,
        trace: Option<&str>,
        cancel: CancellationToken,
    ) -> Result<ToolResult, Failure> {
        let command = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
        let Judged { judgement, limits, .. } = match judge::judge(root, held, command) {
            Ok(judged) => judged,
            Err(why) => return Ok(failed(why)),
        };
        if judgement.verdict == Verdict::Deny {
            return Ok(failed(format!("the policy denies this command: {}", reasons(&judgement))));
        }
        let asked = arguments.get("timeout_seconds").and_then(Value::as_u64).map(Duration::from_secs);
        let time = asked.unwrap_or(limits.timeout).min(Duration::from_secs(3600));
        let runner = Runner {
            root,
            launcher: &self.launcher,
            variables: &self.variables,
            trace,
            confinement: match confinement(root, &judgement) {
                Ok(confinement) => confinement,
                Err(why) => return Ok(failed(why)),
            },
            kept: usize::try_from(limits.output).unwrap_or(usize::MAX),
            stop: cancel.child_token(),
        };
        let ran = match &judgement.plan {
            Some(plan) => runner.run(plan, time).await,
            None => runner.run_text(command, time).await,
        };
        if cancel.is_cancelled() {
            return Err(Failure::new(
                Class::Cancelled,
                "the command was cancelled, and everything that it started ended",
            ));
        }
        Ok(ran.map_or_else(failed, |ran| told(ran, time)))
    }
}

/// What a command may do: read all but secrets, write beneath the root, reach the hosts of its plan.
fn confinement(root: &Root, judgement: &Judgement) -> Result<Confinement, String> {
    let hosts = judgement.plan.as_ref().filter(|plan| !plan.runs_project_code).map(|plan| &plan.hosts);
    let listed: Vec<String> = hosts
        .into_iter()
        .flatten()
        .map(|host| host.split_once("://").map_or(host.as_str(), |(_, host)| host).to_owned())
        .collect();
    let network = if listed.is_empty() { Network::Closed } else { Network::Hosts(listed) };
    let mut confinement = Confinement::full(root.path(), &[], network).hiding(root.hidden().to_vec());
    confinement.protected.extend(kept::names(root)?);
    Ok(confinement)
}

fn told(ran: Ran, time: Duration) -> ToolResult {
    let mut text = ran.output.trim_end_matches('\n').to_owned();
    if !text.is_empty() {
        text.push('\n');
    }
    let last = match ran.code {
        Some(code) => format!("[exit code {code}]"),
        None => format!(
            "[it took longer than {} s, and was ended with everything that it started]",
            time.as_secs()
        ),
    };
    ToolResult { text: text + &last, failed: ran.code != Some(0), ..ToolResult::default() }
}

/// Why a command is not simply run, for people and models.
pub(super) fn reasons(judgement: &Judgement) -> String {
    judgement.reasons.iter().map(|reason| reason.message.as_str()).collect::<Vec<_>>().join("; ")
}

impl Shell for Sandboxed {
    fn missing(&self) -> Option<String> {
        match self.given_up {
            true => None,
            false => convoke_sandbox::available().err().map(|missing| missing.to_string()),
        }
    }

    fn review(&self, root: &Root, held: &Held, arguments: &Value) -> Review {
        let command = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
        // What cannot be judged is refused when it is called, with the reason.
        let Ok(Judged { judgement, names, .. }) = judge::judge(root, held, command) else {
            return Review::Allow;
        };
        let reason = format!("policy {names}: {}", reasons(&judgement));
        match judgement.verdict {
            Verdict::Allow => Review::Allow,
            Verdict::Deny if judgement.aborts => Review::End { reason },
            Verdict::Deny => Review::Deny { reason },
            Verdict::Ask => Review::Ask {
                action: match &judgement.plan {
                    Some(plan) => plan.to_string(),
                    None => format!(
                        "in {}, by a shell in the sandbox, without network:\n{}",
                        convoke_policy::quote(&root.path().display().to_string()),
                        convoke_policy::quote(command)
                    ),
                },
                reason,
            },
        }
    }

    fn run<'a>(
        &'a self,
        root: Root,
        held: &'a Held,
        arguments: &'a Value,
        trace: Option<&'a str>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        Box::pin(async move { self.perform(&root, held, arguments, trace, cancel).await })
    }
}

#[cfg(test)]
mod tests;
