//! What a program may use, and what may be said about it.

use serde::{Deserialize, Serialize};
use std::time::Duration;

const MIB: u64 = 1024 * 1024;

/// The bounds of one worker and of every program in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How long one program may compute. Waiting for the host does not count.
    pub time: Duration,
    /// How much longer than that the host waits before it ends a worker that says nothing.
    pub grace: Duration,
    /// Processor seconds of the worker, over all its programs.
    pub cpu_seconds: u64,
    /// Memory of a program, in bytes, above what the worker needs to exist.
    pub memory_bytes: u64,
    /// How much of what one program prints is kept, in bytes.
    pub printed_bytes: u64,
    /// The longest message: the arguments of a call, its answer, the inputs, the value of a program.
    pub message_bytes: u64,
    /// The longest saved state. A longer one is not saved: such a program is gone back to by replay.
    pub state_bytes: u64,
    /// The longest program text.
    pub program_bytes: u64,
    /// How deep functions may call each other.
    pub recursion: usize,
    /// How many calls of host functions one program may make.
    pub calls: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            time: Duration::from_secs(10),
            grace: Duration::from_secs(5),
            cpu_seconds: 300,
            memory_bytes: 256 * MIB,
            printed_bytes: 64 * 1024,
            message_bytes: 16 * MIB,
            state_bytes: 16 * MIB,
            program_bytes: 256 * 1024,
            recursion: 500,
            calls: 10_000,
        }
    }
}

impl Limits {
    /// How long the worker may say nothing.
    pub(crate) fn silence(&self) -> Duration {
        self.time.saturating_add(self.grace)
    }

    /// The longest attachment that either side accepts.
    pub(crate) fn frame(&self) -> crate::frame::Bounds {
        // What is said around the values themselves: names, tracebacks, printed text (escaped: at most six for one).
        let around = self.program_bytes.saturating_mul(8) + self.printed_bytes.saturating_mul(6) + MIB;
        crate::frame::Bounds { head: self.message_bytes.saturating_add(around), body: self.state_bytes }
    }
}
