//! Receivers elsewhere, as the configuration names them: followed from a thread of this process while it lives.
//!
//! Any process that drives a run delivers for all runs of its state folder, one process for each receiver (`convoke_follow`); a server
//! does so for as long as it runs, and `convoke follow` does nothing else. Invariant: no run waits for any of it, and a process ends
//! within [`AT_THE_END`] of its run, whatever a receiver does.

mod prompts;
mod signals;
mod webhooks;

pub use prompts::StoredPrompts;
pub use signals::{receiver_at, traced};

use crate::config::Config;
use crate::console::Console;
use crate::driving::network;
use crate::env;
use convoke_follow::{Error, Following, Since};
use convoke_journal::{Reader, StateDir};
use convoke_model::reference::expand;
use convoke_model::{Event, RunId};
use convoke_providers::Clients;
use convoke_telemetry::notices::Webhook;
use convoke_telemetry::otlp::{Logs, Metrics, Receiver as OfSignal, Signal, Traces, Wanted};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a process may take at its end for what is not delivered yet. The next process delivers the rest.
pub const AT_THE_END: Duration = Duration::from_secs(2);

/// The receivers that this process attends to.
#[derive(Default)]
pub struct Followings(Vec<Following>);

/// A receiver, ready to be followed for.
pub enum Receiver {
    /// Of traces, of metrics or of logs.
    Signal(Signal, OfSignal),
    /// Of notices.
    Webhook(Webhook),
}

/// Attends to every receiver that the configuration names; without any, nothing is started. What cannot be attended to is said.
pub fn spawn(console: &Console, state: &StateDir) -> Followings {
    // Before anything happens that this process has a part in.
    let since = Since::now();
    let mut followings = Vec::new();
    for (label, receiver) in receivers(&console.config, state) {
        let started = receiver.and_then(|receiver| {
            start(receiver, state.clone(), label.clone(), since).map_err(|error| error.to_string())
        });
        match started {
            Ok(following) => followings.push(following),
            Err(why) => console.warn(&format!("{label}: nothing is sent: {why}")),
        }
    }
    Followings(followings)
}

fn start(receiver: Receiver, state: StateDir, label: String, since: Since) -> Result<Following, Error> {
    let counted = state.clone();
    match receiver {
        Receiver::Signal(Signal::Traces, to) => {
            Following::start(state, label, since, move || Traces(to.clone()))
        }
        Receiver::Signal(Signal::Metrics, to) => {
            Following::start(state, label, since, move || Metrics::new(to.clone(), &counted))
        }
        Receiver::Signal(Signal::Logs, to) => Following::start(state, label, since, move || Logs(to.clone())),
        Receiver::Webhook(hook) => Following::start(state, label, since, move || hook.clone()),
    }
}

impl Followings {
    /// Delivers what is there, within a time for all of them together.
    pub fn stop(self, within: Duration) {
        Following::stop_all(self.0, within);
    }
}

/// Every receiver with its label, or why it cannot be one.
pub fn receivers(config: &Config, state: &StateDir) -> Vec<(String, Result<Receiver, String>)> {
    let telemetry = config.receivers.telemetry.iter();
    let signals = telemetry.flat_map(|telemetry| signals::receivers(telemetry, state));
    let webhooks = config.receivers.webhooks.iter().map(|hook| {
        let receiver = webhooks::receiver(hook, config.receivers.stall).map(Receiver::Webhook);
        (format!("notify.webhooks.{}", hook.name), receiver)
    });
    signals.chain(webhooks).collect()
}

/// The client of this process's network, which follows no redirect.
pub fn client() -> Result<reqwest::Client, String> {
    Clients::new(network()).usual().map_err(|failure| failure.message)
}

/// A text with the values of the variables that it refers to.
fn looked_up(text: &str) -> Result<String, String> {
    expand(text, &env::get).map_err(|unresolved| unresolved.to_string())
}

fn headers(given: &[(String, String)]) -> Result<Vec<(String, String)>, String> {
    given.iter().map(|(name, text)| Ok((name.clone(), looked_up(text)?))).collect()
}

/// Runs that were started below a folder, or all.
fn wanted(below: Option<PathBuf>) -> Wanted {
    Arc::new(move |_: &RunId, journal: &Reader| match &below {
        None => true,
        Some(folder) => started_in(journal).is_some_and(|started| Path::new(&started).starts_with(folder)),
    })
}

/// The folder that a run was started in.
fn started_in(journal: &Reader) -> Option<String> {
    let mut found = None;
    let first = journal.read_while(1, &mut |stamped| {
        if let Event::RunStarted(started) = stamped.event {
            found = Some(started.folder);
        }
        false
    });
    first.ok().and(found)
}

/// A name that may be part of a file's.
fn file_name(words: &str) -> String {
    words.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect()
}
