//! What tests of runs that go on from a history share: two workflows, and the continuation itself.

use convoke_model::{Assignment, Event, Stamped};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, World};
use std::sync::Arc;

pub const GRAPH: &str = "
workflow: {name: w}
agents:
  - {name: a, prompt: a}
  - {name: b, prompt: 'b {{ a.output.said }}', needs: [a]}
  - {name: c, prompt: c}
  - {name: d, prompt: 'd {{ b.output.said }} {{ c.output.said }}', needs: [b, c]}
output: {all: '{{ d.output.said }}'}
";

pub const GROUPS: &str = "
workflow: {name: w, entry_point: each, input: {items: {type: array}}}
for_each:
  - {name: each, type: for_each, source: workflow.input.items, as: it, agent: {name: a, prompt: 'item {{ it }}'}, routes: [{to: g}]}
parallel: [{name: g, agents: [left, right], routes: [{to: last}]}]
agents:
  - {name: left, prompt: 'left {{ each.count }}'}
  - {name: right, prompt: 'right {{ each.outputs[0].said }}'}
  - {name: last, prompt: 'last {{ g.outputs.left.said }} {{ g.outputs.right.said }}'}
output: {all: '{{ last.output.said }}'}
";

/// The world of a run that goes on from its history with these events.
pub fn continued(
    plan: &Arc<Plan>,
    history: Vec<Stamped>,
    opening: Vec<Event>,
    base: &World,
    behave: Box<dyn FnMut(&Assignment) -> Behaviour>,
) -> World {
    let last = history.last().expect("it has begun");
    let (seq, at) = (last.seq, last.at);
    let opened = (seq + 1..).zip(opening).map(|(seq, event)| Stamped { seq, at, event }).collect();
    World::resumed(plan.clone(), 2, vec![history, opened], base, behave)
}
