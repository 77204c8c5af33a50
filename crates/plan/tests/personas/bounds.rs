//! Bounds of the manifest and of the process.

use crate::personas::kit::{phase, piped};
use crate::personas::world::World;
use convoke_plan::Plan;
use convoke_plan::compile::{Caps, Options};

#[test]
fn the_least_bound_wins() {
    let text = piped(
        "topologyConstraints: {maxDepth: 9, maxRetries: 9}\n",
        &["a constraints: {maxRetries: 7}", "b"],
        &["from: a, to: b"],
    );
    let tries = |retries: u32, name: &str| {
        let caps = Caps { topology_retries: retries, concurrent: Some(2), ..Caps::default() };
        let options = Options { caps, ..Options::default() };
        let plan = World::default().file("main.yaml", &text).compile_with(&options).plan.unwrap();
        assert_eq!(plan.root().limits.max_concurrency, Some(2));
        phase(plan.root(), name).max_tries
    };
    assert_eq!((tries(5, "a"), tries(8, "a"), tries(20, "a")), (6, 8, 8));
    assert_eq!((tries(20, "b"), tries(0, "b")), (10, 1));
}

#[test]
fn a_plan_under_the_bounds_of_another_process_is_the_one_compiled_there() {
    let text = piped(
        "topologyConstraints: {maxDepth: 9, maxRetries: 9}\nrelationships: [{parentPersonaId: lead, childPersonaId: coder, constraints: {maxDepth: 5, maxChildren: 6}}]\n",
        &["a constraints: {maxRetries: 7}", "b"],
        &["from: a, to: b"],
    );
    let compiled = |caps: Caps| {
        let options = Options { caps, ..Options::default() };
        World::default().file("main.yaml", &text).compile_with(&options).plan.unwrap()
    };
    let violation = Some(convoke_model::Violation::HardAbort);
    let wide = Caps {
        recursive_depth: 8,
        topology_depth: 8,
        topology_retries: 8,
        relationship_children: 8,
        concurrent: Some(8),
        violation: Some(convoke_model::Violation::ValidationFail),
    };
    let tight = Caps {
        recursive_depth: 2,
        topology_depth: 3,
        topology_retries: 1,
        relationship_children: 2,
        concurrent: Some(3),
        violation,
    };
    let bounds = |plan: &Plan| {
        let (root, a) = (plan.root(), phase(plan.root(), "a"));
        let role = (a.children[0].max_depth, a.children[0].max_children);
        let violation = root.pipeline.as_ref().unwrap().violation;
        (a.max_tries, a.max_depth, role, root.limits.max_concurrency, violation)
    };
    let (mut resumed, there) = (compiled(wide), compiled(tight));
    let hashes = |plan: &Plan| plan.root().nodes.iter().map(|node| node.hash).collect::<Vec<_>>();
    assert_eq!(hashes(&resumed), hashes(&there), "what was done is as good under other bounds");
    assert_ne!(bounds(&resumed), bounds(&there));
    resumed.bound_by(&tight);
    assert_eq!(bounds(&resumed), bounds(&there));
    resumed.bound_by(&wide);
    assert_eq!(bounds(&resumed), bounds(&there), "what was bound once is not loosened");
}

#[test]
fn what_the_process_does_not_grant_is_told_with_the_plan() {
    let text = piped(
        "name: team\nviolationMode: validation_fail\nlimits: {max_concurrency: 8}\ntopologyConstraints: {maxDepth: 9, maxRetries: 9}\nrelationships: [{parentPersonaId: lead, childPersonaId: coder, constraints: {maxDepth: 5, maxChildren: 6}}]\n",
        &[
            "a constraints: {maxRetries: 7}",
            "b constraints: {maxRetries: 7}",
            "c constraints: {maxRetries: 1}",
        ],
        &["from: a, to: b", "from: b, to: c"],
    );
    let plan = |caps: Caps| {
        let options = Options { caps, ..Options::default() };
        World::default().file("main.yaml", &text).compile_with(&options).plan.unwrap()
    };
    let told = |plan: &Plan| plan.bounds_cut().collect::<Vec<_>>();
    let wide = Caps {
        recursive_depth: 9,
        topology_depth: 9,
        topology_retries: 9,
        relationship_children: 9,
        concurrent: Some(9),
        violation: None,
    };
    let tight = Caps {
        recursive_depth: 4,
        topology_retries: 2,
        relationship_children: 2,
        concurrent: Some(3),
        violation: Some(convoke_model::Violation::HardAbort),
        ..wide
    };
    let mut resumed = plan(wide);
    assert_eq!(told(&resumed), Vec::<String>::new());
    let expected = [
        "pipeline `team`: `maxRetries` is 2 instead of 7 (a, b): the process allows no more",
        "pipeline `team`: `topologyConstraints.maxDepth` is 4 instead of 9: the process allows no more",
        "pipeline `team`: `maxDepth` is 4 instead of 5 (coder): the process allows no more",
        "pipeline `team`: `maxChildren` is 2 instead of 6 (coder): the process allows no more",
        "pipeline `team`: `limits.max_concurrency` is 3 instead of 8: the process allows no more",
        "pipeline `team`: `violationMode` is hard_abort instead of validation_fail: the process says so",
    ];
    assert_eq!(told(&plan(tight)), expected);
    resumed.bound_by(&tight);
    assert_eq!(told(&resumed), expected);
    resumed.bound_by(&tight);
    assert_eq!(told(&resumed), expected, "what was cut is not cut again");
    let mut free =
        World::default().file("main.yaml", &piped("name: free\n", &["a"], &[])).compile().plan.unwrap();
    free.bound_by(&Caps::default());
    assert_eq!(told(&free), Vec::<String>::new(), "a process without a bound of its own takes nothing");
    free.bound_by(&Caps { concurrent: Some(2), ..Caps::default() });
    let limited = "pipeline `free`: `limits.max_concurrency` is 2: the process allows no more";
    assert_eq!(told(&free), [limited], "a run that was started without");
}
