//! In which order things are decided.

use super::play::{Heard, Play, chosen, draft, goal, planned, tasks};
use crate::composite::goal::routing::route::route;
use crate::composite::goal::state::Standing;
use crate::state::End;
use convoke_model::{Class, Effort, Failure, GoalChoice, TaskId};
use convoke_plan::Action;
use convoke_plan::goal_plan::Draft;

#[test]
fn a_new_task_has_tried_nothing_and_failed_at_nothing() {
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
fn two_comes_before_ten_and_the_more_urgent_before_both() {
    let mut drafts: Vec<Draft> = (1..=11).map(|n| draft(&n.to_string(), &[])).collect();
    drafts[10].priority = -1;
    let play = planned(goal(), drafts);
    let order: Vec<&str> = play.asked.iter().skip(1).map(String::as_str).collect();
    assert_eq!(order[..3], ["g/11/execute", "g/1/execute", "g/2/execute"]);
    assert_eq!(order[10], "g/10/execute");
}

/// A goal at a moment at which something of each kind can be decided.
fn crossroads() -> Play {
    let mut goal = goal();
    goal.policies = [(Class::Fatal, vec![Action::Escalate])].into();
    let large = |id: &str| Draft { effort: Effort { tokens: Some(5000), seconds: None }, ..draft(id, &[]) };
    let later = |id: &str, input: &str, priority| Draft { priority, ..draft(id, &[input]) };
    let mut play = planned(
        goal,
        vec![
            large("a"),
            draft("b", &[]),
            later("c", "e", 5),
            later("d", "e", -1),
            draft("e", &[]),
            large("f"),
        ],
    );
    play.say("1", tasks(vec![draft("x", &[]), draft("y", &[])]));
    play.say("6", tasks(vec![draft("q", &[]), later("p", "q", 5)]));
    for done in ["1/1", "1/2", "5", "6/1"] {
        let at = play.at(&TaskId(format!("g/{done}").into()));
        play.items[at].standing = Standing::Ended(End::Succeeded);
    }
    let failed = play.at(&TaskId("g/2".into()));
    play.answer(Some(failed), Heard::Failed(Failure::new(Class::Fatal, "broken")));
    play
}

#[test]
fn escalations_come_before_work_by_priority_depth_and_creation_and_that_before_maintenance() {
    let play = crossroads();
    let mut state = play.state();
    state.unattended = false;
    let decided = chosen(&route(&state));
    assert_eq!(decided, ["escalate 2", "execute 4", "execute 3", "execute 6/2", "reconcile 1"]);
}

#[test]
fn finalisation_escalations_work_planning_and_maintenance_come_in_this_order() {
    use crate::composite::goal::routing::decision::{Act, Decision};
    use convoke_model::{Cause, CauseKind, Role};
    let ask = |role| Act::Ask { role, note: None };
    let failure = || Failure::new(Class::Fatal, "broken");
    let rank = |about: Option<&str>, act: Act| {
        let about = about.map(|id| TaskId(id.into()));
        Decision { chosen: GoalChoice::End, reason: String::new(), about, role: None, act }.rank()
    };
    let (goal, task) = (None, Some("g/1"));
    let skip = Act::Skip(Cause { kind: CauseKind::GivenUp, task: None });
    let kinds = [
        vec![rank(goal, ask(Role::Finalise)), rank(goal, Act::Conclude), rank(goal, Act::Abandon(failure()))],
        vec![rank(task, Act::Escalate("?".into()))],
        vec![
            rank(task, ask(Role::Execute)),
            rank(task, ask(Role::Rescue)),
            rank(task, ask(Role::Analyse)),
            rank(task, ask(Role::Decompose)),
            rank(task, ask(Role::Recover)),
            rank(task, Act::Retry),
            rank(task, Act::Add(Vec::new())),
        ],
        vec![rank(goal, ask(Role::Plan)), rank(goal, ask(Role::Classify)), rank(goal, Act::Add(Vec::new()))],
        vec![
            rank(task, ask(Role::Reconcile)),
            rank(task, skip),
            rank(task, Act::Fail(failure())),
            rank(task, Act::Succeed),
        ],
    ];
    for (kind, ranks) in kinds.iter().enumerate() {
        assert!(ranks.iter().all(|rank| *rank == ranks[0]), "{kind}: {ranks:?}");
    }
    assert!(kinds.windows(2).all(|pair| pair[0][0] < pair[1][0]), "{kinds:?}");
}

#[test]
fn planning_and_the_answer_wait_until_nothing_is_left_to_do() {
    let mut play = crossroads();
    let about_goal = |play: &Play| route(&play.state()).iter().filter(|one| one.about.is_none()).count();
    let open = |play: &Play| {
        play.items.iter().position(|item| item.parent.is_none() && item.standing == Standing::Waiting)
    };
    while let Some(at) = open(&play) {
        assert_eq!(about_goal(&play), 0);
        play.items[at].standing = Standing::Ended(End::Succeeded);
    }
    play.items.iter_mut().for_each(|item| item.standing = Standing::Ended(End::Succeeded));
    assert_eq!(chosen(&route(&play.state())), ["finalise"]);
}
