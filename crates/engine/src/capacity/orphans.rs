//! Orphaned leases: what is held for attempts that have ended in silence. Their performer is stopped, say, and may still have a
//! call under way. Pure.
//!
//! The attempt is over for the scheduler, and its task may be tried again; but what it held counts until nothing of it can
//! be in use. So its permit gets another name, and its leases stay where they are, until they are reclaimed.

use crate::capacity::permits::{Permits, key_of};
use crate::capacity::terms::{CallNo, Fence, KindNo};
use crate::core::Effect;
use convoke_govern::{Adapted, Outcome, Used};
use convoke_model::Timestamp;
use convoke_model::hash::HashMap;
use convoke_schedule::TaskIx;

/// Marks keys of the governor that stand for what is orphaned.
const ORPHAN: u64 = 1 << 62;

/// Everything that is orphaned, by the attempt that held it.
#[derive(Debug, Default)]
pub(crate) struct Orphans {
    last: u64,
    held: HashMap<(TaskIx, u32), Held>,
}

#[derive(Debug)]
struct Held {
    key: u64,
    /// Of which kind its lease is.
    lease: Option<(KindNo, Fence)>,
    call: Option<CallNo>,
}

impl Permits {
    /// An attempt has ended, and what it held may still be in use: it is kept apart.
    pub(crate) fn orphan(&mut self, task: TaskIx, attempt: u32) {
        self.orphans.last += 1;
        let key = ORPHAN | self.orphans.last;
        let moved = self.governor.rename(key_of(task), key);
        debug_assert!(moved.is_ok(), "an attempt holds a permit");
        let (lease, call) = (self.attempt_leases.orphan(task), self.calls.orphan(task));
        self.accounts.forget(task);
        self.orphans.held.insert((task, attempt), Held { key, lease, call });
    }

    /// Nothing that an orphaned attempt held is in use any more: it goes back.
    pub(crate) fn reclaim(
        &mut self,
        task: TaskIx,
        attempt: u32,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> Vec<Adapted> {
        let Some(held) = self.orphans.held.remove(&(task, attempt)) else { return Vec::new() };
        let mut adapted = match held.call {
            Some(call) => self.end_orphan(call, now, effects),
            None => Vec::new(),
        };
        let freed = self.governor.release(held.key, Used::AsReserved, Outcome::Unknown, now);
        adapted.extend(freed.unwrap_or_default());
        if let Some(lease) = held.lease {
            self.attempt_leases.give_back(lease, (&mut self.ledger, &mut self.governor), effects);
        }
        adapted
    }
}
