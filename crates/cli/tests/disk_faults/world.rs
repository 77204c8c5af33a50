//! A small run with a witness of its effects, and the judge of what a failing disk leaves of it.

use crate::support::front_ends::{ACT, effects, key_of, waiting};
use crate::support::journal::Events;
use crate::support::{Said, World};
use convoke_journal::{Reader, StateDir, verify};
use convoke_model::{RunId, Stamped};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Scripts that may not be repeated, a group, and an output that is worth a blob.
const FILE: &str = "
workflow: {name: w, entry_point: first}
agents:
  - {name: first, type: script, command: sh, args: [act.sh, first], routes: [{to: both}]}
  - {name: one, type: script, command: sh, args: [act.sh, one]}
  - {name: two, type: script, command: sh, args: [act.sh, two]}
  - {name: large, type: script, command: sh, idempotent: true, args: [-c, 'head -c 9000 /dev/urandom | base64'], routes: [{to: last}]}
  - {name: last, type: script, command: sh, args: [act.sh, last]}
parallel: [{name: both, agents: [one, two], routes: [{to: large}]}]
output: {last: '{{ last.output.ok }}', large: '{{ large.output.stdout | length }}'}
";

/// The effects of the run.
const KEYS: [&str; 4] = ["first", "one", "two", "last"];

/// A world for it.
pub fn world() -> World {
    let world = World::with_workflow(FILE);
    world.write("act.sh", ACT);
    world
}

/// What comes out of it.
pub fn result() -> Value {
    json!({"last": true, "large": 12158})
}

/// A run in a state folder, judged from outside.
pub struct Judged<'a> {
    pub world: &'a World,
    pub state: &'a Path,
    /// What failed, in messages.
    pub name: String,
    /// How often a person let the step of a key be repeated.
    allowed: BTreeMap<String, u64>,
}

impl<'a> Judged<'a> {
    pub fn new(world: &'a World, state: &'a Path, name: String) -> Judged<'a> {
        Judged { world, state, name, allowed: BTreeMap::new() }
    }

    /// The run, once its journal is there.
    pub fn run(&self) -> Option<String> {
        let state = StateDir::for_reading(self.state);
        let runs = state.runs().ok()?.into_iter();
        let whole = runs.filter(|run| state.run_dir(run).join("journal.db").exists());
        whole.last().map(|run| run.to_string())
    }

    /// What the journal holds: everything that was acknowledged, as the tip says.
    pub fn events(&self) -> Vec<Stamped> {
        let Some(run) = self.run() else { return Vec::new() };
        let (state, run) = (StateDir::for_reading(self.state), RunId(run.as_str().into()));
        let tip = std::fs::read(state.run_dir(&run).join("tip")).unwrap_or_default();
        let events = Reader::open(&state, &run).and_then(|reader| reader.read_all());
        let events = events.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        if let Some(seq) = tip.get(..8) {
            let seq = u64::from_le_bytes(seq.try_into().expect("eight"));
            assert!(seq <= events.len() as u64, "{}: event {seq} was acknowledged and is lost", self.name);
        }
        events
    }

    /// Resumes to the end on a disk that works; a person lets be repeated what is unknown.
    pub fn goes_on(&mut self) {
        let before = self.events();
        self.no_effect_twice();
        let said = self.drive();
        assert_eq!(said.json(), result(), "{}: the result is the undisturbed one", self.name);
        let after = self.events();
        let same = before.iter().zip(&after).take_while(|(before, after)| before == after).count();
        assert_eq!(same, before.len(), "{}: event {} was lost or changed", self.name, same + 1);
        let run = RunId(self.run().expect("a run").as_str().into());
        verify(&StateDir::for_reading(self.state), &run)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        self.no_effect_twice();
        let seen = effects(self.world);
        assert!(KEYS.iter().all(|key| seen.contains_key(*key)), "{}: {seen:?}", self.name);
    }

    fn drive(&mut self) -> Said {
        for _ in 0..20 {
            let said = match self.run() {
                Some(run) => self.world.convoke(&["resume", &run, "--silent"]),
                None => self.world.convoke(&["run", "w.yaml", "--silent"]),
            };
            match said.code {
                Some(0) => return said,
                Some(5) => self.let_it_be_repeated(),
                _ => panic!("{}\n{said}", self.name),
            }
        }
        panic!("{}: it does not come to an end", self.name);
    }

    /// Says `retry` to every question, and remembers which effects that allows once more.
    pub fn let_it_be_repeated(&mut self) {
        let run = self.run().expect("a run asks");
        for task in waiting(&Events::of(self.world, &run)) {
            self.world.convoke(&["answer", &run, &task, "retry"]).exits(0);
            *self.allowed.entry(key_of(&task)).or_default() += 1;
        }
    }

    pub fn no_effect_twice(&self) {
        for (key, times) in effects(self.world) {
            let most = 1 + self.allowed.get(&key).copied().unwrap_or(0);
            assert!(times <= most, "{}: `{key}` happened {times} times, allowed {most}", self.name);
        }
    }
}
