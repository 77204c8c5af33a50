//! Arguments of commands about organisations and about the graph of runs: `org`, `knowledge`.

use super::Format;
use super::files::AnswererArgs;
use super::running::InputArgs;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `convoke org`.
#[derive(Debug, Subcommand)]
pub enum OrgCommand {
    /// Find everything that is wrong with files that describe one organisation
    Check(OrgCheckArgs),
    /// Show departments, or one department or role with all about it
    Show(OrgShowArgs),
    /// Show what a department, or the whole organisation, would do
    Plan(OrgPlanArgs),
    /// Print the words that describe organisations and runs, as Turtle
    Words,
}

/// `convoke org check`.
#[derive(Debug, Args)]
pub struct OrgCheckArgs {
    /// The files: Turtle, JSON-LD or RDF/XML; together they describe one organisation
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
}

/// `convoke org show`.
#[derive(Debug, Args)]
pub struct OrgShowArgs {
    /// The file
    pub file: PathBuf,
    /// A department or a role
    pub name: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `convoke org plan`.
#[derive(Debug, Args)]
pub struct OrgPlanArgs {
    /// The file, or FILE#DEPARTMENT
    pub file: PathBuf,
    /// Shared with `run`.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// Shared with `check`.
    #[command(flatten)]
    pub answerer: AnswererArgs,
    /// How to print the plan
    #[arg(long, value_enum, default_value_t)]
    pub format: super::PlanFormat,
}

/// `convoke knowledge`.
#[derive(Debug, Subcommand)]
pub enum KnowledgeCommand {
    /// Ask a prepared question; without a name, list them
    Ask(AskArgs),
    /// Ask in SPARQL
    Query(QueryArgs),
    /// Write the graph of a run in the format of others
    Export(KnowledgeExportArgs),
    /// Make the graph anew from all journals
    Rebuild(RebuildArgs),
}

/// `convoke knowledge ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The question
    pub name: Option<String>,
    /// What it takes, in the order of the list, or as NAME=VALUE; a run may be `last`
    pub values: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: TableFormat,
}

/// `convoke knowledge query`.
#[derive(Debug, Args)]
pub struct QueryArgs {
    /// SPARQL 1.1 (SELECT, ASK, CONSTRUCT, DESCRIBE), a file with it, or `-` for standard input
    pub query: String,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: TableFormat,
    /// The longest time for it, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
    /// The most rows
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub limit: usize,
}

/// How answers are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum TableFormat {
    /// For people
    #[default]
    Table,
    /// SPARQL results in JSON
    Json,
    /// Comma-separated values
    Csv,
    /// Tab-separated terms
    Tsv,
}

/// `convoke knowledge export`.
#[derive(Debug, Args)]
pub struct KnowledgeExportArgs {
    /// The run, the beginning of its name, or `last`: the last one of this folder
    pub run: String,
    /// The format
    #[arg(long, value_enum)]
    pub format: GraphFormat,
    /// Where to write: a file, or for ro-crate a folder that does not exist; else standard output
    #[arg(short, long, value_name = "PATH", required_if_eq("format", "ro-crate"))]
    pub output: Option<PathBuf>,
    /// With ro-crate: the inputs and the answer of the run as files
    #[arg(long)]
    pub contents: bool,
}

/// Formats of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// Turtle
    Ttl,
    /// N-Quads
    Nq,
    /// JSON-LD
    Jsonld,
    /// A folder: Workflow Run RO-Crate
    RoCrate,
}

/// `convoke knowledge rebuild`.
#[derive(Debug, Args)]
pub struct RebuildArgs {
    /// Take in messages of failures, folders, keys of items and the beginnings of outputs as well
    #[arg(long)]
    pub contents: bool,
}
