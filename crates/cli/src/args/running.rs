//! Arguments of commands that start, continue and steer runs: `run`, `resume`, `answer`, `stop`, `work`.

use super::Format;
use super::goal::GoalBounds;
use super::values::{hash, pair};
use clap::Args;
use std::path::PathBuf;

/// Flags that `run` and `resume` share.
#[derive(Debug, Clone, Default, Args)]
pub struct RunFlags {
    /// Gates take their first option instead of asking
    #[arg(long)]
    pub skip_gates: bool,
    /// Never ask on the terminal; a gate parks the run
    #[arg(long)]
    pub no_interactive: bool,
    /// Go on in the background: the run outlives this terminal, and a gate waits for `attach` or `answer`. Prints its name
    #[arg(long)]
    pub detach: bool,
    /// Show the run in a browser, from a server of its own: it ends with the run, or with the last open page
    #[arg(long, conflicts_with = "detach")]
    pub web: bool,
    /// The provider, over what the file says. Agents of a workflow that name openai or scripted keep it
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// The model of every agent, over what the file says
    #[arg(short, long, value_name = "NAME")]
    pub model: Option<String>,
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
#[derive(Debug, Clone, Args)]
pub struct InputArgs {
    /// An input of the workflow; may be repeated
    #[arg(short, long = "input", value_name = "NAME=VALUE", value_parser = pair)]
    pub inputs: Vec<(String, String)>,
    /// A JSON or YAML file with inputs; `-i` goes over it
    #[arg(long, value_name = "FILE")]
    pub input_file: Option<PathBuf>,
    /// Of org:FILE: superiors first say what their reports are to find out, instead of putting together what they found
    #[arg(long)]
    pub down: bool,
}

/// `convoke run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The file: a workflow, an execution or persona manifest, a team, a planner's output, a skill; or preset:NAME, or org:FILE#DEPARTMENT
    pub file: PathBuf,
    /// Shared with `check` and `plan`.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// A word to keep with the run; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub metadata: Vec<(String, String)>,
    /// Show what would run and spend nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the execution manifest that would run, with the given inputs, and run nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub print_manifest: bool,
    /// Take outputs of this run where a task is asked the same; everything else runs
    #[arg(long, value_name = "RUN", conflicts_with = "print_manifest")]
    pub reuse: Option<String>,
    /// With --reuse: say at the end why each task ran or was reused
    #[arg(long, requires = "reuse")]
    pub explain: bool,
    /// With --reuse: repeat scripts and tools that ran already, without asking
    #[arg(long, requires = "reuse")]
    pub repeat_effects: bool,
    /// No person named the file: it runs if it is trusted; for `convoke serve`
    #[arg(long, hide = true)]
    pub found: bool,
    /// A file of scripted replies that answers every agent; for `convoke test`
    #[arg(long, value_name = "FILE", hide = true, conflicts_with_all = ["record", "replay", "provider"])]
    pub replies: Option<PathBuf>,
    /// Shared with `resume`.
    #[command(flatten)]
    pub flags: RunFlags,
}

/// `convoke resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The run, the beginning of its name, or `last`; the newest unfinished run of this folder if left out
    pub run: Option<String>,
    /// Go on with the workflow file as it is now; of `convoke goal`, with the budget that is configured now
    #[arg(long)]
    pub accept_changes: bool,
    /// Do this task again, with what followed from it and nothing else that is finished; may be repeated
    #[arg(long, value_name = "TASK", conflicts_with = "accept_changes")]
    pub retry: Vec<String>,
    /// With --retry: repeat scripts and tools that ran already, without asking
    #[arg(long, requires = "retry")]
    pub repeat_effects: bool,
    /// Shared with `run`.
    #[command(flatten)]
    pub flags: RunFlags,
    /// Of a run that `convoke goal` started: how far it may go from here on.
    #[command(flatten, next_help_heading = "Options for runs of `convoke goal`")]
    pub bounds: GoalBounds,
}

/// `convoke fork`.
#[derive(Debug, Args)]
pub struct ForkArgs {
    /// The run to begin from, the beginning of its name, or `last`: the last one of this folder
    pub run: String,
    /// Where: the number of the last event to keep, or a task, before which the fork begins [default: the last event]
    #[arg(long, value_name = "EVENT|TASK")]
    pub at: Option<String>,
    /// What a step answers: STEP.output=VALUE, or one field of it; may be repeated. What followed from it runs again
    #[arg(long, value_name = "STEP.output.FIELD=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Go on with another workflow file: what it changes, and what depends on that, runs again
    #[arg(long, value_name = "FILE")]
    pub workflow: Option<PathBuf>,
    /// Repeat what the run did already behind that point, without asking
    #[arg(long)]
    pub repeat_effects: bool,
    /// For prompts from here on.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// Shared with `run`.
    #[command(flatten)]
    pub flags: RunFlags,
}

/// `convoke answer`.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The run, the beginning of its name, or `last`: the last one of this folder
    pub run: String,
    /// The gate that waits: its id (`approve~1`), or the step that asks; left out, the open gates are listed
    pub gate: Option<String>,
    /// The option to choose, or an answer to each question as ID=TEXT
    pub values: Vec<String>,
    /// A text that the option asks for; may be repeated
    #[arg(short, long = "input", value_name = "NAME=TEXT", value_parser = pair)]
    pub inputs: Vec<(String, String)>,
    /// Answer every question that is alike so too: of the same step, about the same; each by the hash of what it shows itself
    #[arg(long, requires = "values")]
    pub alike: bool,
    /// Skip the questions that have no answer here
    #[arg(long)]
    pub skip_rest: bool,
    /// The hash of what was shown, at least 8 digits of it: the answer is refused if the question is another one
    #[arg(long, value_name = "HASH", value_parser = hash)]
    pub shown: Option<String>,
    /// How to print the open gates, or why an answer is refused
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
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

/// `convoke attach`.
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// The run, the beginning of its name, or `last`; the last one of this folder if left out
    pub run: Option<String>,
    /// A run that ended in part exits with 0
    #[arg(long)]
    pub allow_partial: bool,
}

/// `convoke stop`.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// The run, the beginning of its name, or `last`: the last one of this folder
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
