//! Names: of steps, of what they need and of where routes lead.

use crate::checks::kit::hold;

#[test]
fn names_lead_somewhere() {
    hold(&[
        (
            "entry point",
            "
workflow: {name: w, entry_point: start}
agents:
  - {name: begin, prompt: x}
",
            &[("workflow::unknown_entry_point", 1)],
        ),
        (
            "route",
            "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    prompt: x
    routes:
      - {to: b, when: 'output.x'}
      - {to: $end}
",
            &[("workflow::unknown_route_target", 6)],
        ),
        (
            "gate option",
            "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    type: human_gate
    prompt: ok?
    options:
      - {label: Yes, value: y, route: publsh}
      - {label: No, value: n, route: $end}
",
            &[("workflow::unknown_route_target", 7)],
        ),
        (
            "abort",
            "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    type: questions
    questions: [{text: why}]
    allow_abort: true
    abort_route: nowhere
",
            &[("workflow::unknown_route_target", 7)],
        ),
        (
            "need",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x, needs: [aa]}
",
            &[("workflow::unknown_dependency", 4)],
        ),
        (
            "error route",
            "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    prompt: x
    on_error: [{class: any, to: rescue}]
",
            &[("workflow::unknown_route_target", 5)],
        ),
        (
            "member",
            "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, bb]}
agents:
  - {name: a, prompt: x}
",
            &[("workflow::unknown_member", 3)],
        ),
        (
            "run",
            "
workflow: {name: w, entry_point: g}
for_each:
  - {name: g, type: for_each, source: workflow.input.items, as: it, run: body}
agents:
  - {name: a, prompt: x}
",
            &[("workflow::unknown_member", 3)],
        ),
        (
            "no entry point",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
",
            &[("workflow::missing_key", 1)],
        ),
        (
            "hook",
            "
workflow:
  name: w
  entry_point: a
  hooks: {on_complete: {run: tidy}}
agents:
  - {name: a, prompt: x}
",
            &[("workflow::unknown_hook_step", 4)],
        ),
    ]);
}

#[test]
fn names_are_unique() {
    hold(&[
        ("two steps", "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: x}
  - {name: a, prompt: y}
", &[("workflow::duplicate_name", 4)]),
        ("an inline agent with the name of another group", "
workflow: {name: w, entry_point: g}
for_each:
  - {name: g, type: for_each, source: workflow.input.a, as: it, agent: {name: h, prompt: x}, routes: [{to: h}]}
  - {name: h, type: for_each, source: workflow.input.b, as: it, agent: {name: i, prompt: x}}
agents: []
", &[("workflow::duplicate_name", 3)]),
        ("inline agents may share a name", "
workflow: {name: w, entry_point: g}
for_each:
  - {name: g, type: for_each, source: workflow.input.a, as: it, agent: {name: do, prompt: x}, routes: [{to: h}]}
  - {name: h, type: for_each, source: workflow.input.b, as: it, agent: {name: do, prompt: x}}
agents: []
", &[]),
        ("member twice", "
workflow: {name: w, entry_point: g}
parallel:
  - name: g
    agents:
      - a
      - a
agents:
  - {name: a, prompt: x}
", &[("workflow::duplicate_member", 6)]),
    ]);
}

#[test]
fn needs_form_no_circle_and_meet_no_route() {
    hold(&[
        (
            "circle",
            "
workflow: {name: w}
agents:
  - {name: start, prompt: x}
  - {name: a, prompt: x, needs: [c, start]}
  - {name: b, prompt: x, needs: [a]}
  - {name: c, prompt: x, needs: [b]}
",
            &[("workflow::dependency_cycle", 4)],
        ),
        (
            "itself",
            "
workflow: {name: w, entry_point: b}
agents:
  - {name: a, prompt: x, needs: [a]}
  - {name: b, prompt: x}
",
            &[("workflow::unreachable", 3), ("workflow::dependency_cycle", 3)],
        ),
        (
            "route into needs",
            "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: x, routes: [{to: b}]}
  - {name: b, prompt: x, needs: [a]}
",
            &[("workflow::route_into_needs", 3)],
        ),
        (
            "need on a loop",
            "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: x, routes: [{to: b}]}
  - {name: b, prompt: x, routes: [{to: a, when: 'output.again'}, {to: $end}]}
  - {name: c, prompt: x, needs: [b]}
",
            &[("workflow::need_on_loop", 5)],
        ),
        (
            "across groups",
            "
workflow: {name: w, entry_point: [g, o]}
parallel:
  - {name: g, agents: [a, b]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x, needs: [a]}
  - {name: o, prompt: x}
  - {name: c, prompt: x, needs: [a]}
",
            &[("workflow::needs_across_groups", 8)],
        ),
        (
            "quorum of needs",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x, needs: [a], join: {quorum: 2}}
",
            &[("workflow::quorum_too_large", 4)],
        ),
        (
            "a plain graph",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
  - {name: c, prompt: '{{ a.output.r }} {{ b.output.r }}', needs: [a, {step: b, requires: completed}]}
output: {r: '{{ c.output.r }}'}
",
            &[],
        ),
    ]);
}

#[test]
fn members_have_no_routes() {
    hold(&[
        (
            "step",
            "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b]}
agents:
  - {name: a, prompt: x}
  - name: b
    prompt: x
    routes:
      - to: $end
",
            &[("workflow::member_route", 8)],
        ),
        (
            "gate in a group",
            "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b]}
agents:
  - {name: a, prompt: x}
  - name: b
    type: human_gate
    prompt: ok?
    options:
      - {label: Yes, value: y, route: $end}
      - {label: No, value: n}
",
            &[("workflow::member_route", 10)],
        ),
        (
            "gate outside a group",
            "
workflow: {name: w, entry_point: b}
agents:
  - name: b
    type: human_gate
    prompt: ok?
    options:
      - {label: Yes, value: y, route: $end}
      - {label: No, value: n}
",
            &[("workflow::gate_without_route", 8)],
        ),
        (
            "inline",
            "
workflow: {name: w, entry_point: g}
for_each:
  - name: g
    type: for_each
    source: workflow.input.items
    as: it
    agent:
      name: w
      prompt: x
      routes:
        - to: $end
agents: []
",
            &[("workflow::member_route", 10)],
        ),
        (
            "groups in each other",
            "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, h]}
  - {name: h, agents: [b, g]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
",
            &[("workflow::member_also_routed", 1), ("workflow::circular_group", 3)],
        ),
        (
            "quorum of members",
            "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b], failure_mode: quorum, min: 3}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
",
            &[("workflow::quorum_too_large", 3)],
        ),
        (
            "more members than iterations",
            "
workflow:
  name: w
  entry_point: g
  limits: {max_iterations: 1}
parallel:
  - {name: g, agents: [a, b]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
",
            &[("workflow::limit_too_small", 4)],
        ),
        (
            "a part that may spend more than the whole",
            "workflow:\n  name: w\n  entry_point: a\n  limits: {budget_usd: 1, budget_mode: enforce}\nagents:\n  - {name: a, prompt: x, budget: {usd: 2}}\n",
            &[("workflow::out_of_range", 6)],
        ),
        (
            "loop variable",
            "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: x, routes: [{to: g}]}
for_each:
  - name: g
    type: for_each
    source: a.output.items
    as: a
    agent: {name: w, prompt: '{{ a }}'}
",
            &[("workflow::shadowed_step", 8)],
        ),
        (
            "nested groups",
            "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, each]}
for_each:
  - {name: each, type: for_each, source: workflow.input.items, as: it, run: b}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: '{{ it }} {{ _index }}'}
output: {r: '{{ g.outputs.each.outputs | json }}'}
",
            &[],
        ),
    ]);
}
