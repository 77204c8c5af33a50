//! What the roles of a goal are asked, where the step has no words of its own.
//!
//! The texts are files beside this one, rendered with [`VARIABLES`](crate::plan::VARIABLES); `situation.md` stands before each of
//! them, and `tasks.md` behind those that ask for tasks.

use convoke_model::Role;

const SITUATION: &str = include_str!("prompts/situation.md");
const TASKS: &str = include_str!("prompts/tasks.md");
const PLAN: &str = include_str!("prompts/plan.md");
const PLAN_END: &str = include_str!("prompts/plan_end.md");

/// The template of a role.
pub fn prompt(role: Role) -> String {
    let parts: &[&str] = match role {
        Role::Plan => &[SITUATION, PLAN, "\n", TASKS, PLAN_END],
        Role::Decompose => &[SITUATION, include_str!("prompts/decompose.md"), "\n", TASKS],
        Role::Classify => &[SITUATION, include_str!("prompts/classify.md"), "\n", TASKS],
        Role::Analyse => &[SITUATION, include_str!("prompts/analyse.md")],
        Role::Execute => &[SITUATION, include_str!("prompts/execute.md")],
        Role::Rescue => &[SITUATION, include_str!("prompts/rescue.md"), include_str!("prompts/execute.md")],
        Role::Reconcile => &[SITUATION, include_str!("prompts/reconcile.md")],
        Role::Recover => &[SITUATION, include_str!("prompts/recover.md")],
        Role::Finalise => &[SITUATION, include_str!("prompts/finalise.md")],
        Role::Collect => &[SITUATION, include_str!("prompts/collect.md")],
    };
    parts.concat()
}

/// The system prompt of a role.
pub(super) fn role(role: Role) -> &'static str {
    match role {
        Role::Plan => {
            "You plan work: you make a short list of tasks of a goal, each clear by itself, and do none of them."
        }
        Role::Analyse => "You judge how a task is best done. You neither do it nor plan it.",
        Role::Execute => "You do one task on the way to a goal, carefully, and say honestly what came of it.",
        Role::Decompose => "You split one task into smaller ones, each clear by itself, and do none of them.",
        Role::Reconcile => "You make one result of the results of several parts. You invent nothing.",
        Role::Recover => "You decide how a task that failed can still be done. You do not do it yourself.",
        Role::Rescue => {
            "You do a task at which somebody else failed, in another way, and say honestly what came of it."
        }
        Role::Classify => "You judge whether a goal needs further tasks after what was done for it.",
        Role::Finalise => {
            "You answer a person from results of others. You report failures openly and invent nothing."
        }
        Role::Collect => {
            "You make a digest of results of others for somebody who cannot read them all. You invent nothing."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::VARIABLES;
    use crate::template::parse_template;
    use std::collections::BTreeMap;

    #[test]
    fn every_prompt_uses_only_what_its_role_is_given() {
        for role in Role::ALL {
            let text = prompt(role);
            let parsed = parse_template(&text, None, &BTreeMap::new()).expect("it can be read");
            for reference in parsed.references() {
                let name = reference.path[0].as_str();
                let known = VARIABLES.contains(&name) || ["line", "entry", "task", "child"].contains(&name);
                assert!(known, "{}: `{name}` is not given", role.word());
            }
        }
    }
}
