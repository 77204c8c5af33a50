use super::*;
use proptest::prelude::*;

fn terms(most: u32) -> Terms<'static> {
    Terms { most, because: "max_tasks", known: &[], skip_threshold: 70 }
}

fn proposal(tasks: Value) -> Proposal {
    Proposal::read(&json!({ "tasks": tasks })).expect("it can be read")
}

fn refusal(tasks: Value) -> String {
    proposal(tasks).check(terms(10)).expect_err("it is refused")
}

#[test]
fn ao_5_one_task_is_one_task() {
    let one = proposal(json!([{"id": "only", "description": "do it", "inputs": [], "tools": ["grep"]}]));
    assert_eq!(one.check(terms(1)), Ok(()));
    let items = one.items(&TaskId("goal".into()), 1, 0, &|_| unreachable!("nothing else is known"));
    assert_eq!((items.len(), items[0].description.as_str(), items[0].depth), (1, "do it", 0));
    assert_eq!(items[0].tools, ["grep"]);
}

#[test]
fn ao_3_children_are_numbered_below_their_parent_in_order() {
    let two = proposal(json!([
        {"id": "b", "description": "second in name", "tools": ["x"]},
        {"id": "a", "description": "first in name", "inputs": ["b"]},
    ]));
    let items = two.items(&TaskId("goal/1".into()), 1, 1, &|_| unreachable!("nothing else is known"));
    assert_eq!(items[1].inputs, [TaskId("goal/1/1".into())]);
    assert!(items.iter().all(|item| item.depth == 1));
}

#[test]
fn what_cannot_be_carried_out_is_refused_in_words() {
    let task = |id: &str, inputs: &[&str]| json!({"id": id, "description": id, "inputs": inputs});
    assert!(refusal(json!([task("a", &["z"])])).contains("needs `z`"));
    assert!(refusal(json!([task("a", &["a"])])).contains("waits for itself"));
    let round = json!([task("a", &["c"]), task("b", &["a"]), task("c", &["b"]), task("d", &[])]);
    assert!(refusal(round).contains("in a circle"));
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
fn a_person_may_write_a_list_or_a_map() {
    let list = "- description: one\n- {id: two, description: second, inputs: [1]}\n";
    let map = format!("# mine\ntasks:\n{}", list.replace("- ", "  - "));
    let (list, map) = (Proposal::read_text(list).unwrap(), Proposal::read_text(&map).unwrap());
    assert_eq!(list, map);
    assert_eq!(list.tasks[1].inputs, ["1"]);
    assert!(Proposal::read_text("just words").is_err());
}

fn drafts() -> impl Strategy<Value = Vec<Value>> {
    let task = (0u8..6, "[a-c ]{0,4}", prop::collection::vec(0u8..8, 0..3), 0u16..130);
    let task = task.prop_map(|(id, description, inputs, skip)| {
        let inputs: Vec<String> = inputs.into_iter().map(|id| id.to_string()).collect();
        json!({"id": id.to_string(), "description": description, "inputs": inputs, "skip_probability": skip, "skip_reason": "r"})
    });
    prop::collection::vec(task, 0..8)
}

proptest! {
    #[test]
    fn what_is_accepted_can_be_ordered(tasks in drafts()) {
        let Ok(proposal) = Proposal::read(&json!({ "tasks": tasks })) else { return Ok(()) };
        if proposal.check(terms(6)).is_err() {
            return Ok(());
        }
        prop_assert!(proposal.tasks.len() <= 6);
        let mut done: HashSet<&str> = HashSet::new();
        while done.len() < proposal.tasks.len() {
            let ready = |task: &&Draft| task.inputs.iter().all(|id| done.contains(id.as_str()));
            let next = proposal.tasks.iter().find(|task| !done.contains(task.id.as_str()) && ready(task));
            prop_assert!(next.is_some(), "stuck after {done:?}");
            done.insert(&next.unwrap().id);
        }
    }

    #[test]
    fn yaml_for_a_person_reads_back(tasks in drafts()) {
        if let Ok(proposal) = Proposal::read(&json!({ "tasks": tasks })) {
            prop_assert_eq!(Proposal::read_text(&proposal.yaml()), Ok(proposal));
        }
    }
}
