//! Calls that have all that they need, and whose service was paused meanwhile.
//!
//! Between a call's slot and its lease some process may be told to come back later, which holds for all. Such a call keeps what
//! it has and is made when the pause is over.

use super::{Call, OpenCalls};
use crate::capacity::permits::Permits;
use crate::capacity::terms::CallNo;
use crate::core::Effect;
use convoke_model::Timestamp;

impl OpenCalls {
    /// The next moment at which a postponed call may be made.
    pub fn next_postponed(&self) -> Option<Timestamp> {
        self.postponed.iter().map(|(until, _)| *until).min()
    }
}

impl Permits {
    /// A call has its lease, or needs none: it may be made, unless its service is paused.
    pub(crate) fn leased_call(&mut self, call: CallNo, now: Timestamp, effects: &mut Vec<Effect>) {
        // One that was refused meanwhile gives its lease back when its attempt has heard so.
        let is_waiting = self.calls.open.get(&call).is_some_and(Call::is_waiting);
        match self.paused_for(call, now) {
            _ if !is_waiting => {}
            Some(until) => self.calls.postponed.push((until, call)),
            None => self.admit_call(call, now, effects),
        }
    }

    /// Lets calls go on whose services are not paused any more.
    pub(crate) fn admit_postponed(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        for (until, call) in std::mem::take(&mut self.calls.postponed) {
            match until <= now {
                true => self.leased_call(call, now, effects),
                false => self.calls.postponed.push((until, call)),
            }
        }
    }

    /// Until when the service of a call is paused, if it is.
    fn paused_for(&mut self, call: CallNo, now: Timestamp) -> Option<Timestamp> {
        let service = self.calls.open.get(&call)?.service.clone()?;
        service.slots().filter_map(|id| self.governor.paused_until(id, now)).max()
    }
}
