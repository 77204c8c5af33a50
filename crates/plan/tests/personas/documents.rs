//! Ways to write a manifest down, and the documents beside the code.

use crate::personas::kit::{TWO, piped, plan, refused, warned};
use convoke_plan::Plan;

#[test]
fn standard_events_keep_their_shape() {
    let shaped = "events: [{type: validation_passed, schema: {n: {type: number}}}]\n";
    refused(&piped(shaped, &["a"], &[]), &[("workflow::excludes", "`validation_passed`")]);
    warned(&piped("events: [branch_merged]\n", &["a"], &[]), &[("workflow::no_effect", "`branch_merged`")]);
}

#[test]
fn json_is_as_good_as_yaml() {
    let (yaml, json) = (plan(TWO), {
        let value: serde_json::Value = serde_json::json!({
            "schemaVersion": "1", "topologies": ["sequential"],
            "personas": [
                {"id": "writer", "displayName": "The writer", "systemPromptTemplate": "  You write about {{ workflow.input.topic }}.  ",
                 "modelConstraint": "big", "toolClearance": {"allowlist": ["read", "Write"], "banlist": ["write"]}},
                {"id": "copier", "displayName": "The copier", "systemPromptTemplate": "You copy."}],
            "relationships": [],
            "pipeline": {"entryNodeId": "write", "nodes": [
                {"id": "write", "actorId": "a", "personaId": "writer", "constraints": {"maxRetries": 1}, "task": "Write it."},
                {"id": "copy", "actorId": "b", "personaId": "copier"}],
                "edges": [{"from": "write", "to": "copy"}]},
            "topologyConstraints": {"maxDepth": 2, "maxRetries": 5},
        });
        plan(&value.to_string())
    });
    let hashes =
        |plan: &Plan| plan.root().nodes.iter().map(|node| (node.name.clone(), node.hash)).collect::<Vec<_>>();
    assert_eq!(hashes(&yaml), hashes(&json));
}

#[test]
fn the_schema_beside_the_documents_is_the_one_of_persona_manifests() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/personas.schema.json");
    let written: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let anew = "write it anew: convoke schema personas > docs/personas.schema.json";
    assert_eq!(written, convoke_plan::source::persona_schema(), "{anew}");
}

fn written(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[test]
fn the_shapes_of_standard_events_stand_beside_the_documents() {
    let anew = serde_json::to_string_pretty(&convoke_plan::domain_event_schema()).unwrap() + "\n";
    let path = written("domain-events.schema.json");
    if std::env::var_os("CONVOKE_BLESS").is_some() {
        std::fs::write(&path, &anew).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), anew, "CONVOKE_BLESS=1 writes it anew");
}
