//! The run whose outputs may be taken: what each of its tasks was asked, and what it answered.
//!
//! Prompts are not stored, so the journal is folded once more and each task looked at as it was about to start.

use super::fingerprint::Fingerprint;
use crate::fold::IllegalEvent;
use crate::outputs::Outputs;
use crate::resume::replayable;
use crate::scheduler::Scheduler;
use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{Affected, Digest, Event, JsonText, Payload, RunId, Stamped, TakenFrom, TaskId, Usage};
use convoke_plan::Plan;
use std::sync::Arc;

/// Finds a large value of that run.
pub type Values = Box<dyn Fn(&Digest) -> Option<JsonText> + Send + Sync>;

/// A run whose outputs may be taken.
pub struct Reusable {
    /// Its name.
    pub run: RunId,
    entries: HashMap<TaskId, Entry>,
    /// Items of fan-outs by what they were asked: an item may have moved in its list.
    items: HashMap<(String, Digest), TaskId>,
    /// Tasks whose output a person set.
    set: HashSet<TaskId>,
    values: Values,
}

/// One task of it.
pub(crate) struct Entry {
    pub task: TaskId,
    fingerprint: Fingerprint,
    output: Option<Payload>,
    pub usage: Usage,
}

impl std::fmt::Debug for Reusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reusable({}, {} tasks)", self.run, self.entries.len())
    }
}

impl Reusable {
    /// Reads a run that was driven by this plan.
    pub fn of(
        run: RunId,
        plan: Arc<Plan>,
        events: Vec<Stamped>,
        values: Values,
    ) -> Result<Reusable, IllegalEvent> {
        let mut found = Reusable {
            run,
            entries: HashMap::default(),
            items: HashMap::default(),
            set: HashSet::default(),
            values,
        };
        let mut scheduler = Scheduler::new(plan);
        for stamped in replayable(events) {
            found.take(&scheduler, &stamped.event);
            scheduler.apply(&stamped)?;
        }
        for entry in found.entries.values().filter(|entry| entry.output.is_some()) {
            let place = (without_keys(&entry.task), entry.fingerprint.digest());
            found.items.entry(place).or_insert_with(|| entry.task.clone());
        }
        Ok(found)
    }

    fn take(&mut self, before: &Scheduler, event: &Event) {
        match event {
            Event::AttemptStarted { task, .. } => self.begin(before, task),
            Event::TurnRecorded { task, usage, .. }
            | Event::AttemptFailed { task, usage, .. }
            | Event::AttemptSuspended { task, usage, .. }
            | Event::AttemptLost { task, usage, .. } => self.spend(task, usage),
            Event::AttemptFinished { task, usage, output, .. } => {
                self.spend(task, usage);
                self.finish(task, output);
            }
            // What that run took itself may be taken on; what a person set in it is nobody's answer.
            Event::OutputTaken { task, output, from: TakenFrom::Run { saved, .. } } => {
                self.begin(before, task);
                self.spend(task, saved);
                self.finish(task, output);
            }
            Event::OutputTaken { task, from: TakenFrom::Set, .. } => drop(self.set.insert(task.clone())),
            _ => {}
        }
    }

    fn begin(&mut self, before: &Scheduler, task: &TaskId) {
        if self.entries.contains_key(task) {
            return;
        }
        let fingerprint =
            before.find(task).and_then(|ix| before.view(&Written(&self.values)).fingerprint(ix));
        if let Some(fingerprint) = fingerprint {
            let entry = Entry { task: task.clone(), fingerprint, output: None, usage: Usage::default() };
            self.entries.insert(task.clone(), entry);
        }
    }

    fn spend(&mut self, task: &TaskId, usage: &Usage) {
        if let Some(entry) = self.entries.get_mut(task) {
            entry.usage += *usage;
        }
    }

    fn finish(&mut self, task: &TaskId, output: &Payload) {
        if let Some(entry) = self.entries.get_mut(task) {
            entry.output = Some(output.clone());
        }
    }

    /// The task of that run whose output another one may take: the one of the same name, or an item of the same fan-out.
    pub(crate) fn find(&self, task: &TaskId, now: &Fingerprint) -> Result<&Entry, Vec<Affected>> {
        let unrecorded = now.unrecorded();
        if !unrecorded.is_empty() {
            return Err(unrecorded);
        }
        if self.set.contains(task) {
            return Err(vec![Affected::Set]);
        }
        let same = self.entries.get(task);
        let because = match same {
            Some(entry) if entry.output.is_none() => vec![Affected::Unfinished],
            Some(entry) => now.differences(&entry.fingerprint),
            None => vec![Affected::New],
        };
        match same {
            Some(entry) if because.is_empty() => Ok(entry),
            _ => {
                let moved = self.items.get(&(without_keys(task), now.digest()));
                moved.filter(|_| has_keys(task)).and_then(|id| self.entries.get(id)).ok_or(because)
            }
        }
    }

    /// The tasks that did their work.
    pub fn tasks(&self) -> Vec<TaskId> {
        let mut done: Vec<TaskId> = self
            .entries
            .values()
            .filter(|entry| entry.output.is_some())
            .map(|entry| entry.task.clone())
            .collect();
        done.sort();
        done
    }

    /// The tasks whose texts read one of these inputs of the workflow, or that read variables of the environment.
    pub fn readers_of(&self, inputs: &[String]) -> Vec<TaskId> {
        let reads = |entry: &&Entry| {
            let fingerprint = &entry.fingerprint;
            inputs.iter().any(|name| fingerprint.reads_input(name)) || !fingerprint.unrecorded().is_empty()
        };
        self.entries.values().filter(reads).map(|entry| entry.task.clone()).collect()
    }

    /// The output of one.
    pub(crate) fn text(&self, entry: &Entry) -> Option<JsonText> {
        match entry.output.as_ref()? {
            Payload::Inline(text) => Some(text.clone()),
            Payload::Blob { digest, .. } => (self.values)(digest),
            Payload::Gathered => None,
        }
    }
}

/// The values of that run, as its scheduler reads them.
struct Written<'a>(&'a Values);

impl Outputs for Written<'_> {
    fn get(&self, digest: &Digest) -> Option<JsonText> {
        (self.0)(digest)
    }

    /// Looking back decides nothing, so there is nothing to store.
    fn put(&self, _: convoke_model::Blob) {}
}

fn has_keys(task: &TaskId) -> bool {
    task.segments().any(|segment| segment.key.is_some())
}

/// The place of a task, whichever item it belongs to.
fn without_keys(task: &TaskId) -> String {
    let parts = task.segments().map(|segment| format!("{}#{}", segment.node, segment.visit));
    parts.collect::<Vec<_>>().join("/")
}
