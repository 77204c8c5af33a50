//! Watches a run from a thread of its own: prints what happens and asks what must be asked.
//!
//! The engine hands over batches of events after each commit and never waits for anybody here. Invariant: every event
//! reaches the state once, however slow the terminal is.

mod asker;
mod flood;
mod guide;
mod inflow;
mod printer;

pub use asker::{Asker, Hearer, Manner};
pub use guide::Guide;
pub use inflow::{Inflow, News, Texts};

use crate::console::Voice;
use crate::paint::Paint;
use crate::view::{Outline, State};
use convoke_model::Stamped;
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
    /// Who answers gates; `None` where nobody does and the run parks.
    pub asker: Option<Asker>,
    /// Who passes on what is typed meanwhile; `None` where that is nobody's business.
    pub guide: Option<Guide>,
}

impl Watch {
    /// Starts watching; the thread ends with the last sender and gives the state at the end.
    pub fn start(self, news: Receiver<News>) -> JoinHandle<State> {
        let thread = std::thread::Builder::new().name("watch".to_owned());
        thread.spawn(move || self.run(news)).expect("a thread can be started")
    }

    fn run(mut self, news: Receiver<News>) -> State {
        let mut printer = Printer::new(self.voice, self.paint, is_live(self.voice));
        let mut inflow = Inflow::new(news, State::new(self.outline), printer.wants(), self.texts);
        if let Some(history) = self.history.take() {
            inflow.remember(&history());
        }
        while !inflow.is_closed() {
            inflow.wait();
            printer.print(&mut inflow);
            if let Some(guide) = &mut self.guide {
                guide.listen();
            }
            if let (Some(asker), Some((task, ask))) = (&self.asker, inflow.next_gate()) {
                printer.pause(&mut inflow);
                asker.see_to(&mut inflow, &task, &ask);
            }
        }
        printer.pause(&mut inflow);
        inflow.into_state()
    }
}

/// Whether a block can be drawn over itself here.
pub fn is_live(voice: Voice) -> bool {
    let dumb = crate::env::get(crate::env::TERM).as_deref() == Some("dumb");
    voice == Voice::Normal && crate::stdio::err_is_terminal() && !dumb
}
