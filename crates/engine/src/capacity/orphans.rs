//! What is held for attempts that have ended in silence: whoever performed them is stopped, say, and may still have a
//! call under way. Pure.
//!
//! The attempt is over for the scheduler, and its task may be tried again; but what it held counts until nothing of it can
//! be in use. So its permit gets another name, and its leases stay where they are.

use crate::capacity::permits::{Permits, key_of};
use crate::capacity::terms::{CallNo, Fence};
use crate::core::Effect;
use convoke_govern::{Adapted, Outcome, Used};
use convoke_model::Timestamp;
use convoke_schedule::TaskIx;
use std::collections::HashMap;

/// Marks keys of the governor that stand for what is adrift.
const ADRIFT: u64 = 1 << 62;

/// Everything that is adrift, by the attempt that held it.
#[derive(Debug, Default)]
pub(crate) struct Adrift {
    last: u64,
    held: HashMap<(TaskIx, u32), Held>,
}

#[derive(Debug)]
struct Held {
    key: u64,
    /// Of which kind its lease is.
    lease: Option<(usize, Fence)>,
    call: Option<CallNo>,
}

impl Permits {
    /// An attempt has ended, and what it held may still be in use.
    pub(crate) fn cast_off(&mut self, task: TaskIx, attempt: u32) {
        self.adrift.last += 1;
        let key = ADRIFT | self.adrift.last;
        let moved = self.governor.rename(key_of(task), key);
        debug_assert!(moved.is_ok(), "an attempt holds a permit");
        let (lease, call) = (self.holdings.cast_off(task), self.calls.cast_off(task));
        self.purses.forget(task);
        self.adrift.held.insert((task, attempt), Held { key, lease, call });
    }

    /// Nothing of it is in use any more.
    pub(crate) fn come_ashore(
        &mut self,
        task: TaskIx,
        attempt: u32,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> Vec<Adapted> {
        let Some(held) = self.adrift.held.remove(&(task, attempt)) else { return Vec::new() };
        let mut adapted = match held.call {
            Some(call) => self.end_cast_off(call, now, effects),
            None => Vec::new(),
        };
        let freed = self.governor.release(held.key, Used::AsReserved, Outcome::Unknown, now);
        adapted.extend(freed.unwrap_or_default());
        if let Some((kind, fence)) = held.lease {
            self.holdings.give_up(kind, fence, &mut self.governor, effects);
        }
        adapted
    }
}
