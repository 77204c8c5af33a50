//! `run` and `resume` on a cluster: the cluster drives the run, this command watches it, and a signal has the cluster let go of it.

use super::mirror::{Keeper, Mirror};
use super::{ENTERED, Entered, network, runtime};
use crate::clock;
use crate::commands::attach;
use crate::detaching;
use crate::driving::{Drive, cluster_options, conclude_stored, settings};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_cluster::{Begin, Reopen, RunOptions, unsupported};
use convoke_engine::{Changes, Limits, Start};
use convoke_journal::{Journal, Remote};
use convoke_model::{JsonText, RunStatus};

/// Drives a run, and says how it ended.
pub fn drive(drive: Drive<'_>) -> Result<Exit, CommandFailure> {
    let cluster = ENTERED.get().expect("the command has entered a cluster");
    require(&drive)?;
    let Drive { console, state, plan, journal, start, flags, .. } = drive;
    let (run, meta, settings) = (journal.run().clone(), journal.meta()?, settings(&plan));
    let (options, manner) = cluster_options(console, &state, &plan, flags, matches!(start, Start::Resume(_)));
    let options = RunOptions {
        max_concurrency: options.max_concurrency,
        interactive: options.interactive,
        limits: own_limits(options.limits)?,
    };
    let (host, pid, at) = (stored::ourselves().host, std::process::id(), clock::now());
    let is_new = journal.next_seq() <= 1 && matches!(start, Start::Fresh(_));
    let network = network()?;
    let asked = match start {
        Start::Fresh(started) => {
            let (plan, started) = (meta.plan, JsonText::of(&started));
            let begin = Begin { plan, started, options, settings, host, pid, at };
            network.block_on(cluster.client.begin(&run, &begin)).map(drop)
        }
        Start::Resume(Changes::None) => {
            let reopen = Reopen { options, settings, host, pid, at };
            network.block_on(cluster.client.reopen(&run, &reopen)).map(drop)
        }
        Start::Resume(Changes::Accept { .. }) => return Err(super::not_yet("resume --accept-changes")),
    };
    drop(journal);
    if let Err(error) = asked {
        if is_new {
            // The cluster may have heard of it all the same; then it is copied again when a command asks for it.
            std::fs::remove_dir_all(state.run_dir(&run)).ok();
        }
        return Err(error.into());
    }
    if Remote::read(&state, &run).is_none_or(|remote| !remote.is_live()) {
        let known = Remote::read(&state, &run).unwrap_or_default();
        let address = cluster.address.to_string();
        Remote { address, status: Some(RunStatus::Running), ..known }.write(&state, &run)?;
    }
    if let Some(from) = console.detached {
        detaching::let_go(from, &state, &run)?;
        return Ok(Exit::Success);
    }
    let mirror = Mirror::new(cluster.client.clone(), state.clone(), cluster.address.to_string());
    let keeper = Keeper::start(mirror, run.clone());
    let interrupt = |again: bool, by: &str| interrupt(cluster, &run, again, by);
    let ended = runtime()?.block_on(attach::watch_ours(console, &state, &run, manner, &interrupt));
    keeper.stop();
    match ended? {
        Some(signal) => {
            conclude_stored(console, &state, &run, flags.allow_partial, flags.in_words).map(|_| signal.exit())
        }
        None => conclude_stored(console, &state, &run, flags.allow_partial, flags.in_words),
    }
}

/// Has the cluster let go of the run. On a thread of its own: the watching goes on.
fn interrupt(cluster: &Entered, run: &convoke_model::RunId, again: bool, by: &str) {
    let (client, run, by) = (cluster.client.clone(), run.clone(), by.to_owned());
    std::thread::spawn(move || {
        if let Ok(network) = network() {
            network.block_on(client.interrupt(&run, clock::now(), again, &by)).ok();
        }
    });
}

/// Refuses what a cluster cannot keep, before anything is spent.
fn require(drive: &Drive<'_>) -> Result<(), CommandFailure> {
    let flags = drive.flags;
    let flag = [
        (drive.reusable.is_some(), "run --reuse"),
        (drive.equipment.uses_cassette(), "run --record/--replay"),
        (flags.share, "run --share"),
        (flags.web, "run --web"),
    ];
    if let Some((_, name)) = flag.into_iter().find(|(given, _)| *given) {
        return Err(super::not_yet(name));
    }
    match unsupported(&drive.plan) {
        Some(why) => {
            Err(CommandFailure::new(Exit::Refused, format!("this cannot run on a cluster yet: {why}"))
                .hint("name a state folder instead: --state-dir DIR"))
        }
        None => Ok(()),
    }
}

/// The limits that hold for one run. Those that are to hold for all runs together are refused: nothing of the cluster keeps them yet.
fn own_limits(limits: Limits) -> Result<Limits, CommandFailure> {
    let shared = [
        (limits.orchestrations.is_some(), "limits.orchestrations"),
        (!limits.services.is_empty(), "limits of services"),
        (!limits.tenants.is_empty(), "limits of tenants"),
        (!limits.resources.is_empty(), "limits of resources"),
        (limits.day.is_some(), "the budget of a day"),
    ];
    if let Some((_, what)) = shared.into_iter().find(|(stated, _)| *stated) {
        let words = format!("the configuration states {what}, and a cluster does not share limits yet");
        return Err(CommandFailure::new(Exit::Refused, words).hint(
            "take it out of the configuration for this command, or name a state folder: --state-dir DIR",
        ));
    }
    Ok(Limits { machine: None, follows_machine: false, ..limits })
}
