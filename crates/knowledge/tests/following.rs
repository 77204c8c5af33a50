//! However a journal comes, its graph is the same.

use crate::kit::{Place, WORKFLOWS, append, expected, named, script, world};
use convoke_knowledge::update;
use convoke_model::RunId;
use convoke_testkit::{Random, World};
use std::path::Path;
use std::time::Duration;

/// How many runs each test simulates.
const RUNS: u64 = 12;

fn run_id(number: u64) -> RunId {
    RunId(format!("20261119-10000{number}-abcd").into())
}

#[test]
fn any_split_of_any_journal_gives_the_same_graph() {
    for seed in 0..RUNS {
        let (place, run, mut random) = (Place::new(), run_id(seed % 10), Random::new(seed));
        let mut world = world(seed as usize, seed);
        world.finish();
        let events = named(world.events().cloned(), &run);
        let mut journal = place.journal(&run, world.plan());
        let mut rest = events.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at((1 + random.below(9) as usize).min(rest.len()));
            append(&mut journal, now);
            place.update();
            rest = later;
        }
        let wanted = expected(&run, world.plan(), &events);
        assert!(wanted.len() > 20, "{wanted:?}");
        assert_eq!(place.graph(&run), wanted, "seed {seed}");
        update::rebuild(&place.state, Default::default(), Duration::from_secs(10)).unwrap();
        assert_eq!(place.graph(&run), wanted, "seed {seed}, made anew");
    }
}

/// What is written and what is noted of it lie in two files: a crash may leave the second behind the first.
#[test]
fn what_was_written_and_not_noted_is_written_again() {
    for seed in 0..RUNS {
        let (place, run, mut random) = (Place::new(), run_id(seed % 10), Random::new(seed));
        let mut world = world(seed as usize, seed);
        world.finish();
        let events = named(world.events().cloned(), &run);
        let mut journal = place.journal(&run, world.plan());
        let (first, second) = events.split_at(random.below(events.len() as u64) as usize);
        append(&mut journal, first);
        place.update();
        let (cursors, kept) = (place.state.path().join("follow"), place.state.path().join("kept"));
        copy(&cursors, &kept);
        append(&mut journal, second);
        place.update();
        std::fs::remove_dir_all(&cursors).unwrap();
        copy(&kept, &cursors);
        place.update();
        assert_eq!(place.graph(&run), expected(&run, world.plan(), &events), "seed {seed}");
    }
}

#[test]
fn a_run_that_is_opened_again_takes_its_end_back() {
    let mut reopened = 0;
    for seed in 0..4 * RUNS {
        let (place, run) = (Place::new(), run_id(seed % 10));
        let mut first = world(seed as usize, seed);
        let ended = first.finish();
        if ended.status == convoke_model::RunStatus::Succeeded {
            continue;
        }
        let before = named(first.events().cloned(), &run);
        let mut journal = place.journal(&run, first.plan());
        append(&mut journal, &before);
        place.update();
        let mut again =
            World::resumed(first.plan().clone(), 3, first.commits.clone(), &first, script(seed + 1000));
        again.finish();
        let events = named(again.events().cloned(), &run);
        append(&mut journal, &events[before.len()..]);
        place.update();
        let graph = place.graph(&run);
        assert_eq!(graph, expected(&run, again.plan(), &events), "seed {seed}");
        let ends = graph
            .iter()
            .filter(|quad| quad.contains(&format!("run:{run}> <https://w3id.org/convoke#status>")));
        assert_eq!(ends.count(), 1, "one end, not two");
        reopened += 1;
    }
    assert!(reopened > 3, "{reopened}");
}

#[test]
fn a_run_that_is_removed_takes_its_graph_and_its_words_along() {
    let place = Place::new();
    for number in 0..2 {
        let mut world = world(number as usize, number);
        world.finish();
        let run = run_id(number);
        append(&mut place.journal(&run, world.plan()), &named(world.events().cloned(), &run));
    }
    place.update();
    assert!(!place.graph(&run_id(0)).is_empty());
    std::fs::remove_dir_all(place.state.run_dir(&run_id(0))).unwrap();
    place.update();
    assert!(place.graph(&run_id(0)).is_empty());
    assert!(!place.graph(&run_id(1)).is_empty());
    let name = run_id(0).to_string();
    for file in std::fs::read_dir(update::folder(&place.state)).unwrap().flatten() {
        if file.path().extension().is_some_and(|ending| ending == "db") {
            let bytes = std::fs::read(file.path()).unwrap();
            assert!(
                !bytes.windows(name.len()).any(|part| part == name.as_bytes()),
                "{:?} still names it",
                file.path()
            );
        }
    }
}

/// A journal that was repaired is shorter, and goes on in another way.
#[test]
fn a_journal_whose_tail_was_cut_gives_the_graph_of_what_is_left() {
    for seed in 0..RUNS {
        let (place, run, mut random) = (Place::new(), run_id(seed % 10), Random::new(seed));
        let mut world = world(seed as usize % WORKFLOWS.len(), seed);
        world.finish();
        let events = named(world.events().cloned(), &run);
        append(&mut place.journal(&run, world.plan()), &events);
        place.update();
        std::fs::remove_dir_all(place.state.run_dir(&run)).unwrap();
        let left = &events[..1 + random.below(events.len() as u64 - 1) as usize];
        append(&mut place.journal(&run, world.plan()), left);
        place.update();
        assert_eq!(place.graph(&run), expected(&run, world.plan(), left), "seed {seed}");
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
