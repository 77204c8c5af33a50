//! What is typed about policies: `policy check`, `policy explain`.

use super::format::Format;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `convoke policy`.
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PolicyCommand,
}

/// What can be asked of a policy.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Say whether a command may run, what it would do, and why not
    Check(PolicyCheckArgs),
    /// Say in sentences what a policy allows
    Explain(PolicyExplainArgs),
}

/// `convoke policy check`.
#[derive(Debug, Args)]
pub struct PolicyCheckArgs {
    /// A policy file, or read-only, develop or network; of several, the strictest verdict wins
    #[arg(short = 'P', long, value_name = "POLICY", default_value = "develop")]
    pub policy: Vec<String>,
    /// The folder beneath which everything stays; this one unless told
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// The folder in which the command would run; the root unless told
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Judge every line of a file, or of standard input for -: {"id", "command", "cwd"} or {"id", "path", "access"}
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub batch: Option<PathBuf>,
    /// Who runs it, for rules of Cedar: a persona
    #[arg(long, value_name = "NAME")]
    pub persona: Option<String>,
    /// Who runs it, for rules of Cedar: a step
    #[arg(long, value_name = "NAME")]
    pub step: Option<String>,
    /// The contract under which it runs, for rules of Cedar: a file with a JSON object
    #[arg(long, value_name = "FILE")]
    pub contract: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// The command: one word is a command line, several are the words of one command
    #[arg(last = true, required_unless_present = "batch", value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// `convoke policy explain`.
#[derive(Debug, Args)]
pub struct PolicyExplainArgs {
    /// A policy file, or read-only, develop or network
    #[arg(value_name = "POLICY", default_value = "develop")]
    pub policy: String,
}
