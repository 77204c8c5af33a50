//! What an attempt of a worker may do and use, resolved to one value before it starts.
//!
//! A ban wins over an allowance, however the names are written. Who performs the attempt reads nothing else about rights.

use crate::scheduler::Scheduler;
use crate::task::TaskIx;
use convoke_model::{Contract, Work};
use convoke_plan::Clearance;

impl Scheduler {
    /// The contract of a task's next attempt, where it works for a phase.
    pub(crate) fn contract_of(&self, task: TaskIx, work: &Work) -> Option<Contract> {
        let (asks, phase) = self.phase_of(task)?;
        let about = self.asked_about(task)?;
        let role = self.role_of(phase, about);
        let clearance = role.map_or(&phase.clearance, |role| &role.clearance);
        let (model, working_dir, tools) = match work {
            Work::Agent(call) => (call.model.clone(), call.working_dir.clone(), call.settings.tools.clone()),
            Work::Script(call) => (String::new(), call.working_dir.clone(), None),
            _ => (String::new(), None, None),
        };
        Some(Contract {
            phase: self.node(asks).name.to_string(),
            persona: Some(role.map_or(&phase.persona, |role| &role.persona).to_string()),
            model,
            allowed_tools: allowed(clearance, tools),
            banned_tools: clearance.ban.clone(),
            working_dir,
            timeout_ms: phase.timeout_ms,
            depth: self.depth_of(task),
            violation: self.violation(asks),
        })
    }
}

/// What a persona is allowed, else what its actor is; without what is banned.
fn allowed(clearance: &Clearance, tools: Option<Vec<String>>) -> Option<Vec<String>> {
    let mut allowed = clearance.allow.clone().or(tools)?;
    allowed.retain(|tool| !is_banned(clearance, tool));
    Some(allowed)
}

fn is_banned(clearance: &Clearance, tool: &str) -> bool {
    clearance.ban.iter().any(|banned| banned.trim().eq_ignore_ascii_case(tool.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn a_tool_in_both_lists_is_banned_whatever_its_case() {
        let clearance = Clearance { allow: Some(words(&["Read", "write"])), ban: words(&["READ"]) };
        assert_eq!(allowed(&clearance, None), Some(words(&["write"])));
    }

    #[test]
    fn without_an_allowance_that_of_the_actor_counts() {
        let clearance = Clearance { allow: None, ban: words(&["b"]) };
        assert_eq!(allowed(&clearance, Some(words(&["a", "B"]))), Some(words(&["a"])));
        assert_eq!(allowed(&clearance, None), None);
    }

    proptest! {
        #[test]
        fn nothing_banned_is_ever_allowed(allow in prop::collection::vec("[a-cA-C]{1,2}", 0..6), ban in prop::collection::vec("[a-cA-C]{1,2}", 0..6)) {
            let clearance = Clearance { allow: Some(allow.clone()), ban: ban.clone() };
            let left = allowed(&clearance, None).unwrap();
            for tool in &allow {
                let banned = ban.iter().any(|banned| banned.to_lowercase() == tool.to_lowercase());
                prop_assert_eq!(left.contains(tool), !banned);
            }
        }
    }
}
