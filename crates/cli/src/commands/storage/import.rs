//! `convoke import`: an exported run becomes a run of this state folder.

use super::export::STANDARD;
use crate::args::{Format, ImportArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::view::format::plural;
use convoke_journal::{Imported, import};
use serde_json::json;
use std::fs::File;
use std::io;

/// Takes the file in, after everything in it was verified.
pub fn run(console: &Console, args: &ImportArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let done = match args.file.as_os_str() == STANDARD {
        true => import(&state, &mut io::stdin().lock(), &args.file)?,
        false => {
            let mut file = File::open(&args.file).map_err(|error| {
                let words = format!("`{}` cannot be read: {error}", args.file.display());
                CommandFailure::new(Exit::Usage, words)
            })?;
            import(&state, &mut file, &args.file)?
        }
    };
    match args.format {
        Format::Json => console.json(&json!({
            "run": done.run,
            "imported": !done.was_there,
            "events": done.events,
            "blobs": done.blobs,
            "messages": done.messages,
            "live": done.live,
        }))?,
        Format::Text => console.data(&text(&done))?,
    }
    if done.live && !done.was_there {
        let last = done.events;
        console.warn(&format!(
            "a process drove the run when it was exported, at event {last}: do not resume it here if it goes on there"
        ));
    }
    Ok(Exit::Success)
}

fn text(done: &Imported) -> String {
    let Imported { run, was_there: true, .. } = done else {
        let (events, blobs) = (plural(done.events, "event"), plural(done.blobs, "blob"));
        return format!("{} is imported and whole: {events}, {blobs}", done.run);
    };
    format!("{run} is here already, with the same events: nothing was changed")
}
