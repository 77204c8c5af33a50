//! Arguments of commands about files that are not run: `check`, `plan`, `presets`, `schema`, `test`.

use super::format::{Format, PlanFormat};
use super::running::InputArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The provider and the model that `run` would ask: they change what a check finds.
#[derive(Debug, Clone, Args)]
pub struct AnswererArgs {
    /// The provider, over what the file says, as for `run`
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// The model of every agent, over what the file says
    #[arg(short, long, value_name = "NAME")]
    pub model: Option<String>,
}

/// `convoke check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The files, as `run` takes them; or preset:NAME, or org:FILE#DEPARTMENT
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Shared with `run`.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// Shared with `plan`.
    #[command(flatten)]
    pub answerer: AnswererArgs,
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
    /// The file, as `run` takes it; or preset:NAME, or org:FILE#DEPARTMENT
    pub file: PathBuf,
    /// Shared with `run`.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// Shared with `check`.
    #[command(flatten)]
    pub answerer: AnswererArgs,
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
    /// What the roles of a goal answer
    Goal,
    /// Policies of what agents may do
    Policy,
    /// The HTTP API of `convoke serve` (OpenAPI 3.1)
    Api,
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
    /// Write what came out into the tests, in place of the output, status and calls that were expected
    #[arg(long)]
    pub update: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
