//! Decides which waiting call is answered next during a replay. Pure: knows no tape, no clock, no waiting.
//!
//! Calls are answered in the recorded order, one at a time: the next one only when the engine has written down what
//! the last one led to. So the journal of a replay does not depend on how fast anything is. A recorded call that is
//! not asked for must not hold up the others for ever: when every open attempt waits for its turn here, and no step
//! waits for a moment, nothing else can happen, and the earliest of them is let through. That is known from the
//! run's own events, not guessed from the time that passes.

use convoke_model::{Event, TaskId};
use std::collections::{BTreeMap, HashMap, HashSet};

/// An attempt: its task, and which try it is.
pub type Attempt = (TaskId, u32);

/// What is known of a recorded call.
#[derive(Debug)]
pub struct Slot {
    /// The attempt that asked when it was recorded, where that is known.
    by: Option<Attempt>,
    /// The attempt did not wait for its answer.
    cut_off: bool,
    /// Of the calls of one task, one that was answered goes before it.
    yields: bool,
    /// Of equal calls that an attempt made at once, which it made first.
    begun: u64,
    /// An attempt of the replay has asked for it.
    taken: bool,
    /// It holds no other call up any more.
    done: bool,
}

impl Slot {
    /// A call of a model that no attempt of the replay has asked for.
    pub fn of_model(by: Attempt, cut_off: bool) -> Slot {
        Slot { by: Some(by), cut_off, yields: false, begun: 0, taken: false, done: cut_off }
    }

    /// A call of a tool that no attempt of the replay has asked for. A run that was interrupted and went on has recorded it
    /// twice, and a model that hears of the first would say something else than it did.
    pub fn of_tool(by: Option<Attempt>, cut_off: bool, begun: u64) -> Slot {
        Slot { by, cut_off, yields: cut_off, begun, taken: false, done: cut_off }
    }

    /// How near it is to the asking attempt, the nearest first: the task's own, those without a task, other tasks'.
    fn distance(&self, asker: &Attempt) -> (u8, bool, bool, u64) {
        match &self.by {
            Some((task, attempt)) if *task == asker.0 => (0, self.yields, *attempt != asker.1, self.begun),
            None => (1, self.yields, false, 0),
            Some(_) => (2, self.yields, false, 0),
        }
    }
}

/// Which calls wait, and which one is answered next.
#[derive(Debug, Default)]
pub struct Turns {
    slots: Vec<Slot>,
    by_request: HashMap<String, Vec<usize>>,
    /// All slots before this one are done.
    front: usize,
    held: BTreeMap<usize, Attempt>,
    /// The attempt that was answered last, until the journal shows what followed.
    undigested: Option<Attempt>,
    open: HashSet<Attempt>,
    /// Tasks that go on at some moment: retries, waits.
    timers: HashSet<TaskId>,
}

impl Turns {
    /// The recorded calls, in order, each with its request.
    pub fn new(recorded: impl IntoIterator<Item = (String, Slot)>) -> Turns {
        let mut turns = Turns::default();
        for (at, (request, slot)) in recorded.into_iter().enumerate() {
            turns.by_request.entry(request).or_default().push(at);
            turns.slots.push(slot);
        }
        turns
    }

    /// An attempt asks: the recorded call that answers, or `None` if there is none left.
    ///
    /// Equal requests are answered in their recorded order, but an attempt gets its own answer before others'.
    pub fn ask(&mut self, request: &str, asker: &Attempt) -> Option<usize> {
        self.digest(|attempt| attempt == asker);
        let free = self.by_request.get(request)?.iter().copied().filter(|at| !self.slots[*at].taken);
        let at = free.min_by_key(|at| self.slots[*at].distance(asker))?;
        self.slots[at].taken = true;
        self.held.insert(at, asker.clone());
        Some(at)
    }

    /// How often a request was recorded.
    pub fn recorded(&self, request: &str) -> usize {
        self.by_request.get(request).map_or(0, Vec::len)
    }

    /// An attempt no longer waits.
    pub fn leave(&mut self, at: usize) {
        if self.held.remove(&at).is_some() {
            self.slots[at].done = true;
        }
    }

    /// The run wrote something down.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::AttemptStarted { task, attempt, .. } => self.started(task, *attempt),
            Event::AttemptFinished { task, attempt, .. }
            | Event::AttemptFailed { task, attempt, .. }
            | Event::AttemptSuspended { task, attempt, .. }
            | Event::AttemptLost { task, attempt, .. } => {
                self.ended(|open| open.0 == *task && open.1 == *attempt)
            }
            Event::RetryScheduled { task, .. } | Event::TaskStarted { task, until: Some(_), .. } => {
                self.timers.insert(task.clone());
            }
            Event::TaskWoken { task } | Event::TaskSucceeded { task, .. } => drop(self.timers.remove(task)),
            Event::TaskFailed { task, .. }
            | Event::TaskSkipped { task, .. }
            | Event::TaskCancelled { task, .. } => {
                self.timers.remove(task);
                self.ended(|open| open.0 == *task);
            }
            _ => {}
        }
    }

    /// The call that is to be answered now, if there is one.
    pub fn next(&mut self) -> Option<usize> {
        if self.undigested.is_some() {
            return None;
        }
        while self.slots.get(self.front).is_some_and(|slot| slot.done) {
            self.front += 1;
        }
        let first = self.held.keys().copied().find(|at| !self.slots[*at].cut_off);
        let at = match first {
            Some(at) if at <= self.front || self.is_stuck() => at,
            None if self.is_stuck() => *self.held.keys().next()?,
            _ => return None,
        };
        // An attempt that asks for one of these later is late, and gets it at once.
        self.slots[..=at].iter_mut().filter(|slot| !slot.taken).for_each(|slot| slot.done = true);
        self.slots[at].done = true;
        // One that has made several calls at once goes on when it has all their answers.
        let answered = self.held.remove(&at);
        self.undigested = answered.filter(|attempt| !self.held.values().any(|other| other == attempt));
        Some(at)
    }

    /// Whether nothing can happen before a call is answered: every open attempt waits, and no step for a moment.
    fn is_stuck(&self) -> bool {
        let held: HashSet<&Attempt> = self.held.values().collect();
        let are_open = held.iter().all(|attempt| self.open.contains(*attempt));
        !held.is_empty() && self.timers.is_empty() && are_open && held.len() >= self.open.len()
    }

    fn started(&mut self, task: &TaskId, attempt: u32) {
        self.timers.remove(task);
        self.open.insert((task.clone(), attempt));
    }

    fn ended(&mut self, which: impl Fn(&Attempt) -> bool) {
        self.open.retain(|open| !which(open));
        self.digest(which);
    }

    fn digest(&mut self, which: impl Fn(&Attempt) -> bool) {
        if self.undigested.as_ref().is_some_and(which) {
            self.undigested = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{JsonText, Payload, Timestamp, Usage};

    fn attempt(task: &str) -> Attempt {
        (TaskId(task.into()), 1)
    }

    /// A tape with one call per task, each with its own request.
    fn tape(tasks: &[&str]) -> Turns {
        Turns::new(tasks.iter().map(|task| (format!("of {task}"), Slot::of_model(attempt(task), false))))
    }

    fn start(turns: &mut Turns, tasks: &[&str]) {
        tasks.iter().for_each(|task| turns.see(&started(task)));
    }

    fn ask(turns: &mut Turns, task: &str) -> Option<usize> {
        turns.ask(&format!("of {task}"), &attempt(task))
    }

    fn started(task: &str) -> Event {
        Event::AttemptStarted { task: TaskId(task.into()), attempt: 1, lease: None }
    }

    fn finished(task: &str) -> Event {
        let output = Payload::Inline(JsonText::of(&1));
        Event::AttemptFinished { task: TaskId(task.into()), attempt: 1, output, usage: Usage::default() }
    }

    #[test]
    fn answers_come_in_the_recorded_order() {
        let mut turns = tape(&["b", "a"]);
        start(&mut turns, &["a", "b"]);
        ask(&mut turns, "a");
        assert_eq!(turns.next(), None, "`b` was first, and has started");
        ask(&mut turns, "b");
        assert_eq!(turns.next(), Some(0));
    }

    #[test]
    fn the_next_waits_until_the_last_is_written_down() {
        let mut turns = tape(&["a", "b"]);
        start(&mut turns, &["a", "b"]);
        ask(&mut turns, "a");
        ask(&mut turns, "b");
        assert_eq!((turns.next(), turns.next()), (Some(0), None));
        turns.see(&finished("a"));
        assert_eq!(turns.next(), Some(1));
    }

    #[test]
    fn a_call_that_nobody_asks_for_holds_nobody_up() {
        let mut turns = tape(&["gone", "a", "also gone", "b"]);
        start(&mut turns, &["a", "b"]);
        ask(&mut turns, "a");
        assert_eq!(turns.next(), None, "`b` may still be about to ask");
        ask(&mut turns, "b");
        assert_eq!(turns.next(), Some(1));
        turns.see(&finished("a"));
        assert_eq!(turns.next(), Some(3));
    }

    #[test]
    fn a_task_that_waits_for_its_moment_is_waited_for() {
        let mut turns = tape(&["retried", "a"]);
        let task = TaskId("retried".into());
        turns.see(&Event::RetryScheduled { task: task.clone(), at: Timestamp(0) });
        start(&mut turns, &["a"]);
        ask(&mut turns, "a");
        assert_eq!(turns.next(), None);
        turns.see(&Event::TaskWoken { task });
        start(&mut turns, &["retried"]);
        assert_eq!(turns.next(), None);
        ask(&mut turns, "retried");
        assert_eq!(turns.next(), Some(0));
    }

    #[test]
    fn who_leaves_holds_nobody_up() {
        let mut turns = tape(&["a", "b"]);
        start(&mut turns, &["a", "b", "c"]);
        let at = ask(&mut turns, "a").unwrap();
        ask(&mut turns, "b");
        turns.leave(at);
        assert_eq!(turns.next(), Some(1));
    }

    #[test]
    fn what_was_cut_off_is_answered_only_when_nothing_else_can_happen() {
        let slots = [("a", true), ("b", false)];
        let mut turns =
            Turns::new(slots.map(|(task, cut)| (format!("of {task}"), Slot::of_model(attempt(task), cut))));
        start(&mut turns, &["a", "b"]);
        ask(&mut turns, "a");
        assert_eq!(turns.next(), None);
        ask(&mut turns, "b");
        assert_eq!(turns.next(), Some(1));
        assert_eq!(turns.next(), None);
        turns.see(&finished("b"));
        assert_eq!(turns.next(), Some(0));
    }

    #[test]
    fn calls_made_at_once_are_answered_without_waiting_for_each_other() {
        let both = ["x", "y"].map(|tool| (tool.to_owned(), Slot::of_tool(Some(attempt("a")), false, 0)));
        let mut turns = Turns::new(both.into_iter().chain([("z".to_owned(), Slot::of_tool(None, false, 0))]));
        start(&mut turns, &["a", "b"]);
        for tool in ["y", "z", "x"] {
            turns.ask(tool, &attempt(if tool == "z" { "b" } else { "a" }));
        }
        assert_eq!((turns.next(), turns.next(), turns.next()), (Some(0), Some(1), None));
        turns.see(&finished("a"));
        assert_eq!(turns.next(), Some(2));
    }

    #[test]
    fn of_a_task_s_calls_of_a_tool_the_answered_one_is_its_own() {
        let of = |task: &str, number| Some((TaskId(task.into()), number));
        let slots = [(of("b", 1), false), (None, false), (of("a", 1), true), (of("a", 2), false)];
        let mut turns =
            Turns::new(slots.map(|(by, cut_off)| ("same".to_owned(), Slot::of_tool(by, cut_off, 0))));
        let order = std::iter::from_fn(|| turns.ask("same", &attempt("a")));
        assert_eq!(order.collect::<Vec<_>>(), [3, 2, 1, 0]);
    }

    #[test]
    fn equal_requests_go_to_their_tasks_and_then_by_order() {
        let mut turns =
            Turns::new(["x", "y", "z"].map(|task| ("same".to_owned(), Slot::of_model(attempt(task), false))));
        assert_eq!(turns.ask("same", &attempt("y")), Some(1));
        assert_eq!(turns.ask("same", &attempt("y")), Some(0));
        assert_eq!(turns.ask("same", &attempt("new")), Some(2));
        assert_eq!((turns.ask("same", &attempt("x")), turns.recorded("same")), (None, 3));
    }
}
