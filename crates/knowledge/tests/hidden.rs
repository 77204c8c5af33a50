//! No value of a run is in its graph.

use crate::kit::{Place, WORKFLOWS, append, inputs, named};
use convoke_knowledge::project::Telling;
use convoke_knowledge::update;
use convoke_model::{Assignment, AttemptEnd, Class, Event, RunId};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::json;
use std::time::Duration;

/// A run in which every third attempt fails, with a message that is a canary; all others answer with one.
fn failing_world(workflow: usize) -> World {
    let mut attempts = 0;
    let script = Box::new(move |_: &Assignment| {
        attempts += 1;
        if attempts % 3 != 2 {
            return Behaviour::gives(
                Duration::from_millis(5),
                json!({"result": "canary-output of an attempt"}),
            );
        }
        let mut fails = Behaviour::fails(Duration::from_millis(5), Class::Fatal);
        if let AttemptEnd::Failed { failure, .. } = &mut fails.end {
            failure.message = "canary-message of a failure".into();
        }
        fails
    });
    World::new(plan_of(WORKFLOWS[workflow], &[]), inputs(workflow), 3, 1, script)
}

fn has_canary(event: &Event) -> bool {
    let Event::AttemptFailed { failure, .. } = event else { return false };
    failure.message.contains("canary-message")
}

#[test]
fn inputs_items_outputs_and_messages_stay_in_the_journal() {
    let place = Place::new();
    let mut failed = 0;
    for number in 0..WORKFLOWS.len() {
        let run = RunId(format!("20261119-10000{number}-abcd").into());
        let mut world = failing_world(number);
        world.finish();
        failed += world.events().filter(|stamped| has_canary(&stamped.event)).count();
        append(&mut place.journal(&run, world.plan()), &named(world.events().cloned(), &run));
    }
    place.update();
    let around = |word: &str| {
        let files = std::fs::read_dir(update::folder(&place.state)).unwrap().flatten();
        files.map(|file| std::fs::read(file.path()).unwrap()).find_map(|bytes| {
            let at = bytes.windows(word.len()).position(|part| part == word.as_bytes())?;
            Some(
                String::from_utf8_lossy(&bytes[at.saturating_sub(60)..(at + 60).min(bytes.len())])
                    .into_owned(),
            )
        })
    };
    let is_named = |word: &str| around(word).is_some();
    assert!(failed > 0, "no message to hide");
    assert_eq!(around("canary"), None);
    // Steps that the author named are there.
    assert!(is_named("judge"));
    update::rebuild(&place.state, Telling { contents: true }, Duration::from_secs(10)).unwrap();
    for word in ["canary-output", "canary-message"] {
        assert!(is_named(word), "{word}");
    }
}
