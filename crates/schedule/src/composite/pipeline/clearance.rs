//! What a persona may do and use, and what was done against that, whatever came of it.

use super::trigger::Status;
use super::try_progress::Reply;
use crate::state::{FrameIx, State, TaskIx};
use crate::view::View;
use convoke_model::{Class, Contract, Work};
use convoke_plan::{Clearance, Kind, Phase, ResolverRole};
use serde_json::{Value, json};

impl View<'_> {
    /// What was done against contracts, whatever came of it: by which worker, in which try, and what it was.
    pub(super) fn violations(&self, frame: FrameIx) -> Vec<Value> {
        let mut steps = self.frame(frame).steps.clone();
        steps.sort_by_key(|step| self.tasks[*step].node.0);
        let of_step = |step: TaskIx| {
            let before = self.superseded.get(&self.tasks[step].id).into_iter().flatten();
            let before = before.flat_map(|run| run.violations.iter().map(superseded));
            before.chain(self.violations_of(step)).collect::<Vec<_>>()
        };
        steps.into_iter().flat_map(of_step).collect()
    }

    pub(super) fn violations_of(&self, task: TaskIx) -> Vec<Value> {
        let Kind::Phase(phase) = &self.node(task).kind else { return Vec::new() };
        let workers = self.tasks[task].group.as_deref().map_or(&[][..], |group| &group.members);
        let violation = |worker: &TaskIx| {
            let reason = self.violation_by(task, phase, *worker)?;
            let role = self.child_kind(*worker).and_then(|about| self.role_of(phase, about));
            Some(json!({
                "phase": self.node(task).name, "try": self.try_number(task, *worker), "task": self.tasks[*worker].id,
                "persona": role.map_or(&phase.persona, |role| &role.persona), "reason": reason,
            }))
        };
        workers.iter().filter_map(violation).collect()
    }

    /// Why a worker has violated its contract: an attempt that was ended for it, or what it says itself.
    fn violation_by(&self, task: TaskIx, phase: &Phase, worker: TaskIx) -> Option<String> {
        if let Some(failure) = self.tasks[worker].failure.as_deref() {
            return (failure.class == Class::Security).then(|| failure.message.clone());
        }
        match self.reply(task, phase, worker) {
            Reply::Answered(said)
                if said.status == Status::Failure && said.class() == Some(Class::Security) =>
            {
                Some(said.reason.unwrap_or_else(|| Class::Security.word().to_owned()))
            }
            _ => None,
        }
    }
}

impl State {
    /// What a persona may do and use.
    pub(super) fn phase_contract(&self, task: TaskIx, work: &Work) -> Option<Contract> {
        let (asks, phase) = self.phase_of(task)?;
        let about = self.child_kind(task)?;
        let role = self.role_of(phase, about);
        let clearance = role.map_or(&phase.clearance, |role| &role.clearance);
        let mut contract = self.bounds_of(task, work);
        contract.cheaper_models.retain(|model| may_play(clearance, model));
        Some(Contract {
            phase: self.node(asks).name.to_string(),
            persona: Some(role.map_or(&phase.persona, |role| &role.persona).to_string()),
            banned_tools: clearance.ban.clone(),
            depth: self.depth_of(task),
            violation: self.violation(asks),
            ..contract
        })
    }
}

impl State {
    /// What the persona may do and use that resolves conflicts of a phase's work.
    pub(crate) fn resolver_contract(
        &self,
        task: TaskIx,
        role: &ResolverRole,
        work: &Work,
    ) -> Option<Contract> {
        let (asks, _) = self.phase_of(task)?;
        let mut contract = self.bounds_of(task, work);
        contract.cheaper_models.retain(|model| may_play(&role.clearance, model));
        Some(Contract {
            phase: self.node(asks).name.to_string(),
            persona: Some(role.persona.to_string()),
            banned_tools: role.clearance.ban.clone(),
            depth: self.depth_of(task),
            violation: self.violation(asks),
            ..contract
        })
    }
}

fn may_play(clearance: &Clearance, model: &str) -> bool {
    clearance.model.as_deref().is_none_or(|only| only == model)
}

/// A violation in a run of its phase that no longer counts; it was one all the same.
fn superseded(violation: &Value) -> Value {
    let mut violation = violation.clone();
    violation["superseded"] = true.into();
    violation
}
