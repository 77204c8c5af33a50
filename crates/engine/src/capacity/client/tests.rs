use super::*;
use crate::clock::Clock as RunClock;
use crate::fact::Fact;
use convoke_capacity::{Clock, Identity, Options, Reserved};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
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
    let (office, told, clock) = office_in(folder.path());
    Desk { office, told, clock, folder }
}

fn office_in(folder: &std::path::Path) -> (Office, UnboundedReceiver<Fact>, Arc<AtomicU64>) {
    let clock = Arc::new(AtomicU64::new(1_000_000_000));
    let options = Options { clock: Clock::Manual(clock.clone()), ..Options::default() };
    let table = Capacity::open(&folder.join("capacity"), &Identity::default(), options);
    let (facts, told) = unbounded_channel();
    let office = Office {
        table: table.expect("a new table").into(),
        handle: Handle { facts, clock: RunClock::system(), rendering: Default::default() },
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
    (office, told, clock)
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
    let shared = crate::capacity::terms::Shared {
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

/// What one of the threads of one of two stewards does next.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The clerk takes a wish for so much.
    Ask(usize, u64),
    /// The clerk takes the n-th open wish back.
    Withdraw(usize, usize),
    /// The clerk gives the n-th lease back.
    GiveBack(usize, usize),
    /// The one that listens looks at what waits.
    Fetch(usize),
    /// It gives wishes of the backlog their places.
    CatchUp(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..2usize;
    prop_oneof![
        4 => (who.clone(), 1..3u64).prop_map(|(who, count)| Step::Ask(who, count)),
        1 => (who.clone(), 0..8usize).prop_map(|(who, at)| Step::Withdraw(who, at)),
        3 => (who.clone(), 0..8usize).prop_map(|(who, at)| Step::GiveBack(who, at)),
        3 => who.clone().prop_map(Step::Fetch),
        2 => who.prop_map(Step::CatchUp),
    ]
}

/// A steward and what its run knows of it.
struct Watched {
    office: Office,
    told: UnboundedReceiver<Fact>,
    open: BTreeSet<u64>,
    withdrawn: BTreeSet<u64>,
    held: BTreeMap<u64, Fence>,
}

const SLOTS: u64 = 3;

impl Watched {
    fn perform(&mut self, step: Step, ask: u64) {
        match step {
            Step::Ask(_, count) => {
                self.open.insert(ask);
                self.office.reserve(AskNo(ask), vec![slots(count)]);
            }
            Step::Withdraw(_, at) => {
                let Some(ask) = self.open.iter().copied().nth(at) else { return };
                self.open.remove(&ask);
                self.withdrawn.insert(ask);
                self.office.withdraw(AskNo(ask));
            }
            Step::GiveBack(_, at) => {
                let Some(ask) = self.held.keys().copied().nth(at) else { return };
                let fence = self.held.remove(&ask).expect("it is held");
                self.office.give_back(&Return { fence, used: Vec::new() });
            }
            Step::Fetch(_) => self.office.fetch(),
            Step::CatchUp(_) => self.office.catch_up(),
        }
    }

    /// Hears what the run is told. Each wish is answered once; a lease for one that was taken back goes back.
    fn hear(&mut self) {
        while let Ok(fact) = self.told.try_recv() {
            match fact.what {
                What::Capacity(News::Granted { ask, fence }) if self.withdrawn.remove(&ask.0) => {
                    self.office.give_back(&Return { fence, used: Vec::new() });
                }
                What::Capacity(News::Granted { ask, fence }) => {
                    assert!(self.open.remove(&ask.0), "{ask:?} is answered once");
                    self.held.insert(ask.0, fence);
                }
                What::Capacity(News::Queued { .. }) => {}
                other => panic!("nothing runs out and nothing is impossible: {other:?}"),
            }
        }
    }
}

fn slots(count: u64) -> Want {
    let (name, origin, counts) = ("slots".into(), "test".into(), Counts::Slots);
    let of = crate::capacity::terms::Shared {
        name,
        limit: SLOTS,
        origin,
        counts,
        window: None,
        says_spent: false,
    };
    Want { of: Arc::new(of), count }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever order the threads of two processes take their turns in: a wish is answered once, nothing is lost on the
    /// way, and when all is given back nothing is left.
    #[test]
    fn in_whatever_order_threads_take_turns_each_wish_is_answered_once(steps in prop::collection::vec(step(), 1..120)) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut both = [0, 1].map(|_| {
            let (office, told, _) = office_in(folder.path());
            let (open, withdrawn, held) = Default::default();
            Watched { office, told, open, withdrawn, held }
        });
        for (ask, step) in steps.into_iter().enumerate() {
            let (Step::Ask(who, _) | Step::Withdraw(who, _) | Step::GiveBack(who, _) | Step::Fetch(who) | Step::CatchUp(who)) = step;
            both[who].perform(step, ask as u64);
            both[who].hear();
        }
        // Bells may ring for long; a run that gives back what it gets has all of its wishes met in the end.
        for _ in 0..500 {
            for side in &mut both {
                side.perform(Step::Fetch(0), 0);
                side.hear();
                side.perform(Step::GiveBack(0, 0), 0);
                side.perform(Step::CatchUp(0), 0);
                side.hear();
            }
        }
        for side in &both {
            prop_assert!(side.open.is_empty() && side.held.is_empty(), "{:?} {:?}", side.open, side.held);
            prop_assert_eq!(side.office.books().tickets().len(), 0);
        }
        let left = both[0].office.table.snapshot();
        prop_assert_eq!((left.leases.len(), left.waiters.len()), (0, 0), "{:?}", left);
    }
}
