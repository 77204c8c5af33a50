use super::super::check::{Known, check};
use super::*;
use convoke_plan::goal_plan::Terms;
use proptest::prelude::*;
use serde_json::{Value, json};

fn proposal(tasks: Value) -> Proposal {
    Proposal::read(&json!({ "tasks": tasks })).expect("it can be read")
}

#[test]
fn one_task_is_one_task() {
    let one = proposal(json!([{"id": "only", "description": "do it", "inputs": [], "tools": ["grep"]}]));
    let terms = Terms { most: 1, because: ("max_tasks", 1), skip_threshold: 70, vouched: false };
    assert_eq!(check(&one, &terms, &Known::default()), Ok(()));
    let items = items(&one, &TaskId("goal".into()), 1, 0, &|_| unreachable!("nothing else is known"));
    assert_eq!((items.len(), items[0].description.as_str(), items[0].depth), (1, "do it", 0));
    assert_eq!(items[0].tools, ["grep"]);
}

#[test]
fn children_are_numbered_below_their_parent_in_order() {
    let two = proposal(json!([
        {"id": "b", "description": "second in name", "tools": ["x"]},
        {"id": "a", "description": "first in name", "inputs": ["b"]},
    ]));
    let items = items(&two, &TaskId("goal/1".into()), 1, 1, &|_| unreachable!("nothing else is known"));
    assert_eq!(items[1].inputs, [TaskId("goal/1/1".into())]);
    assert!(items.iter().all(|item| item.depth == 1));
}

#[test]
fn a_person_may_write_a_list_or_a_map() {
    let list = "- description: one\n- {id: two, description: second, inputs: [1]}\n";
    let map = format!("# mine\ntasks:\n{}", list.replace("- ", "  - "));
    let (list, map) = (Proposal::read_text(list).unwrap(), Proposal::read_text(&map).unwrap());
    assert_eq!(list, map);
    assert_eq!(list.tasks[1].inputs, ["1"]);
    assert!(Proposal::read_text("just words").is_err());
}

pub(in crate::composite::goal) fn drafts() -> impl Strategy<Value = Vec<Value>> {
    let task = (0u8..6, "[a-c ]{0,4}", prop::collection::vec(0u8..8, 0..3), 0u16..130);
    let task = task.prop_map(|(id, description, inputs, skip)| {
        let inputs: Vec<String> = inputs.into_iter().map(|id| id.to_string()).collect();
        json!({"id": id.to_string(), "description": description, "inputs": inputs, "skip_probability": skip, "skip_reason": "no key"})
    });
    prop::collection::vec(task, 0..8)
}

proptest! {
    #[test]
    fn yaml_for_a_person_reads_back(tasks in drafts()) {
        if let Ok(proposal) = Proposal::read(&json!({ "tasks": tasks })) {
            prop_assert_eq!(Proposal::read_text(&for_a_person(&proposal)), Ok(proposal));
        }
    }
}

#[test]
fn an_empty_list_of_tools_is_none_and_no_list_is_all() {
    let both = proposal(json!([
        {"description": "none", "tools": []},
        {"description": "all"},
        {"description": "all too", "tools": null, "priority": 3},
    ]));
    let items = items(&both, &TaskId("goal".into()), 1, 0, &|_| unreachable!("nothing else is known"));
    let toolless: Vec<bool> = items.iter().map(|item| item.toolless).collect();
    assert_eq!(toolless, [true, false, false]);
    let priorities: Vec<i64> = items.iter().map(|item| item.priority).collect();
    assert_eq!(priorities, [0, 0, -2], "a task that states none is neither the first nor the last");
    assert_eq!(Proposal::read(&both.value()), Ok(both));
}
