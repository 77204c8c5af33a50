//! The parts of a hand-over: a table, an owner, claimants behind relays, attempts that count where they are performed, and links
//! that count what they hold.

use crate::relay::{self, Fault};
use convoke_agent::{
    Admission, Admitted, CallDemand, CallPermit, EngineLink, Executor, Report, Sink, TurnLog, TurnRecord,
};
use convoke_capacity::{Capacity, Identity, Options};
use convoke_handover::{
    BackgroundTasks, Claimant, HostEnvironment, LocalSlots, Owner, Performer, Performers, SharedRun,
    Timeouts, folder_key,
};
use convoke_model::{
    Assignment, AttemptEnd, Class, Digest, Failure, JsonText, Retry, RunId, ScriptCall, TaskId, Usage, Work,
};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

const FOLDER: &str = "/work";

/// Where an attempt is performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Owner,
    Claimant,
}

/// What all attempts of a world tell it.
#[derive(Default)]
struct Ledger {
    begun: Mutex<HashMap<String, Vec<Place>>>,
    ended_leftovers: Mutex<Vec<(u32, u64)>>,
    processes: AtomicU32,
    /// Attempts wait with a call under way.
    holding: AtomicBool,
    /// Something of the above has changed, or a link holds more.
    changed: watch::Sender<()>,
}

impl Ledger {
    /// Waits until this is so. It is asked again after each change.
    async fn until(&self, is_so: impl Fn() -> bool) {
        let mut changed = self.changed.subscribe();
        while !is_so() {
            changed.changed().await.expect("the ledger is there");
        }
    }
}

/// An owner without slots of its own, and the folder in which claimants find it.
pub struct World {
    folder: TempDir,
    ledger: Arc<Ledger>,
    timeouts: Timeouts,
    owner: Owner,
    owner_folder: PathBuf,
    table: Arc<Capacity>,
    links: Mutex<HashMap<String, Arc<Link>>>,
}

/// A claimant that works. Dropping it is its death: its tasks end, and it leaves the table.
pub struct Working {
    _work: AbortOnDropHandle<io::Result<u64>>,
    _relay: AbortOnDropHandle<()>,
}

impl World {
    pub fn new(timeouts: Timeouts) -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let owner_folder = folder.path().join("owner");
        std::fs::create_dir(&owner_folder).expect("a folder");
        let ledger = Arc::<Ledger>::default();
        let table = open_table(&folder, "owner");
        let leftovers = ledger.clone();
        let shared = SharedRun {
            run: RunId("r".into()),
            settings: JsonText::of(&"settings"),
            inner: Arc::new(Performing { place: Place::Owner, ledger: ledger.clone() }),
            table: table.clone(),
            slots: LocalSlots::new(0),
            host: Arc::new(Host(ledger.clone())),
            silence: Duration::from_secs(600),
            longest: Duration::from_secs(600),
            silent: BackgroundTasks::default(),
            end_leftovers: Arc::new(move |pid, start| {
                leftovers.ended_leftovers.lock().unwrap().push((pid, start));
            }),
            timeouts,
        };
        let owner = Owner::open(&owner_folder, shared).expect("a socket");
        World { folder, ledger, timeouts, owner, owner_folder, table, links: Mutex::default() }
    }

    /// A claimant whose connections have these faults, once the owner sees it in the table.
    pub async fn claimant(&self, faults: Vec<Fault>) -> Working {
        let number = std::fs::read_dir(self.folder.path()).expect("a folder").count();
        let folder = self.folder.path().join(format!("relay{number}"));
        std::fs::create_dir(&folder).expect("a folder");
        let relay = relay::start(&folder, self.owner_folder.clone(), faults);
        let before = self.table.spare_elsewhere();
        let table = open_table(&self.folder, "claimant");
        let run_folder = Arc::new(move |_: &RunId| folder.clone());
        let claimant =
            Claimant::new(run_folder, table, LocalSlots::new(4), Arc::new(Host(self.ledger.clone())))
                .with_step_timeout(self.timeouts.step);
        let work = AbortOnDropHandle::new(tokio::spawn(Arc::new(claimant).work(None)));
        // The table is memory that processes share: there is no event to wait for.
        while self.table.spare_elsewhere() == before {
            yield_now().await;
        }
        Working { _work: work, _relay: relay }
    }

    /// Has the owner perform an attempt, and answers with its end and the link that it spoke on.
    pub async fn attempt(&self, name: &str) -> (AttemptEnd, Arc<Link>) {
        let link = Arc::new(Link::of(&self.ledger));
        self.links.lock().unwrap().insert(name.to_owned(), link.clone());
        let work = self.owner.executor().attempt(assignment(name), link.clone(), CancellationToken::new());
        (work.await, link)
    }

    /// Has attempts wait with a call under way, for ever.
    pub fn hold_attempts(&self) {
        self.ledger.holding.store(true, Ordering::SeqCst);
    }

    pub async fn until_a_call_is_held(&self, name: &str) {
        let held = || self.links.lock().unwrap().get(name).is_some_and(|link| link.held() > 0);
        self.ledger.until(held).await;
    }

    /// Waits until so many attempts have begun, wherever.
    pub async fn until_begun(&self, count: usize) {
        let begun = || self.ledger.begun.lock().unwrap().values().map(Vec::len).sum::<usize>() >= count;
        self.ledger.until(begun).await;
    }

    /// Where the attempt was begun, in order.
    pub fn begun(&self, name: &str) -> Vec<Place> {
        self.ledger.begun.lock().unwrap().get(name).cloned().unwrap_or_default()
    }

    pub fn ended_leftovers(&self) -> Vec<(u32, u64)> {
        self.ledger.ended_leftovers.lock().unwrap().clone()
    }
}

fn open_table(folder: &TempDir, label: &str) -> Arc<Capacity> {
    let identity = Identity { label: label.into(), run: String::new(), working_dir: folder_key(FOLDER) };
    Arc::new(Capacity::open(&folder.path().join("capacity"), &identity, Options::default()).expect("a table"))
}

fn assignment(name: &str) -> Assignment {
    let call = ScriptCall {
        command: "c".into(),
        args: vec![],
        env: vec![],
        working_dir: None,
        stdin: None,
        schema: None,
        key: None,
        survival: None,
        idle: None,
    };
    Assignment {
        trace: None,
        task: TaskId(name.into()),
        key: "k".into(),
        attempt: 1,
        step: "a".into(),
        work: Work::Script(Box::new(call)),
        seed: 7,
        continues: vec![],
        past: vec![],
        answer: None,
        retry: Retry::agent_default(),
        failures: 0,
        cut_off: 0,
        known_results: Vec::new(),
        remembered: Vec::new(),
        guidance: Vec::new(),
        workspace: None,
        proof: None,
        contract: None,
    }
}

/// A process with one folder and no variables.
struct Host(Arc<Ledger>);

impl HostEnvironment for Host {
    fn folder(&self) -> &str {
        FOLDER
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn variables(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn variables_read_by(&self, _work: &Work) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}

impl Performers for Host {
    fn for_run(&self, settings: &JsonText) -> Result<Arc<dyn Performer>, String> {
        assert_eq!(settings.value(), "settings", "the settings of the run arrive");
        Ok(Arc::new(Performing { place: Place::Claimant, ledger: self.0.clone() }))
    }
}

/// Performs attempts: notes where, starts a process, makes one call, writes one record, and gives the task's name.
#[derive(Clone)]
struct Performing {
    place: Place,
    ledger: Arc<Ledger>,
}

impl Performer for Performing {
    fn executor(&self) -> Arc<dyn Executor> {
        Arc::new(self.clone())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Executor for Performing {
    fn attempt(
        &self,
        assignment: Assignment,
        link: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let name = assignment.task.to_string();
        self.ledger.begun.lock().unwrap().entry(name.clone()).or_default().push(self.place);
        self.ledger.changed.send_replace(());
        let process = self.ledger.processes.fetch_add(1, Ordering::SeqCst) + 1;
        let holding = self.ledger.holding.load(Ordering::SeqCst);
        Box::pin(async move {
            link.report(Report::ProcessStarted { pid: process, start: 1 });
            let work = perform(&name, &*link, holding);
            let result = tokio::select! {
                result = work => result,
                () = cancel.cancelled() => Err(Failure::new(Class::Cancelled, "cancelled")),
            };
            match result {
                Ok(output) => AttemptEnd::Finished { output, usage: Usage::default() },
                Err(failure) => AttemptEnd::Failed { failure, usage: Usage::default(), partial: None },
            }
        })
    }
}

async fn perform(name: &str, link: &dyn EngineLink, holding: bool) -> Result<JsonText, Failure> {
    let demand = CallDemand {
        task: TaskId(name.into()),
        attempt: 1,
        provider: "p".into(),
        model: "m".into(),
        input_tokens: 1,
        most_input_tokens: 1,
        output_tokens: 1,
        cost_micros: None,
        refused: Vec::new(),
    };
    let Admitted::Go(permit) = link.admit(demand).await? else { panic!("no model stands in") };
    if holding {
        std::future::pending::<()>().await;
    }
    // Others have their turn while the call is under way.
    for _ in 0..8 {
        yield_now().await;
    }
    link.settle(permit, &Usage::default(), None);
    let record = TurnRecord::new(JsonText::of(&name), Vec::new(), Usage::default());
    link.record(record).await?;
    Ok(JsonText::of(&name))
}

/// The engine's end of one attempt's link.
pub struct Link {
    ledger: Arc<Ledger>,
    held: Arc<AtomicU32>,
    settled: AtomicU32,
    recorded: AtomicU32,
    processes: Mutex<Vec<(u32, u64)>>,
}

/// What a permit of the link holds.
struct Held(Arc<AtomicU32>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Link {
    fn of(ledger: &Arc<Ledger>) -> Link {
        let (held, settled, recorded) = Default::default();
        Link { ledger: ledger.clone(), held, settled, recorded, processes: Mutex::default() }
    }

    /// Permits that are out.
    pub fn held(&self) -> u32 {
        self.held.load(Ordering::SeqCst)
    }

    pub fn settled(&self) -> u32 {
        self.settled.load(Ordering::SeqCst)
    }

    pub fn recorded(&self) -> u32 {
        self.recorded.load(Ordering::SeqCst)
    }

    /// Processes that the attempt has reported.
    pub fn processes(&self) -> Vec<(u32, u64)> {
        self.processes.lock().unwrap().clone()
    }
}

impl Admission for Link {
    fn admit(&self, _call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        self.held.fetch_add(1, Ordering::SeqCst);
        self.ledger.changed.send_replace(());
        let permit = CallPermit::holding(Held(self.held.clone()));
        Box::pin(std::future::ready(Ok(Admitted::Go(permit))))
    }

    fn settle(&self, permit: CallPermit, _usage: &Usage, _failure: Option<&Failure>) {
        self.settled.fetch_add(1, Ordering::SeqCst);
        drop(permit);
    }
}

impl Sink for Link {
    fn report(&self, report: Report) {
        if let Report::ProcessStarted { pid, start } = report {
            self.processes.lock().unwrap().push((pid, start));
        }
    }
}

impl TurnLog for Link {
    fn record(&self, _page: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        self.recorded.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(())))
    }

    fn settle_tools(&self, _allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn recall(&self, _digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        Box::pin(std::future::ready(None))
    }
}
