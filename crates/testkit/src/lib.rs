//! A simulated world for tests: a virtual clock, scripted attempts, injected faults, crashes.
//!
//! [`World`] drives the engine's own deciding half ([`convoke_engine::Core`]), so what holds here holds for the code that
//! ships. Nothing waits: time jumps to the next thing that happens. The same seed gives the same events.

mod random;
mod sources;
mod world;

pub use random::Random;
pub use sources::{Files, plan_of};
pub use world::{Behaviour, Ended, World};
