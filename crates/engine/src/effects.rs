//! The ledger of effects: everything that a run did to the world, claimed, done, committed.
//!
//! A pure fold of events: no plan, no disk. One entry for each claim, in the order of the claims. What a step does itself (a
//! script, a tool step, a coding agent) is committed by the end of its attempt, an agent's call by its own event. Kept true: a claim
//! whose outcome is in the journal is never unknown, and a claim that was made again says so, and by whose decision.

use convoke_model::hash::HashMap;
use convoke_model::{Class, EffectKind, Event, ProbeVerdict, Stamped, TaskId, Timestamp, reason};
use serde::Serialize;

/// One effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// The number of the event that claimed it.
    pub event: u64,
    /// The task.
    pub task: TaskId,
    /// The attempt that claimed it.
    pub attempt: u32,
    /// What makes it.
    pub kind: EffectKind,
    /// The command or the tool, short.
    pub what: String,
    /// Its idempotency key: the same where the same call was made again.
    pub key: String,
    /// How it stands.
    pub state: EffectState,
    /// The decision by which it was made again, or by which its outcome is known all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Decision>,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When its state was last settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
}

/// How an effect stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectState {
    /// It was claimed, and no event says more: it is under way or, where no process drives the run, unknown.
    Claimed,
    /// It was made.
    Done,
    /// It was tried and failed, or was never begun.
    Failed,
    /// It was cut off, and no event says whether it happened.
    Unknown,
    /// It was cut off and made again, by decision.
    Repeated,
}

impl EffectState {
    /// Its name for people.
    pub fn word(self) -> &'static str {
        match self {
            EffectState::Claimed => "under way",
            EffectState::Done => "done",
            EffectState::Failed => "failed",
            EffectState::Unknown => "unknown",
            EffectState::Repeated => "repeated by decision",
        }
    }

    /// Whether the effect may have happened.
    pub fn may_have_happened(self) -> bool {
        self != EffectState::Failed
    }
}

/// The decision about an effect whose outcome was unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The step or the tool says that it may be repeated.
    Policy,
    /// A probe.
    Probe,
    /// A person, by this name.
    Person(String),
}

/// Every effect of a run, in the order of the claims.
pub fn effects(events: &[Stamped]) -> Vec<Effect> {
    let mut ledger = Ledger::default();
    events.iter().for_each(|event| ledger.take(event));
    ledger.effects
}

/// The fold, for readers that get events one by one.
#[derive(Debug, Default)]
pub struct Ledger {
    effects: Vec<Effect>,
    /// Of each task: what its attempt does itself and has not ended.
    own: HashMap<TaskId, usize>,
    /// Of each task: calls of its agent without an outcome.
    calls: HashMap<TaskId, Vec<usize>>,
    /// The last claim of each key.
    last: HashMap<String, usize>,
    /// What was decided about a task since its attempt was cut off.
    decided: HashMap<TaskId, Decision>,
}

impl Ledger {
    /// The effects so far.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// Takes the next event.
    pub fn take(&mut self, stamped: &Stamped) {
        match &stamped.event {
            Event::EffectClaimed { task, attempt, key, kind, what } => {
                self.claim(stamped, task, *attempt, (key, *kind, what))
            }
            Event::EffectCommitted { task, key, failed, .. } => self.commit(task, key, *failed, stamped.at),
            Event::AttemptFinished { task, .. } => self.end(task, EffectState::Done, stamped.at),
            Event::AttemptFailed { task, failure, .. } => {
                let interrupted = failure.reason.as_deref() == Some(reason::INTERRUPTED);
                let was_stopped = interrupted && failure.class == Class::Cancelled;
                let state = if was_stopped { EffectState::Unknown } else { EffectState::Failed };
                self.end(task, state, stamped.at);
            }
            Event::AttemptLost { task, .. } => self.end(task, EffectState::Unknown, stamped.at),
            Event::EffectProbed { task, key, verdict, .. } => self.probe(task, key, verdict, stamped.at),
            Event::GateAnswered { task, by, .. } => {
                self.decided.insert(task.clone(), Decision::Person(by.clone()));
            }
            _ => {}
        }
    }

    fn claim(
        &mut self,
        stamped: &Stamped,
        task: &TaskId,
        attempt: u32,
        (key, kind, what): (&String, EffectKind, &String),
    ) {
        if let Some(before) = self.last.get(key).copied() {
            let open = matches!(self.effects[before].state, EffectState::Claimed | EffectState::Unknown);
            if open {
                let decided = self.decided.remove(task).unwrap_or(Decision::Policy);
                self.effects[before].decided_by = Some(decided);
                self.settle(before, EffectState::Repeated, stamped.at);
            }
        }
        let at = self.effects.len();
        self.last.insert(key.clone(), at);
        match kind {
            EffectKind::Call | EffectKind::Merge => self.calls.entry(task.clone()).or_default().push(at),
            _ => drop(self.own.insert(task.clone(), at)),
        }
        self.effects.push(Effect {
            event: stamped.seq,
            task: task.clone(),
            attempt,
            kind,
            what: what.clone(),
            key: key.clone(),
            state: EffectState::Claimed,
            decided_by: None,
            claimed_at: stamped.at,
            settled_at: None,
        });
    }

    fn commit(&mut self, task: &TaskId, key: &str, failed: bool, at: Timestamp) {
        let Some(effect) = self.last.get(key).copied() else { return };
        if let Some(calls) = self.calls.get_mut(task) {
            calls.retain(|call| *call != effect);
        }
        self.settle(effect, if failed { EffectState::Failed } else { EffectState::Done }, at);
    }

    /// An attempt has ended, and with it what it did itself. Calls of it without an outcome were cut off.
    fn end(&mut self, task: &TaskId, state: EffectState, at: Timestamp) {
        for call in self.calls.remove(task).unwrap_or_default() {
            self.settle(call, EffectState::Unknown, at);
        }
        if let Some(effect) = self.own.remove(task) {
            self.settle(effect, state, at);
        }
    }

    fn probe(&mut self, task: &TaskId, key: &str, verdict: &ProbeVerdict, at: Timestamp) {
        let Some(effect) = self.last.get(key).copied() else { return };
        match verdict {
            ProbeVerdict::Happened { .. } => {
                self.effects[effect].decided_by = Some(Decision::Probe);
                self.settle(effect, EffectState::Done, at);
            }
            ProbeVerdict::Absent => drop(self.decided.insert(task.clone(), Decision::Probe)),
            ProbeVerdict::Unclear { .. } => {}
        }
    }

    fn settle(&mut self, effect: usize, state: EffectState, at: Timestamp) {
        let effect = &mut self.effects[effect];
        (effect.state, effect.settled_at) = (state, Some(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Failure, JsonText, Payload, Usage};

    fn id(task: &str) -> TaskId {
        TaskId(task.into())
    }

    fn claimed(task: &str, attempt: u32, key: &str, kind: EffectKind) -> Event {
        Event::EffectClaimed { task: id(task), attempt, key: key.into(), kind, what: "w".into() }
    }

    fn committed(task: &str, key: &str, failed: bool) -> Event {
        Event::EffectCommitted { task: id(task), attempt: 1, key: key.into(), failed, result: None }
    }

    fn lost(task: &str) -> Event {
        Event::AttemptLost { task: id(task), attempt: 1, usage: Usage::default() }
    }

    fn finished(task: &str) -> Event {
        let output = Payload::Inline(JsonText::of(&1));
        Event::AttemptFinished { task: id(task), attempt: 1, output, usage: Usage::default() }
    }

    fn failed(task: &str, failure: Failure) -> Event {
        let (usage, partial) = (Usage::default(), None);
        Event::AttemptFailed { task: id(task), attempt: 1, failure, usage, partial }
    }

    fn probed(task: &str, key: &str, verdict: ProbeVerdict) -> Event {
        Event::EffectProbed { task: id(task), attempt: 2, key: key.into(), verdict }
    }

    fn of(events: Vec<Event>) -> Vec<(EffectState, Option<Decision>)> {
        let stamp = |(at, event)| Stamped { seq: at as u64 + 1, at: Timestamp(at as u64), event };
        let events: Vec<Stamped> = events.into_iter().enumerate().map(stamp).collect();
        effects(&events).into_iter().map(|effect| (effect.state, effect.decided_by)).collect()
    }

    #[test]
    fn the_end_of_an_attempt_commits_what_it_did_itself() {
        use EffectState::{Claimed, Done, Failed, Unknown};
        let script = || claimed("a", 1, "k", EffectKind::Script);
        assert_eq!(of(vec![script()]), [(Claimed, None)]);
        assert_eq!(of(vec![script(), finished("a")]), [(Done, None)]);
        assert_eq!(of(vec![script(), lost("a")]), [(Unknown, None)]);
        let broke = Failure::new(Class::Fatal, "f");
        assert_eq!(of(vec![script(), failed("a", broke)]), [(Failed, None)]);
        let stopped = Failure::new(Class::Cancelled, "f").reason(reason::INTERRUPTED);
        assert_eq!(of(vec![script(), failed("a", stopped)]), [(Unknown, None)]);
        let unstarted = Failure::new(Class::Cancelled, "f").reason(reason::INTERRUPTED_UNSTARTED);
        assert_eq!(of(vec![script(), failed("a", unstarted)]), [(Failed, None)]);
    }

    #[test]
    fn calls_of_one_turn_have_ends_of_their_own() {
        use EffectState::{Done, Unknown};
        let call = |key: &str| claimed("a", 1, key, EffectKind::Call);
        let events = vec![call("1"), call("2"), committed("a", "2", false), lost("a")];
        assert_eq!(of(events), [(Unknown, None), (Done, None)]);
        let events =
            vec![call("1"), committed("a", "1", true), call("2"), committed("a", "2", false), finished("a")];
        assert_eq!(of(events), [(EffectState::Failed, None), (Done, None)]);
    }

    #[test]
    fn what_is_made_again_says_by_whose_decision() {
        use EffectState::{Claimed, Done, Repeated, Unknown};
        let script = |attempt| claimed("a", attempt, "k", EffectKind::Script);
        let again = |between: Vec<Event>| {
            let events = [vec![script(1), lost("a")], between, vec![script(2)]].concat();
            assert_eq!(of(events.clone()).pop(), Some((Claimed, None)));
            of(events).remove(0)
        };
        assert_eq!(again(vec![]), (Repeated, Some(Decision::Policy)));
        let answer = Payload::Inline(JsonText::of(&1));
        let answered =
            Event::GateAnswered { task: id("a"), question: 1, answer, by: "ann".into(), from: None };
        assert_eq!(again(vec![answered]), (Repeated, Some(Decision::Person("ann".into()))));
        assert_eq!(again(vec![probed("a", "k", ProbeVerdict::Absent)]), (Repeated, Some(Decision::Probe)));
        let yes = ProbeVerdict::Happened { output: Payload::Inline(JsonText::of(&1)) };
        let events = vec![script(1), lost("a"), probed("a", "k", yes)];
        assert_eq!(of(events), [(Done, Some(Decision::Probe))]);
        let unclear = ProbeVerdict::Unclear { why: "w".into() };
        assert_eq!(of(vec![script(1), lost("a"), probed("a", "k", unclear)]), [(Unknown, None)]);
    }

    #[test]
    fn what_failed_and_is_tried_again_is_no_repetition() {
        let script = |attempt| claimed("a", attempt, "k", EffectKind::Script);
        let events =
            vec![script(1), failed("a", Failure::new(Class::Transient, "f")), script(2), finished("a")];
        assert_eq!(of(events), [(EffectState::Failed, None), (EffectState::Done, None)]);
    }
}
