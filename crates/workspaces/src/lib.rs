//! Workspaces of tasks: git worktrees and blocks of ports, as leases, and the way of their work back.
//!
//! A lease is a record (a file) below the state directory, written before anything is made and removed after everything is gone, so
//! that what a crash left is found by the next process. Git is the program `git`, in an environment of our own (`git`); nothing
//! here reads the user's configuration but that of the repository itself.
//!
//! [`Leases`] makes, merges and lets go; its calls wait for disk and git and are made on threads that may. [`WorkspaceExecutor`] puts
//! an attempt into its workspace and brings the work back before the attempt ends. Which task has a workspace, and when a lease
//! is over, is decided by the scheduler; the journal says what happened.
//!
//! Kept true: a folder with something in it that no commit has is never removed; a port belongs to one lease at a time; a checked-out
//! branch moves only where nothing in its checkout is changed; a target branch moves by compare-and-swap alone.

mod conflict;
mod error;
mod executor;
mod forecast;
mod git;
mod lease;
mod leases;
mod lock;
mod merge;
mod naming;
mod ports;
mod record;
mod release;
mod repository;
mod status;
mod worktree;

pub use error::Trouble;
pub use executor::{FORECAST_PERIOD, WorkspaceExecutor};
pub use git::Surroundings;
pub use lease::Lease;
pub use leases::{Cleaned, Leases};
pub use merge::Merged;
pub use record::{Record, Standing};
