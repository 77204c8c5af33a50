//! What a forwarder promises, on journals of its own and with a receiver that fails as it likes.

use convoke_follow::{Consumer, Delivered, Fold, Forwarder, Lease, Pass, Since, Undelivered, account};
use convoke_journal::{Journal, Owner, Reader, RunMeta, Sqlite, StateDir};
use convoke_model::{
    Base, BaseKind, Digest, Event, JsonText, Payload, PlanChanged, RunForked, RunId, RunStarted, RunStatus,
    Stamped, TaskId, Timestamp,
};
use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// What is delivered of an event: its place, and its time.
type Item = (String, u64, u64);

/// A receiver that takes everything, unless its plan says otherwise.
#[derive(Clone, Default)]
struct Receiver {
    taken: Arc<Mutex<Vec<Item>>>,
    most: Arc<Mutex<usize>>,
    /// What becomes of the next deliveries; empty: they are taken.
    plan: Arc<Mutex<Vec<Fate>>>,
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It is not there.
    Away,
    /// It takes everything, and its answer is lost.
    Unheard,
    /// It wants none of it.
    Refuses,
}

struct All(RunId);

impl Fold<Item> for All {
    fn take(&mut self, event: &Stamped, items: &mut Vec<Item>) {
        items.push((self.0.to_string(), event.seq, event.at.0));
    }
}

impl Consumer for Receiver {
    type Item = Item;

    fn name(&self) -> &str {
        "test"
    }

    fn begin(&self, run: &RunId, journal: &Reader) -> Box<dyn Fold<Item>> {
        assert!(journal.last() > 0, "whether a run is wanted stands in its first event");
        Box::new(All(run.clone()))
    }

    fn deliver<'a>(
        &'a mut self,
        _run: &'a RunId,
        items: &'a [Item],
    ) -> BoxFuture<'a, Result<Delivered, Undelivered>> {
        let fate = self.plan.lock().unwrap().pop();
        if !matches!(fate, Some(Fate::Away | Fate::Refuses)) {
            self.taken.lock().unwrap().extend_from_slice(items);
        }
        let mut most = self.most.lock().unwrap();
        *most = (*most).max(items.len());
        Box::pin(std::future::ready(match fate {
            None => Ok(Delivered::default()),
            Some(Fate::Refuses) => Err(Undelivered::Refused { why: "no".into() }),
            Some(_) => Err(Undelivered::Later { why: "away".into(), after: None }),
        }))
    }
}

struct World {
    _folder: tempfile::TempDir,
    state: StateDir,
    receiver: Receiver,
    /// The time of the next event.
    now: u64,
    journals: BTreeMap<String, Sqlite>,
    /// What must arrive.
    wanted: BTreeSet<Item>,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        let (receiver, journals, wanted) = Default::default();
        World { _folder: folder, state, receiver, now: 1_000, journals, wanted }
    }

    fn create(&mut self, run: &str) {
        let meta = RunMeta { plan: JsonText::of(&1), source: JsonText::of(&"w") };
        let owner = Owner { pid: std::process::id(), start: None, host: "here".into(), boot: "b".into() };
        let journal = Sqlite::create(&self.state, &RunId(run.into()), &meta, &owner).unwrap();
        self.journals.insert(run.to_owned(), journal);
    }

    fn start(&mut self, run: &str, base: Option<Base>) {
        self.create(run);
        self.append(run, vec![started(run, base)]);
    }

    fn append(&mut self, run: &str, events: Vec<Event>) {
        let journal = self.journals.get_mut(run).unwrap();
        let mut stamped = Vec::new();
        for event in events {
            self.now += 1;
            let seq = journal.next_seq() + stamped.len() as u64;
            stamped.push(Stamped { seq, at: Timestamp(self.now), event });
            self.wanted.insert((run.to_owned(), seq, self.now));
        }
        journal.append(&stamped, &[], &[]).unwrap();
    }

    fn work(&mut self, run: &str, events: usize) {
        let woken = |n| Event::TaskWoken { task: TaskId(format!("t{n}").into()) };
        self.append(run, (0..events).map(woken).collect());
    }

    fn finish(&mut self, run: &str) {
        let (output, failure) = (None, None);
        self.append(run, vec![Event::RunFinished { status: RunStatus::Succeeded, output, failure }]);
    }

    fn forwarder(&self, since: Since) -> Forwarder<Receiver> {
        let lease = Lease::take(&self.state, "test").unwrap().expect("no other forwarder");
        Forwarder::open(&self.state, self.receiver.clone(), "a test", since, lease).unwrap()
    }

    fn arrived(&self) -> BTreeSet<Item> {
        self.receiver.taken.lock().unwrap().iter().cloned().collect()
    }

    fn fails(&self, fates: &[Fate]) {
        *self.receiver.plan.lock().unwrap() = fates.to_vec();
    }
}

fn started(run: &str, base: Option<Base>) -> Event {
    Event::RunStarted(Box::new(RunStarted {
        run: RunId(run.into()),
        workflow: "w".into(),
        file: "w.yaml".into(),
        folder: "/".into(),
        plan: Digest::of(b"p"),
        inputs: Payload::Inline(JsonText::of(&1)),
        seed: 1,
        skip_gates: false,
        version: "1".into(),
        metadata: Default::default(),
        configuration: Default::default(),
        base,
    }))
}

fn pass(forwarder: &mut Forwarder<Receiver>) -> Pass {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(forwarder.last_pass()).unwrap()
}

/// Until nothing more is there.
fn passes(forwarder: &mut Forwarder<Receiver>) {
    while pass(forwarder) != Pass::default() {}
}

#[test]
fn nothing_is_missing_and_what_is_double_is_known_by_its_id() {
    for seed in 0..40_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let mut world = World::new();
        world.start("a", None);
        let mut runs = vec!["a".to_owned()];
        let mut forwarder = Some(world.forwarder(Since::Ever));
        for step in 0..60 {
            let run = runs[next(runs.len() as u64) as usize].clone();
            match next(8) {
                0 if runs.len() < 6 => {
                    let name = format!("run{step}");
                    world.start(&name, None);
                    runs.push(name);
                }
                0 | 1 => world.work(&run, next(400) as usize + 1),
                2 => world.finish(&run),
                // The process that delivers dies.
                3 => drop(forwarder.take()),
                4 => world.fails(&[Fate::Away, Fate::Unheard, Fate::Away]),
                5 => world.fails(&[Fate::Unheard]),
                _ => drop(pass(forwarder.get_or_insert_with(|| world.forwarder(Since::Ever)))),
            }
        }
        world.fails(&[]);
        drop(forwarder.take());
        let mut last = world.forwarder(Since::Ever);
        passes(&mut last);
        assert_eq!(world.arrived(), world.wanted, "seed {seed}");
        assert!(*world.receiver.most.lock().unwrap() <= 128, "a batch is bounded");
        let before = world.receiver.taken.lock().unwrap().len();
        passes(&mut last);
        drop(last);
        passes(&mut world.forwarder(Since::Ever));
        assert_eq!(
            world.receiver.taken.lock().unwrap().len(),
            before,
            "seed {seed}: what is known is not sent again"
        );
    }
}

#[test]
fn what_is_delivered_once_is_delivered_once_where_nothing_goes_wrong() {
    let mut world = World::new();
    world.start("a", None);
    let mut forwarder = world.forwarder(Since::Ever);
    for _ in 0..5 {
        world.work("a", 300);
        passes(&mut forwarder);
    }
    world.finish("a");
    passes(&mut forwarder);
    assert_eq!(world.receiver.taken.lock().unwrap().len(), world.wanted.len());
    assert_eq!(world.arrived(), world.wanted);
    // A run that is opened again after its end.
    world.work("a", 3);
    passes(&mut forwarder);
    assert_eq!(world.receiver.taken.lock().unwrap().len(), world.wanted.len());
}

#[test]
fn a_receiver_that_is_new_hears_what_happens_from_now_on() {
    let mut world = World::new();
    world.start("old", None);
    world.finish("old");
    let mut forwarder = world.forwarder(Since::now());
    passes(&mut forwarder);
    assert_eq!(world.arrived(), BTreeSet::new());
    world.now = u64::MAX / 2_000;
    let before = world.wanted.clone();
    world.work("old", 2);
    passes(&mut forwarder);
    assert_eq!(world.arrived(), world.wanted.difference(&before).cloned().collect());
}

#[test]
fn of_a_fork_only_its_own_events_are_delivered() {
    let mut world = World::new();
    let hash = Digest::of(b"h");
    let base = Base { run: RunId("a".into()), how: BaseKind::Fork { seq: 3, hash } };
    world.start("fork", Some(base));
    world.work("fork", 2);
    world.wanted.clear();
    let change = PlanChanged {
        plan: hash,
        dropped: Vec::new(),
        opened: Vec::new(),
        superseded: Vec::new(),
        asking: Vec::new(),
    };
    let forked = RunForked { run: RunId("a".into()), seq: 3, hash, set: Vec::new(), change };
    world.append("fork", vec![Event::RunForked(Box::new(forked))]);
    world.work("fork", 2);
    passes(&mut world.forwarder(Since::Ever));
    assert_eq!(world.arrived(), world.wanted);
}

#[test]
fn a_journal_that_cannot_be_read_is_named_and_the_others_go_on() {
    let mut world = World::new();
    world.start("bad", None);
    world.work("bad", 5);
    let path = world.state.run_dir(&RunId("bad".into())).join("journal.db");
    world.journals.clear();
    std::fs::write(&path, "nonsense").unwrap();
    for ending in ["journal.db-wal", "journal.db-shm"] {
        std::fs::remove_file(path.with_file_name(ending)).ok();
    }
    world.wanted.clear();
    world.start("good", None);
    world.finish("good");
    let mut forwarder = world.forwarder(Since::Ever);
    passes(&mut forwarder);
    assert_eq!(world.arrived(), world.wanted);
    let told = account(&world.state, "test").unwrap();
    assert_eq!(told.unreadable.iter().map(|(run, _)| &*run.0).collect::<Vec<_>>(), ["bad"]);
    assert_eq!(told.problem, None);
}

#[test]
fn a_run_that_is_removed_before_it_was_delivered_is_counted() {
    let mut world = World::new();
    world.start("a", None);
    world.start("b", None);
    world.finish("b");
    let mut forwarder = world.forwarder(Since::Ever);
    passes(&mut forwarder);
    world.work("a", 1);
    world.fails(&[Fate::Away; 3]);
    pass(&mut forwarder);
    world.journals.clear();
    for run in ["a", "b"] {
        std::fs::remove_dir_all(world.state.run_dir(&RunId(run.into()))).unwrap();
    }
    world.fails(&[]);
    passes(&mut forwarder);
    let told = account(&world.state, "test").unwrap();
    assert_eq!(told.dropped, 1, "`a` was not delivered to its end, `b` was");
}

#[test]
fn what_is_refused_is_counted_and_does_not_stop_the_rest() {
    let mut world = World::new();
    world.start("a", None);
    world.fails(&[Fate::Refuses]);
    let mut forwarder = world.forwarder(Since::Ever);
    passes(&mut forwarder);
    world.finish("a");
    passes(&mut forwarder);
    let told = account(&world.state, "test").unwrap();
    assert_eq!((told.refused, told.delivered, world.arrived().len()), (1, 1, 1));
}

#[test]
fn another_journal_under_the_same_name_is_delivered_from_its_beginning() {
    let mut world = World::new();
    world.start("a", None);
    world.work("a", 5);
    passes(&mut world.forwarder(Since::Ever));
    world.journals.clear();
    std::fs::remove_dir_all(world.state.run_dir(&RunId("a".into()))).unwrap();
    world.start("a", None);
    world.work("a", 9);
    passes(&mut world.forwarder(Since::Ever));
    assert_eq!(world.arrived(), world.wanted);
}

#[test]
fn a_run_is_judged_once_it_has_begun() {
    let mut world = World::new();
    let mut forwarder = world.forwarder(Since::Ever);
    world.create("a");
    passes(&mut forwarder);
    world.append("a", vec![started("a", None)]);
    world.finish("a");
    passes(&mut forwarder);
    assert_eq!(world.arrived(), world.wanted);
}
