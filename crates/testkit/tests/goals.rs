//! From a goal to its answer, in a simulated world: planned, spawned, recovered, rejoined and answered; cut off at every
//! commit and resumed; steered by people; and never better than its tasks.

mod again;
mod calls;
mod collecting;
mod contracts;
mod decisions;
mod golden;
mod honesty;
mod in_part;
pub(crate) mod kit;
mod leaving_out;
mod many;
mod material;
mod not_collected;
mod people;
mod planning;
mod random;
mod recovering;
mod resuming;
mod taken_up;
mod tools;
