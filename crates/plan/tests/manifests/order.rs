//! Which agent waits for which: levels, modes, barriers, batches, partitions.

use crate::manifests::kit::{agent, agents, known, needs, node, plan, reduce, successes};
use convoke_plan::*;
use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};
use serde_json::json;

#[test]
fn pe_1_levels_critical_path_and_ratio() {
    let plan = plan(
        "query: q\nagents:\n  - {id: a}\n  - {id: b, depends_on: [a]}\n  - {id: c, depends_on: [b]}\n  - {id: d}\n  - {id: e}\n",
    );
    assert_eq!(known(&plan, "waves"), json!([["a", "d", "e"], ["b"], ["c"]]));
    assert_eq!(known(&plan, "critical_path_length"), json!(3));
    assert_eq!(known(&plan, "parallelism_ratio"), json!(1.67));
    assert_eq!(known(&plan, "mode"), json!("wave"));
    assert_eq!(needs(&plan, "b"), successes(&["a"]));
}

#[test]
fn pe_2_and_3_independent_agents_and_a_diamond() {
    let six = plan(&agents(6));
    assert_eq!(known(&six, "critical_path_length"), json!(1));
    let diamond = plan(
        "agents:\n  - {id: a, task: t}\n  - {id: b, task: t, depends_on: a}\n  - {id: c, task: t, depends_on: [a]}\n  - {id: d, task: t, depends_on: [b, c]}\n",
    );
    assert_eq!(known(&diamond, "waves"), json!([["a"], ["b", "c"], ["d"]]));
    assert_eq!(needs(&diamond, "d"), successes(&["b", "c"]));
}

#[test]
fn auto_chooses_mode_and_strategy_by_number_and_dependencies() {
    let cases = [
        (1, "sequential", Strategy::Flat),
        (2, "parallel", Strategy::Flat),
        (5, "parallel", Strategy::Flat),
        (6, "wave", Strategy::Flat),
        (10, "wave", Strategy::Flat),
        (11, "wave", Strategy::Hierarchical),
        (50, "wave", Strategy::Hierarchical),
        (51, "wave", Strategy::Rlm),
    ];
    for (count, mode, strategy) in cases {
        let plan = plan(&agents(count));
        assert_eq!((known(&plan, "mode"), reduce(&plan).strategy), (json!(mode), strategy), "{count}");
    }
    let with = plan("agents:\n  - {id: a, task: t}\n  - {id: b, task: t, depends_on: [a]}\n");
    assert_eq!((known(&with, "mode"), reduce(&with).strategy), (json!("wave"), Strategy::Flat));
    let partitions: Vec<String> = (0..12).map(|number| format!("p{number}")).collect();
    let fanned = plan(&format!(
        "agents:\n  - {{id: a, task: '{{{{partition}}}}', partitions: [{}]}}\n",
        partitions.join(", ")
    ));
    assert_eq!(
        (known(&fanned, "agent_count"), reduce(&fanned).strategy),
        (json!(12), Strategy::Hierarchical)
    );
}

#[test]
fn sequential_mode_follows_dependencies_and_then_the_file() {
    let plan = plan(
        "mode: sequential\nagents:\n  - {id: c, task: t, depends_on: [a]}\n  - {id: a, task: t}\n  - {id: b, task: t}\n",
    );
    assert_eq!(known(&plan, "waves"), json!([["a"], ["c"], ["b"]]));
    assert_eq!(needs(&plan, "c"), successes(&["a"]));
    assert_eq!(needs(&plan, "b"), [("c".to_owned(), Requires::Any)]);
    assert!(agent(&plan, "b").dependency_outputs.is_none(), "order alone passes nothing on");
    assert!(node(&plan, "b").needs[0].order && !node(&plan, "c").needs[0].order);
}

#[test]
fn a_barrier_holds_levels_and_batches_apart() {
    let text = "barrier: true\nbatch_size: 2\nagents:\n  - {id: a, task: t}\n  - {id: b, task: t}\n  - {id: c, task: t}\n  - {id: d, task: t, depends_on: [a]}\n";
    let plan = plan(text);
    assert_eq!(known(&plan, "waves"), json!([["a", "b"], ["c"], ["d"]]));
    assert_eq!(needs(&plan, "c"), [("a".to_owned(), Requires::Any), ("b".to_owned(), Requires::Any)]);
    assert_eq!(needs(&plan, "d"), [("a".to_owned(), Requires::Success), ("c".to_owned(), Requires::Any)]);
    let free = self::plan(&text.replace("barrier: true\n", ""));
    assert!(needs(&free, "c").is_empty(), "without a barrier a batch is only a word");
}

proptest! {
    /// Whatever the order of the file: no agent stands on the level of something it waits for, or before it.
    #[test]
    fn levels_respect_dependencies(edges in prop::collection::vec((0usize..12, 0usize..12), 0..30), by in 1usize..12) {
        // A number that is coprime to 13 makes an order of 12 names that has nothing to do with the edges.
        let place = |number: usize| (number + 1) * by % 13;
        let mut lines: Vec<(usize, String)> = (0..12).map(|number| {
            let before: Vec<String> = edges.iter().filter(|(from, to)| *to == number && from < to).map(|(from, _)| format!("a{from}")).collect();
            (place(number), format!("  - {{id: a{number}, task: t, depends_on: [{}]}}\n", before.join(", ")))
        }).collect();
        lines.sort();
        let text: String = lines.into_iter().map(|(_, line)| line).collect();
        let plan = plan(&format!("agents:\n{text}"));
        let waves = known(&plan, "waves");
        let level = |number: usize| waves.as_array().unwrap().iter().position(|wave| wave.as_array().unwrap().contains(&json!(format!("a{number}"))));
        for (from, to) in edges.iter().filter(|(from, to)| from < to) {
            prop_assert!(level(*from) < level(*to));
        }
        prop_assert_eq!(waves.as_array().unwrap().iter().map(|wave| wave.as_array().unwrap().len()).sum::<usize>(), 12);
    }
}
