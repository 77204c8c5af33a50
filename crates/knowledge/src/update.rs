//! Brings the store up to date with the journals of a state directory: the one follower of journals, with the store as its receiver.
//!
//! Invariant: after an update the store is what all journals say, whatever was there before, in however many pieces it came, and
//! wherever a process died on the way. A run that is removed takes its graph along.

use crate::project::{Beside, Change, Projector, Telling, VERSION, graph_of};
use crate::store::Store;
use crate::{Error, worker};
use convoke_follow::{Consumer, Cursors, Delivered, Fold, Forwarder, Lease, Since, Undelivered};
use convoke_journal::{Reader, StateDir};
use convoke_model::{Digest, JsonText, RunId, Stamped};
use convoke_plan::Plan;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often it is tried while another process updates.
const AGAIN: Duration = Duration::from_millis(25);

/// What an update came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Updated {
    /// Changes that were taken in.
    pub changes: u64,
    /// Whether another process was updating for so long that this one did not wait.
    pub by_another: bool,
}

/// The folder of the graph in a state directory. Nothing else is in it, so that a worker can be confined to it.
pub fn folder(state: &StateDir) -> PathBuf {
    state.path().join("knowledge")
}

/// Makes the folder: a worker that has none to be confined to would not be confined.
pub fn make_folder(state: &StateDir) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder(state))
}

/// The graph's file.
pub fn file(state: &StateDir) -> PathBuf {
    folder(state).join(worker::FILE)
}

/// The name of the follower's cursors: of another mapping they are others.
fn name() -> String {
    format!("knowledge-{VERSION}")
}

/// Takes in what is new. Waits for so long for another process that does it already.
pub fn update(state: &StateDir, patience: Duration) -> Result<Updated, Error> {
    match take_turn(state, patience)? {
        Some(lease) => follow(state, lease, None),
        None => Ok(Updated { by_another: true, ..Updated::default() }),
    }
}

/// Makes the graph anew from all journals.
pub fn rebuild(state: &StateDir, telling: Telling, patience: Duration) -> Result<Updated, Error> {
    match take_turn(state, patience)? {
        Some(lease) => {
            Store::remove(&file(state));
            follow(state, lease, Some(telling))
        }
        None => Ok(Updated { by_another: true, ..Updated::default() }),
    }
}

fn take_turn(state: &StateDir, patience: Duration) -> Result<Option<Lease>, Error> {
    let until = Instant::now() + patience;
    loop {
        match Lease::take(state, &name())? {
            Some(lease) => return Ok(Some(lease)),
            None if Instant::now() >= until => return Ok(None),
            None => std::thread::sleep(AGAIN),
        }
    }
}

fn follow(state: &StateDir, lease: Lease, stated: Option<Telling>) -> Result<Updated, Error> {
    make_folder(state)?;
    let (store, is_new) = Store::open(&file(state))?;
    if is_new {
        Cursors::remove(state, &name());
    }
    let telling = match stated {
        Some(telling) => {
            store.note_contents(telling.contents)?;
            telling
        }
        None => Telling { contents: store.has_contents()? },
    };
    let receiver = Projection { store, state: state.clone(), telling, name: name(), failed: None };
    let mut forwarder = Forwarder::open(state, receiver, "knowledge graph", Since::Ever, lease)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut updated = Updated::default();
    loop {
        let pass = runtime.block_on(forwarder.pass())?;
        updated.changes += pass.delivered;
        if pass.undelivered.is_some() {
            let why = forwarder.consumer().failed.clone().unwrap_or_default();
            return Err(Error::Stopped(format!("the knowledge graph could not be written: {why}")));
        }
        if pass.delivered + pass.refused == 0 {
            return Ok(updated);
        }
    }
}

/// The store as a receiver.
struct Projection {
    store: Store,
    state: StateDir,
    telling: Telling,
    name: String,
    failed: Option<String>,
}

impl Consumer for Projection {
    type Item = Change;

    fn name(&self) -> &str {
        &self.name
    }

    fn begin(&self, run: &RunId, journal: &Reader) -> Box<dyn Fold<Change>> {
        let plan = journal.meta().ok().and_then(|meta| serde_json::from_str::<Plan>(meta.plan.as_str()).ok());
        let projector = plan.map(|plan| Projector::new(run, plan, self.telling));
        Box::new(RunFold { projector, state: self.state.clone(), run: run.clone() })
    }

    fn deliver<'a>(
        &'a mut self,
        run: &'a RunId,
        items: &'a [Change],
    ) -> BoxFuture<'a, Result<Delivered, Undelivered>> {
        let written = self.store.in_one(|writing| {
            items.iter().try_for_each(|change| match change {
                Change::Begin => writing.drop_graph(&graph_of(run)),
                Change::Add(quads) => writing.add(quads),
                Change::Remove(quads) => writing.remove(quads),
            })
        });
        let outcome = match written {
            Ok(()) => Ok(Delivered::default()),
            Err(error) => {
                self.failed = Some(error.to_string());
                Err(Undelivered::Later { why: error.to_string(), after: None })
            }
        };
        async move { outcome }.boxed()
    }

    fn forget(&mut self, run: &RunId) {
        // What cannot be forgotten now is found by a rebuild; the run's cursor goes all the same.
        self.store.in_one(|writing| writing.drop_graph(&graph_of(run))).ok();
    }
}

/// The projection of one run, as it is followed.
struct RunFold {
    /// None where the plan cannot be read: such a run has no graph.
    projector: Option<Projector>,
    state: StateDir,
    run: RunId,
}

impl Fold<Change> for RunFold {
    fn take(&mut self, event: &Stamped, items: &mut Vec<Change>) {
        let beside = Kept { state: &self.state, run: &self.run };
        if let Some(projector) = &mut self.projector {
            items.extend(projector.take(event, &beside));
        }
    }
}

/// What lies in a run's folder.
struct Kept<'a> {
    state: &'a StateDir,
    run: &'a RunId,
}

impl Beside for Kept<'_> {
    fn plan(&self, digest: &Digest) -> Option<Plan> {
        let text = std::fs::read(self.state.run_dir(self.run).join(format!("plan-{digest}.json"))).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn content(&self, digest: &Digest) -> Option<JsonText> {
        Reader::open(self.state, self.run).ok()?.blob(digest).ok()?
    }
}
