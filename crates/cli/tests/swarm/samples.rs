//! Pictures of the shared table, taken at intervals by an observer that takes no part.

use super::provider::Watch;
use convoke_capacity::{Capacity, LeaseState, Snapshot};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two pictures.
const EVERY: Duration = Duration::from_millis(10);

/// What the table said at one moment.
#[derive(Debug, Clone)]
pub struct Sample {
    pub at: u64,
    /// By process id.
    pub instances: BTreeMap<u32, Part>,
    /// Leases in quarantine, of all processes.
    pub quarantined: usize,
    /// The tables are in the hands of a process that is stopped: no lease can be granted.
    pub stuck: bool,
    /// A change ran into the picture.
    pub torn: bool,
}

/// What one process has to do with the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// The lane, by the name of its workflow.
    pub lane: Option<usize>,
    pub stopped: bool,
    /// Leases that are out and in time.
    pub in_use: usize,
    pub quarantined: usize,
    /// Demands in the queue that have no answer.
    pub waiting: usize,
}

/// Takes pictures until it is ended.
pub struct Sampler {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Sample>>,
}

impl Sampler {
    pub fn start(watch: Watch, table: PathBuf) -> Sampler {
        let over = Arc::new(AtomicBool::new(false));
        let told = over.clone();
        let thread = std::thread::spawn(move || {
            let mut samples = Vec::new();
            while !told.load(Ordering::Relaxed) {
                let at = watch.now();
                let seen = Capacity::observe(&table).expect("the table can be looked at");
                samples.extend(seen.map(|snapshot| Sample::of(at, &snapshot)));
                std::thread::sleep(EVERY);
            }
            samples
        });
        Sampler { over, thread }
    }

    pub fn end(self) -> Vec<Sample> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().expect("the table can be looked at")
    }
}

impl Sample {
    pub fn of(at: u64, snapshot: &Snapshot) -> Sample {
        let mut instances: BTreeMap<u32, Part> = BTreeMap::new();
        for instance in &snapshot.instances {
            let part = instances.entry(instance.pid).or_default();
            part.lane = instance.label.strip_prefix("lane-").and_then(|number| number.parse().ok());
            part.stopped |= instance.stopped;
        }
        let mut quarantined = 0;
        for lease in &snapshot.leases {
            let part = instances.entry(lease.pid).or_default();
            match lease.state {
                LeaseState::Quarantined => {
                    (part.quarantined, quarantined) = (part.quarantined + 1, quarantined + 1)
                }
                _ => part.in_use += 1,
            }
        }
        for waiter in snapshot.waiters.iter().filter(|waiter| !waiter.granted) {
            instances.entry(waiter.pid).or_default().waiting += 1;
        }
        let stuck = snapshot.held_by.is_some_and(|pid| instances.get(&pid).is_some_and(|part| part.stopped));
        Sample { at, instances, quarantined, stuck, torn: snapshot.torn }
    }

    /// All that is out, in time or not.
    pub fn out(&self) -> usize {
        self.quarantined + self.instances.values().map(|part| part.in_use).sum::<usize>()
    }

    /// Unusable capacity: leases of stopped processes, and those in quarantine.
    pub fn kept(&self) -> usize {
        let stopped = self.instances.values().filter(|part| part.stopped);
        self.quarantined + stopped.map(|part| part.in_use).sum::<usize>()
    }

    /// Work waits in every process that lives and is not stopped, and there is one.
    pub fn is_full_of_work(&self) -> bool {
        let mut working = self.instances.values().filter(|part| !part.stopped).peekable();
        working.peek().is_some() && working.all(|part| part.waiting > 0)
    }
}
