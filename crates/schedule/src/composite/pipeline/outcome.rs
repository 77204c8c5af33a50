//! What a pipeline comes to: when it ends at once, its status, its output.

use super::state::reason;
use super::verdict::{Ran, Verdict, verdict};
use crate::composite::Step;
use crate::decide::FrameResult;
use crate::state::{End, FrameIx, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::reason::PROJECT_UNWRITTEN;
use convoke_model::{Class, Failure, RunStatus, Superseded, Violation, counted};
use convoke_plan::Kind;
use serde_json::{Map, Value, json};

impl State {
    /// What the failure of a phase means. That alone ends nothing: its edges and the pipeline's own rule say what it means.
    /// A violation that must not be lived with does, and so do too many hard failures in a row.
    pub(super) fn after_failed_phase(&self, task: TaskIx, failure: &Failure) -> Step {
        let frame = self.tasks[task].place.frame;
        let end = |whole_run, failure| Step::EndWorkflow { by: task, whole_run, failure };
        let Some(pipeline) = self.workflow_in(frame).pipeline.as_ref() else {
            return end(false, failure.clone());
        };
        if failure.class == Class::Security && pipeline.violation == Violation::HardAbort {
            // Wherever in the run the pipeline stands: nothing around it may live with that.
            return end(true, failure.clone());
        }
        let Some(hard) = self.frame(frame).pipeline.too_many(task) else { return Step::WhenIdle(task) };
        let message = format!(
            "{} (hardFailures); the last: {}",
            counted(hard, "hard failure", "hard failures in a row"),
            failure.message
        );
        end(false, Failure { message, ..failure.clone() }.reason(reason::TOO_MANY_HARD))
    }
}

impl View<'_> {
    /// What a pipeline comes to that has ended by itself, or early by this failure.
    pub(crate) fn pipeline_result(&self, frame: FrameIx, ending: Option<Failure>) -> FrameResult {
        let (phases, verdict) = self.judged(frame);
        let failure = ending.or_else(|| self.verdict_failure(frame, &phases, &verdict));
        let mut report = self.pipeline_report(frame, &phases, &verdict, failure.is_none());
        let stated = self.frame_output(frame);
        let (stated, failure) = match (stated, failure) {
            (Ok(stated), failure) => (stated, failure),
            // What failed already needs no second reason.
            (Err(broken), failure) => (None, Some(failure.unwrap_or(broken))),
        };
        if let Some(Value::Object(stated)) = stated {
            report.extend(stated);
        }
        let status = if failure.is_none() { RunStatus::Succeeded } else { RunStatus::Failed };
        FrameResult { status, output: Some(Value::Object(report)), failure }
    }

    fn pipeline_report(
        &self,
        frame: FrameIx,
        ran: &[TaskIx],
        verdict: &Verdict,
        success: bool,
    ) -> Map<String, Value> {
        let name = |step: TaskIx| self.node(step).name.to_string();
        let mut steps = self.frame(frame).steps.clone();
        // The order of the file.
        steps.sort_by_key(|step| self.tasks[*step].node.0);
        let phases: Map<String, Value> = steps
            .into_iter()
            .filter(|step| matches!(self.node(*step).kind, Kind::Phase(_)) && self.round(*step) == 1)
            .map(|step| (name(step), self.rounds_report(step)))
            .collect();
        let said = |said: &super::state::Announcement| {
            let payload = self.read(&said.payload).map(|text| text.value());
            json!({ "phase": name(said.task), "attempt": said.attempt, "type": said.kind, "payload": payload })
        };
        let events: Vec<Value> = self.frame(frame).pipeline.history().iter().map(said).collect();
        let path: Vec<String> = verdict.critical_path.iter().map(|ix| name(ran[*ix])).collect();
        let mut report = Map::new();
        report.insert("status".into(), if success { "success" } else { "failure" }.into());
        report.insert("phases".into(), Value::Object(phases));
        report.insert("events".into(), events.into());
        report.insert("critical_path".into(), path.into());
        let violations = self.violations(frame);
        if !violations.is_empty() {
            report.insert("violations".into(), violations.into());
        }
        report
    }

    /// A phase by its last round; where it ran more than once, with all of them.
    fn rounds_report(&self, step: TaskIx) -> Value {
        let mut report = self.phase_report(self.newest_round(step));
        let rounds = self.rounds_ran(step);
        if rounds.len() > 1 {
            report["rounds"] = rounds.iter().map(|round| self.phase_report(*round)).collect();
        }
        report
    }

    fn phase_report(&self, step: TaskIx) -> Value {
        let Kind::Phase(phase) = &self.node(step).kind else { return Value::Null };
        let status = match (self.status_of(step), self.tasks[step].state) {
            (Some(status), _) => status.word(),
            (None, TaskState::Ended(End::Cancelled)) => "cancelled",
            _ => "skipped",
        };
        let mut report =
            json!({ "status": status, "persona": phase.persona, "tries": self.tries(step).len() });
        if !self.tries(step).is_empty() {
            report["payload"] = self.phase_output(step)["payload"].take();
        }
        if let Some(failure) = self.tasks[step].failure.as_deref() {
            report["reason"] = failure.message.as_str().into();
        } else if let Some(phase_state) =
            self.tasks[step].phase_state.as_deref().filter(|phase_state| phase_state.skipped)
        {
            // What each of its edges waited for.
            report["reason"] = phase_state.because.as_str().into();
        }
        if let Some(earlier) = self.superseded.get(&self.tasks[step].id) {
            let run = |run: &Superseded| json!({ "status": run.status, "tries": run.tries });
            report["superseded"] = earlier.iter().map(run).collect();
        }
        report
    }
}

impl State {
    /// Why a pipeline does not succeed as far as it has come, where it is one.
    pub(crate) fn pipeline_failure(&self, frame: FrameIx) -> Option<Failure> {
        self.workflow_in(frame).pipeline.as_ref()?;
        let (phases, verdict) = self.judged(frame);
        self.verdict_failure(frame, &phases, &verdict)
    }

    /// The phases that ran, each behind those that it followed, and the verdict on them.
    pub(super) fn judged(&self, frame: FrameIx) -> (Vec<TaskIx>, Verdict) {
        let ran = |step: &TaskIx| {
            let ended = matches!(
                self.tasks[*step].state,
                TaskState::Ended(End::Succeeded | End::Failed | End::Cancelled)
            );
            ended && matches!(self.node(*step).kind, Kind::Phase(_))
        };
        let mut phases: Vec<TaskIx> = self.frame(frame).steps.iter().copied().filter(ran).collect();
        phases.sort_by_key(|phase| self.tasks[*phase].ended);
        let judged: Vec<Ran> = phases
            .iter()
            .map(|phase| Ran {
                failed: !self.tasks[*phase].succeeded()
                    && (self.lost_a_write(*phase) || !self.is_made_good(*phase, &phases)),
                counts: self.lost_a_write(*phase),
                after: self.followed(*phase, &phases),
                place: self.tasks[*phase].node.0,
            })
            .collect();
        let verdict = verdict(&judged);
        (phases, verdict)
    }

    fn lost_a_write(&self, phase: TaskIx) -> bool {
        let failure = self.tasks[phase].failure.as_deref();
        failure.is_some_and(|failure| failure.reason.as_deref() == Some(PROJECT_UNWRITTEN))
    }

    fn followed(&self, phase: TaskIx, phases: &[TaskIx]) -> Vec<usize> {
        let started =
            self.tasks[phase].phase_state.as_ref().and_then(|phase_state| phase_state.started.clone());
        let position = |from: &TaskIx| phases.iter().position(|phase| phase == from);
        started.unwrap_or_else(|| self.ran_before(phase)).iter().filter_map(position).collect()
    }

    /// What a phase stands behind whose edges could not be judged: everything that led to it.
    fn ran_before(&self, phase: TaskIx) -> Vec<TaskIx> {
        let place = self.tasks[phase].place;
        let from = self.node(phase).triggers.iter().filter_map(|edge| self.beside(place, edge.from));
        let mut from: Vec<TaskIx> = from.collect();
        from.sort();
        from.dedup();
        from
    }

    fn verdict_failure(&self, frame: FrameIx, phases: &[TaskIx], verdict: &Verdict) -> Option<Failure> {
        verdict.faults.first()?;
        let why = self.failed_first(verdict.faults.iter().map(|fault| phases[*fault]));
        let why = why.map(|(_, failure)| failure);
        let words = why.map_or("it was stopped", |failure| failure.message.as_str());
        let more = match verdict.faults.len() {
            1 => String::new(),
            many => format!(" (and {} more)", many - 1),
        };
        let message = format!("pipeline `{}` did not succeed: {words}{more}", self.workflow_in(frame).name);
        let mut failure = Failure::new(why.map_or(Class::Cancelled, |why| why.class), message);
        failure.hint = why.and_then(|why| why.hint.clone());
        Some(failure.reason(reason::PIPELINE))
    }
}
