//! What an attempt of a worker may do and use, resolved to one value before it starts; and what was done against it.
//!
//! The tools of a worker are those of its node: what its actor has and its persona may use, which was put together when the
//! plan was made. Who performs the attempt reads nothing else about rights (`Contract::admits`).

use super::came::Reply;
use super::trigger::Status;
use crate::frame::FrameIx;
use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::task::TaskIx;
use convoke_model::clearance::is_within;
use convoke_model::{AgentCall, Class, Contract, MAX_TOKENS, Work};
use convoke_plan::{Clearance, Kind, Phase, Span};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

impl Scheduler {
    /// The contract of a task's next attempt, where it works for a phase.
    pub(crate) fn contract_of(&self, task: TaskIx, work: &Work) -> Option<Contract> {
        let (asks, phase) = self.phase_of(task)?;
        let about = self.asked_about(task)?;
        let role = self.role_of(phase, about);
        let clearance = role.map_or(&phase.clearance, |role| &role.clearance);
        Some(Contract {
            phase: self.node(asks).name.to_string(),
            persona: Some(role.map_or(&phase.persona, |role| &role.persona).to_string()),
            banned_tools: clearance.ban.clone(),
            timeout_ms: self.bound_of(task, work),
            budget: self.node(task).budget.clone().or_else(|| self.node(asks).budget.clone()),
            depth: self.depth_of(task),
            violation: self.violation(asks),
            ..self.of_work(work, clearance)
        })
    }

    /// What follows from the work itself.
    fn of_work(&self, work: &Work, clearance: &Clearance) -> Contract {
        match work {
            Work::Agent(call) => self.of_call(call),
            Work::Script(call) => Contract {
                allowed_tools: cleared(clearance),
                working_dir: self.placed(call.working_dir.as_deref()),
                ..Contract::default()
            },
            _ => Contract { allowed_tools: cleared(clearance), ..Contract::default() },
        }
    }

    fn of_call(&self, call: &AgentCall) -> Contract {
        let settings = &call.settings;
        let others = settings.fallback.as_ref().map(|fallback| fallback.models.clone());
        Contract {
            provider: Some(settings.provider.name.clone()),
            model: call.model.clone(),
            other_models: others.unwrap_or_default(),
            servers: settings.servers.keys().map(ToString::to_string).collect(),
            allowed_tools: settings.tools.clone(),
            working_dir: self.placed(call.working_dir.as_deref()),
            max_tokens: Some(settings.max_tokens.unwrap_or(MAX_TOKENS)),
            max_iterations: Some(settings.capabilities.max_iterations),
            ..Contract::default()
        }
    }

    /// A folder from the root: a run works where it was started, also when it is resumed from elsewhere.
    fn placed(&self, stated: Option<&str>) -> Option<String> {
        let folder = Path::new(&self.folder).join(stated.unwrap_or_default());
        let plain: PathBuf = folder.components().collect();
        Some(plain.display().to_string()).filter(|folder| !folder.is_empty())
    }

    /// The longest time that an attempt can take: the worker's own bound, or that of its conversation if it is shorter.
    fn bound_of(&self, task: TaskIx, work: &Work) -> Option<u64> {
        let stated = match self.node(task).timeout {
            Some(Span::Millis(limit)) => Some(limit),
            _ => None,
        };
        let session = match work {
            Work::Agent(call) => session_of(call),
            _ => None,
        };
        stated.into_iter().chain(session).min()
    }
}

impl Scheduler {
    /// What was done against contracts, whatever came of it: by whom, in which try, and what it was.
    pub(super) fn violations(&self, frame: FrameIx, outputs: &dyn Outputs) -> Vec<Value> {
        let mut steps = self.frame(frame).steps.clone();
        steps.sort_by_key(|step| self.tasks[*step].node.0);
        let of_step = |step: TaskIx| {
            let before = self.superseded.get(&self.tasks[step].id).into_iter().flatten();
            let before = before.flat_map(|run| run.violations.iter().map(superseded));
            before.chain(self.violations_of(step, outputs)).collect::<Vec<_>>()
        };
        steps.into_iter().flat_map(of_step).collect()
    }

    pub(super) fn violations_of(&self, task: TaskIx, outputs: &dyn Outputs) -> Vec<Value> {
        let Kind::Phase(phase) = &self.node(task).kind else { return Vec::new() };
        let workers = self.tasks[task].group.as_deref().map_or(&[][..], |group| &group.members);
        let told = |worker: &TaskIx| {
            let reason = self.violation_by(task, phase, *worker, outputs)?;
            let role = self.asked_about(*worker).and_then(|about| self.role_of(phase, about));
            Some(json!({
                "phase": self.node(task).name, "try": self.try_number(task, *worker), "task": self.tasks[*worker].id,
                "persona": role.map_or(&phase.persona, |role| &role.persona), "reason": reason,
            }))
        };
        workers.iter().filter_map(told).collect()
    }

    /// Why a worker has violated its contract: an attempt that was ended for it, or what it says itself.
    fn violation_by(
        &self,
        task: TaskIx,
        phase: &Phase,
        worker: TaskIx,
        outputs: &dyn Outputs,
    ) -> Option<String> {
        if let Some(failure) = self.tasks[worker].failure.as_deref() {
            return (failure.class == Class::Security).then(|| failure.message.clone());
        }
        match self.reply(task, phase, worker, outputs) {
            Reply::Said(said) if said.status == Status::Failure && said.class() == Some(Class::Security) => {
                Some(said.reason.unwrap_or_else(|| Class::Security.word().to_owned()))
            }
            _ => None,
        }
    }
}

/// A violation in a run of its phase that no longer counts; it was one all the same.
fn superseded(violation: &Value) -> Value {
    let mut violation = violation.clone();
    violation["superseded"] = true.into();
    violation
}

fn session_of(call: &AgentCall) -> Option<u64> {
    call.settings.session_timeout.map(|limit| limit.as_millis() as u64)
}

/// What a persona is allowed, without what is banned.
fn cleared(clearance: &Clearance) -> Option<Vec<String>> {
    let mut allowed = clearance.allow.clone()?;
    let banned: Vec<&str> = clearance.ban.iter().map(String::as_str).collect();
    allowed.retain(|tool| !is_within(tool, &banned));
    Some(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_banned_is_ever_allowed(allow in prop::collection::vec("[a-cA-C]{1,2}", 0..6), ban in prop::collection::vec("[a-cA-C]{1,2}", 0..6)) {
            let clearance = Clearance { allow: Some(allow.clone()), ban: ban.clone() };
            let left = cleared(&clearance).unwrap();
            for tool in &allow {
                let banned = ban.iter().any(|banned| banned.to_lowercase() == tool.to_lowercase());
                prop_assert_eq!(left.contains(tool), !banned);
            }
        }
    }
}
