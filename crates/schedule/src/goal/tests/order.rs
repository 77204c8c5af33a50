//! In which order things are decided.

use super::play::{draft, goal, planned};
use crate::goal::decision::{Act, Decision};
use crate::goal::proposal::Draft;
use crate::goal::route::route;
use crate::goal::state::Standing;
use convoke_model::{Duty, TaskId};

#[test]
fn ao_1_a_new_task_has_tried_nothing_and_failed_at_nothing() {
    let play = planned(goal(), vec![draft("a", &[]), draft("b", &["a"])]);
    let second = &play.items[1];
    assert_eq!((second.standing, second.tried.len(), second.failure.is_none()), (Standing::Waiting, 0, true));
    assert!(second.steps.is_empty());
}

#[test]
fn tasks_that_do_not_depend_on_one_another_start_together_and_the_others_wait() {
    let play = planned(goal(), vec![draft("a", &[]), draft("b", &[]), draft("c", &["a", "b"])]);
    assert_eq!(play.asked, ["g/plan", "g/1/execute", "g/2/execute"]);
}

#[test]
fn ao_8_two_comes_before_ten_and_the_more_urgent_before_both() {
    let mut drafts: Vec<Draft> = (1..=11).map(|n| draft(&n.to_string(), &[])).collect();
    drafts[10].priority = -1;
    let play = planned(goal(), drafts);
    let order: Vec<&str> = play.asked.iter().skip(1).map(String::as_str).collect();
    assert_eq!(order[..3], ["g/11/execute", "g/1/execute", "g/2/execute"]);
    assert_eq!(order[10], "g/10/execute");
}

#[test]
fn the_same_state_gives_the_same_decisions() {
    let play = planned(goal(), vec![draft("a", &[]), draft("b", &[])]);
    assert_eq!(route(&play.state()), route(&play.state()));
}

#[test]
fn priority_order_is_finalisation_escalation_work_planning_maintenance() {
    let about = Some(TaskId("g/1".into()));
    let decision = |act: Act, about: &Option<TaskId>| {
        Decision { chosen: "x", reason: String::new(), about: about.clone(), role: None, act }.rank()
    };
    let ask = |duty| Act::Ask { duty, note: None };
    let ranks = [
        decision(ask(Duty::Finalise), &None),
        decision(Act::Escalate(String::new()), &about),
        decision(ask(Duty::Execute), &about),
        decision(ask(Duty::Plan), &None),
        decision(ask(Duty::Reconcile), &about),
    ];
    assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
}
