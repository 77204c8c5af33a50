//! Turns, memory and time come to an end, and that is never an answer.

use super::world::{World, answered, program, suspended};
use convoke_model::{AttemptEnd, Class};
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[tokio::test]
async fn running_out_of_turns_is_a_failure() {
    let world = World::new(&["Nothing.", &program("print no"), &program("print no")]);
    let failure = world.finish("").await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("rlm_turns")));
    assert_eq!(world.asked().len(), 3);
}

#[tokio::test]
async fn a_program_that_is_refused_before_it_runs_costs_no_turn_and_that_has_a_bound() {
    let (refused, prints) = (program("end refused"), program("print no"));
    let world = World::new(&[&refused, &prints, &refused, &prints, &program("final [1]")]);
    assert_eq!(world.finish("").await.unwrap()["rounds"], json!(5), "three turns and two refusals");
    let world = World::new(&[&refused, &refused, &refused, &refused, &refused, &refused]);
    assert_eq!(world.finish("").await.unwrap_err().reason.as_deref(), Some("rlm_turns"));
    assert_eq!(world.asked().len(), 5);
}

#[tokio::test]
async fn a_program_that_is_ended_loses_its_variables_and_two_in_a_row_are_a_failure() {
    let world = World::new(&[&program("end memory"), &program("print fine"), &program("final [1]")]);
    let report = world.finish("").await.unwrap();
    assert_eq!(report["notes"], json!(["1 of its programs were ended for what they used"]));
    assert_eq!(world.programs.started.load(Ordering::SeqCst), 2);
    let world = World::new(&[&program("end memory"), &program("end memory")]);
    let end = world.attempt(vec![]).await;
    let AttemptEnd::Failed { failure, partial, .. } = end else { panic!("{end:?}") };
    assert_eq!(failure.reason.as_deref(), Some("rlm_memory"));
    assert!(failure.message.contains("2 programs in a row ran out of memory: "), "{}", failure.message);
    assert_eq!(partial.unwrap().value(), json!("end memory"), "the last program is on no record");
    let world = World::new(&[&program("end died"), &program("end died")]);
    assert_eq!(world.finish("").await.unwrap_err().reason.as_deref(), Some("rlm_died"));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_all_programs_is_bounded_without_what_they_wait_for() {
    let world = World::new(&[&program("take 12000\nllm [\"a\"]\ntake 9000\nprint x"), &program("final [1]")]);
    suspended(world.attempt(vec![]).await);
    tokio::time::advance(Duration::from_secs(600)).await;
    let end = world.attempt(vec![answered(Ok("yes"))]).await;
    let AttemptEnd::Failed { failure, .. } = end else { panic!("{end:?}") };
    assert_eq!(failure.reason.as_deref(), Some("rlm_time"));
    let world = World::new(&[&program("take 12000\nllm [\"a\"]\ntake 7000\nprint x"), &program("final [1]")]);
    assert_eq!(world.finish("yes").await.unwrap()["result"], json!(1));
}
