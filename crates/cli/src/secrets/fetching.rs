//! Fetches secrets from where they come from: all of them, or what is missing by name.

use super::{Secrets, command, key, unlocking, vault};
use crate::config::{self, Config};
use crate::env;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::SecretSource;
use convoke_secrets::private::{self, Refused};
use convoke_secrets::value;
use secrecy::SecretString;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What became of one secret.
pub type Fetched = Result<SecretString, Missing>;

/// Why a secret cannot be fetched, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The cause.
    pub why: String,
    /// Advice.
    pub hint: Option<String>,
}

impl Missing {
    pub(super) fn new(why: impl Into<String>) -> Missing {
        Missing { why: why.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Missing {
        Missing { hint: Some(hint.into()), ..self }
    }
}

/// Fetches all; refused with every name that is missing.
pub fn fetch(config: &Config, sources: &BTreeMap<String, SecretSource>) -> Result<Secrets, CommandFailure> {
    if sources.is_empty() {
        return Ok(Secrets::default());
    }
    let mut values = BTreeMap::new();
    let mut missing = Vec::new();
    for (name, fetched) in each(config, sources)? {
        match fetched {
            Ok(value) => drop(values.insert(name, value)),
            Err(why) => missing.push((name, why)),
        }
    }
    if !missing.is_empty() {
        return Err(refusal(&missing));
    }
    Ok(Secrets::new(values, sources, files(sources)))
}

/// Fetches each, and says what became of it. The vault is opened once, and only where something comes from it.
pub fn each(
    config: &Config,
    sources: &BTreeMap<String, SecretSource>,
) -> Result<Vec<(String, Fetched)>, CommandFailure> {
    let vaulted = from_vault(config, sources)?;
    let printed = command::run_all(config, sources)?;
    let one = |(name, source): (&String, &SecretSource)| {
        let fetched = match source {
            SecretSource::Env(variable) => from_variable(variable),
            SecretSource::File(path) => from_file(path),
            SecretSource::Command { .. } => printed[name].clone(),
            SecretSource::Vault(entry) => vaulted.get(entry).cloned().ok_or_else(|| {
                Missing::new(format!("the vault has no `{entry}`"))
                    .hint(format!("convoke secrets set {entry}"))
            }),
        };
        (name.clone(), fetched)
    };
    Ok(sources.iter().map(one).collect())
}

fn from_vault(
    config: &Config,
    sources: &BTreeMap<String, SecretSource>,
) -> Result<BTreeMap<String, SecretString>, CommandFailure> {
    let entries: Vec<&str> = sources
        .values()
        .filter_map(|source| match source {
            SecretSource::Vault(entry) => Some(entry.as_str()),
            _ => None,
        })
        .collect();
    if entries.is_empty() {
        return Ok(BTreeMap::new());
    }
    let names: Vec<&str> = sources
        .iter()
        .filter(|(_, source)| matches!(source, SecretSource::Vault(_)))
        .map(|(name, _)| name.as_str())
        .collect();
    let key = key(config).map_err(|failure| for_secrets(failure, &names))?;
    Ok(vault(config).get(&key, &entries).map_err(unlocking::vault_failure)?.into_iter().collect())
}

/// A vault that cannot be opened is told with the secrets that it is opened for.
fn for_secrets(failure: CommandFailure, names: &[&str]) -> CommandFailure {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let message = format!("secret {} is in the vault: {}", names.join(", "), failure.message);
    CommandFailure { message, ..failure }
}

fn from_variable(variable: &str) -> Fetched {
    let set = env::get_filled(variable);
    let unset = || Missing::new(format!("environment variable `{variable}` is not set"));
    let text = zeroize::Zeroizing::new(set.ok_or_else(unset)?);
    value::of_text(&text).map_err(|why| Missing::new(format!("environment variable `{variable}`: {why}")))
}

fn from_file(path: &str) -> Fetched {
    let place = place(path);
    private::secret(&place).map_err(|why| {
        let missing = Missing::new(format!("file `{path}`: {why}"));
        match why {
            Refused::Open(_) => missing.hint(format!("`chmod 600 {path}` keeps it to yourself")),
            _ => missing,
        }
    })
}

fn place(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), config::home()) {
        (Some(below), Some(home)) => home.join(below),
        _ => path.into(),
    }
}

fn files(sources: &BTreeMap<String, SecretSource>) -> Vec<PathBuf> {
    let file = |source: &SecretSource| match source {
        SecretSource::File(path) => std::path::absolute(place(path)).ok(),
        _ => None,
    };
    sources.values().filter_map(file).collect()
}

fn refusal(missing: &[(String, Missing)]) -> CommandFailure {
    let one =
        |(name, missing): &(String, Missing)| format!("secret `{name}` cannot be fetched: {}", missing.why);
    let mut lines = missing.iter().map(one);
    let first = lines.next().expect("something is missing");
    // Each is an error of its own, in the order of their names.
    let message = lines.fold(first, |message, line| format!("{message}\nerror: {line}"));
    let failure = CommandFailure::new(Exit::Refused, message);
    missing.iter().filter_map(|(_, missing)| missing.hint.clone()).fold(failure, CommandFailure::hint)
}
