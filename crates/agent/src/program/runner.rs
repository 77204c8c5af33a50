//! Where programs are run: starts a worker when one is needed, answers what the outputs answer, and stops where models
//! must be asked.
//!
//! A worker that is new is brought to where the programs before stood: they are run again, with the answers that they
//! were given then. What they ask is compared with what they asked.

use super::functions::{self, Asking, Form, Wanted};
use super::graph::{self, Inquiry, MOST_INQUIRIES};
use super::library::{Library, Look};
use super::session::{Printed, Recorded, Session};
use super::worker::{
    ErrorKind, Given, HostCall, ProgramBounds, ProgramWorker, Programs, Step, Stop, Trouble,
};
use crate::talk::Talk;
use convoke_model::{Class, Digest, Failure, ProgramCall};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The shortest time that a program gets, if there is that much.
const SHORTEST: Duration = Duration::from_secs(1);

/// How a program stopped.
#[derive(Debug)]
pub(super) enum Ran {
    Ended(Value),
    Failed(Trouble),
    Final(Value),
    Asks(Asks),
}

/// What a program wants to know from models.
#[derive(Debug)]
pub(super) struct Asks {
    pub call: u64,
    pub digest: Digest,
    pub asking: Asking,
}

/// One worker with what its programs work on.
pub(super) struct ProgramRunner<'a, 't> {
    programs: &'a dyn Programs,
    /// How graphs are asked.
    talk: &'t Talk<'a>,
    call: &'a ProgramCall,
    library: Arc<Library>,
    worker: Option<Box<dyn ProgramWorker>>,
    /// What the program that runs has printed.
    pub printed: Printed,
    /// How long programs and what they looked for took.
    pub spent: Duration,
}

impl<'a, 't> ProgramRunner<'a, 't> {
    pub fn new(
        programs: &'a dyn Programs,
        talk: &'t Talk<'a>,
        call: &'a ProgramCall,
        library: Arc<Library>,
    ) -> ProgramRunner<'a, 't> {
        let (worker, printed, spent) = (None, Printed::default(), Duration::ZERO);
        ProgramRunner { programs, talk, call, library, worker, printed, spent }
    }

    /// Runs the program of the last turn, from its beginning.
    pub async fn run(&mut self, session: &mut Session) -> Result<Ran, Failure> {
        if self.worker.is_none() {
            self.catch_up(session).await?;
        }
        self.printed = Printed::default();
        let turn = session.state.turns;
        let mut answers: VecDeque<Recorded> = session.answers_in(turn).cloned().collect();
        let step = self.begin(session, turn).await?;
        let ran = self.go(step, &mut answers, Some(session)).await?;
        // What ends a program for what it uses may come sooner this time.
        if answers.is_empty() || self.worker.is_none() { Ok(ran) } else { Err(diverged(turn)) }
    }

    /// Goes on with a saved program; nothing if it cannot be read here.
    pub async fn resume(
        &mut self,
        session: &mut Session,
        saved: &[u8],
        call: u64,
        given: Given,
    ) -> Result<Option<Ran>, Failure> {
        let mut worker = self.programs.start(self.bounds()).await?;
        let begun = Instant::now();
        let step = worker.resume(saved, call, given).await?;
        self.spent += begun.elapsed();
        let Some(step) = step else { return Ok(None) };
        self.worker = Some(worker);
        self.go(step, &mut VecDeque::new(), Some(session)).await.map(Some)
    }

    /// The program that waits, as bytes.
    pub async fn save(&mut self) -> Option<Vec<u8>> {
        self.worker.as_mut()?.save().await
    }

    /// Lets the worker go, and with it all variables.
    pub fn clear(&mut self) {
        self.worker = None;
    }

    fn bounds(&self) -> ProgramBounds {
        let total = Duration::from_millis(self.call.time_ms);
        let time = (total / 4).max(SHORTEST).min(total);
        ProgramBounds { time, total, memory: self.call.memory, functions: functions::NAMES }
    }

    /// Starts a worker and runs the programs before this turn again.
    async fn catch_up(&mut self, session: &Session) -> Result<(), Failure> {
        self.worker = Some(self.programs.start(self.bounds()).await?);
        let before = self.spent;
        for turn in session.state.since..session.state.turns {
            if session.program(turn).is_none() {
                continue;
            }
            let mut answers: VecDeque<Recorded> = session.answers_in(turn).cloned().collect();
            let step = self.begin(session, turn).await?;
            let ran = self.go(step, &mut answers, None).await?;
            if matches!(ran, Ran::Asks(_)) || !answers.is_empty() || self.worker.is_none() {
                return Err(diverged(turn));
            }
        }
        // It was paid for when it was run first.
        self.spent = before;
        Ok(())
    }

    async fn begin(&mut self, session: &Session, turn: u32) -> Result<Step, Failure> {
        let program = session.program(turn).unwrap_or_default();
        let begun = Instant::now();
        let step = self.worker()?.run(&program).await;
        self.spent += begun.elapsed();
        step
    }

    /// Runs a program until it ends, fails or needs the answers of models. A program that runs for the first time has a
    /// session, which says what it may still ask.
    async fn go(
        &mut self,
        mut step: Step,
        answers: &mut VecDeque<Recorded>,
        mut session: Option<&mut Session>,
    ) -> Result<Ran, Failure> {
        loop {
            self.printed.add(&step.printed, step.cut, self.call.metadata_chars);
            let call = match step.stop {
                Stop::Call(call) => call,
                Stop::Ended(value) => return Ok(Ran::Ended(value)),
                Stop::Failed(trouble) => return Ok(self.troubled(trouble)),
            };
            if session.is_some() {
                self.in_time(session.as_deref())?;
            }
            let given = match functions::read(&call, self.call, &self.library) {
                Err(exception) => exception,
                Ok(Wanted::Final(value)) => return Ok(Ran::Final(value)),
                Ok(Wanted::Look(look)) => self.look(look).await?,
                Ok(Wanted::Inquire(inquiry)) => {
                    match self.inquired(&call, &inquiry, answers, session.as_deref_mut()).await? {
                        Some(given) => given,
                        None => return Ok(unanswered(&call)),
                    }
                }
                Ok(Wanted::Ask(asking)) => {
                    match self.known(&call, &asking, answers, session.as_deref_mut())? {
                        Some(given) => given,
                        None => {
                            let (number, digest) = (call.number, functions::digest(&call));
                            return Ok(Ran::Asks(Asks { call: number, digest, asking }));
                        }
                    }
                }
            };
            let begun = Instant::now();
            let answered = self.worker()?.answer(call.number, given).await;
            self.spent += begun.elapsed();
            step = answered?;
        }
    }

    /// The answer to a question, if it is known: it was given before, or it can be given without asking a model.
    fn known(
        &self,
        call: &HostCall,
        asking: &Asking,
        answers: &mut VecDeque<Recorded>,
        session: Option<&mut Session>,
    ) -> Result<Option<Given>, Failure> {
        if asking.sub_queries.is_empty() {
            return Ok(Some(Given::Value(Value::Array(Vec::new()))));
        }
        let digest = functions::digest(call);
        if let Some(recorded) = answers.pop_front() {
            return match recorded.digest == digest {
                true => Ok(Some(recorded.given)),
                false => Err(diverged(recorded.turn)),
            };
        }
        let Some(session) = session else { return Ok(None) };
        let (wanted, left) = (asking.sub_queries.len(), session.left(self.call).calls);
        if left == 0 {
            return Err(out_of_calls(self.call.max_calls));
        }
        if wanted <= left as usize {
            return Ok(None);
        }
        let message = format!("{}(): {wanted} model calls, and {left} are left", call.function);
        let given = Given::error(ErrorKind::Runtime, message);
        session.record(digest, given.clone());
        Ok(Some(given))
    }

    /// The answer of a graph: the one that was given before, or a new one, which is recorded. None where a program that is run again
    /// asks what it did not ask.
    async fn inquired(
        &mut self,
        call: &HostCall,
        inquiry: &Inquiry,
        answers: &mut VecDeque<Recorded>,
        session: Option<&mut Session>,
    ) -> Result<Option<Given>, Failure> {
        let digest = functions::digest(call);
        if let Some(recorded) = answers.pop_front() {
            return match recorded.digest == digest {
                true => Ok(Some(recorded.given)),
                false => Err(diverged(recorded.turn)),
            };
        }
        let Some(session) = session else { return Ok(None) };
        let given = if session.state.inquiries >= MOST_INQUIRIES {
            let message = format!("{}(): programs may ask graphs {MOST_INQUIRIES} times", call.function);
            Given::error(ErrorKind::Runtime, message)
        } else {
            session.state.inquiries += 1;
            let begun = Instant::now();
            let given = graph::ask(self.talk, inquiry).await;
            self.spent += begun.elapsed();
            given?
        };
        session.record(digest, given.clone());
        Ok(Some(given))
    }

    /// Reading everything takes a while: a blocking thread does it, so that no other attempt waits for it.
    async fn look(&mut self, look: Look) -> Result<Given, Failure> {
        let begun = Instant::now();
        let library = self.library.clone();
        let given = match look {
            Look::Search { .. } | Look::Outputs => {
                tokio::task::spawn_blocking(move || library.look(&look)).await
            }
            look => Ok(library.look(&look)),
        };
        self.spent += begun.elapsed();
        given.map_err(|error| Failure::new(Class::Fatal, format!("looking into outputs failed: {error}")))
    }

    /// What a program that was ended leaves behind is not to be relied on: the next one begins in a new worker.
    fn troubled(&mut self, trouble: Trouble) -> Ran {
        if trouble.kind.is_loss() {
            self.clear();
        }
        Ran::Failed(trouble)
    }

    /// Fails when the time for all programs is used up.
    pub fn in_time(&self, session: Option<&Session>) -> Result<(), Failure> {
        let before = session.map(|session| session.state.spent).unwrap_or_default();
        let most = Duration::from_millis(self.call.time_ms);
        if before + self.spent <= most {
            return Ok(());
        }
        let message = format!("its programs took longer than {} s", most.as_secs_f64());
        Err(Failure::new(Class::Fatal, message).reason("rlm_time").hint("allow more with `rlm: {time: …}`"))
    }

    fn worker(&mut self) -> Result<&mut Box<dyn ProgramWorker>, Failure> {
        let gone =
            || Failure::new(Class::Fatal, "there is no worker to run programs").reason("interpreter_gone");
        self.worker.as_mut().ok_or_else(gone)
    }
}

/// A program that stops at a call that nothing answers.
fn unanswered(call: &HostCall) -> Ran {
    let asking = Asking { form: Form::One, sub_queries: Vec::new() };
    Ran::Asks(Asks { call: call.number, digest: functions::digest(call), asking })
}

fn out_of_calls(most: u32) -> Failure {
    let message = format!("its programs asked models more than {most} times");
    Failure::new(Class::Fatal, message).reason("rlm_calls").hint("allow more with `rlm: {max_calls: …}`")
}

fn diverged(turn: u32) -> Failure {
    let message = format!("program {turn} did something else when it was run again");
    Failure::new(Class::Fatal, message).reason("replay_diverged")
}
