//! What servers are started with: variables and headers whose references become values only now.

use super::trouble::{self, Who};
use crate::environment::Environment;
use crate::launch::Launcher;
use crate::process::Processes;
use convoke_model::{Failure, reference};
use reqwest::Client;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Gives the value of a variable, if it is set.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Gives a client with its proxies and certificates; asked once, when the first server is elsewhere.
pub type MakeClient = Arc<dyn Fn() -> Result<Client, Failure> + Send + Sync>;

/// A value shorter than this is a word, not a secret.
const SHORTEST_SECRET: usize = 6;

/// What stands in messages instead of a secret.
const MARK: &str = "[secret]";

/// How long things may take where a server's own settings do not say.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// From the start of a server until it has said which tools it has. A server with a longer time for calls has that
    /// for its start too.
    pub start: Duration,
    /// One call.
    pub call: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { start: Duration::from_secs(30), call: Duration::from_secs(60) }
    }
}

/// What all servers of a run are started with. Parts that no server needs are not made.
pub struct Means {
    environment: Environment,
    launcher: OnceLock<Launcher>,
    commands: OnceLock<Processes>,
    make_client: MakeClient,
    client: OnceLock<Client>,
    /// Knows variables.
    pub lookup: Lookup,
    /// How long things may take.
    pub limits: Limits,
}

impl Means {
    /// Means with these variables and this way to the network.
    pub fn new(environment: Environment, lookup: Lookup, make_client: MakeClient) -> Means {
        let (launcher, commands, client) = Default::default();
        Means { environment, launcher, commands, make_client, client, lookup, limits: Limits::default() }
    }

    /// Starts processes.
    pub fn launcher(&self) -> &Launcher {
        self.launcher.get_or_init(|| Launcher::new(self.environment.clone()))
    }

    /// Runs commands to their end.
    pub fn commands(&self) -> &Processes {
        self.commands.get_or_init(|| Processes::new(self.environment.clone()))
    }

    /// The way to the network, one for all servers.
    pub fn client(&self) -> Result<Client, Failure> {
        match self.client.get() {
            Some(client) => Ok(client.clone()),
            None => {
                // Two at once make two, and one of them is used.
                let made = (self.make_client)()?;
                Ok(self.client.get_or_init(|| made).clone())
            }
        }
    }
}

/// Named values with their references replaced, and which of them came from outside.
#[derive(Default)]
pub struct Resolved {
    /// Name and value.
    pub values: Vec<(String, String)>,
    /// What must not appear in messages.
    pub secrets: Secrets,
}

impl Resolved {
    /// Replaces the references in the values of some settings.
    pub fn of(settings: &[(String, String)], lookup: &Lookup, who: &Who) -> Result<Resolved, Failure> {
        let mut resolved = Resolved::default();
        for (name, text) in settings {
            let given = RefCell::new(Vec::new());
            let noting = |variable: &str| {
                let value = lookup(variable)?;
                given.borrow_mut().push(value.clone());
                Some(value)
            };
            let value =
                reference::resolve(text, &noting).map_err(|variable| trouble::unset(who, name, &variable))?;
            resolved.values.push((name.clone(), value));
            resolved.secrets.0.extend(given.into_inner());
        }
        Ok(resolved)
    }
}

impl Resolved {
    /// The same for texts that have one name together, such as the arguments of a command.
    pub fn of_all(texts: &[String], name: &str, lookup: &Lookup, who: &Who) -> Result<Resolved, Failure> {
        let named: Vec<_> = texts.iter().map(|text| (name.to_owned(), text.clone())).collect();
        Resolved::of(&named, lookup, who)
    }

    /// The values alone.
    pub fn texts(&self) -> Vec<String> {
        self.values.iter().map(|(_, value)| value.clone()).collect()
    }
}

/// Values that a server was given and that must not come back in what we say about it.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// These and those.
    pub fn with(mut self, more: Secrets) -> Secrets {
        self.0.extend(more.0);
        self
    }

    /// The text without them.
    pub fn hide(&self, text: &str) -> String {
        let long = self.0.iter().filter(|secret| secret.len() >= SHORTEST_SECRET);
        long.fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MARK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_from_outside_and_stay_out_of_messages() {
        let lookup: Lookup = Arc::new(|name| (name == "KEY").then(|| "hunter-two".to_owned()));
        let who = Who::new("s", "c");
        let settings = [("A".into(), "Bearer ${KEY}".into()), ("B".into(), "plain-text".into())];
        let resolved = Resolved::of(&settings, &lookup, &who).unwrap();
        assert_eq!(resolved.values[0].1, "Bearer hunter-two");
        assert_eq!(resolved.secrets.hide("hunter-two! plain-text"), "[secret]! plain-text");
        let failure = Resolved::of(&[("A".into(), "${NONE}".into())], &lookup, &who).err().unwrap();
        assert_eq!(
            failure.message,
            "server `s` (c) cannot start: variable `NONE`, which `A` refers to, is not set"
        );
        assert_eq!(failure.reason.as_deref(), Some("no_credentials"));
    }
}
