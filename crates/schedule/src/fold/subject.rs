//! Events by subject: what each of them calls.
//!
//! `fold` sends an event to one of these; an event that is none of its subject's is refused, so that a line which is missing here is
//! seen by the first run that needs it, and not silently forgotten.

use super::{Folded, illegal};
use crate::scheduler::{Finished, Scheduler};
use crate::task::End;
use convoke_model::Event;

impl Scheduler {
    /// The run begins, or goes on with another owner.
    pub(super) fn owned(&mut self, event: &Event) -> Folded {
        match event {
            Event::RunStarted(started) => self.run_started(started),
            Event::RunOwned { .. } => self.run_owned(),
            Event::RunReopened { tasks, restarted, retried, superseded, rewound } => {
                self.restarted(restarted);
                self.phases_retried(retried);
                self.phases_superseded(superseded);
                self.reopened(tasks, rewound)
            }
            Event::PlanChanged { dropped, superseded, .. } => {
                self.restarted(dropped);
                self.phases_superseded(superseded);
                self.reopened(&[], &[])
            }
            _ => misplaced(event),
        }
    }

    /// The run comes to its end.
    pub(super) fn closing(&mut self, event: &Event) -> Folded {
        match event {
            Event::BudgetExceeded { .. } => self.budget_exceeded(),
            Event::StopRequested { now, .. } => self.stop_requested(*now),
            Event::RunFinished { status, output, failure } => {
                self.finished =
                    Some(Finished { status: *status, output: output.clone(), failure: failure.clone() });
                Ok(())
            }
            _ => misplaced(event),
        }
    }

    /// A task begins without an attempt, or waits for a time.
    pub(super) fn going_on(&mut self, event: &Event) -> Folded {
        match event {
            Event::TaskStarted { task, until, inputs } => self.task_started(task, *until, inputs.as_ref()),
            Event::FannedOut { task, count, items, keys } => {
                self.fanned_out(task, *count, items, keys.as_deref())
            }
            Event::RetryScheduled { task, at } => self.retry_scheduled(task, *at),
            Event::TaskWoken { task } => self.task_woken(task),
            _ => misplaced(event),
        }
    }

    /// A task has ended.
    pub(super) fn ended(&mut self, event: &Event) -> Folded {
        match event {
            Event::TaskSucceeded { task, output } => self.task_succeeded(task, output),
            Event::TaskFailed { task, failure } => self.task_failed(task, failure),
            Event::TaskSkipped { task, cause } => self.task_skipped(task, cause),
            Event::TaskCancelled { task, cause } => self.task_over(task, End::Cancelled, cause),
            _ => misplaced(event),
        }
    }

    /// A task asks others.
    pub(super) fn questioned(&mut self, event: &Event) -> Folded {
        match event {
            Event::MergeStarted { task, strategy, sources, missing, closed } => {
                self.merge_started(task, strategy, sources, missing, *closed)
            }
            Event::OutputsMissed { task, missing } => self.outputs_missed(task, missing),
            Event::Asked { task, questions } => self.asked(task, questions),
            _ => misplaced(event),
        }
    }

    /// A goal or a pipeline takes its way.
    pub(super) fn steered(&mut self, event: &Event) -> Folded {
        match event {
            Event::Routed { task, chosen, reason, from, about, .. } => {
                self.routed(about.as_ref(), chosen, reason)?;
                self.phase_routed(task, chosen, reason, from)
            }
            Event::Guided { text, .. } => self.guided(text),
            Event::StateChanged { task, flags, metadata } => self.state_changed(task, flags, metadata),
            Event::Announced { task, attempt, kind, payload, .. } => {
                self.announced(task, *attempt, kind, payload)
            }
            _ => misplaced(event),
        }
    }

    /// The world outside was looked at.
    pub(super) fn looked(&mut self, event: &Event) -> Folded {
        match event {
            Event::FilesSeen { task, present, absent } => self.files_seen(task, present, absent),
            Event::ProjectSeen { task, context, place, .. } => {
                self.project_seen(task.as_ref(), context, place)
            }
            _ => misplaced(event),
        }
    }

    /// An attempt begins or ends.
    pub(super) fn attempted(&mut self, event: &Event) -> Folded {
        match event {
            Event::AttemptStarted { task, attempt, .. } => self.attempt_started(task, *attempt),
            Event::AttemptFinished { task, output, usage, .. } => self.attempt_finished(task, output, usage),
            Event::AttemptFailed { task, failure, usage, .. } => self.attempt_failed(task, failure, usage),
            _ => misplaced(event),
        }
    }

    /// An attempt stands where another can go on.
    pub(super) fn left_off(&mut self, event: &Event) -> Folded {
        match event {
            Event::AttemptSuspended { task, state, waits_for, usage, .. } => {
                self.attempt_suspended(task, state, waits_for, usage)
            }
            Event::TurnRecorded { task, attempt, piece, usage, .. } => {
                self.turn_recorded(task, *attempt, piece, usage)
            }
            Event::AttemptLost { task, usage, .. } => self.attempt_lost(task, usage),
            _ => misplaced(event),
        }
    }

    /// A workflow goes on along a route, or to its end.
    pub(super) fn led_on(&mut self, event: &Event) -> Folded {
        match event {
            Event::RouteTaken { from, to, output, on_error } => {
                self.route_taken(from, to.as_ref(), output.as_ref(), *on_error)
            }
            Event::WorkflowEnding { within, ending } => self.workflow_ending(within.as_ref(), ending),
            _ => misplaced(event),
        }
    }
}

fn misplaced(event: &Event) -> Folded {
    Err(illegal(&format!("{event:?}"), "it is folded with another subject"))
}
