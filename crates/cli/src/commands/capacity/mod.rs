//! `convoke capacity`: every limit that the processes of a state folder share, its holders and the requests that wait for it.
//!
//! Looking takes no part and needs no lock, so it works while the table is stuck, and names the process that blocks it.

pub(crate) mod forget;
mod json;
mod runs;
pub(crate) mod set;
mod text;

pub use json::millis;

use crate::args::{CapacityArgs, CapacityCommand, Format};
use crate::console::Console;
use crate::driving::machine_capacity::table_path;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_capacity::{Capacity, Snapshot};
use std::path::PathBuf;

/// The message without a table.
pub const NOTHING_SHARED: &str =
    "no run of this state folder has shared capacity since the machine was started";

/// Shows the table, or changes a limit of it.
pub fn run(console: &Console, args: &CapacityArgs) -> Result<Exit, CommandFailure> {
    match &args.command {
        Some(CapacityCommand::Set(set)) => return set::run(console, &set.limits),
        Some(CapacityCommand::Forget(forget)) => return forget::run(console, forget.service.as_deref()),
        None => {}
    }
    let (path, snapshot) = look(console)?;
    let state = stored::for_reading(console);
    let inside = snapshot.as_ref().map(|snapshot| runs::waiting(&state, snapshot)).unwrap_or_default();
    match (args.format, snapshot) {
        (Format::Json, snapshot) => console.json(&json::table(&path, snapshot.as_ref(), &inside))?,
        (Format::Text, Some(snapshot)) => console.data(&text::table(&snapshot, &inside))?,
        (Format::Text, None) => console.say(NOTHING_SHARED),
    }
    Ok(Exit::Success)
}

/// The table's path, and how it looks at this moment; `None` if there is none. A process that blocks it is named.
pub fn look(console: &Console) -> Result<(PathBuf, Option<Snapshot>), CommandFailure> {
    let path = table_path(&stored::for_reading(console));
    let snapshot = if path.exists() { Capacity::observe(&path)? } else { None };
    if let Some(holder) = snapshot.as_ref().and_then(stuck) {
        console.warn(&format!("{holder} is stopped while it holds the table: nothing can be granted"));
        console.hint(&advice(holder.pid));
    }
    Ok((path, snapshot))
}

/// A process that holds the table and is stopped.
fn stuck(snapshot: &Snapshot) -> Option<Holder> {
    let pid = snapshot.held_by?;
    let instance = snapshot.instances.iter().find(|instance| instance.pid == pid && instance.stopped)?;
    Some(Holder { pid, run: instance.run.clone() })
}

/// A process, as messages name it.
struct Holder {
    pid: u32,
    run: String,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.run.as_str() {
            "" => write!(f, "process {}", self.pid),
            run => write!(f, "process {} (run {run})", self.pid),
        }
    }
}

/// What to do about a process that is stopped.
pub fn advice(pid: u32) -> String {
    format!("`kill -CONT {pid}` lets it go on; `kill -KILL {pid}` ends it, and its run can be resumed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_capacity::{Instance, Liveness};
    use std::time::Duration;

    fn instance(pid: u32, stopped: bool) -> Instance {
        Instance {
            pid,
            label: "w".into(),
            run: "r1".into(),
            working_dir: 0,
            age: Duration::ZERO,
            silent_for: Duration::ZERO,
            liveness: Liveness::Alive,
            stopped,
            leases: 0,
            waiting: 0,
        }
    }

    #[test]
    fn only_a_stopped_process_that_holds_the_table_is_named() {
        let holder = |held_by: Option<u32>| {
            let instances = vec![instance(7, true), instance(8, false)];
            stuck(&Snapshot { instances, held_by, ..Snapshot::default() }).map(|holder| holder.to_string())
        };
        assert_eq!(holder(Some(7)).as_deref(), Some("process 7 (run r1)"));
        assert_eq!((holder(Some(8)), holder(None)), (None, None));
    }
}
