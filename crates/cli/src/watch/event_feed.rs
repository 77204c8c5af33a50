//! The feed of events to the screen: folded into the state, kept as lines until they are printed, and searched for gates.

use super::printer::Wants;
use super::repeats::Repeats;
use crate::json_log;
use crate::view::{grown, line};
use convoke_journal::Blocked;
use convoke_model::{Event, Failure, JsonText, Payload, RunId, Stamped, TaskId};
use convoke_view::{Doing, Said, State};
use convoke_view::{Gates, Question};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// The longest wait between two looks: the live view is redrawn at most ten times a second.
pub const FRAME: Duration = Duration::from_millis(100);

/// How long further updates are gathered after the first one. A watcher that waits for every batch makes the engine wake
/// it at every commit. The engine thread unparks the watcher at the end of the run, so the end does not wait for this.
pub const GATHER: Duration = Duration::from_millis(15);

/// What a watcher is told.
#[derive(Debug, Clone)]
pub enum Update {
    /// These events are on disk.
    Events(Arc<[Stamped]>),
    /// Something that people must know and that is no event.
    Remark(String),
    /// The run waits for the machine, or no longer does.
    Blocked(Option<Blocked>),
    /// What a task is doing at this moment; shown and forgotten.
    Doing(Doing),
    /// What all tasks are doing at this moment, in place of what was known: the run is driven elsewhere.
    Said(Vec<Said>),
    /// The process lets go of the run: no person is asked any more. Words to be printed among the events.
    Leaving(String),
}

/// Reads what an event only names.
pub type Texts = Box<dyn Fn(&Payload) -> Option<JsonText> + Send>;

/// Events on their way to the screen.
pub struct EventFeed {
    updates: Receiver<Update>,
    closed: bool,
    leaving: bool,
    /// Whether no person answers here any more.
    unattended: bool,
    /// The number of the last event.
    seen: u64,
    /// Gates to be asked about again, because an answer was refused.
    again: HashSet<TaskId>,
    wants: Wants,
    repeats: Repeats,
    texts: Texts,
    gates: Gates,
    asked: HashSet<TaskId>,
    /// The run, where every event is a record of its own.
    pub log: Option<RunId>,
    /// The run so far.
    pub state: State,
    /// Lines that are not printed yet.
    pub lines: Vec<String>,
}

impl EventFeed {
    /// Nothing has come in yet.
    pub fn new(updates: Receiver<Update>, state: State, wants: Wants, texts: Texts) -> EventFeed {
        EventFeed {
            updates,
            closed: false,
            leaving: false,
            unattended: false,
            seen: 0,
            again: HashSet::new(),
            wants,
            repeats: Repeats::default(),
            texts,
            gates: Gates::default(),
            asked: HashSet::new(),
            log: None,
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
        match self.updates.recv_timeout(FRAME) {
            Ok(update) => {
                self.take(update);
                std::thread::park_timeout(GATHER);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.closed = true,
        }
        self.take_what_is_there();
    }

    /// Takes what has come, without waiting.
    pub fn take_what_is_there(&mut self) {
        loop {
            match self.updates.try_recv() {
                Ok(update) => self.take(update),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.closed = true;
                    break;
                }
            }
        }
        self.tell_flood();
    }

    /// Takes what happened earlier, without a line for each event.
    pub fn remember(&mut self, history: &[Stamped]) {
        history.iter().for_each(|stamped| self.learn(stamped));
        self.state.partial_merges.read_heads(&self.texts);
    }

    fn take(&mut self, update: Update) {
        match update {
            Update::Remark(words) => self.lines.extend(self.wants.remark(words)),
            Update::Leaving(words) => {
                self.leaving = true;
                self.lines.push(words);
            }
            Update::Blocked(on) => self.state.blocked = on,
            Update::Doing(doing) => self.state.activity.take(doing),
            Update::Said(said) => self.state.activity.replace(said),
            // History is read while new events come in, so some may be known already.
            Update::Events(batch) => {
                let known = batch.partition_point(|stamped| stamped.seq <= self.seen);
                for (at, stamped) in batch.iter().enumerate().skip(known) {
                    self.tell(stamped, &batch[at + 1..]);
                }
            }
        }
    }

    fn tell(&mut self, stamped: &Stamped, next: &[Stamped]) {
        if let Some(run) = &self.log {
            if self.wants.record_for(&stamped.event) {
                let words = line(&self.state, stamped, self.wants.paint);
                self.lines.push(json_log::event(run, stamped, words));
            }
            return self.learn(stamped);
        }
        let is_wanted = self.wants.line_for(&stamped.event) && !is_told_by(next, &stamped.event);
        if is_wanted && self.repeats.ends_at(&stamped.event) {
            self.tell_flood();
        }
        if is_wanted && !self.repeats.holds(&stamped.event) {
            let words = line(&self.state, stamped, self.wants.paint);
            self.lines.extend(words.map(|words| self.wants.dated(stamped.at, words)));
            self.remember_told(&stamped.event);
        }
        self.learn(stamped);
        if let (true, Event::AttemptFinished { task, .. }) = (is_wanted, &stamped.event) {
            self.tell_growth(stamped, task);
        }
    }

    /// A failure that has a line is not told in full again.
    fn remember_told(&mut self, event: &Event) {
        match event {
            Event::TaskFailed { task, failure } => self.state.shown_failures.tell(task, &failure.message),
            Event::AttemptFailed { task, failure, .. } => {
                self.state.shown_failures.tell_attempt(task, &failure.message);
            }
            _ => {}
        }
    }

    /// Says how many items were only counted.
    fn tell_flood(&mut self) {
        let (at, words) = (self.state.last, self.repeats.line());
        self.lines.extend(words.map(|words| self.wants.dated(at, words)));
    }

    /// A merge that takes outputs as they arrive has moved on.
    fn tell_growth(&mut self, stamped: &Stamped, question: &TaskId) {
        if self.state.partial_merges.asker(question).is_none() {
            return;
        }
        self.state.partial_merges.read_heads(&self.texts);
        let words = grown(&self.state, question);
        self.lines.extend(words.map(|words| self.wants.dated(stamped.at, words)));
    }

    fn learn(&mut self, stamped: &Stamped) {
        self.watch_gates(stamped);
        self.state.apply(stamped);
        self.seen = stamped.seq;
    }

    fn watch_gates(&mut self, stamped: &Stamped) {
        match &stamped.event {
            Event::GateOpened { task, .. } => drop(self.asked.remove(task)),
            Event::Noted { task: Some(task), code, .. } if code == "answer_refused" => {
                self.again.insert(task.clone());
            }
            _ => {}
        }
        self.gates.apply(stamped);
    }

    /// From here on no person is asked: gates wait for answers from elsewhere.
    pub fn ask_nobody(&mut self) {
        self.unattended = true;
    }

    /// The next gate that no person was asked about, or whose answer was refused.
    pub fn next_gate(&self) -> Option<Question> {
        if self.leaving || self.unattended {
            return None;
        }
        let is_due = |task: &TaskId| !self.asked.contains(task) || self.again.contains(task);
        self.gates.open().find(|question| is_due(&question.id.task)).cloned()
    }

    /// Remembers that a person is asked; whether this is the first time.
    pub fn asked(&mut self, task: &TaskId) -> bool {
        self.again.remove(task);
        self.asked.insert(task.clone())
    }

    /// Whether a gate still waits for an answer from here.
    pub fn is_open(&self, task: &TaskId) -> bool {
        !self.leaving && !self.closed && self.gates.is_open(task)
    }

    /// The run at its end.
    pub fn into_state(self) -> State {
        self.state
    }
}

/// Whether a failure is told with its words by an event of the same commit: an attempt's by its task, that of the step that ends
/// the run by the end of the run. Everything else is told where it happened, and referred to later ([`convoke_view::ShownFailures`]).
fn is_told_by(next: &[Stamped], event: &Event) -> bool {
    let (task, failure, is_attempt) = match event {
        Event::AttemptFailed { task, failure, .. } => (task, failure, true),
        Event::TaskFailed { task, failure } => (task, failure, false),
        _ => return false,
    };
    // Members and items stand below something that ends the run in its own words.
    let is_step = !task.0.contains(['/', '[']);
    let has_words = |later: &Failure| later.message.contains(&failure.message);
    let tells = |stamped: &Stamped| match &stamped.event {
        Event::TaskFailed { task: later, failure } => is_attempt && later == task && has_words(failure),
        Event::RunFinished { failure: Some(failure), .. } => is_step && has_words(failure),
        _ => false,
    };
    !failure.message.is_empty() && next.iter().any(tells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paint::Paint;
    use convoke_model::{Class, RunStatus, Timestamp};
    use convoke_view::{ABOVE, Outline};
    use std::sync::mpsc::channel;

    fn stamped(seq: u64, event: Event) -> Stamped {
        Stamped { seq, at: Timestamp(seq), event }
    }

    fn feed(updates: Receiver<Update>) -> EventFeed {
        let (state, wants) = (State::new(Outline::default()), Wants::everything(Paint::off()));
        EventFeed::new(updates, state, wants, Box::new(|_| None))
    }

    fn events(events: Vec<Stamped>) -> Update {
        Update::Events(events.into())
    }

    fn opened(task: &str) -> Event {
        Event::GateOpened {
            task: TaskId(task.into()),
            question: 1,
            ask: Payload::Inline(JsonText::of(&1)),
            shown: None,
            until: None,
        }
    }

    #[test]
    fn a_gate_is_asked_once_and_closes_when_it_is_answered() {
        let (sender, receiver) = channel();
        let mut feed = feed(receiver);
        sender.send(events(vec![stamped(1, opened("a")), stamped(2, opened("b"))])).unwrap();
        feed.wait();
        let first = feed.next_gate().unwrap().id.task;
        feed.asked(&first);
        assert_eq!(feed.next_gate().unwrap().id.task, TaskId("b".into()));
        let answer = Payload::Inline(JsonText::of(&1));
        let answered =
            Event::GateAnswered { task: first.clone(), question: 1, answer, by: "me".into(), from: None };
        sender.send(events(vec![stamped(3, answered)])).unwrap();
        feed.take_what_is_there();
        assert!(!feed.is_open(&first) && feed.is_open(&TaskId("b".into())));
    }

    #[test]
    fn an_event_counts_once_however_it_comes() {
        let (sender, receiver) = channel();
        let mut feed = feed(receiver);
        feed.remember(&[stamped(1, opened("a"))]);
        sender.send(events(vec![stamped(1, opened("a")), stamped(2, opened("b"))])).unwrap();
        feed.wait();
        assert_eq!((feed.gates.open().count(), feed.lines.len()), (2, 1));
    }

    #[test]
    fn each_failure_is_told_once_where_it_happened() {
        let (sender, receiver) = channel();
        let mut feed = feed(receiver);
        let failed = |task: &str, words: &str| Event::TaskFailed {
            task: TaskId(task.into()),
            failure: Failure::new(Class::Fatal, words),
        };
        let group = "group `g` failed (all_or_nothing): 2 of 3 failed; item 1, item 2: it melted";
        let finished = Event::RunFinished {
            status: RunStatus::Failed,
            output: None,
            failure: Some(Failure::new(Class::Fatal, format!("sub-workflow step `s` failed: {group}"))),
        };
        let batch = [
            failed("s/g[1]", "it melted"),
            failed("s/g[2]", "it melted"),
            failed("s/g", group),
            failed("s", &format!("sub-workflow step `s` failed: {group}")),
            finished,
        ];
        let batch = batch.into_iter().enumerate().map(|(at, event)| stamped(at as u64 + 1, event)).collect();
        sender.send(events(batch)).unwrap();
        feed.wait();
        let lines: Vec<_> = feed.lines.iter().map(|line| line.split_once(' ').unwrap().1).collect();
        assert_eq!(
            lines,
            [
                "s/g[1] failed (fatal): it melted",
                "s/g[2] failed (fatal), as s/g[1]",
                "s/g failed (fatal): group `g` failed (all_or_nothing): 2 of 3 failed; item 1, item 2 (see above)",
            ],
            "the end of the run tells the last"
        );
        let end = format!("sub-workflow step `s` failed: {group}");
        assert_eq!(
            feed.state.shown_failures.refer(None, &end, ABOVE),
            "sub-workflow step `s` failed (see above)"
        );
    }

    #[test]
    fn the_end_is_noticed_after_everything_was_taken() {
        let (sender, receiver) = channel();
        let mut feed = feed(receiver);
        sender.send(events(vec![stamped(1, opened("a"))])).unwrap();
        drop(sender);
        feed.wait();
        assert!(feed.is_closed());
        assert_eq!(feed.lines.len(), 1);
    }
}
