//! Persona manifests compiled, and what is found in them.

use crate::personas::world::{compiled, shown};
use convoke_plan::{Kind, Node, Phase, Plan, Text, Workflow};

pub const TWO: &str = r#"
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

pub fn plan(text: &str) -> Plan {
    let result = compiled(text);
    let shown = shown(&result);
    result.plan.unwrap_or_else(|| panic!("{shown}"))
}

pub fn node<'p>(workflow: &'p Workflow, name: &str) -> &'p Node {
    workflow.nodes.iter().find(|node| &*node.name == name).unwrap_or_else(|| panic!("no node {name}"))
}

pub fn phase<'p>(workflow: &'p Workflow, name: &str) -> &'p Phase {
    match &node(workflow, name).kind {
        Kind::Phase(phase) => phase,
        other => panic!("{name} is {}", other.word()),
    }
}

pub fn text<'p>(plan: &'p Plan, text: &'p Text) -> &'p str {
    match text {
        Text::Literal(text) => text,
        Text::Template(id) => &plan.templates[id.0 as usize].text,
    }
}

pub const HEAD: &str = r#"schemaVersion: "1"
personas:
  - {id: lead, systemPromptTemplate: You lead.}
  - {id: coder, systemPromptTemplate: You code.}
  - {id: tester, systemPromptTemplate: You test.}
"#;

/// A pipeline of these nodes (`id` alone, or an inline mapping without its actor and persona) and edges.
pub fn piped(more: &str, nodes: &[&str], edges: &[&str]) -> String {
    let node = |text: &&str| match text.split_once(' ') {
        Some((id, rest)) => format!("    - {{id: {id}, actorId: m, personaId: lead, {rest}}}\n"),
        None => format!("    - {{id: {text}, actorId: m, personaId: lead}}\n"),
    };
    let nodes: String = nodes.iter().map(node).collect();
    let edges: String = edges.iter().map(|text| format!("    - {{{text}}}\n")).collect();
    format!("{HEAD}{more}pipeline:\n  entryNodeId: a\n  nodes:\n{nodes}  edges:\n{edges}    []\n")
        .replace("  edges:\n    []\n", "  edges: []\n")
        .replace("\n    []\n", "\n")
}

/// The findings must be exactly these, each by code and a word of its message or advice.
pub fn refused(text: &str, expected: &[(&str, &str)]) {
    let result = compiled(text);
    let all = shown(&result);
    assert!(result.plan.is_none(), "not refused: {all}\n{text}");
    assert_found(&result, expected, &all);
}

/// The same for warnings.
pub fn warned(text: &str, expected: &[(&str, &str)]) -> Plan {
    let result = compiled(text);
    let all = shown(&result);
    assert_found(&result, expected, &all);
    result.plan.unwrap_or_else(|| panic!("refused: {all}"))
}

pub fn assert_found(result: &convoke_plan::compile::Compiled, expected: &[(&str, &str)], all: &str) {
    let found = &result.diagnostics;
    assert_eq!(found.len(), expected.len(), "{all}");
    for (found, (code, word)) in found.iter().zip(expected) {
        let said = format!("{} {}", found.message, found.help.as_deref().unwrap_or(""));
        assert!(found.code == *code && said.contains(word), "expected {code} `{word}`: {all}");
    }
}

pub fn agent<'p>(plan: &'p Plan, name: &str) -> &'p convoke_plan::Agent {
    match &node(plan.root(), name).kind {
        Kind::Agent(agent) => agent,
        other => panic!("{name} is {}", other.word()),
    }
}
