//! Command execution: process groups, bounded output, clean ends.
//!
//! [`Processes`] runs the commands of script steps for `agent`. Whatever a command starts ends with it, or at the
//! latest with its cancellation; what a crash of the engine leaves behind is found and ended by [`end_leftovers`].
//! Time limits are the scheduler's: it cancels.

mod capture;
mod environment;
mod group;
mod leftovers;
mod process;
mod spawn;

pub use environment::Environment;
pub use leftovers::{Leftovers, end_leftovers};
pub use process::Processes;
