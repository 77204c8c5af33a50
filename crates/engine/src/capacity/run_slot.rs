//! A run's place among the runs that all processes of the machine may have at once. Pure: the table is asked by `client`.
//!
//! Where there is such a limit, every attempt needs a resource of the governor of which there is nothing until the place is
//! had, and then no end. So a run that waits for its place says so like everybody who waits, and asks for nothing else
//! meanwhile: whoever holds a place may wait for the machine, and nobody the other way round. The place is kept until
//! this process is done with the run. If it ran out while the process was away, nothing more is begun; what runs may end, and then
//! the run waits for a place like a new one.

use crate::capacity::terms::{Fence, RequestNo, Return, Want};
use convoke_govern::{Governor, ResourceId, Spec};

/// As the table and people call it.
pub(crate) const ORCHESTRATIONS: &str = "orchestrations";

/// More attempts than a run can have.
const ENOUGH: u64 = 1_000_000_000;

/// The place of a run.
#[derive(Debug)]
pub(crate) struct RunSlot {
    resource: ResourceId,
    want: Want,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Lacking,
    Asked {
        request: RequestNo,
        queued: bool,
    },
    Held(Fence),
    /// Ran out; attempts that were begun on it may still run.
    Lost(Fence),
}

impl RunSlot {
    /// A run that has no place yet.
    pub fn new(want: Want, governor: &mut Governor) -> RunSlot {
        let resource =
            governor.add(Spec::slots(ORCHESTRATIONS, ENOUGH)).expect("a new name and a good number");
        governor.set_share(resource, Some(0));
        RunSlot { resource, want, state: State::Lacking }
    }

    /// What every attempt needs one of.
    pub fn resource(&self) -> ResourceId {
        self.resource
    }

    /// Whether attempts may begin.
    pub fn is_held(&self) -> bool {
        matches!(self.state, State::Held(_))
    }

    /// Asks for the place if somebody waits for it. What was lost goes back once nothing runs on it any more.
    pub fn settle(
        &mut self,
        governor: &Governor,
        number: impl FnOnce() -> RequestNo,
    ) -> (Option<Return>, Option<(RequestNo, Want)>) {
        let mut back = None;
        if let State::Lost(fence) = self.state
            && governor.held() == 0
        {
            (self.state, back) = (State::Lacking, Some(Return { fence, used: Vec::new() }));
        }
        if self.state != State::Lacking || governor.waiting() == 0 {
            return (back, None);
        }
        let request = number();
        self.state = State::Asked { request, queued: false };
        (back, Some((request, self.want.clone())))
    }

    /// The machine has granted a request. False if it was another one.
    pub fn granted(&mut self, request: RequestNo, fence: Fence, governor: &mut Governor) -> bool {
        let ours = self.is_asked(request);
        if ours {
            self.state = State::Held(fence);
            governor.set_share(self.resource, None);
        }
        ours
    }

    /// The machine has as many runs as it may have.
    pub fn queued(&mut self, request: RequestNo) {
        if let State::Asked { request: asked, queued } = &mut self.state {
            *queued |= *asked == request;
        }
    }

    /// Whether waiting for it is worth telling: a place that was only just asked for is not.
    pub fn is_waited_for(&self) -> bool {
        matches!(self.state, State::Asked { queued: true, .. } | State::Lost(_))
    }

    /// What a request is for, if it is this one.
    pub fn wants(&self, request: RequestNo) -> Option<&Want> {
        self.is_asked(request).then_some(&self.want)
    }

    /// The request can never be granted. False if it was another one.
    pub fn refused(&mut self, request: RequestNo) -> bool {
        let ours = self.is_asked(request);
        if ours {
            self.state = State::Lacking;
        }
        ours
    }

    fn is_asked(&self, request: RequestNo) -> bool {
        matches!(self.state, State::Asked { request: asked, .. } if asked == request)
    }

    /// Leases ran out.
    pub fn lose(&mut self, fences: &[u64], governor: &mut Governor) {
        if let State::Held(fence) = self.state
            && fences.contains(&fence.0)
        {
            self.state = State::Lost(fence);
            governor.set_share(self.resource, Some(0));
        }
    }

    /// This process is done with the run.
    pub fn leave(&mut self) -> Option<Return> {
        match std::mem::replace(&mut self.state, State::Lacking) {
            State::Held(fence) | State::Lost(fence) => Some(Return { fence, used: Vec::new() }),
            State::Lacking | State::Asked { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::terms::{Counts, Shared};
    use convoke_govern::{Admission, Amount, Demand, Outcome, Rank, Used};
    use convoke_model::Timestamp;
    use std::sync::Arc;

    const NOW: Timestamp = Timestamp(1);

    fn run_slot() -> (RunSlot, Governor) {
        let mut governor = Governor::new(8);
        let (name, origin, counts) = (ORCHESTRATIONS.into(), "test".into(), Counts::Slots);
        let of = Arc::new(Shared { name, limit: 1, origin, counts, window: None, says_spent: false });
        let run_slot = RunSlot::new(Want { of, count: 1 }, &mut governor);
        (run_slot, governor)
    }

    fn demand(run_slot: &RunSlot, governor: &mut Governor, key: u64) {
        let needs = [Amount::of(governor.resource("slots").unwrap(), 1), Amount::of(run_slot.resource(), 1)];
        governor.demand(Demand { key, rank: Rank::default(), needs: &needs }, NOW).unwrap();
    }

    #[test]
    fn nothing_begins_before_the_place_is_had_and_nobody_asks_before_it_is_of_use() {
        let (mut run_slot, mut governor) = run_slot();
        assert_eq!(run_slot.settle(&governor, || RequestNo(1)), (None, None));
        demand(&run_slot, &mut governor, 7);
        assert!(matches!(governor.admit(NOW), Admission::Blocked { on, .. } if on == run_slot.resource()));
        assert!(run_slot.settle(&governor, || RequestNo(1)).1.is_some());
        assert_eq!(run_slot.settle(&governor, || RequestNo(2)), (None, None), "once");
        assert!(!run_slot.is_waited_for());
        run_slot.queued(RequestNo(1));
        assert!(run_slot.is_waited_for());
        assert!(run_slot.granted(RequestNo(1), Fence(3), &mut governor));
        assert_eq!(governor.admit(NOW), Admission::Granted(7));
        assert_eq!(run_slot.leave().map(|back| back.fence), Some(Fence(3)));
        assert_eq!(run_slot.leave(), None, "once");
    }

    #[test]
    fn a_place_that_ran_out_goes_back_when_nothing_runs_on_it_any_more() {
        let (mut run_slot, mut governor) = run_slot();
        demand(&run_slot, &mut governor, 7);
        run_slot.settle(&governor, || RequestNo(1));
        run_slot.granted(RequestNo(1), Fence(3), &mut governor);
        assert_eq!(governor.admit(NOW), Admission::Granted(7));
        run_slot.lose(&[3], &mut governor);
        demand(&run_slot, &mut governor, 8);
        assert!(matches!(governor.admit(NOW), Admission::Blocked { .. }), "nothing new begins");
        assert_eq!(run_slot.settle(&governor, || RequestNo(2)), (None, None));
        governor.release(7, Used::AsReserved, Outcome::Succeeded, NOW).unwrap();
        let (back, asked) = run_slot.settle(&governor, || RequestNo(2));
        assert_eq!(
            (back.map(|back| back.fence), asked.map(|(request, _)| request)),
            (Some(Fence(3)), Some(RequestNo(2)))
        );
    }
}
