//! Many processes that share a limit, while some are killed and some are stopped, judged by a provider that counts.
//!
//! A call is a connection to the provider: it counts from the provider's accept until its answer, or until the connection is
//! closed, as it is when a process is killed. `CONVOKE_CAPACITY_SECONDS` makes it longer.

use super::audit::audit;
use super::child::{Actor, open};
use super::*;
use crate::{Error, LeaseState, LeaseStatus, LeaseView};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const LIMIT: u32 = 5;
const WORKERS: usize = 8;
/// Short enough to expire under a stop, long enough for a busy machine to renew in time.
pub(super) const TTL: Duration = Duration::from_millis(400);

/// The provider: one thread, so that what it sees is in order.
struct Provider {
    listener: UnixListener,
    calls: Vec<(UnixStream, Instant)>,
    most: usize,
    answered: u64,
    over: u64,
}

impl Provider {
    fn new(path: &Path) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self { listener, calls: Vec::new(), most: 0, answered: 0, over: 0 }
    }

    /// Calls end before new ones are counted: by an answer after two milliseconds, or because the caller has gone.
    fn turn(&mut self) {
        self.drop_closed();
        self.answer_old();
        while let Ok((call, _)) = self.listener.accept() {
            // What came over meanwhile may have been closed before this one was made.
            self.drop_closed();
            self.calls.push((call, Instant::now()));
            self.most = self.most.max(self.calls.len());
            self.over += u64::from(self.calls.len() > LIMIT as usize);
        }
    }

    fn drop_closed(&mut self) {
        self.calls.retain_mut(|(call, _)| {
            call.set_nonblocking(true).unwrap();
            !matches!(call.read(&mut [0; 8]), Ok(0))
        });
    }

    fn answer_old(&mut self) {
        let old = |(_, begin): &mut (UnixStream, Instant)| begin.elapsed() > Duration::from_millis(2);
        for (mut call, _) in self.calls.extract_if(.., old) {
            // The caller may have died; the call is over either way.
            let _ = call.write_all(b"done");
            self.answered += 1;
        }
    }

    fn run(mut self, stop: &AtomicBool) -> Self {
        while !stop.load(Ordering::SeqCst) {
            self.turn();
            let mut handles = [PollFd::new(&self.listener, PollFlags::IN)];
            let pause = rustix::time::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            let _ = poll(&mut handles, Some(&pause));
        }
        self
    }
}

/// Ends the provider, also when the test fails in between.
pub(super) struct End<'a>(pub &'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A worker: takes a place, makes a call, gives it back, until it is killed.
pub fn worker(file: &Path) {
    let capacity = open(file, "worker");
    let slots = define(&capacity, "slots", LIMIT);
    let provider = file.with_file_name("provider");
    std::thread::scope(|scope| {
        scope.spawn(|| keep_alive(&capacity));
        for _ in 0..3 {
            scope.spawn(|| while work(&capacity, slots, &provider).is_ok() {});
        }
    });
}

/// Heartbeats until the file has gone, which is how the parent ends the workers it did not kill.
pub(super) fn keep_alive(capacity: &Capacity) {
    let mut heard = 0;
    loop {
        match capacity.heartbeat() {
            Err(Error::Io { .. }) => std::process::exit(0),
            Err(Error::Stuck { .. }) | Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
        heard = capacity.listen(heard, TTL / 8).unwrap_or(heard);
    }
}

fn work(capacity: &Capacity, slots: ResourceId, provider: &Path) -> Result<(), Error> {
    let lease = match lease(capacity, slots) {
        Ok(Some(lease)) => lease,
        Ok(None) | Err(Error::Stuck { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    if matches!(patient(|| capacity.consume(&lease)), Ok(())) && capacity.check(&lease) == LeaseStatus::Good {
        call(provider);
    }
    match patient(|| capacity.release(&lease)) {
        Err(Error::Expired { .. }) => patient(|| capacity.confirm_gone(&lease)),
        answer => answer,
    }
}

fn lease(capacity: &Capacity, slots: ResourceId) -> Result<Option<Lease>, Error> {
    let ticket = capacity.enqueue(&[(slots, 1)], TTL)?;
    match patient(|| capacity.wait(ticket, Duration::from_secs(60)))? {
        Waited::Granted(lease) => Ok(Some(lease)),
        Waited::Lapsed => Ok(None),
        Waited::NotYet => panic!("starved for a minute"),
    }
}

/// A stopped neighbour passes.
pub(super) fn patient<T>(mut what: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        match what() {
            Err(Error::Stuck { .. }) => {}
            answer => return answer,
        }
    }
}

pub(super) fn call(provider: &Path) {
    let Ok(mut stream) = UnixStream::connect(provider) else { return };
    let _ = stream.read(&mut [0; 8]);
}

/// How much was out of what could have been, whenever a process waited for more.
#[derive(Default)]
struct Utilisation {
    out: u32,
    possible: u32,
}

impl Utilisation {
    fn look(&mut self, parent: &Capacity) -> Snapshot {
        let seen = parent.snapshot();
        let slots = &seen.resources[0];
        if slots.waiting > 0 && !seen.torn {
            self.out += slots.in_use + slots.quarantined;
            self.possible += LIMIT;
        }
        seen
    }
}

/// Kills and stops workers in turn until the time is over.
fn torment(parent: &Capacity, workers: &mut [Actor], file: &Path, until: Instant) -> Utilisation {
    let mut victim = 0;
    let mut utilisation = Utilisation::default();
    while Instant::now() < until {
        victim = (victim + 3) % workers.len();
        workers[victim].signal(Signal::STOP);
        outlast(parent, workers[victim].process.id(), until, &mut utilisation);
        workers[victim].signal(Signal::CONT);
        let next = (victim + 1) % workers.len();
        workers[next].signal(Signal::KILL);
        workers[next].ended_well();
        workers[next] = Actor::start("mayhem", file, 0);
    }
    utilisation
}

/// Waits until every lease of a stopped process has expired.
fn outlast(parent: &Capacity, pid: u32, until: Instant, utilisation: &mut Utilisation) {
    let in_time = |lease: &LeaseView| lease.pid == pid && lease.state != LeaseState::Quarantined;
    while Instant::now() < until && utilisation.look(parent).leases.iter().any(in_time) {
        // Stuck, if it was stopped inside the lock; then the others learn to wait.
        let _ = parent.listen(0, TTL / 8);
    }
}

#[test]
fn never_above_the_limit_whoever_dies_or_stops() {
    let seconds = std::env::var("CONVOKE_CAPACITY_SECONDS").map_or(6, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("capacity");
    let parent = open(&file, "parent");
    define(&parent, "slots", LIMIT);
    let (stop, provider) = (AtomicBool::new(false), Provider::new(&directory.path().join("provider")));
    let (provider, utilisation) = std::thread::scope(|scope| {
        let provider = scope.spawn(|| provider.run(&stop));
        let end = End(&stop);
        let mut workers: Vec<Actor> = (0..WORKERS).map(|_| Actor::start("mayhem", &file, 0)).collect();
        let utilisation =
            torment(&parent, &mut workers, &file, Instant::now() + Duration::from_secs(seconds));
        drop(workers);
        drop(end);
        (provider.join().unwrap(), utilisation)
    });
    assert!(utilisation.possible > 0, "nobody ever waited");
    let percent = 100 * utilisation.out / utilisation.possible;
    assert!(percent >= 95, "{percent} % of the limit was in use while others waited");
    assert_eq!(provider.over, 0, "{} at once, the limit is {LIMIT}", provider.most);
    assert_eq!(provider.most, LIMIT as usize, "the limit was reached");
    assert!(provider.answered > 50 * seconds, "only {} calls", provider.answered);
    parent.reclaim().unwrap();
    audit(&parent);
    let left = parent.snapshot();
    assert_eq!((usage(&left, "slots"), left.waiters.len(), left.instances.len()), ((0, 0), 0, 1));
    assert!(left.counters.quarantined > 0, "no lease expired under a stop");
}
