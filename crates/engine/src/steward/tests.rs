use super::*;
use crate::clock::Clock as RunClock;
use crate::fact::Fact;
use convoke_capacity::{Clock, Identity, Options, Reserved};
use std::sync::atomic::AtomicU64;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const TTL: Duration = Duration::from_secs(10);

/// An office at a table of its own, with a clock that is moved by hand; and what it tells.
struct Desk {
    office: Office,
    told: UnboundedReceiver<Fact>,
    clock: Arc<AtomicU64>,
    _folder: tempfile::TempDir,
}

fn desk() -> Desk {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Arc::new(AtomicU64::new(1_000_000_000));
    let options = Options { clock: Clock::Manual(clock.clone()), ..Options::default() };
    let table = Capacity::open(&folder.path().join("capacity"), &Identity::default(), options);
    let (facts, told) = unbounded_channel();
    let office = Office {
        table: table.expect("a new table").into(),
        handle: Handle { facts, clock: RunClock::system() },
        ttl: TTL,
        books: Mutex::default(),
        leases: Mutex::default(),
        known: Mutex::default(),
        unpaid: Mutex::default(),
        closed: AtomicBool::new(false),
        stuck: AtomicBool::new(false),
    };
    Desk { office, told, clock, _folder: folder }
}

#[test]
fn a_lease_that_ran_out_before_anything_was_started_with_it_goes_back() {
    let mut desk = desk();
    let slots = desk.office.table.define("slots", 1, "test").expect("there is room").id;
    let Ok(Reserved::Granted(lease)) = desk.office.table.reserve(&[(slots, 1)], TTL) else {
        panic!("it is free")
    };
    desk.clock.fetch_add(TTL.as_nanos() as u64, Ordering::SeqCst);
    desk.office.granted(AskNo(1), lease);
    let told = desk.told.try_recv().expect("the run is told").what;
    assert!(matches!(told, What::Capacity(News::Lapsed { ask: AskNo(1) })));
    let left = desk.office.table.in_force(slots).expect("it is known");
    assert_eq!((left.in_use, left.quarantined), (0, 0), "nothing keeps it in quarantine");
}
