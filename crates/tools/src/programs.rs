//! Programs of models, for `agent`: each worker is a confined process that dies with its holder.
//!
//! What programs may do is `convoke_interpreter`'s; which functions they have, and what these do, is `agent`'s. Here the
//! one's words are put into the other's.

use convoke_agent::{
    ErrorKind, Given, HostCall, ProgramBounds, ProgramWorker, Programs, Step, Stop, Trouble, TroubleKind,
};
use convoke_interpreter::{
    Answer, Error, Exception, Failed, GUIDE, Interpreter, Kind, Limits, Next, Origin, Paused, Printed,
    Program, WorkerCommand,
};
use convoke_model::Failure;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// The longest program that is put aside where it waits, in bytes; a longer one is run again instead. A program that
/// leaves the data where they are takes a few kilobytes.
const SAVED: u64 = 1 << 20;

/// Runs programs in workers that are started like this.
pub struct Workers {
    workers: convoke_interpreter::Workers,
}

impl Workers {
    /// The command must do nothing but [`crate::serve_programs`].
    pub fn new(command: WorkerCommand) -> Workers {
        Workers { workers: convoke_interpreter::Workers::new(command) }
    }
}

impl Programs for Workers {
    fn guide(&self) -> &str {
        GUIDE
    }

    fn start(&self, bounds: ProgramBounds) -> BoxFuture<'_, Result<Box<dyn ProgramWorker>, Failure>> {
        Box::pin(async move {
            let mut interpreter = self.workers.start(limits(&bounds)).await?;
            // A program makes many calls, and few of them are worth saving at.
            interpreter.set_saving(false);
            let functions = bounds.functions.iter().map(|name| (*name).to_owned()).collect();
            Ok(Box::new(Worker { interpreter, functions, used: false }) as Box<dyn ProgramWorker>)
        })
    }
}

fn limits(bounds: &ProgramBounds) -> Limits {
    Limits {
        time: bounds.time,
        // The host's bound is the wall clock; this one is for a worker that outlives its host's attention.
        cpu_seconds: bounds.total.as_secs() + Duration::from_secs(5).as_secs(),
        memory_bytes: bounds.memory,
        state_bytes: SAVED,
        ..Limits::default()
    }
}

struct Worker {
    interpreter: Interpreter,
    functions: Vec<String>,
    /// A program was run, and its variables are there.
    used: bool,
}

impl ProgramWorker for Worker {
    fn run<'a>(&'a mut self, program: &'a str) -> BoxFuture<'a, Result<Step, Failure>> {
        let origin = if self.used { Origin::Kept } else { Origin::Fresh };
        self.used = true;
        let (text, functions) = (program.to_owned(), self.functions.clone());
        let program = Program { text, functions, origin, ..Program::default() };
        Box::pin(async move { Ok(step(self.interpreter.run(program).await?)) })
    }

    fn answer(&mut self, call: u64, answer: Given) -> BoxFuture<'_, Result<Step, Failure>> {
        Box::pin(async move { Ok(step(self.interpreter.answer(call, said(answer)).await?)) })
    }

    fn save(&mut self) -> BoxFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move { Some(self.interpreter.save().await.ok()??.0) })
    }

    fn resume<'a>(
        &'a mut self,
        saved: &'a [u8],
        call: u64,
        answer: Given,
    ) -> BoxFuture<'a, Result<Option<Step>, Failure>> {
        let (paused, functions) = (Paused(saved.to_vec()), self.functions.clone());
        self.used = true;
        Box::pin(async move {
            match self.interpreter.resume(&paused, call, said(answer), functions).await {
                Ok(next) => Ok(Some(step(next))),
                Err(Error::Unusable(_)) => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
    }
}

fn step(next: Next) -> Step {
    let (stop, printed) = match next {
        Next::Call(call) => {
            let (number, function) = (call.number, call.function);
            (Stop::Call(HostCall { number, function, args: call.args, kwargs: call.kwargs }), call.printed)
        }
        Next::Ended(ended) => {
            let too_large = |bytes| Value::from(format!("(a value of {bytes} bytes, too large to be given)"));
            (Stop::Ended(ended.cut_value.map_or(ended.value, too_large)), ended.printed)
        }
        Next::Failed(failed) => (Stop::Failed(trouble(&failed)), failed.printed),
    };
    let Printed { text, cut } = printed;
    Step { stop, printed: text, cut }
}

fn trouble(failed: &Failed) -> Trouble {
    let kind = match failed.kind {
        Kind::Memory => TroubleKind::Memory,
        Kind::Time => TroubleKind::Time,
        _ if failed.is_death() || !failed.kept => TroubleKind::Died,
        Kind::Unsupported if !failed.begun => TroubleKind::Refused,
        _ => TroubleKind::Program,
    };
    Trouble { kind, message: failed.traceback.clone(), hint: failed.hint.clone() }
}

fn said(given: Given) -> Answer {
    match given {
        Given::Value(value) => Answer::Value(value),
        Given::Error { kind, message } => Answer::raise(exception(kind), message),
    }
}

fn exception(kind: ErrorKind) -> Exception {
    match kind {
        ErrorKind::Type => Exception::TypeError,
        ErrorKind::Value => Exception::ValueError,
        ErrorKind::Key => Exception::KeyError,
        ErrorKind::Runtime => Exception::RuntimeError,
    }
}
