//! Which gates wait for a person, from the events alone.
//!
//! A question is open until it is answered, or its task goes on or ends. Which questions are open again in a run that had ended,
//! or under another plan, is the scheduler's decision: the events say it, and nothing here repeats its rules.

use convoke_model::{Event, Payload, Stamped, TaskId};
use indexmap::IndexMap;
use std::collections::HashSet;

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
            | Event::TaskCancelled { task, .. }
            | Event::TaskWoken { task }
            | Event::RetryScheduled { task, .. }
            | Event::AttemptStarted { task, .. }
            | Event::OutputTaken { task, .. }
            | Event::TaskSucceeded { task, .. } => self.close(task),
            Event::RunReopened(reopened) => self.reopen(&reopened.asking),
            Event::PlanChanged(changed) => self.reopen(&changed.asking),
            Event::RunForked(forked) => self.reopen(&forked.change.asking),
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

    /// From here on these wait, and no others.
    fn reopen(&mut self, asking: &[TaskId]) {
        let asking: HashSet<&TaskId> = asking.iter().collect();
        self.asked.iter_mut().for_each(|(task, question)| question.is_open = asking.contains(task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Class, Failure, JsonText, RunReopened, Timestamp};

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

    fn reopened(asking: &[&str]) -> Event {
        Event::RunReopened(RunReopened {
            tasks: vec![id("goal"), id("goal/1"), id("a")],
            asking: asking.iter().map(|task| id(task)).collect(),
            ..RunReopened::default()
        })
    }

    fn open_after(events: &[Event]) -> Vec<String> {
        let mut gates = Gates::default();
        for (seq, event) in (1..).zip(events) {
            gates.apply(&Stamped { seq, at: Timestamp(seq), event: event.clone() });
        }
        gates.open().map(|(task, _)| task.to_string()).collect()
    }

    #[test]
    fn in_a_run_that_goes_on_those_wait_that_the_scheduler_names() {
        let ended = [opened("goal/1"), answered("goal/1"), failed("goal/1"), opened("b"), failed("b")];
        assert!(open_after(&ended).is_empty());
        let again = [&ended[..], &[reopened(&["goal/1"])]].concat();
        assert_eq!(open_after(&again), ["goal/1"]);
        // A goal that already has its answer is open again, but it asks for nothing.
        assert!(open_after(&[&ended[..], &[reopened(&[])]].concat()).is_empty());
    }

    #[test]
    fn what_went_on_asks_nothing() {
        let woken = Event::TaskWoken { task: id("a") };
        assert!(open_after(&[opened("a"), woken]).is_empty());
        assert_eq!(open_after(&[opened("a"), answered("a"), opened("a")]), ["a"]);
    }
}
