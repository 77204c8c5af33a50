//! May this start now?
//!
//! Pure: demands come in, grants go out, and nobody waits here. Knows nothing of plans, tasks or clocks; a demand is a
//! key with a rank. Invariants: never more grants outstanding than the limit; a demand that fits is never left waiting
//! (but for its place in the queue); every waiting demand is granted within a bound, because every eighth grant goes to
//! whoever has waited longest.

mod governor;
mod queue;

pub use governor::{Admission, Governor, Resource};
pub use queue::{Demand, Rank};
