//! What a worker is told: made afresh for each attempt from outputs and from what the run keeps, never from a conversation.
//!
//! These are variables of its prompt or of its standard input: `handoff`, `state`, `events`, `project`, `phase`, `attempt`,
//! `previous`, `task`, `children`, and `prompt_context`: what the standard prompt shows of them (`prompt_context.rs`). Every predecessor's payload is
//! there, and every earlier try of the phase.

use super::state::Announcement;
use super::trigger::Status;
use super::try_progress::{Outcome, Reply, TryProgress};
use crate::context::{Names, Roots, map_value};
use crate::state::{FrameIx, State, TaskIx};
use crate::view::View;
use convoke_model::{ChildKind, Failure};
use convoke_plan::template::{ConditionId, Value, flags_value, from_json};
use convoke_plan::{Kind, Phase};
use serde_json::{Map, Value as Json, json};

/// Workers are told so many of the newest events: what all of a long pipeline is told of everything would grow with its
/// square. Conditions see all of them.
const MOST_EVENTS: usize = 100;

impl View<'_> {
    /// What a pipeline keeps, for any text of it.
    pub(crate) fn add_pipeline_names(&self, frame: FrameIx, roots: &Roots, names: &mut Names) {
        if self.workflow_in(frame).pipeline.is_none() {
            return;
        }
        self.add_recent_pipeline_names(frame, usize::MAX, roots, names);
    }

    fn add_recent_pipeline_names(&self, frame: FrameIx, newest: usize, roots: &Roots, names: &mut Names) {
        if roots.want("state") {
            let newest = if roots.want_history() { newest } else { 0 };
            names.insert("state".into(), self.state_value(frame, newest));
        }
        let mut add = |name: &'static str, value: &dyn Fn() -> Json| {
            if roots.want(name) {
                names.insert(name.into(), from_json(&value()));
            }
        };
        add("events", &|| self.frame(frame).pipeline.happenings().map(Json::from).collect());
        if roots.want("project") {
            names.insert("project".into(), self.project_value(frame));
        }
    }

    /// What a worker of a phase is told, with what the pipeline keeps; false where the task is none.
    pub(crate) fn add_handoff(&self, child: TaskIx, roots: &Roots, names: &mut Names) -> bool {
        let Some((task, phase)) = self.phase_of(child) else { return false };
        self.add_recent_pipeline_names(self.tasks[task].place.frame, MOST_EVENTS, roots, names);
        let mut add = |name: &'static str, value: &dyn Fn() -> Json| {
            if roots.want(name) {
                names.insert(name.into(), from_json(&value()));
            }
        };
        add("handoff", &|| self.handoff_json(task));
        add("phase", &|| self.phase_json(task, phase, child));
        add("attempt", &|| Json::from(self.try_number(task, child)));
        add("previous", &|| self.previous_json(child));
        add("task", &|| self.intent_json(child));
        add("children", &|| self.children_json(child));
        add("prompt_context", &|| self.prompt_context_json(task, child));
        true
    }

    /// Whether the expression of an edge holds: it sees what the step sees, what the pipeline keeps, and as `output` what
    /// the phase gave that the edge leads from.
    pub(super) fn edge_holds(
        &self,
        to: TaskIx,
        from: Option<TaskIx>,
        when: ConditionId,
    ) -> Result<bool, Failure> {
        let output = |from| {
            let mut output = self.step_json(from);
            // A bare `events` means what was announced in the run, and not a field of `output` as other bare names do.
            output.as_object_mut().map(|fields| fields.remove("events"));
            ("output", from_json(&output))
        };
        let what = match from {
            Some(from) => format!("the edge from `{}` to `{}`", self.node(from).name, self.node(to).name),
            None => format!("an edge to `{}`", self.node(to).name),
        };
        self.holds_with(to, when, &what, from.map(output).into_iter().collect())
    }

    fn state_value(&self, frame: FrameIx, newest: usize) -> Value {
        let kept = &self.frame(frame).pipeline;
        map_value([
            ("flags", flags_value(kept.flags.iter().map(|(key, flag)| (key.as_str(), *flag)))),
            ("metadata", from_json(&json!(kept.metadata))),
            ("history", from_json(&self.history_json(frame, newest))),
        ])
    }

    /// The same as data, with as much of the history as workers are told.
    pub(super) fn state_json(&self, frame: FrameIx) -> Json {
        let kept = &self.frame(frame).pipeline;
        let history = self.history_json(frame, MOST_EVENTS);
        json!({ "flags": kept.flags, "metadata": kept.metadata, "history": history })
    }

    fn history_json(&self, frame: FrameIx, newest: usize) -> Json {
        let history = self.frame(frame).pipeline.history();
        let recent = &history[history.len().saturating_sub(newest)..];
        let entry = |said: &Announcement| {
            let payload = self.read(&said.payload).map(|text| text.value());
            let phase = &self.node(said.task).name;
            json!({ "phase": phase, "attempt": said.attempt, "event": said.kind, "payload": payload })
        };
        recent.iter().map(entry).collect()
    }

    /// Every predecessor that ran, in the order of the file, and what led here.
    pub(super) fn handoff_json(&self, task: TaskIx) -> Json {
        let place = self.tasks[task].place;
        let needs = self.node(task).needs.iter().filter(|need| !need.order);
        let before = needs.filter_map(|need| self.beside(place, need.node));
        let from: Vec<Json> = before
            .filter(|step| self.newest_round(*step) == *step)
            .filter_map(|step| self.handed_on(step))
            .collect();
        let phase_state = self.tasks[task].phase_state.as_deref();
        let taken = phase_state.and_then(|phase_state| phase_state.started.as_ref()).map(|from| {
            let names: Vec<_> = from.iter().map(|step| &self.node(*step).name).collect();
            json!({ "from": names, "reason": phase_state.map_or("", |phase_state| &phase_state.because) })
        });
        json!({ "from": from, "trigger": taken })
    }

    /// What one step before came to; of a round also which it was and, where it did not succeed, why.
    fn handed_on(&self, step: TaskIx) -> Option<Json> {
        let status = self.status_of(step)?.word();
        let payload = self.payload_json(step);
        let mut entry = json!({ "node": self.called(step), "status": status, "payload": payload });
        if self.has_rounds(step) {
            entry["round"] = self.round(step).into();
            if let Some(failure) = self.tasks[step].failure.as_deref() {
                entry["reason"] = failure.message.as_str().into();
            }
        }
        Some(entry)
    }

    /// The payload of a step before: a phase's own, whether it succeeded or not; of anything else the output.
    fn payload_json(&self, step: TaskIx) -> Json {
        let mut output = self.step_json(step);
        match (&self.node(step).kind, output.get_mut("payload")) {
            (Kind::Phase(_), Some(payload)) => payload.take(),
            _ => output,
        }
    }

    fn step_json(&self, step: TaskIx) -> Json {
        match &self.node(step).kind {
            Kind::Phase(_) if !self.tasks[step].succeeded() => self.phase_output(step),
            _ => self.json_of(step),
        }
    }

    /// Every earlier try of the phase that a task works for.
    pub(super) fn previous_json(&self, child: TaskIx) -> Json {
        let Some((task, phase)) = self.phase_of(child) else { return json!([]) };
        let before = self.try_number(task, child) as usize - 1;
        let tries = self.tries(task);
        let entry = |(number, one): (usize, &TaskIx)| self.try_json(task, phase, number + 1, *one);
        tries.iter().take(before).enumerate().map(entry).collect()
    }

    /// One try: what it came to, whatever that was.
    fn try_json(&self, task: TaskIx, phase: &Phase, number: usize, child: TaskIx) -> Json {
        match self.progress_of(task, phase, child) {
            TryProgress::Ended(outcome) => {
                let mut entry = match self.judged_before(task, number) {
                    Some((status, why)) if status != outcome.status => {
                        outcome_json(&Outcome::as_judged(status, why))
                    }
                    _ => outcome_json(&outcome),
                };
                entry.insert("try".into(), number.into());
                Json::Object(entry)
            }
            _ => json!({ "try": number, "status": "stopped", "payload": {} }),
        }
    }

    /// What was handed to a child; also for the aggregation of what the child has handed on.
    fn intent_json(&self, child: TaskIx) -> Json {
        match self.child_kind(child) {
            Some(ChildKind::Intent { task, .. }) => {
                self.read(task).map(|text| text.value()).unwrap_or_default()
            }
            Some(ChildKind::Aggregate { of }) => {
                self.tasks.find(of).map_or(Json::Null, |of| self.intent_json(of))
            }
            _ => Json::Null,
        }
    }

    /// What an aggregation is given: each child's work and result.
    pub(super) fn children_json(&self, child: TaskIx) -> Json {
        let Some((task, phase)) = self.phase_of(child) else { return json!([]) };
        let Some(ChildKind::Aggregate { of }) = self.child_kind(child) else { return json!([]) };
        let Some(of) = self.tasks.find(of) else { return json!([]) };
        self.below_json(task, phase, of)
    }

    fn below_json(&self, task: TaskIx, phase: &Phase, above: TaskIx) -> Json {
        let Reply::Answered(said) = self.reply(task, phase, above) else { return json!([]) };
        let children = self.intents_of(task, above, said.children.len());
        let entry = |child: &TaskIx| {
            let mut entry = match self.progress_of(task, phase, *child) {
                TryProgress::Ended(outcome) => outcome_json(&outcome),
                _ => Map::new(),
            };
            if let Some(ChildKind::Intent { persona, .. }) = self.child_kind(*child) {
                entry.insert("persona".into(), persona.as_str().into());
            }
            entry.insert("task".into(), self.intent_json(*child));
            Json::Object(entry)
        };
        children.iter().map(entry).collect()
    }

    /// What a phase gives: its last payload, every try of it, and what it announced.
    pub(crate) fn phase_output(&self, task: TaskIx) -> Json {
        let Kind::Phase(phase) = &self.node(task).kind else { return Json::Null };
        let tries = self.tries(task);
        let attempts: Vec<Json> = tries
            .iter()
            .enumerate()
            .map(|(number, one)| self.try_json(task, phase, number + 1, *one))
            .collect();
        let last = attempts.last().cloned().unwrap_or_default();
        let kept = &self.frame(self.tasks[task].place.frame).pipeline;
        let events: Vec<Json> = kept
            .said_by(task)
            .map(|said| {
                let payload = self.read(&said.payload).map(|text| text.value());
                json!({ "type": said.kind, "attempt": said.attempt, "payload": payload })
            })
            .collect();
        let status = self.status_of(task).unwrap_or(Status::Success).word();
        json!({
            "status": status, "payload": last.get("payload").cloned().unwrap_or_else(|| json!({})),
            "attempts": attempts, "events": events,
        })
    }

    /// A phase that failed, as texts of others see it: why, and what there is of it all the same.
    pub(crate) fn failed_phase_value(&self, task: TaskIx) -> Option<Value> {
        matches!(self.node(task).kind, Kind::Phase(_)).then(|| from_json(&self.phase_output(task)))
    }
}

impl State {
    /// The phase that a task works for.
    pub(crate) fn phase_of(&self, child: TaskIx) -> Option<(TaskIx, &Phase)> {
        self.tasks[child].spec.as_ref()?;
        let task = self.tasks[child].place.within?;
        match &self.node(task).kind {
            Kind::Phase(phase) => Some((task, phase)),
            _ => None,
        }
    }

    fn phase_json(&self, task: TaskIx, phase: &Phase, child: TaskIx) -> Json {
        let role = self.child_kind(child).and_then(|about| self.role_of(phase, about));
        let mut entry = json!({
            "id": self.called(task),
            "persona": role.map_or(&phase.persona, |role| &role.persona),
            "actor": phase.actor,
            "max_tries": phase.max_tries,
            "depth": self.depth_of(child),
        });
        if self.has_rounds(task) {
            entry["round"] = self.round(task).into();
        }
        entry
    }

    /// Which try of the phase a child belongs to, from 1.
    pub(super) fn try_number(&self, task: TaskIx, child: TaskIx) -> u32 {
        let key = self.tasks[child].spec.as_ref().map(|question| question.key.as_str());
        let number = key.and_then(|key| key.split('.').next()).and_then(|number| number.parse().ok());
        number.unwrap_or(self.tries(task).len() as u32)
    }
}

fn outcome_json(outcome: &Outcome) -> Map<String, Json> {
    let mut entry = Map::new();
    entry.insert("status".into(), outcome.status.word().into());
    entry.insert("payload".into(), Json::Object(outcome.payload.clone()));
    if let Some(reason) = &outcome.reason {
        entry.insert("reason".into(), reason.as_str().into());
    }
    entry
}
