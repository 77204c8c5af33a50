use super::*;
use crate::clock::Clock as RunClock;
use crate::fact::Fact;
use convoke_capacity::{Clock, Identity, Options, Reserved};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const TTL: Duration = Duration::from_secs(10);

/// A client's state at a table of its own, with a clock that is moved by hand; and what it tells.
struct Harness {
    state: SharedState,
    told: UnboundedReceiver<Fact>,
    clock: Arc<AtomicU64>,
    folder: tempfile::TempDir,
}

fn harness() -> Harness {
    let folder = tempfile::tempdir().expect("a folder");
    let (state, told, clock) = state_in(folder.path());
    Harness { state, told, clock, folder }
}

fn state_in(folder: &std::path::Path) -> (SharedState, UnboundedReceiver<Fact>, Arc<AtomicU64>) {
    let clock = Arc::new(AtomicU64::new(1_000_000_000));
    let options = Options { clock: Clock::Manual(clock.clone()), ..Options::default() };
    let table = Capacity::open(&folder.join("capacity"), &Identity::default(), options);
    let (facts, told) = unbounded_channel();
    let state = SharedState {
        table: table.expect("a new table").into(),
        handle: Handle {
            facts,
            clock: RunClock::starting_at(Default::default()),
            rendering: Default::default(),
        },
        ttl: TTL,
        pending: Mutex::default(),
        leases: Mutex::default(),
        known: Mutex::default(),
        services: Mutex::default(),
        unpaid: Mutex::default(),
        closed: AtomicBool::new(false),
        stuck: AtomicBool::new(false),
        troubled: AtomicBool::new(false),
    };
    (state, told, clock)
}

#[test]
fn a_lease_that_ran_out_before_anything_was_started_with_it_goes_back() {
    let mut harness = harness();
    let slots = harness.state.table.define("slots", 1, "test").expect("there is room").id;
    let Ok(Reserved::Granted(lease)) = harness.state.table.reserve(&[(slots, 1)], TTL) else {
        panic!("it is free")
    };
    harness.clock.fetch_add(TTL.as_nanos() as u64, Ordering::SeqCst);
    harness.state.granted(RequestNo(1), lease);
    let told = harness.told.try_recv().expect("the run is told").what;
    assert!(matches!(told, What::Capacity(CapacityFact::Lapsed { request: RequestNo(1) })));
    let left = harness.state.table.in_force(slots).expect("it is known");
    assert_eq!((left.in_use, left.quarantined), (0, 0), "nothing keeps it in quarantine");
}

#[test]
fn a_lease_that_the_table_has_freed_meanwhile_is_told_as_lost() {
    let mut harness = harness();
    let slots = harness.state.table.define("slots", 1, "test").expect("there is room").id;
    let Ok(Reserved::Granted(lease)) = harness.state.table.reserve(&[(slots, 1)], TTL) else {
        panic!("it is free")
    };
    harness.state.granted(RequestNo(1), lease);
    harness.told.try_recv().expect("it is granted");
    harness.state.heartbeat();
    assert!(harness.told.try_recv().is_err(), "it is renewed");
    // Stopped for so long that the lease ran out and its quarantine is over, which others have noticed.
    harness.clock.fetch_add(7 * 86_400_000_000_000, Ordering::SeqCst);
    for _ in 0..2 {
        harness.state.table.reclaim().expect("the table is there");
    }
    assert_eq!(harness.state.table.in_force(slots).expect("it is known").quarantined, 0);
    harness.state.heartbeat();
    let told = harness.told.try_recv().expect("the run is told").what;
    assert!(matches!(told, What::Capacity(CapacityFact::Lost { fences }) if fences == [lease.token]));
}

#[test]
fn a_heartbeat_that_fails_is_told_and_only_once() {
    let mut harness = harness();
    std::fs::remove_file(harness.folder.path().join("capacity")).expect("it is there");
    (0..3).for_each(|_| harness.state.heartbeat());
    let told = harness.told.try_recv().expect("the run is told").what;
    assert!(matches!(told, What::Capacity(CapacityFact::Noted { code: "capacity_unusable", .. })));
    assert!(harness.told.try_recv().is_err(), "once");
}

#[test]
fn a_limit_that_is_in_force_is_told_where_the_run_wants_another() {
    let mut harness = harness();
    let other =
        Capacity::open(&harness.folder.path().join("capacity"), &Identity::default(), Options::default());
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
    harness.state.reserve(RequestNo(1), vec![want]);
    let told = harness.told.try_recv().expect("the run is told").what;
    let changed = CapacityFact::Changed { name: "gpu".into(), from: 5, to: 2, origin: "a person".into() };
    assert!(matches!(told, What::Capacity(fact) if fact == changed));
}

/// What one of the threads of one of two clients does next.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The worker takes a request for so much.
    Lease(usize, u64),
    /// The worker takes the n-th open request back.
    Withdraw(usize, usize),
    /// The worker gives the n-th lease back.
    GiveBack(usize, usize),
    /// The one that listens looks at what waits.
    Fetch(usize),
    /// It gives requests of the backlog their places.
    CatchUp(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..2usize;
    prop_oneof![
        4 => (who.clone(), 1..3u64).prop_map(|(who, count)| Step::Lease(who, count)),
        1 => (who.clone(), 0..8usize).prop_map(|(who, at)| Step::Withdraw(who, at)),
        3 => (who.clone(), 0..8usize).prop_map(|(who, at)| Step::GiveBack(who, at)),
        3 => who.clone().prop_map(Step::Fetch),
        2 => who.prop_map(Step::CatchUp),
    ]
}

/// A client and what its run knows of it.
struct Watched {
    state: SharedState,
    told: UnboundedReceiver<Fact>,
    open: BTreeSet<u64>,
    withdrawn: BTreeSet<u64>,
    held: BTreeMap<u64, Fence>,
}

const SLOTS: u64 = 3;

impl Watched {
    fn perform(&mut self, step: Step, request: u64) {
        match step {
            Step::Lease(_, count) => {
                self.open.insert(request);
                self.state.reserve(RequestNo(request), vec![slots(count)]);
            }
            Step::Withdraw(_, at) => {
                let Some(request) = self.open.iter().copied().nth(at) else { return };
                self.open.remove(&request);
                self.withdrawn.insert(request);
                self.state.withdraw(RequestNo(request));
            }
            Step::GiveBack(_, at) => {
                let Some(request) = self.held.keys().copied().nth(at) else { return };
                let fence = self.held.remove(&request).expect("it is held");
                self.state.give_back(&Return { fence, used: Vec::new() });
            }
            Step::Fetch(_) => self.state.fetch(),
            Step::CatchUp(_) => self.state.catch_up(),
        }
    }

    /// Hears what the run is told. Each request is answered once; a lease for one that was taken back goes back.
    fn hear(&mut self) {
        while let Ok(fact) = self.told.try_recv() {
            match fact.what {
                What::Capacity(CapacityFact::Granted { request, fence })
                    if self.withdrawn.remove(&request.0) =>
                {
                    self.state.give_back(&Return { fence, used: Vec::new() });
                }
                What::Capacity(CapacityFact::Granted { request, fence }) => {
                    assert!(self.open.remove(&request.0), "{request:?} is answered once");
                    self.held.insert(request.0, fence);
                }
                What::Capacity(CapacityFact::Queued { .. }) => {}
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

    /// Whatever order the threads of two processes take their turns in: a request is answered once, nothing is lost on the
    /// way, and when all is given back nothing is left.
    #[test]
    fn in_whatever_order_threads_take_turns_each_request_is_answered_once(steps in prop::collection::vec(step(), 1..120)) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut both = [0, 1].map(|_| {
            let (state, told, _) = state_in(folder.path());
            let (open, withdrawn, held) = Default::default();
            Watched { state, told, open, withdrawn, held }
        });
        for (request, step) in steps.into_iter().enumerate() {
            let (Step::Lease(who, _) | Step::Withdraw(who, _) | Step::GiveBack(who, _) | Step::Fetch(who) | Step::CatchUp(who)) = step;
            both[who].perform(step, request as u64);
            both[who].hear();
        }
        // Bells may ring for long; a run that gives back what it gets has all of its requests met in the end.
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
            prop_assert_eq!(side.state.pending().tickets().len(), 0);
        }
        let left = both[0].state.table.snapshot();
        prop_assert_eq!((left.leases.len(), left.waiters.len()), (0, 0), "{:?}", left);
    }
}
