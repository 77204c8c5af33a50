use super::super::items::tests::drafts;
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn terms(most: u32) -> Terms {
    Terms { most, because: ("max_tasks", most), skip_threshold: 70, vouched: false }
}

fn proposal(tasks: Value) -> Proposal {
    Proposal::read(&json!({ "tasks": tasks })).expect("it can be read")
}

fn by_itself(proposal: &Proposal, terms: Terms) -> Result<(), String> {
    check(proposal, &terms, &Known::default())
}

fn refusal(tasks: Value) -> String {
    by_itself(&proposal(tasks), terms(10)).expect_err("it is refused")
}

#[test]
fn what_cannot_be_carried_out_is_refused_in_words() {
    let task = |id: &str, inputs: &[&str]| json!({"id": id, "description": id, "inputs": inputs});
    assert!(refusal(json!([task("a", &["z"])])).contains("needs `z`"));
    assert!(refusal(json!([task("a", &["a"])])).contains("waits for itself"));
    let round = json!([task("a", &["c"]), task("b", &["a"]), task("c", &["b"]), task("d", &[])]);
    assert_eq!(refusal(round), "the inputs go round in a circle: a -> c -> b -> a");
    assert!(refusal(json!([task("a", &[]), task("a", &[])])).contains("two tasks have the id"));
    let same = json!([{"id": "a", "description": "Do it "}, {"id": "b", "description": "do it"}]);
    assert!(refusal(same).contains("two tasks are the same"));
    assert!(refusal(json!([])).contains("at least one"));
    let many: Vec<Value> = (0..11).map(|n| task(&n.to_string(), &[])).collect();
    assert!(refusal(json!(many)).contains("at most 10"));
    let silent = json!([{"id": "a", "description": "a", "skip_probability": 70}]);
    assert!(refusal(silent).contains("skip_reason"));
}

#[test]
fn a_task_is_skipped_only_for_a_reason_that_somebody_could_verify() {
    let skipped = |reason: &str| {
        proposal(json!([{"id": "a", "description": "a", "skip_probability": 90, "skip_reason": reason}]))
    };
    for nothing in ["", " ", "-", "n/a", "None", "none.", "x", "?"] {
        assert!(by_itself(&skipped(nothing), terms(10)).is_err(), "{nothing}");
    }
    for something in ["no key", "offline", "404", "the printer is out of paper"] {
        assert_eq!(by_itself(&skipped(something), terms(10)), Ok(()), "{something}");
    }
    assert_eq!(
        by_itself(&skipped("n/a"), Terms { vouched: true, ..terms(10) }),
        Ok(()),
        "a person answers for it"
    );
    assert!(by_itself(&skipped(" "), Terms { vouched: true, ..terms(10) }).is_err());
}

/// A later round: task 1 was done, 2 failed and 3 was skipped.
fn later(tasks: Value) -> Result<(), String> {
    let mut known = Known::default();
    known.add("1", "Look up prices", Some(End::Succeeded));
    known.add("2", "Compare prices", Some(End::Failed));
    known.add("3", "Write it up", Some(End::Skipped));
    check(&proposal(tasks), &terms(10), &known)
}

#[test]
fn an_id_of_an_earlier_round_means_the_task_that_is_there() {
    let hidden = json!([{"id": "1", "description": "a"}, {"id": "2", "description": "b", "inputs": ["1"]}]);
    assert!(later(hidden).unwrap_err().contains("`1`: a new task has the id of an existing one"));
    // No task needs it: there is nothing to mistake.
    assert_eq!(later(json!([{"id": "2", "description": "a", "inputs": ["1"], "replaces": ["2"]}])), Ok(()));
    assert!(
        later(json!([{"id": "x", "description": "a", "inputs": ["2"]}])).unwrap_err().contains("no result")
    );
}

#[test]
fn what_failed_or_was_skipped_can_be_made_up_for_and_what_was_done_cannot() {
    let instead = json!([
        {"id": "a", "description": "compare otherwise", "replaces": ["2"]},
        {"id": "b", "description": "write it up", "inputs": ["a"], "replaces": ["3"]},
    ]);
    assert_eq!(later(instead), Ok(()));
    let done = later(json!([{"id": "a", "description": "a", "replaces": ["1"]}])).unwrap_err();
    assert!(done.contains("replaces `1`, which was done"), "{done}");
}

#[test]
fn a_task_that_is_there_already_is_not_made_again_unless_it_is_made_up_for() {
    let again = later(json!([{"id": "a", "description": "look up PRICES "}])).unwrap_err();
    assert!(again.contains("same as task `1`") && again.contains("can be an input"), "{again}");
    let failed = later(json!([{"id": "a", "description": "Compare prices"}])).unwrap_err();
    assert!(failed.contains("same as task `2`") && failed.contains("`replaces`"), "{failed}");
}

/// Tasks of which each needs the next.
fn chain(length: usize) -> Vec<Draft> {
    let task = |n: usize| json!({"id": n.to_string(), "description": format!("do {n}"), "inputs": [(n + 1).to_string()]});
    let mut tasks = proposal((0..length).map(task).collect()).tasks;
    tasks[length - 1].inputs.clear();
    tasks
}

/// Looking through all tasks for each task that is taken away, as it was once done, would take hours here.
#[test]
fn ten_thousand_tasks_in_a_row_are_checked_as_readily_as_three() {
    let mut long = Proposal { tasks: chain(10_000), complete: true };
    assert_eq!(by_itself(&long, terms(10_000)), Ok(()));
    long.tasks[9_999].inputs = vec!["0".into()];
    let refused = by_itself(&long, terms(10_000)).expect_err("it is a circle");
    assert_eq!(
        refused,
        "the inputs go round in a circle: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> … 9989 more … -> 9995 -> 9996 -> 9997 -> 9998 -> 9999 -> 0"
    );
}

#[test]
fn only_the_circle_is_told_and_not_who_waits_for_it() {
    let task = |id: &str, inputs: &[&str]| json!({"id": id, "description": id, "inputs": inputs});
    let waiting = json!([
        task("w", &["v"]),
        task("v", &["x", "a"]),
        task("x", &[]),
        task("a", &["b"]),
        task("b", &["a"])
    ]);
    assert_eq!(refusal(waiting), "the inputs go round in a circle: a -> b -> a");
}

proptest! {
    #[test]
    fn what_is_accepted_can_be_ordered(tasks in drafts()) {
        let Ok(proposal) = Proposal::read(&json!({ "tasks": tasks })) else { return Ok(()) };
        if by_itself(&proposal, terms(6)).is_err() {
            return Ok(());
        }
        prop_assert!(proposal.tasks.len() <= 6);
        let mut done: HashSet<&str> = HashSet::default();
        while done.len() < proposal.tasks.len() {
            let ready = |task: &&Draft| task.inputs.iter().all(|id| done.contains(id.as_str()));
            let next = proposal.tasks.iter().find(|task| !done.contains(task.id.as_str()) && ready(task));
            prop_assert!(next.is_some(), "stuck after {done:?}");
            done.insert(&next.unwrap().id);
        }
    }
}

#[test]
fn how_many_may_be_made_is_told_beside_what_allows_them() {
    let two = || proposal(json!([{"id": "a", "description": "a"}, {"id": "b", "description": "b"}]));
    let refused = |most: u32, all: u32| {
        by_itself(&two(), Terms { because: ("max_tasks", all), ..terms(most) }).unwrap_err()
    };
    assert_eq!(refused(1, 1), "there are 2 tasks, and at most 1 are allowed (max_tasks)");
    assert_eq!(refused(1, 12), "there are 2 tasks, and 1 more can be made (max_tasks: 12)");
}
