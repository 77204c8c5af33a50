//! Watches a run from a thread of its own: prints what happens and asks what must be asked. A run that is over in a moment and that
//! no person looks at is spared the thread.
//!
//! The engine hands over batches of events after each commit and never waits for the watcher. Invariant: every event
//! reaches the state once, however slow the terminal is.

mod asker;
mod event_feed;
mod guide;
mod printer;
mod repeats;

pub use asker::{Asker, Hearer, Manner};
pub use event_feed::{EventFeed, GATHER, Texts, Update};
pub use guide::Guide;
pub use printer::Pace;

use crate::console::Voice;
use crate::paint::Paint;
use convoke_model::{RunId, Stamped};
use convoke_view::{Outline, State};
use printer::Printer;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

/// Reads what happened before this process came.
pub type History = Box<dyn FnOnce() -> Vec<Stamped> + Send>;

/// How a run is watched.
pub struct Watch {
    /// How much is said.
    pub voice: Voice,
    /// Colours.
    pub paint: Paint,
    /// What the plan says in advance.
    pub outline: Outline,
    /// What happened before; shown as the state of things, not line by line.
    pub history: Option<History>,
    /// Reads what events only name.
    pub texts: Texts,
    /// Answers gates; `None`: the run parks at them.
    pub asker: Option<Asker>,
    /// Passes on what is typed meanwhile; `None`: input is not read.
    pub guide: Option<Guide>,
    /// The run, where every event is a record of its own.
    pub log: Option<RunId>,
    /// How time passes.
    pub pace: Pace,
}

impl Watch {
    /// Starts watching; the thread ends with the last sender and gives the state at the end.
    pub fn start(self, updates: Receiver<Update>) -> JoinHandle<State> {
        let thread = std::thread::Builder::new().name("watch".to_owned());
        thread.spawn(move || self.run(updates)).expect("a thread can be started")
    }

    /// Whether a person sees, or is asked, what happens while it happens. All others notice nothing of a thread that starts later.
    fn is_urgent(&self) -> bool {
        is_live(self.voice) || self.asker.is_some() || self.guide.is_some()
    }

    fn run(mut self, updates: Receiver<Update>) -> State {
        let mut printer = Printer::new(self.voice, self.paint, is_live(self.voice), self.pace);
        let mut feed = EventFeed::new(updates, State::new(self.outline), printer.wants(), self.texts);
        feed.log = self.log.take();
        if let Some(history) = self.history.take() {
            feed.remember(&history());
        }
        while !feed.is_closed() {
            feed.wait();
            printer.print(&mut feed);
            if let Some(guide) = &mut self.guide {
                guide.listen();
            }
            if let (Some(asker), Some(question)) = (&self.asker, feed.next_gate()) {
                printer.pause(&mut feed);
                asker.see_to(&mut feed, &question);
            }
        }
        printer.pause(&mut feed);
        feed.into_state()
    }
}

/// A watcher whose thread starts when there is a use for it. The first updates are gathered for a moment in any case, and a run
/// that is over by then is watched on the thread that has driven it.
pub enum Watcher {
    /// Updates are gathered.
    Gathering(Box<Watch>, Receiver<Update>),
    /// The thread.
    Running(JoinHandle<State>),
    /// It is being started.
    Starting,
}

impl Watcher {
    /// Takes updates from now on.
    pub fn new(watch: Watch, updates: Receiver<Update>) -> Watcher {
        match watch.is_urgent() {
            true => Watcher::Running(watch.start(updates)),
            false => Watcher::Gathering(Box::new(watch), updates),
        }
    }

    /// Whether the thread has yet to be started.
    pub fn is_gathering(&self) -> bool {
        matches!(self, Watcher::Gathering(..))
    }

    /// Starts the thread, if there is none.
    pub fn start(&mut self) {
        *self = match std::mem::replace(self, Watcher::Starting) {
            Watcher::Gathering(watch, updates) => Watcher::Running(watch.start(updates)),
            started => started,
        };
    }

    /// Says what is left to say, once the last sender is gone; the state at the end. `None` if watching has failed.
    pub fn finish(self) -> Option<State> {
        match self {
            Watcher::Gathering(watch, updates) => {
                // Nothing more comes: there is nothing to gather.
                std::thread::current().unpark();
                catch_unwind(AssertUnwindSafe(|| watch.run(updates))).ok()
            }
            Watcher::Running(thread) => {
                thread.thread().unpark();
                thread.join().ok()
            }
            Watcher::Starting => None,
        }
    }
}

/// Whether a block can be drawn over itself here.
pub fn is_live(voice: Voice) -> bool {
    let dumb = crate::env::get(crate::env::TERM).as_deref() == Some("dumb");
    voice == Voice::Normal && crate::stdio::err_is_terminal() && !dumb && !crate::json_log::is_on()
}
