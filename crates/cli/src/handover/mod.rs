//! Work that another process of the same state directory performs: whole attempts, handed over one by one.
//!
//! The owner of a run keeps everything that decides: permits, leases, the journal. Only *performing* an attempt moves.
//! `owner` offers one when it is full and somebody else has room; a thief claims it in the table, comes to the owner's
//! socket with its claim, is shown the task, says whether it has what the task needs, and begins when it is told `Go`.
//! From there on its [`EngineLink`](convoke_agent::EngineLink) is a socket (`line`), at whose other end the real one answers
//! (`serve`). What a task needs is in `needs`, what is said on the socket in `wire`.
//!
//! Kept true: an attempt is performed here or there, never both, because `Go` is said once for each offer (`desk`) and
//! nothing begins before it. An owner whose thief is gone after `Go` treats the attempt as a crash does; a thief whose
//! owner is gone stops the attempt and forgets it.

mod desk;
mod line;
mod link;
mod needs;
mod owner;
mod seats;
mod serve;
mod socket;
mod tasks;
mod thief;
mod wire;

pub use needs::folder_key;
pub use owner::{Lent, Owner};
pub use seats::{Seats, usual_seats};
pub use tasks::Tasks;
pub use thief::{Thief, Told};
