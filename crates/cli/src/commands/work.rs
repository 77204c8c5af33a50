//! `convoke work`: performs attempts of other processes' runs, and nothing of its own.

use crate::args::WorkArgs;
use crate::console::Console;
use crate::driving::{Host, Signal, Signals, machine_capacity};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_handover::{Claimant, LocalSlots, Stop, default_slots};
use convoke_model::RunId;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Takes tasks until there are none, or until it is told to stop.
pub fn run(console: &Console, args: &WorkArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let table = Arc::new(machine_capacity::watch(&state, "work")?);
    let slots = LocalSlots::new(args.at_once.unwrap_or_else(default_slots));
    // No limit is needed: a claimant sends each reason once, and there is one per run and cause.
    let (sender, reasons) = unbounded_channel();
    let host = Host::of_this_process(&console.config.sandbox, &console.config.rulebook).map_err(unusable)?;
    let run_folder = Arc::new(move |run: &RunId| state.run_dir(run));
    let claimant = Arc::new(Claimant::new(run_folder, table, slots, host).with_reasons(sender));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(unusable)?;
    let idle = Duration::from_secs(args.idle_seconds);
    let (done, signal) = runtime.block_on(attend(console, claimant, reasons, idle)).map_err(unusable)?;
    runtime.shutdown_background();
    console.conclude(&format!("performed {} of other runs", crate::view::format::plural(done, "task")));
    Ok(match signal {
        None => Exit::Success,
        Some(signal) => signal.exit(),
    })
}

/// Works, and listens to signals: the first lets what was begun end, SIGTERM, SIGHUP and the second do not.
async fn attend(
    console: &Console,
    claimant: Arc<Claimant>,
    mut reasons: UnboundedReceiver<String>,
    idle: Duration,
) -> io::Result<(u64, Option<Signal>)> {
    let mut signals = Signals::listen()?;
    let mut working = std::pin::pin!(claimant.clone().work(Some(idle)));
    let mut first = None;
    loop {
        tokio::select! {
            done = &mut working => return Ok((done?, first)),
            Some(reason) = reasons.recv() => console.say(&reason),
            signal = signals.next() => {
                // What it gives up is performed elsewhere at once, so a shutdown does not wait for it.
                let at_once = first.is_some() || signal != Signal::Interrupt;
                first.get_or_insert(signal);
                console.say(if at_once { "stopping at once" } else { signal.advice() });
                if at_once {
                    convoke_tools::end_at_once();
                }
                claimant.stop(if at_once { Stop::AtOnce } else { Stop::AfterTasks });
            }
        }
    }
}

fn unusable(error: io::Error) -> CommandFailure {
    CommandFailure::new(Exit::State, format!("cannot work for others: {error}"))
}
