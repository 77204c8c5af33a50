//! What is typed about trust: `convoke trust`.

use super::format::FormatArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `convoke trust`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct TrustArgs {
    /// A workflow file, a URL, or a project's convoke.toml, as it is now
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// To look at what is trusted, or change it.
    #[command(subcommand)]
    pub command: Option<TrustCommand>,
}

/// What can be done with what is trusted.
#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// List what is trusted, and what has changed since
    List(FormatArgs),
    /// Trust a file no more
    #[command(visible_alias = "rm")]
    Remove(TrustRemoveArgs),
}

/// `convoke trust remove`.
#[derive(Debug, Args)]
pub struct TrustRemoveArgs {
    /// The file or URL, as `list` shows it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}
