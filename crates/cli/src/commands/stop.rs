//! `convoke stop`: asks the process that drives a run to stop it.

use crate::args::StopArgs;
use crate::clock;
use crate::console::Console;
use crate::driving::survivors;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_failpoint::failpoint;
use convoke_journal::{Inbox, Message, StateDir, live_owner};
use convoke_model::RunId;

/// Leaves the message and names the process that will read it.
pub fn run(console: &Console, args: &StopArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let run = stored::find(&state, &args.run)?;
    console.conclude(&ask(&state, &run, args.now, stored::actor("convoke stop"))?);
    Ok(Exit::Success)
}

/// Asks the process that drives a run to stop it, and ends what goes on without one; what was done, in words.
pub(crate) fn ask(state: &StateDir, run: &RunId, now: bool, by: String) -> Result<String, CommandFailure> {
    let Some(holder) = live_owner(state, run)? else {
        if let ended @ 1.. = convoke_tools::end_alone(&survivors::folder(state, run)) {
            let commands = convoke_model::counted(ended as u32, "command", "commands");
            return Ok(format!("ended {commands} of run {run} that went on without a process"));
        }
        return Ok(format!("run {run} is not driven by any process; there is nothing to stop"));
    };
    failpoint!("stop.before_send");
    Inbox::send(state, run, clock::now(), &Message::Stop { now, by })?;
    failpoint!("stop.sent");
    crate::cluster::pass_on(state, run)?;
    Ok(format!("asked {holder} to stop run {run}"))
}
