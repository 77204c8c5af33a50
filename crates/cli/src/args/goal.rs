//! What is typed for goals: `goal`, `guide`, and how far one may go.

use super::format::Format;
use super::running::RunFlags;
use super::values::{Spending, spending, time};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// `convoke goal`.
#[derive(Debug, Args)]
pub struct GoalArgs {
    /// What is to be reached, in your words
    pub goal: String,
    /// Further information for the planner: a file, or the words themselves
    #[arg(long, value_name = "FILE|TEXT")]
    pub context: Option<String>,
    /// Only these tools of those that the configuration has; may be repeated, `none` for none
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub tools: Vec<String>,
    /// How far it may go; `resume` can change it.
    #[command(flatten)]
    pub bounds: GoalBounds,
    /// Make the plan, print it as YAML and do nothing
    #[arg(long, conflicts_with_all = ["approve_plan", "yes", "plan"])]
    pub plan_only: bool,
    /// Print the result of each task too, beside its status
    #[arg(long)]
    pub results: bool,
    /// A person approves the plan before anything is done; the default on a terminal
    #[arg(long, conflicts_with = "yes")]
    pub approve_plan: bool,
    /// Carry the plan out without asking; the default elsewhere
    #[arg(short, long)]
    pub yes: bool,
    /// Carry out this plan instead of asking for one; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Every line that is typed while it runs is guidance for the next prompt
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
#[derive(Debug, Clone, Default, PartialEq, Args)]
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
    /// Tasks that may be handed to a sub-agent, which splits them; further ones are done directly [default: no bound]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub max_subagents: Option<u32>,
    /// The longest time for all of it: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub timeout: Option<Duration>,
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

impl GoalBounds {
    /// Whether any of them is stated.
    pub fn is_stated(&self) -> bool {
        *self != GoalBounds::default()
    }
}

/// `convoke guide`.
#[derive(Debug, Args)]
pub struct GuideArgs {
    /// The run, the beginning of its name, or `last`: the last one of this folder
    pub run: String,
    /// What to say; of a goal, it stands over the plan from the next decision on. The name of a task before one text is as `--task`
    #[arg(required = true)]
    pub words: Vec<String>,
    /// The task whose agent hears it, before its next turn
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
}
