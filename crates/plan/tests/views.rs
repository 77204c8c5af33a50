//! Levels, critical path and drawings.

use crate::world;

use convoke_plan::Plan;
use convoke_plan::view::{Levels, dot, levels, mermaid};
use std::collections::BTreeMap;
use world::{compiled, shown};

fn plan(text: &str) -> Plan {
    let result = compiled(text);
    let found = shown(&result);
    result.plan.unwrap_or_else(|| panic!("no plan:{found}"))
}

fn view(text: &str) -> Levels {
    let plan = plan(text);
    levels(&plan, plan.root(), &BTreeMap::new())
}

const DIAMOND: &str = "workflow: {name: w}\nagents:\n  - {name: a, prompt: x}\n  - {name: b, prompt: x, needs: [a]}\n  - {name: c, prompt: x, needs: [a]}\n  - {name: d, prompt: x, needs: [b, c]}\n";

#[test]
fn a_diamond_has_three_levels() {
    let view = view(DIAMOND);
    assert_eq!(view.levels, [vec!["a"], vec!["b", "c"], vec!["d"]]);
    assert_eq!(view.critical_path.len(), 3);
    assert_eq!((view.work, view.critical_length), (4.0, 3.0));
    assert_eq!(view.nodes[3].after, ["b", "c"]);
}

#[test]
fn estimates_move_the_critical_path() {
    let plan = plan(DIAMOND);
    let view = levels(&plan, plan.root(), &BTreeMap::from([("c".to_owned(), 7.0)]));
    assert_eq!(view.critical_path, ["a", "c", "d"]);
    assert_eq!(view.critical_length, 9.0);
}

#[test]
fn a_loop_counts_as_one_round() {
    let view = view(
        "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: x, routes: [{to: b}]}\n  - {name: b, prompt: x, routes: [{to: a, when: 'output.again'}, {to: c}]}\n  - {name: c, prompt: x}\n",
    );
    assert_eq!(view.levels, [vec!["a"], vec!["b"], vec!["c"]]);
    assert_eq!(view.parallelism, 1.0);
}

#[test]
fn members_lie_beside_each_other_and_followers_behind_the_last() {
    let view = view(
        "workflow: {name: w, entry_point: g}\nparallel:\n  - {name: g, agents: [a, b, each], routes: [{to: z}]}\nfor_each:\n  - {name: each, type: for_each, source: workflow.input.i, as: it, agent: {name: body, prompt: x}}\nagents:\n  - {name: a, prompt: x}\n  - {name: b, prompt: x, needs: [a]}\n  - {name: z, prompt: x}\n",
    );
    assert_eq!(view.levels, [vec!["a", "body"], vec!["b"], vec!["z"]]);
    assert_eq!(view.critical_path, ["a", "b", "z"]);
}

#[test]
fn a_body_with_the_name_of_its_fan_out_is_named_once() {
    let text = "workflow: {name: w}\nfor_each:\n  - {name: d, type: for_each, source: workflow.input.i, as: it, agent: {name: d, prompt: x}}\nagents:\n  - {name: z, prompt: x, needs: [d]}\n";
    let view = view(text);
    assert_eq!(view.levels, [vec!["d"], vec!["z"]]);
    assert_eq!(view.critical_path, ["d", "z"]);
    let plan = plan(text);
    for drawing in [dot(&plan), mermaid(&plan)] {
        assert!(drawing.contains("\"d\"") && !drawing.contains("d.d"), "{drawing}");
    }
}

#[test]
fn drawings_show_every_node_and_edge() {
    let plan = plan(
        "workflow: {name: w, entry_point: g}\nparallel:\n  - {name: g, agents: [a, b], routes: [{to: ask, when: 'errors'}, {to: $end}]}\nagents:\n  - {name: a, prompt: x}\n  - {name: b, prompt: x}\n  - name: ask\n    type: human_gate\n    prompt: ok?\n    options: [{label: 'say \"yes\"', value: y, route: g}, {label: No, value: n, route: $end}]\n",
    );
    let expected = "flowchart TD
  n2{{\"ask (human_gate)\"}}
  subgraph n3 [\"g (parallel)\"]
    n0[\"a\"]
    n1[\"b\"]
  end
  n2 -->|\"say &quot;yes&quot;\"| n3
  n2 -->|\"No\"| finish
  n3 -->|\"errors\"| n2
  n3 --> finish
  finish([end])
";
    assert_eq!(mermaid(&plan), expected);
    let dot = dot(&plan);
    assert!(dot.starts_with("digraph \"w\" {") && dot.ends_with("}\n"));
    assert!(dot.contains("n2 -> n3 [style=solid, label=\"say \\\"yes\\\"\"];"), "{dot}");
    assert!(dot.contains("n3 -> n0 [style=dotted, arrowhead=none];"), "{dot}");
}
