//! Old runs go when they are asked to, or by the configuration, and none that is open goes.

use crate::common;

use common::World;
use serde_json::Value;

const GOOD: &str = "\
workflow: {name: good, entry_point: a, input: {city: {type: string, default: Oslo}}}
agents: [{name: a, type: script, command: echo, args: [hi]}]
";

const BAD: &str = "\
workflow: {name: bad, entry_point: a}
agents: [{name: a, type: terminate, status: failed, reason: no}]
";

const GATE: &str = "\
workflow: {name: gate, entry_point: a}
agents:
  - {name: a, type: human_gate, prompt: Go on?, options: [{label: yes, value: y, route: $end}]}
";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A run that succeeded, one that failed and one that waits, in this order.
fn three() -> (World, [String; 3]) {
    let world = World::with(GOOD);
    world.write("bad.yaml", BAD);
    world.write("gate.yaml", GATE);
    let runs = [("w.yaml", 0), ("bad.yaml", 1), ("gate.yaml", 5)].map(|(file, code)| {
        let said = world.run(&["run", file, "--no-interactive"]);
        assert_eq!(said.code, code, "{}", said.stderr);
        world.newest()
    });
    (world, runs)
}

fn listed(world: &World) -> Vec<String> {
    let listed = json(&world.run(&["runs", "--format", "json"]).stdout);
    listed.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

fn removed(world: &World, args: &[&str]) -> Vec<String> {
    let said = world.run(&[&["prune", "--format", "json"], args].concat());
    assert_eq!(said.code, 0, "{}", said.stderr);
    let removed = json(&said.stdout);
    removed["removed"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_that_have_ended_go_and_a_dry_run_says_which_and_how_much() {
    let (world, [good, bad, gate]) = three();
    let would = world.run(&["prune", "--keep-last", "0", "--dry-run"]);
    assert_eq!(would.stdout.lines().count(), 2, "{}", would.stdout);
    assert!(
        would.stdout.contains(&format!("{bad} bad failed ")) && would.stdout.contains(" kB"),
        "{}",
        would.stdout
    );
    assert!(would.stderr.contains("2 runs would be removed, ") && would.stderr.contains(" kB to be freed"));
    assert!(removed(&world, &[]).is_empty(), "the newest 50 stay unless told");
    assert!(removed(&world, &["--older-than", "1d"]).is_empty());
    assert!(removed(&world, &["--max-size", "1GB"]).is_empty());
    assert_eq!(removed(&world, &["--status", "failed", "--older-than", "0s"]), [bad]);
    assert!(removed(&world, &["--workflow", "goo", "--keep-last", "0"]).is_empty());
    assert_eq!(removed(&world, &["--workflow", "good", "--max-size", "1kB"]), [good]);
    assert_eq!(listed(&world), [gate]);
    let said = world.run(&["prune", "--keep-last", "0"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, ""));
    assert!(said.stderr.contains("0 runs removed"), "{}", said.stderr);
}

#[test]
fn runs_that_can_be_resumed_go_only_when_that_is_said_twice() {
    let (world, [good, bad, gate]) = three();
    let said = world.run(&["prune", "--status", "parked", "--keep-last", "0"]);
    assert_eq!(said.code, 2);
    assert!(
        said.stderr.contains("can be resumed") && said.stderr.contains("--include-unfinished"),
        "{}",
        said.stderr
    );
    let said = world.run(&["prune", "--status", "running", "--include-unfinished"]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    let args = ["--status", "parked", "--include-unfinished", "--keep-last", "0"];
    assert_eq!(removed(&world, &args), [gate]);
    assert_eq!(listed(&world), [bad, good]);
}

#[test]
fn old_runs_go_by_the_configuration_after_a_run_once_in_a_while() {
    let world = World::with(GOOD);
    world.write("convoke.toml", "[retention]\nkeep_last = 1\nevery = \"1h\"\n");
    let first = world.run(&["run", "w.yaml"]);
    assert!(!first.stderr.contains("retention"), "{}", first.stderr);
    world.run(&["run", "w.yaml"]);
    assert_eq!(listed(&world).len(), 2, "it is too early");
    std::fs::remove_file(world.state().join("retention")).unwrap();
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "{}\n"));
    assert!(said.stderr.contains("retention: 2 runs removed, "), "{}", said.stderr);
    assert_eq!(listed(&world), [world.newest()]);
}

#[test]
fn the_file_of_a_project_removes_no_run_of_another() {
    let world = World::with(GOOD);
    world.run(&["run", "w.yaml"]);
    world.write("other/w.yaml", GOOD);
    world.write("other/convoke.toml", "[retention]\nkeep_last = 0\n");
    let said = world.command(&["run", "w.yaml"]).current_dir(world.path("other")).output().unwrap();
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(words.contains("retention: 1 run removed, "), "{words}");
    assert_eq!(listed(&world).len(), 1, "its own run went, the other stays");
}

#[test]
fn a_retention_that_is_no_retention_is_refused() {
    let world = World::with(GOOD);
    for (text, words) in [
        ("older_than = \"soon\"", "30d"),
        ("max_size = \"5\"", "5GB"),
        ("status = [\"parked\"]", "succeeded, partial"),
        ("status = [\"failed\"]", "removes nothing by itself"),
    ] {
        world.write("convoke.toml", format!("[retention]\n{text}\n"));
        let said = world.run(&["run", "w.yaml"]);
        assert_eq!(said.code, 2, "{text}: {}", said.stderr);
        assert!(said.stderr.contains(words), "{text}: {}", said.stderr);
    }
}

#[test]
fn runs_are_found_by_words_of_theirs() {
    let world = World::with(GOOD);
    world.run(&["run", "w.yaml", "-i", "city=Bergen"]);
    let bergen = world.newest();
    world.run(&["run", "w.yaml", "--metadata", "ticket=A-7"]);
    let ticket = world.newest();
    let find = |words: &[&str]| {
        let listed = json(&world.run(&[&["runs", "--format", "json"], words].concat()).stdout);
        listed
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(find(&["bergen"]), [bergen.as_str()]);
    assert_eq!(find(&["ticket=a-7"]), [ticket.as_str()]);
    assert_eq!(find(&["good", "-n", "1"]), [ticket.as_str()]);
    assert!(find(&["good", "nowhere"]).is_empty());
    assert!(world.run(&["runs", "nowhere"]).stderr.contains("no run is like that"));
}

#[test]
fn a_run_is_in_the_index_when_it_ends() {
    let world = World::with(GOOD);
    world.run(&["run", "w.yaml"]);
    let run = world.newest();
    // A list that had to open the journal would say that it is unreadable.
    std::fs::write(world.state().join("runs").join(&run).join("journal.db"), "rubbish".repeat(1_000))
        .unwrap();
    let listed = world.run(&["runs"]).stdout;
    assert!(listed.contains(&run) && listed.contains("succeeded"), "{listed}");
}

#[test]
fn a_prune_that_is_killed_leaves_whole_runs_and_is_finished_by_the_next() {
    let world = World::with(GOOD);
    assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    let rounds = std::env::var("CONVOKE_PRUNE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    for round in 0..rounds {
        copies(&world, 40);
        let mut prune = world.spawn(&["prune", "--keep-last", "0"]);
        wait_for(&world, 41 - round as usize % 40);
        prune.kill().unwrap();
        prune.wait().unwrap();
        let said = world.run(&["verify", "--all"]);
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        let names: Vec<_> =
            said.stdout.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
        assert_eq!(listed(&world).len(), names.len());
        assert_eq!(world.run(&["prune", "--keep-last", "0"]).code, 0);
        assert_eq!(std::fs::read_dir(world.state().join("runs")).unwrap().count(), 0, "nothing is left");
        assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    }
}

/// Waits until the prune has left at most so many runs, or has ended.
fn wait_for(world: &World, most: usize) {
    let runs = world.state().join("runs");
    let left = || {
        let entries = std::fs::read_dir(&runs).unwrap().flatten();
        entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count()
    };
    while left() > most {
        std::thread::yield_now();
    }
}

/// So many more runs.
fn copies(world: &World, count: usize) {
    for _ in 0..count / 8 {
        let mut batch: Vec<_> = (0..8).map(|_| world.spawn(&["run", "w.yaml"])).collect();
        batch.iter_mut().for_each(|child| {
            child.wait().unwrap();
        });
    }
}

#[test]
fn a_run_moves_to_another_state_folder_and_is_resumed_there() {
    let (world, [_, _, gate]) = three();
    let said = world.run(&["export", &gate, "gate.convoke"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, ""), "{}", said.stderr);
    assert_eq!(world.run(&["export", &gate, "gate.convoke"]).code, 2, "a file is not replaced");
    let there = ["--state-dir", "there"];
    let elsewhere = |args: &[&str]| world.run(&[args, &there[..]].concat());
    let said = elsewhere(&["import", "gate.convoke"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("is imported and whole"), "{}", said.stdout);
    assert!(elsewhere(&["import", "gate.convoke"]).stdout.contains("is here already"));
    assert_eq!(elsewhere(&["verify", &gate]).code, 0);
    assert_eq!(elsewhere(&["show", &gate]).code, 0);
    let said = elsewhere(&["answer", &gate, "a", "y", "--resume"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(world.run(&["runs"]).stdout.contains("parked"), "the run that stayed is as it was");
    let piped = world.command(&["export", &gate, "-"]).output().unwrap().stdout;
    assert_eq!(piped, std::fs::read(world.path("gate.convoke")).unwrap());
}

#[test]
fn what_is_no_export_is_refused_with_its_reason() {
    let (world, [good, ..]) = three();
    world.run(&["export", &good, "good.convoke"]);
    let bytes = std::fs::read(world.path("good.convoke")).unwrap();
    world.write("cut.convoke", &bytes[..bytes.len() - 1]);
    for (file, words) in [("cut.convoke", "its hash does not fit"), ("w.yaml", "no export of convoke")] {
        let said = world.run(&["import", file, "--state-dir", "there"]);
        assert_eq!(said.code, 3, "{}", said.stderr);
        assert!(said.stderr.contains(words) && said.stderr.contains("hint:"), "{}", said.stderr);
    }
    assert_eq!(world.run(&["import", "nowhere"]).code, 2);
}
