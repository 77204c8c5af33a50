//! The events that come in: folded into the state, kept as lines until they are printed, and searched for gates.

use super::Batch;
use super::printer::Wants;
use crate::view::{State, line};
use convoke_model::{Event, Payload, Stamped, TaskId};
use std::collections::HashSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// The longest wait between two looks: the live view is redrawn at most ten times a second.
pub const FRAME: Duration = Duration::from_millis(100);

/// Events on their way to the screen.
pub struct Inflow {
    batches: Receiver<Batch>,
    closed: bool,
    wants: Wants,
    gates: Vec<(TaskId, Payload)>,
    asked: HashSet<TaskId>,
    /// The run so far.
    pub state: State,
    /// Lines that are not printed yet.
    pub lines: Vec<String>,
}

impl Inflow {
    /// Nothing has come in yet.
    pub fn new(batches: Receiver<Batch>, state: State, wants: Wants) -> Inflow {
        Inflow {
            batches,
            closed: false,
            wants,
            gates: Vec::new(),
            asked: HashSet::new(),
            state,
            lines: Vec::new(),
        }
    }

    /// Whether nothing more will come.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Waits for the next batch, for one frame at most, and takes everything that is there.
    pub fn wait(&mut self) {
        match self.batches.recv_timeout(FRAME) {
            Ok(batch) => self.take(&batch),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.closed = true,
        }
        self.take_what_is_there();
    }

    /// Takes what has come, without waiting.
    pub fn take_what_is_there(&mut self) {
        loop {
            match self.batches.try_recv() {
                Ok(batch) => self.take(&batch),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.closed = true;
                    return;
                }
            }
        }
    }

    fn take(&mut self, batch: &[Stamped]) {
        for stamped in batch {
            if self.wants.line_for(&stamped.event) {
                self.lines.extend(
                    line(&self.state, stamped, self.wants.paint).map(|text| self.wants.dated(stamped, text)),
                );
            }
            self.watch_gates(&stamped.event);
            self.state.apply(stamped);
        }
    }

    fn watch_gates(&mut self, event: &Event) {
        match event {
            Event::GateOpened { task, ask } => {
                self.asked.remove(task);
                self.gates.push((task.clone(), ask.clone()));
            }
            Event::GateAnswered { task, .. }
            | Event::TaskSucceeded { task, .. }
            | Event::TaskFailed { task, .. }
            | Event::TaskCancelled { task, .. }
            | Event::TaskSkipped { task, .. } => self.gates.retain(|(open, _)| open != task),
            _ => {}
        }
    }

    /// The next gate that nobody was asked about.
    pub fn next_gate(&self) -> Option<(TaskId, Payload)> {
        self.gates.iter().find(|(task, _)| !self.asked.contains(task)).cloned()
    }

    /// Remembers that somebody is asked.
    pub fn asked(&mut self, task: &TaskId) {
        self.asked.insert(task.clone());
    }

    /// Whether a gate still waits.
    pub fn is_open(&self, task: &TaskId) -> bool {
        self.gates.iter().any(|(open, _)| open == task)
    }

    /// The run at its end.
    pub fn into_state(self) -> State {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paint::Paint;
    use crate::view::Outline;
    use convoke_model::{JsonText, Timestamp};
    use std::sync::mpsc::channel;

    fn stamped(seq: u64, event: Event) -> Stamped {
        Stamped { seq, at: Timestamp(seq), event }
    }

    fn opened(task: &str) -> Event {
        Event::GateOpened { task: TaskId(task.into()), ask: Payload::Inline(JsonText::of(&1)) }
    }

    #[test]
    fn a_gate_is_asked_once_and_closes_when_it_is_answered() {
        let (sender, receiver) = channel();
        let mut inflow =
            Inflow::new(receiver, State::new(Outline::default()), Wants::everything(Paint::off()));
        sender.send(vec![stamped(1, opened("a")), stamped(2, opened("b"))].into()).unwrap();
        inflow.wait();
        let (first, _) = inflow.next_gate().unwrap();
        inflow.asked(&first);
        assert_eq!(inflow.next_gate().unwrap().0, TaskId("b".into()));
        let answer = Payload::Inline(JsonText::of(&1));
        let answered = Event::GateAnswered { task: first.clone(), answer, by: "me".into() };
        sender.send(vec![stamped(3, answered)].into()).unwrap();
        inflow.take_what_is_there();
        assert!(!inflow.is_open(&first) && inflow.is_open(&TaskId("b".into())));
    }

    #[test]
    fn the_end_is_noticed_after_everything_was_taken() {
        let (sender, receiver) = channel();
        let mut inflow =
            Inflow::new(receiver, State::new(Outline::default()), Wants::everything(Paint::off()));
        sender.send(vec![stamped(1, opened("a"))].into()).unwrap();
        drop(sender);
        inflow.wait();
        assert!(inflow.is_closed());
        assert_eq!(inflow.lines.len(), 1);
    }
}
