//! Whether a run started this command: an agent must not answer for the person that it asks.
//!
//! Every command that a run starts carries a mark in its environment, and so does what that starts. A child can take the mark
//! out of its environment, but not out of that of its ancestors, and cannot leave its supervisor, which every orphan below it is
//! handed to. So the ancestors are looked at too. Processes of the same user that attack each other (killing a supervisor,
//! debugging a shell outside) are not kept apart: `docs/explanation/security.md` says so.

use crate::args::{CapacityCommand, Command, TrustCommand};
use crate::env;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use std::sync::LazyLock;

/// Whether this process was started by a step of a run, at whatever distance.
pub fn is_inside() -> bool {
    static INSIDE: LazyLock<bool> =
        LazyLock::new(|| env::get(convoke_tools::MARK).is_some() || convoke_tools::has_marked_ancestor());
    *INSIDE
}

/// Refuses a command that changes a run from outside where it is given from inside of one.
pub fn may_give(command: &Command) -> Result<(), CommandFailure> {
    match changes_a_run(command) {
        Some(name) if is_inside() => Err(refusal(name)),
        _ => Ok(()),
    }
}

fn refusal(name: &str) -> CommandFailure {
    let message = format!(
        "`convoke {name}` is refused: it was started by a step of a run, which does not decide for people"
    );
    CommandFailure::new(Exit::Inside, message).hint(
        "give the command in a shell of your own; a step may start runs (`convoke run`) and look at them",
    )
}

/// The name of a command that decides something about a run that exists, or takes one away.
fn changes_a_run(command: &Command) -> Option<&'static str> {
    match command {
        Command::Answer(args) if args.gate.is_some() => Some("answer"),
        Command::Stop(_) => Some("stop"),
        Command::Guide(_) => Some("guide"),
        Command::Resume(args) if args.flags.skip_gates => Some("resume --skip-gates"),
        Command::Resume(args) if args.accept_changes => Some("resume --accept-changes"),
        Command::Resume(args) if !args.retry.is_empty() => Some("resume --retry"),
        Command::Resume(args) if args.bounds.is_stated() => Some("resume with other bounds"),
        Command::Fork(args) if args.flags.skip_gates => Some("fork --skip-gates"),
        Command::Fork(args) if args.repeat_effects => Some("fork --repeat-effects"),
        Command::Fork(args) if !args.set.is_empty() => Some("fork --set"),
        Command::Run(args) if args.reuse.is_some() && args.flags.skip_gates => {
            Some("run --reuse --skip-gates")
        }
        Command::Run(args) if args.reuse.is_some() && args.repeat_effects => {
            Some("run --reuse --repeat-effects")
        }
        Command::Import(_) => Some("import"),
        Command::Secrets(_) => Some("secrets"),
        Command::Trust(args) if !matches!(args.command, Some(TrustCommand::List(_))) => Some("trust"),
        Command::Serve(_) => Some("serve"),
        Command::Repair(_) => Some("repair"),
        Command::Prune(_) => Some("prune"),
        Command::Capacity(args) if matches!(args.command, Some(CapacityCommand::Set(_))) => {
            Some("capacity set")
        }
        _ => None,
    }
}
