//! A rate under killed and stopped processes, as the provider counts it.

use super::audit::audit;
use super::child::{Actor, open};
use super::mayhem::{End, TTL, call, keep_alive, patient};
use super::*;
use crate::{Error, LeaseStatus};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const RATE: u32 = 20;
const WINDOW: Duration = Duration::from_millis(400);
/// A call of a killed process may be in the provider's queue while its capacity is reclaimed, and be counted this much later.
const QUEUED: Duration = Duration::from_millis(50);
const WORKERS: usize = 4;

/// Answers every call at once. Counts it when it comes.
fn provide(listener: &UnixListener, stop: &AtomicBool) -> Vec<Instant> {
    let mut calls = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        while let Ok((mut stream, _)) = listener.accept() {
            calls.push(Instant::now());
            // The caller may have died; it is counted all the same.
            let _ = stream.write_all(b"done");
        }
        let pause = rustix::time::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&pause));
    }
    calls
}

/// A worker: one call after the other, as many as the rate allows, until it is killed.
pub fn worker(file: &Path) {
    let capacity = open(file, "worker");
    let requests = rate(&capacity);
    let provider = file.with_file_name("provider");
    std::thread::scope(|scope| {
        scope.spawn(|| keep_alive(&capacity));
        for _ in 0..2 {
            scope.spawn(|| while work(&capacity, requests, &provider).is_ok() {});
        }
    });
}

fn rate(capacity: &Capacity) -> ResourceId {
    capacity.define_rate("requests", RATE, WINDOW, "test").unwrap().id
}

fn work(capacity: &Capacity, requests: ResourceId, provider: &Path) -> Result<(), Error> {
    let ticket = patient(|| capacity.enqueue(&[(requests, 1)], TTL))?;
    let lease = match patient(|| capacity.wait(ticket, Duration::from_secs(60)))? {
        Waited::Granted(lease) => lease,
        Waited::Lapsed => return Ok(()),
        Waited::NotYet => panic!("starved for a minute"),
    };
    let good =
        matches!(patient(|| capacity.consume(&lease)), Ok(())) && capacity.check(&lease) == LeaseStatus::Good;
    if good {
        call(provider);
    }
    patient(|| capacity.settle(&lease, &[(requests, u32::from(good), WINDOW)]))
}

fn torment(parent: &Capacity, workers: &mut [Actor], file: &Path, until: Instant) {
    let mut victim = 0;
    while Instant::now() < until {
        victim = (victim + 1) % workers.len();
        workers[victim].signal(Signal::STOP);
        // Stuck, if it was stopped inside the lock; then the others learn to wait.
        let _ = parent.listen(0, TTL / 8);
        workers[victim].signal(Signal::CONT);
        let next = (victim + 1) % workers.len();
        workers[next].signal(Signal::KILL);
        workers[next].ended_well();
        workers[next] = Actor::start("storm", file, 0);
    }
}

#[test]
fn never_more_in_a_window_than_the_rate_whoever_dies_or_stops() {
    let time = Duration::from_secs(4);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("capacity");
    let parent = open(&file, "parent");
    rate(&parent);
    let listener = UnixListener::bind(directory.path().join("provider")).unwrap();
    listener.set_nonblocking(true).unwrap();
    let stop = AtomicBool::new(false);
    let calls = std::thread::scope(|scope| {
        let provider = scope.spawn(|| provide(&listener, &stop));
        let end = End(&stop);
        let mut workers: Vec<Actor> = (0..WORKERS).map(|_| Actor::start("storm", &file, 0)).collect();
        torment(&parent, &mut workers, &file, Instant::now() + time);
        drop(workers);
        drop(end);
        provider.join().unwrap()
    });
    for (first, last) in calls.iter().zip(&calls[RATE as usize..]) {
        let between = last.duration_since(*first);
        assert!(between + QUEUED >= WINDOW, "{} calls within {between:?}", RATE + 1);
    }
    let possible = RATE * (time.as_millis() / WINDOW.as_millis()) as u32;
    assert!(calls.len() as u32 >= possible / 2, "{} calls of {possible}", calls.len());
    parent.reclaim().unwrap();
    audit(&parent);
}
