//! Work stealing: attempts of a run that another process of the same state directory performs, handed over one by one.
//!
//! The owner process of a run keeps everything that decides: permits, leases, the journal. Only *performing* an attempt moves.
//! [`Owner`] offers an attempt in the capacity table when its process is full and another one has room. A [`Claimant`] claims the
//! offer, connects to the owner's socket, receives the task, checks that it meets the task's [`Requirements`], and begins when it
//! receives `Go`. From there on its attempt speaks on a `remote_link`, whose other end is the real link (`remote_attempt`).
//! `messages` lists what is sent on the socket.
//!
//! What a process has (its folder, its variables) and how it performs attempts comes in through three traits of `host`: this
//! crate reads no environment, knows no provider and no tool, and cannot reach a journal.
//!
//! Kept true: an attempt is performed here or there, never both, because `Go` is sent once for each offer (`claims`) and no
//! attempt begins before it. An owner whose claimant is gone after `Go` reports the attempt as lost, as after a crash. A
//! claimant whose owner is gone stops the attempt and forgets it.

mod background;
mod channel;
mod claimant;
mod claims;
mod host;
mod local_slots;
mod messages;
mod offers;
mod owner;
mod remote_attempt;
mod remote_link;
mod requirements;
mod socket;

pub use background::BackgroundTasks;
pub use claimant::{Claimant, RunFolder, Stop};
pub use host::{HostEnvironment, Performer, Performers};
pub use local_slots::{LocalSlots, default_slots};
pub use messages::{Permission, WireReport};
pub use owner::{EndLeftovers, Owner, SharedRun, Timeouts};
pub use requirements::{Requirements, folder_key};
