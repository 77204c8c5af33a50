//! What templates refer to, and texts that cannot be read.

use crate::checks::kit::hold;

#[test]
fn references_name_what_can_have_run() {
    hold(&[
        ("unknown", "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    prompt: |
      First line.
      Then {{ reserch.output.text }} here.
", &[("workflow::unknown_reference", 6)]),
        ("guarded", "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: '{{ b.output.x if b is defined else 1 }} {{ b.output.x | default(1) }}'}
  - {name: b, prompt: x, routes: [{to: $end}]}
", &[("workflow::unreachable", 4)]),
        ("later", "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: '{{ b.output.x }}', routes: [{to: b}]}
  - {name: b, prompt: x}
", &[("workflow::never_before", 3)]),
        ("itself", "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: '{{ a.output.x }}'}
", &[("workflow::never_before", 3)]),
        ("on a loop", "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: '{{ b.output.x }} {{ a.output.x }}', routes: [{to: b}]}
  - {name: b, prompt: x, routes: [{to: a, when: 'output.n < 3'}, {to: $end}]}
", &[]),
        ("own output in routes", "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    prompt: x
    routes:
      - {to: $end, when: \"{{ a.output.ok and output.ok }}\", output: {r: '{{ output.x }}'}}
      - {to: $end}
", &[]),
        ("member from outside", "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b], routes: [{to: c}]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
  - {name: c, prompt: '{{ a.output.x }} {{ g.outputs.a.x }}'}
", &[("workflow::never_before", 7)]),
        ("sibling", "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: '{{ a.output.x }}'}
", &[("workflow::never_before", 6)]),
        ("sibling in `input`, whatever the mode", "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b, c]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x, input: [a.output]}
  - {name: c, prompt: x, input: ['a.output?']}
", &[("workflow::never_before", 6), ("workflow::never_before", 7)]),
        ("items of an outer fan-out", "
workflow: {name: w, entry_point: outer}
for_each:
  - {name: outer, type: for_each, source: workflow.input.rows, as: row, run: inner}
  - {name: inner, type: for_each, source: row, as: cell, run: deep}
  - {name: deep, type: for_each, source: cell.parts, as: part, agent: {name: b, prompt: '{{ part }}'}}
agents: []
", &[]),
        ("items of a fan-out elsewhere", "
workflow: {name: w, entry_point: one}
for_each:
  - {name: one, type: for_each, source: workflow.input.rows, as: row, agent: {name: a, prompt: x}, routes: [{to: two}]}
  - {name: two, type: for_each, source: row, as: cell, agent: {name: b, prompt: x}}
agents: []
", &[("workflow::bad_source", 4)]),
        ("sibling along needs", "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: '{{ a.output.x }}', needs: [a]}
", &[]),
        ("inputs", "
workflow:
  name: w
  entry_point: a
  input: {topic: {type: string}}
agents:
  - {name: a, prompt: '{{ workflow.input.topic }} {{ workflow.input.tpic }} {{ workflow.input.x is defined }}'}
", &[("workflow::unknown_input", 6)]),
        ("loop variable outside its loop", "
workflow: {name: w, entry_point: g}
for_each:
  - name: g
    type: for_each
    source: workflow.input.items
    as: it
    agent: {name: w, prompt: '{{ it.x }} {{ _index }}'}
    routes: [{to: a}]
agents:
  - {name: a, prompt: '{{ it }}'}
", &[("workflow::unknown_reference", 10)]),
        ("source that comes later", "
workflow: {name: w, entry_point: g}
for_each:
  - name: g
    type: for_each
    source: a.output.items
    as: it
    agent: {name: w, prompt: x}
    routes: [{to: a}]
agents:
  - {name: a, prompt: x}
", &[("workflow::never_before", 5)]),
        ("source of an unknown step", "
workflow: {name: w, entry_point: g}
for_each:
  - {name: g, type: for_each, source: finder.output.items, as: it, agent: {name: w, prompt: x}}
agents: []
", &[("workflow::unknown_reference", 3)]),
        ("output", "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: x}
output:
  good: '{{ a.output.result }}'
  bad: '{{ b.output.result }}'
", &[("workflow::unknown_reference", 6)]),
        ("needs of needs", "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x, needs: [a]}
  - {name: c, prompt: '{{ a.output.r }}', needs: [b]}
  - {name: d, prompt: '{{ c.output.r }}', needs: [a]}
", &[("workflow::never_before", 6)]),
    ]);
}

#[test]
fn texts_can_be_read() {
    hold(&[
        (
            "template",
            "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    prompt: |
      Hello
      {{ workflow.input.x | uper }}
",
            &[("workflow::template_syntax", 6)],
        ),
        (
            "condition",
            "
workflow: {name: w, entry_point: a}
agents:
  - name: a
    prompt: x
    routes:
      - {to: $end, when: 'score >'}
      - {to: $end}
",
            &[("workflow::condition_syntax", 6)],
        ),
        (
            "input reference",
            "
workflow: {name: w, entry_point: a, context: {mode: explicit}}
agents:
  - name: a
    input: ['plan -> output']
    prompt: x
",
            &[("workflow::bad_input_reference", 4)],
        ),
        (
            "unknown input reference",
            "
workflow: {name: w, entry_point: a, context: {mode: explicit}}
agents:
  - name: a
    input: [plan.output, other.output?]
    prompt: x
",
            &[("workflow::unknown_reference", 4), ("workflow::unknown_reference", 4)],
        ),
    ]);
}

#[test]
fn prompts_of_merges_examinations_and_repairs_see_what_they_are_given() {
    hold(&[
        ("a merge", "
workflow: {name: w, runtime: {provider: scripted}}
agents:
  - {name: a, prompt: x}
  - {name: s, type: reduce, needs: [a], strategy: hierarchical, prompt: '{{ query }} {{ outputs }} {{ missing }} {{ a.output }}'}
  - {name: t, type: reduce, needs: [a], strategy: hierarchical, prompt: '{{ outputs }} {{ outputz }}'}
  - {name: j, type: reduce, needs: [a], strategy: judge, prompt: '{{ outputs }} {{ missing }}'}
", &[("workflow::unknown_reference", 5), ("workflow::unknown_reference", 6)]),
        ("an examination", "
workflow: {name: w, runtime: {provider: scripted}}
agents:
  - {name: a, prompt: x}
  - name: v
    type: verify
    needs: [a]
    assessor: {prompt: '{{ answer }} {{ findings }}'}
    repairer: {prompt: '{{ answer }} {{ findings }} {{ constraints }} {{ fidnings }}'}
", &[("workflow::unknown_reference", 7), ("workflow::unknown_reference", 8)]),
        ("a repair", "
workflow: {name: w, runtime: {provider: scripted}}
agents:
  - {name: a, prompt: x}
  - name: b
    needs: [a]
    prompt: '{{ a.output.n }}'
    expects: {a: {n: {type: number}}}
    repair_input: {prompt: '{{ data }} {{ problem }} {{ answer }}'}
", &[("workflow::unknown_reference", 8)]),
        ("nothing to ask by", "
workflow: {name: w, runtime: {provider: scripted}}
agents:
  - {name: a, prompt: x}
  - {name: s, type: reduce, needs: [a], strategy: hierarchical, prompt: ''}
  - {name: f, type: reduce, needs: [a], strategy: flat, prompt: 'x'}
", &[("workflow::empty_value", 4), ("workflow::no_effect", 5)]),
    ]);
}
