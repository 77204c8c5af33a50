//! The command line as it is typed. Doc comments here are the help.
//!
//! Nothing is decided here: each command's file in `commands/` reads its own arguments. What belongs to one subject stands in
//! one file of this folder; this one holds the list of commands and what all of them take.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

mod cluster;
mod files;
mod format;
mod goal;
mod inspecting;
#[cfg(feature = "knowledge")]
mod knowledge;
mod policy;
mod prices;
mod running;
mod secrets;
mod serving;
mod telling;
mod tooling;
mod trust;
mod values;

#[cfg(feature = "cluster")]
pub use cluster::ClusterDevArgs;
pub use cluster::{ClusterCommand, WorkerArgs};
pub use files::{AnswererArgs, CheckArgs, PlanArgs, PresetsArgs, SchemaArgs, SchemaOf, TestArgs};
pub use format::{Format, FormatArgs, PlanFormat};
pub use goal::{GoalArgs, GoalBounds, GuideArgs};
pub use inspecting::{
    DiffArgs, EventsArgs, ExportArgs, ImportArgs, PruneArgs, RepairArgs, ReplayArgs, RunsArgs, ShowArgs,
    VerifyArgs,
};
#[cfg(feature = "knowledge")]
pub use knowledge::{
    AskArgs, GraphFormat, KnowledgeCommand, KnowledgeExportArgs, OrgCheckArgs, OrgCommand, OrgPlanArgs,
    OrgShowArgs, QueryArgs, RebuildArgs, TableFormat,
};
pub use policy::{PolicyArgs, PolicyCheckArgs, PolicyCommand};
pub use prices::{PricesArgs, PricesCommand, PricesFormat};
pub use running::{
    AnswerArgs, AttachArgs, ForkArgs, InputArgs, ResumeArgs, RunArgs, RunFlags, StopArgs, WorkArgs,
};
pub use secrets::{
    SecretsArgs, SecretsCheckArgs, SecretsCommand, SecretsGetArgs, SecretsInitArgs, SecretsSetArgs,
};
pub use serving::{RoleChoice, ServeArgs, ServeCommand, TokenCommand};
pub use telling::{FollowArgs, MetricsArgs, MetricsFormat};
pub use tooling::{
    CapacityArgs, CapacityCommand, CompleteArgs, CompletionsArgs, ConfigCommand, DoctorArgs, ManArgs,
    ProjectAction, ProjectArgs, WorkspacesAction, WorkspacesArgs,
};
pub use trust::{TrustArgs, TrustCommand};
pub use values::{Spending, age, size};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXIT_CODES: &str = "\
Exit codes:
  0 success             4 limit reached              74 state not writable
  1 failed or partial   5 waiting for a person      130 interrupted (Ctrl-C)
  2 usage               6 owned by another process  143 interrupted (SIGTERM)
  3 refused";

/// Runs many language-model agents as one piece of work
#[derive(Debug, Parser)]
#[command(name = "convoke", version, styles = STYLES, after_help = EXIT_CODES)]
#[command(disable_version_flag = true, propagate_version = false, arg_required_else_help = true)]
pub struct Cli {
    /// What is the same for every command.
    #[command(flatten)]
    pub global: Global,
    /// Print the version
    #[arg(short = 'V', long, help_heading = EVERYWHERE, short_alias = 'v', action = clap::ArgAction::Version)]
    pub version: Option<bool>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Where the flags stand in the help that every command takes: behind its own.
const EVERYWHERE: &str = "Options of every command";

/// Flags that every command takes.
#[derive(Debug, Clone, Default, Args)]
pub struct Global {
    /// Say only warnings and how it ended
    #[arg(short, long, global = true, help_heading = EVERYWHERE, conflicts_with = "silent")]
    pub quiet: bool,
    /// Say nothing but errors
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    pub silent: bool,
    /// How what happens is told on standard error
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Where runs are kept
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Where runs are kept: a folder, or a cluster as restate://HOST:PORT
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "DIR|ADDRESS", conflicts_with = "state_dir")]
    pub state: Option<String>,
    /// When to use colours
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "WHEN")]
    pub color: Option<ColorChoice>,
    /// Commands run without a sandbox, with all of your rights; agents' commands too
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub unsafe_no_sandbox: bool,
    /// A file (mode 0600) or descriptor (/dev/fd/3) with the passphrase of the vault, instead of the terminal
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE")]
    pub vault_passphrase_file: Option<PathBuf>,
    /// This process goes on for one that `--detach` was said to
    #[arg(long, global = true, hide = true, value_name = "FROM")]
    pub detached: Option<DetachedFrom>,
}

/// Where `--detach` was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DetachedFrom {
    /// At a terminal with a person at it
    Terminal,
    /// In a script
    Elsewhere,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal that has them, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How what happens is told on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// For programs: one JSON object a line
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a workflow
    Run(Box<RunArgs>),
    /// Reach a goal that is stated in a sentence
    Goal(Box<GoalArgs>),
    /// Say something to a goal that is being worked on, or to the agent of one task
    Guide(GuideArgs),
    /// Continue a run that was interrupted, is waiting, or failed
    Resume(Box<ResumeArgs>),
    /// Start a new run from a point of another one
    Fork(Box<ForkArgs>),
    /// Find everything that is wrong with workflow files
    #[command(visible_alias = "validate")]
    Check(CheckArgs),
    /// Show what a workflow would do: steps, levels, critical path
    Plan(PlanArgs),
    /// List presets, or say what one takes
    Presets(PresetsArgs),
    /// Show what the runs of this project share, or change it
    Project(ProjectArgs),
    /// List the worktrees and ports that tasks have, or let go of what is left
    Workspaces(WorkspacesArgs),
    /// Print the JSON Schema of workflow files, or of manifests
    Schema(SchemaArgs),
    /// List runs, newest first
    Runs(RunsArgs),
    /// Watch a run that goes on in the background, answer its gates, and end as it ends
    Attach(AttachArgs),
    /// Watch and steer the runs of every process in this terminal
    Top,
    /// Show the runs of every process in a browser, and over HTTP
    Serve(ServeArgs),
    /// Show a run, or one task of it with its prompt, attempts and output
    Show(ShowArgs),
    /// Show every limit that processes share, with holders and waiting runs, or change one
    Capacity(CapacityArgs),
    /// List the processes that share capacity, and how they are
    Instances(FormatArgs),
    /// Print the events of a run
    Events(EventsArgs),
    /// Say why two runs differ: causes apart from what follows from them
    Diff(DiffArgs),
    /// Show a past run again, as it was seen live
    Replay(ReplayArgs),
    /// Check a run's journal, from the first event to the last
    Verify(VerifyArgs),
    /// Bring a damaged run back to its longest beginning that verifies; the damaged files are kept
    Repair(RepairArgs),
    /// Write a whole run to one file, verified, to be moved or kept; or send its trace to a receiver
    Export(ExportArgs),
    /// Deliver traces and notices of all runs to the receivers that the configuration names
    Follow(FollowArgs),
    /// Print numbers about all runs for Prometheus
    Metrics(MetricsArgs),
    /// Take in a run that was exported, after everything in it was verified
    Import(ImportArgs),
    /// Remove runs that have ended, by age, count, size and status
    Prune(PruneArgs),
    /// Ask a run to stop
    Stop(StopArgs),
    /// Perform attempts of runs that were started with --share in this folder
    Work(WorkArgs),
    /// Perform the runs of a cluster: serve it at the address that --state names
    Worker(WorkerArgs),
    /// Try a cluster out
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Run workflows against recorded answers and compare what they give
    Test(TestArgs),
    /// Answer a gate or the questions that a run waits for
    Answer(Box<AnswerArgs>),
    /// Say which providers answer, with which models, and what to set where none does
    Doctor(DoctorArgs),
    /// Show what models cost and where each price comes from; state a price, or use a newer list
    Prices(PricesArgs),
    /// Say what a policy allows: whether a command may run, and what it would do
    Policy(PolicyArgs),
    /// Look at a file that describes an organisation, or find what is wrong with it
    #[cfg(feature = "knowledge")]
    #[command(subcommand)]
    Org(OrgCommand),
    /// Ask what was ever run: where answers come from, what roles cost, what fails
    #[cfg(feature = "knowledge")]
    #[command(subcommand)]
    Knowledge(KnowledgeCommand),
    /// Say that a workflow which you did not write may run, as it is now
    Trust(TrustArgs),
    /// Keep secrets in an encrypted vault, and see whether those of a workflow can be fetched
    Secrets(SecretsArgs),
    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the names that may stand next, for completion scripts
    #[command(hide = true)]
    Complete(CompleteArgs),
    /// Print the manual page, or write all of them to a folder
    Man(ManArgs),
}

impl Command {
    /// The files that a person names: each is consented to, and its project with it.
    pub fn named_files(&self) -> Vec<&std::path::Path> {
        let files: Vec<&PathBuf> = match self {
            Command::Run(args) if !args.found => vec![&args.file],
            Command::Check(args) => args.files.iter().collect(),
            Command::Plan(args) => vec![&args.file],
            Command::Test(args) => args.paths.iter().collect(),
            _ => Vec::new(),
        };
        files.into_iter().map(PathBuf::as_path).collect()
    }

    /// How a run is to be driven, of commands that drive one.
    pub fn run_flags(&self) -> Option<&RunFlags> {
        match self {
            Command::Run(args) => Some(&args.flags),
            Command::Goal(args) => Some(&args.flags),
            Command::Resume(args) => Some(&args.flags),
            Command::Fork(args) => Some(&args.flags),
            Command::Answer(args) => Some(&args.flags),
            _ => None,
        }
    }
}

/// Conductor's `--input.NAME=VALUE` is our `--input NAME=VALUE`, and its `-m KEY=VALUE` our `--metadata KEY=VALUE`. The name of no
/// model holds that sign.
pub fn as_conductor_writes(words: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut words = words.peekable();
    std::iter::from_fn(move || {
        let word = words.next()?;
        let is_pair = |word: &OsString| word.to_str().is_some_and(|text| text.contains('='));
        Some(match word.to_str() {
            Some("-m") if words.peek().is_some_and(is_pair) => "--metadata".into(),
            Some(text) => match text.strip_prefix("--input.") {
                Some(given) if given.contains('=') => format!("--input={given}").into(),
                _ => word,
            },
            None => word,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn own_options_stand_before_those_of_every_command_under_one_heading() {
        let mut cli = Cli::command();
        cli.build();
        for command in cli.get_subcommands_mut().filter(|command| command.get_name() != "help") {
            let help = command.render_long_help().to_string();
            let headings: Vec<&str> =
                help.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
            let once: std::collections::HashSet<&&str> = headings.iter().collect();
            assert_eq!(once.len(), headings.len(), "{}: {headings:?}", command.get_name());
            let last = help.find("Options of every command:").unwrap_or_else(|| panic!("{help}"));
            assert!(help.find("\nOptions:").is_none_or(|own| own < last), "{help}");
        }
    }

    #[test]
    fn conductor_inputs_are_inputs() {
        let words = ["convoke", "run", "w.yaml", "--input.n=1", "--input.x"].map(OsString::from);
        let words: Vec<_> = as_conductor_writes(words.into_iter()).collect();
        assert_eq!(words[3..], ["--input=n=1", "--input.x"].map(OsString::from));
    }

    #[test]
    fn the_same_letter_is_the_model_everywhere() {
        let words = ["convoke", "run", "w.yaml", "-m", "team=blue", "-m", "gpt-5.2"].map(OsString::from);
        let cli = Cli::try_parse_from(as_conductor_writes(words.into_iter())).unwrap();
        let Command::Run(run) = cli.command else { panic!("a run") };
        assert_eq!(run.metadata, [("team".to_owned(), "blue".to_owned())]);
        assert_eq!(run.flags.model.as_deref(), Some("gpt-5.2"));
        for command in [&["goal", "x"][..], &["resume"], &["answer", "r", "g"]] {
            let words = [&["convoke"], command, &["-m", "gpt-5.2"]].concat();
            let cli = Cli::try_parse_from(words).unwrap();
            assert_eq!(cli.command.run_flags().unwrap().model.as_deref(), Some("gpt-5.2"));
        }
        let cli =
            Cli::try_parse_from(["convoke", "check", "w.yaml", "-m", "gpt-5.2", "-p", "ollama"]).unwrap();
        let Command::Check(check) = cli.command else { panic!("a check") };
        assert_eq!(check.answerer.model.as_deref(), Some("gpt-5.2"));
        assert_eq!(check.answerer.provider.as_deref(), Some("ollama"));
    }

    #[test]
    fn an_input_without_a_value_is_a_usage_error() {
        let error = Cli::try_parse_from(["convoke", "run", "w.yaml", "-i", "name"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("expected NAME=VALUE"));
    }

    #[test]
    fn verbosity_may_stand_before_the_command() {
        let cli = Cli::try_parse_from(["convoke", "-q", "run", "w.yaml", "-i", "a=b=c"]).unwrap();
        assert!(cli.global.quiet);
        let Command::Run(run) = cli.command else { panic!("a run") };
        assert_eq!(run.inputs.inputs, [("a".to_owned(), "b=c".to_owned())]);
    }
}
