//! Decide: whether a step starts that edges lead to.
//!
//! It is looked at when everything before it has ended. One edge that is taken starts it; where none is, it is skipped. The
//! decision and its reason are an event, so that a resumed run does not decide again by what is known then.

use super::state::reason;
use super::trigger::{Circumstances, Status, Taken, in_words, taken};
use crate::composite::Step;
use crate::scheduler::Command;
use crate::state::{End, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::{Cause, CauseKind, Event, Failure, PhaseChoice, PhaseDecided, TaskId};
use convoke_plan::Trigger;
use convoke_plan::template::ConditionId;

/// What one edge is judged by.
struct Edge<'a> {
    view: View<'a>,
    /// The step that it leads to.
    to: TaskIx,
    from: Option<TaskIx>,
}

impl Circumstances for Edge<'_> {
    fn status(&self) -> Option<Status> {
        self.view.status_of(self.from?)
    }

    fn announced(&self, kind: &str) -> bool {
        let kept = self.view.pipeline_state(self.to);
        self.from.is_some_and(|from| kept.has_said(from, kind))
    }

    fn happened(&self, kind: &str) -> bool {
        self.view.pipeline_state(self.to).happened(kind)
    }

    fn flag(&self, key: &str) -> bool {
        self.view.pipeline_state(self.to).flag(key)
    }

    fn file(&self, path: &str) -> Option<bool> {
        self.view.tasks[self.to].phase_state.as_ref()?.files.get(path).copied()
    }

    fn holds(&self, when: ConditionId) -> Result<bool, Failure> {
        self.view.edge_holds(self.to, self.from, when)
    }

    fn text(&self, when: ConditionId) -> String {
        let text = &self.view.plan.conditions[when.0 as usize].text;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// What all edges of a step came to.
#[derive(Default)]
struct Edges {
    taken: Vec<(TaskIx, String)>,
    refused: Vec<String>,
    unseen: Vec<String>,
}

/// Whether a step starts as far as its edges go, and what is decided with that.
pub(crate) struct Triggered {
    pub starts: bool,
    pub steps: Vec<Step>,
}

impl Triggered {
    fn not_yet(steps: Vec<Step>) -> Triggered {
        Triggered { starts: false, steps }
    }
}

impl View<'_> {
    /// Whether a step may start as far as its edges go. If not, it is skipped, files are looked for, or the pipeline ends.
    pub(crate) fn triggered(&self, task: TaskIx) -> Triggered {
        let node = self.node(task);
        let phase_state = self.tasks[task].phase_state.as_deref();
        if node.triggers.is_empty() || phase_state.is_some_and(|phase_state| phase_state.started.is_some()) {
            return Triggered { starts: true, steps: Vec::new() };
        }
        if self.frame(self.tasks[task].place.frame).ending.is_some() {
            return Triggered::not_yet(Vec::new());
        }
        let cause = Cause { kind: CauseKind::NotTriggered, task: None };
        let skip = Step::Skip { on: task, cause };
        if phase_state.is_some_and(|phase_state| phase_state.skipped) {
            return Triggered::not_yet(vec![skip]);
        }
        match self.edges(task, &node.triggers) {
            Err(failure) => Triggered::not_yet(vec![Step::Fail { on: task, failure }]),
            Ok(edges) if !edges.taken.is_empty() => {
                Triggered { starts: true, steps: vec![self.started_by(task, &edges)] }
            }
            Ok(edges) if !edges.unseen.is_empty() => Triggered::not_yet(vec![look_for(task, edges.unseen)]),
            Ok(edges) => Triggered::not_yet(vec![self.refused_by(task, &edges.refused), skip]),
        }
    }

    fn started_by(&self, task: TaskIx, edges: &Edges) -> Step {
        let mut from: Vec<TaskId> = Vec::new();
        for (step, _) in &edges.taken {
            let id = &self.tasks[*step].id;
            if !from.contains(id) {
                from.push(id.clone());
            }
        }
        let words: Vec<&str> = edges.taken.iter().map(|(_, words)| words.as_str()).collect();
        Step::record(Event::PhaseDecided(PhaseDecided {
            task: self.tasks[task].id.clone(),
            chosen: PhaseChoice::Start,
            reason: words.join("; "),
            from,
        }))
    }

    fn refused_by(&self, task: TaskIx, refused: &[String]) -> Step {
        Step::record(Event::PhaseDecided(PhaseDecided {
            task: self.tasks[task].id.clone(),
            chosen: PhaseChoice::Skip,
            reason: refused.join("; "),
            from: Vec::new(),
        }))
    }

    fn edges(&self, task: TaskIx, triggers: &[Trigger]) -> Result<Edges, Failure> {
        let mut found = Edges::default();
        for trigger in triggers {
            let from = self.beside(self.tasks[task].place, trigger.from);
            let from = from.map(|from| if trigger.last { self.newest_round(from) } else { from });
            let name = &self.workflow_of(task).node(trigger.from).name;
            match taken(trigger, &Edge { view: *self, to: task, from })? {
                Taken::Yes => {
                    let from = from.expect("what did not run starts nothing");
                    found.taken.push((from, format!("`{name}` {}", in_words(trigger))));
                }
                Taken::No(why) => found.refused.push(format!("`{name}` {why}")),
                Taken::Unseen(paths) => found.unseen.extend(paths),
            }
        }
        Ok(found)
    }
}

impl State {
    /// What a step that ran came to; nothing if it did not run.
    pub(crate) fn status_of(&self, task: TaskIx) -> Option<Status> {
        let failure = self.tasks[task].failure.as_deref().and_then(|failure| failure.reason.as_deref());
        match self.tasks[task].state {
            TaskState::Ended(End::Succeeded) => Some(Status::Success),
            TaskState::Ended(End::Failed) if failure == Some(reason::VALIDATION_FAIL) => {
                Some(Status::ValidationFail)
            }
            TaskState::Ended(End::Failed) => Some(Status::Failure),
            _ => None,
        }
    }
}

fn look_for(task: TaskIx, mut paths: Vec<String>) -> Step {
    paths.sort();
    paths.dedup();
    Step::Outside(task, Command::LookUpFiles { task, paths })
}
