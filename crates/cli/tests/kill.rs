//! Kills runs with SIGKILL at random moments and resumes them: nothing that was finished may run again.
//!
//! The judge is a file outside the engine: each of the sixty scripts of `workflows/kill` appends a line when it begins
//! and one when it ends. Every kill is followed by a look at the journal; from then on no task whose end it holds may
//! begin again. The result must be that of an undisturbed run.
//!
//!     CONVOKE_KILLS=200 cargo nextest run -p convoke kill:: --no-capture
//!
//! kills 200 times (20 unless told). A failure names the seed of its trial; CONVOKE_SEED=N tries the same moments again.
#![allow(clippy::print_stderr, reason = "a random test must say its seed")]

use crate::support;
mod front_ends;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use support::World;
use support::journal::Events;
use support::process::{Process, until};
use support::random::{Random, fresh_seed, number};

/// Tasks with an attempt in `workflows/kill`.
const TASKS: usize = 60;

/// The most kills of one run.
const MOST_KILLS: u64 = 4;

#[test]
fn a_run_that_is_killed_at_any_moment_ends_as_if_nothing_had_happened() {
    let wanted = number("CONVOKE_KILLS").unwrap_or(20);
    let mut seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
    let usual = Usual::measure();
    eprintln!("{wanted} kills, first seed {seed}, undisturbed {:?}", usual.duration);
    let (mut kills, mut trials, mut moments) = (0, 0, 0);
    while kills < wanted {
        let mut trial = Trial::new(seed);
        trial.run_to_its_end(&usual);
        trial.judge();
        (kills, trials, moments) = (kills + trial.kills, trials + 1, moments + trial.moments_inside());
        seed += 1;
        // Trials that are too slow to start would never reach a kill; they must not go on for ever.
        assert!(trials <= wanted * 3 + 10, "{trials} trials gave only {kills} kills");
    }
    eprintln!("{kills} kills in {trials} runs, {moments} of them with work half done");
    assert!(moments * 4 >= kills, "too few kills came while work was half done: {moments} of {kills}");
}

/// What an undisturbed run gives, and how long it takes.
struct Usual {
    result: Value,
    duration: Duration,
}

impl Usual {
    fn measure() -> Usual {
        let world = World::with_copy_of("workflows/kill");
        let begin = Instant::now();
        let said = world.convoke(&["run", "workflow.yaml"]).exits(0);
        let duration = begin.elapsed();
        assert_eq!(lines(&world).len(), 2 * TASKS, "each task begins and ends once");
        Usual { result: said.json(), duration }
    }
}

/// One run, killed once or more.
struct Trial {
    seed: u64,
    random: Random,
    world: World,
    kills: u64,
    looks: Vec<Look>,
}

/// What was true right after a kill.
struct Look {
    /// The tasks whose end the journal held.
    finished: BTreeSet<String>,
    /// How many lines the witness had.
    lines: usize,
}

impl Trial {
    fn new(seed: u64) -> Trial {
        let world = World::with_copy_of("workflows/kill");
        Trial { seed, random: Random(seed), world, kills: 0, looks: Vec::new() }
    }

    fn run_to_its_end(&mut self, usual: &Usual) {
        let planned = 1 + self.random.below(MOST_KILLS);
        loop {
            let mut process = self.start();
            if self.kills < planned {
                self.await_some_moment(&mut process, usual.duration);
                if process.kill() {
                    self.kills += 1;
                    self.look();
                    continue;
                }
            }
            let said = process.wait();
            assert_eq!(said.code, Some(0), "{}\n{said}", self.name());
            assert_eq!(said.json(), usual.result, "{}", self.name());
            return;
        }
    }

    fn start(&self) -> Process {
        match self.world.runs().first() {
            Some(run) => self.world.start(&["resume", run]),
            None => self.world.start(&["run", "workflow.yaml"]),
        }
    }

    /// A time after the start, or a line of the witness: the first finds what happens at the beginning and the end,
    /// the second what happens next to a script.
    fn await_some_moment(&mut self, process: &mut Process, usual: Duration) {
        let by_time = self.random.below(2) == 0;
        let time = usual.mul_f64(self.random.below(1000) as f64 / 1000.0);
        let line = lines(&self.world).len() + self.random.below(2 * TASKS as u64) as usize;
        let begin = Instant::now();
        until(&format!("{}: a moment to kill", self.name()), || {
            let reached = if by_time { begin.elapsed() >= time } else { lines(&self.world).len() >= line };
            reached || process.has_ended()
        });
    }

    /// Reads the journal as it is on disk, while no process drives the run.
    fn look(&mut self) {
        let lines = lines(&self.world).len();
        let finished = match self.world.runs().first() {
            Some(run) => Events::of(&self.world, run).finished(),
            None => BTreeSet::new(),
        };
        assert!(lines == 0 || !self.world.runs().is_empty(), "{}: work without a run", self.name());
        self.looks.push(Look { finished, lines });
    }

    /// How many kills came between the first and the last end.
    fn moments_inside(&self) -> u64 {
        self.looks.iter().filter(|look| (1..TASKS).contains(&look.finished.len())).count() as u64
    }

    fn name(&self) -> String {
        format!("CONVOKE_SEED={} after {} kills", self.seed, self.kills)
    }

    fn judge(&self) {
        self.nothing_finished_began_again();
        self.each_task_ended_once();
        self.attempts_never_overlapped();
        let run = self.world.run();
        self.world.convoke(&["verify", &run]).exits(0);
        assert_eq!(self.world.status(), "succeeded", "{}", self.name());
    }

    fn nothing_finished_began_again(&self) {
        let lines = lines(&self.world);
        for look in &self.looks {
            let later = lines[look.lines..].iter().filter(|line| line.begins);
            for line in later {
                assert!(!look.finished.contains(&line.task), "{}: `{}` ran again", self.name(), line.task);
            }
        }
    }

    fn each_task_ended_once(&self) {
        let events = Events::of(&self.world, &self.world.run());
        let finished = events.attempts("attempt_finished");
        assert_eq!(finished.len(), TASKS, "{}: each task ends", self.name());
        assert_eq!(events.finished().len(), TASKS, "{}: each task ends once", self.name());
        for (task, starts) in events.starts() {
            let last = finished.iter().find(|(ended, _)| *ended == task).map(|(_, attempt)| *attempt);
            assert_eq!(last, Some(starts), "{}: the last attempt of `{task}` ends it", self.name());
            assert!(starts <= self.kills + 1, "{}: `{task}` began {starts} times", self.name());
        }
        assert_eq!(events.count("run_finished"), 1, "{}", self.name());
    }

    /// An attempt that a kill cut off must be gone before the next one begins.
    fn attempts_never_overlapped(&self) {
        let mut running: BTreeMap<String, u64> = BTreeMap::new();
        let mut ended = BTreeSet::new();
        for line in lines(&self.world) {
            let current = running.entry(line.task.clone()).or_default();
            if line.begins {
                *current += 1;
                assert!(!ended.contains(&(line.task.clone(), line.attempt)), "{}: {line:?}", self.name());
            } else {
                assert!(ended.insert((line.task.clone(), line.attempt)), "{}: {line:?}", self.name());
            }
            assert_eq!(line.attempt, *current, "{}: {line:?} is out of turn", self.name());
        }
        assert_eq!(running.len(), TASKS, "{}: each task began", self.name());
        let unfinished = running.into_iter().find(|last| !ended.contains(last));
        assert_eq!(unfinished, None, "{}: its last attempt did not end", self.name());
    }
}

/// The first milliseconds of a run, when its journal is being made.
#[test]
fn a_run_that_is_killed_while_it_is_made_is_there_or_it_is_not() {
    let seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
    eprintln!("seed {seed}");
    let mut random = Random(seed);
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a}\nagents: [{name: a, type: set, value: x}]\n",
    );
    for _ in 0..40 {
        let time = Duration::from_micros(random.below(30_000));
        let mut process = world.start(&["run", "w.yaml"]);
        let begin = Instant::now();
        until("a moment to kill", || begin.elapsed() >= time);
        process.kill();
    }
    for run in world.runs() {
        Events::of(&world, &run);
        world.convoke(&["resume", &run]).exits(0);
    }
}

#[test]
fn of_many_resumes_at_once_one_goes_on_and_the_others_name_it() {
    let world = World::with_workflow(
        "workflow: {name: owned, entry_point: waits}\n\
         agents:\n  \
           - name: waits\n    type: script\n    command: sh\n    on_unknown: retry\n    \
             args: [-c, \"touch began; while [ ! -e go ]; do sleep 0.01; done; echo '{\\\"ok\\\": 1}'\"]\n\
         output: {ok: '{{ waits.output.ok }}'}\n",
    );
    let mut first = world.start(&["run", "w.yaml"]);
    until("the script begins", || world.work().join("began").exists());
    assert!(first.kill());
    let run = world.run();

    let mut racing: Vec<_> = (0..8).map(|_| world.start(&["resume", &run])).collect();
    until("all but one are refused", || racing.iter_mut().filter_map(ended).count() == 7);
    let owner = racing.iter_mut().position(|process| !process.has_ended()).expect("one goes on");
    let owner = racing.swap_remove(owner);
    let named = owner.pid().as_raw_nonzero().to_string();
    for process in racing {
        process.wait().exits(6).prints_nothing().mentions(&["driven by", &run, &named, "convoke stop"]);
    }
    world.write("go", "");
    assert_eq!(owner.wait().exits(0).json(), serde_json::json!({"ok": 1}));
    assert_eq!(Events::of(&world, &run).count("run_owned"), 2, "the refused ones left no trace");
}

fn ended(process: &mut Process) -> Option<()> {
    process.has_ended().then_some(())
}

/// A line of the witness.
#[derive(Debug)]
struct Line {
    begins: bool,
    task: String,
    attempt: u64,
}

fn lines(world: &World) -> Vec<Line> {
    let text = world.read("witness.log");
    let parse = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let [what, task, attempt] = words[..] else { panic!("`{line}` is no line of a witness") };
        Line { begins: what == "START", task: task.to_owned(), attempt: attempt.parse().expect("a number") }
    };
    text.lines().map(parse).collect()
}
