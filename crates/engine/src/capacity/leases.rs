//! Which calls hold what of the capacity that all processes share, and which wait for it. Pure: the table itself is asked
//! by `client`. What attempts hold is in `holdings`.
//!
//! Keeps true: a call has at most one request or one lease; every lease goes back once.

use crate::capacity::terms::{CallNo, Fence, RequestNo, Return, Want};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// What is wanted together.
pub(crate) type Wants = Arc<[Want]>;

/// How many requests that were taken back are remembered: their leases may be on the way.
const REMEMBERED: u64 = 4096;

#[derive(Debug, Default)]
pub(crate) struct Leases {
    last: u64,
    asked: HashMap<RequestNo, (CallNo, Wants)>,
    asking: HashMap<CallNo, RequestNo>,
    held: HashMap<CallNo, (Fence, Wants)>,
    /// Requests that were taken back.
    withdrawn: HashMap<RequestNo, Wants>,
}

impl Leases {
    /// A new number for a request.
    pub fn number(&mut self) -> RequestNo {
        self.last += 1;
        RequestNo(self.last)
    }

    /// Notes a request.
    pub fn ask(&mut self, call: CallNo, wants: Wants) -> RequestNo {
        let request = self.number();
        self.asking.insert(call, request);
        self.asked.insert(request, (call, wants));
        request
    }

    /// The table granted a request. If nobody has it any more, the lease goes back, unused.
    pub fn granted(&mut self, request: RequestNo, fence: Fence) -> Result<CallNo, Return> {
        let Some((call, wants)) = self.asked.remove(&request) else {
            let wants = self.withdrawn.remove(&request).unwrap_or_default();
            return Err(unused(fence, &wants));
        };
        self.asking.remove(&call);
        self.held.insert(call, (fence, wants));
        Ok(call)
    }

    /// The table cannot grant a request, ever.
    pub fn refused(&mut self, request: RequestNo) -> Option<CallNo> {
        let (call, _) = self.asked.remove(&request)?;
        self.asking.remove(&call);
        Some(call)
    }

    /// Takes a request back.
    pub fn withdraw(&mut self, call: CallNo) -> Option<RequestNo> {
        let request = self.asking.remove(&call)?;
        let (_, wants) = self.asked.remove(&request)?;
        self.withdrawn.insert(request, wants);
        self.withdrawn.retain(|old, _| old.0 + REMEMBERED > request.0);
        Some(request)
    }

    /// What a request is for.
    pub fn wants(&self, request: RequestNo) -> Option<Wants> {
        self.asked.get(&request).map(|(_, wants)| wants.clone())
    }

    /// What a call holds.
    pub fn held(&self, call: CallNo) -> &[Want] {
        self.held.get(&call).map_or(&[], |(_, wants)| wants)
    }

    /// A call has ended, having used this much of rates and budgets, for so long. Its lease goes back at once.
    pub fn settle(&mut self, call: CallNo, used: impl Fn(&Want) -> (u64, Duration)) -> Option<Return> {
        let (fence, wants) = self.held.remove(&call)?;
        Some(returned(fence, &wants, used))
    }

    /// Leases ran out: which calls held them.
    pub fn lose(&mut self, fences: &[u64]) -> Vec<(CallNo, Fence)> {
        let held = self.held.iter().map(|(call, (fence, _))| (*call, *fence));
        let mut lost: Vec<_> = held.filter(|(_, fence)| fences.contains(&fence.0)).collect();
        lost.sort_unstable();
        lost
    }
}

fn unused(fence: Fence, wants: &[Want]) -> Return {
    returned(fence, wants, |_| (0, Duration::ZERO))
}

/// What counts on after its use is said; everything else is free again.
fn returned(fence: Fence, wants: &[Want], used: impl Fn(&Want) -> (u64, Duration)) -> Return {
    let counted = wants.iter().filter(|want| want.of.window.is_some());
    let used = counted.map(|want| {
        let (count, lasts) = used(want);
        (Want { of: want.of.clone(), count }, lasts)
    });
    Return { fence, used: used.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::terms::{Counts, Shared};

    const CALL: CallNo = CallNo(1);

    fn wants() -> Wants {
        let (counts, origin) = (Counts::Tokens, "test".into());
        let window = Some(Duration::from_secs(60));
        let of = Shared { name: "tokens".into(), limit: 100, origin, counts, window, says_spent: false };
        Arc::new([Want { of: Arc::new(of), count: 50 }])
    }

    #[test]
    fn of_rates_it_is_said_what_was_used() {
        let mut leases = Leases::default();
        let request = leases.ask(CALL, wants());
        assert_eq!(leases.granted(request, Fence(3)), Ok(CALL));
        let used = |_: &Want| (12, Duration::from_secs(60));
        let back = leases.settle(CALL, used).unwrap();
        assert_eq!((back.fence, back.used[0].0.count), (Fence(3), 12));
        assert_eq!(leases.settle(CALL, used), None, "once");
    }

    #[test]
    fn what_nobody_wants_any_more_goes_back_unused() {
        let mut leases = Leases::default();
        let request = leases.ask(CALL, wants());
        assert_eq!(leases.withdraw(CALL), Some(request));
        let back = leases.granted(request, Fence(3)).unwrap_err();
        assert_eq!((back.fence, back.used[0].0.count), (Fence(3), 0), "nothing of the rate is gone");
    }
}
