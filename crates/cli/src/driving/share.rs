//! A run that shares its work: others perform attempts of it, and this process performs theirs while it has room.

use super::equipment::Equipment;
use super::keys::Keys;
use super::sharing::longest_call;
use super::signals::Signals;
use crate::args::RunFlags;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::handover::{Lent, Owner, Seats, Tasks, Thief, Told, usual_seats};
use crate::view::words;
use convoke_engine::{Executor, Shares};
use convoke_journal::StateDir;
use convoke_model::RunId;
use convoke_plan::Plan;
use std::io;
use std::sync::Arc;
use tokio_util::task::AbortOnDropHandle;

/// Both sides of sharing.
pub struct Share {
    owner: Owner,
    seats: Arc<Seats>,
    thief: Arc<Thief>,
    working: AbortOnDropHandle<io::Result<u64>>,
}

impl Share {
    /// Opens the run to others and goes to work for them.
    pub fn begin(
        state: &StateDir,
        run: &RunId,
        plan: &Plan,
        equipment: &Equipment,
        shares: &Shares,
        flags: &RunFlags,
    ) -> Result<Share, CommandFailure> {
        let table = &shares.table;
        let seats = Seats::new(flags.keep.unwrap_or_else(usual_seats));
        let lent = Lent {
            run: run.clone(),
            gear: Keys::of(plan).gear(),
            inner: equipment.executor(),
            table: table.clone(),
            seats: seats.clone(),
            silence: shares.time_to_live,
            longest: longest_call(plan),
            silent: Tasks::default(),
        };
        let owner = Owner::open(&state.run_dir(run), lent).map_err(unusable)?;
        let thief = Arc::new(Thief::new(state.clone(), table.clone(), seats.clone()).map_err(unusable)?);
        let working = AbortOnDropHandle::new(tokio::spawn(thief.clone().work(None)));
        Ok(Share { owner, seats, thief, working })
    }

    /// Who performs the run's attempts.
    pub fn executor(&self) -> Arc<dyn Executor> {
        self.owner.executor()
    }

    /// Takes nothing more from others.
    pub fn stop_taking(&self) {
        self.thief.stop(Told::ToFinish);
    }

    /// The run is over. What was begun for others may end, unless a person is in a hurry.
    pub async fn end(self, console: &Console, in_a_hurry: bool) {
        drop(self.owner);
        self.thief.stop(if in_a_hurry { Told::ToStop } else { Told::ToFinish });
        let left = self.seats.taken();
        if left > 0 && !in_a_hurry {
            let tasks = words::plural(left.into(), "task");
            console.say(&format!("waiting for {tasks} of other runs; Ctrl-C gives them up"));
        }
        let mut working = self.working;
        if let Ok(mut signals) = Signals::listen() {
            tokio::select! {
                _ = &mut working => return,
                _ = signals.next() => self.thief.stop(Told::ToStop),
            }
        }
        let _ = working.await;
    }
}

fn unusable(error: io::Error) -> CommandFailure {
    CommandFailure::new(Exit::State, format!("the run cannot be shared: {error}"))
}
