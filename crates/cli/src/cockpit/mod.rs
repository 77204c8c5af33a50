//! `convoke top`: the cockpit on a terminal.
//!
//! What it shows and what its keys mean is decided by `convoke_cockpit`, which is pure. Here is what it leaves out: `reading` looks at the
//! runs by the folds of the server, on a thread of its own; `doing` hands in what a person decides, by the code of the commands; `screen` is
//! the terminal. Nothing of it drives a run, and no run waits for it.

mod doing;
mod reading;
mod screen;

use crate::caller;
use crate::console::Console;
use crate::driving::Signals;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::serving::CommandHost;
use crate::{clock, stored};
use convoke_cockpit::draw::Theme;
use convoke_cockpit::{Cockpit, Effect, Input, Permission};
use convoke_journal::StateDir;
use convoke_server::Host;
use convoke_server::looking::Looking;
use screen::Screen;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Between two looks at the clock where nothing happens.
const TICK: Duration = Duration::from_millis(250);

/// What reaches the loop.
enum Happened {
    /// Something for the model.
    Input(Input),
    /// The window has another size.
    Resized,
    /// The terminal or a signal ends it.
    Ended,
}

/// Shows the runs of a state folder until the person leaves.
pub fn run(console: &Console) -> Result<Exit, CommandFailure> {
    screen::require()?;
    let state = stored::for_reading(console);
    let host: Arc<dyn Host> = Arc::new(CommandHost {
        console: console.clone(),
        state: state.clone(),
        folders: Vec::new(),
        named: false,
    });
    let cannot = |error: std::io::Error| CommandFailure::new(Exit::Failed, format!("cannot start: {error}"));
    let looking = Looking::at(state.clone(), host.clone()).map_err(cannot)?;
    let (sender, happened) = channel();
    signals(sender.clone())?;
    let reader = reading::start(looking, sender.clone()).map_err(cannot)?;
    let theme = Theme { colors: console.paint.is_on() };
    let screen = Screen::open().map_err(cannot)?;
    screen::keys(sender.clone()).map_err(cannot)?;
    let doer = doing::Doer { state: state.clone(), host, sender };
    show(cockpit(&state), screen, theme, &happened, &reader, &doer)?;
    Ok(Exit::Success)
}

fn cockpit(state: &StateDir) -> Cockpit {
    let permission = match caller::is_inside() {
        false => Permission::Given,
        true => Permission::Refused(
            "this was started by a step of a run, which does not decide for people: looking is all it may do"
                .into(),
        ),
    };
    Cockpit::new(state.path().display().to_string(), permission, clock::now())
}

fn show(
    mut cockpit: Cockpit,
    mut screen: Screen,
    theme: Theme,
    happened: &Receiver<Happened>,
    reader: &reading::Reader,
    doer: &doing::Doer,
) -> Result<(), CommandFailure> {
    reader.look(cockpit.focus());
    loop {
        screen.draw(&mut cockpit, theme).map_err(CommandFailure::from)?;
        let mut next = match happened.recv_timeout(TICK) {
            Ok(happened) => Some(happened),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        cockpit.step(Input::Tick(clock::now()));
        // Everything that is there is taken before the next frame: a flood of looks costs one.
        while let Some(one) = next.take() {
            let input = match one {
                Happened::Input(input) => input,
                Happened::Resized => break,
                Happened::Ended => return Ok(()),
            };
            for effect in cockpit.step(input) {
                match effect {
                    Effect::Quit => return Ok(()),
                    Effect::Look(focus) => reader.look(focus),
                    effect => {
                        doer.perform(effect);
                        reader.wake();
                    }
                }
            }
            next = happened.try_recv().ok();
        }
    }
}

/// A signal ends it as `q` does: the terminal is given back.
fn signals(sender: Sender<Happened>) -> Result<(), CommandFailure> {
    let failed = |error: std::io::Error| CommandFailure::new(Exit::Failed, error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let listen = move || {
        runtime.block_on(async {
            if let Ok(mut signals) = Signals::listen() {
                signals.next().await;
                sender.send(Happened::Ended).ok();
            }
        });
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop).map_err(failed)
}
