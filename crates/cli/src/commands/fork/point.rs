//! `--at`: the last event that is copied.

use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored::Stored;
use convoke_schedule::task_of;

/// The number of the last event that is copied: the one that is named, or the one before a task's first.
pub fn of(base: &Stored, at: Option<&str>) -> Result<u64, CommandFailure> {
    let last = base.events.last().map_or(0, |event| event.seq);
    let Some(at) = at else { return Ok(last) };
    match at.parse::<u64>() {
        Ok(seq) if (1..=last).contains(&seq) => Ok(seq),
        Ok(seq) => {
            let words = format!("run `{}` has no event {seq}: its events are 1 to {last}", base.run);
            Err(CommandFailure::new(Exit::Usage, words)
                .hint(format!("convoke events {} lists them", base.run)))
        }
        Err(_) => before_task(base, at),
    }
}

fn before_task(base: &Stored, name: &str) -> Result<u64, CommandFailure> {
    let first = base.events.iter().find(|event| task_of(&event.event).is_some_and(|task| *task.0 == *name));
    if let Some(first) = first {
        return Ok(first.seq.saturating_sub(1).max(1));
    }
    let failure = CommandFailure::new(Exit::Usage, format!("run `{}` has no task `{name}`", base.run));
    let names = base.events.iter().filter_map(|event| task_of(&event.event)).map(|task| &*task.0);
    Err(match convoke_model::nearest(name, names) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!("convoke show {} lists its tasks", base.run)),
    })
}
