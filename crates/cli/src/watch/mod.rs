//! Watches a run from a thread of its own: prints what happens and asks what must be asked.
//!
//! The engine hands over batches of events after each commit and never waits for anybody here. Invariant: every event
//! reaches the state, however slow the terminal is.

mod inflow;
mod printer;

use crate::console::Voice;
use crate::gate::{self, Asked, Keyboard};
use crate::paint::Paint;
use crate::view::{Outline, State};
use convoke_model::{Answer, Ask, Payload, Stamped, TaskId};
use inflow::Inflow;
use printer::Printer;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

/// A batch of events, as the engine hands them over.
pub type Batch = Arc<[Stamped]>;

/// What a person at the terminal can do to a run.
pub trait Person: Send {
    /// The question behind a payload.
    fn question(&self, ask: &Payload) -> Option<Ask>;
    /// Gives an answer.
    fn answer(&self, task: &TaskId, answer: Answer);
    /// Leaves without an answer: the run is let go of.
    fn leave(&self);
}

/// How a run is watched.
pub struct Watch {
    /// How much is said.
    pub voice: Voice,
    /// Colours.
    pub paint: Paint,
    /// What the plan says in advance.
    pub outline: Outline,
    /// Who answers gates; `None` where nobody is there.
    pub person: Option<Box<dyn Person>>,
}

impl Watch {
    /// Starts watching; the thread ends with the last sender and gives the state at the end.
    pub fn start(self, batches: Receiver<Batch>) -> JoinHandle<State> {
        let name = std::thread::Builder::new().name("watch".to_owned());
        name.spawn(move || self.run(batches)).expect("a thread can be started")
    }

    fn run(self, batches: Receiver<Batch>) -> State {
        let mut printer = Printer::new(self.voice, self.paint, is_live(self.voice));
        let mut inflow = Inflow::new(batches, State::new(self.outline), printer.wants());
        while !inflow.is_closed() {
            inflow.wait();
            printer.print(&mut inflow);
            if let (Some(person), Some((task, ask))) = (&self.person, inflow.next_gate()) {
                printer.pause();
                ask_person(person.as_ref(), &mut inflow, &task, &ask);
            }
        }
        printer.finish(&mut inflow);
        inflow.into_state()
    }
}

/// Whether a block can be drawn over itself here.
fn is_live(voice: Voice) -> bool {
    let dumb = crate::env::get(crate::env::TERM).as_deref() == Some("dumb");
    voice == Voice::Normal && std::io::stderr().is_terminal() && !dumb
}

fn ask_person(person: &dyn Person, inflow: &mut Inflow, task: &TaskId, payload: &Payload) {
    inflow.asked(task);
    let Some(ask) = person.question(payload) else { return };
    let mut keyboard = Keyboard::new(|| {
        inflow.take_what_is_there();
        inflow.is_closed() || !inflow.is_open(task)
    });
    match gate::ask(&mut keyboard, task, &ask) {
        Asked::Answered(answer) => person.answer(task, answer),
        Asked::Closed => person.leave(),
        Asked::Moot => {}
    }
}
