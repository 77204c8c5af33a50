//! More results than one question can take: they become digests first, and nothing is left out or lost unsaid.

use crate::goals::kit::*;
use convoke_model::{Assignment, ChildKind, Class, Event, RunStatus, TaskId, Work};
use convoke_testkit::{Behaviour, World};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What a task came to, in so many characters.
fn result(id: &str, length: usize) -> Result<Value, Class> {
    let result = format!("from {id}: {}", "x".repeat(length));
    Ok(
        json!({"result": result, "summary": format!("{id} is there"), "goal_achieved": true, "reason": "seen"}),
    )
}

fn plan(tasks: usize) -> Result<Value, Class> {
    Ok(json!({"tasks": (1..=tasks).map(|n| task(&n.to_string(), &[])).collect::<Vec<_>>()}))
}

fn digest(id: &str) -> Result<Value, Class> {
    Ok(json!({"digest": format!("digest of {id}"), "issues": ""}))
}

/// The results, and parts of them, that each digest was made of.
fn asked_for(world: &World) -> BTreeMap<String, Vec<String>> {
    let questions = world.events().filter_map(|stamped| match &stamped.event {
        Event::ChildrenSpawned { task, children: questions } => {
            Some(questions.iter().map(move |question| (task, question)))
        }
        _ => None,
    });
    let digests = questions.flatten().filter_map(|(task, question)| match &question.kind {
        ChildKind::Collect { of } => {
            let piece = |piece: &convoke_model::Piece| match piece.part {
                None => piece.task.to_string(),
                Some([number, of]) => format!("{}#{number}/{of}", piece.task),
            };
            Some((question.child_of(task).to_string(), of.iter().map(piece).collect()))
        }
        _ => None,
    });
    digests.collect()
}

/// The prompts of the roles that put everything together, by name.
type Prompts = Rc<RefCell<BTreeMap<String, String>>>;

fn listened(more: &str, says: Says) -> (convoke_testkit::Ended, World, BTreeMap<String, String>) {
    let heard: Prompts = Prompts::default();
    let prompts = heard.clone();
    let script = move |assignment: &Assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only models are asked here") };
        let id = assignment.task.to_string();
        prompts.borrow_mut().insert(id.clone(), call.prompt.clone());
        match says(&id, &call.prompt) {
            Ok(value) => Behaviour::gives(TICK, value),
            Err(class) => Behaviour::fails(TICK, class),
        }
    };
    let mut world = World::new(goal(more), json!({}), 50, 1, Box::new(script));
    let ended = world.finish();
    let heard = heard.borrow().clone();
    (ended, world, heard)
}

fn digests(world: &World) -> Vec<String> {
    launched(world).into_iter().filter(|id| id.contains("collect")).collect()
}

#[test]
fn what_fits_into_one_question_is_answered_by_one() {
    // As many as are shown whole side by side, and one that is shown by its head however few there are.
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => plan(16),
            "g/finalise[1]" => {
                assert!(prompt.contains("from g/16/execute[1]") && prompt.contains("read_result"));
                final_words("done")
            }
            "g/1/execute[1]" => result(id, 50_000),
            id => result(id, 7_900),
        }
    }
    let (ended, world) = run(&goal(""), 9, says);
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Succeeded, 18));
}

#[test]
fn a_thousand_results_are_all_in_the_digests_that_the_answer_is_made_of() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        assert!(prompt.len() < 160_000, "{id}: {}", prompt.len());
        match id {
            "g/plan[1]" => plan(1_000),
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => digest(id),
            id => result(id, 2_000),
        }
    }
    let (ended, world, prompts) = listened(", max_tasks: 1000", says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let asked = asked_for(&world);
    let groups = asked.len();
    assert_eq!(groups, 17);
    assert_eq!(world.launches.len(), 1 + 1_000 + groups + 1);
    let mut all: Vec<TaskId> = asked.values().flatten().map(|id| TaskId(id.as_str().into())).collect();
    all.sort();
    let mut expected: Vec<TaskId> = (1..=1_000).map(|n| TaskId(format!("g/{n}").into())).collect();
    expected.sort();
    assert_eq!(all, expected, "each result is in one group");
    for (digest, of) in &asked {
        assert!(
            of.iter().all(|task| prompts[digest].contains(&format!("from {task}/execute[1]"))),
            "{digest}"
        );
        assert!(prompts["g/finalise[1]"].contains(&format!("digest of {digest}")), "{digest}");
    }
    let answered = &prompts["g/finalise[1]"];
    assert!(answered.contains("1000 tasks in all: 1000 succeeded, 0 failed"), "{answered}");
    assert_eq!(named_in(answered), (1..=1_000).collect(), "every task is named");
}

/// The tasks that the headings of the digests name.
fn named_in(prompt: &str) -> BTreeSet<usize> {
    let headings = prompt.lines().filter_map(|line| line.strip_prefix("### Task ")?.split_once(": what "));
    let range = |range: &str| {
        let (first, last) = range.split_once('–').unwrap_or((range, range));
        first.parse::<usize>().unwrap()..=last.parse::<usize>().unwrap()
    };
    headings.flat_map(|(names, _)| names.split(", ").flat_map(range).collect::<Vec<_>>()).collect()
}

#[test]
fn long_results_are_read_in_parts_and_digests_that_are_too_many_are_put_together() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        assert!(prompt.len() < 160_000, "{id}: {}", prompt.len());
        match id {
            "g/plan[1]" => plan(20),
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => {
                Ok(json!({"digest": format!("digest of {id} {}", "d".repeat(7_900)), "issues": "odd"}))
            }
            id => result(id, 200_000),
        }
    }
    let (ended, world, prompts) = listened("", says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let asked = asked_for(&world);
    let parts = asked.values().flatten().filter(|piece| piece.contains('#')).count();
    assert_eq!(parts, 20 * 4, "each part of each result is in one group: {asked:?}");
    assert!(asked.keys().any(|id| id.starts_with("g/collect[2.0.1.")), "{:?}", asked.keys());
    assert!(prompts["g/finalise[1]"].contains("digest of g/collect[2.0.1.0]"));
    assert!(prompts["g/finalise[1]"].contains("Issues: odd"));
    assert_eq!(named_in(&prompts["g/finalise[1]"]), (1..=20).collect());
}

#[test]
fn sixty_long_results_take_some_questions_more() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => plan(60),
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => digest(id),
            id => result(id, 20_000),
        }
    }
    let (ended, world) = run(&goal(", max_tasks: 60"), 50, says);
    assert_eq!((ended.status, digests(&world).len()), (RunStatus::Succeeded, 10));
}

/// Nineteen long results, of which the first digest fails.
fn one_fails(id: &str, prompt: &str) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => plan(19),
        "g/finalise[1]" => {
            assert!(prompt.contains("which could not be put together"), "{prompt}");
            assert!(prompt.contains("Task 1 (`r1`): from g/1/execute[1]"), "{prompt}");
            assert!(prompt.contains("`read_result` reads one whole by the name in brackets"), "{prompt}");
            final_words("done")
        }
        "g/collect[1.0]" => Err(Class::Fatal),
        id if id.contains("collect") => digest(id),
        id => result(id, 9_000),
    }
}

#[test]
fn a_digest_that_nobody_can_make_is_replaced_by_heads_and_the_answer_says_so() {
    let (ended, world) = run(&goal(""), 9, one_fails);
    assert_eq!((ended.status, digests(&world).len()), (RunStatus::Partial, 2), "{ended:?}");
    assert_eq!(answer(&ended)["status"], "partial");
    let issues = answer(&ended)["issues"].as_str().unwrap().to_owned();
    let (first, all) = (asked_for(&world)["g/collect[1.0]"].len(), answer(&ended)["tasks"].clone());
    assert!(issues.contains(&format!("the tasks 1–{first} could not be put together")), "{issues}");
    assert_eq!(all.as_array().map(Vec::len), Some(19));
}

#[test]
fn digests_are_the_same_wherever_the_run_was_cut_off() {
    fn well(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/collect[1.0]" => digest(id),
            "g/finalise[1]" => final_words("done"),
            id => one_fails(id, prompt),
        }
    }
    resumes_everywhere(&goal(""), 4, well);
    resumes_everywhere(&goal(""), 4, one_fails);
}

/// A task of twenty children, which are too many to be put together at once.
fn children(id: &str, prompt: &str) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => Ok(json!({"tasks": [large("a"), task("b", &["a"])]})),
        "g/1/decompose[1]" => plan(20),
        "g/1/3/execute[1]" => Err(Class::Fatal),
        "g/1/reconcile[1]" => {
            assert!(prompt.contains("### 1/3 (failed)") && prompt.contains("digest of g/1/collect[1.1]"));
            done("a")
        }
        "g/classify[1]" => Ok(json!({"done": true, "goal_achieved": true, "reason": "r", "tasks": []})),
        "g/finalise[1]" => final_words("done"),
        id if id.contains("collect") => {
            assert!(prompt.contains("## THE TASK 1\n\ndo a"), "{prompt}");
            assert!(!prompt.contains("### Task 1/3 "), "what has no result is only listed: {prompt}");
            digest(id)
        }
        id => result(id, 9_000),
    }
}

#[test]
fn children_of_a_task_are_put_together_in_the_same_way() {
    let plan = goal(", max_children: 30, policies: {any: [fail]}");
    let (ended, world) = run(&plan, 9, children);
    assert_eq!(ended.status, RunStatus::Partial, "{ended:?}");
    assert_eq!(digests(&world), ["g/1/collect[1.0]", "g/1/collect[1.1]"]);
    resumes_everywhere(&plan, 4, children);
}

#[test]
fn of_a_goal_that_is_done_again_only_the_digests_of_what_changed_are_made_anew() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => plan(40),
            "g/40/execute[1]" => Err(Class::Fatal),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "r", "tasks": []})),
            "g/finalise[1]" => final_words("something is missing"),
            id if id.contains("collect") => digest(id),
            id => result(id, 9_000),
        }
    }
    fn better(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/40/execute[1]" => result(id, 9_000),
            id => says(id, prompt),
        }
    }
    let plan = goal("");
    let (failed, first) = run(&plan, 9, says);
    assert_eq!((failed.status, digests(&first).len()), (RunStatus::Failed, 3));
    let mut second = World::resumed(plan, 9, first.commits.clone(), &first, model(better));
    let ended = second.finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert_eq!(launched(&second), ["g/40/execute[1]", "g/collect[1.2+]", "g/finalise[1]"]);
}

#[test]
fn a_goal_that_was_stopped_while_digests_were_made_makes_none_twice() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => plan(19),
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => digest(id),
            id => result(id, 9_000),
        }
    }
    let plan = goal("");
    let (whole, all) = run(&plan, 1, says);
    for commits in 20..all.commits.len() {
        let mut first = World::new(plan.clone(), json!({}), 1, 1, model(says));
        if first.run(commits).is_some() {
            break;
        }
        first.stop(commits % 2 == 0);
        let done: BTreeSet<String> = first
            .events()
            .filter_map(|stamped| match &stamped.event {
                Event::AttemptFinished { task, .. } => Some(task.to_string()),
                _ => None,
            })
            .collect();
        let mut second = World::resumed(plan.clone(), 1, first.commits.clone(), &first, model(says));
        let ended = second.finish();
        assert_eq!((ended.status, &ended.output), (whole.status, &whole.output), "stopped after {commits}");
        let twice: Vec<_> = launched(&second).into_iter().filter(|task| done.contains(task)).collect();
        assert!(twice.is_empty(), "stopped after {commits}: {twice:?}");
    }
}

#[test]
fn every_question_fits_the_window_of_the_model_that_is_asked() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        assert!(
            prompt.len() / 4 <= 8_000 * 3 / 4,
            "{id}: {} tokens leave no room for an answer",
            prompt.len() / 4
        );
        match id {
            "g/plan[1]" => {
                let last =
                    json!({"id": "41", "description": "the last", "inputs": ["1", "2", "3"], "tools": []});
                let tasks = (1..=40).map(|n| task(&n.to_string(), &[])).chain([last]);
                Ok(json!({"tasks": tasks.collect::<Vec<_>>()}))
            }
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => Ok(json!({"digest": "word ".repeat(2_000), "issues": ""})),
            id => result(id, 6_000),
        }
    }
    let (ended, world, prompts) = listened(", max_tasks: 100, context_window: 8000", says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert!(digests(&world).len() > 20, "{}", digests(&world).len());
    assert!(prompts["g/41/execute[1]"].contains("`r3` reads it"), "{}", prompts["g/41/execute[1]"]);
}
