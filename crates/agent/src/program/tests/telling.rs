//! What the model is told: the question, what its programs printed, what was wrong with them and with a result.

use super::toy::Toy;
use super::world::{World, program};
use crate::Role;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[tokio::test]
async fn the_model_sees_the_question_the_guide_and_a_description() {
    let world = World::new(&["Hm.", &program("print one\nget [\"S1\"]\nshow"), &program("final [\"x\"]")]);
    assert_eq!(world.finish("").await.unwrap()["result"], json!("x"));
    let asked = world.asked();
    let roles: Vec<Role> = asked[2].iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::User, Role::Assistant, Role::User]);
    let system = &asked[0][0].text;
    assert!(system.starts_with("You are thorough.") && system.ends_with("(the guide)"), "{system}");
    assert!(asked[0][1].text.starts_with("Which is it?\n\n## OUTPUTS\n\n2 outputs, 27 characters"));
    assert!(asked[1][3].text.contains("no program") && asked[1][3].text.contains("Programs left: 2."));
    assert!(asked[2][5].text.contains("oneValue(String(\"the first one\"))"), "{}", asked[2][5].text);
    assert!(asked[2][5].text.contains("The next program must call final()."));
}

#[tokio::test]
async fn what_was_printed_before_and_after_an_answer_is_told_together() {
    for forgets in [false, true] {
        let mut world =
            World::new(&[&program("print before \nllm [\"a\"]\nprint after"), &program("final [1]")]);
        world.programs = Arc::new(Toy { forgets, ..Toy::default() });
        world.finish("yes").await.unwrap();
        let told = world.asked()[1][3].text.clone();
        assert!(told.contains("It printed 12 characters:\nbefore after\n"), "{told}");
    }
}

#[tokio::test]
async fn a_wrong_program_is_told_and_its_variables_stay() {
    let world = World::new(&[&program("get [\"S1\"]\nend badly"), &program("again")]);
    assert_eq!(world.finish("").await.unwrap()["result"], json!("the first one"));
    let told = world.asked()[1][3].text.clone();
    assert!(told.contains("NameError: badly\nhint: ask") && told.contains("still there"), "{told}");
    assert_eq!(world.programs.started.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_result_must_fit_the_declared_shape_and_be_something() {
    let replies =
        [program("final [\"\"]"), program("final [{\"n\": \"one\"}]"), program("final [{\"n\": 1}]")];
    let mut world = World::new(&[&replies[0], &replies[1], &replies[2]]);
    let settings = Arc::make_mut(&mut world.call.agent.settings);
    settings.schema = Some(serde_json::from_value(json!({"n": {"type": "number"}})).unwrap());
    settings.raw = false;
    assert_eq!(world.finish("").await.unwrap()["result"], json!({"n": 1}));
    let asked = world.asked();
    assert!(asked[0][0].text.contains("must fit this JSON Schema"));
    assert!(asked[1][3].text.contains("it is empty"), "{}", asked[1][3].text);
    assert!(asked[2][5].text.contains("`n`: expected number"), "{}", asked[2][5].text);
}

#[tokio::test]
async fn records_can_be_read_as_those_of_a_conversation() {
    let world = World::new(&[&program("llm [\"a\"]\nprint x"), &program("final [1]")]);
    world.finish("yes").await.unwrap();
    let accounts = crate::Account::read(&world.book.records.lock().unwrap()).unwrap();
    let roles: Vec<Role> = accounts[0].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
}
