//! `run` and `resume` on a cluster: the cluster drives the run, this command watches it, and a signal has the cluster let go of it.

use super::mirror::{Keeper, Mirror};
use super::{ENTERED, Entered, network, runtime};
use crate::clock;
use crate::commands::attach;
use crate::config::Config;
use crate::detaching;
use crate::driving::{Drive, cluster_options, conclude_stored, needed_secrets, settings};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::watch::Manner;
use convoke_cluster::{Begin, Reopen, RunOptions, unsupported};
use convoke_engine::{Changes, Limits, Start};
use convoke_journal::{Journal, Remote, StateDir};
use convoke_model::{JsonText, RunId, RunStatus};

/// Drives a run, and says how it ended.
pub fn drive(drive: Drive<'_>) -> Result<Exit, CommandFailure> {
    let cluster = ENTERED.get().expect("the command has entered a cluster");
    let (console, flags) = (drive.console, drive.flags);
    let (state, run) = (drive.state.clone(), drive.journal.run().clone());
    let is_new = drive.journal.next_seq() <= 1 && matches!(drive.start, Start::Fresh(_));
    let manner = match hand_over(cluster, drive) {
        Ok(manner) => manner,
        Err(error) => {
            if is_new {
                // The cluster may have heard of it all the same; then it is copied again when a command asks for it.
                std::fs::remove_dir_all(state.run_dir(&run)).ok();
            }
            return Err(error);
        }
    };
    note_live(&state, &run, cluster)?;
    let unheard = told_of_nothing(&console.config);
    unheard.iter().for_each(|words| console.warn(words));
    if let Some(from) = console.detached {
        detaching::let_go(from, &state, &run)?;
        return Ok(Exit::Success);
    }
    let mirror = Mirror::new(cluster.client.clone(), state.clone(), cluster.address.to_string());
    let keeper = Keeper::start(mirror, run.clone());
    let interrupt = |again: bool, by: &str| interrupt(cluster, &run, again, by);
    let ended = runtime()?.block_on(attach::watch_ours(console, &state, &run, manner, &interrupt));
    keeper.stop();
    let signal = ended?;
    let concluded = conclude_stored(console, &state, &run, flags.allow_partial, flags.in_words)?;
    Ok(signal.map_or(concluded, |signal| signal.exit()))
}

/// Has the cluster begin the run, or go on with it; how its questions are answered here. Nothing of an error has happened there, as far
/// as this process knows.
fn hand_over(cluster: &Entered, drive: Drive<'_>) -> Result<Option<Manner>, CommandFailure> {
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
    let network = network()?;
    match start {
        Start::Fresh(started) => {
            let (plan, started) = (meta.plan, JsonText::of(&started));
            let begin = Begin { plan, started, options, settings, host, pid, at };
            network.block_on(cluster.client.begin(&run, &begin))?;
        }
        Start::Resume(Changes::None) => {
            let reopen = Reopen { options, settings, host, pid, at };
            network.block_on(cluster.client.reopen(&run, &reopen))?;
        }
        Start::Resume(Changes::Accept { .. }) => return Err(super::not_yet("resume --accept-changes")),
        Start::Resume(Changes::Retry(_)) => return Err(super::not_yet("resume --retry")),
    }
    Ok(manner)
}

/// The copy says that the cluster drives the run, also before its first event is here.
fn note_live(state: &StateDir, run: &RunId, cluster: &Entered) -> Result<(), CommandFailure> {
    let known = Remote::read(state, run).unwrap_or_default();
    if !known.is_live() {
        let (address, status) = (cluster.address.to_string(), Some(RunStatus::Running));
        Remote { address, status, ..known }.write(state, run)?;
    }
    Ok(())
}

/// Has the cluster let go of the run. On a thread of its own: the watching goes on.
fn interrupt(cluster: &Entered, run: &RunId, again: bool, by: &str) {
    let (client, run, by) = (cluster.client.clone(), run.clone(), by.to_owned());
    std::thread::spawn(move || {
        if let Ok(network) = network() {
            network.block_on(client.interrupt(&run, clock::now(), again, &by)).ok();
        }
    });
}

/// Refuses what a cluster cannot keep, before anything is spent. Flags are refused before the command begins (`scope`).
fn require(drive: &Drive<'_>) -> Result<(), CommandFailure> {
    let secrets = needed_secrets(&drive.plan, &drive.console.config);
    let unfetched = secrets.keys().next().map(|name| {
        format!(
            "it needs the secret `{name}`, and workers have the variables of their process only (`${{NAME}}`)"
        )
    });
    match unsupported(&drive.plan).or(unfetched) {
        Some(why) => {
            Err(CommandFailure::new(Exit::Refused, format!("this cannot run on a cluster yet: {why}"))
                .hint("name a state folder instead: --state-dir DIR"))
        }
        None => Ok(()),
    }
}

/// What the configuration asks for at runs and no process does at those of a cluster.
fn told_of_nothing(config: &Config) -> Option<String> {
    let stated = [
        (config.receivers.telemetry.is_some(), "telemetry"),
        (!config.receivers.webhooks.is_empty(), "notify.webhooks"),
        (!config.notify.command.is_empty(), "notify.command"),
        (config.notify.desktop, "notify.desktop"),
        (config.retention.is_some(), "retention"),
    ];
    let names: Vec<&str> = stated.iter().filter(|(stated, _)| *stated).map(|(_, name)| *name).collect();
    (!names.is_empty()).then(|| format!("settings without effect on a cluster yet: {}", names.join(", ")))
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
