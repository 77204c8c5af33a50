//! The same journal gives the same next decision, folded from memory or from disk.

use crate::goals::again::broken_goal;
use convoke_model::{Blob, Digest, Event, JsonText, Stamped};
use convoke_schedule::{Outputs, Scheduler};
use convoke_testkit::World;
use std::cell::RefCell;
use std::collections::HashMap;

/// The values of a run; what a decision makes is kept apart.
struct Values<'w> {
    run: &'w World,
    made: RefCell<HashMap<Digest, JsonText>>,
}

impl Outputs for Values<'_> {
    fn get(&self, digest: &Digest) -> Option<JsonText> {
        self.made.borrow().get(digest).cloned().or_else(|| self.run.kept(digest))
    }

    fn put(&self, blob: Blob) {
        self.made.borrow_mut().insert(blob.digest, blob.text);
    }
}

/// The events as a journal on disk gives them back.
fn read_back<'e>(events: impl Iterator<Item = &'e Stamped>) -> Vec<Stamped> {
    let text: Vec<String> = events.map(|event| serde_json::to_string(event).unwrap()).collect();
    text.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn decided<'e>(events: impl Iterator<Item = &'e Event>) -> Vec<&'e Event> {
    events.filter(|event| matches!(event, Event::GoalDecided { .. })).collect()
}

#[test]
fn the_same_journal_gives_the_same_next_decisions() {
    let mut compared = 0;
    for seed in (0..120).step_by(5) {
        let (plan, world) = broken_goal(seed);
        for (number, commit) in world.commits.iter().enumerate() {
            let is_decision = |stamped: &Stamped| matches!(stamped.event, Event::GoalDecided { .. });
            let Some(first) = commit.iter().position(is_decision) else { continue };
            let before = world.commits[..number].iter().flatten().chain(&commit[..first]);
            let mut fresh = Scheduler::new(plan.clone());
            read_back(before).iter().for_each(|event| fresh.apply(event).expect("it is the same journal"));
            let values = Values { run: &world, made: RefCell::default() };
            let turn = fresh.decide(commit[first].at, &values);
            let (again, then) =
                (decided(turn.events.iter()), decided(commit.iter().map(|stamped| &stamped.event)));
            assert_eq!(again, then, "seed {seed}, commit {number}");
            compared += again.len();
        }
    }
    assert!(compared > 300, "too few decisions: {compared}");
}
