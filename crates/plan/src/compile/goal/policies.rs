//! What follows from the failure of a goal's task, where the step does not say.

use crate::plan::Action;
use crate::source::workflow::GoalStep;
use convoke_model::Class;
use std::collections::BTreeMap;

/// The table. Careful on purpose: what passes is tried again, what a smaller or clearer task may cure is tried so, and
/// whatever concerns money, permission or safety is not worked around. No person is asked and nothing is skipped
/// unless the step says so.
const DEFAULTS: [(Class, &[Action]); 12] = {
    use Action::*;
    [
        (Class::RateLimit, &[Retry, Fail]),
        (Class::Capacity, &[Retry, Fail]),
        (Class::Timeout, &[Retry, Decompose, Fail]),
        (Class::Transient, &[Retry, Fail]),
        (Class::InvalidOutput, &[RepairParameters, AlternativeTool, Decompose, Fail]),
        (Class::Refused, &[RepairParameters, Fail]),
        (Class::Permission, &[Fail]),
        (Class::Budget, &[Fail]),
        (Class::Security, &[Fail]),
        (Class::Conflict, &[Retry, Fail]),
        (Class::Cancelled, &[Fail]),
        (Class::Fatal, &[Fail]),
    ]
};

/// The line of every class: its own, else that of `any`, else ours.
pub(super) fn table(goal: &GoalStep) -> BTreeMap<Class, Vec<Action>> {
    let line = |class: &Class, usual: &[Action]| {
        let stated = goal.policies.by_class.get(class).or(goal.policies.other.as_ref());
        stated.map_or(usual.to_vec(), |line| line.iter().map(|action| action.value).collect())
    };
    DEFAULTS.iter().map(|(class, usual)| (*class, line(class, usual))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_a_line_that_ends() {
        assert_eq!(DEFAULTS.map(|(class, _)| class), Class::ALL);
        assert!(DEFAULTS.iter().all(|(_, line)| line.last() == Some(&Action::Fail)));
    }
}
