//! Watches a run from a thread of its own: prints what happens and asks what must be asked.
//!
//! The engine hands over batches of events after each commit and never waits for the watcher. Invariant: every event
//! reaches the state once, however slow the terminal is.

mod asker;
mod event_feed;
mod guide;
mod printer;
mod repeats;

pub use asker::{Asker, Hearer, Manner};
pub use event_feed::{EventFeed, Texts, Update};
pub use guide::Guide;
pub use printer::Pace;

use crate::console::Voice;
use crate::paint::Paint;
use convoke_model::Stamped;
use convoke_view::{Outline, State};
use printer::Printer;
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
    /// How time passes.
    pub pace: Pace,
}

impl Watch {
    /// Starts watching; the thread ends with the last sender and gives the state at the end.
    pub fn start(self, updates: Receiver<Update>) -> JoinHandle<State> {
        let thread = std::thread::Builder::new().name("watch".to_owned());
        thread.spawn(move || self.run(updates)).expect("a thread can be started")
    }

    fn run(mut self, updates: Receiver<Update>) -> State {
        let mut printer = Printer::new(self.voice, self.paint, is_live(self.voice), self.pace);
        let mut feed = EventFeed::new(updates, State::new(self.outline), printer.wants(), self.texts);
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

/// Whether a block can be drawn over itself here.
pub fn is_live(voice: Voice) -> bool {
    let dumb = crate::env::get(crate::env::TERM).as_deref() == Some("dumb");
    voice == Voice::Normal && crate::stdio::err_is_terminal() && !dumb
}
