//! Places to be killed at around a commit and before an effect: one for each kind of event and of effect.
//!
//! A commit holds several events; each names the moment before and the moment after it. See `convoke_failpoint`.

use crate::core::Effect;
use convoke_failpoint::failpoint;
use convoke_model::{Event, Stamped};

/// What is decided is not on disk.
pub(crate) fn before_commit(events: &[Stamped]) {
    events.iter().for_each(|stamped| before(&stamped.event));
}

/// What is decided is on disk, and nothing was done about it.
pub(crate) fn after_commit(events: &[Stamped]) {
    events.iter().for_each(|stamped| after(&stamped.event));
}

fn before(event: &Event) {
    match event {
        Event::RunStarted { .. } => failpoint!("commit.run_started.before"),
        Event::RunOwned { .. } => failpoint!("commit.run_owned.before"),
        Event::RunReopened { .. } => failpoint!("commit.run_reopened.before"),
        Event::OutputTaken { .. } => failpoint!("commit.output_taken.before"),
        Event::PlanChanged { .. } => failpoint!("commit.plan_changed.before"),
        Event::TaskStarted { .. } => failpoint!("commit.task_started.before"),
        Event::FannedOut { .. } => failpoint!("commit.fanned_out.before"),
        Event::MergeStarted { .. } => failpoint!("commit.merge_started.before"),
        Event::ChildrenSpawned { .. } => failpoint!("commit.children_spawned.before"),
        Event::GoalDecided { .. } => failpoint!("commit.goal_decided.before"),
        Event::PhaseDecided { .. } => failpoint!("commit.phase_decided.before"),
        Event::Guided { .. } => failpoint!("commit.guided.before"),
        Event::TaskGuided { .. } => failpoint!("commit.task_guided.before"),
        Event::StateChanged { .. } => failpoint!("commit.state_changed.before"),
        Event::Announced { .. } => failpoint!("commit.announced.before"),
        Event::FilesSeen { .. } => failpoint!("commit.files_seen.before"),
        Event::ProjectSeen { .. } => failpoint!("commit.project_seen.before"),
        Event::ContractResolved { .. } => failpoint!("commit.contract_resolved.before"),
        Event::AttemptStarted { .. } => failpoint!("commit.attempt_started.before"),
        Event::WorkspaceLeased { .. } => failpoint!("commit.workspace_leased.before"),
        Event::WorkspaceSealed { .. } => failpoint!("commit.workspace_sealed.before"),
        Event::WorkspaceConflicted { .. } => failpoint!("commit.workspace_conflicted.before"),
        Event::WorkspaceMerged { .. } => failpoint!("commit.workspace_merged.before"),
        Event::WorkspaceKept { .. } => failpoint!("commit.workspace_kept.before"),
        Event::WorkspaceReleased { .. } => failpoint!("commit.workspace_released.before"),
        Event::ToolsSettled { .. } => failpoint!("commit.tools_settled.before"),
        Event::ProofBegun { .. } => failpoint!("commit.proof_begun.before"),
        Event::ProofDue { .. } => failpoint!("commit.proof_due.before"),
        Event::ProofChecked { .. } => failpoint!("commit.proof_checked.before"),
        Event::AttemptTaken { .. } => failpoint!("commit.attempt_taken.before"),
        Event::ProcessStarted { .. } => failpoint!("commit.process_started.before"),
        Event::EffectClaimed { .. } => failpoint!("commit.effect_claimed.before"),
        Event::EffectCommitted { .. } => failpoint!("commit.effect_committed.before"),
        Event::AttemptDetached { .. } => failpoint!("commit.attempt_detached.before"),
        Event::ProbeStarted { .. } => failpoint!("commit.probe_started.before"),
        Event::EffectProbed { .. } => failpoint!("commit.effect_probed.before"),
        Event::TurnRecorded { .. } => failpoint!("commit.turn_recorded.before"),
        Event::ToolCalled { .. } => failpoint!("commit.tool_called.before"),
        Event::AttemptFinished { .. } => failpoint!("commit.attempt_finished.before"),
        Event::AttemptFailed { .. } => failpoint!("commit.attempt_failed.before"),
        Event::AttemptSuspended { .. } => failpoint!("commit.attempt_suspended.before"),
        Event::AttemptLost { .. } => failpoint!("commit.attempt_lost.before"),
        Event::RetryScheduled { .. } => failpoint!("commit.retry_scheduled.before"),
        Event::TaskWoken { .. } => failpoint!("commit.task_woken.before"),
        Event::TaskSucceeded { .. } => failpoint!("commit.task_succeeded.before"),
        Event::TaskFailed { .. } => failpoint!("commit.task_failed.before"),
        Event::TaskSkipped { .. } => failpoint!("commit.task_skipped.before"),
        Event::CancelRequested { .. } => failpoint!("commit.cancel_requested.before"),
        Event::TaskCancelled { .. } => failpoint!("commit.task_cancelled.before"),
        Event::RouteTaken { .. } => failpoint!("commit.route_taken.before"),
        Event::GateOpened { .. } => failpoint!("commit.gate_opened.before"),
        Event::GateAnswered { .. } => failpoint!("commit.gate_answered.before"),
        Event::CallReserved { .. } => failpoint!("commit.call_reserved.before"),
        Event::CallLost { .. } => failpoint!("commit.call_lost.before"),
        Event::StopRequested { .. } => failpoint!("commit.stop_requested.before"),
        Event::RunParked { .. } => failpoint!("commit.run_parked.before"),
        Event::RunInterrupted { .. } => failpoint!("commit.run_interrupted.before"),
        Event::RunFinished { .. } => failpoint!("commit.run_finished.before"),
        _ => {}
    }
}

fn after(event: &Event) {
    match event {
        Event::RunStarted { .. } => failpoint!("commit.run_started.after"),
        Event::RunOwned { .. } => failpoint!("commit.run_owned.after"),
        Event::RunReopened { .. } => failpoint!("commit.run_reopened.after"),
        Event::OutputTaken { .. } => failpoint!("commit.output_taken.after"),
        Event::PlanChanged { .. } => failpoint!("commit.plan_changed.after"),
        Event::TaskStarted { .. } => failpoint!("commit.task_started.after"),
        Event::FannedOut { .. } => failpoint!("commit.fanned_out.after"),
        Event::MergeStarted { .. } => failpoint!("commit.merge_started.after"),
        Event::ChildrenSpawned { .. } => failpoint!("commit.children_spawned.after"),
        Event::GoalDecided { .. } => failpoint!("commit.goal_decided.after"),
        Event::PhaseDecided { .. } => failpoint!("commit.phase_decided.after"),
        Event::Guided { .. } => failpoint!("commit.guided.after"),
        Event::TaskGuided { .. } => failpoint!("commit.task_guided.after"),
        Event::StateChanged { .. } => failpoint!("commit.state_changed.after"),
        Event::Announced { .. } => failpoint!("commit.announced.after"),
        Event::FilesSeen { .. } => failpoint!("commit.files_seen.after"),
        Event::ProjectSeen { .. } => failpoint!("commit.project_seen.after"),
        Event::ContractResolved { .. } => failpoint!("commit.contract_resolved.after"),
        Event::AttemptStarted { .. } => failpoint!("commit.attempt_started.after"),
        Event::WorkspaceLeased { .. } => failpoint!("commit.workspace_leased.after"),
        Event::WorkspaceSealed { .. } => failpoint!("commit.workspace_sealed.after"),
        Event::WorkspaceConflicted { .. } => failpoint!("commit.workspace_conflicted.after"),
        Event::WorkspaceMerged { .. } => failpoint!("commit.workspace_merged.after"),
        Event::WorkspaceKept { .. } => failpoint!("commit.workspace_kept.after"),
        Event::WorkspaceReleased { .. } => failpoint!("commit.workspace_released.after"),
        Event::ToolsSettled { .. } => failpoint!("commit.tools_settled.after"),
        Event::ProofBegun { .. } => failpoint!("commit.proof_begun.after"),
        Event::ProofDue { .. } => failpoint!("commit.proof_due.after"),
        Event::ProofChecked { .. } => failpoint!("commit.proof_checked.after"),
        Event::AttemptTaken { .. } => failpoint!("commit.attempt_taken.after"),
        Event::ProcessStarted { .. } => failpoint!("commit.process_started.after"),
        Event::EffectClaimed { .. } => failpoint!("commit.effect_claimed.after"),
        Event::EffectCommitted { .. } => failpoint!("commit.effect_committed.after"),
        Event::AttemptDetached { .. } => failpoint!("commit.attempt_detached.after"),
        Event::ProbeStarted { .. } => failpoint!("commit.probe_started.after"),
        Event::EffectProbed { .. } => failpoint!("commit.effect_probed.after"),
        Event::TurnRecorded { .. } => failpoint!("commit.turn_recorded.after"),
        Event::ToolCalled { .. } => failpoint!("commit.tool_called.after"),
        Event::AttemptFinished { .. } => failpoint!("commit.attempt_finished.after"),
        Event::AttemptFailed { .. } => failpoint!("commit.attempt_failed.after"),
        Event::AttemptSuspended { .. } => failpoint!("commit.attempt_suspended.after"),
        Event::AttemptLost { .. } => failpoint!("commit.attempt_lost.after"),
        Event::RetryScheduled { .. } => failpoint!("commit.retry_scheduled.after"),
        Event::TaskWoken { .. } => failpoint!("commit.task_woken.after"),
        Event::TaskSucceeded { .. } => failpoint!("commit.task_succeeded.after"),
        Event::TaskFailed { .. } => failpoint!("commit.task_failed.after"),
        Event::TaskSkipped { .. } => failpoint!("commit.task_skipped.after"),
        Event::CancelRequested { .. } => failpoint!("commit.cancel_requested.after"),
        Event::TaskCancelled { .. } => failpoint!("commit.task_cancelled.after"),
        Event::RouteTaken { .. } => failpoint!("commit.route_taken.after"),
        Event::GateOpened { .. } => failpoint!("commit.gate_opened.after"),
        Event::GateAnswered { .. } => failpoint!("commit.gate_answered.after"),
        Event::CallReserved { .. } => failpoint!("commit.call_reserved.after"),
        Event::CallLost { .. } => failpoint!("commit.call_lost.after"),
        Event::StopRequested { .. } => failpoint!("commit.stop_requested.after"),
        Event::RunParked { .. } => failpoint!("commit.run_parked.after"),
        Event::RunInterrupted { .. } => failpoint!("commit.run_interrupted.after"),
        Event::RunFinished { .. } => failpoint!("commit.run_finished.after"),
        _ => {}
    }
}

/// The commit that led to the effect is on disk, or it needed none.
pub(crate) fn before_effect(effect: &Effect) {
    match effect {
        Effect::Launch { .. } => failpoint!("effect.launch"),
        Effect::Abort { .. } => failpoint!("effect.abort"),
        Effect::AbortAll => failpoint!("effect.abort_all"),
        Effect::Guide { .. } => failpoint!("effect.guide"),
        Effect::LookUpFiles { .. } => failpoint!("effect.look_up_files"),
        Effect::Patch { .. } => failpoint!("effect.patch"),
        Effect::LetGo { .. } => failpoint!("effect.let_go"),
        Effect::LookAtProof(..) => failpoint!("effect.look_at_proof"),
        Effect::Acknowledge { .. } => failpoint!("effect.acknowledge"),
        Effect::StopCalls => failpoint!("effect.stop_calls"),
        Effect::Answer { .. } => failpoint!("effect.answer"),
        Effect::RequestLease { .. } => failpoint!("effect.request_lease"),
        Effect::GiveBack { .. } => failpoint!("effect.give_back"),
        Effect::Subscribe { .. } => failpoint!("effect.subscribe"),
        Effect::CallStarted { .. } => failpoint!("effect.call_started"),
        Effect::CallEnded { .. } => failpoint!("effect.call_ended"),
        Effect::ReportSample { .. } => failpoint!("effect.report_sample"),
        _ => {}
    }
}
