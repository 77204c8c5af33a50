//! A run's events as `convoke events` prints them: the journal, seen from outside.

use super::World;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The events of a run, in the order of their numbers.
pub struct Events(pub Vec<Value>);

impl Events {
    /// Reads them; the numbers must be 1, 2, 3, …
    pub fn of(world: &World, run: &str) -> Events {
        let said = world.convoke(&["events", run, "--format", "json"]).exits(0);
        let events: Vec<Value> =
            said.stdout.lines().map(|line| serde_json::from_str(line).expect("an event is JSON")).collect();
        for (index, event) in events.iter().enumerate() {
            assert_eq!(event["seq"], index as u64 + 1, "the journal has no gaps");
        }
        Events(events)
    }

    /// The tasks and attempts of one kind of event, in order.
    pub fn attempts(&self, kind: &str) -> Vec<(String, u64)> {
        let found = self.0.iter().filter_map(|event| event["event"].get(kind));
        let named = found.map(|body| {
            let task = body["task"].as_str().expect("an attempt has a task").to_owned();
            (task, body["attempt"].as_u64().expect("an attempt has a number"))
        });
        named.collect()
    }

    /// The tasks whose attempt finished: the journal holds their end.
    pub fn finished(&self) -> BTreeSet<String> {
        self.attempts("attempt_finished").into_iter().map(|(task, _)| task).collect()
    }

    /// How often each task was started.
    pub fn starts(&self) -> BTreeMap<String, u64> {
        let mut starts = BTreeMap::new();
        for (task, _) in self.attempts("attempt_started") {
            *starts.entry(task).or_default() += 1;
        }
        starts
    }

    /// How many events of a kind there are.
    pub fn count(&self, kind: &str) -> usize {
        self.0.iter().filter(|event| event["event"].get(kind).is_some()).count()
    }
}
