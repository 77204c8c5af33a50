//! A simulated world for tests: a virtual clock, attempts that succeed or fail by a script, crashes after any commit.
//!
//! [`World`] drives the engine's own deciding half ([`convoke_engine::Core`]), so what holds here holds for the code that
//! ships. Nothing waits: time jumps to the next thing that happens. The same seed gives the same events. [`machine`] has
//! several processes that share capacity and one service, and injects faults: processes that are killed, stopped and resumed,
//! leases that run out, performers that fall silent, commits that take long, services that fail and refuse. [`record`] is what
//! runs are compared by, simulated or not. [`events`] writes events down for tests of folds. [`ModelServer`] is for what needs a real network: a service on loopback that counts
//! what arrives.

pub mod events;
pub mod machine;
mod model_server;
mod project;
mod random;
mod record;
mod sources;
mod start;
mod world;

pub use model_server::{ModelServer, ModelService, Seen};
pub use project::Project;
pub use random::Random;
pub use record::{by_phase, out_of_order, record, unordered};
pub use sources::{Files, plan_of};
pub use world::{Behaviour, Ended, World};
