//! Arguments of commands by which others are told about runs: `follow`, `metrics`.

use clap::{Args, ValueEnum};

/// `convoke follow`.
#[derive(Debug, Args)]
pub struct FollowArgs {
    /// Deliver what is there and end, instead of going on until Ctrl-C
    #[arg(long)]
    pub once: bool,
    /// How to print what was delivered
    #[arg(long, value_enum, default_value_t)]
    pub format: super::Format,
}

/// `convoke metrics`.
#[derive(Debug, Args)]
pub struct MetricsArgs {
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: MetricsFormat,
}

/// How numbers are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum MetricsFormat {
    /// The text format that Prometheus reads
    #[default]
    Prometheus,
}
