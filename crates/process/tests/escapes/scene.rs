//! What attempts are made against: folders, secrets, sockets, and a process that is none of the sandbox's business.

use convoke_process::{Launcher, OnDrop};
use convoke_sandbox::{Bounds, Confinement, Network};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

/// How an attempt came out.
pub struct Ran {
    pub code: Option<i32>,
    pub said: String,
    pub overran: Option<&'static str>,
}

pub struct Scene {
    folder: TempDir,
    victim: Child,
    tcp: TcpListener,
    tcp6: Option<TcpListener>,
    udp: UdpSocket,
    by_path: UnixListener,
    by_name: UnixListener,
    datagrams: UnixDatagram,
    unique: String,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        let _ = fs::remove_file(self.temporary());
        let _ = fs::remove_file(Path::new("/dev/shm").join(&self.unique));
    }
}

impl Scene {
    pub fn new() -> Scene {
        // As the engine does: its memory is closed to others of the same user.
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).unwrap();
        let folder = tempfile::Builder::new().prefix("escape-").tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["root/.git/info", "root/.github", "outside/empty", "state", "home/.ssh"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let files = ["root/.git/config", "outside/victim", "state/journal", "home/.ssh/id", "home/.netrc"];
        files.iter().for_each(|name| fs::write(at(name), "secret").unwrap());
        let unique = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut victim = Command::new("sleep");
        victim.arg("1000").env("KEY", "secret").current_dir(at("outside")).process_group(0);
        victim.stdin(fs::File::open(at("outside/victim")).unwrap()).stdout(Stdio::null());
        let by_name = SocketAddr::from_abstract_name(&unique).unwrap();
        let scene = Scene {
            victim: victim.spawn().unwrap(),
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            tcp6: TcpListener::bind("[::1]:0").ok(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            by_path: UnixListener::bind(at("outside/socket")).unwrap(),
            by_name: UnixListener::bind_addr(&by_name).unwrap(),
            datagrams: UnixDatagram::bind(at("outside/datagrams")).unwrap(),
            unique,
            folder,
        };
        scene.tcp.set_nonblocking(true).unwrap();
        scene.udp.set_nonblocking(true).unwrap();
        scene.by_path.set_nonblocking(true).unwrap();
        scene.by_name.set_nonblocking(true).unwrap();
        scene.datagrams.set_nonblocking(true).unwrap();
        scene
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn temporary(&self) -> PathBuf {
        std::env::temp_dir().join(format!("{}-shared", self.unique))
    }

    /// The full sandbox with narrow bounds, and the usual protected names or none.
    pub fn confinement(&self, protected: bool) -> Confinement {
        let hidden = ["state", "home/.ssh", "home/.netrc"].map(|name| self.at(name));
        let mut confinement = Confinement::full(&self.at("root"), &[], Network::Closed).hiding(hidden);
        confinement.bounds = Bounds {
            memory: Some(200 << 20),
            cpu_seconds: Some(1),
            file_size: Some(1 << 20),
            processes: Some(64),
            descriptors: Some(64),
            address_space: None,
        };
        if !protected {
            confinement.protected.clear();
        }
        confinement
    }

    /// Tries something, to the end of everything that it started.
    pub fn run(&mut self, name: &str, confinement: Option<Confinement>) -> Ran {
        self.run_with(name, confinement, "")
    }

    /// The same with a host that is asked for.
    pub fn run_with(&mut self, name: &str, confinement: Option<Confinement>, host: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_escape-attempts"));
        let path = |name: &str| self.at(name).display().to_string();
        let tcp6 = self.tcp6.as_ref().map_or(0, |listener| listener.local_addr().unwrap().port());
        let pairs = [
            ("root", path("root")),
            ("outside", path("outside")),
            ("state", path("state")),
            ("home", path("home")),
            ("temporary", self.temporary().display().to_string()),
            ("unique", self.unique.clone()),
            ("victim", self.victim.id().to_string()),
            ("engine", std::process::id().to_string()),
            ("tcp", self.tcp.local_addr().unwrap().port().to_string()),
            ("tcp6", tcp6.to_string()),
            ("udp", self.udp.local_addr().unwrap().port().to_string()),
            ("host", host.to_owned()),
        ];
        command.arg(name).args(pairs.map(|(key, value)| format!("{key}={value}")));
        command.current_dir(self.at("root")).stdin(Stdio::null()).env_clear();
        command
            .env("PATH", "/usr/bin:/bin")
            .env("LD_PRELOAD", "/nowhere.so")
            .env("SSH_AUTH_SOCK", "/nowhere");
        // A descriptor that somebody forgot to close.
        let leak = fs::File::open(self.at("state/journal")).unwrap();
        rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
        let ran = ended(command, &Launcher::new("escape", OnDrop::Kill), confinement.as_ref());
        drop(leak);
        if name.starts_with("stay_") {
            let pid = fs::read_to_string(self.at("root/stays")).expect("it has told which one stays");
            assert!(!Path::new("/proc").join(pid.trim()).exists(), "{name}: {pid} lives");
        }
        ran
    }

    /// Everything that is not to change, with what it is.
    pub fn look(&self) -> BTreeMap<PathBuf, String> {
        let mut seen = BTreeMap::new();
        let names = [
            "outside",
            "state",
            "home",
            "root/.git/config",
            "root/.git/hooks",
            "root/.vscode",
            "root/.claude",
        ];
        let more = [
            "root/.github/workflows",
            "root/.mcp.json",
            "root/.git/commondir",
            "root/convoke.toml",
            "root/.git/info",
        ];
        names.iter().chain(&more).for_each(|name| look(&self.at(name), &mut seen));
        look(&self.temporary(), &mut seen);
        look(&Path::new("/dev/shm").join(&self.unique), &mut seen);
        seen
    }

    /// Nothing has arrived anywhere, and the other process lives.
    #[track_caller]
    pub fn is_untouched(&mut self, name: &str) {
        assert!(self.victim.try_wait().unwrap().is_none(), "{name}: another process has ended");
        let is_silent = |kind: Option<ErrorKind>| kind == Some(ErrorKind::WouldBlock);
        assert!(is_silent(self.tcp.accept().err().map(|error| error.kind())), "{name}: a connection");
        assert!(
            is_silent(self.by_path.accept().err().map(|error| error.kind())),
            "{name}: a connection by path"
        );
        assert!(
            is_silent(self.by_name.accept().err().map(|error| error.kind())),
            "{name}: a connection by name"
        );
        let mut byte = [0];
        assert!(is_silent(self.udp.recv(&mut byte).err().map(|error| error.kind())), "{name}: a datagram");
        assert!(
            is_silent(self.datagrams.recv(&mut byte).err().map(|error| error.kind())),
            "{name}: a local datagram"
        );
    }
}

/// Runs a command to the end of everything that it started.
pub fn ended(command: Command, launcher: &Launcher, confinement: Option<&Confinement>) -> Ran {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let started = match confinement {
            None => launcher.start(command).await.map(Some),
            Some(confinement) => {
                launcher.start_confined(command, confinement, None, std::future::pending(), |_| {}).await
            }
        };
        let (mut group, mut pipes) = started.unwrap().unwrap();
        let mut said = String::new();
        pipes.stdout.read_to_string(&mut said).await.unwrap();
        group.leader_ends().await;
        let (code, overran) = (group.reap().unwrap().code(), group.overran());
        Ran { code, said, overran }
    })
}

/// A script of the shell, in a folder.
pub fn sh(script: &str, folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("exec 2>&1; {script}")])
        .current_dir(folder)
        .stdin(Stdio::null())
        .env_clear();
    command.env("PATH", "/usr/bin:/bin").env("HOME", "/nowhere");
    command
}

fn look(path: &Path, seen: &mut BTreeMap<PathBuf, String>) {
    let Ok(found) = path.symlink_metadata() else { return };
    let text = if found.is_file() { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
    let what = format!("{:o} {} {} {} {text}", found.mode(), found.uid(), found.mtime(), found.mtime_nsec());
    seen.insert(path.to_owned(), what);
    if found.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            look(&entry.path(), seen);
        }
    }
}
