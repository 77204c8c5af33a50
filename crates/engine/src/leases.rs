//! Who holds what of the capacity that all processes share, and who waits for it. Pure: the table itself is asked by
//! `steward`.
//!
//! Keeps true: a holder has at most one wish or one lease; every lease goes back once. A lease whose holder has ended is
//! passed on to the next one that wants the same, within one turn, as long as no other process waits.

use crate::terms::{AskNo, CallNo, Fence, Return, Want};
use convoke_schedule::TaskIx;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// What is wanted together.
pub(crate) type Wants = Arc<[Want]>;

/// Who needs a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Holder {
    Attempt(TaskIx),
    Call(CallNo),
}

#[derive(Debug, Default)]
pub(crate) struct Leases {
    last: u64,
    asked: HashMap<AskNo, (Holder, Wants)>,
    asking: HashMap<Holder, AskNo>,
    held: HashMap<Holder, (Fence, Wants)>,
    /// Leases whose holders have ended in this turn.
    idle: Vec<(Fence, Wants)>,
    /// Leases that ran out while they were held.
    lost: HashSet<Fence>,
}

impl Leases {
    /// Gives a holder what an earlier one has left, if that is the same.
    pub fn take_over(&mut self, holder: Holder, wants: &Wants) -> Option<Fence> {
        let at = self.idle.iter().position(|(_, idle)| idle == wants)?;
        let (fence, wants) = self.idle.swap_remove(at);
        self.held.insert(holder, (fence, wants));
        Some(fence)
    }

    /// Notes a wish.
    pub fn ask(&mut self, holder: Holder, wants: Wants) -> AskNo {
        self.last += 1;
        let ask = AskNo(self.last);
        self.asking.insert(holder, ask);
        self.asked.insert(ask, (holder, wants));
        ask
    }

    /// The table granted a wish. `None` if nobody has it any more; then the lease goes back with this turn.
    pub fn granted(&mut self, ask: AskNo, fence: Fence) -> Option<Holder> {
        let Some((holder, wants)) = self.asked.remove(&ask) else {
            self.idle.push((fence, Arc::default()));
            return None;
        };
        self.asking.remove(&holder);
        self.held.insert(holder, (fence, wants));
        Some(holder)
    }

    /// The table cannot grant a wish, ever.
    pub fn refused(&mut self, ask: AskNo) -> Option<Holder> {
        let (holder, _) = self.asked.remove(&ask)?;
        self.asking.remove(&holder);
        Some(holder)
    }

    /// Takes a wish back.
    pub fn withdraw(&mut self, holder: Holder) -> Option<AskNo> {
        let ask = self.asking.remove(&holder)?;
        self.asked.remove(&ask);
        Some(ask)
    }

    /// What a wish is for.
    pub fn wants(&self, ask: AskNo) -> Option<Wants> {
        self.asked.get(&ask).map(|(_, wants)| wants.clone())
    }

    /// Who has a wish.
    pub fn asker(&self, ask: AskNo) -> Option<Holder> {
        self.asked.get(&ask).map(|(holder, _)| *holder)
    }

    /// The lease of a holder.
    pub fn fence(&self, holder: Holder) -> Option<Fence> {
        self.held.get(&holder).map(|(fence, _)| *fence)
    }

    /// A holder has ended. What it leaves can be taken over in this turn, unless it ran out.
    pub fn end(&mut self, holder: Holder) -> Option<Return> {
        let (fence, wants) = self.held.remove(&holder)?;
        if self.lost.remove(&fence) {
            return Some(Return { fence, used: Vec::new() });
        }
        self.idle.push((fence, wants));
        None
    }

    /// A call has ended, having used this much of rates and budgets, for so long. Its lease goes back at once.
    pub fn settle(&mut self, holder: Holder, used: impl Fn(&Want) -> (u64, Duration)) -> Option<Return> {
        let (fence, wants) = self.held.remove(&holder)?;
        self.lost.remove(&fence);
        let rates = wants.iter().filter(|want| want.of.window.is_some());
        let used = rates.map(|want| {
            let (count, lasts) = used(want);
            (Want { of: want.of.clone(), count }, lasts)
        });
        Some(Return { fence, used: used.collect() })
    }

    /// What nobody has taken over.
    pub fn left_over(&mut self) -> impl Iterator<Item = Return> {
        self.idle.drain(..).map(|(fence, _)| Return { fence, used: Vec::new() })
    }

    /// Leases ran out: who held them.
    pub fn lose(&mut self, fences: &[u64]) -> Vec<(Holder, Fence)> {
        let gone = |fence: &Fence| fences.contains(&fence.0);
        let mut lost: Vec<_> = self
            .held
            .iter()
            .filter(|(_, (fence, _))| gone(fence))
            .map(|(holder, (fence, _))| (*holder, *fence))
            .collect();
        lost.sort_unstable();
        self.lost.extend(lost.iter().map(|(_, fence)| *fence));
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Counts, Shared};

    fn wants(name: &str, window: Option<std::time::Duration>) -> Wants {
        let (counts, origin) = (Counts::Slots, "test".into());
        let of = Shared { name: name.into(), limit: 1, origin, counts, window, says_spent: false };
        Arc::new([Want { of: Arc::new(of), count: 1 }])
    }

    const A: Holder = Holder::Attempt(TaskIx(1));
    const B: Holder = Holder::Attempt(TaskIx(2));

    fn held(leases: &mut Leases, holder: Holder, wants: &Wants, fence: u64) {
        let ask = leases.ask(holder, wants.clone());
        assert_eq!(leases.granted(ask, Fence(fence)), Some(holder));
    }

    #[test]
    fn a_lease_is_passed_on_within_a_turn_and_goes_back_at_its_end() {
        let (mut leases, machine) = (Leases::default(), wants("machine", None));
        held(&mut leases, A, &machine, 7);
        assert_eq!(leases.end(A), None);
        assert_eq!(leases.take_over(B, &wants("gpu", None)), None, "only what is the same");
        assert_eq!(leases.take_over(B, &machine), Some(Fence(7)));
        assert_eq!(leases.left_over().count(), 0);
        leases.end(B);
        assert_eq!(leases.left_over().map(|back| back.fence).collect::<Vec<_>>(), [Fence(7)]);
    }

    #[test]
    fn what_nobody_wants_any_more_goes_back() {
        let mut leases = Leases::default();
        let ask = leases.ask(A, wants("machine", None));
        assert_eq!(leases.withdraw(A), Some(ask));
        assert_eq!(leases.granted(ask, Fence(1)), None);
        assert_eq!(leases.left_over().count(), 1);
    }

    #[test]
    fn a_lease_that_ran_out_is_not_passed_on() {
        let (mut leases, machine) = (Leases::default(), wants("machine", None));
        held(&mut leases, A, &machine, 7);
        assert_eq!(leases.lose(&[7, 8]), [(A, Fence(7))]);
        assert_eq!(leases.end(A), Some(Return { fence: Fence(7), used: Vec::new() }));
        assert_eq!(leases.take_over(B, &machine), None);
    }

    #[test]
    fn of_rates_it_is_said_what_was_used() {
        let mut leases = Leases::default();
        let call = Holder::Call(CallNo(1));
        held(&mut leases, call, &wants("tokens", Some(std::time::Duration::from_secs(60))), 3);
        let used = |_: &Want| (12, Duration::from_secs(60));
        let back = leases.settle(call, used).unwrap();
        assert_eq!((back.fence, back.used[0].0.count), (Fence(3), 12));
        assert_eq!(leases.settle(call, used), None, "once");
    }
}
