//! How many may wait at once for permits, and who is refused.

mod support;

use support::World;

#[test]
fn what_can_start_at_once_does_not_count_as_waiting() {
    let run = |items: u32| {
        let world = World::with_workflow(&format!(
            "workflow: {{name: w, entry_point: items}}
agents:
  - {{name: items, type: set, values: {{list: '{{{{ range({items}) | list | tojson }}}}'}}, routes: [{{to: all}}]}}
for_each:
  - {{name: all, type: for_each, source: items.output.list, as: item, max_concurrent: 50, agent: {{name: one, type: script, command: 'true'}}}}
"
        ));
        world.write("convoke.toml", "[run]\nmax_concurrency = 4\n[limits]\nqueue = 2\n");
        world.convoke(&["run", "w.yaml"])
    };
    run(6).exits(0);
    run(7).exits(1).mentions(&["cannot start", "2"]);
}
