//! Persona manifests: what they become, and what is wrong with them.

mod world;

use convoke_plan::compile::{Caps, Options};
use convoke_plan::{
    Condition, Kind, Node, NodeIx, On, Phase, Plan, ProjectPlace, Requires, Text, Topology, Workflow,
};
use world::{World, compiled, findings, shown};

const TWO: &str = r#"
schemaVersion: "1"
topologies: [sequential]
personas:
  - id: writer
    displayName: The writer
    systemPromptTemplate: "  You write about {{ workflow.input.topic }}.  "
    modelConstraint: big
    toolClearance: {allowlist: [read, Write], banlist: [write]}
  - {id: copier, displayName: The copier, systemPromptTemplate: You copy.}
relationships: []
pipeline:
  entryNodeId: write
  nodes:
    - {id: write, actorId: a, personaId: writer, constraints: {maxRetries: 1}, task: Write it.}
    - {id: copy, actorId: b, personaId: copier}
  edges:
    - {from: write, to: copy}
topologyConstraints: {maxDepth: 2, maxRetries: 5}
"#;

fn plan(text: &str) -> Plan {
    let result = compiled(text);
    let shown = shown(&result);
    result.plan.unwrap_or_else(|| panic!("{shown}"))
}

fn node<'p>(workflow: &'p Workflow, name: &str) -> &'p Node {
    workflow.nodes.iter().find(|node| &*node.name == name).unwrap_or_else(|| panic!("no node {name}"))
}

fn phase<'p>(workflow: &'p Workflow, name: &str) -> &'p Phase {
    match &node(workflow, name).kind {
        Kind::Phase(phase) => phase,
        other => panic!("{name} is {}", other.word()),
    }
}

fn text<'p>(plan: &'p Plan, text: &'p Text) -> &'p str {
    match text {
        Text::Literal(text) => text,
        Text::Template(id) => &plan.templates[id.0 as usize].text,
    }
}

#[test]
fn a_manifest_becomes_phases_that_need_one_another() {
    let plan = plan(TWO);
    let workflow = plan.root();
    let (write, copy) = (node(workflow, "write"), node(workflow, "copy"));
    assert_eq!(workflow.entry, [NodeIx(0)]);
    assert!(write.triggers.is_empty() && write.needs.is_empty());
    assert_eq!(copy.needs.len(), 1);
    assert_eq!((copy.needs[0].node, copy.needs[0].requires), (NodeIx(0), Requires::Any));
    assert_eq!((copy.triggers[0].from, copy.triggers[0].on), (NodeIx(0), Some(On::Success)));
    assert_eq!(phase(workflow, "write").max_tries, 2);
    assert_eq!(phase(workflow, "copy").max_tries, 3, "the process allows two further tries");
    assert_eq!(phase(workflow, "write").max_depth, 2);
    let pipeline = workflow.pipeline.as_ref().expect("it is a pipeline");
    assert_eq!((pipeline.hard_failures, &pipeline.project), (3, &ProjectPlace::Usual));
}

#[test]
fn a_worker_is_the_persona_with_its_contract() {
    let plan = plan(TWO);
    let worker = plan.root().node(phase(plan.root(), "write").worker);
    assert_eq!(&*worker.name, "$write.try");
    let Kind::Agent(agent) = &worker.kind else { panic!("a model") };
    assert_eq!(text(&plan, agent.system.as_ref().unwrap()), "You write about {{ workflow.input.topic }}.");
    assert!(text(&plan, &agent.prompt).starts_with("Write it."));
    assert_eq!(text(&plan, agent.model.as_ref().unwrap()), "big");
    let fields: Vec<_> = agent.settings.schema.as_ref().unwrap().fields.keys().map(String::as_str).collect();
    assert_eq!(fields[..2], ["status", "payload"]);
    assert_eq!(agent.settings.tools.as_deref(), Some(&["read".to_owned()][..]), "a ban wins, in any case");
}
