//! Named secrets of this process: fetched once everything else is checked, kept in memory, given by name.
//!
//! A plan says from where each secret comes, and the person's configuration goes over it. A run fetches those that its plan declares and those
//! that it refers to, right before it starts; a missing one is told by name, and nothing is spent. Whoever follows a reference `${NAME}` of a
//! step, a server or a provider asks [`Secrets::lookup`]; nothing else hands a value on. Values are in no plan, journal or argument of ours, and
//! a run that goes on fetches them anew.

mod command;
mod fetching;
mod passphrase;
mod unlocking;

pub use fetching::{Fetched, each, fetch};
pub use passphrase::{ask_twice, typed};
pub use unlocking::{key, vault, vault_failure};

use crate::env;
use convoke_model::SecretSource;
use secrecy::{ExposeSecret, SecretString};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Gives the value of a secret or a variable, if there is one.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A line of a secret of several lines is masked by itself from this length on: programs print line by line.
const LONG_LINE: usize = 16;

/// The secrets of one run, with their values.
#[derive(Clone, Default)]
pub struct Secrets {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    values: BTreeMap<String, SecretString>,
    /// Variables that hold one, which no command inherits.
    variables: BTreeSet<String>,
    /// Files that hold one, which no command sees.
    files: Vec<PathBuf>,
}

impl Secrets {
    /// These values, from these sources.
    fn new(
        values: BTreeMap<String, SecretString>,
        sources: &BTreeMap<String, SecretSource>,
        files: Vec<PathBuf>,
    ) -> Secrets {
        let variables = sources.values().filter_map(|source| match source {
            SecretSource::Env(name) => Some(name.clone()),
            _ => None,
        });
        let variables = variables.chain(sources.keys().cloned()).collect();
        Secrets { inner: Arc::new(Inner { values, variables, files }) }
    }

    /// The value of a secret.
    pub fn get(&self, name: &str) -> Option<String> {
        self.inner.values.get(name).map(|value| value.expose_secret().to_owned())
    }

    /// Follows references: secrets first, then variables.
    pub fn lookup(&self) -> Lookup {
        let secrets = self.clone();
        Arc::new(move |name| secrets.get(name).or_else(|| env::get(name)))
    }

    /// Every value with its name.
    pub fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.inner.values.iter().map(|(name, value)| (name.as_str(), value.expose_secret()))
    }

    /// Everything that is to be masked: the values, and long lines of those that have several.
    pub fn masked(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named().flat_map(|(name, value)| {
            let lines =
                value.lines().map(str::trim).filter(move |line| line.len() >= LONG_LINE && *line != value);
            // The frame of a key is the same for all keys.
            let lines = lines.filter(|line| !line.starts_with("-----"));
            std::iter::once(value).chain(lines).map(move |text| (name, text))
        })
    }

    /// Variables that no command inherits.
    pub fn variables(&self) -> impl Iterator<Item = &String> {
        self.inner.variables.iter()
    }

    /// Files that no command sees.
    pub fn files(&self) -> &[PathBuf] {
        &self.inner.files
    }
}

/// Names alone.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.inner.values.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[(&str, &str)]) -> Secrets {
        let values =
            values.iter().map(|(name, value)| ((*name).to_owned(), SecretString::from((*value).to_owned())));
        Secrets::new(values.collect(), &BTreeMap::new(), Vec::new())
    }

    #[test]
    fn long_lines_of_a_key_are_masked_by_themselves() {
        let key = "-----BEGIN KEY-----\nMIIBVwIBADANBgkqhki\nshort\n-----END KEY-----";
        let secrets = secrets(&[("KEY", key), ("TOKEN", "canary-4242")]);
        let masked: Vec<_> = secrets.masked().collect();
        assert_eq!(masked, [("KEY", key), ("KEY", "MIIBVwIBADANBgkqhki"), ("TOKEN", "canary-4242")]);
    }

    #[test]
    fn what_is_shown_of_secrets_is_their_names() {
        assert_eq!(format!("{:?}", secrets(&[("TOKEN", "canary-4242")])), "{\"TOKEN\"}");
    }
}
