//! Arguments of commands about shared state and the program itself: `project`, `capacity`, `doctor`, `config`, `completions`, `man`.

use super::format::{Format, FormatArgs};
use super::values::last_pair;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `convoke workspaces`.
#[derive(Debug, Args)]
pub struct WorkspacesArgs {
    /// What to do; without anything, they are listed
    #[command(subcommand)]
    pub action: Option<WorkspacesAction>,
    /// How to print
    #[arg(long, value_enum, default_value_t, global = true)]
    pub format: Format,
}

/// What to do with workspaces.
#[derive(Debug, Subcommand)]
pub enum WorkspacesAction {
    /// Let go of the workspaces of runs that no process drives; what is in no commit stays
    Clean {
        /// Only those of this run
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
        /// Remove the kept ones too, with everything in them
        #[arg(long)]
        discard: bool,
    },
}

/// `convoke project`.
#[derive(Debug, Args)]
pub struct ProjectArgs {
    /// What to do; without anything, it is shown
    #[command(subcommand)]
    pub action: Option<ProjectAction>,
    /// The file, instead of the configured one
    #[arg(long, value_name = "FILE", global = true)]
    pub file: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t, global = true)]
    pub format: Format,
}

/// What to do with what the runs of a project share.
#[derive(Debug, Subcommand)]
pub enum ProjectAction {
    /// Print it
    Show,
    /// Set flags: NAME=true, NAME=false, or NAME= to take one away
    Set {
        /// The flags
        #[arg(required = true, value_name = "NAME=VALUE")]
        flags: Vec<String>,
    },
    /// Make a change: {"globalFlags": {..}, "artifactPointers": {..}, "taskQueue": {"upsert": [..], "remove": [..]}}
    Patch {
        /// The change as JSON; - reads it from standard input
        change: String,
    },
    /// Print where it is kept
    Path,
}

/// `convoke capacity`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct CapacityArgs {
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// To change something.
    #[command(subcommand)]
    pub command: Option<CapacityCommand>,
}

/// What can be changed.
#[derive(Debug, Subcommand)]
pub enum CapacityCommand {
    /// Change limits of every live process, until the machine restarts
    Set(CapacitySetArgs),
    /// Forget what was learned of services: how many calls at once each is good for
    Forget(CapacityForgetArgs),
}

/// `convoke capacity forget`.
#[derive(Debug, Args)]
pub struct CapacityForgetArgs {
    /// A service, as `convoke capacity` names it or as PROVIDER/MODEL; all of them unless told
    #[arg(value_name = "SERVICE")]
    pub service: Option<String>,
}

/// `convoke capacity set`.
#[derive(Debug, Args)]
pub struct CapacitySetArgs {
    /// A limit, as `convoke capacity` names it, and how much there is from now on
    #[arg(required = true, value_name = "NAME=N", value_parser = last_pair)]
    pub limits: Vec<(String, String)>,
}

/// `convoke doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Only this provider; may be repeated
    #[arg(short, long, value_name = "NAME")]
    pub provider: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke config`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print every value and where it came from
    Show(FormatArgs),
    /// Print every key: what it takes, its default, and the variable that sets it
    Keys(FormatArgs),
    /// Print every environment variable that the program reads
    Variables(FormatArgs),
}

/// `convoke completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `convoke complete`.
#[derive(Debug, Args)]
pub struct CompleteArgs {
    /// The words of the command line after the program's name, the last as far as it was typed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// `convoke man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Where to write one page per command
    pub dir: Option<PathBuf>,
}
