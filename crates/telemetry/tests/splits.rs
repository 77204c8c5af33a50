//! Whatever becomes of senders and of receivers, and however the journals grow meanwhile: what arrives of spans and records is everything,
//! known by its id, and what arrives of numbers adds up to the same.

use crate::fixtures::receiver::{Fate, Receiver, Value, text};
use crate::fixtures::{called, model_call, output, started_as, task, usage};
use convoke_follow::{Consumer, Forwarder, Lease, Pass, Since};
use convoke_journal::{Journal, Owner, RunMeta, Sqlite, StateDir};
use convoke_model::{
    Ask, Class, Event, Failure, JsonText, Payload, RunId, RunReopened, RunStatus, Stamped, TaskId, Timestamp,
};
use convoke_telemetry::Address;
use convoke_telemetry::otlp::{Logs, Metrics, Receiver as To, Signal, Traces};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Seeds that are tried: `CONVOKE_SPLITS`.
fn seeds() -> u64 {
    std::env::var("CONVOKE_SPLITS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// A run that goes on as chance has it, as a journal could.
struct Run {
    journal: Sqlite,
    running: BTreeSet<TaskId>,
    asked: BTreeMap<TaskId, u32>,
    begun: BTreeMap<TaskId, u32>,
    ended: bool,
}

struct World {
    _folder: tempfile::TempDir,
    state: StateDir,
    runs: BTreeMap<String, Run>,
    now: u64,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        World { _folder: folder, state, runs: BTreeMap::new(), now: 1_000_000 }
    }

    fn start(&mut self, name: &str) {
        let meta = RunMeta { plan: JsonText::of(&1), source: JsonText::of(&"w") };
        let owner = Owner { pid: std::process::id(), start: None, host: "here".into(), boot: "b".into() };
        let journal = Sqlite::create(&self.state, &RunId(name.into()), &meta, &owner).unwrap();
        let (running, asked, begun) = Default::default();
        self.runs.insert(name.to_owned(), Run { journal, running, asked, begun, ended: false });
        self.append(name, vec![started_as(RunId(name.into()))]);
    }

    fn append(&mut self, name: &str, events: Vec<Event>) {
        let run = self.runs.get_mut(name).unwrap();
        let from = run.journal.next_seq();
        let stamp = |(at, event)| {
            self.now += 1_234_567;
            Stamped { seq: from + at as u64, at: Timestamp(self.now), event }
        };
        let stamped: Vec<_> = events.into_iter().enumerate().map(stamp).collect();
        run.journal.append(&stamped, &[], &[]).unwrap();
    }

    /// Something happens in a run.
    fn happen(&mut self, name: &str, random: &mut Random) {
        let run = self.runs.get_mut(name).unwrap();
        if run.ended {
            run.ended = false;
            return self.append(name, vec![Event::RunReopened(RunReopened::default())]);
        }
        let any = |set: &BTreeSet<TaskId>, random: &mut Random| {
            (!set.is_empty())
                .then(|| set.iter().nth(random.below(set.len() as u64) as usize).unwrap().clone())
        };
        let busy = any(&run.running, random);
        let attempt = busy.as_ref().map_or(1, |task| run.begun[task]);
        let event = match (random.below(12), busy) {
            (0..=2, _) | (_, None) => {
                let task = task(&format!("t{}", random.below(9)));
                if !run.running.insert(task.clone()) {
                    return;
                }
                let attempt = run.begun.entry(task.clone()).or_default();
                *attempt += 1;
                Event::AttemptStarted { task, attempt: *attempt, lease: None }
            }
            (3, Some(task)) => called(&task.0, attempt, model_call("", Some(Class::RateLimit))),
            (4..=5, Some(task)) => called(&task.0, attempt, model_call("", None)),
            (6, Some(task)) => {
                let (tool, ms) = ("files__read".into(), random.below(5_000));
                Event::ToolCalled { task, attempt, tool, ms, failed: random.below(2) == 0 }
            }
            (7, Some(task)) => {
                let question = run.asked.entry(task.clone()).or_default();
                *question += 1;
                let ask = Payload::Inline(JsonText::of(&Ask::Choice {
                    prompt: "go?".into(),
                    options: Vec::new(),
                    default: None,
                }));
                Event::GateOpened { task, question: *question, ask, shown: None, until: None }
            }
            (8, Some(task)) => {
                let question = run.asked.get(&task).copied().unwrap_or(1);
                let answer = Payload::Inline(JsonText::of(&1));
                Event::GateAnswered { task, question, answer, by: "me".into(), from: None }
            }
            (9, Some(task)) => {
                run.running.remove(&task);
                let failure = Failure::new(Class::Timeout, "slow");
                Event::AttemptFailed { task, attempt, failure, usage: usage(1), partial: None }
            }
            (10, Some(task)) => {
                run.running.remove(&task);
                Event::AttemptFinished { task, attempt, output: output(), usage: usage(2) }
            }
            (_, Some(_)) if random.below(4) == 0 => {
                run.ended = true;
                run.running.clear();
                Event::RunFinished { status: RunStatus::Succeeded, output: None, failure: None }
            }
            (_, Some(task)) => {
                Event::Noted { task: Some(task), code: "odd".into(), message: "a word".into() }
            }
        };
        self.append(name, vec![event]);
    }
}

fn to(receiver: &Receiver, signal: Signal, name: &str) -> To {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    To {
        name: format!("{}-{name}", signal.word()),
        address: Address::new(&receiver.url(), &[]).unwrap().of_signal(signal),
        client,
        resource: vec![("service.name".into(), "convoke".into())],
        contents: Arc::new(|_, _| None),
        wanted: Arc::new(|_, _| true),
    }
}

/// One pass of a sender that is there for this long; it is killed where the receiver hangs.
fn send<C: Consumer>(world: &World, consumer: C, receiver: &mut Receiver) -> Pass {
    let lease = Lease::take(&world.state, consumer.name()).unwrap().expect("no other sender");
    let mut forwarder = Forwarder::open(&world.state, consumer, "a test", Since::Ever, lease).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::select! {
            pass = forwarder.last_pass() => pass.unwrap(),
            _ = receiver.hung.recv() => Pass { undelivered: Some(None), ..Pass::default() },
        }
    })
}

fn send_signal(world: &World, signal: Signal, name: &str, receiver: &mut Receiver) -> Pass {
    let to = to(receiver, signal, name);
    match signal {
        Signal::Traces => send(world, Traces(to), receiver),
        Signal::Metrics => send(world, Metrics::new(to, &world.state), receiver),
        Signal::Logs => send(world, Logs(to), receiver),
    }
}

/// Until nothing more is there.
fn send_all(world: &World, name: &str, receiver: &mut Receiver) {
    for signal in Signal::ALL {
        while send_signal(world, signal, name, receiver) != Pass::default() {}
    }
}

/// The file of a sender's cursors is lost: it begins at the beginning again.
fn forget_cursors(world: &World, signal: Signal, name: &str) {
    for ending in ["db", "db-wal", "db-shm"] {
        let file = format!("follow/{}-{name}.{ending}", signal.word());
        std::fs::remove_file(world.state.path().join(file)).ok();
    }
}

fn spans_by_id(receiver: &Receiver) -> BTreeMap<Vec<u8>, Span> {
    let mut all = BTreeMap::new();
    receiver.taken(|taken| {
        for span in &taken.spans {
            let known = all.entry(span.span_id.clone()).or_insert_with(|| span.clone());
            assert_eq!(known, span, "what comes again is the same");
        }
    });
    all
}

fn records_by_id(receiver: &Receiver) -> BTreeMap<String, LogRecord> {
    let mut all = BTreeMap::new();
    receiver.taken(|taken| {
        for record in &taken.records {
            let id = record.attributes.iter().find(|pair| pair.key == "log.record.uid").unwrap();
            let known = all.entry(text(id.value.as_ref())).or_insert_with(|| record.clone());
            assert_eq!(known, record, "what comes again is the same");
        }
    });
    all
}

type Last = BTreeMap<(String, Vec<(String, String)>), (f64, Vec<u64>)>;

/// The last value of every series; on the way none that only grows went down, and all are of one stream.
fn last_values(receiver: &Receiver) -> Last {
    receiver.taken(|taken| {
        let instances: BTreeSet<_> = taken.instances.iter().collect();
        assert_eq!(instances.len(), 1, "one stream");
        let values = taken.points.iter().map(|(series, values)| {
            let grows = |pair: &[Value]| {
                let within = pair[0].buckets.iter().zip(&pair[1].buckets).all(|(a, b)| a <= b);
                pair[0].since == pair[1].since
                    && (!pair[1].only_grows || within && pair[0].sum <= pair[1].sum)
            };
            assert!(values.windows(2).all(grows), "{series:?}: {values:?}");
            let last = values.last().unwrap();
            (series.clone(), (last.sum, last.buckets.clone()))
        });
        values.collect()
    })
}

#[test]
fn nothing_is_missing_and_nothing_is_double_however_senders_die_and_receivers_fail() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut counted = 0;
    for seed in 0..seeds() {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (mut world, mut receiver) = (World::new(), Receiver::start());
        world.start("first");
        for step in 0..40 {
            let names: Vec<_> = world.runs.keys().cloned().collect();
            let name = &names[random.below(names.len() as u64) as usize];
            let signal = Signal::ALL[random.below(3) as usize];
            match random.below(10) {
                0 if names.len() < 5 => world.start(&format!("run{step}")),
                0..=4 => (0..random.below(40)).for_each(|_| world.happen(name, &mut random)),
                5 => receiver.fates(&[Fate::Hangs, Fate::Away]),
                6 => receiver.fates(&[Fate::Unheard, Fate::Hangs]),
                7 => forget_cursors(&world, signal, "tried"),
                _ => drop(send_signal(&world, signal, "tried", &mut receiver)),
            }
        }
        receiver.fates(&[]);
        send_all(&world, "tried", &mut receiver);
        // The same runs once to a receiver that takes everything at once: what must have arrived.
        let mut clean = Receiver::start();
        send_all(&world, "clean", &mut clean);
        assert_eq!(spans_by_id(&receiver), spans_by_id(&clean), "seed {seed}");
        assert_eq!(records_by_id(&receiver), records_by_id(&clean), "seed {seed}");
        assert_eq!(last_values(&receiver), last_values(&clean), "seed {seed}");
        counted += clean.taken(|taken| taken.records.len() + taken.spans.len());
    }
    assert!(counted > 100 * seeds() as usize, "{counted}");
}

#[test]
fn numbers_of_a_run_that_was_removed_stay() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (mut world, mut receiver) = (World::new(), Receiver::start());
    let mut random = Random(7);
    for name in ["a", "b"] {
        world.start(name);
        (0..60).for_each(|_| world.happen(name, &mut random));
        let (status, output, failure) = (RunStatus::Succeeded, None, None);
        world.append(name, vec![Event::RunFinished { status, output, failure }]);
    }
    send_all(&world, "x", &mut receiver);
    let before = last_values(&receiver);
    world.runs.remove("a");
    std::fs::remove_dir_all(world.state.run_dir(&RunId("a".into()))).unwrap();
    world.start("c");
    world.append("c", vec![Event::AttemptStarted { task: task("t"), attempt: 1, lease: None }]);
    let ended = Event::AttemptFinished { task: task("t"), attempt: 1, output: output(), usage: usage(0) };
    world.append("c", vec![ended]);
    send_all(&world, "x", &mut receiver);
    let after = last_values(&receiver);
    assert!(before.keys().all(|series| after.contains_key(series)));
    assert_ne!(before, after, "`c` counts as well");
}
