//! `convoke worker`: this process performs runs of a cluster.

use crate::args::WorkerArgs;
use crate::console::Console;
use crate::driving::{Host, Signal, Signals};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::view::format::plural;
use convoke_cluster::{Address, Listening, Worker, WorkerOptions};
use std::pin::pin;
use tokio_util::sync::CancellationToken;

/// Attempts at once, where nothing is said: most of them wait for a service.
const AT_ONCE: u32 = 64;

/// Serves the cluster until it is told to leave.
pub fn worker(console: &Console, args: &WorkerArgs) -> Result<Exit, CommandFailure> {
    let Some(address) = &console.config.cluster else {
        return Err(CommandFailure::new(Exit::Usage, "a worker needs the address of its cluster")
            .hint("convoke worker --state restate://HOST:PORT"));
    };
    let address: Address =
        address.parse().map_err(|error| CommandFailure::new(Exit::Usage, format!("{error}")))?;
    super::runtime()?.block_on(serve(console, args, address, CancellationToken::new()))
}

/// The same, with another reason to leave than a signal.
pub async fn serve(
    console: &Console,
    args: &WorkerArgs,
    address: Address,
    leave: CancellationToken,
) -> Result<Exit, CommandFailure> {
    let unusable = |error: std::io::Error| CommandFailure::new(Exit::State, format!("cannot work: {error}"));
    let mut signals = Signals::listen().map_err(unusable)?;
    let host = Host::of_this_process(&console.config.sandbox, &console.config.rulebook).map_err(unusable)?;
    let (worker, mut remarks) = Worker::open(address.clone(), options(args), host).await?;
    let listening = worker.listening().clone();
    let attempts = worker.attempts();
    let registering = worker.register(false);
    let at_once = CancellationToken::new();
    let mut serving = pin!(worker.serve(leave.clone(), at_once.clone()));
    introduce(console, args, &address, &listening)?;
    let mut registering =
        pin!(async move { if args.no_register { std::future::pending().await } else { registering.await } });
    let (mut registered, mut first) = (false, None);
    loop {
        tokio::select! {
            () = &mut serving => break,
            done = &mut registering, if !registered => {
                registered = true;
                if let Err(error) = done {
                    return Err(CommandFailure::from(error).hint(format!("the administration was looked for at {}; another place is named so: restate://HOST:PORT?admin=PORT", address.admin())));
                }
                console.say("registered: runs can begin");
            }
            Some(remark) = remarks.recv() => console.warn(&remark),
            signal = signals.next() => {
                if first.replace(first.unwrap_or(signal)).is_some() {
                    console.say("leaving at once");
                    convoke_tools::end_at_once();
                    at_once.cancel();
                } else {
                    console.say(&match attempts() {
                        0 => "leaving".to_owned(),
                        left => format!("leaving: {} may end first; a second signal stops at once", plural(left as u64, "attempt")),
                    });
                    leave.cancel();
                }
            }
        }
    }
    Ok(first.map_or(Exit::Success, |signal: Signal| match signal {
        // A worker that left in order has done what it was told.
        Signal::Terminate => Exit::Success,
        signal => signal.exit(),
    }))
}

fn options(args: &WorkerArgs) -> WorkerOptions {
    WorkerOptions {
        listen: args.listen,
        advertise: args.advertise.clone(),
        peers: args.peers,
        advertise_peers: args.advertise_peers.clone(),
        slots: args.at_once.unwrap_or(AT_ONCE) as usize,
        identity_keys: args.identity_keys.clone(),
    }
}

/// Says where the worker is, and how to register it where it does not do that itself.
fn introduce(
    console: &Console,
    args: &WorkerArgs,
    address: &Address,
    Listening { url, peers }: &Listening,
) -> Result<(), CommandFailure> {
    console.say(&format!("worker of {address}: serves {url}, other workers reach it at {peers}"));
    if args.no_register {
        console
            .data(&format!("curl -X POST {}/deployments --json '{{\"uri\": \"{url}\"}}'", address.admin()))?;
    }
    Ok(())
}
