//! Whatever models say, a goal ends within its bounds and honestly.

use super::play::{Heard, Play, answer, goal};
use crate::composite::goal::outcome::Status;
use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::routing::verdict::verdict;
use crate::composite::goal::state::Standing;
use crate::state::End;
use convoke_model::{Class, Effort, Failure, Role};
use convoke_plan::goal_plan::{Draft, Proposal};
use convoke_plan::{Action, Bounds};
use proptest::prelude::*;
use std::sync::Arc;

/// What a planner, an executor and a judge may say, however odd.
fn anything(role: Role, dice: &[u8]) -> Heard {
    let roll = |at: usize| dice[at % dice.len()];
    if roll(0) < 40 {
        let class = Class::ALL[roll(1) as usize % Class::ALL.len()];
        return Heard::Failed(Failure::new(class, "broken"));
    }
    if roll(2) < 30 {
        return Heard::Said(Arc::new(GoalAnswer::Refused("no JSON".into())));
    }
    let proposal = || {
        let count = if roll(3) < 20 { 300 } else { usize::from(roll(3) % 6) };
        let draft = |n: usize| {
            let inputs = if roll(4 + n) < 90 {
                vec![]
            } else {
                vec![(usize::from(roll(5 + n)) % (count + 1)).to_string()]
            };
            Draft {
                id: n.to_string(),
                description: format!("t{}", if roll(6 + n) < 20 { 0 } else { n }),
                inputs,
                tools: (roll(7 + n) >= 128).then(|| vec!["read".into(), "write".into()]),
                priority: i64::from(roll(8 + n)) % 3,
                skip_probability: if roll(9 + n) < 30 { 80 } else { 0 },
                skip_reason: "no key".into(),
                effort: Effort { tokens: (roll(10 + n) < 140).then_some(9999), seconds: None },
                replaces: Vec::new(),
                ensure: Vec::new(),
            }
        };
        Proposal { tasks: (0..count).map(draft).collect(), complete: roll(11) < 128 }
    };
    let said = match role {
        Role::Plan | Role::Decompose => GoalAnswer::Tasks(proposal()),
        Role::Analyse => GoalAnswer::Size { spawn: roll(12) < 170, reason: "r".into(), tools: vec![] },
        Role::Execute | Role::Rescue | Role::Reconcile => {
            GoalAnswer::Work { achieved: roll(13) < 110, reason: "r".into() }
        }
        Role::Recover => {
            let action = Action::ALL[usize::from(roll(14)) % 8];
            GoalAnswer::Way { action, reason: "r".into(), next_steps: String::new(), tool: None }
        }
        Role::Classify => GoalAnswer::More {
            done: roll(15) < 60,
            achieved: (roll(17) < 100).then_some(roll(18) < 128),
            reason: "r".into(),
            tasks: proposal(),
        },
        Role::Collect => GoalAnswer::Digest,
        Role::Finalise => answer([None, Some(true), Some(false)][usize::from(roll(16)) % 3]),
    };
    Heard::Said(Arc::new(said))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// Bad JSON, cycles, hundreds of tasks, endless spawning, endless failing: it ends, within its bounds, honestly.
    #[test]
    fn whatever_models_say_a_goal_ends_within_its_bounds(
        dice in prop::collection::vec(any::<u8>(), 50..120),
        bounds in (0u32..4, 1u32..5, 1u32..20, 1u32..4, 0u32..5),
    ) {
        let mut goal = goal();
        let (max_depth, max_children, max_tasks, max_rounds, max_recoveries) = bounds;
        goal.bounds = Bounds { max_depth, max_children, max_tasks, max_subagents: u32::MAX, max_rounds, max_recoveries };
        let mut play = Play::new(goal);
        play.settle();
        let mut turn = 0usize;
        while play.ended.is_none() {
            let waiting = play.waiting();
            prop_assert!(!waiting.is_empty(), "nobody is asked, and it has not ended");
            let roll = usize::from(dice[turn % dice.len()]) + turn;
            let (at, role) = waiting[roll % waiting.len()];
            let from = (turn * 7) % dice.len();
            let rolled: Vec<u8> = dice[from..].iter().chain(&dice[..from]).map(|die| die.wrapping_add(turn as u8)).collect();
            play.answer(at, anything(role, &rolled));
            play.settle();
            turn += 1;
            prop_assert!(turn < 2000, "it does not end");
        }
        prop_assert!(play.items.len() as u32 <= max_tasks);
        let status = play.status();
        for item in &play.items {
            prop_assert!(item.item.depth <= max_depth, "{} is too deep", item.id);
            prop_assert!(matches!(item.standing, Standing::Ended(_)), "{} is open", item.id);
            let mut tried = item.tried.clone();
            tried.retain(|action| !matches!(action, Action::Fail | Action::Skip));
            prop_assert!(tried.len() as u32 <= max_recoveries);
            let mut once = tried.clone();
            once.sort();
            once.dedup();
            prop_assert_eq!(once.len(), tried.len(), "{:?} of {}", tried, item.id);
        }
        for (at, _) in play.items.iter().enumerate() {
            let children = play.items.iter().filter(|item| item.parent == Some(at)).count() as u32;
            prop_assert!(children <= max_children, "a task has {} children", children);
        }
        if play.ended == Some(Ok(())) {
            let failed = play.items.iter().any(|item| item.parent.is_none() && item.standing == Standing::Ended(End::Failed));
            prop_assert_eq!(failed, status == Status::Failed, "{:?}", status);
            let verdict = verdict(&play.state());
            prop_assert!(!failed || verdict == Status::Failed, "{:?}", verdict);
            let reached = matches!(verdict, Status::Succeeded | Status::Partial);
            prop_assert!(!(reached && play.was_called_unreached()), "{:?}", verdict);
        }
    }
}
