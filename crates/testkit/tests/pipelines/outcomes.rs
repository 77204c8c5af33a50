//! An answer that comes to something else than its status says: what it says besides is judged by what it came to.

use super::kit::*;
use convoke_model::RunStatus;
use serde_json::json;

#[test]
fn a_program_that_claims_success_and_breaks_off_has_failed_at_once() {
    let actors = "actors: {model: {type: script, command: work, idempotent: true}}\n";
    let plan = with("x", &["x personaId: a", "y"], &["x y event: code_committed, on: failure"], actors);
    let said = [
        json!({"exit_code": 3, "status": "success", "events": [{"type": "validation_passed"}, {"type": "code_committed"}]}),
        json!({"exit_code": 3, "status": "success", "events": [{"type": "code_committed"}], "children": [{"persona": "b", "task": "t"}]}),
    ];
    for said in said {
        let (ended, world) = run(&plan, vec![("x/try[1]", says(said.clone()))]);
        assert_eq!((ended.status, world.launches.len()), (RunStatus::Failed, 2), "{said}: {ended:?}");
        assert_eq!(phases(&ended)["x"], "failure");
        assert_eq!(told(&events(&world)).iter().filter(|line| line.starts_with("x ")).count(), 2);
    }
}
