//! A process dies at every named place between an answer and what follows from it: the answer counts once, or not at all and can
//! be given again. `CONVOKE_ANSWER_KILLS=all` is the long version.

use crate::support::World;
use crate::support::journal::Events;
use serde_json::json;

const GATED: &str = "
workflow: {name: w, entry_point: ask}
agents:
  - {name: ask, type: human_gate, prompt: 'go?', options: [{label: Y, value: y, route: count}, {label: N, value: n, route: count}]}
  - {name: count, type: script, command: sh, args: [-c, 'echo x >>witness'], idempotent: true, routes: [{to: again}]}
  - {name: again, type: human_gate, prompt: 'again?', options: [{label: Y, value: y, route: $end}]}
output: {said: '{{ ask.output.selected }}'}
";

/// Places that `answer --resume` passes, in the order of a run.
fn places(world: &World) -> Vec<String> {
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    let counts = world.work().join("counts");
    let mut command = world.command(&["answer", &run, "ask", "y", "--resume"]);
    command.env("CONVOKE_FAILPOINT_COUNTS", &counts);
    assert_eq!(command.output().expect("it runs").status.code(), Some(5));
    let counts = std::fs::read(&counts).expect("places are counted");
    let times =
        counts.chunks_exact(8).map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")));
    let reached = convoke_failpoint::NAMES.iter().zip(times).filter(|(_, times)| *times > 0);
    let between = |name: &&str| ["inbox.", "journal.", "engine."].iter().any(|part| name.starts_with(part));
    reached.map(|(name, _)| *name).filter(between).map(str::to_owned).collect()
}

#[test]
fn an_answer_is_applied_once_wherever_its_process_dies() {
    let places = places(&World::with_workflow(GATED));
    assert!(places.len() >= 5, "{places:?}");
    // Every place of the inbox, and every fifth of the journal and the engine unless told otherwise.
    let all = std::env::var_os("CONVOKE_ANSWER_KILLS").is_some();
    let wanted = |(at, place): &(usize, &String)| all || place.starts_with("inbox.") || at % 5 == 0;
    for (_, place) in places.iter().enumerate().filter(wanted) {
        let world = World::with_workflow(GATED);
        world.convoke(&["run", "w.yaml"]).exits(5);
        let run = world.run();
        let mut command = world.command(&["answer", &run, "ask", "y", "--resume"]);
        let died = command.env("CONVOKE_FAILPOINT", place).output().expect("it runs").status;
        assert_eq!(died.code(), None, "{place}: {died}");
        // Another answer is taken where the first one was not on disk, and only there.
        let second = world.convoke(&["answer", &run, "ask~1", "n"]);
        let said = match second.code {
            Some(0) => "n",
            Some(20) => "y",
            _ => panic!("{place}: {second}"),
        };
        world.convoke(&["resume", &run]).exits(5);
        let ended = world.convoke(&["answer", &run, "again", "y", "--resume"]).exits(0);
        assert_eq!(ended.json(), json!({ "said": said }), "{place}");
        let events = Events::of(&world, &run);
        assert_eq!(events.count("gate_answered"), 2, "{place}: each question has one answer");
        world.convoke(&["verify", &run]).exits(0);
    }
}
