//! How results are printed.

use clap::{Args, ValueEnum};

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

/// Commands that only choose a format.
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
