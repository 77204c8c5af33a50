//! The tables that deciders look things up in: quicker than the standard library's, and seeded anew in each process.
//!
//! Their order is never looked at: what is decided follows from the journal alone.

use foldhash::fast::RandomState;

/// A map.
pub type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// A set.
pub type HashSet<T> = std::collections::HashSet<T, RandomState>;

/// A map that keeps the order in which its entries came.
pub type OrderedMap<K, V> = indexmap::IndexMap<K, V, RandomState>;
