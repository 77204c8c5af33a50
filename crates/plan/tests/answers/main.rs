//! Steps that make one answer of many: what is found in them, and what they become.

mod world;

use convoke_plan::plan::{Kind, Node, Plan, Reduce, Strategy, Verify, Workflow};
use convoke_plan::view::{dot, levels, mermaid};
use std::collections::BTreeMap;
use world::{World, compiled, findings, shown};

/// Code and line of each finding, the header being line 1.
type Found = &'static [(&'static str, usize)];

fn hold(cases: &[(&str, &str, Found)]) {
    for (name, text, expected) in cases {
        let result = compiled(text.trim_start_matches('\n'));
        assert_eq!(findings(&result), *expected, "{name}:{}", shown(&result));
    }
}

fn plan(text: &str) -> Plan {
    let result = compiled(text.trim_start_matches('\n'));
    assert!(result.diagnostics.is_empty(), "{}", shown(&result));
    result.plan.expect("a file without findings has a plan")
}

fn node<'a>(workflow: &'a Workflow, name: &str) -> &'a Node {
    let found = workflow.nodes.iter().find(|node| &*node.name == name);
    found.unwrap_or_else(|| panic!("no node `{name}`: {:?}", names(workflow)))
}

fn names(workflow: &Workflow) -> Vec<&str> {
    workflow.nodes.iter().map(|node| &*node.name).collect()
}

fn reduce(node: &Node) -> &Reduce {
    match &node.kind {
        Kind::Reduce(reduce) => reduce,
        kind => panic!("{}", kind.word()),
    }
}

fn verify(node: &Node) -> &Verify {
    match &node.kind {
        Kind::Verify(verify) => verify,
        kind => panic!("{}", kind.word()),
    }
}

const TEAM: &str = "
workflow: {name: w, entry_point: positions, limits: {max_iterations: 50}}
parallel:
  - {name: positions, agents: [a, b], failure_mode: continue_on_error, routes: [{to: tally}]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
  - name: tally
    type: reduce
    of: [positions]
    strategy: vote
    routes:
      - {to: positions, when: 'output.vote.decided != true'}
      - {to: $end}
";

#[test]
fn a_step_that_routes_lead_to_merges_the_group_before_it() {
    let plan = plan(TEAM);
    let tally = node(plan.root(), "tally");
    assert_eq!(reduce(tally).of.len(), 1);
    assert_eq!(&*plan.root().node(reduce(tally).of[0]).name, "positions");
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

const MANY: &str = "
workflow: {name: w, runtime: {provider: scripted, default_model: usual}}
for_each:
  - {name: each, type: for_each, source: workflow.input.topics, as: it, agent: {name: look, prompt: x}}
agents:
  - {name: synthesis, type: reduce, needs: [each], model: large, rlm: {model: small}, query: q}
  - {name: check, type: verify, needs: [synthesis], assessor: {model: strict}}
output: {text: '{{ check.output.result }}', from: '{{ synthesis.output.sources | json }}'}
";

#[test]
fn models_that_are_asked_on_the_way_are_agents_of_the_plan() {
    let plan = plan(MANY);
    let workflow = plan.root();
    assert_eq!(
        names(workflow),
        [
            "synthesis",
            "check",
            "each",
            "$synthesis.merge",
            "$synthesis.program",
            "$synthesis.llm",
            "$check.assess",
            "$check.repair",
            "look"
        ]
    );
    let model = |name: &str| match &node(workflow, name).kind {
        Kind::Agent(agent) => {
            (agent.model.clone(), agent.settings.provider.name.clone(), agent.settings.tools.clone())
        }
        kind => panic!("{}", kind.word()),
    };
    let is = |name: &str| {
        (Some(convoke_plan::plan::Text::Literal(name.into())), "scripted".to_owned(), Some(vec![]))
    };
    assert_eq!(model("$synthesis.merge"), is("large"));
    assert_eq!(model("$synthesis.llm"), is("small"));
    assert_eq!(model("$check.assess"), is("strict"));
    assert_eq!(model("$check.repair"), is("usual"));
    assert_eq!(&*workflow.node(reduce(node(workflow, "synthesis")).merger.unwrap()).name, "$synthesis.merge");
    assert_eq!(&*workflow.node(verify(node(workflow, "check")).of).name, "synthesis");
    assert_eq!(node(workflow, "$synthesis.merge").step_name(), "synthesis");
}

#[test]
fn helpers_are_not_shown_as_steps() {
    let plan = plan(MANY);
    let view = levels(&plan, plan.root(), &BTreeMap::new());
    assert_eq!(view.levels, [vec!["look"], vec!["synthesis"], vec!["check"]]);
    for drawing in [mermaid(&plan), dot(&plan)] {
        assert!(
            drawing.contains("synthesis (reduce, auto)") && drawing.contains("check (verify)"),
            "{drawing}"
        );
        assert!(!drawing.contains('$'), "{drawing}");
    }
}

#[test]
fn a_few_outputs_never_need_a_model() {
    let of = |count: usize| {
        let items: Vec<String> = (0..count).map(|item| item.to_string()).collect();
        let text = format!(
            "workflow: {{name: w}}\nfor_each:\n  - {{name: each, type: for_each, items: [{}], as: it, agent: {{name: b, prompt: x}}}}\nagents:\n  - {{name: m, type: reduce, needs: [each]}}\n",
            items.join(", ")
        );
        let plan = plan(&text);
        let found = reduce(node(plan.root(), "m"));
        (found.strategy, found.merger.is_some())
    };
    assert_eq!(of(10), (Strategy::Flat, false));
    assert_eq!(of(11), (Strategy::Auto, true));
}

#[test]
fn what_a_reduce_step_does_decides_its_hash() {
    let hash = |keys: &str| {
        let text = format!(
            "workflow: {{name: w}}\nagents:\n  - {{name: a, prompt: x}}\n  - {{name: b, prompt: x}}\n  - {{name: m, type: reduce, strategy: hierarchical, needs: [a, b], {keys}}}\n"
        );
        node(plan(&text).root(), "m").hash
    };
    assert_eq!(hash("description: other"), hash("description: words"));
    assert_ne!(hash("model: one"), hash("model: two"));
    assert_ne!(hash("of: [a, b]"), hash("of: [a]"));
    assert_ne!(hash("ratio: 5"), hash("ratio: 6"));
    let expects = |kind: &str| format!("expects: {{a: {{n: {{type: {kind}}}}}}}");
    assert_ne!(hash(&expects("string")), hash(&expects("number")));
    assert_ne!(hash(&expects("string")), hash(&format!("{}, repair_input: true", expects("string"))));
}

#[test]
fn a_corrected_answer_has_the_shape_of_the_answer() {
    let schema = |keys: &str| {
        let text = format!(
            "workflow: {{name: w}}\nagents:\n  - {{name: a, prompt: x, {keys}}}\n  - {{name: v, type: verify, needs: [a]}}\n"
        );
        let plan = plan(&text);
        match &node(plan.root(), "$v.repair").kind {
            Kind::Agent(agent) => {
                (agent.settings.schema.clone().map(|schema| schema.fields.len()), agent.settings.raw)
            }
            kind => panic!("{}", kind.word()),
        }
    };
    assert_eq!(schema("description: d"), (None, true));
    assert_eq!(schema("output: {x: {type: string}, y: {type: number}}"), (Some(2), false));
}

#[test]
fn expectations_and_their_repairer_are_in_the_plan() {
    let plan = plan(
        "
workflow: {name: w, runtime: {provider: scripted}}
agents:
  - {name: a, prompt: x}
  - {name: b, type: script, command: c, needs: [a], expects: {a: {n: {type: number}}}, repair_input: {model: m}}
",
    );
    let workflow = plan.root();
    let step = node(workflow, "b");
    assert_eq!(&*workflow.node(step.expects[0].node).name, "a");
    assert!(step.expects[0].schema.fields.contains_key("n"));
    let repairer = workflow.node(step.repairer.unwrap());
    assert_eq!((&*repairer.name, repairer.kind.word()), ("$b.repair_input", "agent"));
    match &repairer.kind {
        Kind::Agent(agent) => assert!(agent.settings.schema.is_none() && !agent.settings.raw),
        kind => panic!("{}", kind.word()),
    }
}

#[test]
fn helpers_of_bodies_that_are_called_alike_have_names_of_their_own() {
    let body = "agent: {name: m, type: reduce, strategy: judge, of: [a]}";
    let text = format!(
        "workflow: {{name: w}}\nagents:\n  - {{name: a, prompt: x}}\nfor_each:\n  - {{name: f, type: for_each, items: [1], as: it, needs: [a], {body}}}\n  - {{name: g, type: for_each, items: [1], as: it, needs: [a], {body}}}\n"
    );
    let plan = plan(&text);
    let mut found = names(plan.root());
    let count = found.len();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), count, "{found:?}");
}

#[test]
fn items_are_values_whatever_they_look_like() {
    let hash = |items: &str| {
        let text = format!(
            "workflow: {{name: w, entry_point: e}}\nfor_each:\n  - {{name: e, type: for_each, items: {items}, as: it, agent: {{name: b, prompt: x}}}}\nagents: []\n"
        );
        node(plan(&text).root(), "e").hash
    };
    assert_ne!(hash("[{template: 99}]"), hash("[{template: 98}]"));
    assert_ne!(hash("[{when: 99, x: 1}]"), hash("[{when: 98, x: 1}]"));
}

#[test]
fn a_dot_is_the_item_itself() {
    let of = |key: &str| {
        let text = format!(
            "workflow: {{name: w, entry_point: e}}\nfor_each:\n  - {{name: e, type: for_each, items: [x, y], as: it, key_by: {key}, agent: {{name: b, prompt: x}}}}\nagents: []\n"
        );
        match &node(plan(&text).root(), "e").kind {
            Kind::ForEach(each) => each.key_by.clone(),
            kind => panic!("{}", kind.word()),
        }
    };
    assert_eq!(of("."), Some(vec![]));
    assert_eq!(of("id.name"), Some(vec!["id".to_owned(), "name".to_owned()]));
}

#[test]
fn a_plan_survives_being_written_down() {
    let plan = plan(MANY);
    let text = serde_json::to_string(&plan).unwrap();
    let read: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

#[test]
fn skills_of_the_merging_model_are_read() {
    let world = World::default()
        .file("main.yaml", "workflow: {name: w}\nagents:\n  - {name: a, prompt: x}\n  - {name: m, type: reduce, strategy: judge, needs: [a], skills: [tone]}\n")
        .file("tone/SKILL.md", "Be brief.");
    let plan = world.compile().plan.unwrap();
    match &node(plan.root(), "$m.merge").kind {
        Kind::Agent(agent) => assert!(agent.skills.as_ref().unwrap().contains("Be brief.")),
        kind => panic!("{}", kind.word()),
    }
}
