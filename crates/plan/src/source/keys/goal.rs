//! Keys below those of goals: roles, policies, plans.

use super::super::approvals::APPROVE;
use super::super::section::FromNode;
use super::super::settings::{Provider, Timeouts};
use super::super::shape::Shape::{
    Boolean, Choice, Integer, List, Number, Object, OneOf, Seconds, Template, Text,
};
use super::super::shape::{ObjectType, Shape, TEXTS, WINDOW, optional, required};
use super::super::words::{ACTIONS, ANY_CLASS};
use super::super::workflow::Reasoning;
use super::super::workflow::ensure::ENSURE;

/// The words of `policies`.
pub const POLICY: Shape = List(&Choice(ACTIONS));

/// `policies`: a row per class of failures, and one for all others.
pub static POLICIES: ObjectType = ObjectType {
    name: "policies",
    title: "`policies`",
    keys: &[
        optional("rate_limit", POLICY, "the service says: slower"),
        optional("capacity", POLICY, "the service is full"),
        optional("timeout", POLICY, "it took too long"),
        optional("transient", POLICY, "a passing fault"),
        optional("invalid_output", POLICY, "the answer is of no use, or says that the task was not done"),
        optional("refused", POLICY, "the service refuses"),
        optional("permission", POLICY, "something may not be done"),
        optional("budget", POLICY, "the budget is spent"),
        optional("security", POLICY, "a rule of safety was broken"),
        optional("conflict", POLICY, "another process changed the same thing"),
        optional("cancelled", POLICY, "it was stopped"),
        optional("fatal", POLICY, "anything that another attempt cannot help"),
        optional(ANY_CLASS, POLICY, "every class that has no line of its own"),
    ],
};

/// `roles`: a row per role.
pub static ROLES: ObjectType = ObjectType {
    name: "goal_roles",
    title: "`roles`",
    keys: &[
        optional("plan", Object(&ROLE), "makes tasks of the goal"),
        optional("analyse", Object(&ROLE), "says whether a task is done directly or by children"),
        optional("execute", Object(&ROLE), "does a task, with the step's tools"),
        optional("decompose", Object(&ROLE), "makes children of a task"),
        optional("reconcile", Object(&ROLE), "makes one result of what the children of a task came to"),
        optional("recover", Object(&ROLE), "says how a failed task can still be done"),
        optional("rescue", Object(&ROLE), "does a task that recovers a failed one, with half of its limits"),
        optional("classify", Object(&ROLE), "says whether the goal needs further tasks"),
        optional("finalise", Object(&ROLE), "answers, from all results"),
        optional(
            "collect",
            Object(&ROLE),
            "makes a digest of some of the results, where one question cannot take all",
        ),
    ],
};

/// One of the roles: what it says stands over what the step says for all of them.
pub static ROLE: ObjectType = ObjectType {
    name: "goal_role",
    title: "a role of a goal",
    keys: &[
        optional("prompt", Template, "what it is asked, instead of our words"),
        optional("provider", Provider::SHAPE, "model service: a name, or a name with settings"),
        optional("model", Template, "the model"),
        optional("models", TEXTS, "models: the next one is asked when one cannot answer"),
        optional("system_prompt", Template, "what it is told about itself, instead of our words"),
        optional(
            "approve",
            APPROVE,
            "calls of its tools that a person must allow, besides those that the step names",
        ),
        optional("temperature", Number(0.0, 2.0), "randomness of the answers (default the step's)"),
        optional("max_tokens", Integer(1, 200_000), "output tokens of one answer (default the step's)"),
        optional("context_window", WINDOW, "tokens that the model can take in (default the step's)"),
        optional("timeouts", Timeouts::SHAPE, "bounds of the parts of a request (default the step's)"),
        optional("max_session_seconds", Seconds(1.0), "seconds for one session"),
        optional("reasoning", Reasoning::SHAPE, "how hard to think"),
        optional("repair_model", Text, "model that puts the answer into shape when its own could not"),
        optional("ensure", ENSURE, "`execute` and `rescue`: what must hold for each task to count as done"),
        optional(
            "protect",
            TEXTS,
            "`execute` and `rescue`: patterns of files that each task must leave as they are",
        ),
    ],
};

/// A plan that stands in the file.
pub static GIVEN_PLAN: ObjectType = ObjectType {
    name: "goal_plan",
    title: "a plan",
    keys: &[
        required("tasks", List(&Object(&GIVEN_TASK)), "the tasks"),
        optional("complete", Boolean, "whether these tasks are all that the goal needs (default true)"),
    ],
};

/// A task of such a plan, as a planner would write it.
pub static GIVEN_TASK: ObjectType = ObjectType {
    name: "goal_task",
    title: "a task of a plan",
    keys: &[
        optional("id", OneOf(&[Text, Integer(0, u64::MAX)]), "its name in `inputs` of others"),
        required("description", Text, "what is to be done"),
        optional("inputs", List(&OneOf(&[Text, Integer(0, u64::MAX)])), "tasks whose results it is given"),
        optional("tools", TEXTS, "tools that it may use"),
        optional("priority", Number(f64::MIN, f64::MAX), "more urgent tasks have smaller numbers"),
        optional("skip_probability", Number(0.0, 100.0), "how likely it cannot be done, in percent"),
        optional("skip_reason", Text, "why it may not be possible"),
        optional(
            "replaces",
            List(&OneOf(&[Text, Integer(0, u64::MAX)])),
            "failed or skipped tasks that it makes up for",
        ),
        optional("ensure", TEXTS, "what must hold for it to be done, such as `file_exists: report.md`"),
        optional("estimated_tokens", Integer(0, u64::MAX), "tokens that it is thought to take"),
        optional("estimated_seconds", Integer(0, u64::MAX), "seconds that it is thought to take"),
    ],
};

#[cfg(test)]
mod tests {
    use super::super::super::words::CLASSES;
    use super::*;
    use convoke_model::Role;

    #[test]
    fn every_class_and_every_role_has_a_row() {
        let names = |object: &ObjectType| object.keys.iter().map(|key| key.name).collect::<Vec<_>>();
        let classes: Vec<_> = CLASSES.iter().copied().chain([ANY_CLASS]).collect();
        assert_eq!(names(&POLICIES), classes);
        let roles: Vec<_> = Role::ALL.iter().map(|role| role.word()).collect();
        assert_eq!(names(&ROLES), roles);
    }
}
