//! A process dies at a place between a question about a call and its result: the call is made once or not at all, never twice, and
//! never unasked. `CONVOKE_APPROVAL_KILLS=all` is the long version.

use super::{made, one, told};
use crate::support::World;
use crate::support::journal::Events;

/// The places that a command passes, in the order of their names.
fn places(world: &World, args: &[&str], code: i32) -> Vec<&'static str> {
    let counts = world.work().join("counts");
    let mut command = world.command(args);
    command.env("CONVOKE_FAILPOINT_COUNTS", &counts);
    assert_eq!(command.output().expect("it runs").status.code(), Some(code));
    let counts = std::fs::read(&counts).expect("places are counted");
    let times =
        counts.chunks_exact(8).map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")));
    let reached = convoke_failpoint::NAMES.iter().zip(times).filter(|(_, times)| *times > 0);
    reached.map(|(name, _)| *name).collect()
}

/// Those of calls and their records always; of the others every twelfth, unless told otherwise.
fn sample(places: Vec<&'static str>) -> Vec<&'static str> {
    let all = std::env::var_os("CONVOKE_APPROVAL_KILLS").is_some();
    let near = [
        "agent.call",
        "agent.turn",
        "agent.talk",
        "inbox.",
        "commit.gate",
        "commit.attempt_suspended",
        "commit.turn",
    ];
    let wanted =
        |(at, place): &(usize, &&str)| all || at % 12 == 0 || near.iter().any(|name| place.starts_with(name));
    let kept: Vec<_> = places.iter().enumerate().filter(wanted).map(|(_, place)| *place).collect();
    kept.into_iter().filter(|place| !place.starts_with("supervisor.")).collect()
}

/// Goes on until the run has ended, with a yes to whatever it asks.
fn to_its_end(world: &World, run: &str, place: &str) {
    for _ in 0..5 {
        if world.status() == "succeeded" {
            return;
        }
        let asks = !super::waiting(world, run).is_empty();
        let args: &[&str] =
            if asks { &["answer", run, "first", "approve", "--resume"] } else { &["resume", run] };
        let said = world.convoke(args);
        assert!(matches!(said.code, Some(0 | 5 | 20)), "{place}: {said}");
        if said.code == Some(20) {
            world.convoke(&["resume", run]);
        }
    }
    panic!("{place}: it does not end");
}

fn is_made_once(world: &World, run: &str, place: &str) {
    let calls = made(world);
    assert!(calls.len() <= 1, "{place}: {calls:?}");
    let said = told(world, run, "first");
    let is_known = said.contains("delete_all was done");
    assert!(is_known && calls.len() == 1 || said.contains("unknown outcome"), "{place}: {calls:?}\n{said}");
    world.convoke(&["verify", run]).exits(0);
}

#[test]
fn an_allowed_call_is_made_at_most_once_wherever_its_process_dies() {
    let counted = one();
    counted.convoke(&["run", "w.yaml"]).exits(5);
    let all = places(&counted, &["answer", &counted.run(), "first", "approve", "--resume"], 0);
    let places = sample(all);
    assert!(places.len() >= 8, "{places:?}");
    for place in places {
        let world = one();
        world.convoke(&["run", "w.yaml"]).exits(5);
        let run = world.run();
        let mut command = world.command(&["answer", &run, "first", "approve", "--resume"]);
        let died = command.env("CONVOKE_FAILPOINT", place).output().expect("it runs").status;
        assert_eq!(died.code(), None, "{place}: {died}");
        to_its_end(&world, &run, place);
        is_made_once(&world, &run, place);
    }
}

#[test]
fn a_call_is_not_made_unasked_wherever_the_process_dies_that_asks() {
    let all = places(&one(), &["run", "w.yaml"], 5);
    let places = sample(all);
    assert!(places.len() >= 5, "{places:?}");
    for place in places {
        let world = one();
        let mut command = world.command(&["run", "w.yaml"]);
        command.env("CONVOKE_FAILPOINT", place).output().expect("it runs");
        if world.runs().is_empty() {
            continue;
        }
        let run = world.run();
        assert!(made(&world).is_empty(), "{place}");
        if super::waiting(&world, &run).is_empty() {
            // A run that has not begun cannot go on.
            if world.convoke(&["resume", &run]).code != Some(5) {
                assert!(
                    made(&world).is_empty() && Events::of(&world, &run).count("gate_opened") == 0,
                    "{place}"
                );
                continue;
            }
        }
        assert!(made(&world).is_empty(), "{place}");
        to_its_end(&world, &run, place);
        is_made_once(&world, &run, place);
    }
}
