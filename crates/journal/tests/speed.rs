//! What the journal costs, in processor time. Run on an optimised build: `cargo nextest run --cargo-profile release
//! --run-ignored only -E 'test(/^speed::/)' --no-capture`.
#![expect(clippy::print_stderr, reason = "figures are for people")]

use crate::common;

use common::Disk;
use convoke_journal::{Index, Journal, Reader, Sqlite, summarize};
use convoke_model::{Event, JsonText, Payload, Stamped, TaskId, Timestamp, Usage};
use std::time::{Duration, Instant};

/// Processor time of this process.
fn cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn measure<T>(what: &str, per: u32, work: impl FnOnce() -> T) -> (T, Duration) {
    let (wall, start) = (Instant::now(), cpu());
    let result = work();
    let spent = cpu() - start;
    eprintln!(
        "{what}: {:?} of processor time each, {:?} in all, {:?} on the clock",
        spent / per,
        spent,
        wall.elapsed()
    );
    (result, spent / per)
}

/// The two events of one task, with an output of about 200 bytes.
fn events(from: u64, count: u64) -> Vec<Stamped> {
    let output = Payload::Inline(JsonText::of(&"word ".repeat(40)));
    let event = |seq: u64| {
        let task = TaskId(format!("research[{}]", seq / 2).into());
        match seq % 2 {
            0 => Event::AttemptStarted { task, attempt: 1, lease: None },
            _ => Event::AttemptFinished { task, attempt: 1, output: output.clone(), usage: Usage::default() },
        }
    };
    (from..from + count)
        .map(|seq| Stamped { seq, at: Timestamp(1_794_700_800_000_000 + seq), event: event(seq) })
        .collect()
}

fn fill(journal: &mut Sqlite, appends: u64, count: u64) {
    for _ in 0..appends {
        let from = journal.next_seq();
        journal.append(&events(from, count), &[], &[]).unwrap();
    }
}

#[test]
#[ignore = "a measurement"]
fn costs() {
    let disk = Disk::new();
    let (mut journal, create) = measure("create a run", 1, || disk.create());
    let (_, one) = measure("append 1 event", 500, || fill(&mut journal, 500, 1));
    let batches: Vec<_> = (0..160).map(|n| events(501 + n * 120, 120)).collect();
    let append = || batches.iter().for_each(|batch| journal.append(batch, &[], &[]).unwrap());
    let (_, many) = measure("append 120 events", 160, append);
    measure("close", 1, || drop(journal));
    let (reader, _) = measure("open to read", 1, || Reader::open(&disk.state, &disk.run).unwrap());
    let (all, read) = measure("read 19 700 events", 1, || reader.read_all().unwrap());
    measure("list", 1, || Index::open(&disk.state).unwrap().list().unwrap());
    measure("open an index and put a run", 1, || {
        Index::open(&disk.state).unwrap().put(&summarize(&disk.run, &all)).unwrap();
    });
    assert!(create < Duration::from_millis(10) && read < Duration::from_millis(70), "{create:?}, {read:?}");
    assert!(one < Duration::from_micros(400) && many < Duration::from_micros(600), "{one:?}, {many:?}");
}
