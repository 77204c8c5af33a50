//! `convoke events`: what happened in a run, as it was recorded.

use crate::args::{EventsArgs, Format};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::paint::Paint;
use crate::stored;
use crate::view::{format, line};
use convoke_journal::{Reader, StateDir, live_owner};
use convoke_model::{RunId, Stamped};
use convoke_view::{Outline, State};
use std::time::Duration;

/// How often a followed journal is looked at.
const PAUSE: Duration = Duration::from_millis(200);

/// Prints the events, and with `-f` those that come.
pub fn run(console: &Console, args: &EventsArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_reading(console);
    let run = stored::find(&state, &args.run)?;
    let reader = Reader::open(&state, &run)?;
    let mut printer = Printer::new(console, args.format);
    loop {
        // Asked before reading: what a process wrote before it let go is still printed.
        let driven = args.follow && is_driven(&state, &run)?;
        printer.print_new(&reader)?;
        if !driven {
            return Ok(Exit::Success);
        }
        std::thread::sleep(PAUSE);
    }
}

fn is_driven(state: &StateDir, run: &RunId) -> Result<bool, CommandFailure> {
    Ok(live_owner(state, run)?.is_some())
}

struct Printer<'a> {
    console: &'a Console,
    format: Format,
    paint: Paint,
    state: State,
    next: u64,
}

impl<'a> Printer<'a> {
    fn new(console: &'a Console, format: Format) -> Printer<'a> {
        let paint = Paint::for_stdout(console.config.color);
        Printer { console, format, paint, state: State::new(Outline::default()), next: 1 }
    }

    fn print_new(&mut self, reader: &Reader) -> Result<(), CommandFailure> {
        let mut text = String::new();
        reader.read(self.next, &mut |stamped| {
            text.push_str(&self.line(&stamped));
            self.state.apply(&stamped);
            self.next = stamped.seq + 1;
        })?;
        match self.format {
            _ if text.is_empty() => Ok(()),
            Format::Json => self.console.json_lines(&text),
            Format::Text => self.console.data(&text),
        }
    }

    fn line(&self, stamped: &Stamped) -> String {
        match self.format {
            Format::Json => serde_json::to_string(stamped).expect("events are JSON") + "\n",
            Format::Text => match line(&self.state, stamped, self.paint) {
                Some(words) => format!("{:>6} {} {words}\n", stamped.seq, format::clock(stamped.at)),
                None => String::new(),
            },
        }
    }
}
