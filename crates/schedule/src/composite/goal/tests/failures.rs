//! What follows from a failed task.

use super::play::{Heard, chosen, done, draft, goal, not_done, planned, tasks};
use crate::composite::goal::outcome::Status;
use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::routing::decision::Act;
use crate::composite::goal::routing::items::NOT_ACHIEVED;
use crate::composite::goal::routing::route::route;
use crate::composite::goal::state::Standing;
use crate::state::End;
use convoke_model::{Class, Failure};
use convoke_plan::Action;
use convoke_plan::goal_plan::Draft;
use std::sync::Arc;

#[test]
fn a_failure_is_recovered_as_its_class_says_and_never_twice_in_the_same_way() {
    let mut goal = goal();
    goal.policies = [(Class::Fatal, vec![Action::RepairParameters, Action::Decompose])].into();
    let mut play = planned(goal, vec![draft("a", &[])]);
    play.fail("1", Class::Fatal);
    assert_eq!(play.asked.last().unwrap(), "g/1/recover");
    let way = |action| GoalAnswer::Way { action, reason: "r".into(), next_steps: String::new(), tool: None };
    let taken = play.say("1", way(Action::RepairParameters));
    assert_eq!(chosen(&taken), ["repair_parameters 1"]);
    // One way is left: no role has to be asked which.
    let taken = play.fail("1", Class::Fatal);
    assert_eq!(chosen(&taken), ["decompose 1"]);
    play.say("1", tasks(vec![draft("x", &[]), draft("y", &[])]));
    play.fail("1/1", Class::Timeout);
    play.fail("1/2", Class::Timeout);
    assert_eq!(play.standing("1"), Standing::Ended(End::Failed));
    assert_eq!(play.items[0].tried, [Action::RepairParameters, Action::Decompose, Action::Fail]);
}

#[test]
fn a_strategy_that_is_not_left_is_refused_once_and_then_the_first_is_taken() {
    let mut goal = goal();
    goal.policies = [(Class::Fatal, vec![Action::RepairParameters, Action::Skip])].into();
    let mut play = planned(goal, vec![draft("a", &[])]);
    play.fail("1", Class::Fatal);
    let wrong = || GoalAnswer::Way {
        action: Action::Decompose,
        reason: "r".into(),
        next_steps: String::new(),
        tool: None,
    };
    assert_eq!(chosen(&play.say("1", wrong())), ["recover 1"]);
    assert_eq!(chosen(&play.say("1", wrong())), ["repair_parameters 1"]);
}

#[test]
fn a_spawned_recovery_has_no_children_and_its_result_counts() {
    let mut goal = goal();
    goal.policies = [(Class::Fatal, vec![Action::SpawnRecovery])].into();
    let large = Draft { tools: Some(vec!["read".into()]), ..draft("a", &[]) };
    let mut play = planned(goal, vec![large]);
    play.fail("1", Class::Fatal);
    assert_eq!(play.asked.last().unwrap(), "g/1/1/rescue");
    assert_eq!(play.items[1].item.tools, ["read"]);
    play.say("1/1", done());
    assert_eq!((play.standing("1"), play.status()), (Standing::Ended(End::Succeeded), Status::Succeeded));
}

#[test]
fn what_was_not_achieved_is_tried_again_only_after_its_back_off() {
    let mut goal = goal();
    goal.policies = [(Class::InvalidOutput, vec![Action::Retry])].into();
    let mut play = planned(goal, vec![draft("a", &[])]);
    play.answer(Some(0), Heard::Said(Arc::new(not_done())));
    let decisions = route(&play.state());
    assert_eq!((chosen(&decisions), &decisions[0].act), (vec!["retry 1".to_owned()], &Act::Retry));
    play.carry_out(&decisions[0]);
    play.items[0].standing = Standing::Paused;
    assert!(route(&play.state()).is_empty(), "nothing is done before its time");
    play.items[0].standing = Standing::Open;
    assert_eq!(chosen(&play.settle()), ["execute 1"]);
    play.say("1", not_done());
    assert_eq!(play.items[0].failure.as_ref().unwrap().reason.as_deref(), Some(NOT_ACHIEVED));
}

#[test]
fn tasks_that_fail_together_are_recovered_within_max_tasks() {
    let mut goal = goal();
    goal.bounds.max_tasks = 5;
    goal.policies = [(Class::Fatal, vec![Action::SpawnRecovery])].into();
    let mut play = planned(goal, vec![draft("a", &[]), draft("b", &[]), draft("c", &[]), draft("d", &[])]);
    (0..4).for_each(|at| play.answer(Some(at), Heard::Failed(Failure::new(Class::Fatal, "broken"))));
    play.settle();
    assert_eq!(play.items.len(), 5);
}

/// A task for which no tools were named, that has called these and failed: what follows.
fn after_calling(called: &[&str], toolless: bool) -> Vec<String> {
    let mut goal = goal();
    goal.policies = [(Class::Fatal, vec![Action::AlternativeTool])].into();
    let mut play = planned(goal, vec![draft("a", &[])]);
    play.items[0].item.toolless = toolless;
    play.items[0].called = called.iter().map(|tool| (*tool).to_owned()).collect();
    chosen(&play.fail("1", Class::Fatal))
}

#[test]
fn another_tool_is_another_than_the_one_that_was_called() {
    assert_eq!(after_calling(&["read"], false)[0], "alternative_tool 1");
    assert_eq!(after_calling(&["read", "write"], false)[0], "fail 1", "there is no other");
    assert_eq!(after_calling(&[], false)[0], "fail 1", "it had all of them, and used none");
    assert_eq!(after_calling(&[], true)[0], "fail 1", "it may have none");
}
