//! What routes do besides leading on.

use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::json;
use std::time::Duration;

#[test]
fn only_a_route_to_the_end_adds_to_the_output() {
    let text = "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, type: set, value: '1', routes: [{to: b, output: {lost: '{{ output }}'}}]}
  - {name: b, type: set, value: '2', routes: [{to: $end, output: {added: '{{ output }}'}}]}
output: {declared: '{{ b.output }}'}
";
    let script = |_: &convoke_model::Assignment| Behaviour::gives(Duration::ZERO, json!({}));
    let mut world = World::new(plan_of(text, &[]), json!({}), 1, 1, Box::new(script));
    assert_eq!(world.finish().output, Some(json!({"declared": 2, "added": 2})));
}
