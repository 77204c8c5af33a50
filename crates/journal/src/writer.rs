//! A thread that owns a journal, so that the engine does not wait for the disk.
//!
//! Knows no async runtime: an answer comes through a closure, which the engine makes the sending half of its own
//! channel. One request is one commit; gathering events into one append is the engine's work.

use crate::{Error, Journal, MessageId};
use convoke_model::{Blob, Stamped};
use std::sync::mpsc::{SendError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// What one commit is made of.
#[derive(Debug, Default)]
pub struct Append {
    /// The events, numbered without a gap.
    pub events: Vec<Stamped>,
    /// The blobs that they name.
    pub blobs: Vec<Blob>,
    /// The inbox messages that they deal with.
    pub consumed: Vec<MessageId>,
}

type Question = Box<dyn FnOnce(Result<&mut dyn Journal, Error>) + Send>;

/// The engine waits for each append before the next; the rest is for questions in between.
const QUEUE: usize = 32;

/// The handle to a journal on its own thread, which starts with the first question. Dropping it finishes what was asked and closes
/// the journal.
pub struct Writer {
    thread: Mutex<Option<Running>>,
    /// Taken for one question at a time, here or on the thread.
    journal: Arc<Mutex<Box<dyn Journal>>>,
}

/// The thread, and the way to it.
struct Running {
    questions: SyncSender<Question>,
    thread: JoinHandle<()>,
}

impl Running {
    fn start(journal: Arc<Mutex<Box<dyn Journal>>>) -> std::io::Result<Running> {
        let (questions, queue) = sync_channel::<Question>(QUEUE);
        let work = move || {
            while let Ok(question) = queue.recv() {
                answer(&journal, question);
            }
        };
        let thread = std::thread::Builder::new().name("journal".into()).spawn(work)?;
        Ok(Running { questions, thread })
    }
}

fn answer(journal: &Mutex<Box<dyn Journal>>, question: Question) {
    match journal.lock() {
        Ok(mut journal) => question(Ok(&mut **journal)),
        Err(_) => question(Err(Error::Closed)),
    }
}

impl Writer {
    /// Takes a journal. A run that is over before anything was asked needs no thread for it.
    pub fn new(journal: Box<dyn Journal>) -> Writer {
        Writer { thread: Mutex::default(), journal: Arc::new(Mutex::new(journal)) }
    }

    /// Appends on the caller's own thread, for a caller that has nothing else to do meanwhile: two hand-overs between
    /// threads cost as much as a quick disk.
    pub fn append_here(&self, append: &Append) -> Result<(), Error> {
        let mut journal = self.journal.lock().map_err(|_| Error::Closed)?;
        journal.append(&append.events, &append.blobs, &append.consumed)
    }

    /// Appends, then tells `reply` how it went and gives the events back.
    pub fn append(&self, append: Append, reply: impl FnOnce(Append, Result<(), Error>) + Send + 'static) {
        self.ask(move |journal| match journal {
            Ok(journal) => {
                let result = journal.append(&append.events, &append.blobs, &append.consumed);
                reply(append, result);
            }
            Err(closed) => reply(append, Err(closed)),
        });
    }

    /// Runs a question on the journal's thread; on a thread that is gone, the question hears of that instead. Where no thread can be
    /// started the question is answered here: slowly, and all the same.
    pub fn ask(&self, question: impl FnOnce(Result<&mut dyn Journal, Error>) + Send + 'static) {
        let question: Question = Box::new(question);
        let Some(questions) = self.questions() else { return answer(&self.journal, question) };
        if let Err(SendError(question)) = questions.send(question) {
            question(Err(Error::Closed));
        }
    }

    /// The way to the thread, which is started if there is none yet.
    fn questions(&self) -> Option<SyncSender<Question>> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            *thread = Running::start(self.journal.clone()).ok();
        }
        thread.as_ref().map(|running| running.questions.clone())
    }

    /// Finishes what was asked and gives the journal back; `Closed` if its thread has panicked.
    pub fn finish(mut self) -> Result<Box<dyn Journal>, Error> {
        self.stop();
        let journal =
            std::mem::replace(&mut self.journal, Arc::new(Mutex::new(Box::new(crate::Memory::new()))));
        let journal = Arc::try_unwrap(journal).map_err(|_| Error::Closed)?;
        journal.into_inner().map_err(|_: PoisonError<_>| Error::Closed)
    }

    fn stop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(Running { questions, thread }) = thread.take() {
            drop(questions);
            // A thread that has panicked has poisoned the journal, which is what its users see.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use convoke_model::{Event, Timestamp};
    use std::sync::mpsc::channel;

    fn append(seq: u64) -> Append {
        let event = Event::Noted { task: None, code: "x".into(), message: "y".into() };
        Append { events: vec![Stamped { seq, at: Timestamp(seq), event }], ..Append::default() }
    }

    #[test]
    fn appends_are_answered_in_order_and_the_journal_comes_back() {
        let writer = Writer::new(Box::new(Memory::new()));
        let (sender, answers) = channel();
        for seq in [1, 2, 9] {
            let sender = sender.clone();
            writer.append(append(seq), move |append, result| {
                sender.send((append.events[0].seq, result.is_ok())).unwrap();
            });
        }
        assert_eq!(answers.iter().take(3).collect::<Vec<_>>(), [(1, true), (2, true), (9, false)]);
        writer.ask(move |journal| sender.send((journal.unwrap().next_seq(), true)).unwrap());
        assert_eq!(answers.recv().unwrap(), (3, true));
        assert_eq!(writer.finish().unwrap().read_all().unwrap().len(), 2);
    }

    #[test]
    fn a_journal_that_is_not_asked_has_no_thread() {
        let journal = Memory::new();
        let writer = Writer::new(Box::new(journal.clone()));
        writer.append_here(&append(1)).unwrap();
        assert!(writer.thread.lock().unwrap().is_none());
        assert_eq!(writer.finish().unwrap().next_seq(), 2);
    }

    #[test]
    fn dropping_the_writer_finishes_what_was_asked() {
        let journal = Memory::new();
        let writer = Writer::new(Box::new(journal.clone()));
        for seq in 1..20 {
            writer.append(append(seq), |_, result| result.unwrap());
        }
        drop(writer);
        assert_eq!(journal.next_seq(), 20);
    }

    #[test]
    fn a_writer_whose_thread_is_gone_says_so() {
        let writer = Writer::new(Box::new(Memory::new()));
        let (sender, answers) = channel();
        writer.ask(|_| std::panic::resume_unwind(Box::new("gone")));
        let is_gone = || {
            let running = writer.thread.lock().unwrap();
            running.as_ref().expect("started").thread.is_finished()
        };
        while !is_gone() {
            std::thread::yield_now();
        }
        writer.append(append(1), move |_, result| sender.send(result.unwrap_err().to_string()).unwrap());
        assert_eq!(answers.recv().unwrap(), "the journal's writer has stopped");
        assert!(matches!(writer.finish(), Err(Error::Closed)));
    }
}
