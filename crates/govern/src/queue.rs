//! Who is next: class, then stated priority, then age; and every eighth time, age alone.

use std::collections::{BTreeMap, HashMap};

/// How a demand stands against others; smaller comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rank {
    /// Interactive, standard, batch.
    pub class: u8,
    /// Critical to background.
    pub priority: u8,
}

/// Somebody who wants to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Who it is; at most one demand per key waits at a time.
    pub key: u32,
    /// How it stands against others.
    pub rank: Rank,
}

/// Every so many grants one goes to the longest waiting, whatever its rank.
const AGE_TURN: u64 = 8;

/// Demands that wait. All operations take logarithmic time.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    by_rank: BTreeMap<(Rank, u64), u32>,
    by_age: BTreeMap<u64, Rank>,
    places: HashMap<u32, (Rank, u64)>,
    arrivals: u64,
    taken: u64,
}

impl Queue {
    /// Adds a demand; false if its key waits already.
    pub fn push(&mut self, demand: Demand) -> bool {
        if self.places.contains_key(&demand.key) {
            return false;
        }
        self.arrivals += 1;
        self.places.insert(demand.key, (demand.rank, self.arrivals));
        self.by_rank.insert((demand.rank, self.arrivals), demand.key);
        self.by_age.insert(self.arrivals, demand.rank);
        true
    }

    pub fn remove(&mut self, key: u32) -> bool {
        let Some((rank, age)) = self.places.remove(&key) else { return false };
        self.by_rank.remove(&(rank, age));
        self.by_age.remove(&age);
        true
    }

    /// Takes whoever is next.
    pub fn pop(&mut self) -> Option<u32> {
        let (rank, age) = if (self.taken + 1).is_multiple_of(AGE_TURN) {
            self.by_age.first_key_value().map(|(age, rank)| (*rank, *age))?
        } else {
            self.by_rank.first_key_value().map(|(place, _)| *place)?
        };
        let key = self.by_rank.remove(&(rank, age)).expect("both orders hold the same demands");
        self.by_age.remove(&age);
        self.places.remove(&key);
        self.taken += 1;
        Some(key)
    }

    pub fn peek(&self) -> Option<u32> {
        self.by_rank.first_key_value().map(|(_, key)| *key)
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }
}
