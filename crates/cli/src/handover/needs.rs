//! What a task needs of the process that performs it: the working directory, and variables with the same values.
//!
//! An offer in the table carries keys, for sorting out; what counts are the names and digests that come with the task. A
//! value itself is never sent.

use crate::env;
use convoke_model::reference::names;
use convoke_model::{Digest, ProviderSettings, Server, Servers, Transport, Work, fnv};
use convoke_providers::preset;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// Keys that one offer can carry.
const KEYS: usize = 8;

/// What every command may look at, whether its step names it or not.
const OF_COMMANDS: [&str; 2] = ["PATH", "HOME"];

/// What a task needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// The working directory.
    folder: String,
    /// Variables, with the digests of their values; `None`: must not be set.
    variables: BTreeMap<String, Option<Digest>>,
}

/// Gives the value of a variable, if it is set.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Needs {
    /// What this work needs, as things are in this process. `None`: it stays where it is.
    pub fn of(work: &Work, folder: &str, lookup: Lookup<'_>) -> Option<Needs> {
        let mut wanted = wanted(work)?;
        let mut variables = BTreeMap::new();
        while let Some(name) = wanted.pop() {
            if variables.contains_key(&name) {
                continue;
            }
            let value = lookup(&name);
            // A value may refer to further variables.
            wanted.extend(value.iter().flat_map(|value| names(value)));
            variables.insert(name, value.map(|value| Digest::of(value.as_bytes())));
        }
        Some(Needs { folder: folder.to_owned(), variables })
    }

    /// For the table, as many as it takes: the working directory and variables that are set.
    pub fn keys(&self) -> Vec<u64> {
        let set = self.variables.iter().filter_map(|(name, digest)| Some(variable_key(name, &(*digest)?)));
        std::iter::once(folder_key(&self.folder)).chain(set).take(KEYS).collect()
    }

    /// What of it a process lacks, in words.
    pub fn missing(&self, folder: &str, lookup: Lookup<'_>) -> Option<String> {
        if self.folder != folder {
            return Some(format!("it works in `{folder}`, not in `{}`", self.folder));
        }
        let differs = |(name, digest): &(&String, &Option<Digest>)| {
            lookup(name).map(|value| Digest::of(value.as_bytes())) != **digest
        };
        self.variables.iter().find(differs).map(|(name, _)| format!("its `{name}` is another"))
    }
}

/// The key of a working directory, in offers and in the table of processes.
pub fn folder_key(folder: &str) -> u64 {
    fnv(format!("dir:{folder}").bytes())
}

fn variable_key(name: &str, value: &Digest) -> u64 {
    fnv(format!("variable:{name}={value}").bytes())
}

/// Everything that this process has, as keys.
pub fn held(folder: &str, variables: impl Iterator<Item = (String, String)>) -> HashSet<u64> {
    let variables = variables.map(|(name, value)| variable_key(&name, &Digest::of(value.as_bytes())));
    variables.chain([folder_key(folder)]).collect()
}

/// The variables that this work reads. `None` for work that other processes cannot do: what keeps its place in this one's
/// memory (a list of scripted replies, a server that is a child of this process) is not to be had elsewhere.
fn wanted(work: &Work) -> Option<Vec<String>> {
    match work {
        Work::Script(call) => {
            let named = call.env.iter().flat_map(|(_, text)| names(text));
            Some(named.chain(owned(&OF_COMMANDS)).collect())
        }
        // A program's outputs are in this process's memory, and its interpreter is this process's child.
        Work::Program(_) => None,
        Work::Tool(work) => of_servers(&work.servers),
        Work::Agent(call) => {
            let provider = of_provider(&call.settings.provider)?;
            Some(provider.into_iter().chain(of_servers(&call.settings.servers)?).collect())
        }
    }
}

fn of_provider(provider: &ProviderSettings) -> Option<Vec<String>> {
    if provider.file.is_some() {
        return None;
    }
    let mut wanted = preset::secret_names(provider);
    wanted.extend(provider.base_url.iter().flat_map(|url| names(url)));
    wanted.extend(of_the_network());
    if let Some(program) = &provider.program {
        let texts = program.args.iter().chain(program.env.iter().map(|(_, text)| text));
        wanted.extend(texts.flat_map(|text| names(text)));
        wanted.extend(owned(&OF_COMMANDS));
    }
    Some(wanted)
}

fn of_servers(servers: &Servers) -> Option<Vec<String>> {
    let wanted: Option<Vec<_>> = servers.values().map(of_server).collect();
    Some(wanted?.into_iter().flatten().collect())
}

fn of_server(server: &Server) -> Option<Vec<String>> {
    match &server.transport {
        Transport::Stdio { .. } | Transport::Scripts { .. } => None,
        Transport::Http { url, headers } => {
            let texts = headers.iter().map(|(_, text)| text).chain([url]);
            Some(texts.flat_map(|text| names(text)).chain(of_the_network()).collect())
        }
    }
}

/// The way to services.
fn of_the_network() -> impl Iterator<Item = String> {
    let proxies = owned(&env::HTTPS_PROXY).chain(owned(&env::HTTP_PROXY)).chain(owned(&env::NO_PROXY));
    proxies.chain([env::CA_FILE.to_owned()])
}

fn owned<'a>(names: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    names.iter().map(|name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::ScriptCall;

    fn script(env: &[(&str, &str)]) -> Work {
        Work::Script(Box::new(ScriptCall {
            command: "c".into(),
            args: Vec::new(),
            env: env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
            working_dir: None,
            stdin: None,
            schema: None,
            idle: None,
        }))
    }

    fn world(name: &str) -> Option<String> {
        match name {
            "PATH" => Some("/bin".into()),
            "KEY" => Some("k-1".into()),
            "OUTER" => Some("<${KEY}>".into()),
            _ => None,
        }
    }

    #[test]
    fn a_process_needs_the_folder_and_the_same_values_of_everything_that_is_named() {
        let needs = Needs::of(&script(&[("A", "${OUTER} ${NONE:-d}")]), "/x", &world).unwrap();
        assert_eq!(needs.missing("/x", &world), None);
        assert!(needs.missing("/y", &world).is_some());
        for (changed, value) in [("KEY", Some("k-2")), ("KEY", None), ("NONE", Some("n")), ("PATH", None)] {
            let other = |name: &str| if name == changed { value.map(str::to_owned) } else { world(name) };
            assert_eq!(needs.missing("/x", &other), Some(format!("its `{changed}` is another")));
        }
    }

    #[test]
    fn keys_are_met_by_a_process_that_has_everything_and_say_no_value() {
        let needs = Needs::of(&script(&[("A", "${OUTER}")]), "/x", &world).unwrap();
        let all = ["PATH", "KEY", "OUTER"].map(|name| (name.to_owned(), world(name).unwrap()));
        let held_here = held("/x", all.clone().into_iter());
        assert_eq!(needs.keys().len(), 4);
        assert!(needs.keys().iter().all(|key| held_here.contains(key)));
        let fewer = held("/x", all.into_iter().filter(|(name, _)| name != "KEY"));
        assert!(!needs.keys().iter().all(|key| fewer.contains(key)));
        assert!(!serde_json::to_string(&needs).unwrap().contains("k-1"));
    }

    #[test]
    fn what_lives_in_this_process_stays_here() {
        let transport =
            Transport::Stdio { command: "s".into(), args: Vec::new(), env: Vec::new(), working_dir: None };
        let server = Server { transport, timeout: None, tools: None };
        assert_eq!(of_servers(&Servers::from([("s".to_owned(), server)])), None);
        let listed = ProviderSettings { file: Some("replies".into()), ..ProviderSettings::default() };
        assert_eq!(of_provider(&listed), None);
    }
}
