//! The vault of this state folder, and what opens it.
//!
//! A step of a run never opens it, at whatever distance: what a step may have is given to it by name.

use super::passphrase;
use crate::caller;
use crate::config::Config;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_secrets::private::Refused;
use convoke_secrets::{Key, KeyKind, Vault, VaultError};

/// The vault, whether there is one or not.
pub fn vault(config: &Config) -> Vault {
    Vault::at(&config.own_state.join("secrets"))
}

/// What opens it: its identity, or the passphrase that a person gives.
pub fn key(config: &Config) -> Result<Key, CommandFailure> {
    if caller::is_inside() {
        let message = "the vault stays closed: this command was started by a step of a run";
        return Err(CommandFailure::new(Exit::Inside, message)
            .hint("have the step list the secret (`secrets: [NAME]`) in the file that runs it"));
    }
    match vault(config).description().map_err(vault_failure)?.map(|description| description.key) {
        None => Err(vault_failure(VaultError::None)),
        Some(KeyKind::Identity { file, .. }) => Key::from_identity_file(&file).map_err(vault_failure),
        Some(KeyKind::Passphrase) => {
            passphrase::ask(config, "passphrase of the vault: ").map(Key::Passphrase)
        }
    }
}

/// A failure of the vault, as a command tells it.
pub fn vault_failure(error: VaultError) -> CommandFailure {
    let exit = match &error {
        VaultError::Write { .. } => Exit::State,
        _ => Exit::Refused,
    };
    let failure = CommandFailure::new(exit, error.to_string());
    match &error {
        VaultError::None => failure.hint("make one: convoke secrets init"),
        VaultError::Exists => failure.hint("`convoke secrets list` says what it holds"),
        VaultError::Folder { path, .. } => {
            failure.hint(format!("`chmod 700 {}` keeps it to yourself", path.display()))
        }
        VaultError::File { path, reason: Refused::Open(_) } => {
            failure.hint(format!("`chmod 600 {}` keeps it to yourself", path.display()))
        }
        VaultError::File { path, reason: Refused::Io(_) } => {
            failure.hint(format!("the vault opens with `{}`: put it back", path.display()))
        }
        VaultError::Damaged(_) => failure.hint("take it from a copy that you keep of the state folder"),
        _ => failure,
    }
}
