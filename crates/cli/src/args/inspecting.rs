//! Arguments of commands that inspect stored runs: `show`, `events`, `diff`, `replay`, `verify`, `prune`.

use super::format::Format;
use super::values::{age, pair, size, speed};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use convoke_model::RunStatus;
use std::path::PathBuf;
use std::time::Duration;

/// `convoke runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Only runs in whose name, workflow, file, folder, metadata or inputs each of these words stands
    #[arg(value_name = "SEARCH")]
    pub search: Vec<String>,
    /// Only runs that stand so; may be repeated
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = status())]
    pub status: Vec<RunStatus>,
    /// Only runs of workflows whose name holds this
    #[arg(long, value_name = "NAME")]
    pub workflow: Option<String>,
    /// Only runs that were started no longer ago than this, such as `2h` or `7d`
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub since: Option<Duration>,
    /// The newest N of them
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub limit: Option<usize>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The words for how runs stand.
fn status() -> impl TypedValueParser<Value = RunStatus> {
    PossibleValuesParser::new(RunStatus::ALL.map(RunStatus::word))
        .map(|word| RunStatus::from_word(&word).expect("one of the words"))
}

/// `convoke show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The run, the beginning of its name, or `last`; the last one of this folder if left out
    pub run: Option<String>,
    /// A task of the run
    pub task: Option<String>,
    /// Show the task's whole conversation, not only its last turns and the beginnings of texts
    #[arg(long, requires = "task")]
    pub full: bool,
    /// Print a value that the task's conversation put aside, such as r1, and nothing else
    #[arg(long, value_name = "NAME", requires = "task", conflicts_with = "full")]
    pub kept: Option<String>,
    /// List what the run did to the world: scripts and tool calls, each with its idempotency key and its outcome
    #[arg(long, conflicts_with = "task")]
    pub effects: bool,
    /// Print the answer with its sources, and check its citations against them
    #[arg(long, conflicts_with_all = ["task", "effects"])]
    pub sources: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke events`.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// The run, the beginning of its name, or `last`: the last one of this folder
    pub run: String,
    /// Wait for more until the run ends
    #[arg(short, long)]
    pub follow: bool,
    /// How to print; json is one event a line
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The first run, the beginning of its name, or `last`: the last one of this folder
    #[arg(value_name = "RUN")]
    pub old: String,
    /// The second run
    #[arg(value_name = "RUN")]
    pub new: String,
    /// Only what concerns this task and what is below it
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// Show whole texts, and every consequence one by one
    #[arg(long)]
    pub full: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The run, the beginning of its name, or `last`: the last one of this folder
    pub run: String,
    /// How many times quicker than it was; `max` or 0 for no pauses
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed)]
    pub speed: f64,
    /// Begin at this event, by its number, or at the first event of this task
    #[arg(long, value_name = "EVENT|TASK")]
    pub from: Option<String>,
    /// End with this event, or with the last event of this task
    #[arg(long, value_name = "EVENT|TASK")]
    pub to: Option<String>,
}

/// `convoke verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The run, the beginning of its name, or `last`: the last one of this folder (`last` unless told)
    pub run: Option<String>,
    /// Check every run of the state folder
    #[arg(long, conflicts_with = "run")]
    pub all: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke repair`.
#[derive(Debug, Args)]
pub struct RepairArgs {
    /// The run, the beginning of its name, or `last`: the last one of this folder
    pub run: String,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run, the beginning of its name, or `last`: the last one of this folder
    pub run: String,
    /// The file to write, which must not exist; `-` is standard output
    #[arg(required_unless_present_any = ["otlp", "html"], conflicts_with_all = ["otlp", "html"])]
    pub file: Option<PathBuf>,
    /// Write a page that shows the run without a server to this file instead, without known keys; `-` is standard output
    #[arg(long, value_name = "FILE", conflicts_with = "otlp")]
    pub html: Option<PathBuf>,
    /// Send the run to this address instead, over OTLP/HTTP: its trace, and what else --signals names
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
    /// What is sent there
    #[arg(long, value_name = "SIGNALS", value_delimiter = ',', default_value = "traces", value_parser = ["traces", "metrics", "logs"], requires = "otlp", conflicts_with = "file")]
    pub signals: Vec<String>,
    /// A header for that address; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "otlp", conflicts_with = "file")]
    pub header: Vec<(String, String)>,
    /// Send what was said as well: prompts, answers, arguments and results of tools, without known keys
    #[arg(long, requires = "otlp", conflicts_with = "file")]
    pub contents: bool,
    /// How to print what was done
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The file that `convoke export` wrote; `-` is standard input
    pub file: PathBuf,
    /// How to print what was done
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke prune`. Every flag narrows what is removed.
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Keep this many of the newest runs that fit --status and --workflow [default: 50, or 0 with --older-than or --max-size]
    #[arg(long, value_name = "N")]
    pub keep_last: Option<usize>,
    /// Only remove runs that ended longer ago than this, such as `30d` or `12h`
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub older_than: Option<Duration>,
    /// Only remove as many, the oldest first, as it takes until all runs need no more than this, such as `5GB` or `800MB`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_size: Option<u64>,
    /// Only remove runs that stand so; may be repeated
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = status())]
    pub status: Vec<RunStatus>,
    /// Only remove runs of the workflow of this name
    #[arg(long, value_name = "NAME")]
    pub workflow: Option<String>,
    /// Runs that are parked, interrupted or unreadable may go, too: they cannot be resumed then
    #[arg(long)]
    pub include_unfinished: bool,
    /// Say what would be removed, and how much space that is
    #[arg(long)]
    pub dry_run: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
