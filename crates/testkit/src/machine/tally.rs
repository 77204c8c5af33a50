//! How often what happened, so that a run of many schedules can show that it met everything.

/// Counts over schedules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Schedules that have come to their end.
    pub schedules: u64,
    /// Things that happened.
    pub steps: u64,
    /// Calls.
    pub calls: u64,
    /// The most calls at once.
    pub most: usize,
    /// Leases that ran out.
    pub lost: u64,
    /// Attempts that found before a call that theirs had.
    pub fenced: u64,
    /// Grants that ran out before they were fetched.
    pub lapsed: u64,
    /// Performers that fell silent.
    pub silent: u64,
    /// Calls that were not let through.
    pub refused: u64,
    /// Calls that a shared budget could not pay.
    pub unpaid: u64,
    /// Calls that the service refused.
    pub pushed_back: u64,
    /// Samples that processes took together.
    pub samples: u64,
    /// Pauses that processes told each other of.
    pub paused: u64,
    /// Processes that were killed, and those of them that had a commit under way.
    pub killed: u64,
    /// See `killed`.
    pub torn: u64,
    /// Processes that were stopped for a while.
    pub stopped: u64,
    /// Processes that let go of their run.
    pub interrupted: u64,
}

impl Tally {
    /// What has to be met in many schedules, by name.
    pub fn met(&self) -> [(&'static str, u64); 12] {
        [
            ("leases lost", self.lost),
            ("attempts fenced", self.fenced),
            ("grants lapsed", self.lapsed),
            ("performers silent", self.silent),
            ("calls not let through", self.refused),
            ("calls not paid", self.unpaid),
            ("calls refused", self.pushed_back),
            ("samples", self.samples),
            ("pauses", self.paused),
            ("processes killed", self.killed),
            ("commits torn", self.torn),
            ("processes that let go", self.interrupted),
        ]
    }
}
