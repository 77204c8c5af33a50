//! How a goal ends: never better than its tasks did, nor than was said of it.

use super::play::{answer, done, draft, goal, not_done, planned};
use crate::composite::goal::outcome::Status;
use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::routing::verdict::{shortfall, verdict};
use crate::composite::goal::state::Standing;
use crate::state::End;
use convoke_model::Skip;
use convoke_plan::goal_plan::{Draft, Proposal};
use convoke_plan::{Bounds, Goal};

#[test]
fn skips_follow_declared_inputs_and_nothing_else() {
    let impossible =
        Draft { skip_probability: 90, skip_reason: "there is no network".into(), ..draft("a", &[]) };
    let similar = Draft { description: "using the previous task do a".into(), ..draft("c", &[]) };
    let mut play = planned(goal(), vec![impossible, draft("b", &["a"]), similar]);
    assert_eq!(play.standing("1"), Standing::Ended(End::Skipped));
    assert_eq!(play.standing("2"), Standing::Ended(End::Skipped));
    assert_eq!(play.standing("3"), Standing::Open);
    play.say("3", done());
    assert_eq!(play.status(), Status::Partial);
}

#[test]
fn a_skip_with_a_reason_below_the_threshold_is_no_skip() {
    let doubtful = Draft { skip_probability: 69, skip_reason: "perhaps".into(), ..draft("a", &[]) };
    let play = planned(goal(), vec![doubtful]);
    assert_eq!(play.items[0].item.skip, Some(Skip { probability: 69, reason: "perhaps".into() }));
    assert_eq!(play.asked.last().unwrap(), "g/1/execute");
}

#[test]
fn the_status_is_counted_from_the_tasks() {
    let skip = |id: &str| Draft { skip_probability: 90, skip_reason: "no key".into(), ..draft(id, &[]) };
    assert_eq!(planned(goal(), vec![skip("a"), skip("b")]).status(), Status::SkippedAll);
    let mut some = planned(goal(), vec![skip("a"), draft("b", &[])]);
    some.say("2", done());
    assert_eq!(some.status(), Status::Partial);
    let mut strict = goal();
    strict.policies.clear();
    let mut failed = planned(strict.clone(), vec![draft("a", &[]), draft("b", &[])]);
    failed.say("1", done());
    failed.say("2", not_done());
    assert_eq!(failed.status(), Status::Failed);
    let mut well = planned(strict, vec![draft("a", &[])]);
    well.say("1", done());
    assert_eq!(well.status(), Status::Succeeded);
}

#[test]
fn a_goal_that_whoever_answers_calls_not_reached_was_not() {
    let reached = |achieved: Option<bool>| {
        let mut play = planned(goal(), vec![draft("a", &[])]);
        play.say("1", done());
        play.say("g", answer(achieved));
        (verdict(&play.state()), shortfall(&play.state()))
    };
    assert_eq!(reached(Some(true)), (Status::Succeeded, None));
    assert_eq!(reached(None), (Status::Succeeded, None), "then the tasks alone count");
    assert_eq!(reached(Some(false)), (Status::Failed, Some("it says so".into())));
    let skipped = Draft { skip_probability: 90, skip_reason: "no key".into(), ..draft("a", &[]) };
    let mut all =
        planned(Goal { bounds: Bounds { max_rounds: 1, ..goal().bounds }, ..goal() }, vec![skipped]);
    all.say("g", answer(Some(true)));
    assert_eq!(verdict(&all.state()), Status::SkippedAll, "words make nothing better");
}

#[test]
fn what_was_left_out_does_not_hide_that_the_goal_was_not_reached() {
    let impossible = || Draft { skip_probability: 90, skip_reason: "no network".into(), ..draft("b", &[]) };
    let cases = [
        (false, None, Status::Failed),
        (true, Some(false), Status::Failed),
        (true, None, Status::Partial),
        (true, Some(true), Status::Partial),
    ];
    for (done_with, achieved, expected) in cases {
        let mut play = planned(goal(), vec![draft("a", &[]), impossible()]);
        play.say("1", done());
        assert_eq!(play.asked.last().unwrap(), "g/classify");
        let tasks = Proposal { tasks: Vec::new(), complete: true };
        play.say("g", GoalAnswer::More { done: done_with, achieved, reason: "r".into(), tasks });
        play.say("g", answer(None));
        assert_eq!(verdict(&play.state()), expected, "done: {done_with}, achieved: {achieved:?}");
    }
}
