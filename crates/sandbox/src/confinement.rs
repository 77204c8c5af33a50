//! What one command may do, as a value.

use crate::bounds::Bounds;
use crate::secret;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How far a command is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A person trusts the file that names the command: all of the person's rights, without what is hidden and protected. Where
    /// no sandbox can be had it runs all the same, and that is noted.
    Trusted,
    /// An agent chose the command: files to read, the writable roots to write, the network that is listed. Refused where that
    /// cannot be held.
    Full,
}

/// What a command may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No socket can be made.
    Closed,
    /// These hosts, through a proxy of the engine: `example.com`, `*.example.com`, `example.com:8443`, `10.0.0.7`.
    Hosts(Vec<String>),
    /// What the engine can.
    Open,
}

/// What a command may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// All but what is hidden.
    Everything,
    /// What is below these paths and the writable ones, and not hidden.
    Only(Vec<PathBuf>),
}

/// Which of the variables that a command is given reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variables {
    /// All.
    Given,
    /// These. A name that ends in `*` stands for all that begin so.
    Only(Vec<String>),
}

/// What one command and everything that it starts may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    /// How far.
    pub level: Level,
    /// What it may write to. Of the full level alone; a trusted command writes where the person may.
    pub writable: Vec<PathBuf>,
    /// What it may read.
    pub reading: Reading,
    /// What it neither reads nor writes, nor sees into.
    pub hidden: Vec<PathBuf>,
    /// Names that it does not write to, also while they do not exist: absolute, or below each writable root. One that ends in
    /// `/` is a folder.
    pub protected: Vec<String>,
    /// What it may reach.
    pub network: Network,
    /// What it may use.
    pub bounds: Bounds,
    /// What it sees of the environment.
    pub variables: Variables,
}

/// Variables that a command of an agent gets if they are there: how programs find each other, speak and show.
const VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "CI",
    "TMPDIR",
    "PYTHONUTF8",
    "XDG_*_HOME",
    "CARGO_*",
    "RUSTUP_*",
    "RUST*",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "GOFLAGS",
    "JAVA_HOME",
    "NODE_ENV",
    "NVM_DIR",
    "VIRTUAL_ENV",
    // The name of a span, which is no secret.
    "TRACEPARENT",
    "CONVOKE_*",
];

impl Confinement {
    /// For a command that an agent chose: reads all but secrets, writes below `root` and the `writable` folders, with the usual
    /// protected names and bounds.
    pub fn full(root: &Path, writable: &[PathBuf], network: Network) -> Confinement {
        let mut roots = vec![root.to_owned()];
        roots.extend(writable.iter().filter(|path| *path != root).cloned());
        Confinement {
            level: Level::Full,
            hidden: secret::of_machine(&roots),
            writable: roots,
            reading: Reading::Everything,
            protected: convoke_model::protected::held().map(str::to_owned).collect(),
            network,
            bounds: Bounds::usual(),
            variables: Variables::Only(VARIABLES.iter().map(|name| (*name).to_owned()).collect()),
        }
    }

    /// For a command of a file that a person trusts: the person's rights, without these paths.
    pub fn trusted(hidden: Vec<PathBuf>) -> Confinement {
        Confinement {
            level: Level::Trusted,
            writable: Vec::new(),
            reading: Reading::Everything,
            hidden,
            protected: Vec::new(),
            network: Network::Open,
            bounds: Bounds::default(),
            variables: Variables::Given,
        }
    }

    /// Hides these paths as well.
    pub fn hiding(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Confinement {
        self.hidden.extend(paths);
        self
    }

    /// Whether a variable reaches the command.
    pub fn passes(&self, variable: &str) -> bool {
        match &self.variables {
            Variables::Given => true,
            Variables::Only(names) => names.iter().any(|name| fits(name, variable)),
        }
    }
}

/// A pattern has at most one `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, end)) => {
            name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confinement_is_a_value_that_can_be_written_down() {
        let full = Confinement::full(Path::new("/w"), &["/tmp/x".into()], Network::Hosts(vec!["a.b".into()]));
        let text = serde_json::to_string(&full).unwrap();
        assert_eq!(serde_json::from_str::<Confinement>(&text).unwrap(), full);
        assert_eq!(full.writable, [PathBuf::from("/w"), PathBuf::from("/tmp/x")]);
    }

    #[test]
    fn variables_that_lead_programs_astray_do_not_reach_an_agents_command() {
        let full = Confinement::full(Path::new("/w"), &[], Network::Closed);
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "SSH_AUTH_SOCK",
            "GIT_SSH_COMMAND",
            "BASH_ENV",
            "XDG_RUNTIME_DIR",
        ] {
            assert!(!full.passes(name), "{name}");
        }
        for name in ["PATH", "LC_ALL", "CARGO_HOME", "XDG_CACHE_HOME", "TRACEPARENT", "CONVOKE_COMMAND"] {
            assert!(full.passes(name), "{name}");
        }
        assert!(Confinement::trusted(Vec::new()).passes("LD_PRELOAD"));
    }
}
