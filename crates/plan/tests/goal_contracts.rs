//! What the roles of a goal answer stands beside the documents.

use convoke_model::Role;
use convoke_plan::compile::goal_schema;
use serde_json::{Value, json};

#[test]
fn the_schema_beside_the_documents_is_the_one_of_the_contracts() {
    let anew = serde_json::to_string_pretty(&goal_schema()).unwrap() + "\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/goal-contracts.schema.json");
    if std::env::var_os("CONVOKE_BLESS").is_some() {
        std::fs::write(&path, &anew).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), anew, "CONVOKE_BLESS=1 writes it anew");
}

#[test]
fn every_role_has_a_shape_that_tells_answers_apart() {
    let schema = goal_schema();
    let fits = |role: Role, answer: &Value| {
        let validator = jsonschema::validator_for(&schema["$defs"][role.word()]).expect("a JSON Schema");
        validator.is_valid(answer)
    };
    assert!(Role::ALL.iter().all(|role| !fits(*role, &json!({}))), "every role owes something");
    let done = json!({"result": 1, "summary": "s", "goal_achieved": true, "reason": "r"});
    assert!(fits(Role::Execute, &done) && !fits(Role::Finalise, &done));
    let answer = |message: &str| json!({"message": message, "next_steps": "", "issues": "", "reason": "r"});
    assert!(fits(Role::Finalise, &answer("m")) && !fits(Role::Finalise, &answer("")));
}
