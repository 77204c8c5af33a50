//! The history that counts: a journal without what was undone by reopening the run or by changing its plan.
//!
//! The journal keeps every event; what is open again is left out of what is folded. What is opened is `reopen`'s
//! decision, which the events carry.

use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{
    ChildKind, ChildSpec, Event, HookPoint, PlanChanged, RunReopened, Stamped, TaskId, Usage, reason,
};

/// The events that still count, with every reopening carried out.
pub fn replayable(events: Vec<Stamped>) -> Vec<Stamped> {
    let mut kept: Vec<Stamped> = Vec::with_capacity(events.len());
    for stamped in events {
        match &stamped.event {
            Event::RunReopened(RunReopened { tasks, restarted, rewound, .. }) => {
                kept = without_ends(kept, &tasks.iter().collect(), restarted);
                kept = rewind(kept, &rewound.iter().collect());
            }
            Event::PlanChanged(PlanChanged { dropped, opened, .. }) => {
                kept = without_ends(kept, &opened.iter().collect(), dropped);
            }
            Event::RunForked(forked) => kept = forked_history(kept, &forked.change),
            _ => {}
        }
        kept.push(stamped);
    }
    kept
}

/// What a copied history stands for in the run that goes on with it: nothing that it tells was paid by this one.
fn forked_history(mut kept: Vec<Stamped>, change: &PlanChanged) -> Vec<Stamped> {
    let has_ended = kept.iter().any(|stamped| matches!(stamped.event, Event::RunFinished { .. }));
    if has_ended || !(change.dropped.is_empty() && change.opened.is_empty()) {
        kept = without_ends(kept, &change.opened.iter().collect(), &change.dropped);
    }
    for stamped in &mut kept {
        match &mut stamped.event {
            Event::AttemptFinished { usage, .. }
            | Event::AttemptFailed { usage, .. }
            | Event::AttemptSuspended { usage, .. }
            | Event::AttemptLost { usage, .. }
            | Event::TurnRecorded { usage, .. } => *usage = Usage::default(),
            _ => {}
        }
    }
    kept
}

fn without_ends(events: Vec<Stamped>, open: &HashSet<&TaskId>, restarted: &[TaskId]) -> Vec<Stamped> {
    let restarted: HashSet<&TaskId> = restarted.iter().collect();
    events.into_iter().filter_map(|stamped| keep(stamped, open, &restarted)).collect()
}

/// Leaves out what was decided about these tasks after they last asked.
fn rewind(mut events: Vec<Stamped>, rewound: &HashSet<&TaskId>) -> Vec<Stamped> {
    if rewound.is_empty() {
        return events;
    }
    let mut last_asked: HashMap<TaskId, usize> = HashMap::default();
    for (place, stamped) in events.iter().enumerate() {
        match &stamped.event {
            Event::ChildrenSpawned { task, .. } if rewound.contains(task) => {
                last_asked.insert(task.clone(), place)
            }
            _ => None,
        };
    }
    let mut places = 0..;
    events.retain(|stamped| {
        let place = places.next();
        let decided = decision_about(&stamped.event).filter(|task| rewound.contains(task));
        decided.is_none_or(|task| last_asked.get(task).is_some_and(|asked| place < Some(*asked)))
    });
    events
}

/// The goal or the task of one that an event decides about, or waits for.
fn decision_about(event: &Event) -> Option<&TaskId> {
    match event {
        Event::GoalDecided(decided) => decided.about.as_ref().or(Some(&decided.task)),
        Event::PhaseDecided(decided) => Some(&decided.task),
        Event::RetryScheduled { task, .. }
        | Event::TaskWoken { task }
        | Event::GateOpened { task, .. }
        | Event::GateAnswered { task, .. } => Some(task),
        _ => None,
    }
}

fn keep(mut stamped: Stamped, open: &HashSet<&TaskId>, restarted: &HashSet<&TaskId>) -> Option<Stamped> {
    let opened = |within: &Option<TaskId>| within.as_ref().is_none_or(|task| open.contains(task));
    let keeps = match &stamped.event {
        Event::RunFinished { .. } | Event::StopRequested { .. } => false,
        Event::WorkflowEnding { within, .. } => !opened(within),
        Event::HookStarted { within, .. } => !opened(within),
        Event::HookRendered { within, hook, .. } => *hook == HookPoint::OnStart || !opened(within),
        Event::TaskFailed { task, .. }
        | Event::TaskSucceeded { task, .. }
        | Event::OutputTaken { task, .. }
        | Event::ProofDue { task, .. }
        | Event::TaskSkipped { task, .. }
        | Event::TaskCancelled { task, .. }
        | Event::CancelRequested { task, .. } => !open.contains(task),
        Event::RouteTaken { from, .. } => !open.contains(from),
        _ => true,
    };
    if let Event::ChildrenSpawned { task, children } = &mut stamped.event {
        forget_roles(task, children, restarted);
        if children.is_empty() {
            return None;
        }
    }
    if let Event::SummaryStarted { summary: Some(summary), .. } = &stamped.event
        && lies_below(summary, restarted)
    {
        return None;
    }
    let about = task_of(&stamped.event);
    let dropped = about.is_some_and(|task| lies_below(task, restarted));
    let leads_there =
        matches!(&stamped.event, Event::RouteTaken { to: Some(to), .. } if lies_below(to, restarted));
    if !keeps || dropped || leads_there {
        return None;
    }
    if let Event::AttemptFailed { task, failure, .. } = &mut stamped.event
        && open.contains(task)
    {
        failure.reason = Some(reason::INTERRUPTED.into());
    }
    Some(stamped)
}

pub(crate) fn lies_below(task: &TaskId, restarted: &HashSet<&TaskId>) -> bool {
    let mut next = Some(task.clone());
    while let Some(task) = next {
        if restarted.contains(&task) {
            return true;
        }
        next = task.parent();
    }
    false
}

/// The task that an event is about.
pub fn task_of(event: &Event) -> Option<&TaskId> {
    match event {
        Event::TaskStarted { task, .. }
        | Event::FannedOut { task, .. }
        | Event::MergeStarted { task, .. }
        | Event::ChildrenSpawned { task, .. }
        | Event::OutputsMissed { task, .. }
        | Event::TaskGuided { task, .. }
        | Event::StateChanged { task, .. }
        | Event::Announced { task, .. }
        | Event::FilesSeen { task, .. }
        | Event::ProjectSeen { task: Some(task), .. }
        | Event::ContractResolved { task, .. }
        | Event::ToolsSettled { task, .. }
        | Event::ProofBegun { task, .. }
        | Event::ProofDue { task, .. }
        | Event::ProofChecked { task, .. }
        | Event::AttemptStarted { task, .. }
        | Event::AttemptTaken { task, .. }
        | Event::ProcessStarted { task, .. }
        | Event::EffectClaimed { task, .. }
        | Event::EffectCommitted { task, .. }
        | Event::AttemptDetached { task, .. }
        | Event::ProbeStarted { task, .. }
        | Event::EffectProbed { task, .. }
        | Event::TurnRecorded { task, .. }
        | Event::ModelCalled { task, .. }
        | Event::ToolCalled { task, .. }
        | Event::AttemptFinished { task, .. }
        | Event::AttemptFailed { task, .. }
        | Event::AttemptSuspended { task, .. }
        | Event::AttemptLost { task, .. }
        | Event::RetryScheduled { task, .. }
        | Event::TaskWoken { task }
        | Event::TaskSucceeded { task, .. }
        | Event::OutputTaken { task, .. }
        | Event::TaskAffected { task, .. }
        | Event::TaskFailed { task, .. }
        | Event::TaskSkipped { task, .. }
        | Event::CancelRequested { task, .. }
        | Event::TaskCancelled { task, .. }
        | Event::GateOpened { task, .. }
        | Event::GateAnswered { task, .. }
        | Event::Blocked { task, .. }
        | Event::Fenced { task, .. }
        | Event::CallReserved { task, .. }
        | Event::CallLost { task, .. }
        | Event::SummaryStarted { task, .. }
        | Event::WorkspaceMerged { task, .. }
        | Event::WorkspaceKept { task, .. }
        | Event::WorkspaceReleased { task }
        | Event::ContextTrimmed { task, .. } => Some(task),
        Event::WorkspaceLeased(told) => Some(&told.task),
        Event::WorkspaceSealed(told) => Some(&told.task),
        Event::WorkspaceConflicted(told) => Some(&told.task),
        Event::RouteTaken { from, .. } => Some(from),
        Event::GoalDecided(decided) => decided.about.as_ref().or(Some(&decided.task)),
        Event::PhaseDecided(decided) => Some(&decided.task),
        _ => None,
    }
}

/// A role that begins anew is spawned anew, when its time comes. All other children stay.
fn forget_roles(task: &TaskId, children: &mut Vec<ChildSpec>, restarted: &HashSet<&TaskId>) {
    let is_role =
        |child: &ChildSpec| matches!(child.kind, ChildKind::Role { .. } | ChildKind::Collect { .. });
    children.retain(|child| !is_role(child) || !restarted.contains(&child.child_of(task)));
}
