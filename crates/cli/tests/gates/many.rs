//! Many gates open at once, answered in random order by several processes: each answer reaches exactly its gate.

use crate::support::World;
use crate::support::journal::Events;
use serde_json::json;
use std::collections::BTreeMap;

/// Gates unless told otherwise; `CONVOKE_GATES=400` is the long version.
const GATES: usize = 24;

#[test]
fn each_answer_reaches_exactly_its_gate() {
    let count = std::env::var("CONVOKE_GATES").ok().map_or(GATES, |text| text.parse().expect("a number"));
    let items: Vec<String> = (0..count).map(|item| item.to_string()).collect();
    let world = World::with_workflow(&format!(
        "
workflow: {{name: w, entry_point: each, limits: {{max_iterations: 10000}}}}
for_each:
  - {{name: each, type: for_each, items: [{}], as: it, agent: {{name: g, type: human_gate, prompt: 'item {{{{ it }}}}?', options: [{{label: Y, value: y, prompt_for: note}}]}}}}
agents: []
output: {{all: '{{{{ each.outputs | map(attribute=\"additional_input\") | map(attribute=\"note\") | list | json }}}}'}}
",
        items.join(", ")
    ));
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    let mut gates: Vec<(usize, String, String)> = world
        .convoke(&["answer", &run, "--format", "json"])
        .exits(0)
        .json()
        .as_array()
        .expect("a list")
        .iter()
        .map(|gate| {
            let id = gate["gate"].as_str().expect("an id").to_owned();
            let item = id["each[".len()..id.find(']').expect("an item")].parse().expect("a number");
            (item, id, gate["shown"].as_str().expect("a hash").to_owned())
        })
        .collect();
    assert_eq!(gates.len(), count);
    // Any order but that of the items, the same in every run of the test.
    gates.sort_by_key(|(item, _, _)| (item * 7919 + 13) % 104_729);
    std::thread::scope(|scope| {
        for people in gates.chunks(count.div_ceil(4)) {
            let (world, run) = (&world, &run);
            scope.spawn(move || {
                for (item, gate, shown) in people {
                    let note = format!("note=for {item}");
                    world.convoke(&["answer", run, gate, "y", "--input", &note, "--shown", shown]).exits(0);
                    world.convoke(&["answer", run, gate, "y", "--input", &note, "--shown", shown]).exits(20);
                }
            });
        }
    });
    let said = world.convoke(&["resume", &run]).exits(0).json();
    let expected: Vec<String> = (0..count).map(|item| format!("for {item}")).collect();
    assert_eq!(said["all"], json!(expected));
    let mut answered: BTreeMap<String, usize> = BTreeMap::new();
    for event in Events::of(&world, &run).0 {
        if let Some(body) = event["event"].get("gate_answered") {
            *answered.entry(body["task"].as_str().expect("a task").to_owned()).or_default() += 1;
        }
    }
    assert_eq!((answered.len(), answered.values().max()), (count, Some(&1)));
}
