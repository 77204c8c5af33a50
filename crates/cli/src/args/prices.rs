//! What is typed about what models cost: `prices`.

use super::values::pair;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `convoke prices`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct PricesArgs {
    /// Only models whose PROVIDER/MODEL holds one of these words
    pub words: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: PricesFormat,
    /// To change something.
    #[command(subcommand)]
    pub command: Option<PricesCommand>,
}

/// How prices are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum PricesFormat {
    /// For people
    #[default]
    Text,
    /// As JSON
    Json,
    /// As a list that `convoke prices update` takes
    Tsv,
}

/// What can be changed.
#[derive(Debug, Subcommand)]
pub enum PricesCommand {
    /// Use a newer price list over the built-in one
    Update {
        /// The list, in the form that `convoke prices --format tsv` prints
        file: PathBuf,
    },
    /// State what a model costs, in US dollars per million tokens
    Set {
        /// PROVIDER/MODEL, such as openai/gpt-5
        model: String,
        /// input=1.25 output=10, and where it matters cache_read, cache_write and window (tokens that the model takes in)
        #[arg(required = true, value_name = "NAME=AMOUNT", value_parser = pair)]
        amounts: Vec<(String, String)>,
    },
    /// Go back to the built-in list, for one model or for all
    Forget {
        /// PROVIDER/MODEL; everything if left out
        model: Option<String>,
    },
}
