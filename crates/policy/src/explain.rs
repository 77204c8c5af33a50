//! A policy as a person reads it: what may be done without asking, what may never be done, and what becomes of the rest.

use crate::authority::Named;
use crate::policy::Policy;
use crate::verdict::OnViolation;
use std::fmt::{Display, Write as _};

impl Policy {
    /// The policy in sentences, one rule a line.
    pub fn explain(&self) -> String {
        let mut text = format!("policy `{}`\n", self.name);
        let mut line = |words: &str| writeln!(text, "  {words}").expect("text takes text");
        let listed = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
        match self.allows_all() {
            true => line("programs: all but those that are denied"),
            false => line(&format!("programs: {}", listed(&self.binaries.allow))),
        }
        if !self.binaries.deny.is_empty() {
            line(&format!("denied, however they are spelled: {}", listed(&self.binaries.deny)));
        }
        if !self.binaries.trust.is_empty() {
            line(&format!("with any arguments, in the sandbox alone: {}", listed(&self.binaries.trust)));
        }
        line(&format!("reads: {}, never secret files (.env*, keys, credentials)", shown(&self.paths.read)));
        if !self.paths.secret.is_empty() {
            line(&format!("keeps secret as well: {}", shown(&self.paths.secret)));
        }
        match self.paths.write.is_empty() {
            true => line("writes: nothing"),
            false => line(&format!(
                "writes: {}, never protected files (.git, settings of shells, editors, agents and CI)",
                shown(&self.paths.write)
            )),
        }
        if !self.paths.protect.is_empty() {
            line(&format!("protects as well: {}", shown(&self.paths.protect)));
        }
        line(&format!(
            "reaches: {}",
            if self.hosts.is_empty() { "no host".to_owned() } else { shown(&self.hosts) }
        ));
        line(&format!(
            "tools: {}{}",
            listed(&self.tools.allow),
            match self.tools.deny.as_slice() {
                [] => String::new(),
                deny => format!("; never {}", deny.join(", ")),
            }
        ));
        line(&format!("variables that a command may set: {}", listed(&self.environment.assign)));
        let limits = &self.limits;
        line(&format!(
            "limits: {} bytes, {} words a command, {} commands, {} s, {} bytes of output",
            limits.bytes,
            limits.words,
            limits.commands,
            limits.timeout.as_secs(),
            limits.output
        ));
        if let Some(Named { name, authority }) = &self.authority {
            let rules = authority.rules();
            line(&format!(
                "`{name}` judges everything as well; what its {} rules do not permit is denied:",
                rules.len()
            ));
            rules.iter().flat_map(|rule| rule.lines()).for_each(|rule| line(&format!("  {rule}")));
        }
        line(match self.on_violation {
            OnViolation::Ask => "everything else: a person is asked",
            OnViolation::ValidationFail => "everything else: denied; the agent is told and goes on",
            OnViolation::HardAbort => "everything else: denied, and the run ends",
        });
        text
    }
}

fn shown<T: Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
