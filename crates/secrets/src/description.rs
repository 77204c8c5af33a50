//! What is known of a vault without opening it: what opens it. Nothing in here is secret.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Stands beside the vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The format of this text.
    pub format: u32,
    /// What opens the vault.
    pub key: KeyKind,
}

/// What opens a vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// A passphrase.
    Passphrase,
    /// An identity of age.
    Identity {
        /// The file that holds it.
        file: PathBuf,
        /// Its public half.
        recipient: String,
    },
}

impl Description {
    /// Of a vault that this opens.
    pub fn new(key: KeyKind) -> Description {
        Description { format: 1, key }
    }
}
