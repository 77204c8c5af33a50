//! Attempts that go on where another one was: after a wait, a crash, a failure.

use super::toy::Toy;
use super::world::{World, answered, program, suspended};
use crate::{Finish, Reply};
use convoke_model::{AttemptEnd, Class, Failure, Usage};
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn states_that_cannot_be_read_are_replaced_by_running_again() {
    for forgets in [false, true] {
        let replies = [program("llm [\"a\"]\nprint first"), program("show\nllm [\"b\"]\nllm [\"c\"]\nagain")];
        let mut world = World::new(&[&replies[0], &replies[1]]);
        world.programs = Arc::new(Toy { forgets, ..Toy::default() });
        assert_eq!(world.finish("yes").await.unwrap()["result"], json!("yes"), "forgets: {forgets}");
        assert_eq!(world.asked().len(), 2);
    }
}

#[tokio::test]
async fn a_crash_before_the_suspension_is_on_disk_asks_the_same_again() {
    let world = World::new(&[&program("llm [\"a\"]\nagain")]);
    let first = suspended(world.attempt(vec![]).await);
    // The record with the saved program was written, the end of the attempt was not.
    world.book.records.lock().unwrap().pop();
    assert_eq!(suspended(world.attempt(vec![]).await), first);
    assert_eq!(world.asked().len(), 1);
    let end = world.attempt(vec![answered(Ok("yes"))]).await;
    let AttemptEnd::Finished { output, .. } = end else { panic!("{end:?}") };
    assert_eq!(output.value()["usage"]["calls"], json!(2));
}

#[tokio::test]
async fn an_attempt_after_a_failure_goes_on_behind_the_last_turn_with_its_variables() {
    let world = World::new(&[&program("get [\"S2\"]")]);
    world.model.replies.lock().unwrap().push_back(Err(Failure::new(Class::Transient, "lost")));
    let end = world.attempt(vec![]).await;
    assert!(
        matches!(&end, AttemptEnd::Failed { failure, .. } if failure.class == Class::Transient),
        "{end:?}"
    );
    let more = Reply::said(program("again"), Finish::Stop, Usage::default(), "m");
    world.model.replies.lock().unwrap().push_back(Ok(more));
    assert_eq!(world.finish("").await.unwrap()["result"], json!("the second one"));
    assert_eq!(world.asked().len(), 3);
}

#[tokio::test]
async fn another_question_is_worked_on_anew() {
    let mut world = World::new(&[&program("llm [\"a\"]\nagain"), &program("final [\"new\"]")]);
    suspended(world.attempt(vec![]).await);
    world.call.agent.prompt = "And now?".into();
    assert_eq!(world.finish("").await.unwrap()["result"], json!("new"));
}
