//! What is typed about secrets: `convoke secrets`.

use super::format::FormatArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `convoke secrets`.
#[derive(Debug, Args)]
pub struct SecretsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: SecretsCommand,
}

/// What can be done with secrets.
#[derive(Debug, Subcommand)]
pub enum SecretsCommand {
    /// Make a vault that a passphrase or a key file opens
    Init(SecretsInitArgs),
    /// Put a secret into the vault: typed unseen, or from standard input
    Set(SecretsSetArgs),
    /// Show a secret of the vault at a terminal
    Get(SecretsGetArgs),
    /// List the names in the vault
    List(FormatArgs),
    /// Take a secret out of the vault
    #[command(visible_alias = "rm")]
    Remove(SecretsRemoveArgs),
    /// Say which secrets of a workflow can be fetched, without showing any
    Check(SecretsCheckArgs),
}

/// `convoke secrets init`.
#[derive(Debug, Args)]
pub struct SecretsInitArgs {
    /// A file that holds an age identity and opens the vault; made if it is not there. Without it, a passphrase opens the vault
    #[arg(long, value_name = "FILE")]
    pub identity: Option<PathBuf>,
}

/// `convoke secrets set`.
#[derive(Debug, Args)]
pub struct SecretsSetArgs {
    /// Its name: letters, digits and _
    #[arg(value_name = "NAME", value_parser = name)]
    pub name: String,
    /// A file (mode 0600) that holds the value
    #[arg(long, value_name = "FILE")]
    pub from_file: Option<PathBuf>,
}

/// `convoke secrets get`.
#[derive(Debug, Args)]
pub struct SecretsGetArgs {
    /// Its name
    #[arg(value_name = "NAME", value_parser = name)]
    pub name: String,
    /// Print it where standard output is no terminal too
    #[arg(long)]
    pub reveal: bool,
}

/// `convoke secrets remove`.
#[derive(Debug, Args)]
pub struct SecretsRemoveArgs {
    /// Its name
    #[arg(value_name = "NAME", value_parser = name)]
    pub name: String,
}

/// `convoke secrets check`.
#[derive(Debug, Args)]
pub struct SecretsCheckArgs {
    /// A workflow file; without it, the secrets of the configuration are looked at
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
}

fn name(text: &str) -> Result<String, String> {
    match convoke_model::is_secret_name(text) {
        true => Ok(text.to_owned()),
        false => Err("expected letters, digits and `_`, as in SHOP_TOKEN".to_owned()),
    }
}
