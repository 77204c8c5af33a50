//! A run's slot among the runs that all processes of the machine may have at once. Pure: its request and its lease are kept by
//! the `ledger`.
//!
//! Where there is such a limit, every attempt needs a resource of the governor of which there is nothing until the slot is held,
//! and then no end. So a run that waits for its slot says so like everything that waits, and requests nothing else meanwhile: a
//! holder of a run slot may wait for the machine, and never the other way round. The slot is kept until this process is done with
//! the run. If it ran out while the process was away, nothing more is begun; what runs may end, and then the run waits for a slot
//! like a new one.

use crate::capacity::ledger::{Ledger, Purpose};
use crate::capacity::terms::{Return, Want, Wants};
use crate::core::Effect;
use convoke_govern::{Governor, ResourceId, Spec};
use std::sync::Arc;

/// As the table and people call it.
pub(crate) const ORCHESTRATIONS: &str = "orchestrations";

/// More attempts than a run can have.
const ENOUGH: u64 = 1_000_000_000;

/// The slot of a run.
#[derive(Debug)]
pub(crate) struct RunSlot {
    resource: ResourceId,
    wants: Wants,
}

impl RunSlot {
    /// A run that has no slot yet.
    pub fn new(want: Want, governor: &mut Governor) -> RunSlot {
        let resource =
            governor.add(Spec::slots(ORCHESTRATIONS, ENOUGH)).expect("a new name and a good number");
        governor.set_share(resource, Some(0));
        RunSlot { resource, wants: Arc::new([want]) }
    }

    /// What every attempt needs one of.
    pub fn resource(&self) -> ResourceId {
        self.resource
    }

    /// Whether attempts may begin.
    pub fn is_held(&self, ledger: &Ledger) -> bool {
        ledger.lease(Purpose::Run).is_some_and(|fence| !ledger.is_lost(fence))
    }

    /// Whether waiting for it is worth telling: a slot that was only just requested is not.
    pub fn is_waited_for(&self, ledger: &Ledger) -> bool {
        ledger.is_queued(Purpose::Run)
            || ledger.lease(Purpose::Run).is_some_and(|fence| ledger.is_lost(fence))
    }

    /// Requests the slot if an attempt waits for it. A lost one goes back once nothing runs on it any more.
    pub fn settle(&self, ledger: &mut Ledger, governor: &Governor, effects: &mut Vec<Effect>) {
        let lost = ledger.lease(Purpose::Run).filter(|fence| ledger.is_lost(*fence));
        if let Some(fence) = lost.filter(|_| governor.held() == 0) {
            effects.extend(ledger.give_back(fence).map(Effect::GiveBack));
        }
        let is_lacking = ledger.held(Purpose::Run) == 0 && ledger.open(Purpose::Run) == 0;
        if is_lacking && governor.waiting() > 0 {
            effects.push(ledger.request(Purpose::Run, self.wants.clone()));
        }
    }

    /// The slot is held: attempts may begin.
    pub fn granted(&self, governor: &mut Governor) {
        governor.set_share(self.resource, None);
    }

    /// The slot ran out: nothing more begins.
    pub fn lost(&self, governor: &mut Governor) {
        governor.set_share(self.resource, Some(0));
    }

    /// This process is done with the run.
    pub fn leave(&self, ledger: &mut Ledger) -> Option<Return> {
        let fence = ledger.lease(Purpose::Run)?;
        ledger.give_back(fence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::terms::{Counts, Fence, RequestNo, Shared};
    use convoke_govern::{Admission, Amount, Demand, Outcome, Rank, Used};
    use convoke_model::Timestamp;

    const NOW: Timestamp = Timestamp(1);

    fn slot() -> (RunSlot, Ledger, Governor) {
        let mut governor = Governor::new(8);
        let (name, origin, counts) = (ORCHESTRATIONS.into(), "test".into(), Counts::Slots);
        let of = Arc::new(Shared { name, limit: 1, origin, counts, window: None, says_spent: false });
        let slot = RunSlot::new(Want { of, count: 1 }, &mut governor);
        (slot, Ledger::default(), governor)
    }

    fn demand(slot: &RunSlot, governor: &mut Governor, key: u64) {
        let needs = [Amount::of(governor.resource("slots").unwrap(), 1), Amount::of(slot.resource(), 1)];
        governor.demand(Demand { key, rank: Rank::default(), needs: &needs }, NOW).unwrap();
    }

    /// The leases that go back and the requests that are made.
    fn settle(slot: &RunSlot, ledger: &mut Ledger, governor: &Governor) -> (Vec<u64>, Vec<u64>) {
        let mut effects = Vec::new();
        slot.settle(ledger, governor, &mut effects);
        let (mut back, mut requested) = (Vec::new(), Vec::new());
        for effect in effects {
            match effect {
                Effect::GiveBack(lease) => back.push(lease.fence.0),
                Effect::RequestLease { request, .. } => requested.push(request.0),
                _ => panic!("a run slot is requested and goes back"),
            }
        }
        (back, requested)
    }

    #[test]
    fn nothing_begins_before_the_slot_is_held_and_it_is_requested_once_it_is_of_use() {
        let (slot, mut ledger, mut governor) = slot();
        assert_eq!(settle(&slot, &mut ledger, &governor), (vec![], vec![]));
        demand(&slot, &mut governor, 7);
        assert!(matches!(governor.admit(NOW), Admission::Blocked { on, .. } if on == slot.resource()));
        assert_eq!(settle(&slot, &mut ledger, &governor), (vec![], vec![1]));
        assert_eq!(settle(&slot, &mut ledger, &governor), (vec![], vec![]), "once");
        assert!(!slot.is_waited_for(&ledger));
        ledger.queued(RequestNo(1));
        assert!(slot.is_waited_for(&ledger));
        assert_eq!(ledger.granted(RequestNo(1), Fence(3)), Ok(Purpose::Run));
        slot.granted(&mut governor);
        assert!(slot.is_held(&ledger) && !slot.is_waited_for(&ledger));
        assert_eq!(governor.admit(NOW), Admission::Granted(7));
        assert_eq!(slot.leave(&mut ledger).map(|back| back.fence), Some(Fence(3)));
        assert_eq!(slot.leave(&mut ledger), None, "once");
    }

    #[test]
    fn a_slot_that_ran_out_goes_back_when_nothing_runs_on_it_any_more() {
        let (slot, mut ledger, mut governor) = slot();
        demand(&slot, &mut governor, 7);
        settle(&slot, &mut ledger, &governor);
        ledger.granted(RequestNo(1), Fence(3)).unwrap();
        slot.granted(&mut governor);
        assert_eq!(governor.admit(NOW), Admission::Granted(7));
        ledger.lose(&[3]);
        slot.lost(&mut governor);
        demand(&slot, &mut governor, 8);
        assert!(matches!(governor.admit(NOW), Admission::Blocked { .. }), "nothing new begins");
        assert!(!slot.is_held(&ledger) && slot.is_waited_for(&ledger));
        assert_eq!(settle(&slot, &mut ledger, &governor), (vec![], vec![]));
        governor.release(7, Used::AsReserved, Outcome::Succeeded, NOW).unwrap();
        assert_eq!(settle(&slot, &mut ledger, &governor), (vec![3], vec![2]));
    }
}
