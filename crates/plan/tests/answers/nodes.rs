//! What such steps become: nodes of the plan, with the agents that they ask on their way.

use crate::answers::world::World;
use crate::answers::{names, node, plan};
use convoke_plan::plan::{Kind, Node, Plan, Reduce, Strategy, Verify};
use convoke_plan::view::{dot, levels, mermaid};
use std::collections::BTreeMap;

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

#[test]
fn a_plan_survives_being_written_down() {
    let plan = plan(MANY);
    let text = serde_json::to_string(&plan).unwrap();
    let read: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}
