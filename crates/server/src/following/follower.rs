//! One run, folded as far as its journal has come.
//!
//! The journal is read in pieces, so that a caller waits for a long one at most as long as a piece takes. Which events a task has is kept
//! as numbers, so that a page of one task reads those and no others.

use super::events::{Piece, Recent};
use crate::host::Host;
use crate::shapes::{Heard, LastSteps, PayloadBody, RunEnd};
use convoke_journal::{Blocked, Error, Index, Reader, RunRow, Saying, StateDir, blocked, live_owner, stands};
use convoke_model::{Event, Payload, RunId, RunStatus, Stamped, TaskId, Timestamp};
use convoke_plan::Plan;
use convoke_schedule::task_of;
use convoke_view::Picture;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

/// Events that are read before others may look.
const PIECE: usize = 4_000;

/// One run that is looked at.
pub(crate) struct Follower {
    pub run: RunId,
    state: StateDir,
    /// Callers that want events as they are written.
    pub listeners: AtomicUsize,
    seen: Mutex<Seen>,
    past: Mutex<Option<Past>>,
}

/// The run as it was after an event.
struct Past {
    position: u64,
    picture: Picture,
}

/// What is known of a run.
pub(crate) struct Seen {
    /// The run, folded.
    pub picture: Picture,
    /// What it goes by; `None` when it cannot be read any more.
    pub plan: Option<Arc<Plan>>,
    /// Where its prompts go.
    pub destinations: Vec<String>,
    /// Whether a process drives it.
    pub live: bool,
    /// What of the machine it waits for.
    pub blocked: Option<Blocked>,
    /// Why its journal cannot be read on.
    pub problem: Option<String>,
    /// What the list of runs says of one whose journal cannot be read at all.
    pub listed: Option<RunRow>,
    /// Grows with everything that a page could show: events, and whether the run is driven.
    pub version: u64,
    /// When a caller last wanted it.
    pub wanted: Instant,
    /// The number of the last event.
    pub position: u64,
    /// What its agents say at this moment, each with the look that found it so.
    pub said: HashMap<TaskId, Heard>,
    /// What led to what it asks.
    pub steps: LastSteps,
    /// The tasks of attempts that run, by the permit that each runs on.
    pub leases: HashMap<u64, TaskId>,
    said_at: Option<SystemTime>,
    /// What its first and last events say.
    pub end: RunEnd,
    /// The output whose text is not read yet.
    output: Option<Payload>,
    events_of: HashMap<TaskId, Vec<u32>>,
    recent: Recent,
    reader: Option<Reader>,
}

impl Follower {
    /// Of a run of which nothing was read yet.
    pub fn new(state: &StateDir, run: &RunId, host: &dyn Host) -> Result<Follower, Error> {
        let reader = Reader::open(state, run)?;
        let plan = host.plan_of(run).ok();
        let seen = Seen {
            picture: Picture::new(plan.as_deref()),
            destinations: plan.as_deref().map(|plan| host.destinations(plan)).unwrap_or_default(),
            plan,
            live: false,
            blocked: None,
            problem: None,
            listed: None,
            version: 0,
            wanted: Instant::now(),
            position: 0,
            said: HashMap::new(),
            steps: LastSteps::default(),
            leases: HashMap::new(),
            said_at: None,
            end: RunEnd::default(),
            output: None,
            events_of: HashMap::new(),
            recent: Recent::default(),
            reader: Some(reader),
        };
        let (run, state) = (run.clone(), state.clone());
        Ok(Follower {
            run,
            state,
            listeners: AtomicUsize::new(0),
            seen: Mutex::new(seen),
            past: Mutex::new(None),
        })
    }

    /// Looks at what is known.
    pub fn look<R>(&self, look: impl FnOnce(&Seen) -> R) -> R {
        look(&self.lock())
    }

    /// Says that somebody still wants it.
    pub fn want(&self) {
        self.lock().wanted = Instant::now();
    }

    /// Reads what was written since the last time; whether a page would look different. Waits for the disk.
    pub fn read_on(&self) -> bool {
        let before = self.look(|seen| seen.version);
        // Asked before reading: what a process wrote before it let go is still read.
        let live = matches!(live_owner(&self.state, &self.run), Ok(Some(_)));
        let stopped_by = blocked(&self.state, &self.run);
        while self.read_piece() {}
        let mut seen = self.lock();
        if (seen.live, seen.blocked) != (live, stopped_by) {
            (seen.live, seen.blocked) = (live, stopped_by);
            seen.version += 1;
        }
        let is_heard = seen.listen(&self.state, &self.run);
        is_heard || seen.version != before
    }

    /// Whether there may be more.
    fn read_piece(&self) -> bool {
        let wants_events = self.listeners.load(Ordering::Relaxed) > 0;
        let mut seen = self.lock();
        let seen = &mut *seen;
        if seen.reader.is_none() {
            seen.reader = Reader::open(&self.state, &self.run).ok();
        }
        let Some(reader) = seen.reader.take() else { return false };
        let mut count = 0;
        let from = seen.position + 1;
        if !has_more(&reader, from) && seen.problem.is_none() {
            seen.reader = Some(reader);
            return false;
        }
        let read = reader.read_while(from, &mut |stamped| {
            seen.take(&stamped, wants_events);
            count += 1;
            count < PIECE
        });
        let problem = read.err().map(|error| error.to_string());
        if let Some(output) = seen.output.take() {
            seen.end.output = PayloadBody::read(&reader, &output).ok().flatten();
        }
        if problem.is_none() {
            seen.reader = Some(reader);
        }
        if count > 0 || problem != seen.problem {
            seen.version += 1;
        }
        if problem.is_some() && seen.position == 0 && seen.listed.is_none() {
            seen.listed = Index::open(&self.state).and_then(|mut index| index.get(&self.run)).ok().flatten();
        }
        seen.problem = problem;
        count == PIECE && seen.problem.is_none()
    }

    /// Events from number `from` on, at most so many, as they are written: the latest from memory, older ones from the journal.
    pub fn events(&self, from: u64, most: usize) -> Result<Vec<Piece>, Error> {
        let mut seen = self.lock();
        if let Some(pieces) = seen.recent.from(from, most) {
            return Ok(pieces);
        }
        let mut pieces = Vec::new();
        if from <= seen.position {
            let reader = seen.reader(&self.state, &self.run)?;
            let last = seen.position;
            let read = reader.read_while(from, &mut |stamped| {
                let is_known = stamped.seq <= last;
                pieces.extend(is_known.then(|| Piece::of(&stamped)));
                is_known && pieces.len() < most
            });
            seen.reader = Some(reader);
            read?;
        }
        Ok(pieces)
    }

    /// The events of one task. Waits for the disk.
    pub fn events_of(&self, task: &TaskId, up_to: u64) -> Result<Vec<Stamped>, Error> {
        let mut seen = self.lock();
        let numbers = seen.events_of.get(task).cloned().unwrap_or_default();
        let reader = seen.reader(&self.state, &self.run)?;
        let mut events = Vec::with_capacity(numbers.len());
        let mut numbers = numbers.into_iter().map(u64::from).filter(|seq| *seq <= up_to).peekable();
        let mut read = Ok(());
        while let (Some(first), Ok(())) = (numbers.next(), &read) {
            let mut wanted = Some(first);
            read = reader.read_while(first, &mut |stamped| {
                if Some(stamped.seq) == wanted {
                    events.push(stamped);
                    // Neighbours are read in one go.
                    wanted = numbers.next_if(|next| *next <= first + NEAR);
                }
                wanted.is_some()
            });
        }
        seen.reader = Some(reader);
        read.map(|()| events)
    }

    /// How many of its events are known.
    pub fn count_of(&self, task: &TaskId) -> usize {
        self.look(|seen| seen.events_of.get(task).map_or(0, Vec::len))
    }

    /// The events of each of these tasks, in one walk over the journal: a record holds the events of many tasks and is read as a whole,
    /// so task by task each record would be read as often as it has tasks. Waits for the disk.
    pub fn events_of_each(
        &self,
        tasks: &[TaskId],
        up_to: u64,
    ) -> Result<HashMap<TaskId, Vec<Stamped>>, Error> {
        let mut events: HashMap<TaskId, Vec<Stamped>> =
            tasks.iter().map(|task| (task.clone(), Vec::new())).collect();
        let (first, mut left) = self.look(|seen| {
            let known = events.keys().filter_map(|task| seen.events_of.get(task)).flatten();
            let numbers = known.map(|seq| u64::from(*seq)).filter(|seq| *seq <= up_to);
            numbers.fold((u64::MAX, 0_usize), |(first, count), seq| (first.min(seq), count + 1))
        });
        if left == 0 {
            return Ok(events);
        }
        self.with_reader(|reader| {
            reader.read_while(first, &mut |stamped| {
                let is_in = stamped.seq <= up_to;
                let own = task_of(&stamped.event).filter(|_| is_in).and_then(|task| events.get_mut(task));
                if let Some(own) = own {
                    own.push(stamped);
                    left = left.saturating_sub(1);
                }
                is_in && left > 0
            })
        })?;
        Ok(events)
    }

    /// Reads the journal with the reader that is kept, so that its file is not opened each time. Others may look meanwhile; a second
    /// caller has a reader of its own.
    pub fn with_reader<R>(&self, read: impl FnOnce(&Reader) -> Result<R, Error>) -> Result<R, Error> {
        let kept = self.lock().reader.take();
        let reader = kept.map_or_else(|| Reader::open(&self.state, &self.run), Ok)?;
        let found = read(&reader)?;
        self.lock().reader = Some(reader);
        Ok(found)
    }

    /// Looks at the run as it was after one of its events. Waits for the disk.
    ///
    /// The picture that was looked at last is kept: all that one page asks about one moment is read once, and a later moment is read on
    /// from there.
    pub fn at<R>(&self, position: u64, look: impl FnOnce(&Picture) -> R) -> Result<R, Error> {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = past.take().filter(|kept| kept.position <= position);
        let mut kept = kept.unwrap_or_else(|| {
            let plan = self.look(|seen| seen.plan.clone());
            Past { position: 0, picture: Picture::new(plan.as_deref()) }
        });
        if kept.position < position {
            self.with_reader(|reader| {
                reader.read_while(kept.position + 1, &mut |stamped| {
                    let is_in = stamped.seq <= position;
                    if is_in {
                        kept.picture.apply(&stamped);
                        kept.position = stamped.seq;
                    }
                    is_in && stamped.seq < position
                })
            })?;
        }
        let found = look(&kept.picture);
        *past = Some(kept);
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Events of one task that lie so near are read together.
const NEAR: u64 = 64;

fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

fn has_more(reader: &Reader, from: u64) -> bool {
    reader.last() >= from
}

impl Seen {
    fn take(&mut self, stamped: &Stamped, wants_events: bool) {
        self.picture.apply(stamped);
        self.position = stamped.seq;
        self.steps.apply(&stamped.event);
        self.remember(&stamped.event);
        if let (Some(task), Ok(seq)) = (task_of(&stamped.event), u32::try_from(stamped.seq)) {
            match self.events_of.get_mut(task) {
                Some(known) => known.push(seq),
                None => drop(self.events_of.insert(task.clone(), vec![seq])),
            }
        }
        match wants_events {
            true => self.recent.push(Piece::of(stamped)),
            false => self.recent.clear(),
        }
    }

    fn remember(&mut self, event: &Event) {
        match event {
            Event::RunStarted(started) => {
                self.end = RunEnd {
                    version: Some(started.version.clone()),
                    base: started.base.as_ref().map(|base| base.run.0.to_string()),
                    file: started.file.clone(),
                    folder: started.folder.clone(),
                    ..RunEnd::default()
                };
            }
            Event::RunReopened(_) | Event::RunForked(_) => (self.end.failure, self.end.output) = (None, None),
            Event::RunFinished { output, failure, .. } => {
                (self.output, self.end.failure) = (output.clone(), failure.clone());
            }
            Event::AttemptStarted { task, lease: Some(lease), .. } => {
                self.leases.retain(|_, known| known != task);
                self.leases.insert(*lease, task.clone());
            }
            Event::AttemptFinished { task, .. }
            | Event::AttemptFailed { task, .. }
            | Event::AttemptSuspended { task, .. }
            | Event::AttemptLost { task, .. }
            | Event::TaskCancelled { task, .. } => self.leases.retain(|_, known| known != task),
            _ => {}
        }
    }

    /// Reads what agents say, where that was published anew; whether it was.
    fn listen(&mut self, state: &StateDir, run: &RunId) -> bool {
        let published = if self.live { Saying::published(state, run) } else { None };
        if published == self.said_at {
            return false;
        }
        self.said_at = published;
        let at = published.map(timestamp).unwrap_or_default();
        let all = if published.is_some() { Saying::read(state, run) } else { Vec::new() };
        let before = std::mem::take(&mut self.said);
        for saying in all {
            let heard = match before.get(&saying.task) {
                Some(known) if known.saying == saying => known.clone(),
                known => Heard { look: known.map_or(1, |known| known.look + 1), at, saying },
            };
            self.said.insert(heard.saying.task.clone(), heard);
        }
        true
    }

    /// How the run stands, by its journal and by whether a process drives it.
    pub fn status(&self, state: &StateDir, run: &RunId) -> RunStatus {
        let recorded = self.picture.state.status.unwrap_or(RunStatus::Running);
        stands(state, run, recorded, self.live).0
    }

    fn reader(&mut self, state: &StateDir, run: &RunId) -> Result<Reader, Error> {
        match self.reader.take() {
            Some(reader) => Ok(reader),
            None => Reader::open(state, run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::Nothing;
    use convoke_journal::{Journal, Owner, RunMeta, Sqlite};
    use convoke_model::JsonText;
    use convoke_testkit::events::{group, id, stamp, started};

    #[test]
    fn the_events_of_many_tasks_are_those_of_each_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        let run = RunId("r".into());
        let Event::RunStarted(mut begin) = started() else { unreachable!() };
        begin.run = run.clone();
        let mut events = vec![Event::RunStarted(begin)];
        events.extend(["a", "b", "a", "c", "a", "b"].map(group));
        let meta = RunMeta { plan: JsonText::of(&"a plan"), source: JsonText::of(&["a.yaml", "a"]) };
        let owner = Owner { pid: u32::MAX, start: None, host: "h".into(), boot: "b".into() };
        Sqlite::create(&state, &run, &meta, &owner).unwrap().append(&stamp(events), &[], &[]).unwrap();
        let follower = Follower::new(&state, &run, &Nothing).unwrap();
        follower.read_on();
        let tasks = ["a", "b", "none"].map(id);
        for up_to in [0, 1, 2, 4, 6, u64::MAX] {
            let all = follower.events_of_each(&tasks, up_to).unwrap();
            assert_eq!(all.len(), tasks.len(), "a task without events is there as well");
            for task in &tasks {
                assert_eq!(all[task], follower.events_of(task, up_to).unwrap(), "{task} up to {up_to}");
            }
        }
        assert_eq!((follower.count_of(&tasks[0]), follower.count_of(&tasks[2])), (3, 0));
    }
}
