//! The ledger of an agent's calls: what is claimed, committed, and taken from an attempt before.

use super::*;
use convoke_model::{EffectClaim, EffectCommit, KnownResult};
use std::collections::HashSet;

fn claims(scene: &Scene) -> Vec<EffectClaim> {
    scene.engine.records.lock().unwrap().iter().flat_map(|record| record.claimed.clone()).collect()
}

/// Commits that ride with records, and those that are told at once.
fn commits(scene: &Scene) -> (Vec<EffectCommit>, Vec<EffectCommit>) {
    let riding =
        scene.engine.records.lock().unwrap().iter().flat_map(|record| record.committed.clone()).collect();
    let reports = scene.engine.reports.lock().unwrap();
    let told = reports.iter().filter_map(|report| match report {
        Report::EffectCommitted(commit) => Some(commit.clone()),
        _ => None,
    });
    (riding, told.collect())
}

#[tokio::test]
async fn a_call_alone_is_claimed_with_its_turn_and_committed_with_its_result() {
    let scene = Scene::new([wants(&[("s__act", "{}")]), answers("done")]);
    finished(scene.run().await);
    let claimed = claims(&scene);
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].what, "s__act");
    let (riding, told) = commits(&scene);
    assert_eq!(riding, [EffectCommit { key: claimed[0].key.clone(), failed: false, result: None }]);
    assert!(told.is_empty());
    let looks = Scene::new([wants(&[("s__look", "{}")]), answers("done")]);
    finished(looks.run().await);
    assert!(claims(&looks).is_empty(), "what changes nothing is no effect");
}

#[tokio::test]
async fn no_two_calls_have_the_same_key() {
    let twice = [("s__act", "{}"), ("s__act", "{}")];
    let first = Scene::new([wants(&twice), wants(&twice), Err(Failure::new(Class::Fatal, "no"))]);
    assert!(matches!(first.run().await, AttemptEnd::Failed { .. }));
    let mut anew = Scene::new([wants(&twice), answers("done")]);
    anew.assignment.past = first.engine.pieces();
    finished(anew.run().await);
    let keys: HashSet<String> =
        claims(&first).into_iter().chain(claims(&anew)).map(|claim| claim.key).collect();
    assert_eq!(keys.len(), 6, "two turns, and one of a conversation that begins anew");
}

#[tokio::test]
async fn a_result_that_was_known_is_used_and_only_the_other_call_is_unknown() {
    let calls = [("s__act", "{\"n\":1}"), ("s__act", "{\"n\":2}")];
    let first = Scene::new([wants(&calls), answers("done")]);
    finished(first.run().await);
    let (riding, told) = commits(&first);
    assert!(riding.is_empty() && told.len() == 2, "calls of one turn are committed one by one");
    let mut again = Scene::new([answers("done")]);
    again.assignment.continues = first.engine.pieces()[..1].to_vec();
    let result = told[0].result.clone().expect("the turn is not recorded yet");
    again.assignment.known_results = vec![KnownResult { key: told[0].key.clone(), result }];
    finished(again.run().await);
    assert!(again.called().is_empty());
    let texts = again.texts(0);
    assert_eq!(texts[1], "act {\"n\":1}");
    assert!(texts[2].contains("is unknown"), "{texts:?}");
    assert!(claims(&again).is_empty(), "nothing is made again");
}
