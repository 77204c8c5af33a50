//! Kills forty phases of six personas with SIGKILL and resumes them: what the run records is what the simulated one records.
//!
//! Manifest, answers, golden record and golden result are those of `testkit/tests/pipelines/forty.rs`, where time is virtual
//! and every event is a place to be cut off at. Here the program itself runs, and it is killed
//!
//! - once, as soon as its journal holds N events, for many N, and resumed to its end;
//! - again and again, as soon as the journal holds one more event of the record, until there is nothing left to do; with one
//!   permit, so that each end of an attempt is a commit of its own.
//!
//! A commit is written whole or not at all, so a kill leaves the journal after one of its commits: these are the places.
//! Then the record must equal the golden one without times, names, abandoned attempts and their repeats (`testkit::record`).
//! On a real clock the faster phase comes first, with or without a kill, so records are compared phase by phase
//! (`testkit::by_phase`), and that no phase was decided on too early is asked for apart (`testkit::out_of_order`). The result
//! must be the golden one, but for the order of what was announced; what the runs of the project share must have been
//! changed once.
//!
//!     CONVOKE_PIPELINE_KILLS=all cargo nextest run -p convoke kill_pipeline:: --no-capture
//!
//! kills at every N; a number kills at so many, evenly spread (6 unless told).
//!
//! Phases that are sent back run in rounds; they are killed after every further event too, and come to what a run comes to
//! without a kill.
#![allow(clippy::print_stderr, reason = "a test of many kills says where they came")]

use crate::support;

use convoke_journal::{Reader, StateDir};
use convoke_model::{Event, RunId, Stamped};
use convoke_testkit::{by_phase, out_of_order, plan_of, record, unordered};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Instant;
use support::World;
use support::process::{PATIENCE, Process};

const MANIFEST: &str = include_str!("../../testkit/tests/pipelines/forty.yaml");
const REPLIES: &str = include_str!("../../testkit/tests/pipelines/forty.replies.json");
const GOLDEN: &str = include_str!("../../testkit/tests/pipelines/forty.golden");
const RESULT: &str = include_str!("../../testkit/tests/pipelines/forty.result.json");

const CONTEXT: &str = ".convoke/project-context.json";

/// Each answer takes so long that a kill comes between two commits rather than after several.
const LATENCY_MS: u32 = 10;

/// One run of a pipeline, in a folder of its own.
struct Pipeline {
    world: World,
}

impl Pipeline {
    /// The forty phases.
    fn forty() -> Pipeline {
        let forty = Pipeline::of(MANIFEST, REPLIES);
        forty.world.write("schema.sql", "");
        forty
    }

    fn of(manifest: &str, replies: &str) -> Pipeline {
        let world = World::with_workflow(manifest);
        world.write("replies.json", replies);
        let provider = "[provider]\nname = \"scripted\"\nfile = \"replies.json\"\n";
        world.write("convoke.toml", format!("{provider}latency_ms = {LATENCY_MS}\n"));
        Pipeline { world }
    }

    /// With one permit each end of an attempt is a commit of its own.
    fn one_at_a_time(self) -> Pipeline {
        Pipeline { world: self.world.env("AGENT_MAX_CONCURRENT", "1") }
    }

    fn state(&self) -> StateDir {
        StateDir::for_reading(self.world.state())
    }

    /// The run, once there is one.
    fn run(&self) -> Option<RunId> {
        self.state().runs().unwrap_or_default().pop()
    }

    fn start(&self) -> Process {
        match self.run().filter(|_| self.holds() > 0) {
            Some(run) => self.world.start(&["resume", &run.0, "--silent"]),
            None => self.world.start(&["run", "w.yaml", "--silent"]),
        }
    }

    /// How many events the journal holds.
    fn holds(&self) -> u64 {
        self.run().and_then(|run| Tip::open(&self.state(), &run)).map_or(0, |tip| tip.events())
    }

    fn events(&self) -> Vec<Stamped> {
        let run = self.run().expect("a run was started");
        let reader = Reader::open(&self.state(), &run).expect("its journal can be read");
        reader.read_all().expect("the journal is whole")
    }

    /// Kills the process as soon as the journal holds so many events; where that was, unless it ended before.
    fn kill_at(&self, process: Process, events: u64) -> Result<u64, Process> {
        let mut tip = None;
        self.kill_when(process, || {
            tip = tip.take().or_else(|| Tip::open(&self.state(), &self.run()?));
            tip.as_ref().is_some_and(|tip| tip.events() >= events)
        })
    }

    /// Kills the process as soon as the journal holds something new behind these events: neither that another process goes on
    /// nor what begins again, for then it would never come further.
    fn kill_after(&self, process: Process, seen: u64) -> Result<u64, Process> {
        let (mut reader, mut from) = (None, seen + 1);
        self.kill_when(process, || {
            reader = reader.take().or_else(|| Reader::open(&self.state(), &self.run()?).ok());
            let Some(reader) = &reader else { return false };
            let mut found = false;
            let read = reader.read(from, &mut |stamped| {
                from = stamped.seq + 1;
                found |= is_new(&stamped.event);
            });
            read.is_ok() && found
        })
    }

    fn kill_when(&self, mut process: Process, mut is_time: impl FnMut() -> bool) -> Result<u64, Process> {
        let begin = Instant::now();
        while !is_time() {
            if process.has_ended() {
                return Err(process);
            }
            assert!(begin.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for a moment to kill");
            std::hint::spin_loop();
        }
        match process.kill() {
            true => Ok(self.holds()),
            false => Err(process),
        }
    }

    /// Kills the run whenever its journal holds something new, and resumes it, until a process comes to the run's end.
    fn killed_after_every_event(&self) -> (Process, u32) {
        let (mut kills, mut seen) = (0, 0);
        loop {
            match self.kill_after(self.start(), seen) {
                Ok(events) => (kills, seen) = (kills + 1, events),
                Err(process) => return (process, kills),
            }
        }
    }

    fn ends(&self, process: Process, what: &str) {
        let said = process.wait();
        assert_eq!(said.code, Some(0), "{what}\n{said}");
        self.judge(&said.json(), what);
    }

    /// Everything that must be so at the end.
    fn judge(&self, result: &Value, what: &str) {
        let events = self.events();
        let golden: Vec<String> = GOLDEN.lines().map(str::to_owned).collect();
        let (expected, found) = (by_phase(&golden), by_phase(&record(&told(&events))));
        let differs = (0..expected.len().max(found.len())).find(|at| expected.get(*at) != found.get(*at));
        if let Some(at) = differs {
            panic!("{what}: line {at}\nexpected {:?}\n   found {:?}", expected.get(at), found.get(at));
        }
        assert_eq!(out_of_order(&plan_of(MANIFEST, &[]), &events), None, "{what}");
        let usual: Value = serde_json::from_str(RESULT).expect("the golden result is JSON");
        assert_eq!(unordered(result.clone()), usual, "{what}");
        let shared = self.world.convoke(&["project", "show", "--format", "json"]).exits(0).json();
        assert_eq!(shared["revision"], 2, "{what}: {shared:#}");
        assert_eq!(self.remembered(), json!({}), "{what}: nothing is left of a run that has ended well");
    }

    fn remembered(&self) -> Value {
        let file: Value = serde_json::from_str(&self.world.read(CONTEXT)).expect("a context");
        file["convoke"]["made"].clone()
    }
}

/// The end of a journal that another process writes.
struct Tip(Connection);

impl Tip {
    /// Nothing while there is no journal that can be read.
    fn open(state: &StateDir, run: &RunId) -> Option<Tip> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(state.run_dir(run).join("journal.db"), flags).ok()?;
        connection.prepare_cached(Tip::EVENTS).ok()?;
        Some(Tip(connection))
    }

    const EVENTS: &str = "SELECT first + count - 1 FROM records ORDER BY first DESC LIMIT 1";

    fn events(&self) -> u64 {
        let last =
            self.0.prepare_cached(Tip::EVENTS).and_then(|mut last| last.query_row([], |row| row.get(0)));
        last.map_or(0, |number: u32| number.into())
    }
}

fn is_new(event: &Event) -> bool {
    !matches!(
        event,
        Event::RunOwned { .. }
            | Event::Blocked { .. }
            | Event::ProjectSeen { task: None, .. }
            | Event::AttemptLost { .. }
            | Event::ContractResolved { .. }
            | Event::AttemptStarted { .. }
            | Event::Noted { .. }
    )
}

/// What is told beside the record is left out.
fn told(events: &[Stamped]) -> Vec<Stamped> {
    events.iter().filter(|stamped| !matches!(stamped.event, Event::Noted { .. })).cloned().collect()
}

#[test]
fn forty_phases_that_nobody_kills_give_the_golden_record() {
    let forty = Pipeline::forty();
    forty.ends(forty.start(), "undisturbed");
}

#[test]
fn forty_phases_killed_once_give_the_golden_record() {
    let usual = Pipeline::forty();
    usual.ends(usual.start(), "undisturbed");
    let all = usual.holds();
    let places: Vec<u64> = match std::env::var("CONVOKE_PIPELINE_KILLS").as_deref() {
        Ok("all") => (1..=all).collect(),
        wanted => {
            let wanted = wanted.ok().and_then(|text| text.parse().ok()).unwrap_or(6u64).clamp(1, all);
            (1..=wanted).map(|place| place * all / (wanted + 1)).collect()
        }
    };
    let mut landed = BTreeSet::new();
    for place in &places {
        let forty = Pipeline::forty();
        let what = format!("killed at {place} of {all} events");
        match forty.kill_at(forty.start(), *place) {
            Ok(at) => {
                landed.insert(at);
                forty.ends(forty.start(), &what);
            }
            Err(process) => forty.ends(process, &what),
        }
    }
    eprintln!("{} kills after {} different events of about {all}: {landed:?}", places.len(), landed.len());
    assert!(landed.len() * 3 >= places.len().min(90), "too many kills came to the same places: {landed:?}");
}

#[test]
fn forty_phases_killed_after_every_further_event_give_the_golden_record() {
    let forty = Pipeline::forty().one_at_a_time();
    let (process, kills) = forty.killed_after_every_event();
    forty.ends(process, &format!("killed {kills} times"));
    eprintln!("killed {kills} times in one run");
    assert!(kills > 40, "only {kills} kills: each end of an attempt is one");
}

#[test]
fn who_asks_for_a_run_that_was_killed_right_after_its_end_leaves_nothing_of_it_behind() {
    let forty = Pipeline::forty();
    forty.ends(forty.start(), "undisturbed");
    let mut file: Value = serde_json::from_str(&forty.world.read(CONTEXT)).expect("a context");
    file["convoke"]["made"] = json!({ forty.world.run(): ["one/try[1]"], "another": ["x"] });
    forty.world.write(CONTEXT, file.to_string());
    forty.world.convoke(&["resume", &forty.world.run(), "--silent"]).exits(0);
    assert_eq!(forty.remembered(), json!({ "another": ["x"] }));
}

/// QA sends work back to the builder, four rounds at most; the review behind it sends it back to the plan, twice at most.
const SENT_BACK: &str = "
schemaVersion: '1'
name: sent_back
topologies: [sequential]
personas: [{id: p, displayName: P, systemPromptTemplate: You work.}]
relationships: []
pipeline:
  entryNodeId: plan
  nodes:
    - {id: plan, actorId: model, personaId: p}
    - {id: build, actorId: model, personaId: p}
    - {id: qa, actorId: model, personaId: p, constraints: {maxRetries: 0}}
    - {id: review, actorId: model, personaId: p, constraints: {maxRetries: 0}}
    - {id: release, actorId: model, personaId: p}
  edges:
    - {from: plan, to: build}
    - {from: build, to: qa}
    - {from: qa, to: build, on: validation_fail, maxRounds: 4}
    - {from: qa, to: review}
    - {from: review, to: plan, on: validation_fail, maxRounds: 3}
    - {from: review, to: release}
";

/// QA refuses the first round, the review the second, QA the third; the fourth is accepted.
fn sent_back_replies() -> String {
    let refused = json!({"json": {"status": "validation_fail", "payload": {}, "reason": "not yet"}});
    let mut replies = serde_json::Map::new();
    for phase in ["plan", "build", "qa", "review", "release"] {
        for round in ["", "#2", "#3", "#4"] {
            let task = format!("{phase}{round}/try[1]");
            let reply = match task.as_str() {
                "qa/try[1]" | "review#2/try[1]" | "qa#3/try[1]" => refused.clone(),
                _ => json!({"json": {"status": "success", "payload": {"by": task}}}),
            };
            replies.insert(task, reply);
        }
    }
    Value::Object(replies).to_string()
}

#[test]
fn phases_that_are_sent_back_come_to_the_same_end_wherever_they_are_killed() {
    let replies = sent_back_replies();
    let usual = Pipeline::of(SENT_BACK, &replies).one_at_a_time();
    let expected = usual.start().wait().exits(0).json();
    let rounds = |phase: &str| expected["phases"][phase]["rounds"].as_array().map(Vec::len);
    assert_eq!((rounds("qa"), rounds("plan")), (Some(4), Some(2)), "{expected:#}");
    let killed = Pipeline::of(SENT_BACK, &replies).one_at_a_time();
    let (process, kills) = killed.killed_after_every_event();
    assert_eq!(unordered(process.wait().exits(0).json()), unordered(expected), "killed {kills} times");
    let record = |pipeline: &Pipeline| by_phase(&record(&told(&pipeline.events())));
    assert_eq!(record(&killed), record(&usual), "killed {kills} times");
    eprintln!("killed {kills} times in one run");
    assert!(kills >= 10, "only {kills} kills of thirteen: each end of an attempt is one");
}
