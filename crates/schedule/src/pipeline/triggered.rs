//! Decide: whether a step starts that edges lead to.
//!
//! It is looked at when everything before it has ended. One edge that is taken starts it; where none is, it is skipped. The
//! decision and its reason are an event, so that a resumed run does not decide again by what is known then.

use super::state::reason;
use super::trigger::{Circumstances, Status, Taken, in_words, taken};
use crate::outputs::Outputs;
use crate::scheduler::{Command, Scheduler};
use crate::state::State;
use crate::task::{End, TaskIx, TaskState};
use crate::view::View;
use convoke_model::{Cause, CauseKind, Event, Failure, TaskId};
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
        let kept = self.view.kept_of(self.to);
        self.from.is_some_and(|from| kept.has_said(from, kind))
    }

    fn happened(&self, kind: &str) -> bool {
        self.view.kept_of(self.to).happened(kind)
    }

    fn flag(&self, key: &str) -> bool {
        self.view.kept_of(self.to).flag(key)
    }

    fn file(&self, path: &str) -> Option<bool> {
        self.view.tasks[self.to].course.as_ref()?.files.get(path).copied()
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

impl Scheduler {
    /// Decide: whether a step may start as far as its edges go. If not, it was skipped, files are looked for, or the
    /// pipeline ends.
    pub(crate) fn is_triggered(&mut self, task: TaskIx, outputs: &dyn Outputs) -> bool {
        let plan = self.plan.clone();
        let frame = self.tasks[task].place.frame;
        let node = plan.workflow(self.frame(frame).workflow).node(self.tasks[task].node);
        let course = self.tasks[task].course.as_deref();
        if node.triggers.is_empty() || course.is_some_and(|course| course.started.is_some()) {
            return true;
        }
        if self.frame(frame).ending.is_some() {
            return false;
        }
        if course.is_some_and(|course| course.skipped) {
            self.skip_untriggered(task);
            return false;
        }
        let edges = match self.view(outputs).edges(task, &node.triggers) {
            Ok(edges) => edges,
            Err(failure) => {
                self.fail_task(task, failure);
                return false;
            }
        };
        if !edges.taken.is_empty() {
            self.start_by(task, &edges);
            return true;
        }
        match edges.unseen.is_empty() {
            true => {
                self.tell_refused(task, &edges.refused);
                self.skip_untriggered(task);
            }
            false => self.look_for(task, edges.unseen),
        }
        false
    }

    fn start_by(&mut self, task: TaskIx, edges: &Edges) {
        let mut from: Vec<TaskId> = Vec::new();
        for (step, _) in &edges.taken {
            let id = &self.tasks[*step].id;
            if !from.contains(id) {
                from.push(id.clone());
            }
        }
        let words: Vec<&str> = edges.taken.iter().map(|(_, words)| words.as_str()).collect();
        self.emit(Event::Routed {
            task: self.tasks[task].id.clone(),
            chosen: "start".to_owned(),
            reason: words.join("; "),
            about: None,
            role: None,
            from,
        });
    }

    fn tell_refused(&mut self, task: TaskIx, refused: &[String]) {
        self.emit(Event::Routed {
            task: self.tasks[task].id.clone(),
            chosen: "skip".to_owned(),
            reason: refused.join("; "),
            about: None,
            role: None,
            from: Vec::new(),
        });
    }

    fn skip_untriggered(&mut self, task: TaskIx) {
        let cause = Cause { kind: CauseKind::NotTriggered, task: None };
        self.emit(Event::TaskSkipped { task: self.tasks[task].id.clone(), cause });
    }

    fn look_for(&mut self, task: TaskIx, mut paths: Vec<String>) {
        paths.sort();
        paths.dedup();
        if self.begin_errand(task) {
            self.command(Command::Look { task, paths });
        }
    }
}

impl View<'_> {
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
