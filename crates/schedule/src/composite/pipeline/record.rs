//! What a phase's newest answer changes outside of it: what the project shares, flags and metadata, what is announced.
//!
//! Each is an event, in this order, and each is made once: what is recorded already is skipped after a crash, and a change
//! of the project is named so that asking for it again changes nothing. The project comes first because it alone can fail:
//! of an answer whose change is lost nothing is announced, and no edge is taken because of it.

use super::answer::WorkerAnswer;
use super::state::Recorded;
use super::trigger::Status;
use super::try_progress::Outcome;
use crate::composite::Step;
use crate::outputs::store;
use crate::scheduler::Command;
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::Event;
use convoke_plan::follows_from;
use indexmap::IndexMap;
use serde_json::{Map, Value};

/// Everything that one answer changes.
pub(super) struct Unit {
    flags: IndexMap<String, bool>,
    metadata: IndexMap<String, Value>,
    /// Kind, whether it follows from the status, and what is said about it.
    announced: Vec<(String, bool, Value)>,
    project: Option<Value>,
}

impl Unit {
    fn changes_state(&self) -> bool {
        !self.flags.is_empty() || !self.metadata.is_empty()
    }

    /// Of a try that hands out work; its status is not known yet.
    pub fn of_hand_out(said: &WorkerAnswer) -> Unit {
        Unit {
            flags: said.flags.clone(),
            metadata: said.metadata.clone(),
            announced: own(&said.events).collect(),
            project: said.project.clone(),
        }
    }

    /// Of a try that has ended: first what follows from its status, then what it says itself.
    pub fn of_end(outcome: &Outcome) -> Unit {
        let implied = (outcome.status.implies().to_owned(), true, summary(outcome));
        Unit {
            flags: outcome.flags.clone(),
            metadata: outcome.metadata.clone(),
            announced: std::iter::once(implied).chain(own(&outcome.events)).collect(),
            project: outcome.project.clone(),
        }
    }
}

fn own(events: &[(String, Value)]) -> impl Iterator<Item = (String, bool, Value)> {
    events.iter().map(|(kind, payload)| (kind.clone(), false, payload.clone()))
}

fn summary(outcome: &Outcome) -> Value {
    let mut fields = Map::new();
    if let Some(reason) = &outcome.reason {
        fields.insert("summary".into(), reason.as_str().into());
    }
    if let Some(failure) = &outcome.failure {
        fields.insert("errorCode".into(), failure.class.word().into());
    }
    Value::Object(fields)
}

impl View<'_> {
    /// What an answer changes, as far as it is not recorded yet, and what follows once nothing is left. A change of the
    /// project comes alone: its answer brings the phase here again.
    pub(super) fn record(
        &self,
        task: TaskIx,
        unit: &Unit,
        next: impl FnOnce(&View<'_>) -> Vec<Step> + 'static,
    ) -> Vec<Step> {
        let recorded =
            self.tasks[task].phase_state.as_ref().map(|phase_state| phase_state.recorded).unwrap_or_default();
        if let Some(patch) = unit.project.as_ref().filter(|_| !recorded.patched) {
            return self.patch_project(task, patch).into_iter().collect();
        }
        let mut steps = self.announcements(task, unit, recorded);
        steps.push(Step::then(next));
        steps
    }

    fn announcements(&self, task: TaskIx, unit: &Unit, recorded: Recorded) -> Vec<Step> {
        let id = &self.tasks[task].id;
        let changes = (unit.changes_state() && !recorded.changed).then(|| {
            let (flags, metadata) = (unit.flags.clone(), unit.metadata.clone());
            Step::record(Event::StateChanged { task: id.clone(), flags, metadata })
        });
        let attempt = self.tries(task).len() as u32;
        let announced = unit.announced.iter().skip(recorded.announced).map(|(kind, implied, payload)| {
            let payload = store(self.outputs, payload);
            let (task, kind) = (id.clone(), kind.clone());
            Step::record(Event::Announced { task, attempt, kind, implied: *implied, payload })
        });
        changes.into_iter().chain(announced).collect()
    }

    fn patch_project(&self, task: TaskIx, patch: &Value) -> Option<Step> {
        if self.lookups.contains(&task) {
            return None;
        }
        let (key, patch) = (self.change_key(self.patched_by(task)), store(self.outputs, patch));
        Some(Step::Outside(task, Command::Patch { task, key, patch }))
    }

    /// How a try was judged when it ended, and why, as far as that is recorded.
    pub(super) fn judged_before(&self, task: TaskIx, number: usize) -> Option<(Status, Option<String>)> {
        let mut said = self.pipeline_state(task).said_by(task).filter(|said| said.attempt as usize == number);
        let (status, said) =
            said.find_map(|said| Some((Status::from_word(follows_from(&said.kind)?.word())?, said)))?;
        let payload = self.read(&said.payload).map(|text| text.value());
        Some((status, payload.and_then(|payload| Some(payload.get("summary")?.as_str()?.to_owned()))))
    }
}

impl State {
    /// A change is named by the child whose answer it stands in: a phase may change the project in every try.
    pub(super) fn patched_by(&self, task: TaskIx) -> TaskIx {
        let newest = self.tasks[task].group.as_deref().and_then(|group| group.members.last());
        newest.copied().unwrap_or(task)
    }
}
