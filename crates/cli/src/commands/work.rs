//! `convoke work`: performs attempts of other processes' runs, and nothing of its own.

use crate::args::WorkArgs;
use crate::console::Console;
use crate::driving::{Signal, Signals, sharing};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::handover::{Seats, Thief, Told, usual_seats};
use crate::stored;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Takes tasks until there are none, or until it is told to stop.
pub fn run(console: &Console, args: &WorkArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let table = Arc::new(sharing::watch(&state, "work")?);
    let seats = Seats::new(args.at_once.unwrap_or_else(usual_seats));
    let (voice, said) = unbounded_channel();
    let thief = Arc::new(Thief::new(state, table, seats).map_err(unusable)?.telling(voice));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(unusable)?;
    let idle = Duration::from_secs(args.idle_seconds);
    let (done, signal) = runtime.block_on(attend(console, thief, said, idle)).map_err(unusable)?;
    runtime.shutdown_background();
    console.conclude(&format!("performed {} of other runs", crate::view::words::plural(done, "task")));
    Ok(match signal {
        None => Exit::Success,
        Some(signal) => signal.exit(),
    })
}

/// Works, and listens to signals: the first lets what was begun end, SIGTERM, SIGHUP and the second do not.
async fn attend(
    console: &Console,
    thief: Arc<Thief>,
    mut said: UnboundedReceiver<String>,
    idle: Duration,
) -> io::Result<(u64, Option<Signal>)> {
    let mut signals = Signals::listen()?;
    let mut working = std::pin::pin!(thief.clone().work(Some(idle)));
    let mut first = None;
    loop {
        tokio::select! {
            done = &mut working => return Ok((done?, first)),
            Some(words) = said.recv() => console.say(&words),
            signal = signals.next() => {
                let at_once = first.is_some() || signal.is_at_once();
                first.get_or_insert(signal);
                console.say(if at_once { "stopping at once" } else { signal.advice() });
                thief.stop(if at_once { Told::ToStop } else { Told::ToFinish });
            }
        }
    }
}

fn unusable(error: io::Error) -> CommandFailure {
    CommandFailure::new(Exit::State, format!("cannot work for others: {error}"))
}
