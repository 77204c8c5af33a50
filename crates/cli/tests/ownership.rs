//! One run, one owner, between whole processes: twenty that resume it at once, and owners that are stopped for longer than their lease at
//! any moment.
//!
//!     CONVOKE_RACING_PROCESSES=1000 CONVOKE_TAKEOVERS=500 cargo test -p convoke --test all ownership:: -- --nocapture
//!
//! is the long form.
#![allow(clippy::print_stderr, reason = "what was counted is for people")]

use crate::support;

use convoke_journal::{Reader, StateDir, StoppedOwner, verify};
use convoke_model::{Event, RunId, Stamped};
use rustix::process::Signal;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::World;
use support::front_ends::{ACT, effects, key_of, waiting};
use support::journal::Events;
use support::model::Model;
use support::process::{Process, until};
use support::random::{Random, fresh_seed, number};

/// Processes that race for one run.
const RACERS: usize = 20;

/// A script that may be repeated, and leaves a line each time that it begins.
const WAITS: &str = r#"
workflow: {name: w, entry_point: waits}
agents:
  - {name: waits, type: script, command: sh, idempotent: true, args: [-c, 'echo x >>began; while [ ! -e go ]; do sleep 0.01; done; echo 1']}
output: {said: '{{ waits.output.stdout | trim }}'}
"#;

fn events(world: &World, run: &str) -> Vec<Stamped> {
    let events = Reader::open(&StateDir::for_reading(world.state()), &RunId(run.into()));
    events.and_then(|reader| reader.read_all()).unwrap_or_else(|error| panic!("{run}: {error}"))
}

fn owners(world: &World, run: &str) -> usize {
    events(world, run).iter().filter(|stamped| matches!(stamped.event, Event::RunOwned { .. })).count()
}

#[test]
fn of_twenty_resumes_at_once_one_owns_the_run_and_the_others_are_told_which() {
    let rounds = number("CONVOKE_RACING_PROCESSES").unwrap_or(2);
    let world = World::with_workflow(WAITS);
    let mut first = world.start(&["run", "w.yaml", "--silent"]);
    until("the script has begun", || !world.read("began").is_empty());
    first.kill();
    let run = world.run();
    let before = owners(&world, &run);
    for round in 1..=rounds {
        let owned = before + round as usize;
        race(&world, &run, round, owned - 1);
        assert_eq!(owners(&world, &run), owned, "round {round}: one owner more");
    }
    world.write("go", "");
    assert_eq!(world.convoke(&["resume", &run, "--silent"]).exits(0).json(), json!({"said": 1}));
    world.convoke(&["verify", &run]).exits(0);
    let refused = rounds * (RACERS as u64 - 1);
    eprintln!("{rounds} rounds of {RACERS} processes: {rounds} owners, {refused} refused by name");
}

/// One round: the owner is killed once all others were refused.
fn race(world: &World, run: &str, round: u64, before: usize) {
    let start = |_| {
        let process = world.start(&["resume", run, "--silent"]);
        process.signal(Signal::STOP);
        process
    };
    let mut racing: Vec<Process> = (0..RACERS).map(start).collect();
    racing.iter().for_each(|process| process.signal(Signal::CONT));
    until("all but one have ended", || {
        racing.iter_mut().map(Process::has_ended).filter(|has_ended| !has_ended).count() <= 1
    });
    let at = racing.iter_mut().position(|process| !process.has_ended());
    let mut owner = racing.remove(at.unwrap_or_else(|| panic!("round {round}: no process owns the run")));
    let name = format!("driven by process {} ", owner.pid().as_raw_nonzero());
    for process in racing {
        process.wait().exits(6).prints_nothing().mentions(&[&name]);
    }
    until("its ownership is on record", || owners(world, run) > before);
    assert!(owner.kill(), "round {round}: the owner still drives the run");
}

/// Models are asked and scripts have effects by turns.
const BY_TURNS: &str = "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: first, routes: [{to: s0}]}
  - {name: s0, type: script, command: sh, args: [act.sh, s0], routes: [{to: b}]}
  - {name: b, prompt: second, routes: [{to: both}]}
  - {name: s1, type: script, command: sh, args: [act.sh, s1]}
  - {name: s2, type: script, command: sh, args: [act.sh, s2]}
  - {name: c, prompt: third, routes: [{to: s3}]}
  - {name: s3, type: script, command: sh, args: [act.sh, s3]}
parallel: [{name: both, agents: [s1, s2], routes: [{to: c}]}]
output: {said: '{{ c.output.result }}', last: '{{ s3.output.ok }}'}
";

fn by_turns(model: &Model) -> World {
    let world = World::with_workflow(BY_TURNS);
    world.write("act.sh", ACT);
    let provider = format!("name = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\n", model.url());
    world.write("convoke.toml", format!("lease_seconds = 1\n\n[provider]\n{provider}model = \"m\"\n"));
    world
}

/// Rounds at once: each waits for a lease to run out.
const AT_ONCE: u64 = 3;

#[test]
fn an_owner_that_is_stopped_at_any_moment_appends_and_sends_nothing_after_a_takeover() {
    let (rounds, all) = stop_owners(number("CONVOKE_TAKEOVERS").unwrap_or(3), StoppedOwner::Ends);
    let (taken, ended) =
        (all.iter().filter(|was| was.taken).count(), all.iter().filter(|was| was.ended).count());
    eprintln!(
        "{rounds} owners stopped: {taken} runs taken over, {ended} owners ended, 0 appended, sent or started anything"
    );
    assert!(rounds < 3 || taken > 0, "no owner was stopped in time");
}

/// The same where the old owner is not ended, as one that is not stopped but stuck: it appends and starts nothing. A request that it was about
/// to write to a connection may still be sent, and at most the one that it was at.
#[test]
fn an_owner_that_is_left_to_find_out_appends_and_starts_nothing_after_a_takeover() {
    let (rounds, all) = stop_owners(number("CONVOKE_TAKEOVERS").unwrap_or(3), StoppedOwner::FindsOut);
    let taken = all.iter().filter(|was| was.taken).count();
    let late: usize = all.iter().map(|was| was.late).sum();
    eprintln!(
        "{rounds} owners stopped: {taken} runs taken over, 0 appended or started anything, {late} requests were sent late"
    );
    assert!(rounds < 3 || taken > 0, "no owner was stopped in time");
}

fn stop_owners(rounds: u64, owner: StoppedOwner) -> (u64, Vec<Was>) {
    let seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
    eprintln!("CONVOKE_SEED={seed}");
    let usual = {
        let model = Model::answering(|_| json!({"say": "done", "delay_ms": 30}));
        let (world, begin) = (by_turns(&model), Instant::now());
        world.convoke(&["run", "w.yaml", "--silent"]).exits(0);
        begin.elapsed()
    };
    let (next, all) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let play = || {
        loop {
            let round = next.fetch_add(1, Ordering::Relaxed);
            if round >= rounds {
                return;
            }
            let was = taken_over(Random(seed ^ (round << 32)), usual, round, owner);
            all.lock().expect("no round panics while it counts").push(was);
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(play))));
    (rounds, all.into_inner().expect("no round panics while it counts"))
}

#[derive(Default)]
struct Was {
    /// Another process went on with the run.
    taken: bool,
    /// The old owner was ended.
    ended: bool,
    /// Requests that it sent all the same when it went on.
    late: usize,
}

fn taken_over(mut random: Random, usual: Duration, round: u64, owner: StoppedOwner) -> Was {
    let model = Model::answering(|_| json!({"say": "done", "delay_ms": 30}));
    let world = by_turns(&model);
    let mut stopped = world.start(&["run", "w.yaml", "--silent"]);
    let state = StateDir::for_reading(world.state());
    let run = || state.runs().ok().and_then(|runs| runs.last().map(ToString::to_string));
    until("the run is there", || {
        stopped.has_ended()
            || run().is_some_and(|run| {
                Reader::open(&state, &RunId(run.as_str().into())).is_ok_and(|reader| reader.last() > 0)
            })
    });
    // The first is stopped at its beginning: on a machine whose speed changes, none of a few may be stopped in time.
    let part = if round == 0 { 0.0 } else { random.below(1000) as f64 / 1000.0 };
    let (begin, after) = (Instant::now(), usual.mul_f64(part));
    until("a moment to stop", || begin.elapsed() >= after || stopped.has_ended());
    stopped.signal(Signal::STOP);
    let run = run().expect("a run");
    if stopped.has_ended() {
        return Was::default();
    }
    let name = format!("round {round}, stopped after {after:?}");
    let allowed = gone_on_with(&world, &run, &name, owner);
    let had_ended = |events: &[Stamped]| {
        events.iter().filter(|stamped| matches!(stamped.event, Event::RunFinished { .. })).count()
    };
    let before = (model.asked().len(), events(&world, &run), world.read("witness"));
    assert_eq!(had_ended(&before.1), 1, "{name}: it ended once");
    stopped.signal(Signal::CONT);
    let said = stopped.wait();
    let after = (model.asked().len(), events(&world, &run), world.read("witness"));
    let late = after.0 - before.0;
    match owner {
        // It was ended when the run was taken over; one that had nothing more to write had ended the run itself.
        StoppedOwner::Ends => {
            assert!(matches!(said.code, Some(0) | None), "{name}: the old owner\n{said}");
            assert_eq!(late, 0, "{name}: the old owner sent a request");
        }
        // One that kept the journal locked was ended all the same.
        StoppedOwner::FindsOut => {
            assert!(matches!(said.code, Some(0 | 6) | None), "{name}: the old owner\n{said}");
            assert!(late <= 1, "{name}: the old owner went on sending requests: {late}");
        }
    }
    assert_eq!(before.1, after.1, "{name}: the old owner appended something");
    assert_eq!(before.2, after.2, "{name}: the old owner did something");
    for (key, times) in effects(&world) {
        let most = 1 + allowed.get(&key).copied().unwrap_or(0);
        assert!(times <= most, "{name}: `{key}` happened {times} times, allowed {most}");
    }
    verify(&state, &RunId(run.as_str().into())).unwrap_or_else(|error| panic!("{name}: {error}"));
    Was { taken: owners(&world, &run) > 1, ended: said.code.is_none(), late }
}

/// Takes the run over and drives it to its end; how often a person let the step of a key be repeated.
fn gone_on_with(world: &World, run: &str, name: &str, owner: StoppedOwner) -> BTreeMap<String, u64> {
    let mut allowed = BTreeMap::new();
    let begin = Instant::now();
    loop {
        let mut command = world.command(&["resume", run, "--silent"]);
        if owner == StoppedOwner::FindsOut {
            command.env("CONVOKE_TEST_STOPPED_OWNER", "1");
        }
        let said = Process::start(command).wait();
        match said.code {
            Some(0) => return allowed,
            Some(6) => {
                let said = said.mentions(&["driven by process"]);
                assert!(
                    begin.elapsed() < support::process::PATIENCE,
                    "{name}: it cannot be taken over\n{said}"
                );
            }
            Some(5) => {
                for task in waiting(&Events::of(world, run)) {
                    world.convoke(&["answer", run, &task, "retry"]).exits(0);
                    *allowed.entry(key_of(&task)).or_default() += 1;
                }
            }
            _ => panic!("{name}\n{said}"),
        }
    }
}
