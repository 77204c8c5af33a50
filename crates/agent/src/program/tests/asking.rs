//! What programs ask, and what they are given for it.

use super::world::{World, answered, program, suspended};
use convoke_model::{AttemptEnd, Digest, SubQuery};
use serde_json::json;

#[tokio::test]
async fn a_program_that_asks_goes_on_with_the_answer_and_ends() {
    let world = World::new(&[&program("llm [\"look at [S2]\"]\nagain")]);
    assert_eq!(suspended(world.attempt(vec![]).await), [SubQuery::Prompt("look at [S2]".into())]);
    let end = world.attempt(vec![answered(Ok("it is blue [S2]"))]).await;
    let AttemptEnd::Finished { output, usage } = end else { panic!("{end:?}") };
    let digest = |index: usize| Digest::of(world.call.sources[index].output.as_str().as_bytes());
    let source = |index: usize, cited: bool| {
        json!({
            "mark": format!("S{}", index + 1), "task": format!("items[{index}]"), "title": format!("item {index}"),
            "digest": digest(index), "cited": cited,
        })
    };
    let expected = json!({
        "result": "it is blue [S2]", "strategy": "rlm", "sources": [source(0, false), source(1, true)],
        "missing": [], "rounds": 1, "calls": 2,
        "usage": {"calls": 2, "input_tokens": 110, "output_tokens": 5, "cost_usd": null}, "notes": [],
        "citations": [{"marks": ["S2"], "sources": [1], "claim": "it is blue", "verdict": "unchecked"}],
    });
    assert_eq!(output.value(), expected);
    // What the first attempt used was on its record, and the second one asked no model.
    assert_eq!((usage.calls, world.book.usage.lock().unwrap().calls), (0, 1));
    assert_eq!(world.asked().len(), 1);
}

#[tokio::test]
async fn many_questions_are_asked_at_once_and_what_fails_is_a_value() {
    let world = World::new(&[&program("llm_map [[\"a\", \"b\"]]\nagain")]);
    let asked = suspended(world.attempt(vec![]).await);
    assert_eq!(asked, [SubQuery::Prompt("a".into()), SubQuery::Prompt("b".into())]);
    let end = world.attempt(vec![answered(Ok("A")), answered(Err("too busy"))]).await;
    let AttemptEnd::Finished { output, .. } = end else { panic!("{end:?}") };
    assert_eq!(output.value()["result"], json!(["A", {"error": "too busy"}]));
    assert_eq!(output.value()["notes"], json!(["1 of 2 questions of its programs were not answered"]));
}

#[tokio::test]
async fn an_answer_that_did_not_come_is_an_exception() {
    let world = World::new(&[&program("llm [\"a\"]\nshow"), &program("final [1]")]);
    suspended(world.attempt(vec![]).await);
    let end = world.attempt(vec![answered(Err("too busy"))]).await;
    assert!(matches!(end, AttemptEnd::Finished { .. }), "{end:?}");
    let told = &world.asked()[1][3].text;
    assert!(told.contains("Error { kind: Runtime, message: \"no answer came: too busy\" }"), "{told}");
}

#[tokio::test]
async fn more_questions_than_are_left_are_an_exception_and_none_left_a_failure() {
    let many = program(
        "llm_map [[\"1\", \"2\", \"3\", \"4\", \"5\"]]\nshow\nllm_map [[\"1\", \"2\", \"3\", \"4\"]]",
    );
    let world = World::new(&[&many, &program("llm [\"5\"]")]);
    let failure = world.finish("yes").await.unwrap_err();
    assert_eq!(failure.reason.as_deref(), Some("rlm_calls"));
    assert!(world.asked()[1][3].text.contains("llm_map(): 5 model calls, and 4 are left"));
}

#[tokio::test]
async fn a_program_below_another_gives_its_value_alone() {
    let mut world = World::new(&[&program("final [{\"a\": 1}]")]);
    world.call.depth = 1;
    assert_eq!(world.finish("").await.unwrap(), json!({"result": {"a": 1}}));
}
