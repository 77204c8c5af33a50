//! What a task requires of the process that performs it: the working directory, and variables with the same values.
//!
//! An offer in the table carries keys, as a first filter. The names and digests that come with the task decide. A value itself
//! is never sent.

use crate::HostEnvironment;
use convoke_model::reference::names;
use convoke_model::{Digest, Work, fnv};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// Keys that one offer can carry.
const KEYS: usize = 8;

/// What a task requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirements {
    /// The working directory.
    folder: String,
    /// Variables, with the digests of their values; `None`: must not be set.
    variables: BTreeMap<String, Option<Digest>>,
}

impl Requirements {
    /// The requirements of this work, as it would be performed by this process. `None` if no other process can perform it.
    pub fn of(work: &Work, host: &dyn HostEnvironment) -> Option<Requirements> {
        let mut pending = host.variables_read_by(work)?;
        let mut variables = BTreeMap::new();
        while let Some(name) = pending.pop() {
            if variables.contains_key(&name) {
                continue;
            }
            let value = host.variable(&name);
            // A value may refer to further variables.
            pending.extend(value.iter().flat_map(|value| names(value)));
            variables.insert(name, value.map(|value| Digest::of(value.as_bytes())));
        }
        Some(Requirements { folder: host.folder().to_owned(), variables })
    }

    /// Keys for the table, as many as it takes: the working directory, then variables that are set.
    pub fn keys(&self) -> Vec<u64> {
        let set = self.variables.iter().filter_map(|(name, digest)| Some(variable_key(name, &(*digest)?)));
        std::iter::once(folder_key(&self.folder)).chain(set).take(KEYS).collect()
    }

    /// The first requirement that this process does not meet, in words.
    pub fn unmet_by(&self, host: &dyn HostEnvironment) -> Option<String> {
        let folder = host.folder();
        if self.folder != folder {
            return Some(format!("it works in `{folder}`, not in `{}`", self.folder));
        }
        let differs = |(name, digest): &(&String, &Option<Digest>)| {
            host.variable(name).map(|value| Digest::of(value.as_bytes())) != **digest
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

/// Every key that this process meets.
pub fn keys_met_by(host: &dyn HostEnvironment) -> HashSet<u64> {
    let variables = host.variables().into_iter();
    let keys = variables.map(|(name, value)| variable_key(&name, &Digest::of(value.as_bytes())));
    keys.chain([folder_key(host.folder())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::ScriptCall;

    /// A process with these variables.
    struct Host(&'static str, Vec<(&'static str, &'static str)>);

    impl HostEnvironment for Host {
        fn folder(&self) -> &str {
            self.0
        }

        fn variable(&self, name: &str) -> Option<String> {
            self.1.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        }

        fn variables(&self) -> Vec<(String, String)> {
            self.1.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        }

        fn variables_read_by(&self, work: &Work) -> Option<Vec<String>> {
            let Work::Script(call) = work else { return None };
            let named = call.env.iter().flat_map(|(_, text)| names(text));
            Some(named.chain(["PATH".to_owned()]).collect())
        }
    }

    fn host() -> Host {
        Host("/x", vec![("PATH", "/bin"), ("KEY", "k-1"), ("OUTER", "<${KEY}>")])
    }

    fn script(env: &[(&str, &str)]) -> Work {
        Work::Script(Box::new(ScriptCall {
            command: "c".into(),
            args: Vec::new(),
            env: env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
            working_dir: None,
            stdin: None,
            schema: None,
            key: None,
            survival: None,
            idle: None,
        }))
    }

    #[test]
    fn a_process_must_have_the_folder_and_the_same_values_of_every_named_variable() {
        let required = Requirements::of(&script(&[("A", "${OUTER} ${NONE:-d}")]), &host()).unwrap();
        assert_eq!(required.unmet_by(&host()), None);
        assert!(required.unmet_by(&Host("/y", host().1)).is_some());
        for (changed, value) in [("KEY", Some("k-2")), ("KEY", None), ("NONE", Some("n")), ("PATH", None)] {
            let mut other = host();
            other.1.retain(|(name, _)| *name != changed);
            other.1.extend(value.map(|value| (changed, value)));
            assert_eq!(required.unmet_by(&other), Some(format!("its `{changed}` is another")));
        }
    }

    #[test]
    fn keys_are_met_by_a_process_that_has_everything_and_hold_no_value() {
        let required = Requirements::of(&script(&[("A", "${OUTER}")]), &host()).unwrap();
        assert_eq!(required.keys().len(), 4);
        assert!(required.keys().iter().all(|key| keys_met_by(&host()).contains(key)));
        let mut fewer = host();
        fewer.1.retain(|(name, _)| *name != "KEY");
        assert!(!required.keys().iter().all(|key| keys_met_by(&fewer).contains(key)));
        assert!(!serde_json::to_string(&required).unwrap().contains("k-1"));
    }
}
