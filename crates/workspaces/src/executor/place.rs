//! An assignment, moved into a workspace: the folder that it works in, and the variables that its programs see.

use crate::lease::Lease;
use convoke_model::{
    AgentCall, AgentSettings, Assignment, ProbeCall, Program, ProviderSettings, ScriptCall, Work,
};
use std::sync::Arc;

/// The assignment in the workspace.
pub(super) fn placed(assignment: &Assignment, lease: &Lease) -> Assignment {
    let mut placed = assignment.clone();
    match &mut placed.work {
        Work::Agent(call) => agent(call, lease),
        Work::Program(call) => agent(&mut call.agent, lease),
        Work::Script(call) => script(call, lease),
        Work::Probe(work) => {
            if let ProbeCall::Command(call) = &mut work.asks {
                script(call, lease);
            }
        }
        Work::Tool(_) => {}
    }
    if let Some(contract) = &mut placed.contract {
        let moved = lease.working_dir(contract.working_dir.as_deref());
        contract.working_dir = moved.or(contract.working_dir.take());
    }
    placed
}

/// The folder in which an assignment works.
pub(super) fn folder(assignment: &Assignment) -> Option<String> {
    let own = match &assignment.work {
        Work::Agent(call) => call.working_dir.clone(),
        Work::Script(call) => call.working_dir.clone(),
        _ => None,
    };
    assignment.contract.as_ref().and_then(|contract| contract.working_dir.clone()).or(own)
}

pub(super) fn script(call: &mut ScriptCall, lease: &Lease) {
    call.working_dir = lease.working_dir(call.working_dir.as_deref()).or(call.working_dir.take());
    // What the author says stands behind ours, and wins.
    let own = std::mem::take(&mut call.env);
    call.env = lease.variables().into_iter().chain(own).collect();
}

/// An agent that is a program sees the variables; a model is told by its tools where it is.
pub(super) fn agent(call: &mut AgentCall, lease: &Lease) {
    call.working_dir = lease.working_dir(call.working_dir.as_deref()).or(call.working_dir.take());
    let Some(program) = &call.settings.provider.program else { return };
    let env = lease.variables().into_iter().chain(program.env.clone()).collect();
    let program = Some(Box::new(Program { env, ..(**program).clone() }));
    let provider = ProviderSettings { program, ..call.settings.provider.clone() };
    call.settings = Arc::new(AgentSettings { provider, ..(*call.settings).clone() });
}
