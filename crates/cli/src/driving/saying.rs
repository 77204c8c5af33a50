//! Publishes what the agents of a run say, for processes that watch the run.
//!
//! A thread of its own writes; the run hands over what it has and never waits. Where the thread does not keep up, pieces are lost, and the
//! bound on what is kept loses the beginning anyway: the newest end is what counts.

use convoke_journal::{Saying, StateDir};
use convoke_model::{RunId, Stamped};
use convoke_view::{Activity, Doing};
use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Between two times that the file is written.
const FRAME: Duration = Duration::from_millis(150);

/// Pieces on their way; more are lost.
const QUEUE: usize = 4_096;

/// Characters of one task that are kept.
const TAIL: usize = 6_000;

/// Tasks whose words are published.
const MOST: usize = 64;

enum Heard {
    Doing(Doing),
    Events(Arc<[Stamped]>),
}

/// The way to the thread, which begins with the first word and ends when this is dropped.
pub(super) struct Publisher<'a> {
    state: &'a StateDir,
    run: &'a RunId,
    thread: OnceCell<Option<SyncSender<Heard>>>,
}

impl<'a> Publisher<'a> {
    /// Nothing is said yet, and what an earlier process has left is not said any more.
    pub fn new(state: &'a StateDir, run: &'a RunId) -> Publisher<'a> {
        Saying::publish(state, run, &[]).ok();
        Publisher { state, run, thread: OnceCell::new() }
    }

    /// Something that a task does.
    pub fn hear(&self, doing: Doing) {
        let thread = self.thread.get_or_init(|| begin(self.state, self.run));
        thread.iter().for_each(|thread| drop(thread.try_send(Heard::Doing(doing.clone()))));
    }

    /// What is on disk now: it takes away what was said before.
    pub fn recorded(&self, events: &Arc<[Stamped]>) {
        let thread = self.thread.get().into_iter().flatten();
        thread.for_each(|thread| drop(thread.try_send(Heard::Events(events.clone()))));
    }
}

/// Starts the thread; `None` where that is not possible, and then nothing is published.
fn begin(state: &StateDir, run: &RunId) -> Option<SyncSender<Heard>> {
    let (sender, receiver) = sync_channel(QUEUE);
    let (state, run) = (state.clone(), run.clone());
    let thread = std::thread::Builder::new().name("saying".to_owned());
    thread.spawn(move || publish(&state, &run, &receiver)).ok()?;
    Some(sender)
}

fn publish(state: &StateDir, run: &RunId, receiver: &Receiver<Heard>) {
    let mut activity = Activity::keeping(TAIL);
    let (mut is_new, mut is_said, mut written) = (false, false, Instant::now());
    loop {
        match receiver.recv_timeout(if is_new { FRAME } else { Duration::from_secs(3600) }) {
            Ok(Heard::Doing(doing)) => {
                activity.take(doing);
                is_new = true;
            }
            Ok(Heard::Events(events)) => {
                events.iter().for_each(|stamped| activity.apply(&stamped.event));
                is_new |= is_said;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if is_new && written.elapsed() >= FRAME {
            let all = sayings(&activity);
            is_said = !all.is_empty();
            // It is shown and forgotten; a disk without room has other readers.
            Saying::publish(state, run, &all).ok();
            (is_new, written) = (false, Instant::now());
        }
    }
    Saying::publish(state, run, &[]).ok();
}

fn sayings(activity: &Activity) -> Vec<Saying> {
    let all = activity.all().take(MOST).map(|(task, now)| Saying {
        task: task.clone(),
        text: now.tail.clone(),
        dropped: now.bytes().saturating_sub(now.tail.len() as u64),
        tools: now.tools.clone(),
    });
    all.collect()
}
