//! Work sharing (`--share`): other processes perform attempts of this run, and this process performs theirs while it has room.

use super::credentials::Credentials;
use super::equipment::Equipment;
use super::host::Host;
use super::machine_capacity::longest_call;
use super::signals::Signals;
use crate::args::RunFlags;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::view::format;
use convoke_agent::Executor;
use convoke_engine::Shares;
use convoke_handover::{
    BackgroundTasks, Claimant, LocalSlots, Owner, SharedRun, Stop, Timeouts, default_slots,
};
use convoke_journal::StateDir;
use convoke_model::{JsonText, RunId};
use convoke_plan::Plan;
use std::io;
use std::sync::Arc;
use tokio_util::task::AbortOnDropHandle;

/// Both sides of sharing.
pub struct WorkSharing {
    owner: Owner,
    slots: Arc<LocalSlots>,
    claimant: Arc<Claimant>,
    working: AbortOnDropHandle<io::Result<u64>>,
}

impl WorkSharing {
    /// Opens the run to others and goes to work for them.
    pub fn begin(
        state: &StateDir,
        run: &RunId,
        plan: &Plan,
        equipment: &Equipment,
        shares: &Shares,
        flags: &RunFlags,
    ) -> Result<WorkSharing, CommandFailure> {
        let table = &shares.table;
        let secrets = equipment.secrets().named().map(|(name, _)| name.to_owned());
        let host = Host::of_this_process(equipment.ground(), equipment.rulebook()).map_err(unusable)?;
        let host = host.keeping(secrets);
        let slots = LocalSlots::new(flags.keep.unwrap_or_else(default_slots));
        let shared = SharedRun {
            run: run.clone(),
            settings: JsonText::of(&Credentials::of(plan).run_settings()),
            inner: equipment.executor(),
            table: table.clone(),
            slots: slots.clone(),
            host: host.clone(),
            silence: shares.time_to_live,
            longest: longest_call(plan),
            silent: BackgroundTasks::default(),
            end_leftovers: Arc::new(|pid, start| {
                convoke_tools::end_leftovers(pid, start);
            }),
            timeouts: Timeouts::default(),
        };
        let owner = Owner::open(&state.run_dir(run), shared).map_err(unusable)?;
        let folders = state.clone();
        let run_folder = Arc::new(move |run: &RunId| folders.run_dir(run));
        let claimant = Arc::new(Claimant::new(run_folder, table.clone(), slots.clone(), host));
        let working = AbortOnDropHandle::new(tokio::spawn(claimant.clone().work(None)));
        Ok(WorkSharing { owner, slots, claimant, working })
    }

    /// Performs the run's attempts.
    pub fn executor(&self) -> Arc<dyn Executor> {
        self.owner.executor()
    }

    /// Takes nothing more from others.
    pub fn stop_taking(&self) {
        self.claimant.stop(Stop::AfterTasks);
    }

    /// The run is over. What was begun for others may end, unless a person is in a hurry.
    pub async fn end(self, console: &Console, in_a_hurry: bool) {
        drop(self.owner);
        self.claimant.stop(if in_a_hurry { Stop::AtOnce } else { Stop::AfterTasks });
        let left = self.slots.taken();
        if left > 0 && !in_a_hurry {
            let tasks = format::plural(left.into(), "task");
            console.say(&format!("waiting for {tasks} of other runs; Ctrl-C gives them up"));
        }
        let mut working = self.working;
        if let Ok(mut signals) = Signals::listen() {
            tokio::select! {
                _ = &mut working => return,
                _ = signals.next() => self.claimant.stop(Stop::AtOnce),
            }
        }
        let _ = working.await;
    }
}

fn unusable(error: io::Error) -> CommandFailure {
    CommandFailure::new(Exit::State, format!("the run cannot be shared: {error}"))
}
