//! Signals at any moment, to runs whose commands fork, leave their group and session, and hear no signal: once the process has ended,
//! nothing of the run lives. Commands that survive are found and ended by `stop`, or attached to by `resume`.
//!
//! The judge looks at every process of the machine: one belongs to the run if its environment or its folder is the test's.
//!
//!     CONVOKE_ORPHANS=500 cargo test -p convoke --test all orphans:: -- --nocapture
#![allow(clippy::print_stderr, reason = "what was counted is for people")]

use crate::support;

use rustix::process::Signal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::World;
use support::process::{Process, until, within};
use support::random::{Random, fresh_seed, number};

/// A script, a server of tools and a coding agent, all of them with families.
const FILE: &str = "
workflow: {name: w, entry_point: all, runtime: {mcp_servers: {box: {command: sh, args: [server.sh]}}}}
agents:
  - {name: forks, type: script, command: sh, idempotent: true, args: [forks.sh]}
  - {name: tool, type: tool, server: box, tool: act, idempotent: true, arguments: {key: t0}}
  - {name: coder, provider: {name: acp, command: sh, args: [agent.sh]}, prompt: Write.}
parallel: [{name: all, agents: [forks, tool, coder]}]
";

/// Children in the group, in a session, without parents, and deaf to what can be ignored.
const FAMILY: &str = r#"
trap '' TERM INT HUP USR1
sleep 1000 &
setsid sh -c 'trap "" TERM HUP; sleep 1000 & sleep 1000' &
( ( setsid sleep 1000 & ) & )
sh -c '(sleep 1000 >/dev/null 2>&1 &); exit 0'
nohup sleep 1000 >/dev/null 2>&1 &
echo x >>begun
"#;

const SERVER: &str = r#"
. ./family.sh
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"box","version":"1"}}' ;;
  *'"method":"tools/list"'*) result='{"tools":[{"name":"act","description":"acts","inputSchema":{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}}]}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

const AGENT: &str = r#"
. ./family.sh
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{"loadSession":false,"promptCapabilities":{}}}' ;;
  *'"session/new"'*) result='{"sessionId":"s1"}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// Moments are in this time, in thousandths of a second: the start of the processes and a while after it.
const MOMENTS: u64 = 1500;

/// The longest that a process may take to end after its first signal.
const BOUND: Duration = Duration::from_secs(10);

/// How much longer it may take beside other tests. What this would not find is an end that waits for something that does not come.
const BESIDE_OTHERS: u32 = 3;

/// Rounds at once: most of a round is waiting.
const AT_ONCE: u64 = 3;

fn with_families() -> World {
    let world = World::with_workflow(FILE);
    for (name, text) in [("family.sh", FAMILY), ("server.sh", SERVER), ("agent.sh", AGENT)] {
        world.write(name, text);
    }
    world.write("forks.sh", ". ./family.sh\nsleep 1000\n");
    world
}

/// Every process of the machine that belongs to a world, with its command.
fn processes_of(world: &World) -> Vec<String> {
    let place = world.work();
    let home = place.parent().expect("a folder").display().to_string();
    let entries = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    let belongs = |entry: std::fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse::<i32>().ok()?;
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let folder = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let is_ours = String::from_utf8_lossy(&environment).contains(&home) || folder.starts_with(&home);
        if !is_ours || !support::process::is_alive(pid) {
            return None;
        }
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        Some(format!("{pid} {}", String::from_utf8_lossy(&command).replace('\0', " ")))
    };
    entries.filter_map(belongs).collect()
}

#[derive(Default, Debug)]
struct Count {
    rounds: u64,
    /// Signals that came before the process listened, and ended it.
    early: u64,
    /// Processes that were there at the moment of the first signal, in all.
    processes: usize,
    longest: Duration,
}

#[test]
fn after_a_signal_at_any_moment_no_process_of_the_run_is_left() {
    let rounds = number("CONVOKE_ORPHANS").unwrap_or(6);
    let seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
    eprintln!("CONVOKE_SEED={seed}");
    let (next, count) = (AtomicU64::new(0), Mutex::new(Count::default()));
    let play = || {
        loop {
            let round = next.fetch_add(1, Ordering::Relaxed);
            if round >= rounds {
                return;
            }
            signalled(Random(seed ^ (round << 32)), round, &count);
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(play))));
    let count = count.into_inner().expect("no round panics while it counts");
    eprintln!("{count:?}, 0 processes left behind");
    // The short form runs beside other tests, which the bound leaves room for.
    let bound = if rounds < 50 { BOUND * BESIDE_OTHERS } else { BOUND };
    assert!(count.longest <= bound, "{:?} from the first signal to the end", count.longest);
}

fn signalled(mut random: Random, round: u64, count: &Mutex<Count>) {
    let world = with_families();
    let mut process = world.start(&["run", "w.yaml", "--silent"]);
    let moment = Duration::from_millis(random.below(MOMENTS));
    let signals = heard_from_the_start();
    let signal = signals[random.below(signals.len() as u64) as usize];
    // Every third process hears one signal only, and ends what does not end by itself.
    let second = (random.below(3) > 0).then(|| Duration::from_millis(random.below(MOMENTS)));
    let name = format!("round {round}: {signal:?} after {moment:?}, again after {second:?}");
    wait_for(&mut process, moment);
    let there = processes_of(&world).len();
    let begin = Instant::now();
    process.signal(signal);
    if let Some(second) = second {
        wait_for(&mut process, second);
        process.signal(signal);
    }
    let said = process.wait();
    // What a dying engine was just starting ends by itself, a moment later on a busy machine: the end is when the last one is gone.
    within(BOUND * BESIDE_OTHERS, || processes_of(&world).is_empty());
    let (left, took) = (processes_of(&world), begin.elapsed());
    assert_eq!(left, [""; 0], "{name}: left behind\n{said}");
    assert!(matches!(said.code, Some(130 | 143) | None), "{name}\n{said}");
    let mut count = count.lock().expect("no round panics while it counts");
    count.rounds += 1;
    count.early += u64::from(said.code.is_none());
    count.processes += there;
    count.longest = count.longest.max(took);
}

/// Signals that a process hears before it listens. A job in the background of a shell begins with `INT` ignored, one under `nohup` with
/// `HUP`: what comes before the process listens is then lost, as it is to be.
fn heard_from_the_start() -> Vec<Signal> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    let is_heard = |signal: &Signal| ignored & (1 << (signal.as_raw() - 1)) == 0;
    [Signal::TERM, Signal::INT, Signal::HUP].into_iter().filter(is_heard).collect()
}

fn wait_for(process: &mut Process, time: Duration) {
    let begin = Instant::now();
    until("a moment", || begin.elapsed() >= time || process.has_ended());
}

/// A command that survives, with a family of its own.
const SURVIVES: &str = "
workflow: {name: w, entry_point: long}
agents:
  - {name: long, type: script, survive: true, timeout: 600, command: sh, args: [-c, '. ./family.sh; while [ ! -e go ]; do sleep 0.01; done; echo 7']}
output: {n: '{{ long.output.stdout | trim }}'}
";

/// After `kill -9`, what survives is all that lives; `stop` ends it with its family, and a resume attaches to it.
#[test]
fn what_survives_a_kill_is_ended_by_stop_or_attached_to_by_resume() {
    for stops in [true, false] {
        let world = with_families();
        world.write("w.yaml", SURVIVES);
        let mut process = world.start(&["run", "w.yaml", "--silent"]);
        until("the command has begun", || !world.read("begun").is_empty());
        process.kill();
        assert!(!processes_of(&world).is_empty(), "the command goes on");
        let run = world.run();
        if stops {
            world.convoke(&["stop", &run]).exits(0).mentions(&["ended 1 command"]);
        } else {
            let resumed = world.start(&["resume", &run, "--silent"]);
            world.write("go", "");
            resumed.wait().exits(0);
            assert_eq!(world.read("begun").lines().count(), 1, "it was run once");
        }
        until("nothing of it is left", || processes_of(&world).is_empty());
    }
}
