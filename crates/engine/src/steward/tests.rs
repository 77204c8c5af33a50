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
    folder: tempfile::TempDir,
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
        doors: Mutex::default(),
        unpaid: Mutex::default(),
        closed: AtomicBool::new(false),
        stuck: AtomicBool::new(false),
        troubled: AtomicBool::new(false),
    };
    Desk { office, told, clock, folder }
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

#[test]
fn a_heartbeat_that_fails_is_told_and_only_once() {
    let mut desk = desk();
    std::fs::remove_file(desk.folder.path().join("capacity")).expect("it is there");
    (0..3).for_each(|_| desk.office.heartbeat());
    let told = desk.told.try_recv().expect("the run is told").what;
    assert!(matches!(told, What::Capacity(News::Noted { code: "capacity_unusable", .. })));
    assert!(desk.told.try_recv().is_err(), "once");
}

#[test]
fn a_limit_that_is_in_force_is_told_where_the_run_wants_another() {
    let mut desk = desk();
    let other =
        Capacity::open(&desk.folder.path().join("capacity"), &Identity::default(), Options::default());
    let other = other.expect("it is there");
    other.define("gpu", 2, "a person").expect("there is room");
    let shared = crate::terms::Shared {
        name: "gpu".into(),
        limit: 5,
        origin: "test".into(),
        counts: Counts::Slots,
        window: None,
        says_spent: false,
    };
    let want = Want { of: Arc::new(shared), count: 1 };
    desk.office.reserve(AskNo(1), vec![want]);
    let told = desk.told.try_recv().expect("the run is told").what;
    let changed = News::Changed { name: "gpu".into(), from: 5, to: 2, origin: "a person".into() };
    assert!(matches!(told, What::Capacity(news) if news == changed));
}
