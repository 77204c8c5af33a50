//! `convoke follow`: delivers to every receiver that the configuration names, without a run.

use crate::args::{FollowArgs, Format};
use crate::console::Console;
use crate::driving::Signals;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::following::{self, Receiver};
use crate::stored;
use crate::view::format::plural;
use convoke_follow::{Consumer, Forwarder, Lease, Since};
use convoke_journal::StateDir;
use convoke_telemetry::otlp::{Logs, Metrics, Signal, Traces};
use serde_json::json;

/// Goes on until a signal; with `--once` until everything that is there is delivered.
pub fn run(console: &Console, args: &FollowArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    if console.config.receivers.telemetry.is_none() && console.config.receivers.webhooks.is_empty() {
        return Err(CommandFailure::new(Exit::Usage, "no receiver is named").hint(
            "set `telemetry.endpoint`, or a table `notify.webhooks.NAME`, in config.toml or convoke.toml",
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match args.once {
        true => runtime.block_on(once(console, &state, args.format)),
        false => runtime.block_on(on(console, &state)),
    }
}

/// Follows until a signal.
async fn on(console: &Console, state: &StateDir) -> Result<Exit, CommandFailure> {
    let mut signals =
        Signals::listen().map_err(|error| CommandFailure::new(Exit::Failed, error.to_string()))?;
    let followings = following::spawn(console, state);
    console.say("following; Ctrl-C ends it");
    let signal = signals.next().await;
    followings.stop(following::AT_THE_END);
    Ok(signal.exit())
}

/// What became of one receiver.
struct Once {
    label: String,
    delivered: u64,
    refused: u64,
    problem: Option<String>,
}

async fn once(console: &Console, state: &StateDir, format: Format) -> Result<Exit, CommandFailure> {
    let mut all = Vec::new();
    for (label, receiver) in following::receivers(&console.config, state) {
        let found = match receiver {
            Ok(Receiver::Signal(Signal::Traces, to)) => deliver(state, Traces(to), &label).await,
            Ok(Receiver::Signal(Signal::Metrics, to)) => {
                deliver(state, Metrics::new(to, state), &label).await
            }
            Ok(Receiver::Signal(Signal::Logs, to)) => deliver(state, Logs(to), &label).await,
            Ok(Receiver::Webhook(hook)) => deliver(state, hook, &label).await,
            Err(why) => Err(why),
        };
        let (delivered, refused, problem) = found.unwrap_or_else(|why| (0, 0, Some(why)));
        all.push(Once { label, delivered, refused, problem });
    }
    tell(console, &all, format)?;
    let is_well = all.iter().all(|once| once.problem.is_none() && once.refused == 0);
    Ok(if is_well { Exit::Success } else { Exit::Failed })
}

fn tell(console: &Console, all: &[Once], format: Format) -> Result<(), CommandFailure> {
    if format == Format::Json {
        let records = all.iter().map(|once| {
            json!({"receiver": once.label, "delivered": once.delivered, "refused": once.refused, "problem": once.problem})
        });
        return console.json(&records.collect::<Vec<_>>());
    }
    for Once { label, delivered, refused, problem } in all {
        let refused = if *refused > 0 { format!(", {refused} refused") } else { String::new() };
        console.conclude(&format!("{label}: {} delivered{refused}", plural(*delivered, "item")));
        problem.iter().for_each(|why| console.warn(&format!("{label}: {why}")));
    }
    Ok(())
}

/// Delivers until nothing is left, or the receiver does not take it.
async fn deliver<C: Consumer>(
    state: &StateDir,
    consumer: C,
    label: &str,
) -> Result<(u64, u64, Option<String>), String> {
    let name = consumer.name().to_owned();
    let lease = Lease::take(state, &name).map_err(|error| error.to_string())?;
    let lease = lease.ok_or("another process delivers to it at this moment")?;
    let forwarder = Forwarder::open(state, consumer, label, Since::now(), lease);
    let mut forwarder = forwarder.map_err(|error| error.to_string())?;
    let (mut delivered, mut refused) = (0, 0);
    loop {
        let pass = forwarder.last_pass().await.map_err(|error| error.to_string())?;
        delivered += pass.delivered;
        refused += pass.refused;
        if pass.undelivered.is_some() || pass.delivered + pass.refused == 0 {
            let problem = convoke_follow::account(state, &name).and_then(|account| account.problem);
            return Ok((delivered, refused, problem.map(|(why, _)| why)));
        }
    }
}
