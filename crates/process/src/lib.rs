//! Child processes: started from one thread, ended as a whole.
//!
//! A [`Launcher`] starts a process and gives its [`Group`], which is it and everything it starts, and its [`Pipes`].
//! The holder of the group decides when it is asked to end, and when it is made to; [`OnDrop`] says what becomes of one
//! that is merely let go of. A process that is told to stop at once gives none of them time (`hurry`). Each has a supervisor (`supervisor`) that ends all of it when the engine dies; should that one
//! have been killed too, what is left is found and ended by [`end_leftovers`]. Commands,
//! arguments and variables, and what is said on the streams, are the callers' business.
//!
//! A child gets no descriptor but its three, leads a group of its own, carries a mark that its descendants inherit, and
//! dies with the engine, unless it was started to outlive it (`survivor`): then its supervisor records what becomes of it.

mod exec;
mod group;
mod hurry;
mod launcher;
mod leftovers;
mod peer;
mod process;
mod room;
mod spawner;
mod supervisor;
mod survivor;

pub use group::{Group, OnDrop};
pub use hurry::{end_at_once, within};
pub use launcher::{Launcher, Pipes, Surviving};
pub use leftovers::{Leftovers, end_leftovers};
pub use peer::{Peer, peer};
pub use process::{MARK, Process, has_marked_ancestor, processes};
pub use room::{NO_ROOM_HINT, Shortage, is_shortage, raise_descriptor_limit};
pub use survivor::{Recorded, Slot, Standing, Stream, Survivor};
