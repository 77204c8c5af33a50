//! When more is planned, and when nothing more helps.

use super::play::{Heard, Play, answer, done, draft, goal, planned};
use crate::composite::goal::outcome::Status;
use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::routing::decision::{Act, Decision};
use crate::composite::goal::routing::verdict::{shortfall, verdict};
use crate::composite::goal::state::Standing;
use crate::state::End;
use convoke_model::{Class, Failure, GoalChoice, Role};
use convoke_plan::goal_plan::{Draft, Proposal};
use convoke_plan::{Bounds, Goal};

#[test]
fn failed_tasks_are_made_up_for_in_another_round_or_the_goal_has_failed() {
    let mut goal = goal();
    goal.policies.clear();
    let mut play = planned(goal, vec![draft("a", &[])]);
    play.fail("1", Class::Fatal);
    assert_eq!(play.asked.last().unwrap(), "g/classify");
    let instead = Draft { replaces: vec!["1".into()], ..draft("again", &[]) };
    let more = GoalAnswer::More {
        done: false,
        achieved: None,
        reason: "another way".into(),
        tasks: Proposal { tasks: vec![instead], complete: true },
    };
    play.say("g", more);
    assert_eq!((play.asked.last().unwrap().as_str(), play.status()), ("g/2/execute", Status::Failed));
    play.say("2", done());
    assert_eq!((play.asked.last().unwrap().as_str(), play.status()), ("g/classify", Status::Succeeded));
    let tasks = Proposal { tasks: Vec::new(), complete: true };
    play.say("g", GoalAnswer::More { done: true, achieved: None, reason: "r".into(), tasks });
    play.say("g", answer(None));
    assert_eq!(play.ended, Some(Ok(())));
    assert_eq!(verdict(&play.state()), Status::Succeeded);
}

#[test]
fn who_makes_up_for_a_makeshift_makes_up_for_what_it_stood_for() {
    let mut goal = goal();
    goal.policies.clear();
    goal.bounds.max_rounds = 3;
    let mut play = planned(goal, vec![draft("a", &[]), draft("b", &["a"])]);
    let more = |drafts: Vec<Draft>| GoalAnswer::More {
        done: false,
        achieved: None,
        reason: "another way".into(),
        tasks: Proposal { tasks: drafts, complete: true },
    };
    let instead =
        |id: &str, inputs: &[&str], of: &str| Draft { replaces: vec![of.into()], ..draft(id, inputs) };
    play.fail("1", Class::Fatal);
    assert_eq!(play.standing("2"), Standing::Ended(End::Skipped));
    play.say("g", more(vec![instead("c", &[], "1"), instead("d", &["c"], "2")]));
    play.fail("3", Class::Fatal);
    play.say("g", more(vec![instead("e", &[], "3"), instead("f", &["e"], "4")]));
    play.say("5", done());
    play.say("6", done());
    assert_eq!(play.status(), Status::Succeeded);
}

#[test]
fn whoever_sorts_says_whether_the_goal_was_reached() {
    for (achieved, expected) in
        [(Some(false), Status::Failed), (Some(true), Status::Succeeded), (None, Status::Succeeded)]
    {
        let mut play = Play::new(goal());
        play.settle();
        play.say("g", GoalAnswer::Tasks(Proposal { tasks: vec![draft("a", &[])], complete: false }));
        play.say("1", done());
        let nothing = Proposal { tasks: Vec::new(), complete: true };
        play.say("g", GoalAnswer::More { done: true, achieved, reason: "seen".into(), tasks: nothing });
        play.say("g", answer(None));
        assert_eq!(verdict(&play.state()), expected, "{achieved:?}");
    }
}

/// Says that something is missing, and these tasks for it.
fn missing(drafts: Vec<Draft>) -> GoalAnswer {
    let tasks = Proposal { tasks: drafts, complete: true };
    GoalAnswer::More { done: false, achieved: None, reason: "not yet".into(), tasks }
}

/// A goal whose rounds or tasks are used up: each round was thought not to be enough, and everything was done.
fn used_up(bounds: Bounds, rounds: &[&str]) -> Play {
    let mut play = Play::new(Goal { bounds, ..goal() });
    play.settle();
    play.say("g", GoalAnswer::Tasks(Proposal { tasks: vec![draft("a", &[])], complete: false }));
    for (number, round) in rounds.iter().enumerate() {
        play.say(&(number + 1).to_string(), done());
        assert_eq!(play.asked.last().unwrap(), "g/classify");
        play.say("g", missing(vec![draft(round, &[])]));
    }
    play.say(&(rounds.len() + 1).to_string(), done());
    play
}

#[test]
fn after_the_last_round_it_is_asked_whether_the_goal_is_reached_and_nothing_else() {
    let bounds = goal().bounds;
    let rounds = || used_up(Bounds { max_rounds: 3, ..bounds }, &["b", "c"]);
    let tasks = || used_up(Bounds { max_tasks: 2, max_rounds: 9, ..bounds }, &["b"]);
    for mut play in [rounds(), tasks()] {
        assert_eq!(play.asked.last().unwrap(), "g/classify", "the last round is looked at too");
        let (asked, made) = (play.asked.len(), play.items.len());
        play.say("g", missing(vec![draft("more", &[])]));
        assert_eq!((play.asked.len(), play.items.len()), (asked + 1, made), "no task is made of it");
        play.say("g", answer(Some(true)));
        assert_eq!(verdict(&play.state()), Status::Failed);
        assert!(shortfall(&play.state()).unwrap().contains("not yet"));
    }
    for mut play in [rounds(), tasks()] {
        let tasks = Proposal { tasks: Vec::new(), complete: true };
        play.say("g", GoalAnswer::More { done: true, achieved: Some(true), reason: "r".into(), tasks });
        play.say("g", answer(None));
        assert_eq!(verdict(&play.state()), Status::Succeeded);
    }
}

#[test]
fn what_was_missing_stays_missing_if_nobody_says_otherwise() {
    let mut play = used_up(Bounds { max_rounds: 2, ..goal().bounds }, &["b"]);
    play.answer(None, Heard::Failed(Failure::new(Class::Budget, "no money is left")));
    play.settle();
    assert_eq!(play.asked.last().unwrap(), "g/finalise");
    play.say("g", answer(None));
    assert_eq!(verdict(&play.state()), Status::Failed);
}

/// Says that nothing is missing, and names what is.
fn contradicting(drafts: Vec<Draft>) -> GoalAnswer {
    let tasks = Proposal { tasks: drafts, complete: true };
    GoalAnswer::More { done: true, achieved: Some(true), reason: "all is there".into(), tasks }
}

/// One task is done, and the plan was said not to be complete: the classifier is asked.
fn incomplete() -> Play {
    let mut play = Play::new(goal());
    play.settle();
    play.say("g", GoalAnswer::Tasks(Proposal { tasks: vec![draft("a", &[])], complete: false }));
    play.say("1", done());
    assert_eq!(play.asked.last().unwrap(), "g/classify");
    play
}

#[test]
fn who_says_that_nothing_is_missing_and_names_what_is_must_say_which() {
    let mut play = incomplete();
    let again = play.say("g", contradicting(vec![draft("b", &[])]));
    let [Decision { act: Act::Ask { role: Role::Classify, note: Some(note) }, .. }] = &again[..] else {
        panic!("{again:?}")
    };
    assert!(note.contains("`done` is true and `tasks` names 1 task"), "{note}");
    let nothing = Proposal { tasks: Vec::new(), complete: true };
    play.say("g", GoalAnswer::More { done: true, achieved: Some(true), reason: "r".into(), tasks: nothing });
    play.say("g", answer(None));
    assert_eq!((verdict(&play.state()), play.items.len()), (Status::Succeeded, 1));
}

#[test]
fn what_is_named_twice_as_missing_is_done() {
    let mut play = incomplete();
    play.say("g", contradicting(vec![draft("b", &[])]));
    play.say("g", contradicting(vec![draft("b", &[])]));
    assert_eq!(play.asked.last().unwrap(), "g/2/execute");
}

#[test]
fn what_is_named_as_missing_and_can_be_done_no_more_was_missing() {
    let mut play = used_up(Bounds { max_rounds: 2, ..goal().bounds }, &["b"]);
    play.say("g", contradicting(vec![draft("c", &[])]));
    play.say("g", contradicting(vec![draft("c", &[])]));
    play.say("g", answer(Some(true)));
    assert_eq!((verdict(&play.state()), play.items.len()), (Status::Failed, 2));
}

#[test]
fn what_was_made_up_for_is_not_told_as_missing() {
    let mut goal = goal();
    goal.policies.clear();
    goal.bounds.max_rounds = 3;
    let mut play = planned(goal, vec![draft("a", &[])]);
    play.fail("1", Class::Fatal);
    play.say("g", missing(vec![Draft { replaces: vec!["1".into()], ..draft("b", &[]) }]));
    let asked = play.say("2", done());
    let last = asked.last().unwrap();
    assert_eq!((last.chosen, last.reason.as_str()), (GoalChoice::Classify, "further tasks were done"));
}
