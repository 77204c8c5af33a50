//! Runs on a cluster: the commands that work with a state folder work with `--state restate://HOST:PORT` too.
//!
//! They read a copy. The journal of each run that a command asks about is brought up to date in a folder of this user (`mirror`), and
//! the command reads it there as it would read any other. What it says to a run goes into the copy's inbox and is passed on from
//! there. `run` and `resume` have the cluster drive the run (`running`) and watch it as `attach` does.
//!
//! Kept true: a command that does not work with a cluster yet is refused by its name, before anything is done.

mod dev;
mod mirror;
mod running;
mod scope;
mod serving;

pub use running::drive;
pub use serving::worker;

use crate::args::{ClusterCommand, Command};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_cluster::{Address, Client, ClusterError, Identity};
use convoke_journal::StateDir;
use convoke_model::RunId;
use mirror::{Keeper, Mirror};
use scope::Scope;
use std::path::PathBuf;
use std::sync::OnceLock;
use tokio::runtime::{Handle, Runtime};

/// The cluster of this process: a command works with one.
static ENTERED: OnceLock<Entered> = OnceLock::new();

struct Entered {
    address: Address,
    client: Client,
}

/// A command at work with a cluster.
pub struct Session {
    keeper: Option<Keeper>,
    /// The runs of which there were copies: those whose copies the command has removed are erased from the cluster.
    erases: Option<(Mirror, Vec<RunId>)>,
}

impl Session {
    const NONE: Session = Session { keeper: None, erases: None };

    /// Ends what goes on beside the command.
    pub fn leave(&self, well: bool) {
        if let Some(keeper) = &self.keeper {
            keeper.stop();
        }
        if let (true, Some((mirror, copied))) = (well, &self.erases)
            && let Ok(network) = network()
        {
            network.block_on(mirror.erase_removed(copied));
        }
    }
}

/// Has a command work with the cluster that the configuration names: the console that it gets looks at copies.
pub fn enter(command: &Command, console: &Console) -> Result<(Console, Session), CommandFailure> {
    let Some(address) = &console.config.cluster else { return Ok((console.clone(), Session::NONE)) };
    let scope = match scope::of(command) {
        Scope::Nothing => return Ok((console.clone(), Session::NONE)),
        Scope::Refused(name) => return Err(not_yet(&name)),
        scope => scope,
    };
    let address: Address =
        address.parse().map_err(|error| CommandFailure::new(Exit::Usage, format!("{error}")))?;
    let client = Client::new(address.clone())?;
    let network = network()?;
    let identity = network.block_on(client.identity()).map_err(|error| unreachable(error, &address))?;
    let folder = copies_of(&identity)?;
    let mirror = Mirror::new(client.clone(), StateDir::open(&folder)?, address.to_string());
    ENTERED.set(Entered { address, client }).ok();
    let mut console = console.clone();
    console.config.state_dir = folder;
    let keeper = network.block_on(scope.prepare(&mirror))?.map(|run| Keeper::start(mirror.clone(), run));
    let erases = match command {
        Command::Prune(args) if !args.dry_run => Some((mirror.clone(), mirror.copied()?)),
        _ => None,
    };
    Ok((console, Session { keeper, erases }))
}

/// Whether this process works with a cluster.
pub fn is_entered() -> bool {
    ENTERED.get().is_some()
}

/// Passes on what was left for a run.
pub fn pass_on(state: &StateDir, run: &RunId) -> Result<(), CommandFailure> {
    let Some(entered) = ENTERED.get() else { return Ok(()) };
    let mirror = Mirror::new(entered.client.clone(), state.clone(), entered.address.to_string());
    network()?.block_on(mirror.pass_on(run))
}

/// `convoke cluster`.
pub fn command(console: &Console, command: &ClusterCommand) -> Result<Exit, CommandFailure> {
    match command {
        ClusterCommand::Dev(args) => dev::run(console, args),
    }
}

/// Where copies of the runs of a cluster lie: by what it is, not by where it is.
fn copies_of(identity: &Identity) -> Result<PathBuf, CommandFailure> {
    let name: String = identity.0.to_string().chars().take(16).collect();
    Ok(cache()?.join("clusters").join(name))
}

/// The folder of this program for what can be made again.
fn cache() -> Result<PathBuf, CommandFailure> {
    use etcetera::BaseStrategy;
    let none =
        |_| CommandFailure::new(Exit::Usage, "there is no home folder").hint("set HOME or XDG_CACHE_HOME");
    Ok(etcetera::base_strategy::Xdg::new().map_err(none)?.cache_dir().join("convoke"))
}

/// The one runtime on which this command speaks to the cluster, driven by a thread of its own: connections are kept, and belong to the
/// runtime on which they were made.
fn network() -> Result<Handle, CommandFailure> {
    static NETWORK: OnceLock<Handle> = OnceLock::new();
    if let Some(known) = NETWORK.get() {
        return Ok(known.clone());
    }
    let runtime = runtime()?;
    let handle = NETWORK.get_or_init(|| runtime.handle().clone()).clone();
    let drive = move || runtime.block_on(std::future::pending::<()>());
    std::thread::Builder::new().name("network".to_owned()).spawn(drive)?;
    Ok(handle)
}

fn runtime() -> Result<Runtime, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CommandFailure::new(Exit::Failed, format!("cannot start: {error}")))
}

/// A command, or a command with a flag.
fn not_yet(name: &str) -> CommandFailure {
    let failure =
        CommandFailure::new(Exit::Usage, format!("`convoke {name}` does not work with a cluster yet"));
    if name.contains(' ') {
        return failure.hint("leave the flag out, or name a state folder: --state-dir DIR");
    }
    failure
        .hint("the commands that do: run, goal, resume, attach, runs, show, events, answer, guide, stop, diff, replay, verify, export, prune")
}

/// The first question got no answer.
fn unreachable(error: ClusterError, address: &Address) -> CommandFailure {
    match error {
        ClusterError::Refused { status: 404, .. } => CommandFailure::new(
            Exit::State,
            format!("the cluster at {address} has no worker that serves runs"),
        )
        .hint(format!("convoke worker --state {address}")),
        error @ ClusterError::Away { .. } => {
            CommandFailure::from(error).hint("`convoke cluster dev` starts one on this machine to try it out")
        }
        error => error.into(),
    }
}

impl From<ClusterError> for CommandFailure {
    fn from(error: ClusterError) -> CommandFailure {
        let exit = if matches!(error, ClusterError::Key(_)) { Exit::Usage } else { Exit::State };
        CommandFailure::from_error(exit, &error)
    }
}
