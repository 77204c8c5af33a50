//! Tests that need the crate's insides.

mod audit;
mod back_pressure;
mod child;
mod learning;
mod lease;
mod mayhem;
mod model;
mod parts;
mod processes;
mod queue;
mod races;
mod rates;
mod reference;
mod steal;
mod storm;
mod table;

use crate::{Capacity, Clock, Identity, Lease, Options, Reserved, ResourceId, Snapshot, Ticket, Waited};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a lease of these tests lives.
pub const TTL: Duration = Duration::from_secs(10);
/// A lease that ends in no test.
pub const LONG: Duration = Duration::from_secs(600);
/// How long calls of these tests may last, margin included.
pub const HOLD: Duration = Duration::from_secs(100);

/// A table of its own, with a clock that is moved by hand.
pub struct World {
    directory: tempfile::TempDir,
    clock: Arc<AtomicU64>,
    namespaces: AtomicU64,
}

impl World {
    pub fn new() -> Self {
        let clock = Arc::new(AtomicU64::new(1_000_000_000));
        Self { directory: tempfile::tempdir().unwrap(), clock, namespaces: AtomicU64::new(1) }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("capacity")
    }

    pub fn options(&self) -> Options {
        Options {
            clock: Clock::Manual(Arc::clone(&self.clock)),
            max_call_time: HOLD - Duration::from_secs(1),
            margin: Duration::from_secs(1),
            ..Options::default()
        }
    }

    pub fn open(&self, label: &str) -> Capacity {
        let identity = Identity { label: label.into(), ..Identity::default() };
        Capacity::open(&self.path(), &identity, self.options()).unwrap()
    }

    /// A participant whose process ids mean nothing to the others, so that only its byte lock proves its life.
    pub fn open_elsewhere(&self, label: &str) -> Capacity {
        let identity = Identity { label: label.into(), ..Identity::default() };
        let namespace = self.namespaces.fetch_add(1, Ordering::SeqCst);
        let facts = crate::kernel::Facts { pid: 7, start_time: 7, namespace, clock_offset: 0 };
        Capacity::open_as(&self.path(), &identity, self.options(), facts).unwrap()
    }

    pub fn pass(&self, time: Duration) {
        self.clock.fetch_add(time.as_nanos() as u64, Ordering::SeqCst);
    }
}

pub fn define(capacity: &Capacity, name: &str, limit: u32) -> ResourceId {
    capacity.define(name, limit, "test").unwrap().id
}

pub fn granted(answer: Reserved) -> Lease {
    match answer {
        Reserved::Granted(lease) => lease,
        Reserved::Blocked { on } => panic!("blocked on {on}"),
    }
}

pub fn blocked(answer: Reserved) -> String {
    match answer {
        Reserved::Granted(lease) => panic!("granted {lease:?}"),
        Reserved::Blocked { on } => on,
    }
}

pub fn take(capacity: &Capacity, id: ResourceId, amount: u32) -> Lease {
    granted(capacity.reserve(&[(id, amount)], TTL).unwrap())
}

/// The lease that a ticket has got, if any.
pub fn fetched(capacity: &Capacity, ticket: Ticket) -> Option<Lease> {
    match capacity.fetch(ticket).unwrap() {
        Waited::Granted(lease) => Some(lease),
        Waited::Lapsed | Waited::NotYet => None,
    }
}

/// In use and quarantined.
pub fn usage(snapshot: &Snapshot, name: &str) -> (u32, u32) {
    let resource = snapshot.resources.iter().find(|resource| resource.name == name).unwrap();
    (resource.in_use, resource.quarantined)
}
