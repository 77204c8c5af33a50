//! `convoke stop`: asks the process that drives a run to stop it.

use crate::args::StopArgs;
use crate::clock;
use crate::console::Console;
use crate::driving::survivors;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_failpoint::failpoint;
use convoke_journal::{Inbox, Message, live_owner};

/// Leaves the message and names the process that will read it.
pub fn run(console: &Console, args: &StopArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let run = stored::find(&state, &args.run)?;
    let Some(holder) = live_owner(&state, &run)? else {
        if let ended @ 1.. = convoke_tools::end_alone(&survivors::folder(&state, &run)) {
            let commands = convoke_model::counted(ended as u32, "command", "commands");
            console.conclude(&format!("ended {commands} of run {run} that went on without a process"));
            return Ok(Exit::Success);
        }
        console.conclude(&format!("run {run} is not driven by any process; there is nothing to stop"));
        return Ok(Exit::Success);
    };
    let message = Message::Stop { now: args.now, by: stored::actor("convoke stop") };
    failpoint!("stop.before_send");
    Inbox::send(&state, &run, clock::now(), &message)?;
    failpoint!("stop.sent");
    console.conclude(&format!("asked {holder} to stop run {run}"));
    Ok(Exit::Success)
}
