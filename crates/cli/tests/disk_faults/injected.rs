//! One call fails: the N-th of its kind that a thread makes, for every N.
#![allow(
    clippy::print_stderr,
    reason = "what was counted is for people, and a test that cannot be tried says so"
)]

use super::world::{Judged, world};
use crate::support::random::{Random, fresh_seed, number};
use crate::support::{Said, World, binary};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What changes a disk. Not `write`: the runtime wakes its threads by it, and that cannot fail.
const CALLS: [&str; 9] =
    ["pwrite64", "fdatasync", "fsync", "ftruncate", "fallocate", "rename", "unlink", "mkdir", "rmdir"];

/// How a call fails.
const ERRORS: [&str; 2] = ["EIO", "ENOSPC"];

/// Failures in a sample.
const FEW: u64 = 6;

/// A sample looks for calls below this number.
const EARLY: u64 = 60;

/// So many numbers in a row that no call has are the end of a kind.
const NONE_LEFT: u64 = 4;

/// Failures that are tried at once: each waits more than it works.
const AT_ONCE: usize = 3;

/// A failure to come.
#[derive(Clone, Copy, Debug)]
struct Fault {
    call: &'static str,
    error: &'static str,
    when: u64,
    /// Of a process that resumes a run which was stopped in its middle, not of the one that begins it.
    resumes: bool,
}

/// A call that failed, as `strace` wrote it down.
struct Hit {
    /// The file, where one can be told.
    path: String,
    line: usize,
}

#[derive(Default, Debug, Clone, Copy)]
struct Count {
    tried: u64,
    /// Failures at files of the state folder.
    failed: u64,
    /// Processes that ended with exit code 74, and that came to their end in spite of it.
    ended: u64,
    went_on: u64,
    /// Broken promises.
    broken: u64,
}

fn is_there() -> bool {
    let traced =
        Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    let is_there = traced.is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("skipped: strace is not here, or may not trace");
    }
    is_there
}

impl Fault {
    fn name(&self) -> String {
        let what = if self.resumes { "resume" } else { "run" };
        format!("{what}: {} number {} fails with {}", self.call, self.when, self.error)
    }

    /// Runs a command in which it comes.
    fn befalls(&self, world: &World, args: &[&str]) -> (Said, Vec<String>) {
        let mut command = Command::new("strace");
        let Fault { call, error, when, .. } = self;
        let inject = format!("inject={call}:error={error}:when={when}");
        command.args(["-f", "-y", "-s", "8", "-o", "trace", "-e", &format!("trace={call}"), "-e", &inject]);
        command.arg(binary()).args(args);
        let said = Said::from(world.prepared(command).output().expect("strace starts"));
        let lines = world.read("trace").lines().map(str::to_owned).collect();
        (said, lines)
    }

    /// Tries it; `None` if no call of this kind has the number, or another file than one of the run was hit: then nothing is said.
    fn tried(&self) -> Option<Count> {
        let world = world();
        let args: Vec<String> = if self.resumes { self.begun(&world) } else { words(&["run", "w.yaml"]) };
        let (said, lines) = self.befalls(&world, &args.iter().map(String::as_str).collect::<Vec<_>>());
        let hits = hits(&lines);
        let state = world.state().display().to_string();
        if hits.is_empty() || hits.iter().any(|hit| !hit.path.starts_with(&state)) {
            return (!hits.is_empty()).then(Count::default);
        }
        let place = world.state();
        let mut judged = Judged::new(&world, &place, format!("{} at {}", self.name(), hits[0].path));
        self.judge(&judged, &said, &hits, &lines);
        if said.code == Some(5) {
            judged.let_it_be_repeated();
        }
        judged.goes_on();
        let ended = u64::from(said.code == Some(74));
        Some(Count { tried: 1, failed: hits.len() as u64, ended, went_on: 1 - ended, broken: 0 })
    }

    /// A run whose process was killed once its first steps had ended.
    fn begun(&self, world: &World) -> Vec<String> {
        let mut process = world.start(&["run", "w.yaml", "--silent"]);
        crate::support::process::until("it is under way", || world.read("witness").lines().count() >= 2);
        process.kill();
        let run = world.run();
        words(&["resume", &run])
    }

    fn judge(&self, judged: &Judged<'_>, said: &Said, hits: &[Hit], lines: &[String]) {
        let name = &judged.name;
        match said.code {
            // It waited for room, or it was a file that the run can do without.
            Some(0 | 5) => {}
            Some(74) => {
                let reason = if self.error == "EIO" { "os error 5" } else { "space" };
                let reasons = [reason, "disk I/O error", "Input/output error", "full"];
                assert!(
                    reasons.iter().any(|reason| said.stderr.contains(reason)),
                    "{name}: no reason\n{said}"
                );
            }
            _ => panic!("{name}\n{said}"),
        }
        if self.call.contains("sync") && self.error == "EIO" {
            for hit in hits.iter().filter(|hit| hit.path.contains("journal.db")) {
                let again =
                    lines[hit.line + 1..].iter().find(|line| line.contains(&format!("<{}>", hit.path)));
                assert_eq!(again, None, "{name}: what failed to sync was synced again\n{said}");
            }
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// `12 pwrite64(5</…/journal.db-wal>, "…"..., 24, 32) = -1 EIO (Input/output error) (INJECTED)`
fn hits(lines: &[String]) -> Vec<Hit> {
    let injected = lines.iter().enumerate().filter(|(_, line)| line.contains("(INJECTED)"));
    let path = |text: &str| {
        let quoted = text.split('"').nth(1).filter(|path| path.starts_with('/'));
        let named = text.split_once('<').and_then(|(_, rest)| rest.split('>').next());
        let is_by_name = text.contains("rename(") || text.contains("unlink(") || text.contains("dir(");
        (if is_by_name { quoted } else { named }).unwrap_or("?").to_owned()
    };
    injected.map(|(line, text)| Hit { path: path(text), line }).collect()
}

/// Every number of one kind of call, from the first to the last.
fn sweep(call: &'static str, error: &'static str, resumes: bool, all: &Mutex<BTreeMap<String, Count>>) {
    let mut none = 0;
    for when in 1.. {
        let fault = Fault { call, error, when, resumes };
        // All that is broken is wanted, not the first.
        match std::panic::catch_unwind(|| fault.tried())
            .unwrap_or(Some(Count { broken: 1, ..Count::default() }))
        {
            Some(count) => {
                none = 0;
                let key = format!("{call} {error}{}", if resumes { " of a resume" } else { "" });
                let mut all = all.lock().expect("no test panics while it counts");
                let sum = all.entry(key).or_default();
                sum.broken += count.broken;
                sum.tried += count.tried;
                sum.failed += count.failed;
                sum.ended += count.ended;
                sum.went_on += count.went_on;
            }
            None => none += 1,
        }
        if none >= NONE_LEFT {
            return;
        }
    }
}

#[test]
fn a_disk_that_fails_at_any_call_loses_nothing_and_repeats_nothing() {
    if !is_there() {
        return;
    }
    let told = std::env::var("CONVOKE_DISK_FAULTS").ok();
    let Some(told) = told else { return sample() };
    let calls = CALLS.iter().filter(|call| told == "all" || told == **call);
    let kinds: Vec<_> = calls.flat_map(|call| ERRORS.map(|error| (*call, error))).collect();
    let work: Vec<_> = kinds
        .into_iter()
        .flat_map(|(call, error)| [false, true].map(|resumes| (call, error, resumes)))
        .collect();
    let (next, counts) = (AtomicUsize::new(0), Mutex::default());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(&(call, error, resumes)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    sweep(call, error, resumes, &counts);
                }
            });
        }
    });
    let counts = counts.into_inner().expect("no test panics while it counts");
    for (kind, count) in &counts {
        eprintln!("{kind}: {count:?}");
    }
    let failed: u64 = counts.values().map(|count| count.failed).sum();
    let ended: u64 = counts.values().map(|count| count.ended).sum();
    let broken: u64 = counts.values().map(|count| count.broken).sum();
    eprintln!("{failed} failures, {ended} processes ended with exit code 74, {broken} broken promises");
    assert!(failed > 0, "nothing failed");
    assert_eq!(broken, 0, "what was promised was broken");
}

fn sample() {
    let seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
    eprintln!("CONVOKE_SEED={seed}");
    let mut random = Random(seed);
    let (mut failed, mut asked) = (0, 0);
    while failed < FEW && asked < 4 * FEW {
        asked += 1;
        // Most changes are of these kinds.
        let call = ["pwrite64", "fdatasync", "pwrite64", "fsync", "ftruncate"][random.below(5) as usize];
        let error = ERRORS[random.below(2) as usize];
        let most = if call == "pwrite64" { EARLY } else { 9 };
        let fault = Fault { call, error, when: 1 + random.below(most), resumes: random.below(3) == 0 };
        failed += fault.tried().map_or(0, |count| count.failed);
    }
    assert!(failed > 0, "nothing failed in {asked} runs");
    eprintln!("{failed} failures in {asked} runs");
}
