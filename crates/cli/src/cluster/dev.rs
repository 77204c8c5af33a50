//! `convoke cluster dev`: a server of npm and a worker on this machine, to try a cluster out.

use super::{cache, serving};
use crate::args::{ClusterDevArgs, WorkerArgs};
use crate::console::Console;
use crate::driving::Signals;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_cluster::{Address, Client};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The package of the server, and its version.
const PACKAGE: &str = "@restatedev/restate-server@1.7";
/// The server's configuration, which trials of the cluster use as well.
const CONFIGURATION: &str = include_str!("server.toml");
/// How long the server may take to start.
const STARTS: Duration = Duration::from_secs(30);

/// Starts both, and ends both.
pub fn run(console: &Console, args: &ClusterDevArgs) -> Result<Exit, CommandFailure> {
    let server = match &args.server {
        Some(program) => program.clone(),
        None => installed(console)?,
    };
    let data = match &args.data {
        Some(folder) => std::path::absolute(folder)?,
        None => cache()?.join("cluster-dev"),
    };
    let unusable = |error: std::io::Error| {
        CommandFailure::new(Exit::State, format!("the folder `{}` cannot be used: {error}", data.display()))
            .hint("name another folder: --data DIR")
    };
    fs::create_dir_all(&data).map_err(unusable)?;
    let ports = Ports::from(args.port);
    let config = data.join("server.toml");
    fs::write(&config, ports.configuration(&data)).map_err(unusable)?;
    let log = fs::File::create(data.join("log")).map_err(unusable)?;
    let mut server = Server::start(&server, &config, log)?;
    let address: Address = format!("restate://127.0.0.1:{}?admin={}", ports.ingress, ports.admin)
        .parse()
        .map_err(|error| CommandFailure::new(Exit::Usage, format!("{error}")))?;
    console.say(&format!("server of {}: its log is {}", address, data.join("log").display()));
    let worker = WorkerArgs {
        listen: ([127, 0, 0, 1], ports.worker).into(),
        advertise: None,
        peers: ([127, 0, 0, 1], 0).into(),
        advertise_peers: None,
        at_once: args.at_once,
        no_register: false,
        identity_keys: Vec::new(),
    };
    let runtime = super::runtime()?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(|error| {
            CommandFailure::new(Exit::Failed, format!("cannot listen to signals: {error}"))
        })?;
        tokio::select! {
            up = server.is_up(&address) => up?,
            signal = signals.next() => return Ok(signal.exit()),
        }
        drop(signals);
        console.hint(&format!(
            "convoke run FILE --state 'restate://127.0.0.1:{}?admin={}'",
            ports.ingress, ports.admin
        ));
        let leave = CancellationToken::new();
        serving::serve(console, &worker, address, leave).await
    });
    server.end();
    ended
}

/// The ports of a server and a worker.
struct Ports {
    ingress: u16,
    admin: u16,
    node: u16,
    worker: u16,
}

impl Ports {
    fn from(first: u16) -> Ports {
        Ports { ingress: first, admin: first + 1, node: first + 2, worker: first + 3 }
    }

    fn configuration(&self, data: &Path) -> String {
        let Ports { ingress, admin, node, .. } = self;
        let folder = toml::Value::String(data.join("data").display().to_string());
        let filled = [
            ("{name}", "dev".to_owned()),
            ("{keep_alive}", "5s".to_owned()),
            ("{node}", node.to_string()),
            ("{ingress}", ingress.to_string()),
            ("{admin}", admin.to_string()),
            ("{folder}", folder.to_string()), // last: a folder may have braces in its name
        ];
        filled.iter().fold(CONFIGURATION.to_owned(), |text, (name, value)| text.replace(name, value))
    }
}

/// The server's process.
struct Server(Child);

impl Server {
    fn start(program: &Path, config: &Path, log: fs::File) -> Result<Server, CommandFailure> {
        let child = Command::new(program)
            .arg("--config-file")
            .arg(config)
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn();
        child.map(Server).map_err(|error| {
            let words = format!("the server `{}` cannot be started: {error}", program.display());
            CommandFailure::new(Exit::State, words)
        })
    }

    /// Waits until it answers.
    async fn is_up(&mut self, address: &Address) -> Result<(), CommandFailure> {
        let (client, begun) = (Client::new(address.clone())?, Instant::now());
        while begun.elapsed() < STARTS {
            if client.is_up().await {
                return Ok(());
            }
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(CommandFailure::new(Exit::State, format!("the server has ended ({status})"))
                    .hint("its log says why; another program may use its ports: --port PORT"));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(CommandFailure::new(
            Exit::State,
            format!("the server did not start within {} s", STARTS.as_secs()),
        ))
    }

    fn end(mut self) {
        let pid = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        }
        self.0.wait().ok();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().ok();
    }
}

/// The server's program, from npm the first time.
fn installed(console: &Console) -> Result<PathBuf, CommandFailure> {
    let folder = cache()?.join("restate-server");
    if let Some(program) = found_in(&folder) {
        return Ok(program);
    }
    console.say(&format!("installing {PACKAGE} from npm into {}", folder.display()));
    fs::create_dir_all(&folder)?;
    let npm = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", "--prefix"])
        .arg(&folder)
        .arg(PACKAGE)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    let advice = "install Node.js, or name the program: --server FILE";
    match npm {
        Err(error) => {
            Err(CommandFailure::new(Exit::State, format!("npm cannot be started: {error}")).hint(advice))
        }
        Ok(status) if !status.success() => {
            Err(CommandFailure::new(Exit::State, format!("npm could not install {PACKAGE} ({status})"))
                .hint(advice))
        }
        Ok(_) => found_in(&folder).ok_or_else(|| {
            CommandFailure::new(Exit::State, format!("{PACKAGE} has no program for this machine"))
                .hint(advice)
        }),
    }
}

/// The package of this platform holds the program.
fn found_in(folder: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(folder.join("node_modules/@restatedev")).ok()?;
    let programs = packages.flatten().map(|package| package.path().join("bin/restate-server"));
    programs.filter(|program| program.is_file()).find(|program| {
        // The package without a platform in its name holds a script.
        program.parent().and_then(Path::parent).is_some_and(|of| !of.ends_with("restate-server"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_complete_whatever_the_folder_is_called() {
        let text = Ports::from(8000).configuration(Path::new("/tmp/a \"{node}\" b"));
        let read: toml::Table = text.parse().expect("it is TOML");
        assert_eq!(read["base-dir"].as_str(), Some("/tmp/a \"{node}\" b/data"));
        assert_eq!(read["node-name"].as_str(), Some("dev"));
        assert_eq!(read["bind-port"].as_integer(), Some(8002));
        assert_eq!(read["admin"]["bind-port"].as_integer(), Some(8001));
    }
}
