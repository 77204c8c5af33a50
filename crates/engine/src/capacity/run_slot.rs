//! A run's place among the runs that all processes of the machine may have at once. Pure: the table is asked by `steward`.
//!
//! Where there is such a limit, every attempt needs a resource of the governor of which there is nothing until the place is
//! had, and then no end. So a run that waits for its place says so like everybody who waits, and asks for nothing else
//! meanwhile: whoever holds a place may wait for the machine, and nobody the other way round. The place is kept until
//! this process is done with the run. If it ran out while the process was away, nothing more is begun; what runs may end, and then
//! the run waits for a place like a new one.

use crate::capacity::terms::{AskNo, Fence, Return, Want};
use convoke_govern::{Governor, ResourceId, Spec};

/// As the table and people call it.
pub(crate) const ORCHESTRATIONS: &str = "orchestrations";

/// More attempts than a run can have.
const ENOUGH: u64 = 1_000_000_000;

/// The place of a run.
#[derive(Debug)]
pub(crate) struct Berth {
    resource: ResourceId,
    want: Want,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Lacking,
    Asked {
        ask: AskNo,
        queued: bool,
    },
    Held(Fence),
    /// Ran out; attempts that were begun on it may still run.
    Lost(Fence),
}

impl Berth {
    /// A run that has no place yet.
    pub fn new(want: Want, governor: &mut Governor) -> Berth {
        let resource =
            governor.add(Spec::slots(ORCHESTRATIONS, ENOUGH)).expect("a new name and a good number");
        governor.set_share(resource, Some(0));
        Berth { resource, want, state: State::Lacking }
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
        number: impl FnOnce() -> AskNo,
    ) -> (Option<Return>, Option<(AskNo, Want)>) {
        let mut back = None;
        if let State::Lost(fence) = self.state
            && governor.held() == 0
        {
            (self.state, back) = (State::Lacking, Some(Return { fence, used: Vec::new() }));
        }
        if self.state != State::Lacking || governor.waiting() == 0 {
            return (back, None);
        }
        let ask = number();
        self.state = State::Asked { ask, queued: false };
        (back, Some((ask, self.want.clone())))
    }

    /// The machine has granted a wish. False if it was another one.
    pub fn granted(&mut self, wish: AskNo, fence: Fence, governor: &mut Governor) -> bool {
        let ours = self.is_asked(wish);
        if ours {
            self.state = State::Held(fence);
            governor.set_share(self.resource, None);
        }
        ours
    }

    /// The machine has as many runs as it may have.
    pub fn queued(&mut self, wish: AskNo) {
        if let State::Asked { ask, queued } = &mut self.state {
            *queued |= *ask == wish;
        }
    }

    /// Whether waiting for it is worth telling: a place that was only just asked for is not.
    pub fn is_waited_for(&self) -> bool {
        matches!(self.state, State::Asked { queued: true, .. } | State::Lost(_))
    }

    /// What a wish is for, if it is this one.
    pub fn wants(&self, wish: AskNo) -> Option<&Want> {
        self.is_asked(wish).then_some(&self.want)
    }

    /// The wish can never be granted. False if it was another one.
    pub fn refused(&mut self, wish: AskNo) -> bool {
        let ours = self.is_asked(wish);
        if ours {
            self.state = State::Lacking;
        }
        ours
    }

    fn is_asked(&self, wish: AskNo) -> bool {
        matches!(self.state, State::Asked { ask, .. } if ask == wish)
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

    fn berth() -> (Berth, Governor) {
        let mut governor = Governor::new(8);
        let (name, origin, counts) = (ORCHESTRATIONS.into(), "test".into(), Counts::Slots);
        let of = Arc::new(Shared { name, limit: 1, origin, counts, window: None, says_spent: false });
        let berth = Berth::new(Want { of, count: 1 }, &mut governor);
        (berth, governor)
    }

    fn demand(berth: &Berth, governor: &mut Governor, key: u64) {
        let needs = [Amount::of(governor.resource("slots").unwrap(), 1), Amount::of(berth.resource(), 1)];
        governor.demand(Demand { key, rank: Rank::default(), needs: &needs }, NOW).unwrap();
    }

    #[test]
    fn nothing_begins_before_the_place_is_had_and_nobody_asks_before_it_is_of_use() {
        let (mut berth, mut governor) = berth();
        assert_eq!(berth.settle(&governor, || AskNo(1)), (None, None));
        demand(&berth, &mut governor, 7);
        assert!(matches!(governor.admit(NOW), Admission::Blocked { on, .. } if on == berth.resource()));
        assert!(berth.settle(&governor, || AskNo(1)).1.is_some());
        assert_eq!(berth.settle(&governor, || AskNo(2)), (None, None), "once");
        assert!(!berth.is_waited_for());
        berth.queued(AskNo(1));
        assert!(berth.is_waited_for());
        assert!(berth.granted(AskNo(1), Fence(3), &mut governor));
        assert_eq!(governor.admit(NOW), Admission::Granted(7));
        assert_eq!(berth.leave().map(|back| back.fence), Some(Fence(3)));
        assert_eq!(berth.leave(), None, "once");
    }

    #[test]
    fn a_place_that_ran_out_goes_back_when_nothing_runs_on_it_any_more() {
        let (mut berth, mut governor) = berth();
        demand(&berth, &mut governor, 7);
        berth.settle(&governor, || AskNo(1));
        berth.granted(AskNo(1), Fence(3), &mut governor);
        assert_eq!(governor.admit(NOW), Admission::Granted(7));
        berth.lose(&[3], &mut governor);
        demand(&berth, &mut governor, 8);
        assert!(matches!(governor.admit(NOW), Admission::Blocked { .. }), "nothing new begins");
        assert_eq!(berth.settle(&governor, || AskNo(2)), (None, None));
        governor.release(7, Used::AsReserved, Outcome::Succeeded, NOW).unwrap();
        let (back, asked) = berth.settle(&governor, || AskNo(2));
        assert_eq!(
            (back.map(|back| back.fence), asked.map(|(ask, _)| ask)),
            (Some(Fence(3)), Some(AskNo(2)))
        );
    }
}
