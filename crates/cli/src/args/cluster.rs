//! Arguments of commands about clusters: `worker`, `cluster`.

use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

/// `convoke worker`.
#[derive(Debug, Clone, Args)]
pub struct WorkerArgs {
    /// Where the cluster's servers reach this worker; workers of one machine may share it
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:9080")]
    pub listen: SocketAddr,
    /// The URL under which they reach it, if that is another: of a balancer in front of several workers, say
    #[arg(long, value_name = "URL", value_parser = url)]
    pub advertise: Option<String>,
    /// Where other workers reach this one; also `GET /health`
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0")]
    pub peers: SocketAddr,
    /// Host and port under which other workers reach it, if these are others
    #[arg(long, value_name = "HOST:PORT")]
    pub advertise_peers: Option<String>,
    /// The most attempts at once [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub at_once: Option<u32>,
    /// Print what to register instead of registering
    #[arg(long)]
    pub no_register: bool,
    /// A public key of the cluster: requests that are not signed with it are refused; may be repeated
    #[arg(long = "identity-key", value_name = "KEY")]
    pub identity_keys: Vec<String>,
}

/// What to do with a cluster.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Start a cluster of one server with one worker on this machine, until Ctrl-C
    Dev(ClusterDevArgs),
}

/// `convoke cluster dev`.
#[derive(Debug, Args)]
pub struct ClusterDevArgs {
    /// Where the server keeps its data [default: in the cache folder; what is there goes on]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The server's program [default: `restate-server` of npm, installed into the cache folder]
    #[arg(long, value_name = "FILE")]
    pub server: Option<PathBuf>,
    /// The first of four ports: calls, administration, the server itself, the worker
    #[arg(long, value_name = "PORT", default_value_t = 8080, value_parser = clap::value_parser!(u16).range(1..=32_000))]
    pub port: u16,
    /// The most attempts at once [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub at_once: Option<u32>,
}

/// An address that servers can call.
fn url(given: &str) -> Result<String, String> {
    let refused = "expected http://HOST:PORT or https://HOST:PORT";
    match given.parse::<reqwest::Url>() {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(given.to_owned()),
        _ => Err(refused.to_owned()),
    }
}
