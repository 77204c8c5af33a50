//! What is found in files with such steps.

use crate::answers::world::{compiled, findings, shown};

/// Code and line of each finding, the header being line 1.
type Found = &'static [(&'static str, usize)];

fn hold(cases: &[(&str, &str, Found)]) {
    for (name, text, expected) in cases {
        let result = compiled(text.trim_start_matches('\n'));
        assert_eq!(findings(&result), *expected, "{name}:{}", shown(&result));
    }
}

#[test]
fn sources_exist_and_can_have_run() {
    hold(&[
        (
            "nothing to merge",
            "workflow: {name: w, entry_point: m}\nagents:\n  - {name: m, type: reduce}\n",
            &[("workflow::missing_key", 3)],
        ),
        (
            "unknown, twice, later and itself",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x, needs: [m]}
  - name: m
    type: reduce
    needs: [a]
    of:
      - a
      - aa
      - a
      - b
      - m
",
            &[
                ("workflow::unknown_reference", 10),
                ("workflow::duplicate_member", 11),
                ("workflow::never_before", 12),
                ("workflow::never_before", 13),
            ],
        ),
        (
            "an ancestor that it does not need itself",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x, needs: [a]}
  - {name: m, type: reduce, needs: [b], of: [a, b]}
",
            &[],
        ),
        (
            "a member of a group that it does not stand in",
            "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b], routes: [{to: m}]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
  - {name: m, type: reduce, of: [a]}
",
            &[("workflow::never_before", 7)],
        ),
        (
            "a route to a step with needs",
            "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: x, routes: [{to: m}]}
  - {name: m, type: reduce, needs: [a]}
",
            &[("workflow::route_into_needs", 3)],
        ),
        (
            "more than can come together",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
  - {name: m, type: reduce, needs: [a, b], min_sources: 3}
  - {name: v, type: reduce, needs: [a, b], strategy: vote, vote: {quorum: 3}}
",
            &[("workflow::quorum_too_large", 5), ("workflow::quorum_too_large", 6)],
        ),
    ]);
}

#[test]
fn a_member_merges_what_it_needs_among_its_siblings() {
    hold(&[
        (
            "siblings with needs between them",
            "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b, m, v]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
  - {name: m, type: reduce, strategy: hierarchical, needs: [a, b]}
  - {name: v, type: verify, needs: [m]}
",
            &[],
        ),
        (
            "a sibling that it does not need",
            "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, m]}
agents:
  - {name: a, prompt: x}
  - {name: m, type: reduce, of: [a]}
",
            &[("workflow::never_before", 6)],
        ),
        (
            "per item: a group with its own merge",
            "
workflow: {name: w, entry_point: each}
for_each:
  - {name: each, type: for_each, items: [x, y], as: it, run: g}
parallel:
  - {name: g, agents: [a, b, m]}
agents:
  - {name: a, prompt: '{{ it }}'}
  - {name: b, prompt: '{{ it }}'}
  - {name: m, type: reduce, strategy: flat, needs: [a, b], query: '{{ it }}'}
",
            &[],
        ),
        (
            "the body of a fan-out merges what came before the fan-out",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
for_each:
  - name: each
    type: for_each
    items: [short, long]
    as: style
    needs: [a]
    agent: {name: m, type: reduce, strategy: judge, of: [a], query: '{{ style }}'}
",
            &[],
        ),
        (
            "but cannot have needs",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
for_each:
  - name: each
    type: for_each
    items: [short, long]
    as: style
    agent: {name: m, type: reduce, needs: [a]}
",
            &[("workflow::member_needs", 9)],
        ),
    ]);
}

#[test]
fn one_answer_is_examined() {
    hold(&[
        (
            "which of two",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
  - {name: v, type: verify, needs: [a, b]}
",
            &[("workflow::missing_key", 5)],
        ),
        (
            "named",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
  - {name: b, type: script, command: c}
  - {name: v, type: verify, needs: [a, b], of: b}
output: {text: '{{ v.output.result }}', open: '{{ v.output.findings | json }}'}
",
            &[],
        ),
        (
            "a group, a wait and a person",
            "
workflow: {name: w}
parallel:
  - {name: g, agents: [a, b]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
  - {name: c, type: wait, duration: 1}
  - {name: d, type: questions, questions: [{text: why}]}
  - {name: v, type: verify, needs: [g]}
  - {name: v2, type: verify, needs: [c]}
  - {name: v3, type: verify, needs: [c, d], of: d}
",
            &[
                ("workflow::not_one_answer", 9),
                ("workflow::not_one_answer", 10),
                ("workflow::not_one_answer", 11),
            ],
        ),
        (
            "a template that is wrong for both models is said once",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
  - {name: v, type: verify, needs: [a], model: '{{ nobody.output }}'}
",
            &[("workflow::unknown_reference", 4)],
        ),
    ]);
}

#[test]
fn expectations_are_of_steps_before() {
    hold(&[
        (
            "as it should be",
            "
workflow: {name: w}
agents:
  - {name: a, prompt: x}
  - {name: b, type: script, command: c, needs: [a], expects: {a: {n: {type: number}}}, repair_input: true}
",
            &[],
        ),
        (
            "unknown, later, a group, a field that is declared otherwise",
            "
workflow: {name: w}
parallel:
  - {name: g, agents: [d, e]}
agents:
  - {name: a, prompt: x, output: {m: {type: number}}}
  - {name: d, prompt: x}
  - {name: e, prompt: x}
  - name: b
    type: script
    command: c
    needs: [a, g]
    expects:
      aa: {n: {type: number}}
      z: {n: {type: number}}
      g: {n: {type: number}}
      a: {n: {type: number}}
  - {name: z, prompt: x, needs: [b]}
",
            &[
                ("workflow::unknown_reference", 13),
                ("workflow::never_before", 14),
                ("workflow::not_one_answer", 15),
                ("workflow::undeclared_field", 16),
            ],
        ),
    ]);
}

#[test]
fn outputs_of_dependencies_need_dependencies() {
    hold(&[(
        "a step without, a member of a group that has some, a body of a fan-out that has some",
        "
workflow: {name: w}
parallel:
  - {name: g, agents: [c, d], needs: [a]}
for_each:
  - {name: each, type: for_each, items: [x], as: it, needs: [a], agent: {name: e, prompt: x, dependency_outputs: 9}}
agents:
  - {name: a, prompt: x, dependency_outputs: true}
  - {name: b, prompt: x, dependency_outputs: true, needs: [a]}
  - {name: c, prompt: x, dependency_outputs: true}
  - {name: d, prompt: x}
",
        &[("workflow::no_effect", 7)],
    )]);
}
