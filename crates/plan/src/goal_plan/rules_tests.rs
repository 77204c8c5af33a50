use super::super::{Proposal, read_task};
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn terms() -> Terms {
    Terms { most: 4, because: ("max_tasks", 4), skip_threshold: 70, vouched: false }
}

fn drafts(tasks: Value) -> Vec<Draft> {
    Proposal::read(&json!({ "tasks": tasks })).expect("it can be read").tasks
}

fn broken(tasks: Value) -> Vec<Violation> {
    violations(&drafts(tasks), &terms(), &|name| name == "earlier")
}

fn task(id: &str, inputs: &[&str]) -> Value {
    json!({"id": id, "description": id, "inputs": inputs})
}

#[test]
fn each_rule_is_broken_by_itself() {
    assert_eq!(broken(json!([])), [Violation::NoTasks]);
    let five: Vec<Value> = (0..5).map(|n| task(&n.to_string(), &[])).collect();
    assert_eq!(broken(json!(five)), [Violation::TooMany { count: 5, most: 4, because: ("max_tasks", 4) }]);
    let same = json!([{"id": "a", "description": "x"}, {"id": "a", "description": "y"}]);
    assert_eq!(broken(same), [Violation::SameId { first: 0, second: 1 }]);
    let same = json!([{"id": "a", "description": "Do it "}, {"id": "b", "description": "do it"}]);
    assert_eq!(broken(same), [Violation::SameDescription { first: 0, second: 1 }]);
    let unknown = Violation::UnknownInput { task: 0, input: "z".into() };
    assert_eq!(broken(json!([task("a", &["z", "earlier"])])), [unknown]);
    let replacing = json!([{"id": "a", "description": "a", "replaces": ["earlier", "z"]}]);
    assert_eq!(broken(replacing), [Violation::UnknownReplaced { task: 0, replaced: "z".into() }]);
    let silent = json!([{"id": "a", "description": "a", "skip_probability": 69.5}]);
    assert_eq!(broken(silent), [Violation::UnfoundedSkip { task: 0 }]);
    assert_eq!(broken(json!([task("a", &["a"])])), [Violation::Circle { tasks: vec![0] }]);
    let round = json!([task("a", &["c"]), task("b", &["a"]), task("c", &["b"])]);
    assert_eq!(broken(round), [Violation::Circle { tasks: vec![0, 2, 1] }]);
}

#[test]
fn everything_that_is_wrong_is_found_and_the_number_of_tasks_comes_first() {
    let mut five = vec![task("a", &["a", "z"]); 5];
    five[4]["skip_probability"] = json!(100);
    let found = broken(json!(five));
    assert!(matches!(found[0], Violation::TooMany { count: 5, .. }), "{found:?}");
    let count = |kind: fn(&Violation) -> bool| found.iter().filter(|one| kind(one)).count();
    assert_eq!(count(|one| matches!(one, Violation::SameId { first: 0, .. })), 4);
    assert_eq!(count(|one| matches!(one, Violation::SameDescription { first: 0, .. })), 4);
    assert_eq!(count(|one| matches!(one, Violation::UnknownInput { .. })), 5);
    assert_eq!(count(|one| matches!(one, Violation::UnfoundedSkip { task: 4 })), 1);
    assert_eq!(count(|one| matches!(one, Violation::Circle { .. })), 1);
}

#[test]
fn a_person_answers_for_a_reason_that_no_model_may_give() {
    let skipped =
        |reason: &str| drafts(json!([{"description": "a", "skip_probability": 90, "skip_reason": reason}]));
    let unfounded = |reason: &str, vouched: bool| {
        !violations(&skipped(reason), &Terms { vouched, ..terms() }, &|_| false).is_empty()
    };
    for nothing in ["-", "n/a", "None", "none.", "x", "?"] {
        assert!(unfounded(nothing, false) && !unfounded(nothing, true), "{nothing}");
    }
    for something in ["no key", "offline", "404", "the printer is out of paper"] {
        assert!(!unfounded(something, false) && !unfounded(something, true), "{something}");
    }
    assert!(unfounded(" ", false) && unfounded(" ", true));
}

#[test]
fn tasks_that_could_not_be_read_are_not_the_same_task() {
    let unread = |index| read_task(index, &serde_json::Map::new()).0;
    assert!(violations(&[unread(0), unread(1)], &terms(), &|_| false).is_empty());
}

fn any_tasks() -> impl Strategy<Value = Vec<Value>> {
    let task = (0u8..6, "[a-c]{1,3}", prop::collection::vec(0u8..7, 0..3), 0u8..100);
    let task = task.prop_map(|(id, description, inputs, skip)| {
        json!({"id": id, "description": description, "inputs": inputs, "skip_probability": skip})
    });
    prop::collection::vec(task, 0..6)
}

proptest! {
    #[test]
    fn a_circle_that_is_told_is_one(tasks in any_tasks()) {
        let drafts = drafts(json!(tasks));
        for violation in violations(&drafts, &terms(), &|_| false) {
            prop_assert!(!violation.told(&drafts).is_empty());
            let Violation::Circle { tasks } = violation else { continue };
            for (at, place) in tasks.iter().enumerate() {
                let next = &drafts[tasks[(at + 1) % tasks.len()]];
                prop_assert!(drafts[*place].inputs.contains(&next.id));
            }
        }
    }
}
