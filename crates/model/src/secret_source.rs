//! Where the value of a named secret comes from: what a plan holds instead of the value.

use serde::{Deserialize, Serialize};

/// The source of one secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretSource {
    /// An environment variable.
    Env(String),
    /// A file that its owner alone can read.
    File(String),
    /// A command that prints it.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// Variables that it is given although they are named like a credential.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inherit: Vec<String>,
    },
    /// The vault, under this name.
    Vault(String),
}

impl std::fmt::Display for SecretSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SecretSource::Env(name) => write!(f, "environment variable `{name}`"),
            SecretSource::File(path) => write!(f, "file `{path}`"),
            SecretSource::Command { argv, .. } => {
                write!(f, "command `{}`", argv.first().map_or("", String::as_str))
            }
            SecretSource::Vault(name) => write!(f, "`{name}` of the vault"),
        }
    }
}

/// Whether a secret may have this name: that of a variable.
pub fn is_secret_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty()
        && name.len() <= 128
        && name.chars().all(plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_the_name_of_a_variable() {
        assert!(["SHOP_TOKEN", "x", "_1"].into_iter().all(is_secret_name));
        assert!(!["", "1X", "A-B", "A B", "Ä", "A=B"].into_iter().any(is_secret_name));
    }
}
