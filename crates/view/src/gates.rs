//! Which gates wait for a person, from the events alone.
//!
//! A question is open until it is answered, or its task goes on or ends. Which questions are open again in a run that had ended,
//! or under another plan, is the scheduler's decision: the events say it, and nothing here repeats its rules.

use convoke_model::{Digest, Event, GateId, Payload, Stamped, TaskId, Timestamp};
use indexmap::IndexMap;
use std::collections::HashSet;

/// The questions of a run, in the order in which they were asked: of each task the last one.
#[derive(Debug, Default)]
pub struct Gates {
    asked: IndexMap<TaskId, Question>,
}

/// One question of a run.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its id.
    pub id: GateId,
    /// The number of the event that opened it.
    pub number: u64,
    /// What is asked.
    pub ask: Payload,
    /// The hash of what is shown, where the journal has it.
    pub shown: Option<Digest>,
    /// When it was asked.
    pub at: Timestamp,
    /// When the time to answer is over.
    pub until: Option<Timestamp>,
    is_open: bool,
}

impl Question {
    fn of(stamped: &Stamped) -> Option<Question> {
        let Event::GateOpened { task, question, ask, shown, until } = &stamped.event else { return None };
        Some(Question {
            id: GateId { task: task.clone(), question: *question },
            number: stamped.seq,
            ask: ask.clone(),
            shown: *shown,
            at: stamped.at,
            until: *until,
            is_open: true,
        })
    }
}

/// Every question that was ever asked, in order.
pub fn all_questions(events: &[Stamped]) -> Vec<Question> {
    events.iter().filter_map(Question::of).collect()
}

impl Gates {
    /// The gates after these events.
    pub fn of(events: &[Stamped]) -> Gates {
        let mut gates = Gates::default();
        events.iter().for_each(|stamped| gates.apply(stamped));
        gates
    }

    /// Takes the next event.
    pub fn apply(&mut self, stamped: &Stamped) {
        match &stamped.event {
            Event::GateOpened { task, .. } => {
                self.asked.shift_remove(task);
                self.asked.extend(Question::of(stamped).map(|question| (task.clone(), question)));
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
            Event::RunReopened(reopened) => {
                self.renew(&reopened.tasks);
                self.reopen(&reopened.asking);
            }
            Event::PlanChanged(changed) => {
                self.renew(&changed.opened);
                self.reopen(&changed.asking);
            }
            Event::RunForked(forked) => {
                self.renew(&forked.change.opened);
                self.reopen(&forked.change.asking);
            }
            _ => {}
        }
    }

    /// Those that wait.
    pub fn open(&self) -> impl Iterator<Item = &Question> {
        self.asked.values().filter(|question| question.is_open)
    }

    /// The question of a task, if it waits for an answer.
    pub fn waiting(&self, task: &TaskId) -> Option<&Question> {
        self.asked.get(task).filter(|question| question.is_open)
    }

    /// Whether that task waits for an answer.
    pub fn is_open(&self, task: &TaskId) -> bool {
        self.waiting(task).is_some()
    }

    fn close(&mut self, task: &TaskId) {
        if let Some(question) = self.asked.get_mut(task) {
            question.is_open = false;
        }
    }

    /// What is opened again has its whole time again; how much that is, the engine knows.
    fn renew(&mut self, tasks: &[TaskId]) {
        for task in tasks {
            self.asked.get_mut(task).into_iter().for_each(|question| question.until = None);
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
        Event::GateOpened { task: id(task), question: 1, ask: text(), shown: None, until: None }
    }

    fn answered(task: &str) -> Event {
        Event::GateAnswered { task: id(task), question: 1, answer: text(), by: "me".into(), from: None }
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
        gates.open().map(|question| question.id.task.to_string()).collect()
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
