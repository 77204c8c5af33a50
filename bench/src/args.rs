//! The command line.

use crate::benchmark::{ALL, Benchmark};
use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Measures what Convoke costs. Use a build of the profile `dist` on a machine that does nothing else.
#[derive(Debug, Parser)]
pub struct Args {
    /// What to measure
    #[arg(value_enum, default_value_t)]
    pub what: What,
    /// Fewer rounds: enough to see a change of a quarter
    #[arg(long)]
    pub quick: bool,
    /// Exit with 1 where a bound is missed
    #[arg(long)]
    pub check: bool,
    /// The program to measure, instead of a build of this workspace
    #[arg(long, value_name = "PATH")]
    pub bin: Option<PathBuf>,
    /// How many processes the storm is made by
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub processes: u32,
    /// The storm is one of chance: of a thousand calls, so many are refused however few there are at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=300))]
    pub random: Option<u64>,
    /// Where runs are kept meanwhile, on the disk to be measured; beside this program unless told
    #[arg(long, value_name = "FOLDER")]
    pub place: Option<PathBuf>,
}

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum What {
    /// Everything
    #[default]
    All,
    /// One agent, 10 000 agents, one agent
    Fanout,
    /// 300 agents of 50 ms under a limit of 60
    Limit,
    /// A manifest of 300 agents in seven departments, and one answer of all
    Departments,
    /// 300 agents that ask a service over HTTP
    Network,
    /// 3 000 calls to a service that takes 40 at once and says 429 to the rest
    Storm,
    /// 1 000 agents, one after the other
    Chain,
    /// A run of 10 000 tasks that was killed when 90 % were done
    Resume,
    /// Commits of the journal, and opening journals of 100 000 and 1 000 000 events
    Durable,
    /// Lists of 10 000 runs, and a start beside them
    Runs,
    /// The smallest commands
    Startup,
    /// 100 000 agents: memory, and time per agent beside 1 000
    Memory,
}

impl What {
    /// The benchmarks to run.
    pub fn benchmarks(self) -> Vec<&'static Benchmark> {
        let name = self.name();
        ALL.iter().filter(|benchmark| self == What::All || benchmark.name == name).collect()
    }

    /// As it is typed.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_but_all_is_one_benchmark() {
        for what in What::value_variants().iter().filter(|what| **what != What::All) {
            assert_eq!(what.benchmarks().len(), 1, "{what:?}");
        }
        assert_eq!(What::All.benchmarks().len(), ALL.len());
    }
}
