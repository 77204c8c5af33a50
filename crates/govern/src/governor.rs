//! The slots of one process: how many attempts may run at once.

use crate::queue::{Demand, Queue};
use std::collections::HashSet;
use std::fmt;

/// What a demand may have to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Attempts at once.
    Slots,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Slots => f.write_str("slots"),
        }
    }
}

/// The answer to a demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The longest or most urgent waiting demand may start now.
    Granted(u32),
    /// Nobody may, before this is free again.
    BlockedOn(Resource),
    /// Nobody waits.
    Idle,
}

/// Grants permits from a number of slots.
#[derive(Debug)]
pub struct Governor {
    limit: usize,
    held: HashSet<u32>,
    queue: Queue,
}

impl Governor {
    /// A governor with this many slots; at least one.
    pub fn new(limit: u32) -> Governor {
        Governor { limit: limit.max(1) as usize, held: HashSet::new(), queue: Queue::default() }
    }

    /// Takes a demand into the queue. A key that waits or holds a permit already is not taken twice.
    pub fn demand(&mut self, demand: Demand) -> bool {
        !self.held.contains(&demand.key) && self.queue.push(demand)
    }

    /// Takes a demand back; false if it does not wait.
    pub fn withdraw(&mut self, key: u32) -> bool {
        self.queue.remove(key)
    }

    /// Grants one permit, if there is one to grant and somebody to take it.
    pub fn admit(&mut self) -> Admission {
        if self.queue.len() == 0 {
            return Admission::Idle;
        }
        if self.held.len() >= self.limit {
            return Admission::BlockedOn(Resource::Slots);
        }
        let key = self.queue.pop().expect("somebody waits");
        self.held.insert(key);
        Admission::Granted(key)
    }

    /// Takes a permit back; false if the key holds none, which is a mistake of the caller's to record.
    #[must_use]
    pub fn release(&mut self, key: u32) -> bool {
        self.held.remove(&key)
    }

    /// Permits outstanding.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Demands waiting.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Who would be granted next, age turns aside.
    pub fn next(&self) -> Option<u32> {
        self.queue.peek()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Rank;
    use proptest::prelude::*;

    fn demand(key: u32, class: u8, priority: u8) -> Demand {
        Demand { key, rank: Rank { class, priority } }
    }

    #[test]
    fn urgent_first_then_oldest() {
        let mut governor = Governor::new(9);
        for (key, priority) in [(1, 2), (2, 0), (3, 2), (4, 1)] {
            assert!(governor.demand(demand(key, 1, priority)));
        }
        let order: Vec<_> = (0..4).map(|_| governor.admit()).collect();
        assert_eq!(order, [2, 4, 1, 3].map(Admission::Granted));
        assert_eq!(governor.admit(), Admission::Idle);
    }

    #[test]
    fn the_eighth_grant_goes_to_the_longest_waiting() {
        let mut governor = Governor::new(100);
        governor.demand(demand(0, 2, 4));
        (1..=20).for_each(|key| assert!(governor.demand(demand(key, 0, 0))));
        let order: Vec<_> = (0..8).map(|_| governor.admit()).collect();
        assert_eq!(order.last(), Some(&Admission::Granted(0)));
    }

    #[test]
    fn a_blocked_demand_takes_nothing() {
        let mut governor = Governor::new(1);
        governor.demand(demand(1, 0, 0));
        governor.demand(demand(2, 0, 0));
        assert_eq!(governor.admit(), Admission::Granted(1));
        assert_eq!(governor.admit(), Admission::BlockedOn(Resource::Slots));
        assert_eq!((governor.held(), governor.waiting()), (1, 1));
        assert!(governor.release(1));
        assert!(!governor.release(1), "a second release is a mistake that is told");
        assert_eq!(governor.admit(), Admission::Granted(2));
    }

    proptest! {
        #[test]
        fn never_exceeds_a_limit_and_never_idles_with_work(
            limit in 1u32..5,
            steps in prop::collection::vec((0u32..30, 0u8..3, 0u8..5, 0u8..4), 1..300),
        ) {
            let mut governor = Governor::new(limit);
            for (key, class, priority, what) in steps {
                match what {
                    0 | 1 => { governor.demand(demand(key, class, priority)); }
                    2 => { governor.withdraw(key); }
                    _ => { let _ = governor.release(key); }
                }
                while let Admission::Granted(_) = governor.admit() {}
                prop_assert!(governor.held() <= limit as usize);
                prop_assert!(governor.waiting() == 0 || governor.held() == limit as usize);
            }
        }
    }
}
