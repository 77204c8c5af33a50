//! Which gates wait for a person, from the events alone.
//!
//! A task that is open again after a stop or a failure asks again what it asked then: its question was kept, and an
//! answer that only led to its end is forgotten. Invariant: what is open here is what the scheduler waits for.

use convoke_model::{Event, Payload, Stamped, TaskId};
use indexmap::IndexMap;

/// The questions of a run, in the order in which they were asked.
#[derive(Debug, Default)]
pub struct Gates {
    asked: IndexMap<TaskId, Question>,
}

#[derive(Debug)]
struct Question {
    /// The number of the event that opened it.
    number: u64,
    ask: Payload,
    is_open: bool,
}

impl Gates {
    /// Takes the next event.
    pub fn apply(&mut self, stamped: &Stamped) {
        match &stamped.event {
            Event::GateOpened { task, ask } => {
                self.asked.shift_remove(task);
                let question = Question { number: stamped.seq, ask: ask.clone(), is_open: true };
                self.asked.insert(task.clone(), question);
            }
            Event::GateAnswered { task, .. }
            | Event::TaskFailed { task, .. }
            | Event::TaskSkipped { task, .. }
            | Event::TaskCancelled { task, .. } => self.close(task),
            Event::TaskWoken { task }
            | Event::RetryScheduled { task, .. }
            | Event::AttemptStarted { task, .. }
            | Event::TaskSucceeded { task, .. } => drop(self.asked.shift_remove(task)),
            Event::RunReopened { tasks, restarted, rewound, .. } => {
                self.asked.retain(|task, _| !rewound.contains(task));
                self.reopen(tasks, restarted);
            }
            Event::PlanChanged { opened, dropped, .. } => self.reopen(opened, dropped),
            _ => {}
        }
    }

    /// Those that wait, with their questions.
    pub fn open(&self) -> impl Iterator<Item = (&TaskId, &Payload)> {
        self.asked
            .iter()
            .filter(|(_, question)| question.is_open)
            .map(|(task, question)| (task, &question.ask))
    }

    /// The number of the event that opened a task's question, if it waits for an answer.
    pub fn number(&self, task: &TaskId) -> Option<u64> {
        self.asked.get(task).filter(|question| question.is_open).map(|question| question.number)
    }

    /// Whether that task waits for an answer.
    pub fn is_open(&self, task: &TaskId) -> bool {
        self.number(task).is_some()
    }

    fn close(&mut self, task: &TaskId) {
        if let Some(question) = self.asked.get_mut(task) {
            question.is_open = false;
        }
    }

    fn reopen(&mut self, tasks: &[TaskId], restarted: &[TaskId]) {
        self.asked.retain(|task, _| !lies_in(task, restarted));
        for task in tasks {
            if let Some(question) = self.asked.get_mut(task) {
                question.is_open = true;
            }
        }
    }
}

/// Whether a task is one of these or stands below one.
fn lies_in(task: &TaskId, restarted: &[TaskId]) -> bool {
    std::iter::successors(Some(task.clone()), TaskId::parent).any(|task| restarted.contains(&task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Class, Failure, JsonText, Timestamp};

    fn id(task: &str) -> TaskId {
        TaskId(task.into())
    }

    fn text() -> Payload {
        Payload::Inline(JsonText::of(&1))
    }

    fn opened(task: &str) -> Event {
        Event::GateOpened { task: id(task), ask: text() }
    }

    fn answered(task: &str) -> Event {
        Event::GateAnswered { task: id(task), answer: text(), by: "me".into() }
    }

    fn failed(task: &str) -> Event {
        Event::TaskFailed { task: id(task), failure: Failure::new(Class::Cancelled, "given up") }
    }

    fn reopened(tasks: &[&str], restarted: &[&str]) -> Event {
        let ids = |tasks: &[&str]| tasks.iter().map(|task| id(task)).collect();
        Event::RunReopened {
            tasks: ids(tasks),
            restarted: ids(restarted),
            retried: vec![],
            superseded: vec![],
            rewound: vec![],
        }
    }

    fn open_after(events: &[Event]) -> Vec<String> {
        let mut gates = Gates::default();
        for (seq, event) in (1..).zip(events) {
            gates.apply(&Stamped { seq, at: Timestamp(seq), event: event.clone() });
        }
        gates.open().map(|(task, _)| task.to_string()).collect()
    }

    #[test]
    fn what_is_open_again_asks_what_it_asked_before_its_end() {
        let ended = [opened("goal/1"), answered("goal/1"), failed("goal/1"), opened("b"), failed("b")];
        assert!(open_after(&ended).is_empty());
        let again = [&ended[..], &[reopened(&["goal", "goal/1"], &[])]].concat();
        assert_eq!(open_after(&again), ["goal/1"]);
    }

    #[test]
    fn what_begins_anew_and_what_went_on_ask_nothing() {
        let ended = [opened("goal/1"), failed("goal/1"), reopened(&["goal/1"], &["goal"])];
        assert!(open_after(&ended).is_empty());
        let woken = Event::TaskWoken { task: id("a") };
        let rewound = Event::RunReopened {
            tasks: vec![id("goal")],
            restarted: vec![],
            retried: vec![],
            superseded: vec![],
            rewound: vec![id("goal")],
        };
        assert!(open_after(&[opened("goal"), answered("goal"), failed("goal"), rewound]).is_empty());
        let went_on = [opened("a"), answered("a"), woken, failed("a"), reopened(&["a"], &[])];
        assert!(open_after(&went_on).is_empty());
    }
}
