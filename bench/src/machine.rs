//! What the machine is and what else it does.

use serde::Serialize;
use std::fs;

/// A moment of the machine.
#[derive(Debug, Clone, Serialize)]
pub struct Load {
    /// Processes that want to run, averaged over the last minute.
    pub average: f64,
    /// Processors.
    pub cores: usize,
}

impl Load {
    /// The machine now.
    pub fn now() -> Load {
        let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let average = text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN);
        Load { average, cores: std::thread::available_parallelism().map_or(1, Into::into) }
    }

    /// What to think of figures that were measured from this moment on.
    pub fn warnings(&self) -> Option<String> {
        (self.average > 0.5 * self.cores as f64).then(|| {
            let Load { average, cores } = self;
            format!(
                "warning: the load was {average} on {cores} cores before the start: read the figures as upper bounds"
            )
        })
    }
}

/// The kind of machine, for the record.
pub fn kind() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{}, Linux {}", model.unwrap_or("unknown processor"), release.trim())
}
