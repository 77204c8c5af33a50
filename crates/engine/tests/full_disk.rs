//! A disk without room pauses a run. Time is virtual here: waiting costs none.

use crate::common;

use common::{FailsAtFirst, fresh};
use convoke_engine::{Clock, EngineError, Limits, Notice, Options, Outcome, Setup, prepare};
use convoke_journal::{Error, InboxMessage, Journal, Memory, MessageId};
use convoke_model::{Blob, Digest, Event, JsonText, RunStatus, Stamped, Timestamp};
use convoke_testkit::plan_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const CHAIN: &str = "
workflow: {name: chain, entry_point: a}
agents:
  - {name: a, prompt: x, routes: [{to: b}]}
  - {name: b, prompt: y}
output: {said: '{{ b.output.result }}'}
";

/// A journal that takes nothing from its n-th append on, for so many tries.
struct Full {
    memory: Memory,
    taken: usize,
    from: usize,
    left: usize,
    /// How many attempts had begun while it was full, at the most.
    begun: Arc<AtomicUsize>,
    executor: Arc<FailsAtFirst>,
}

impl Journal for Full {
    fn epoch(&self) -> u64 {
        self.memory.epoch()
    }

    fn next_seq(&self) -> u64 {
        self.memory.next_seq()
    }

    fn append(&mut self, events: &[Stamped], blobs: &[Blob], consumed: &[MessageId]) -> Result<(), Error> {
        if self.taken == self.from && self.left > 0 {
            self.left -= 1;
            self.begun.fetch_max(self.executor.attempts().len(), Ordering::SeqCst);
            return Err(Error::DiskFull { path: "journal.db".into() });
        }
        self.taken += 1;
        self.memory.append(events, blobs, consumed)
    }

    fn read(&self, from: u64, each: &mut dyn FnMut(Stamped)) -> Result<(), Error> {
        self.memory.read(from, each)
    }

    fn blob(&self, digest: &Digest) -> Result<Option<JsonText>, Error> {
        self.memory.blob(digest)
    }

    fn inbox_changed(&mut self) -> bool {
        self.memory.inbox_changed()
    }

    fn take_inbox(&mut self) -> Result<Vec<InboxMessage>, Error> {
        self.memory.take_inbox()
    }
}

/// How a run fared whose disk was full.
struct Fared {
    result: Result<Outcome, EngineError>,
    memory: Memory,
    executor: Arc<FailsAtFirst>,
    begun_while_full: usize,
    told: Vec<&'static str>,
}

/// Drives the chain on a disk that is full at its `from`-th append for `tries`; `let_go`: the run is interrupted at once.
async fn drive(from: usize, tries: usize, patience: Duration, let_go: bool) -> Fared {
    let plan = plan_of(CHAIN, &[]);
    let (memory, executor, begun) = (Memory::new(), Arc::new(FailsAtFirst::of(&[])), Arc::default());
    let journal = Full {
        memory: memory.clone(),
        taken: 0,
        from,
        left: tries,
        begun: Arc::clone(&begun),
        executor: executor.clone(),
    };
    let setup = Setup {
        plan: plan.clone(),
        journal: Box::new(journal),
        executor: executor.clone(),
        start: fresh(&plan),
        options: Options {
            max_concurrency: 8,
            interactive: false,
            patience,
            pid: 1,
            host: "here".into(),
            limits: Limits::default(),
        },
        capacity: None,
        projects: Vec::new(),
        reusable: None,
        leftovers: Arc::new(|_, _| {}),
        clock: Clock::starting_at(Timestamp(1)),
    };
    let (run, handle, mut watch) = prepare(setup).expect("a run that can be driven");
    if let_go {
        handle.interrupt(false, "a person");
    }
    let result = run.drive().await;
    let mut told = Vec::new();
    while let Ok(notice) = watch.try_recv() {
        match notice {
            Notice::Paused { .. } => told.push("paused"),
            Notice::Resumed { .. } => told.push("resumed"),
            _ => {}
        }
    }
    let begun_while_full = begun.load(Ordering::SeqCst);
    Fared { result, memory, executor, begun_while_full, told }
}

#[tokio::test(start_paused = true)]
async fn a_run_on_a_full_disk_goes_on_by_itself_when_there_is_room() {
    // Three commits: the first attempt starts, the second does, the run ends.
    for from in 0..3 {
        let fared = drive(from, 100, Duration::from_secs(600), false).await;
        assert_eq!(fared.result.unwrap().status, RunStatus::Succeeded, "full at append {from}");
        assert_eq!(fared.executor.attempts(), [("a".into(), 1), ("b".into(), 1)], "full at append {from}");
        assert_eq!(fared.told, ["paused", "resumed"], "full at append {from}");
        let events = fared.memory.read_all().unwrap();
        let noted =
            |stamped: &Stamped| matches!(&stamped.event, Event::Noted { code, .. } if code == "paused");
        let ended = events.iter().position(|stamped| matches!(stamped.event, Event::RunFinished { .. }));
        assert_eq!(ended, Some(events.len() - 1), "nothing comes after the end");
        assert!(from == 2 || events.iter().any(noted), "the pause is on record");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_launched_that_is_not_on_disk() {
    assert_eq!(drive(0, 100, Duration::from_secs(600), false).await.begun_while_full, 0);
    assert_eq!(drive(1, 100, Duration::from_secs(600), false).await.begun_while_full, 1);
}

#[tokio::test(start_paused = true)]
async fn the_wait_has_a_bound_after_which_the_run_is_as_it_was() {
    for from in 0..3 {
        let fared = drive(from, usize::MAX, Duration::from_secs(60), false).await;
        let error = fared.result.unwrap_err();
        assert!(matches!(error, EngineError::Journal(Error::DiskFull { .. })), "{error}");
        let events = fared.memory.read_all().unwrap();
        let started = |stamped: &&Stamped| matches!(stamped.event, Event::AttemptStarted { .. });
        assert_eq!(fared.executor.attempts().len(), events.iter().filter(started).count());
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_who_lets_go_of_the_run_does_not_wait_for_room() {
    let begin = tokio::time::Instant::now();
    let fared = drive(0, usize::MAX, Duration::from_secs(3600), true).await;
    assert!(fared.result.is_err());
    assert!(begin.elapsed() < Duration::from_secs(60), "in the run's own time");
}
