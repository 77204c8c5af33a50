//! The command line as it is typed. Doc comments here are the help.
//!
//! Nothing is decided here: each command's file in `commands/` reads its own arguments.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

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
    #[arg(short = 'V', long, short_alias = 'v', action = clap::ArgAction::Version)]
    pub version: Option<bool>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Default, Args)]
pub struct Global {
    /// Say only warnings and how it ended
    #[arg(short, long, global = true, conflicts_with = "silent")]
    pub quiet: bool,
    /// Say nothing but errors
    #[arg(short, long, global = true)]
    pub silent: bool,
    /// Where runs are kept
    #[arg(long, global = true, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN")]
    pub color: Option<ColorChoice>,
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

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a workflow
    Run(Box<RunArgs>),
    /// Reach a goal that is stated in a sentence
    Goal(Box<GoalArgs>),
    /// Say something to a goal that is being worked on
    Guide(GuideArgs),
    /// Continue a run that was interrupted, is waiting, or failed
    Resume(Box<ResumeArgs>),
    /// Find everything that is wrong with workflow files
    #[command(visible_alias = "validate")]
    Check(CheckArgs),
    /// Show what a workflow would do: steps, levels, critical path
    Plan(PlanArgs),
    /// List presets, or say what one takes
    Presets(PresetsArgs),
    /// Show what the runs of this project share, or change it
    Project(ProjectArgs),
    /// Print the JSON Schema of workflow files, or of manifests
    Schema(SchemaArgs),
    /// List runs, newest first
    Runs(FormatArgs),
    /// Show a run, or one task of it with its prompt, attempts and output
    Show(ShowArgs),
    /// Show every limit that processes share, who holds it and who waits, or change one
    Capacity(CapacityArgs),
    /// List the processes that share capacity, and how they are
    Instances(FormatArgs),
    /// Print the events of a run
    Events(EventsArgs),
    /// Check a run's journal, from the first event to the last
    Verify(VerifyArgs),
    /// Remove old runs that have ended
    Prune(PruneArgs),
    /// Ask a run to stop
    Stop(StopArgs),
    /// Perform attempts of runs that were started with --share in this folder
    Work(WorkArgs),
    /// Run workflows against recorded answers and compare what they give
    Test(TestArgs),
    /// Answer a gate or the questions that a run waits for
    Answer(Box<AnswerArgs>),
    /// Say which providers answer, with which models, and what to set where none does
    Doctor(DoctorArgs),
    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them to a folder
    Man(ManArgs),
}

/// Flags that `run` and `resume` share.
#[derive(Debug, Clone, Default, Args)]
pub struct RunFlags {
    /// Gates take their first option instead of asking
    #[arg(long)]
    pub skip_gates: bool,
    /// Never ask on the terminal; a gate parks the run
    #[arg(long)]
    pub no_interactive: bool,
    /// The provider, over what the file says. Agents of a workflow that name openai or scripted keep it
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// The most attempts at once in this run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_concurrency: Option<u32>,
    /// Others may take tasks of this run: idle processes of the same state folder. Takes theirs when it is idle itself
    #[arg(long, conflicts_with_all = ["record", "replay"])]
    pub share: bool,
    /// With --share: attempts that this process serves itself before it offers any [default: 4 for each core]
    #[arg(long, value_name = "N", requires = "share", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub keep: Option<u32>,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    /// A run that ended in part exits with 0
    #[arg(long)]
    pub allow_partial: bool,
    /// Write every call to a model to a cassette in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Answer from the cassette in this folder; no model is asked
    #[arg(long, value_name = "DIR")]
    pub replay: Option<PathBuf>,
    /// The output is shown in words, where it is the answer to a goal.
    #[arg(skip)]
    pub in_words: bool,
    /// Lines that are typed are guidance.
    #[arg(skip)]
    pub guided: bool,
}

/// Inputs, wherever something is compiled.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// An input of the workflow; may be repeated
    #[arg(short, long = "input", value_name = "NAME=VALUE", value_parser = pair)]
    pub inputs: Vec<(String, String)>,
    /// A JSON or YAML file with inputs; `-i` goes over it
    #[arg(long, value_name = "FILE")]
    pub input_file: Option<PathBuf>,
}

/// `convoke run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The file: a workflow, an execution or persona manifest, a team, a planner's output, a skill; or preset:NAME
    pub file: PathBuf,
    /// Shared with `check` and `plan`.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// A word to keep with the run; may be repeated
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = pair)]
    pub metadata: Vec<(String, String)>,
    /// Show what would run and spend nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the execution manifest that would run, with the given inputs, and run nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub print_manifest: bool,
    /// A file of scripted replies that answers every agent; for `convoke test`
    #[arg(long, value_name = "FILE", hide = true, conflicts_with_all = ["record", "replay", "provider"])]
    pub replies: Option<PathBuf>,
    /// Shared with `resume`.
    #[command(flatten)]
    pub flags: RunFlags,
}

/// `convoke goal`.
#[derive(Debug, Args)]
pub struct GoalArgs {
    /// What is to be reached, in your words
    pub goal: String,
    /// The model for everybody who is asked
    #[arg(short, long, value_name = "NAME")]
    pub model: Option<String>,
    /// What whoever plans should know besides: a file, or the words themselves
    #[arg(long, value_name = "FILE|TEXT")]
    pub context: Option<String>,
    /// Only these tools of those that the configuration has; may be repeated, `none` for none
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub tools: Vec<String>,
    /// How far it may go; `resume` can state it anew.
    #[command(flatten)]
    pub bounds: GoalBounds,
    /// Make the plan, print it as YAML and do nothing
    #[arg(long, conflicts_with_all = ["approve_plan", "yes", "plan"])]
    pub plan_only: bool,
    /// A person approves the plan before anything is done; the default on a terminal
    #[arg(long, conflicts_with = "yes")]
    pub approve_plan: bool,
    /// Carry the plan out without asking; the default elsewhere
    #[arg(short, long)]
    pub yes: bool,
    /// Carry out this plan instead of asking for one; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// What is typed while it runs is said to whoever is asked next
    #[arg(long)]
    pub interactive: bool,
    /// Print the workflow that would run, and run nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub print_workflow: bool,
    /// Show what would run and spend nothing
    #[arg(long)]
    pub dry_run: bool,
    /// How to print the answer [default: text on a terminal, json elsewhere]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Shared with `run`.
    #[command(flatten)]
    pub flags: RunFlags,
}

/// How far a goal may go.
#[derive(Debug, Clone, Default, Args)]
pub struct GoalBounds {
    /// How deep tasks may be split [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10))]
    pub max_depth: Option<u32>,
    /// Tasks that one task may be split into [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub max_children: Option<u32>,
    /// Tasks in all [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_tasks: Option<u32>,
    /// How often it may be planned [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub max_rounds: Option<u32>,
    /// How often one task may be recovered [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub max_recoveries: Option<u32>,
    /// What it may cost: dollars such as 2.50, or tokens such as 200000t
    #[arg(long, value_name = "AMOUNT", value_parser = spending)]
    pub budget: Option<Spending>,
}

/// What a goal may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spending {
    /// Dollars.
    Dollars(f64),
    /// Tokens, sent and received.
    Tokens(u64),
}

/// `convoke guide`.
#[derive(Debug, Args)]
pub struct GuideArgs {
    /// The run, or the beginning of its name
    pub run: String,
    /// What to say; it stands over the plan from the next decision on
    #[arg(required = true)]
    pub words: Vec<String>,
}

/// `convoke resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The run, or the beginning of its name; the newest unfinished run of this folder if left out
    pub run: Option<String>,
    /// Go on with the workflow file as it is now; of `convoke goal`, with the budget that is configured now
    #[arg(long)]
    pub accept_changes: bool,
    /// Of a run that `convoke goal` started: how far it may go from here on.
    #[command(flatten, next_help_heading = "For runs of `convoke goal`")]
    pub bounds: GoalBounds,
    /// Shared with `run`.
    #[command(flatten, next_help_heading = "Options")]
    pub flags: RunFlags,
}

/// `convoke check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The files, as `run` takes them; or preset:NAME
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Shared with `run`.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
}

/// `convoke plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The file, as `run` takes it; or preset:NAME
    pub file: PathBuf,
    /// Shared with `run`.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// How to print the plan
    #[arg(long, value_enum, default_value_t)]
    pub format: PlanFormat,
}

/// `convoke presets`.
#[derive(Debug, Args)]
pub struct PresetsArgs {
    /// Say all about this one
    pub name: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
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

/// `convoke schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Of which kind of file
    #[arg(value_enum, default_value_t)]
    pub of: SchemaOf,
}

/// Kinds of files that have a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum SchemaOf {
    /// Workflow files
    #[default]
    Workflow,
    /// Execution manifests
    Manifest,
    /// Persona manifests
    Personas,
    /// What the duties of a goal answer
    Goal,
}

/// Commands that only choose a format.
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The run, or the beginning of its name
    pub run: String,
    /// A task of the run
    pub task: Option<String>,
    /// Show the task's whole conversation, not only its last turns and the beginnings of texts
    #[arg(long, requires = "task")]
    pub full: bool,
    /// Print a value that the task's conversation put aside, such as r1, and nothing else
    #[arg(long, value_name = "NAME", requires = "task", conflicts_with = "full")]
    pub kept: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
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
    /// Change limits of every live process, until the machine is started anew
    Set(CapacitySetArgs),
}

/// `convoke capacity set`.
#[derive(Debug, Args)]
pub struct CapacitySetArgs {
    /// A limit, as `convoke capacity` names it, and how much there is from now on
    #[arg(required = true, value_name = "NAME=N", value_parser = last_pair)]
    pub limits: Vec<(String, String)>,
}

/// `convoke events`.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// The run, or the beginning of its name
    pub run: String,
    /// Wait for more until the run ends
    #[arg(short, long)]
    pub follow: bool,
    /// How to print; json is one event a line
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The run, or the beginning of its name
    pub run: String,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke prune`.
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Keep this many of the newest runs
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub keep_last: usize,
    /// Only remove runs that ended longer ago than this, such as `30d` or `12h`
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub older_than: Option<std::time::Duration>,
    /// Say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke stop`.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// The run, or the beginning of its name
    pub run: String,
    /// Do not let attempts finish
    #[arg(long)]
    pub now: bool,
}

/// `convoke work`.
#[derive(Debug, Args)]
pub struct WorkArgs {
    /// The most attempts at once [default: 4 for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub at_once: Option<u32>,
    /// Leave after so many seconds in which nothing was offered
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub idle_seconds: u64,
}

/// `convoke test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Workflow files, files of tests (NAME.tests.yaml), or folders of them
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Ask the models where a cassette is missing, and make it
    #[arg(long)]
    pub record: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke answer`.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The run, or the beginning of its name
    pub run: String,
    /// The gate that waits
    pub gate: String,
    /// The option to choose, or an answer to each question as ID=TEXT
    pub values: Vec<String>,
    /// A text that the option asks for; may be repeated
    #[arg(short, long = "input", value_name = "NAME=TEXT", value_parser = pair)]
    pub inputs: Vec<(String, String)>,
    /// Skip the questions that have no answer here
    #[arg(long)]
    pub skip_rest: bool,
    /// Give up on the questions
    #[arg(long, conflicts_with_all = ["values", "skip_rest"])]
    pub abort: bool,
    /// Continue the run here if no process drives it
    #[arg(long)]
    pub resume: bool,
    /// For `--resume`.
    #[command(flatten)]
    pub flags: RunFlags,
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
}

/// `convoke completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `convoke man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Where to write one page per command
    pub dir: Option<PathBuf>,
}

/// Text for people, JSON for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// How a plan is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum PlanFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// A Mermaid flowchart
    Mermaid,
    /// A Graphviz graph
    Dot,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

fn spending(text: &str) -> Result<Spending, String> {
    let wrong = || format!("`{text}` is neither dollars, such as 2.50, nor tokens, such as 200000t");
    let plain = text.trim().trim_start_matches('$').replace('_', "");
    match plain.strip_suffix('t') {
        Some(tokens) => {
            tokens.parse().ok().filter(|count| *count > 0).map(Spending::Tokens).ok_or_else(wrong)
        }
        None => plain
            .parse()
            .ok()
            .filter(|usd: &f64| usd.is_finite() && *usd > 0.0)
            .map(Spending::Dollars)
            .ok_or_else(wrong),
    }
}

/// The name may hold the sign itself; the number does not.
fn last_pair(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("expected NAME=N".to_owned()),
    }
}

fn age(text: &str) -> Result<std::time::Duration, String> {
    let wrong = || format!("`{text}` is no age; write a number and d, h, m or s, such as 30d");
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return Err(wrong()),
    };
    Ok(std::time::Duration::from_secs(number.saturating_mul(seconds)))
}

/// Conductor's `--input.NAME=VALUE` is our `--input NAME=VALUE`.
pub fn as_conductor_writes(words: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    words.map(|word| match word.to_str().and_then(|text| text.strip_prefix("--input.")) {
        Some(given) if given.contains('=') => format!("--input={given}").into(),
        _ => word,
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
    fn conductor_inputs_are_inputs() {
        let words = ["convoke", "run", "w.yaml", "--input.n=1", "--input.x"].map(OsString::from);
        let words: Vec<_> = as_conductor_writes(words.into_iter()).collect();
        assert_eq!(words[3..], ["--input=n=1", "--input.x"].map(OsString::from));
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

    #[test]
    fn what_a_goal_may_cost_is_dollars_or_tokens() {
        assert_eq!(spending("2.50"), Ok(Spending::Dollars(2.5)));
        assert_eq!(spending("$3"), Ok(Spending::Dollars(3.0)));
        assert_eq!(spending("200_000t"), Ok(Spending::Tokens(200_000)));
        assert!(["0", "-1", "t", "nan", "many"].iter().all(|text| spending(text).is_err()));
    }

    #[test]
    fn ages_are_numbers_with_a_unit() {
        assert_eq!(age("30d").unwrap().as_secs(), 30 * 86_400);
        assert!(age("30").is_err() && age("x").is_err() && age("3w").is_err());
    }
}
