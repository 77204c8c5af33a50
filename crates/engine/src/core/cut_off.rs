//! A turn whose rendering was cancelled: what had happened is kept, what was being decided is forgotten.
//!
//! A cancelled rendering looks like a failed one to the scheduler, and what follows from that must not be true. So the turn
//! keeps its facts alone, and the scheduler's state, which has gone on, is replaced by the fold of the journal. From then on
//! facts are recorded and nothing is decided: the process was told to stop, and its next owner decides again.

use super::{Core, Effect, Turn, stopping};
use crate::fact::{Fact, What};
use convoke_schedule::Scheduler;

/// Where the facts of a turn end.
pub(super) struct Facts {
    events: usize,
    effects: usize,
    next_seq: u64,
}

impl Core {
    /// The facts of a turn in which nothing was decided yet.
    pub(super) fn facts_of(&self, turn: &Turn) -> Facts {
        Facts { events: turn.events.len(), effects: turn.effects.len(), next_seq: self.next_seq }
    }

    /// Whether nothing is decided any more.
    pub fn is_cut_off(&self) -> bool {
        self.cut_off || self.is_rendering_cancelled()
    }

    pub(super) fn is_rendering_cancelled(&self) -> bool {
        self.scheduler.cancellation().took_effect()
    }

    /// What the machine gives or takes may be about tasks that were forgotten, and nothing more begins.
    pub(super) fn is_heard(&self, fact: &Fact) -> bool {
        !self.cut_off || !matches!(fact.what, What::Capacity(_))
    }

    /// Keeps of a turn what had happened. Calls that wait for an answer are refused: their attempts go on after a resume.
    pub(super) fn keep_facts(&mut self, facts: &Facts, turn: &mut Turn) {
        turn.cut_off = !self.cut_off;
        turn.events.truncate(facts.events);
        self.next_seq = facts.next_seq;
        for effect in turn.effects.split_off(facts.effects) {
            match effect {
                Effect::Answer(reply, _) => {
                    turn.effects.push(Effect::Answer(reply, Box::new(Err(stopping()))));
                }
                // What is no longer held or wanted of the machine is not decided by a text.
                Effect::GiveBack(_) | Effect::WithdrawRequest(_) => turn.effects.push(effect),
                _ => {}
            }
        }
        self.permits.refuse_waiting(&stopping(), &mut turn.effects);
    }

    /// Continues to record, from the state that the journal stands for.
    pub fn continue_from(&mut self, scheduler: Scheduler) {
        self.scheduler = scheduler;
        self.cut_off = true;
    }
}
