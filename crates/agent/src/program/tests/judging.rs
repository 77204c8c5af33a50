//! Results of programs are judged like any agent's answer.

use super::world::{World, program};
use convoke_model::{Class, SuccessCriteria, Validator};
use std::sync::Arc;

fn judged(replies: &[&str], validator: Option<u32>, criteria: Option<u32>) -> World {
    let mut world = World::new(replies);
    let settings = Arc::make_mut(&mut world.call.agent.settings);
    let words = || "it names a number".to_owned();
    settings.validator =
        validator.map(|max_retries| Validator { criteria: words(), model: None, max_retries });
    settings.success_criteria =
        criteria.map(|max_retries| SuccessCriteria { criteria: words(), model: None, max_retries });
    world
}

const NO: &str = "{\"passed\": false, \"issues\": [\"no number\"]}";
const YES: &str = "{\"passed\": true, \"issues\": []}";

#[tokio::test]
async fn a_result_that_misses_the_criteria_is_sent_back_to_whoever_writes_programs() {
    let (first, second) = (program("final [\"some\"]"), program("final [\"seven\"]"));
    let world = judged(&[&first, NO, &second, YES], None, Some(1));
    assert_eq!(world.finish("").await.unwrap()["result"], "seven");
    let asked = world.asked();
    assert!(asked[1][1].text.contains("some"), "the result is judged: {:?}", asked[1]);
    assert!(asked[2].last().unwrap().text.contains("no number"), "the issues are told: {:?}", asked[2]);
}

#[tokio::test]
async fn a_result_that_never_meets_the_criteria_is_a_failure() {
    let only = program("final [\"some\"]");
    let failure = judged(&[&only, NO], None, Some(0)).finish("").await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::InvalidOutput, Some("criteria_unmet")));
    let failure = judged(&[&only, "who knows"], None, Some(3)).finish("").await.unwrap_err();
    assert_eq!(failure.reason.as_deref(), Some("no_verdict"));
}

#[tokio::test]
async fn a_validator_is_advice_on_results_of_programs_too() {
    let (first, second) = (program("final [\"some\"]"), program("final [\"several\"]"));
    // The second one counts ungraded: nothing would follow from a verdict.
    let world = judged(&[&first, NO, &second], Some(1), None);
    assert_eq!(world.finish("").await.unwrap()["result"], "several");
    let world = judged(&[&first, "who knows"], Some(1), None);
    assert_eq!(world.finish("").await.unwrap()["result"], "some");
}

#[tokio::test]
async fn a_result_below_another_is_not_judged() {
    let mut world = judged(&[&program("final [\"some\"]")], Some(1), Some(1));
    world.call.depth = 1;
    assert_eq!(world.finish("").await.unwrap()["result"], "some");
}
