//! What keeps a worker from doing anything but compute, as the worker found it.

use serde::{Deserialize, Serialize};

/// What was enforced when a worker confined itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// System calls are limited to what computing and talking to the host needs.
    pub seccomp: bool,
    /// The version of Landlock that closes the file system and TCP once more; none if the kernel has it not.
    pub landlock: Option<u32>,
    /// Resource limits are set.
    pub limits: bool,
    /// What could not be enforced, and why.
    pub missing: Vec<String>,
}

impl Sandbox {
    /// Whether programs may run. Landlock is a second wall behind seccomp; on its own it leaves processes and most
    /// sockets open.
    pub fn holds(&self) -> bool {
        self.seccomp && self.limits
    }
}
