//! One worker and the program in it.
//!
//! Whatever the program does ends as a [`Next`]: a dead worker is a failed program. A step that is given up in the
//! middle (its future dropped) takes the worker with it, because its next message is unknown.

use super::link::{Ending, Link};
use crate::answer::{Answer, Exception};
use crate::error::Error;
use crate::guide;
use crate::limits::Limits;
use crate::outcome::{Call, Ended, Failed, Kind, Next, Paused, Printed, Session};
use crate::protocol::{Calling, Report, Request, Start};
use crate::sandbox::Sandbox;
use crate::value;
use convoke_model::Failure;
use serde::Serialize;
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::time::timeout;

/// A program to run.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The text.
    pub text: String,
    /// Variables that it finds.
    pub inputs: Map<String, Value>,
    /// The names of the host functions that it may call.
    pub functions: Vec<String>,
    /// Which variables of earlier programs it finds.
    pub origin: Origin,
}

/// Where the variables of earlier programs are.
#[derive(Debug, Clone, Default)]
pub enum Origin {
    /// There are none.
    #[default]
    Fresh,
    /// In this worker, as the program before left them.
    Kept,
    /// Saved.
    Saved(Session),
}

/// A worker that runs one program after the other. Dropped, it is killed.
pub struct Interpreter {
    link: Option<Link>,
    limits: Limits,
    sandbox: Sandbox,
    /// The call that the program waits at.
    waiting: Option<u64>,
    /// What the program may call.
    functions: Vec<String>,
    /// Whether programs are saved where they wait.
    pub(super) saves: bool,
}

impl Interpreter {
    pub(super) fn new(link: Link, limits: Limits, sandbox: Sandbox) -> Interpreter {
        Interpreter { link: Some(link), limits, sandbox, waiting: None, functions: Vec::new(), saves: true }
    }

    /// What keeps the worker confined.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The worker's process id, while it lives.
    pub fn pid(&self) -> Option<u32> {
        self.link.as_ref().and_then(Link::pid)
    }

    /// Whether the worker can still be used.
    pub fn is_alive(&self) -> bool {
        self.link.is_some()
    }

    /// Runs a program until it waits or is over. A program that waits is given up for it.
    pub async fn run(&mut self, program: Program) -> Result<Next, Error> {
        if let Some(failed) = self.too_large(&program) {
            return Ok(Next::Failed(Box::new(failed)));
        }
        let (kept, session) = match program.origin {
            Origin::Fresh => (false, Vec::new()),
            Origin::Kept => (true, Vec::new()),
            Origin::Saved(Session(bytes)) => (false, bytes),
        };
        let Program { text, inputs, functions, .. } = program;
        self.functions = functions.clone();
        let start = Start { program: text, inputs, kept, functions, save: self.saves };
        self.waiting = None;
        self.step(Request::Start(start), &session, 1).await
    }

    /// Answers the call that the program waits at, and lets it go on.
    pub async fn answer(&mut self, call: u64, answer: Answer) -> Result<Next, Error> {
        if self.waiting.take_if(|waiting| *waiting == call).is_none() {
            return Err(Error::NotWaiting(call));
        }
        let request = Request::Answer { answer: self.fitting(answer), save: self.saves };
        self.step(request, &[], call + 1).await
    }

    /// Answers with what `work` gives. What takes longer than `within` becomes a `TimeoutError` in the program, which
    /// may catch it; a failure of `work` is none of the program's business: it ends the worker, and is given back.
    pub async fn answer_within(
        &mut self,
        call: u64,
        within: Duration,
        work: impl Future<Output = Result<Answer, Failure>>,
    ) -> Result<Next, Error> {
        if self.waiting != Some(call) {
            return Err(Error::NotWaiting(call));
        }
        let answer = match timeout(within, work).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(failure)) => {
                self.link = None;
                return Err(Error::Host(failure));
            }
            Err(_) => Answer::raise(Exception::TimeoutError, format!("no answer within {within:?}")),
        };
        self.answer(call, answer).await
    }

    /// Goes on with a saved program, which waits for the answer to `call`.
    pub async fn resume(
        &mut self,
        paused: &Paused,
        call: u64,
        answer: Answer,
        functions: Vec<String>,
    ) -> Result<Next, Error> {
        self.functions = functions.clone();
        let request = Request::Resume { call, answer: self.fitting(answer), functions, save: self.saves };
        self.waiting = None;
        self.step(request, &paused.0, call + 1).await
    }

    /// Whether programs are saved wherever they wait and end, as they are at first. A caller that saves few of many calls says
    /// when ([`Interpreter::save`]).
    pub fn set_saving(&mut self, saves: bool) {
        self.saves = saves;
    }

    /// Saves the program that waits, which goes on waiting. Nothing if it is longer than may be saved.
    pub async fn save(&mut self) -> Result<Option<Paused>, Error> {
        let mut link = self.link.take().ok_or(Error::Gone)?;
        match link.exchange(&Request::Save, &[], self.limits.frame(), self.limits.silence()).await {
            Ok((Report::Saved, state)) => {
                self.link = Some(link);
                Ok(Some(Paused(state)).filter(|paused| !paused.0.is_empty()))
            }
            Ok((Report::Unusable { cause }, _)) => {
                self.link = Some(link);
                Err(Error::Unusable(cause))
            }
            Ok(_) => Err(Error::Nonsense("did not save".into())),
            Err(Ending::Died(death, complaint)) => {
                Err(Error::Nonsense(format!("died ({death}) {complaint}")))
            }
            Err(Ending::Nonsense(what)) => Err(Error::Nonsense(what)),
        }
    }

    /// Lets the worker end, and waits for that.
    pub async fn end(mut self) {
        if let Some(link) = self.link.take() {
            link.close().await;
        }
    }

    /// One request and its report. `call` is the number of the next call, if that is what is reported.
    async fn step(&mut self, request: Request, body: &[u8], call: u64) -> Result<Next, Error> {
        let mut link = self.link.take().ok_or(Error::Gone)?;
        match link.exchange(&request, body, self.limits.frame(), self.limits.silence()).await {
            Ok((report, attached)) => {
                let next = self.understood(report, attached, call);
                // A worker that breaks the protocol is not read again.
                self.link = Some(link).filter(|_| !matches!(next, Err(Error::Nonsense(_))));
                next
            }
            Err(Ending::Died(death, complaint)) => {
                Ok(Next::Failed(Box::new(guide::death(death, &complaint, self.limits.silence()))))
            }
            Err(Ending::Nonsense(what)) => Err(Error::Nonsense(what)),
        }
    }

    fn understood(&mut self, report: Report, attached: Vec<u8>, expected: u64) -> Result<Next, Error> {
        let attached = Some(attached).filter(|bytes| !bytes.is_empty());
        match report {
            Report::Call(it) if self.may(&it, expected) => {
                self.waiting = Some(it.call);
                Ok(Next::Call(Box::new(call(it, attached.map(Paused)))))
            }
            Report::Ended { value, cut_value, printed } => {
                let session = attached.map(Session);
                Ok(Next::Ended(Box::new(Ended { value, cut_value, printed, session })))
            }
            Report::Failed(it) => Ok(Next::Failed(Box::new(guide::failed(it, attached.map(Session))))),
            Report::Unusable { cause } => Err(Error::Unusable(cause)),
            Report::Call(it) => Err(Error::Nonsense(format!("call {} of `{}`", it.call, it.function))),
            Report::Ready { .. } => Err(Error::Nonsense("greeted twice".into())),
            Report::Saved => Err(Error::Nonsense("saved what nobody asked for".into())),
        }
    }

    /// Whether this call can be the next. The worker made sure of it; but the worker is what we do not trust.
    fn may(&self, call: &Calling, expected: u64) -> bool {
        call.call == expected && expected <= self.limits.calls && self.functions.contains(&call.function)
    }

    /// The answer, or what the program is told instead of one that cannot be sent.
    fn fitting(&self, answer: Answer) -> Answer {
        let Answer::Value(value) = &answer else { return answer };
        if value::is_too_deep(value) {
            return Answer::raise(Exception::ValueError, "the answer is nested too deep");
        }
        let (bytes, most) = (length(value), self.limits.message_bytes);
        if bytes > most {
            let message =
                format!("the answer has {bytes} bytes, and at most {most} fit: ask for a part of it");
            return Answer::raise(Exception::ValueError, message);
        }
        answer
    }

    fn too_large(&self, program: &Program) -> Option<Failed> {
        let text = (program.text.len() as u64, self.limits.program_bytes, "the program");
        let inputs = (length(&program.inputs), self.limits.message_bytes, "its inputs");
        let (bytes, most, what) = [text, inputs].into_iter().find(|(bytes, most, _)| bytes > most)?;
        let message = format!("{what}: {bytes} bytes, and at most {most} are allowed");
        Some(Failed {
            kind: Kind::TooLarge,
            traceback: message.clone(),
            message,
            line: None,
            hint: guide::hint(Kind::TooLarge),
            printed: Printed::default(),
            session: None,
            // Nothing was begun.
            kept: true,
            begun: false,
            death: None,
        })
    }
}

fn call(it: Calling, paused: Option<Paused>) -> Call {
    let Calling { call: number, function, args, kwargs, printed } = it;
    Call { number, function, args, kwargs, printed, paused }
}

/// How long a value is as JSON.
fn length(value: &impl Serialize) -> u64 {
    let mut counter = Counter(0);
    // Counting does not fail, and neither does a value that is JSON already.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct Counter(u64);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
