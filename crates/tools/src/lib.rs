//! Commands and the tools that servers offer: bounded output, clean ends, MCP servers.
//!
//! [`Processes`] runs the commands of script steps for `agent`. Whatever a command starts ends with it, or at the
//! latest with its cancellation; what a crash of the engine leaves behind is found and ended by [`end_leftovers`].
//! [`Mcp`] starts the servers that workflows name and calls their tools. [`Hands`] are tools of our own in front of them: files, and a shell. [`Workers`] runs programs of models, each in a
//! process of our own binary that does nothing but [`serve_programs`]. How processes are started and ended is
//! `convoke_process`'s. Time limits of steps are the scheduler's: it cancels;
//! a limit on silence is kept here, because only the reader of its streams knows whether a command is silent.

mod beside;
mod builtin;
mod capture;
mod environment;
mod launch;
mod mcp;
mod process;
mod programs;
mod proof;
mod silence;
mod surviving;

pub use beside::start_beside;
pub use builtin::{
    GivenStatements, Graph, GraphScope, Hands, Held, NoShell, ReadCedar, Rulebook, Sandboxed, Shell,
    read_policy,
};
pub use convoke_interpreter::WorkerCommand;
pub use convoke_interpreter::worker::serve as serve_programs;
pub use convoke_process::{
    Leftovers, MARK, end_at_once, end_leftovers, has_marked_ancestor, raise_descriptor_limit,
};
pub use environment::Environment;
pub use mcp::{Limits, Lookup, MakeClient, Mcp};
pub use process::Processes;
pub use programs::Workers;
pub use proof::{Evaluator, Inspector};
pub use surviving::{Alone, alone, end_alone};
