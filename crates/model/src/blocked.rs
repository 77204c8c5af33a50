//! What of the machine a run may wait for, apart from capacity.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What of the machine a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocked {
    /// Room on the disk.
    Disk,
    /// A file of the run that another process holds locked.
    Lock,
}

impl Blocked {
    /// The word for people and files.
    pub const fn word(self) -> &'static str {
        match self {
            Blocked::Disk => "disk",
            Blocked::Lock => "lock",
        }
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Blocked::Disk => "no space left on the disk of its state folder",
            Blocked::Lock => "another process holds its journal locked",
        })
    }
}
