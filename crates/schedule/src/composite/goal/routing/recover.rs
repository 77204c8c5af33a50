//! What follows from a failure: the policy of its class, without what was tried before.
//!
//! Pure. Where one way is left it is taken; where several need judgement, a role is asked which, and always before a
//! task is left out. Invariant: no way is taken twice for a task, and never more than `max_recoveries` of them.

use convoke_plan::Action;

/// All that the choice depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    /// What the class of the failure allows, first to last.
    pub policy: &'a [Action],
    /// What was tried before.
    pub tried: &'a [Action],
    pub max_recoveries: u32,
    /// The same work can be asked for again as it is.
    pub may_repeat: bool,
    /// It may have children.
    pub may_decompose: bool,
    /// A task of its own may be made for it.
    pub may_spawn: bool,
    /// There are tools that it was not told to use.
    pub other_tools: bool,
    /// A person can be asked.
    pub attended: bool,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// This.
    Take(Action),
    /// One of these, as a role judges.
    Judge(Vec<Action>),
    /// Nothing is left; why.
    GiveUp(&'static str),
}

/// Decides what follows from a failure.
pub(crate) fn next(case: &Case<'_>) -> Next {
    if case.tried.len() as u32 >= case.max_recoveries {
        return Next::GiveUp("it was recovered as often as max_recoveries allows");
    }
    let left = left(case);
    match left.first() {
        None => Next::GiveUp("the policy of this failure has nothing left to try"),
        Some(first) if !needs_judgement(*first) => Next::Take(*first),
        Some(_) => {
            let judged: Vec<Action> =
                left.iter().copied().take_while(|action| needs_judgement(*action)).collect();
            match judged.as_slice() {
                // Nothing is left out without a reason.
                [Action::Skip] => Next::Judge(vec![Action::Skip, Action::Fail]),
                [only] => Next::Take(*only),
                _ => Next::Judge(judged),
            }
        }
    }
}

/// What the policy still allows, in its order.
fn left(case: &Case<'_>) -> Vec<Action> {
    let until_fail = case.policy.iter().copied().take_while(|action| *action != Action::Fail);
    let mut left: Vec<Action> = Vec::new();
    for action in until_fail {
        if !case.tried.contains(&action) && !left.contains(&action) && is_possible(case, action) {
            left.push(action);
        }
    }
    left
}

fn is_possible(case: &Case<'_>, action: Action) -> bool {
    match action {
        // Faults that may pass were tried again by its worker, with its own back-off.
        Action::Retry => case.may_repeat,
        Action::AlternativeTool => case.other_tools,
        Action::Decompose => case.may_decompose,
        Action::SpawnRecovery => case.may_spawn,
        Action::Escalate => case.attended,
        Action::RepairParameters | Action::Skip | Action::Fail => true,
    }
}

fn needs_judgement(action: Action) -> bool {
    use Action::*;
    matches!(action, RepairParameters | AlternativeTool | Decompose | SpawnRecovery | Skip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn case<'a>(policy: &'a [Action], tried: &'a [Action]) -> Case<'a> {
        Case {
            policy,
            tried,
            max_recoveries: 3,
            may_repeat: true,
            may_decompose: true,
            may_spawn: true,
            other_tools: true,
            attended: true,
        }
    }

    #[test]
    fn one_way_is_taken_and_several_are_judged() {
        use Action::*;
        assert_eq!(next(&case(&[Decompose, Fail, Skip], &[])), Next::Take(Decompose));
        assert_eq!(
            next(&case(&[RepairParameters, Decompose, Escalate], &[])),
            Next::Judge(vec![RepairParameters, Decompose])
        );
        assert_eq!(
            next(&case(&[RepairParameters, Decompose, Escalate], &[RepairParameters])),
            Next::Take(Decompose)
        );
        assert_eq!(next(&case(&[Escalate, Skip], &[])), Next::Take(Escalate));
        assert_eq!(next(&case(&[Escalate, Skip], &[Escalate])), Next::Judge(vec![Skip, Fail]));
        assert!(matches!(next(&case(&[], &[])), Next::GiveUp(_)));
        assert!(matches!(next(&case(&[Fail], &[])), Next::GiveUp(_)));
    }

    #[test]
    fn what_is_not_possible_is_not_offered() {
        use Action::*;
        let all = [Retry, AlternativeTool, Decompose, SpawnRecovery, Escalate];
        let nothing = Case {
            may_repeat: false,
            may_decompose: false,
            may_spawn: false,
            other_tools: false,
            attended: false,
            ..case(&all, &[])
        };
        assert!(matches!(next(&nothing), Next::GiveUp(_)));
    }

    fn actions() -> impl Strategy<Value = Vec<Action>> {
        prop::collection::vec((0usize..8).prop_map(|at| Action::ALL[at]), 0..10)
    }

    proptest! {
        /// Whatever is chosen, the work on a task ends and no way is taken twice.
        #[test]
        fn never_the_same_strategy_twice(policy in actions(), picks in prop::collection::vec(0usize..8, 12), max in 0u32..9) {
            let mut tried: Vec<Action> = Vec::new();
            for pick in picks {
                let case = Case { max_recoveries: max, ..case(&policy, &tried) };
                let taken = match next(&case) {
                    Next::Take(action) => action,
                    Next::Judge(several) => {
                        prop_assert!(several.len() > 1);
                        several[pick % several.len()]
                    }
                    Next::GiveUp(_) => return Ok(()),
                };
                if matches!(taken, Action::Skip | Action::Fail) {
                    return Ok(());
                }
                prop_assert!(!tried.contains(&taken));
                tried.push(taken);
                prop_assert!(tried.len() as u32 <= max);
            }
            prop_assert!(false, "it never gives up: {:?}", tried);
        }
    }
}
