//! Arguments of `serve`.

use clap::{Args, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// `convoke serve`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ServeArgs {
    /// Where to listen; port 0 takes any that is free [default: 127.0.0.1:4600]
    #[arg(long, value_name = "HOST:PORT")]
    pub addr: Option<SocketAddr>,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
    /// A folder whose workflow files may be started from the page; may be repeated [default: this folder]
    #[arg(long = "folder", value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Another name by which the server is called; may be repeated
    #[arg(long = "name", value_name = "HOST")]
    pub names: Vec<String>,
    /// A proxy that speaks TLS stands before it: other machines reach it by that alone
    #[arg(long, conflicts_with = "tls_cert")]
    pub behind_proxy: bool,
    /// A certificate (PEM); with it the server speaks TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// To look at tokens, or change them.
    #[command(subcommand)]
    pub command: Option<ServeCommand>,
}

/// What can be done besides serving.
#[derive(Debug, Subcommand)]
pub enum ServeCommand {
    /// Tokens by which the server knows its callers
    #[command(subcommand)]
    Token(TokenCommand),
}

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it; it is shown this once
    Add(TokenAddArgs),
    /// List tokens by name
    List(super::FormatArgs),
    /// Take a token away; it is refused from the next request on
    Revoke(TokenRevokeArgs),
}

/// `convoke serve token add`.
#[derive(Debug, Args)]
pub struct TokenAddArgs {
    /// Its name, which the record of every action has
    #[arg(value_name = "NAME", value_parser = token_name)]
    pub name: String,
    /// What it may do: look; start, stop, resume and guide runs; answer as well
    #[arg(long, value_enum, default_value_t)]
    pub role: RoleChoice,
}

/// `convoke serve token revoke`.
#[derive(Debug, Args)]
pub struct TokenRevokeArgs {
    /// Its name
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum RoleChoice {
    /// Look
    #[default]
    View,
    /// And start, stop, resume and guide runs, and change limits
    Operate,
    /// And answer what runs ask
    Approve,
}

fn token_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    match text.len() {
        1..=64 if text.chars().all(plain) => Ok(text.to_owned()),
        _ => Err("expected letters, digits, `-`, `_`, `.` or `@`, at most 64".to_owned()),
    }
}
