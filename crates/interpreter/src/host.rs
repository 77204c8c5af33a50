//! The host's half: starts workers, gives them programs, and stays alive whatever they do.

mod interpreter;
mod link;
mod replay;
mod workers;

pub use interpreter::{Interpreter, Origin, Program};
pub use replay::{Recorded, Turn};
pub use workers::{WorkerCommand, Workers};
