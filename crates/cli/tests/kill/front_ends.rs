//! Kills runs of every front-end at random moments: no effect is repeated without a word, and nothing fails as stuck.
//!
//! Every script and every tool here is one that may not be repeated. The judge is a file outside the engine, to which each
//! effect appends its key. A key may stand there twice only if a person was asked about that very step and said `retry`. A
//! model that is told that the outcome of its call is unknown leaves it at that, so its keys stand there once at most.
//!
//!     CONVOKE_FRONT_END_KILLS=500 cargo nextest run -p convoke kill::front_ends --no-capture
//!     CONVOKE_FRONT_END_KILLS=2000 CONVOKE_BINARY=$PWD/target/release/convoke cargo test -p convoke --test all kill::front_ends -- --nocapture

use super::support::World;
use super::support::front_ends::{FrontEnd, effects, front_ends, key_of, model, waiting, world};
use super::support::journal::Events;
use super::support::model::Model;
use super::support::process::{Process, until};
use super::support::random::{Random, fresh_seed, number};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Kills of each front-end, unless told otherwise.
const FEW: u64 = 2;

/// The most kills of one run.
const MOST_KILLS: u64 = 4;

/// One run, killed once or more.
struct Trial<'a> {
    front_end: &'a FrontEnd,
    world: World,
    random: Random,
    name: String,
    kills: u64,
    /// How often a person let the step of a key be repeated.
    allowed: BTreeMap<String, u64>,
}

impl Trial<'_> {
    fn run_to_its_end(&mut self, usual: Duration) {
        let planned = 1 + self.random.below(MOST_KILLS);
        for _ in 0..200 {
            let mut process = self.start();
            if self.kills < planned {
                let after = usual.mul_f64(self.random.below(1000) as f64 / 1000.0);
                let line =
                    self.random.below(2 * (self.front_end.steps.len() + self.front_end.calls.len()) as u64);
                self.await_some_moment(&mut process, after, line);
                if process.kill() {
                    self.kills += 1;
                    continue;
                }
            }
            let said = process.wait();
            assert!(!said.stderr.contains("stuck"), "{}: failed as stuck\n{said}", self.name);
            match said.code {
                Some(0) => return,
                Some(5) => self.let_it_be_repeated(),
                _ => panic!("{}\n{said}", self.name),
            }
        }
        panic!("{}: it does not come to an end", self.name);
    }

    fn start(&self) -> Process {
        match self.world.runs().first() {
            Some(run) => self.world.start(&["resume", run, "--silent"]),
            None => self.world.start(&[self.front_end.args, &["--silent"]].concat()),
        }
    }

    fn await_some_moment(&mut self, process: &mut Process, after: Duration, line: u64) {
        let by_time = self.random.below(2) == 0;
        let begin = Instant::now();
        until(&format!("{}: a moment to kill", self.name), || {
            let lines = || self.world.read("witness").lines().count() as u64;
            let reached = if by_time { begin.elapsed() >= after } else { lines() > line };
            reached || process.has_ended()
        });
    }

    /// Says `retry` to every question, and remembers which effects that allows once more.
    fn let_it_be_repeated(&mut self) {
        let run = self.world.run();
        let waiting = waiting(&Events::of(&self.world, &run));
        assert!(!waiting.is_empty(), "{}: it waits for nobody", self.name);
        for task in waiting {
            self.world.convoke(&["answer", &run, &task, "retry"]).exits(0);
            *self.allowed.entry(key_of(&task)).or_default() += 1;
        }
    }

    fn judge(&self) {
        let effects = effects(&self.world);
        for (key, times) in &effects {
            let allowed = 1 + self.allowed.get(key).copied().unwrap_or(0);
            assert!(*times <= allowed, "{}: `{key}` happened {times} times, allowed {allowed}", self.name);
        }
        for step in &self.front_end.steps {
            assert!(effects.contains_key(step), "{}: `{step}` never happened", self.name);
        }
        let events = Events::of(&self.world, &self.world.run());
        let text = Value::Array(events.0).to_string();
        assert!(!text.contains("stuck_loop"), "{}: failed as stuck", self.name);
        for call in self.front_end.calls.iter().filter(|call| !effects.contains_key(*call)) {
            assert!(text.contains("outcome_unknown"), "{}: `{call}` was left out without a word", self.name);
        }
    }
}

#[test]
fn no_effect_is_repeated_without_a_word_whatever_front_end_is_killed() {
    let front_ends = front_ends();
    let each = number("CONVOKE_FRONT_END_KILLS").map_or(FEW, |all| all.div_ceil(front_ends.len() as u64));
    let soak = Duration::from_secs(number("CONVOKE_KILL_SECONDS").unwrap_or(0));
    let mut seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
    let (begin, mut all) = (Instant::now(), 0);
    loop {
        for front_end in &front_ends {
            all += kill_again_and_again(front_end, each, &mut seed);
        }
        if begin.elapsed() >= soak {
            break;
        }
    }
    eprintln!("{all} kills in {:.0?}", begin.elapsed());
}

/// Kills runs of a front-end so often, and says how often it was.
fn kill_again_and_again(front_end: &FrontEnd, wanted: u64, seed: &mut u64) -> u64 {
    let model = model();
    let usual = usual(front_end, &model);
    let (mut kills, mut trials, mut asked, mut repeated) = (0, 0, 0, 0);
    while kills < wanted {
        let name = format!("CONVOKE_SEED={seed} {}", front_end.name);
        let world = world(front_end, &model);
        let random = Random(*seed);
        let mut trial = Trial { front_end, world, random, name, kills: 0, allowed: BTreeMap::new() };
        trial.run_to_its_end(usual);
        trial.judge();
        (kills, trials, *seed) = (kills + trial.kills, trials + 1, *seed + 1);
        asked += trial.allowed.values().sum::<u64>();
        repeated += effects(&trial.world).values().map(|times| times - 1).sum::<u64>();
        assert!(trials <= wanted * 3 + 10, "{trials} trials gave only {kills} kills");
    }
    eprintln!(
        "{}: {kills} kills in {trials} runs, {asked} questions, {repeated} repeated when told so, 0 without a word, 0 stuck",
        front_end.name
    );
    kills
}

/// How long an undisturbed run takes; each effect happens once.
fn usual(front_end: &FrontEnd, model: &Model) -> Duration {
    let world = world(front_end, model);
    let begin = Instant::now();
    world.convoke(&[front_end.args, &["--silent"]].concat()).exits(0);
    let wanted: BTreeMap<String, u64> =
        front_end.steps.iter().chain(&front_end.calls).map(|key| (key.clone(), 1)).collect();
    assert_eq!(effects(&world), wanted, "{}: each effect happens once", front_end.name);
    begin.elapsed()
}
