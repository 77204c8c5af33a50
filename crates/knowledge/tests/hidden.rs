//! No value of a run is in its graph.

use crate::kit::{Place, WORKFLOWS, append, named, world};
use convoke_knowledge::project::Telling;
use convoke_knowledge::update;
use convoke_model::RunId;
use std::time::Duration;

#[test]
fn inputs_items_outputs_and_messages_stay_in_the_journal() {
    let place = Place::new();
    let mut has_failed = false;
    for number in 0..WORKFLOWS.len() {
        let run = RunId(format!("20261119-10000{number}-abcd").into());
        let mut world = world(number, 3 + number as u64);
        world.finish();
        has_failed |=
            world.events().any(|stamped| format!("{:?}", stamped.event).contains("message: \"simulated "));
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
    assert_eq!((around("canary"), around("simulated ")), (None, None));
    // Steps that the author named are there.
    assert!(is_named("judge"));
    update::rebuild(&place.state, Telling { contents: true }, Duration::from_secs(10)).unwrap();
    assert!(is_named("canary-output"), "output");
    assert_eq!(is_named("simulated "), has_failed, "messages of failures");
}
