//! How fast processes share a limit: the table beside `flock` and `O_EXCL` lock files, in the same run.
//!
//! `cargo run --release -p convoke-capacity --example contend -- [PROCESSES] [SECONDS]` (16 and 2 unless told). Each line:
//! operations a second of all processes, the slowest process in per cent of the mean, and for the queue the time from a release
//! to the moment the next process has the lease. An operation is one reserve and one release; of `calls`, one reserve, consume
//! and settle of three resources.

#![allow(clippy::print_stdout, reason = "a program for the terminal and for its own parent process")]

use convoke_capacity::{Capacity, Identity, Options, Reserved, Waited};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(60);
/// As the bench reads it: one line per way, fields by name.
const WAYS: [&str; 6] = ["table", "calls", "queue", "flock", "o_excl", "alone"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("worker") => work(&words[1], Path::new(&words[2]), seconds(&words[3])),
        _ => compare(&words),
    }
}

fn compare(words: &[String]) {
    let processes = words.first().map_or(16, |word| word.parse().expect("a number of processes"));
    let time = words.get(1).map_or("2", String::as_str);
    let directory = tempfile::tempdir().expect("a directory for the files");
    for way in WAYS {
        let count = if way == "alone" { 1 } else { processes };
        let results = measure(way, directory.path(), count, time);
        println!("{}", summary(way, count, &results));
    }
}

/// What one process did.
struct Result {
    operations: f64,
    handovers: Vec<u64>,
}

/// Starts the processes, lets them go at once, and collects what they did.
fn measure(way: &str, directory: &Path, count: usize, time: &str) -> Vec<Result> {
    let program = std::env::current_exe().expect("this program has a path");
    let mut children: Vec<Child> = (0..count)
        .map(|_| {
            let mut command = Command::new(&program);
            command.args(["worker", way]).arg(directory).arg(time);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a worker starts")
        })
        .collect();
    let mut outputs: Vec<_> = children
        .iter_mut()
        .map(|child| BufReader::new(child.stdout.take().expect("its output is piped")))
        .collect();
    outputs.iter_mut().for_each(|output| assert_eq!(line(output), "ready"));
    children
        .iter_mut()
        .for_each(|child| child.stdin.as_mut().expect("piped").write_all(b"go\n").expect("it reads"));
    let results = outputs.iter_mut().map(|output| parse(&line(output))).collect();
    children.iter_mut().for_each(|child| assert!(child.wait().expect("it ends").success()));
    results
}

fn line(output: &mut impl BufRead) -> String {
    let mut text = String::new();
    output.read_line(&mut text).expect("a worker speaks");
    text.trim().to_owned()
}

fn parse(text: &str) -> Result {
    let mut numbers = text.split(' ').map(|word| word.parse::<u64>().expect("a number"));
    let (operations, nanoseconds) = (numbers.next().expect("a count"), numbers.next().expect("a time"));
    Result { operations: operations as f64 * 1e9 / nanoseconds as f64, handovers: numbers.collect() }
}

fn summary(way: &str, processes: usize, results: &[Result]) -> String {
    let total: f64 = results.iter().map(|result| result.operations).sum();
    let slowest = results.iter().map(|result| result.operations).fold(f64::INFINITY, f64::min);
    let share = 100.0 * slowest * results.len() as f64 / total;
    let mut handovers: Vec<u64> =
        results.iter().flat_map(|result| result.handovers.iter().copied()).collect();
    handovers.sort_unstable();
    let mut text =
        format!("{way:8} processes={processes} operations_per_second={total:.0} slowest_percent={share:.0}");
    if !handovers.is_empty() {
        let at = |part: f64| handovers[((handovers.len() - 1) as f64 * part) as usize] / 1000;
        text +=
            &format!(" handover_p50_us={} handover_p99_us={} handover_max_us={}", at(0.5), at(0.99), at(1.0));
    }
    text
}

fn seconds(word: &str) -> Duration {
    Duration::from_secs_f64(word.parse().expect("a number of seconds"))
}

/// One process: says that it is ready, waits for the word, works, and says what it did.
fn work(way: &str, directory: &Path, time: Duration) {
    let done = match way {
        "table" | "alone" => with_table(&directory.join(way), time),
        "calls" => with_calls(&directory.join(way), time),
        "queue" => with_queue(&directory.join(way), time),
        "flock" => with_flock(&directory.join(way), time),
        _ => with_lock_file(&directory.join(way), time),
    };
    println!("{done}");
}

fn begin() -> Instant {
    println!("ready");
    let mut word = String::new();
    std::io::stdin().read_line(&mut word).expect("the word to go");
    Instant::now()
}

/// Runs the operation until the time is over. Answers with a count and the nanoseconds it took.
fn count(time: Duration, mut operation: impl FnMut()) -> String {
    let start = begin();
    let mut operations = 0u64;
    while !operations.is_multiple_of(64) || start.elapsed() < time {
        operation();
        operations += 1;
    }
    format!("{operations} {}", start.elapsed().as_nanos())
}

fn open(path: &Path) -> Capacity {
    Capacity::open(path, &Identity { label: "contend".into(), ..Identity::default() }, Options::default())
        .expect("the table opens")
}

/// More capacity than processes: what is measured is the table.
fn with_table(path: &Path, time: Duration) -> String {
    let capacity = open(path);
    let slots = capacity.define("slots", 64, "bench").expect("a resource").id;
    count(time, || match capacity.reserve(&[(slots, 1)], TTL).expect("the table works") {
        Reserved::Granted(lease) => capacity.release(&lease).expect("it is ours"),
        Reserved::Blocked { on } => panic!("there is enough of {on}"),
    })
}

/// All that a call to a model asks for: a slot, a request and tokens, consumed, and settled by what was used.
fn with_calls(path: &Path, time: Duration) -> String {
    let capacity = open(path);
    let minute = Duration::from_secs(60);
    let slots = capacity.define("slots", 64, "bench").expect("a resource").id;
    let [requests, tokens] = ["requests", "tokens"]
        .map(|name| capacity.define_rate(name, u32::MAX, minute, "bench").expect("a rate").id);
    count(time, || {
        let wanted = [(slots, 1), (requests, 1), (tokens, 16)];
        let Reserved::Granted(lease) = capacity.reserve(&wanted, TTL).expect("the table works") else {
            panic!("there is enough")
        };
        capacity.consume(&lease).expect("it is ours");
        capacity.settle(&lease, &[(requests, 1, minute), (tokens, 10, minute)]).expect("it is ours");
    })
}

/// Capacity for one: what is measured is the way from hand to hand.
fn with_queue(path: &Path, time: Duration) -> String {
    let capacity = open(path);
    let slots = capacity.define("slots", 1, "bench").expect("a resource").id;
    let start = begin();
    let mut handovers = Vec::new();
    while start.elapsed() < time {
        let ticket = capacity.enqueue(&[(slots, 1)], TTL).expect("there is a place");
        let asked = capacity.now();
        let Waited::Granted(lease) = capacity.wait(ticket, TTL).expect("the table works") else {
            panic!("a minute was not enough")
        };
        handovers.push(capacity.now().saturating_sub(lease.granted_at.max(asked)));
        capacity.release(&lease).expect("it is ours");
    }
    let elapsed = start.elapsed().as_nanos();
    handovers.iter().fold(format!("{} {elapsed}", handovers.len()), |text, time| format!("{text} {time}"))
}

/// A counter in a file under `flock`, read and written with system calls.
fn with_flock(path: &Path, time: Duration) -> String {
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).expect("a file");
    count(time, || {
        for change in [1, -1] {
            flock(&file, FlockOperation::LockExclusive).expect("a lock");
            add(&file, change);
            flock(&file, FlockOperation::Unlock).expect("unlocked");
        }
    })
}

/// The same under a lock file that exists while it is held, as several of our elders do it, with their back-off.
fn with_lock_file(path: &Path, time: Duration) -> String {
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).expect("a file");
    let lock = path.with_extension("lock");
    count(time, || {
        for change in [1, -1] {
            let mut pause = Duration::from_micros(50);
            while OpenOptions::new().write(true).create_new(true).open(&lock).is_err() {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
            add(&file, change);
            std::fs::remove_file(&lock).expect("it is ours");
        }
    })
}

fn add(file: &File, change: i64) {
    let mut number = [0; 8];
    let _ = file.read_at(&mut number, 0).expect("it can be read");
    file.write_all_at(&(i64::from_le_bytes(number) + change).to_le_bytes(), 0).expect("it can be written");
}
