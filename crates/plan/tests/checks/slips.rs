//! Slips: what still runs is a warning, what is less usual is found too.

use crate::checks::kit::hold;

#[test]
fn oddities_are_warned_of() {
    hold(&[
        (
            "dead route",
            "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    prompt: x
    routes:
      - {to: $end}
      - {to: b, when: 'output.x'}
  - {name: b, prompt: y}
",
            &[("workflow::dead_route", 7)],
        ),
        (
            "no catch-all",
            "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    prompt: x
    routes:
      - {to: $end, when: 'output.x'}
",
            &[("workflow::no_catch_all", 6)],
        ),
        (
            "empty prompt",
            "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    system_prompt: x
",
            &[("workflow::empty_prompt", 3)],
        ),
        (
            "field that no schema declares",
            "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    prompt: x
    output: {score: {type: number}, deep: {type: object, properties: {x: {type: string}}}}
    routes:
      - {to: b, when: 'scor > 3'}
      - {to: b, when: 'output.scores > 3 or output_score > 2 or score > 1'}
      - {to: b}
  - name: b
    prompt: '{{ a.output.score }} {{ a.output.scre }} {{ a.output.deep.y }} {{ a.output.items() }}'
",
            &[
                ("workflow::undeclared_field", 7),
                ("workflow::undeclared_field", 8),
                ("workflow::undeclared_field", 11),
                ("workflow::undeclared_field", 11),
            ],
        ),
        (
            "output that may be skipped",
            "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: x, routes: [{to: b, when: 'output.deep'}, {to: c, when: 'output.wide'}, {to: $end}]}
  - {name: b, prompt: x}
  - {name: c, prompt: x}
output:
  a: '{{ a.output.r }}'
  b: '{{ b.output.r }}'
  c: '{{ b.output.r if b is defined else none }}'
  d: '{% if c is defined %}{{ c.output.r }}{% else %}{{ b.output.r }}{% endif %}'
",
            &[("workflow::may_be_skipped", 8)],
        ),
        (
            "explicit mode",
            "
workflow: {name: w, entry_point: a, context: {mode: explicit}}
agents:
  - {name: a, prompt: x, routes: [{to: b}]}
  - name: b
    input: [a.output.x]
    prompt: '{{ a.output.x }} {{ a.output.y }} {{ workflow.input.k }}'
",
            &[("workflow::not_in_input", 6), ("workflow::not_in_input", 6)],
        ),
        (
            "other vendors' keys",
            "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    prompt: x
    session_key: s
    context_tier: long_context
",
            &[("workflow::no_effect", 5), ("workflow::no_effect", 6)],
        ),
        (
            "tools",
            "
workflow: {name: w, entry_point: a}
tools: [read, write]
agents:
  - name: a
    prompt: x
    tools: [read, wriet]
",
            &[("workflow::no_effect", 2), ("workflow::unknown_tool", 6)],
        ),
    ]);
}

#[test]
fn less_usual_slips_are_found() {
    hold(&[
        (
            "last_only hides what is further back",
            "
workflow: {name: w, entry_point: a, context: {mode: last_only}}
agents:
  - {name: a, prompt: x, routes: [{to: b}]}
  - {name: b, prompt: '{{ a.output.x }}', routes: [{to: c}]}
  - {name: c, prompt: '{{ a.output.x }}'}
",
            &[("workflow::never_before", 5)],
        ),
        (
            "explicit mode names something that comes later",
            "
workflow: {name: w, entry_point: a, context: {mode: explicit}}
agents:
  - {name: a, prompt: x, input: [b.output, 'c.output?'], routes: [{to: b}]}
  - {name: b, prompt: x, routes: [{to: c}]}
  - {name: c, prompt: x}
",
            &[("workflow::never_before", 3)],
        ),
        (
            "a name with a dash",
            "
workflow: {name: w, entry_point: my-step}
agents:
  - {name: my-step, prompt: x, routes: [{to: b}]}
  - {name: b, prompt: '{{ my-step.output.x }}'}
",
            &[("workflow::unknown_reference", 4), ("workflow::unknown_reference", 4)],
        ),
        (
            "keys of the workflow",
            "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: '{{ workflow.inputs.x }} {{ workflow.dir }}'}
",
            &[("workflow::undeclared_field", 3)],
        ),
        (
            "a reserved name",
            "
workflow: {name: w, entry_point: context}
agents:
  - {name: context, prompt: x}
",
            &[("workflow::reserved_name", 3)],
        ),
        (
            "a group that refers to itself by its output",
            "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b], routes: [{to: c}]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
  - {name: c, prompt: '{{ g.output.a }} {{ g.outputs.x }} {{ g.outputs.a.anything }}'}
",
            &[("workflow::undeclared_field", 7), ("workflow::undeclared_field", 7)],
        ),
    ]);
}
