//! When a task is done by children, what bounds that, and how it rejoins them.

use super::play::{Play, chosen, done, draft, goal, planned, tasks};
use crate::composite::goal::accounts::BudgetAccount;
use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::state::Standing;
use crate::state::End;
use convoke_model::{Budget, Effort, GoalChoice, Usage};
use convoke_plan::goal_plan::Draft;
use convoke_plan::{Bounds, Goal};

#[test]
fn the_analysers_verdict_is_obeyed_and_its_reason_kept() {
    for (spawn, expected) in [(true, "spawn 1"), (false, "execute 1")] {
        let two_tools = Draft { tools: Some(vec!["read".into(), "write".into()]), ..draft("a", &[]) };
        let mut play = planned(goal(), vec![two_tools]);
        assert_eq!(play.asked.last().unwrap(), "g/1/analyse");
        let decisions =
            play.say("1", GoalAnswer::Size { spawn, reason: "two parts".into(), tools: Vec::new() });
        assert_eq!(chosen(&decisions), [expected]);
        assert!(decisions[0].reason.contains("two parts"), "{decisions:?}");
    }
}

#[test]
fn large_tasks_spawn_without_asking_and_small_ones_are_done() {
    let effort = |tokens, seconds| Effort { tokens, seconds };
    let cases = [
        (effort(Some(1000), None), "decompose"),
        (effort(None, Some(60)), "decompose"),
        (effort(Some(999), Some(59)), "execute"),
        (effort(None, None), "execute"),
    ];
    for (effort, expected) in cases {
        let play = planned(goal(), vec![Draft { effort, ..draft("a", &[]) }]);
        assert_eq!(play.asked.last().unwrap(), &format!("g/1/{expected}"));
    }
    for (tools, expected) in [(1, "execute"), (2, "analyse"), (3, "decompose"), (4, "decompose")] {
        let tools = Some((0..tools).map(|n| format!("tool_{n}")).collect());
        let play = planned(goal(), vec![Draft { tools, ..draft("a", &[]) }]);
        assert_eq!(play.asked.last().unwrap(), &format!("g/1/{expected}"));
    }
}

#[test]
fn a_refused_spawn_is_done_directly_and_says_why() {
    let mut shallow = goal();
    shallow.bounds.max_depth = 0;
    let large = Draft { effort: Effort { tokens: Some(5000), seconds: None }, ..draft("a", &[]) };
    let mut play = Play::new(shallow);
    play.settle();
    let decisions = play.say("g", tasks(vec![large]));
    let last = decisions.last().unwrap();
    assert_eq!(last.chosen, GoalChoice::Execute);
    assert!(last.reason.contains("5000 tokens") && last.reason.contains("max_depth"), "{}", last.reason);
}

#[test]
fn too_many_children_or_tasks_are_refused_and_the_task_is_done_directly() {
    let large = || Draft { effort: Effort { tokens: Some(5000), seconds: None }, ..draft("a", &[]) };
    let usual = goal().bounds;
    let with = |bounds: Bounds| Goal { bounds, ..goal() };
    // No task is left to be made.
    let mut full = Play::new(with(Bounds { max_tasks: 1, ..usual }));
    full.settle();
    let last = full.say("g", tasks(vec![large()])).pop().unwrap();
    assert_eq!(last.chosen, GoalChoice::Execute);
    assert!(last.reason.contains("5000 tokens") && last.reason.contains("max_tasks: 1"), "{}", last.reason);
    // More children than a task may have, also when it is asked again.
    let bounds = [
        (Bounds { max_children: 1, ..usual }, "max_children"),
        (Bounds { max_tasks: 2, ..usual }, "max_tasks"),
    ];
    for (bound, word) in bounds {
        let mut play = planned(with(bound), vec![large()]);
        let two = || tasks(vec![draft("x", &[]), draft("y", &[])]);
        let again = play.say("1", two());
        assert_eq!(chosen(&again), ["ask_again 1"], "{word}");
        let last = play.say("1", two()).pop().unwrap();
        assert_eq!((last.chosen, play.items.len()), (GoalChoice::Execute, 1), "{word}");
        assert!(last.reason.contains(word) && last.reason.contains("done directly"), "{}", last.reason);
    }
}

#[test]
fn a_split_that_the_budget_does_not_allow_is_refused_and_says_so() {
    let budget = Budget { tokens: Some(10_000), ..Budget::default() };
    let large = || Draft { effort: Effort { tokens: Some(2_000), seconds: None }, ..draft("a", &[]) };
    let next = |used: u64| {
        let used = Usage { input_tokens: used, ..Usage::default() };
        let mut play = Play { accounts: BudgetAccount::of("goal", &budget, &used), ..Play::new(goal()) };
        play.settle();
        play.say("g", tasks(vec![large()])).pop().expect("something is decided")
    };
    assert_eq!(next(5_000).chosen, GoalChoice::Spawn);
    let refused = next(8_000);
    assert_eq!(refused.chosen, GoalChoice::Execute);
    assert!(refused.reason.contains("only 2000 tokens of the goal's budget"), "{}", refused.reason);
}

#[test]
fn the_deeper_a_task_stands_the_larger_it_must_be_to_be_split_unasked() {
    let sized =
        |id: &str, tokens| Draft { effort: Effort { tokens: Some(tokens), seconds: None }, ..draft(id, &[]) };
    let mut play = planned(goal(), vec![sized("a", 1_000)]);
    play.say("1", tasks(vec![sized("x", 1_999), sized("y", 2_000)]));
    assert_eq!(play.asked[2..], ["g/1/1/execute", "g/1/2/decompose"]);
}

#[test]
fn max_depth_counts_how_often_a_task_can_be_split_on() {
    let large = |id: &str| Draft { effort: Effort { tokens: Some(9_000), seconds: None }, ..draft(id, &[]) };
    let mut play =
        planned(Goal { bounds: Bounds { max_depth: 1, ..goal().bounds }, ..goal() }, vec![large("a")]);
    assert_eq!(play.asked.last().unwrap(), "g/1/decompose");
    let decisions = play.say("1", tasks(vec![large("x"), large("y")]));
    assert_eq!(play.asked[2..], ["g/1/1/execute", "g/1/2/execute"]);
    assert!(decisions.last().unwrap().reason.contains("max_depth: 1"), "{decisions:?}");
}

#[test]
fn no_more_tasks_are_split_than_there_may_be_sub_agents() {
    let large = |id: &str| Draft { effort: Effort { tokens: Some(9_000), seconds: None }, ..draft(id, &[]) };
    let bounds = Bounds { max_subagents: 1, ..goal().bounds };
    let mut play = planned(Goal { bounds, ..goal() }, vec![large("a"), large("b")]);
    // Both are large; one is split, the other is looked at again and done directly.
    assert_eq!(play.asked[1..], ["g/1/decompose", "g/2/execute"]);
    let decisions = play.say("1", tasks(vec![large("x"), large("y")]));
    assert_eq!(play.asked[3..], ["g/1/1/execute", "g/1/2/execute"]);
    assert!(decisions.last().unwrap().reason.contains("max_subagents: 1"), "{decisions:?}");
}

#[test]
fn children_stand_below_their_parent_and_it_stays_open() {
    let large = Draft { effort: Effort { tokens: Some(5000), seconds: None }, ..draft("a", &[]) };
    let mut play = planned(goal(), vec![large]);
    let children = vec![Draft { tools: Some(vec!["read".into()]), ..draft("x", &[]) }, draft("y", &[])];
    play.say("1", tasks(children));
    let ids: Vec<String> = play.items.iter().map(|item| item.id.to_string()).collect();
    assert_eq!(ids, ["g/1", "g/1/1", "g/1/2"]);
    assert_eq!(play.standing("1"), Standing::Open);
    let kept: Vec<_> =
        play.items.iter().map(|item| (item.item.depth, item.item.description.as_str())).collect();
    assert_eq!(kept, [(0, "do a"), (1, "do x"), (1, "do y")]);
    assert_eq!(play.items[1].item.tools, ["read"]);
}

#[test]
fn a_parent_stays_open_until_all_its_children_have_ended_however_nested() {
    let large = |id: &str| Draft { effort: Effort { tokens: Some(5000), seconds: None }, ..draft(id, &[]) };
    let mut play = planned(goal(), vec![large("a")]);
    play.say("1", tasks(vec![large("x"), draft("y", &[])]));
    play.say("1/1", tasks(vec![draft("p", &[]), draft("q", &[])]));
    play.say("1/2", done());
    play.say("1/1/1", done());
    assert_eq!((play.standing("1"), play.standing("1/1")), (Standing::Open, Standing::Open));
    play.say("1/1/2", done());
    assert_eq!(play.asked.last().unwrap(), "g/1/1/reconcile");
    play.say("1/1", done());
    assert_eq!(play.asked.last().unwrap(), "g/1/reconcile");
    play.say("1", done());
    assert_eq!(play.standing("1"), Standing::Ended(End::Succeeded));
    assert_eq!(play.asked.last().unwrap(), "g/finalise");
}

#[test]
fn the_result_of_an_only_child_is_its_parents() {
    let large = Draft { effort: Effort { tokens: Some(5000), seconds: None }, ..draft("a", &[]) };
    let mut play = planned(goal(), vec![large]);
    play.say("1", tasks(vec![draft("x", &[])]));
    play.say("1/1", done());
    assert_eq!(play.standing("1"), Standing::Ended(End::Succeeded));
    assert!(!play.asked.iter().any(|asked| asked.ends_with("reconcile")));
}

#[test]
fn a_task_that_is_split_into_itself_is_sent_back_and_then_done_directly() {
    let large = Draft { effort: Effort { tokens: Some(5000), seconds: None }, ..draft("a", &[]) };
    let itself =
        || vec![Draft { description: large.description.to_uppercase(), ..draft("x", &[]) }, draft("y", &[])];
    let mut play = planned(goal(), vec![large.clone()]);
    let first = play.say("1", tasks(itself()));
    assert_eq!(chosen(&first), ["ask_again 1"]);
    assert!(first[0].reason.contains("task `x` is task `1` itself"), "{}", first[0].reason);
    let second = play.say("1", tasks(itself()));
    assert_eq!(chosen(&second), ["execute 1"]);
}
