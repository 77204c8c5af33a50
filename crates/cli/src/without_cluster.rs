//! In place of `cluster` where the program is built without it: an address of a cluster is refused by name.

use crate::args::{ClusterCommand, Command, WorkerArgs};
use crate::console::Console;
use crate::driving::Drive;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_journal::StateDir;
use convoke_model::RunId;

/// No cluster.
pub struct Session;

impl Session {
    /// Nothing is left to be done.
    pub fn leave(&self, _well: bool) {}
}

/// A command that works with a state folder goes on; one that is to work with a cluster is refused.
pub fn enter(_command: &Command, console: &Console) -> Result<(Console, Session), CommandFailure> {
    match &console.config.cluster {
        None => Ok((console.clone(), Session)),
        Some(address) => Err(missing(&format!("`{address}` is a cluster"))),
    }
}

/// Never: there is no cluster.
pub fn is_entered() -> bool {
    false
}

/// Nothing is kept elsewhere.
pub fn pass_on(_state: &StateDir, _run: &RunId) -> Result<(), CommandFailure> {
    Ok(())
}

/// Never called, because no cluster is entered.
pub fn drive(_drive: Drive<'_>) -> Result<Exit, CommandFailure> {
    Err(missing("the run is kept on a cluster"))
}

/// `convoke worker`.
pub fn worker(_console: &Console, _args: &WorkerArgs) -> Result<Exit, CommandFailure> {
    Err(missing("`convoke worker` works for a cluster"))
}

/// `convoke cluster`.
pub fn command(_console: &Console, _command: &ClusterCommand) -> Result<Exit, CommandFailure> {
    Err(missing("`convoke cluster` starts a cluster"))
}

fn missing(what: &str) -> CommandFailure {
    CommandFailure::new(
        Exit::Usage,
        format!("{what}, and this convoke was built without the feature `cluster`"),
    )
    .hint("build it with `--features cluster`, or name a folder: --state-dir DIR")
}
