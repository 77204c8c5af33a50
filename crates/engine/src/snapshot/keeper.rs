//! When a snapshot is taken: once enough events have come that it would leave out, on a thread of its own.
//!
//! The run never waits for it. One is under way at a time; `pace` says when the next is due.

use super::compact::{RULES, compact};
use super::pace::Pace;
use convoke_journal::SnapshotTaker;
use convoke_model::Stamped;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Has snapshots of a run taken.
pub(crate) struct Keeper {
    taker: Option<SnapshotTaker>,
    pace: Pace,
    under_way: Option<UnderWay>,
}

struct UnderWay {
    /// Answers with the number of events that it kept.
    thread: JoinHandle<Option<u64>>,
    given_up: Arc<AtomicBool>,
}

impl Keeper {
    /// A keeper for a run with this history; one without a taker takes none.
    pub fn new(taker: Option<SnapshotTaker>, history: &[Stamped]) -> Keeper {
        let behind = taker.as_ref().map_or(1, SnapshotTaker::newest);
        let (kept, since) = history.split_at(history.partition_point(|stamped| stamped.seq < behind));
        let mut pace = Pace::after(kept.len() as u64);
        pace.count(since);
        Keeper { taker, pace, under_way: None }
    }

    /// Notes what is on disk now, and has a snapshot taken if that is due.
    pub fn note(&mut self, events: &[Stamped]) {
        self.pace.count(events);
        if !self.pace.is_due() || !self.is_idle() {
            return;
        }
        let Some(taker) = self.taker.clone() else { return };
        self.pace.begin();
        let given_up = Arc::new(AtomicBool::new(false));
        let stop = given_up.clone();
        let take = move || {
            let taken = taker.take(RULES, &compact, &|| stop.load(Ordering::Relaxed));
            taken.ok().flatten()
        };
        // Without a thread, or where the disk takes no snapshot, the next owner reads more.
        let thread = std::thread::Builder::new().name("snapshot".into()).spawn(take);
        self.under_way = thread.ok().map(|thread| UnderWay { thread, given_up });
    }

    /// Whether none is under way; what the last one kept says when the next is due.
    fn is_idle(&mut self) -> bool {
        match self.under_way.take_if(|under_way| under_way.thread.is_finished()) {
            Some(ended) => {
                self.pace.kept(ended.thread.join().ok().flatten().unwrap_or_default());
                self.pace.is_due()
            }
            None => self.under_way.is_none(),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(UnderWay { thread, given_up }) = self.under_way.take() {
            given_up.store(true, Ordering::Relaxed);
            // What it came to does not matter any more.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_journal::{Journal, Owner, RunMeta, Sqlite, StateDir};
    use convoke_model::{Event, JsonText, RunId, TaskId, Timestamp};

    fn journal(folder: &std::path::Path) -> Sqlite {
        let state = StateDir::open(folder.join("state")).unwrap();
        let meta = RunMeta { plan: JsonText::of(&1), source: JsonText::of(&2) };
        let owner = Owner { pid: 1, start: None, host: "h".into(), boot: "b".into() };
        Sqlite::create(&state, &RunId("r".into()), &meta, &owner).unwrap()
    }

    fn appended(journal: &mut Sqlite, count: u64, event: &Event) -> Vec<Stamped> {
        let from = journal.next_seq();
        let stamp = |seq| Stamped { seq, at: Timestamp(seq), event: event.clone() };
        let events: Vec<_> = (from..from + count).map(stamp).collect();
        journal.append(&events, &[], &[]).unwrap();
        events
    }

    fn wait(keeper: &mut Keeper) -> Option<u64> {
        keeper.under_way.take().and_then(|under_way| under_way.thread.join().unwrap())
    }

    #[test]
    fn one_is_taken_once_enough_has_come_that_it_leaves_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        let passing = Event::Blocked { task: TaskId("a".into()), on: "slots".into() };
        let mut keeper = Keeper::new(journal.snapshot_taker(), &[]);
        keeper.note(&appended(&mut journal, 9_999, &passing));
        assert!(keeper.under_way.is_none(), "it is not due yet");
        keeper.note(&appended(&mut journal, 1, &passing));
        assert_eq!(wait(&mut keeper), Some(1), "the last event stays");
        assert_eq!(journal.recover(RULES).unwrap().len(), 1);
        appended(&mut journal, 5, &passing);
        assert_eq!(journal.recover(RULES).unwrap().len(), 6);
    }

    #[test]
    fn a_short_history_that_all_counts_is_worth_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        let lasting = Event::AttemptStarted { task: TaskId("a".into()), attempt: 1, lease: None };
        let mut keeper = Keeper::new(journal.snapshot_taker(), &[]);
        keeper.note(&appended(&mut journal, 30_000, &lasting));
        assert!(keeper.under_way.is_none());
    }

    #[test]
    fn the_next_owner_counts_from_the_snapshot_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        let passing = Event::Blocked { task: TaskId("a".into()), on: "slots".into() };
        let mut first = Keeper::new(journal.snapshot_taker(), &[]);
        first.note(&appended(&mut journal, 10_000, &passing));
        assert!(wait(&mut first).is_some());
        appended(&mut journal, 9_000, &passing);
        let history = journal.recover(RULES).unwrap();
        let mut next = Keeper::new(journal.snapshot_taker(), &history);
        next.note(&appended(&mut journal, 999, &passing));
        assert!(next.under_way.is_none(), "9 999 events are behind the snapshot");
        next.note(&appended(&mut journal, 1, &passing));
        assert!(wait(&mut next).is_some());
    }
}
