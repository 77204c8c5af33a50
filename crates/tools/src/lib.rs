//! Child processes and the tools they offer: process groups, bounded output, clean ends, MCP servers.
//!
//! [`Processes`] runs the commands of script steps for `agent`. Whatever a command starts ends with it, or at the
//! latest with its cancellation; what a crash of the engine leaves behind is found and ended by [`end_leftovers`].
//! [`Mcp`] starts the servers that workflows name and calls their tools. Time limits of steps are the scheduler's: it
//! cancels.

mod capture;
mod environment;
mod group;
mod launch;
mod leftovers;
mod mcp;
mod process;
mod spawn;

pub use environment::Environment;
pub use leftovers::{Leftovers, end_leftovers};
pub use mcp::{Limits, Lookup, MakeClient, Mcp};
pub use process::Processes;
