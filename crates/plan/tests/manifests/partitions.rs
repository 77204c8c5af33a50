//! Agents in partitions: what waits for them, what they count as, how many there may be.

use crate::manifests::kit::{agent, agents, errors, known, needs, node, plan, reduce, successes};
use crate::manifests::world::{compiled, findings, shown};
use convoke_plan::*;
use serde_json::{Value, json};

#[test]
fn a_dependency_on_a_partitioned_agent_means_all_its_partitions() {
    let plan = plan(
        "agents:\n  - {id: r, task: 'about {{partition}}', partitions: [a, b]}\n  - {id: sum, task: t, depends_on: [r]}\n",
    );
    let Kind::ForEach(fan_out) = &node(&plan, "r").kind else { panic!("a fan-out") };
    assert_eq!(fan_out.items.as_deref(), Some(&vec![json!("a"), json!("b")]));
    assert_eq!(fan_out.failure_mode, FailureMode::ContinueOnError);
    assert_eq!(needs(&plan, "sum"), successes(&["r"]));
    assert_eq!(known(&plan, "waves"), json!([["r:a", "r:b"], ["sum"]]));
    assert_eq!(
        (known(&plan, "critical_path_length"), known(&plan, "parallelism_ratio")),
        (json!(2), json!(1.5))
    );
    assert!(agent(&plan, "sum").dependency_outputs.is_some());
}

#[test]
fn a_dependency_may_be_on_one_partition() {
    let plan = plan(
        "agents:\n  - {id: r, task: '{{ partition }}', partitions: [a, b:c]}\n  - {id: x, task: t, depends_on: ['r:b:c']}\n  - {id: y, task: t, depends_on: [r]}\n",
    );
    assert_eq!(needs(&plan, "x"), successes(&["r"]));
    let items = |name: &str| node(&plan, name).needs.iter().map(|need| need.item).collect::<Vec<_>>();
    assert_eq!((items("x"), items("y")), (vec![Some(1)], vec![None]));
    assert!(matches!(node(&plan, "r").kind, Kind::ForEach(_)), "the agent stays what it is");
    assert_eq!(known(&plan, "waves"), json!([["r:a", "r:b:c"], ["x", "y"]]));
}

#[test]
fn partitions_that_no_text_asks_about_are_worth_a_word() {
    let result = compiled("agents:\n  - {id: a, task: same, partitions: [x, y]}\n");
    assert_eq!(findings(&result), [("workflow::no_effect", 2)], "{}", shown(&result));
}

#[test]
fn three_hundred_agents_and_ten_thousand_partitions_are_ordinary() {
    let many = plan(&agents(300));
    assert_eq!((known(&many, "agent_count"), reduce(&many).of.len()), (json!(300), 300));
    let partitions: Vec<String> = (0..10_000).map(|number| format!("p{number}")).collect();
    let wide = plan(&format!(
        "agents:\n  - {{id: a, task: '{{{{partition}}}}', partitions: [{}]}}\n",
        partitions.join(", ")
    ));
    assert_eq!(known(&wide, "agent_count"), json!(10_000));
}

#[test]
fn in_sequence_each_partition_has_its_turn() {
    let plan = plan(
        "mode: sequential\nagents:\n  - {id: late, task: t, depends_on: [p]}\n  - {id: p, task: '{{ partition }}', partitions: [x, y]}\n  - {id: z, task: t}\n",
    );
    assert_eq!(known(&plan, "waves"), json!([["p:x"], ["p:y"], ["late"], ["z"]]));
    assert_eq!(
        (known(&plan, "critical_path_length"), known(&plan, "parallelism_ratio")),
        (json!(4), json!(1.0))
    );
}

#[test]
fn partitions_count_as_agents_of_a_batch() {
    let plan = plan(
        "barrier: true\nbatch_size: 2\nagents:\n  - {id: a, task: t}\n  - {id: p, task: '{{ partition }}', partitions: [x, y, z]}\n  - {id: q, task: '{{ partition }}', partitions: [u, v]}\n",
    );
    assert_eq!(known(&plan, "waves"), json!([["a"], ["p:x", "p:y"], ["p:z"], ["q:u", "q:v"]]));
    let Kind::ForEach(fan_out) = &node(&plan, "p").kind else { panic!("a fan-out") };
    assert!(fan_out.in_batches && fan_out.max_concurrent == 2);
    assert_eq!(needs(&plan, "q"), [("p".to_owned(), Requires::Any)]);
}

#[test]
fn partitions_by_path_are_names_and_are_counted_at_run_time() {
    let plan = plan(
        "inputs: {topics: {type: array}}\nagents:\n  - {id: a, task: '{{ partition }}', partitions: workflow.input.topics}\n  - {id: b, task: t}\n",
    );
    let Kind::ForEach(fan_out) = &node(&plan, "a").kind else { panic!("a fan-out") };
    assert!(fan_out.named);
    let given = |topics: Value| {
        let given = [("topics".to_owned(), convoke_plan::compile::GivenInput::Json(topics))];
        convoke_plan::compile::check_inputs(plan.root(), &given).map_err(|errors| errors[0].message.clone())
    };
    assert!(given(json!(["x", "y"])).is_ok());
    assert!(given(json!([])).unwrap_err().contains("empty"));
    assert!(given(json!(["x", "y", "x"])).unwrap_err().contains("twice"));
    assert!(given(json!(["x", " "])).unwrap_err().contains("empty text"));
    let text = compiled(
        "inputs: {topics: {type: string}}\nagents:\n  - {id: a, task: '{{ partition }}', partitions: workflow.input.topics}\n",
    );
    assert_eq!(errors(&text), [("workflow::wrong_type", 3)], "{}", shown(&text));
}

/// How long this thread has computed, whatever else the machine does.
fn computed() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    std::time::Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[test]
fn ten_thousands_of_partitions_are_read_in_linear_time() {
    let manifest = |count: usize| {
        let listed: Vec<String> = (0..count).map(|number| format!("p{number}")).collect();
        format!("agents:\n  - {{id: a, task: '{{{{ partition }}}}', partitions: [{}]}}\n", listed.join(", "))
    };
    let time = |count: usize| {
        let text = manifest(count);
        let begun = computed();
        assert_eq!(known(&plan(&text), "agent_count"), json!(count));
        computed() - begun
    };
    // The least of three: what this thread computes takes longer on a busy machine too, if less so.
    let least = |count: usize| (0..3).map(|_| time(count)).min().expect("three");
    let (few, many) = (least(5_000), least(40_000));
    assert!(many < few * 30, "8 times as many took {many:?} after {few:?}");
}

#[test]
fn a_quorum_larger_than_the_partitions_is_an_error() {
    let found = compiled(
        "agents:\n  - {id: h, task: '{{ partition }}', partitions: [x], failure_mode: quorum, min: 3}\n  - {id: e, task: t}\n",
    );
    assert_eq!(errors(&found), [("workflow::out_of_range", 2)], "{}", shown(&found));
}
