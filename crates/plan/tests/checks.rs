//! Whole small files, and what is found in them: code and line of every finding, and nothing else.

mod world;

use world::{World, compiled, findings, shown};

/// A name, a file, and the findings: code and line.
type Case = (&'static str, &'static str, &'static [(&'static str, usize)]);

fn hold(cases: &[Case]) {
    for (name, text, expected) in cases {
        let text = text.trim_start_matches('\n');
        let result = compiled(text);
        assert_eq!(findings(&result), *expected, "{name}:{}", shown(&result));
    }
}

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
            &[("workflow::unknown_member", 3), ("workflow::unreachable", 5)],
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
", &[("workflow::duplicate_name", 4), ("workflow::unreachable", 4)]),
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

#[test]
fn a_call_gives_its_sub_workflow_what_it_declares() {
    let child = "workflow:\n  name: c\n  entry_point: x\n  input: {topic: {type: string}, depth: {type: number, default: 1}}\nagents:\n  - {name: x, prompt: hi}\n";
    let calls = |header: &str, mapping: &str| {
        let root = format!(
            "workflow: {{name: w, entry_point: a{header}}}\nagents:\n  - name: a\n    type: workflow\n    workflow: c.yaml\n{mapping}"
        );
        let result = World::default().file("main.yaml", &root).file("c.yaml", child).compile();
        findings(&result)
    };
    assert_eq!(calls("", ""), []);
    assert_eq!(calls("", "    input_mapping: {topic: x}\n"), []);
    let slip = [("workflow::missing_input", 5), ("workflow::unknown_input", 6)];
    assert_eq!(calls("", "    input_mapping: {topc: x}\n"), slip);
    assert_eq!(calls(", input: {other: {type: string}}", ""), [("workflow::missing_input", 5)]);
}

#[test]
fn sub_workflows_are_followed() {
    let step = |path: &str| {
        format!(
            "workflow: {{name: w, entry_point: a}}\nagents:\n  - name: a\n    type: workflow\n    workflow: {path}\n"
        )
    };
    let circle = World::default()
        .file("main.yaml", &step("sub/b.yaml"))
        .file("sub/b.yaml", &step("../main.yaml"))
        .compile();
    assert_eq!(findings(&circle), [("workflow::circular_sub_workflow", 5)]);
    assert!(circle.diagnostics[0].message.contains("main.yaml → sub/b.yaml → main.yaml"));

    let missing = World::default().file("main.yaml", &step("b.yaml")).compile();
    assert_eq!(findings(&missing), [("workflow::missing_sub_workflow", 5)]);
    let registry = World::default().file("main.yaml", &step("review@team#v2")).compile();
    assert_eq!(findings(&registry), [("workflow::registry_reference", 5)]);

    let broken = World::default()
        .file("main.yaml", &step("b.yaml"))
        .file("b.yaml", "workflow: {name: b, entry_point: x}\nagents: [{name: y, prompt: x}]\n")
        .compile();
    assert_eq!(findings(&broken), [("workflow::unknown_entry_point", 1)]);
    assert_eq!(broken.diagnostics[0].labels[0].span.file.path, "b.yaml");
}

#[test]
fn eleven_levels_are_too_deep() {
    let leaf = "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: x}\n";
    let levels = |count: usize| {
        (0..count).fold(World::default().file(&format!("{count}.yaml"), leaf), |world, level| {
            let text = format!("workflow: {{name: w, entry_point: a}}\nagents:\n  - {{name: a, type: workflow, workflow: {}.yaml}}\n", level + 1);
            let path = if level == 0 { "main.yaml".to_owned() } else { format!("{level}.yaml") };
            world.file(&path, &text)
        })
    };
    assert!(levels(10).compile().plan.is_some());
    assert_eq!(findings(&levels(11).compile()), [("workflow::too_deep", 3)]);
}

#[test]
fn every_code_is_listed_once() {
    let mut codes: Vec<&str> = convoke_plan::check::CODES.iter().map(|(code, _)| *code).collect();
    let count = codes.len();
    codes.dedup();
    assert_eq!(codes.len(), count);
    assert!(codes.is_sorted());
}

/// The documents of the repository.
fn documents() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn every_code_has_a_page_and_a_line_in_the_list() {
    let list = std::fs::read_to_string(documents().join("errors/README.md")).unwrap();
    for (code, _) in convoke_plan::check::CODES.iter().chain(convoke_plan::source::CODES) {
        let page = format!("{}.md", code.replace("::", "--"));
        let text = std::fs::read_to_string(documents().join("errors").join(&page));
        assert!(text.is_ok_and(|text| text.starts_with(&format!("# `{code}`"))), "{page}");
        assert!(list.contains(&format!("[`{code}`]({page})")), "{code} is not in the list");
    }
}

#[test]
fn the_schema_beside_the_documents_is_the_one_of_the_language() {
    let text = std::fs::read_to_string(documents().join("workflow.schema.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        written,
        convoke_plan::source::schema(),
        "write it anew: convoke schema > docs/workflow.schema.json"
    );
}
