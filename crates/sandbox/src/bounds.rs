//! What a confined command may use of the machine.

use serde::{Deserialize, Serialize};

const GIB: u64 = 1 << 30;

/// Bounds of one command and what it starts. `None`: as the engine's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bounds {
    /// Bytes of address space of one process. Programs that reserve much and use little (V8, the JVM) need none.
    pub address_space: Option<u64>,
    /// Bytes of memory of one process that can be written, and of all of them together.
    pub memory: Option<u64>,
    /// Seconds of processor time of one process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of one file that is written.
    pub file_size: Option<u64>,
    /// Processes and threads at once.
    pub processes: Option<u64>,
    /// Descriptors of one process.
    pub descriptors: Option<u64>,
}

impl Bounds {
    /// What an agent's command gets: room for a build, not for the whole machine.
    pub fn usual() -> Bounds {
        Bounds {
            address_space: None,
            memory: Some(8 * GIB),
            cpu_seconds: Some(60 * 60),
            file_size: Some(16 * GIB),
            processes: Some(1024),
            descriptors: Some(4096),
        }
    }
}
