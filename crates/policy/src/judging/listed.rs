//! The programs of a policy, made ready to be asked about many times.

use crate::policy::Binaries;
use std::collections::HashSet;

/// Which programs are allowed, and which denied.
pub struct Listed<'a> {
    /// Whether every program may run that no rule denies.
    pub all: bool,
    allow: HashSet<&'a str>,
    /// Rules as they are written, and in lower case.
    deny: Vec<(&'a str, String)>,
}

impl<'a> Listed<'a> {
    /// Those of a policy.
    pub fn of(binaries: &'a Binaries) -> Listed<'a> {
        let allow: HashSet<&str> = binaries.allow.iter().map(String::as_str).collect();
        let deny = binaries.deny.iter().map(|rule| (rule.as_str(), rule.to_ascii_lowercase())).collect();
        Listed { all: allow.contains("*"), allow, deny }
    }

    /// Whether a program, or its sub-command, is listed by name. `git` lists `git stash list`.
    pub fn takes(&self, key: &str) -> bool {
        let above = key.match_indices(' ').map(|(at, _)| &key[..at]);
        self.allow.contains(key) || above.into_iter().any(|key| self.allow.contains(key))
    }

    /// The rule that denies a program, however it is spelled.
    pub fn denies(&self, key: &str, name: &str) -> Option<&'a str> {
        if self.deny.is_empty() {
            return None;
        }
        let base = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let key = key.to_ascii_lowercase();
        let found = self.deny.iter().find(|(_, rule)| *rule == base || is_of(rule, &key));
        found.map(|(rule, _)| *rule)
    }
}

/// Whether a key is the rule, or a sub-command of it: `git` takes `git push`.
pub fn is_of(rule: &str, key: &str) -> bool {
    key == rule || key.strip_prefix(rule).is_some_and(|rest| rest.starts_with(' '))
}
