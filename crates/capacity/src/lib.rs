//! What the processes of one machine share: limits, leases, a wait queue, offers of work, and liveness.
//!
//! One mapped file in the state directory; no coordinator process. A process [opens](Capacity::open) it, names the
//! [resources](Capacity::define) it will use, and [reserves](Capacity::reserve) amounts of several at once: all of them or
//! none. What it gets is a [`Lease`] with a time to live and a fencing token. If there is not enough it takes a place in a
//! queue that is served, first come first served, by the process that gives capacity back. Idle processes
//! [claim](Capacity::claim) tasks that others [offer](Capacity::offer).
//!
//! ```
//! use convoke_capacity::{Capacity, Identity, Options, Reserved, Waited};
//! use std::time::Duration;
//!
//! # let directory = tempfile::tempdir().unwrap();
//! # let path = directory.path().join("capacity");
//! let capacity = Capacity::open(&path, &Identity { label: "example".into(), ..Identity::default() }, Options::default())?;
//! let slots = capacity.define("model slots", 4, "config.toml").expect("a good name").id;
//! let ttl = Duration::from_secs(30);
//! let lease = match capacity.reserve(&[(slots, 1)], ttl)? {
//!     Reserved::Granted(lease) => lease,
//!     Reserved::Blocked { .. } => match capacity.wait(capacity.enqueue(&[(slots, 1)], ttl)?, ttl)? {
//!         Waited::Granted(lease) => lease,
//!         Waited::Lapsed | Waited::NotYet => return Ok(()),
//!     },
//! };
//! capacity.consume(&lease)?; // then `check` before each send, `heartbeat` from a timer
//! capacity.release(&lease)?;
//! # Ok::<(), convoke_capacity::Error>(())
//! ```
//!
//! A [rate](Capacity::define_rate) is a limit on what was used within a window. A lease takes of it as of anything else; when
//! its call has ended it is [settled](Capacity::settle), and what the provider counted lingers until a window after that, also
//! when the process has ended. Amounts that linger are in a few buckets per resource (`buckets.rs`), not in leases: a rate of
//! 50 000 per minute needs no more room than one of five. A provider's "later" [pauses](Capacity::pause) a resource for all
//! processes, and what its answers say about a limit is [learned](Capacity::report_sample) by all processes together.
//!
//! Kept true, for every resource, at every instant: no grant takes granted + quarantined + lingering past the limit. What has
//! happened counts even if it is more (a call used more than was reserved for it, a limit was lowered); then nothing is granted
//! until enough is given back or has lapsed. A process killed at any point leaves tables that the next one completes or undoes
//! exactly; one that is stopped while it holds them is [named](Error::Stuck), and stops everybody rather than letting anybody
//! exceed a limit.
//!
//! Left to others: what the limits should be, ranks and classes (`govern`), what is done with a lease (`engine`), where the
//! file is and what people are told (`cli`).
//!
//! Reading order: `memory` (`layout.rs` is the file), `table.rs`, `recovery`,
//! then `leases.rs`, `queueing`, `settle.rs`, `moments.rs`, `learning.rs`, `steal.rs`.

mod buckets;
mod capacity;
mod clock;
mod error;
mod failpoint;
mod join;
mod learning;
mod leases;
mod memory;
mod moments;
mod offer;
mod queueing;
mod recovery;
mod resources;
mod settle;
mod snapshot;
mod steal;
mod table;
mod views;

#[cfg(test)]
mod tests;

use memory::{bytes, cells, extents, futex, guard, kernel, layout, lock, lock_word, mapping};
use queueing::{queue, signals, waiting};
use recovery::{liveness, reclaim, recover};

pub use capacity::{Capacity, Identity, Options};
pub use clock::Clock;
pub use error::Error;
pub use layout::{LEASES, LeaseState, OFFERS, PROCESSES, RESOURCES, VECTOR, WAITERS, WORDS};
pub use learning::{KnownLimit, Words};
pub use leases::{LONGEST_TTL, Lease, LeaseStatus, Renewal, Reserved};
pub use liveness::Liveness;
pub use offer::{Claim, Claimed, Offer, OfferId, OpenOffer, Progress};
pub use queue::{IN_A_ROW, PASSES};
pub use reclaim::Reclaimed;
pub use resources::{Defined, NAME_BYTES, ResourceId};
pub use views::{Counters, Holding, Instance, LeaseView, ResourceView, Snapshot, WaiterView};
pub use waiting::{SEARCH_EVERY, Ticket, Waited};
