//! All followers, and word that something has changed.

use super::board::Board;
use super::follower::Follower;
use super::keeper;
use super::usage::Usage;
use crate::error::ApiError;
use crate::host::Host;
use convoke_capacity::{Capacity, Snapshot};
use convoke_journal::StateDir;
use convoke_model::RunId;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Runs that are followed at one time; of more, those wait for a place that are opened last.
const MOST: usize = 64;

/// Journals of which it is remembered that they cannot be read.
const MOST_PROBLEMS: usize = 1_000;

/// All followers.
pub(crate) struct Hub {
    pub state: StateDir,
    pub host: Arc<dyn Host>,
    pub board: Board,
    /// What tells the looks of this server from those of others.
    pub boot: u64,
    /// What was in use of each limit lately.
    usage: Mutex<Usage>,
    followers: Mutex<HashMap<RunId, Arc<Follower>>>,
    /// Why journals could not be read: a run that has ended is not looked into again for the list.
    problems: Mutex<BTreeMap<String, String>>,
    changes: watch::Sender<u64>,
}

impl Hub {
    /// Follows nothing yet.
    pub fn new(state: StateDir, host: Arc<dyn Host>) -> std::io::Result<Arc<Hub>> {
        let (board, changes) = (Board::new(state.clone(), host.clone()), watch::Sender::new(0));
        let boot = boot();
        let hub = Arc::new(Hub {
            state,
            host,
            board,
            boot,
            usage: Mutex::default(),
            followers: Mutex::default(),
            problems: Mutex::default(),
            changes,
        });
        keeper::start(&hub)?;
        Ok(hub)
    }

    /// What processes share at this moment, if they have shared anything since the machine was started.
    pub fn shared(&self) -> Result<Option<Snapshot>, convoke_capacity::Error> {
        let path = self.host.capacity_table(&self.state);
        if path.exists() { Capacity::observe(&path) } else { Ok(None) }
    }

    /// Remembers what is in use of each limit.
    pub fn note_usage(&self, minute: u64) {
        // A table that cannot be read is told to those that ask for it.
        let Ok(Some(snapshot)) = self.shared() else { return };
        let now = snapshot.resources.iter().map(|resource| (resource.name.as_str(), resource.in_use));
        self.look_at_usage(|usage| usage.take(minute, now));
    }

    /// Looks at what was in use.
    pub fn look_at_usage<R>(&self, look: impl FnOnce(&mut Usage) -> R) -> R {
        look(&mut self.usage.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Is told whenever something is new.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Says that something is new.
    pub fn tell(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// A run, read to the end of its journal.
    pub async fn open(self: &Arc<Hub>, run: &RunId) -> Result<Arc<Follower>, ApiError> {
        let (hub, run) = (self.clone(), run.clone());
        waiting(move || {
            let follower = hub.follower(&run)?;
            follower.want();
            if follower.read_on() {
                hub.tell();
            }
            hub.note_problem(&run, follower.look(|seen| seen.problem.clone()));
            Ok(follower)
        })
        .await
    }

    /// Why the journal of a run could not be read when it was read last.
    pub fn problem_of(&self, run: &str) -> Option<String> {
        self.lock_problems().get(run).cloned()
    }

    fn note_problem(&self, run: &RunId, problem: Option<String>) {
        let mut problems = self.lock_problems();
        match problem {
            None => drop(problems.remove(&*run.0)),
            Some(why) => {
                problems.insert(run.0.to_string(), why);
                if problems.len() > MOST_PROBLEMS {
                    problems.pop_first();
                }
            }
        }
    }

    fn lock_problems(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run, read as far as its journal has come. Waits for the disk.
    pub fn opened(&self, run: &RunId) -> Result<Arc<Follower>, ApiError> {
        let follower = self.follower(run)?;
        follower.want();
        follower.read_on();
        self.note_problem(run, follower.look(|seen| seen.problem.clone()));
        Ok(follower)
    }

    /// A run that holds what another waits for, read as far as its journal has come. Waits for the disk.
    pub fn holder(&self, run: &str) -> Option<Arc<Follower>> {
        let follower = self.follower(&RunId(run.into())).ok()?;
        follower.want();
        follower.read_on();
        Some(follower)
    }

    fn follower(&self, run: &RunId) -> Result<Arc<Follower>, ApiError> {
        // Names are given in full: a part of one may come to stand for another run.
        if let Some(known) = self.lock().get(run) {
            return Ok(known.clone());
        }
        let opened = Arc::new(Follower::new(&self.state, run, &*self.host)?);
        let mut followers = self.lock();
        if followers.len() >= MOST {
            drop_least_wanted(&mut followers);
        }
        if followers.len() >= MOST {
            let words = format!("{MOST} runs are looked at already");
            return Err(ApiError::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, "busy", words));
        }
        Ok(followers.entry(run.clone()).or_insert(opened).clone())
    }

    /// Every run that is followed.
    pub(super) fn followed(&self) -> Vec<Arc<Follower>> {
        self.lock().values().cloned().collect()
    }

    /// Drops followers that no caller has wanted for so long.
    pub(super) fn forget(&self, after: Duration) {
        self.lock().retain(|_, follower| {
            Arc::strong_count(follower) > 1 || follower.look(|seen| seen.wanted.elapsed() < after)
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Follower>>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn drop_least_wanted(followers: &mut HashMap<RunId, Arc<Follower>>) {
    let idle = followers.iter().filter(|(_, follower)| Arc::strong_count(follower) == 1);
    let oldest =
        idle.min_by_key(|(_, follower)| follower.look(|seen| seen.wanted)).map(|(run, _)| run.clone());
    oldest.into_iter().for_each(|run| drop(followers.remove(&run)));
}

/// Does what waits for the disk on a thread that may wait.
pub(crate) async fn waiting<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, ApiError> + Send + 'static,
) -> Result<R, ApiError> {
    // A defect of ours is called one: a caller that tries again would meet it again.
    let lost = |error: tokio::task::JoinError| match error.is_panic() {
        true => ApiError::new(
            axum::http::StatusCode::INTERNAL_SERVER_ERROR,
            "defect",
            "the server failed at this call",
        ),
        false => ApiError::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, "stopping", "the server stops"),
    };
    tokio::task::spawn_blocking(work).await.map_err(lost)?
}

/// A number that no other server has, as good as.
fn boot() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 12
}
