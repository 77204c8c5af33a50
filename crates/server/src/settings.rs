//! How a server is set up.

use convoke_journal::StateDir;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Numbers for a monitoring system: their content type and their text, made when they are asked for; or why there are none now.
pub type Metrics = Arc<dyn Fn() -> Result<(String, String), String> + Send + Sync>;

/// How a server is set up.
#[derive(Clone)]
pub struct Settings {
    /// Where it listens.
    pub address: SocketAddr,
    /// Where runs are kept.
    pub state: StateDir,
    /// The version of the program.
    pub version: String,
    /// Folders from which runs may be started.
    pub folders: Vec<PathBuf>,
    /// Names by which it is called besides those of loopback.
    pub names: Vec<String>,
    /// A proxy that speaks TLS stands before it.
    pub behind_proxy: bool,
    /// The certificate, where it speaks TLS itself.
    pub tls: Option<Tls>,
    /// The answer at `/metrics`.
    pub metrics: Option<Metrics>,
}

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub struct Tls {
    /// The certificate and those between it and its root.
    pub certificates: Vec<u8>,
    /// The private key.
    pub key: Vec<u8>,
}
