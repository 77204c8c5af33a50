//! Executes the host's requests: starts programs, lets them go on, and says where they stopped.
//!
//! Whatever the program wants from outside passes here: calls of the host's functions go to the host, names are looked up
//! among them, everything of the operating system is refused.

use super::memory::Gauge;
use super::print::Print;
use super::{failing, frame, habits};
use crate::answer::{Answer, Exception};
use crate::limits::Limits;
use crate::outcome::Kind;
use crate::protocol::{Calling, Failing, Report, Request, Start};
use crate::value;
use monty::{
    Dump, MontyRepl, ReplFunctionCall, ReplNameLookup, ReplOsCall, ReplProgress, ReplResolveFutures,
    ReplStartError, Session, SessionRef,
};
use monty_types::{
    CompileOptions, ExcType, ExtFunctionResult, MontyException, MontyObject, NameLookupResult, PrintWriter,
    ResourceLimits, ResourceTracker,
};
use serde_json::{Map, Value};
use std::ops::ControlFlow;

/// Bytes of the length that stands behind the text of a saved program.
const LENGTH: usize = size_of::<u64>();

type Step = Result<ReplProgress, Box<ReplStartError>>;

/// A report and what is attached to it.
pub type Reported = (Report, Vec<u8>);

/// Runs the programs of one worker.
pub struct Executor {
    limits: Limits,
    gauge: Gauge,
    /// The variables of the last program, while none runs.
    idle: Option<MontyRepl>,
    /// The program, while it waits at a call.
    waiting: Option<ReplFunctionCall>,
    functions: Vec<String>,
    /// The program that runs.
    program: habits::Ready,
    print: Print,
    /// How many calls the program has made.
    calls: u64,
    /// Whether what stops next is saved.
    save: bool,
    /// Why we ended the program, if we did.
    stopped: Option<Kind>,
}

impl Executor {
    /// A executor without a program.
    pub fn new(limits: Limits, gauge: Gauge) -> Executor {
        Executor {
            limits,
            gauge,
            idle: None,
            waiting: None,
            functions: Vec::new(),
            program: habits::Ready::default(),
            print: Print::default(),
            calls: 0,
            save: false,
            stopped: None,
        }
    }

    /// The longest requests.
    pub fn bounds(&self) -> frame::Bounds {
        self.limits.frame()
    }

    /// Executes a request, as far as the program goes by itself.
    pub fn execute(&mut self, request: Request, attached: Vec<u8>) -> Reported {
        self.stopped = None;
        match request {
            Request::Start(start) => self.start(start, &attached),
            Request::Resume { call, answer, functions, save } => {
                self.functions = functions;
                self.save = save;
                self.resume(call, answer, &attached)
            }
            Request::Answer { answer, save } => {
                self.save = save;
                self.answer(answer)
            }
            Request::Save => self.save_waiting(),
            Request::Hello { .. } => unusable("greeted twice"),
        }
    }

    fn start(&mut self, start: Start, session: &[u8]) -> Reported {
        let kept = self.idle.take().or_else(|| self.waiting.take().map(ReplFunctionCall::into_repl));
        let repl = match kept {
            _ if !session.is_empty() => load_idle(session),
            Some(repl) if start.kept => Ok(repl),
            _ => Ok(MontyRepl::new(
                "program",
                ResourceTracker::new(self.resources()),
                CompileOptions::default(),
            )),
        };
        let mut repl = match repl {
            Ok(repl) => repl,
            Err(cause) => return unusable(&cause),
        };
        self.gauge.settle();
        // A saved session brings the bounds of the worker that saved it; these are ours, and time begins anew.
        *repl.tracker_mut() = ResourceTracker::new(self.resources());
        self.functions = start.functions;
        self.save = start.save;
        self.calls = 0;
        self.print = Print::new(self.limits.printed_bytes);
        let mut inputs: Vec<_> =
            start.inputs.into_iter().map(|(name, it)| (name, value::from_json(it))).collect();
        // As variables, too: a name that Python knows, such as `slice`, would not be looked up.
        let function =
            |name: &String| (name.clone(), MontyObject::Function { name: name.clone(), docstring: None });
        inputs.extend(self.functions.iter().map(function));
        self.begin(repl, &start.program, inputs)
    }

    /// Runs a program with the helpers that it needs, or says all that must be written differently.
    fn begin(&mut self, repl: MontyRepl, program: &str, inputs: Vec<(String, MontyObject)>) -> Reported {
        self.program = match habits::look(program, &self.functions) {
            Ok(ready) => ready,
            Err(findings) => {
                let session = self.saved(SessionRef::Idle(&repl));
                self.idle = Some(repl);
                return (Report::Failed(habits::refused(&findings)), session);
            }
        };
        let (helpers, text) = (self.program.prelude.clone(), self.program.text.clone());
        let repl = match helpers.is_empty() {
            true => repl,
            false => match self.run(|print| repl.feed_start(&helpers, Vec::new(), print)) {
                Ok(ReplProgress::Complete { repl, .. }) => repl,
                Ok(_) => return unusable("the helpers of programs stopped"),
                Err(error) => return self.failed(*error),
            },
        };
        self.go(|print| repl.feed_start(&text, inputs, print))
    }

    fn resume(&mut self, call: u64, answer: Answer, paused: &[u8]) -> Reported {
        (self.waiting, self.program) = match load_waiting(paused) {
            Ok((waiting, program)) => (Some(waiting), program),
            Err(cause) => return unusable(&cause),
        };
        self.idle = None;
        self.calls = call;
        self.print = Print::new(self.limits.printed_bytes);
        self.answer(answer)
    }

    fn answer(&mut self, answer: Answer) -> Reported {
        match self.waiting.take() {
            Some(waiting) => self.go(|print| waiting.resume(result(answer), print)),
            None => unusable("no program waits for an answer"),
        }
    }

    fn resources(&self) -> ResourceLimits {
        ResourceLimits::default()
            .max_duration(self.limits.time)
            .max_memory(usize::try_from(self.limits.memory_bytes).unwrap_or(usize::MAX))
            .max_recursion_depth(self.limits.recursion)
    }

    /// Lets the program run until it stops for the host.
    fn go(&mut self, first: impl FnOnce(PrintWriter<'_>) -> Step) -> Reported {
        let mut step = self.run(first);
        loop {
            step = match step {
                Err(error) => return self.failed(*error),
                Ok(ReplProgress::Complete { repl, value }) => return self.ended(repl, &value),
                Ok(ReplProgress::FunctionCall(call)) => match self.call(call) {
                    ControlFlow::Break(said) => return said,
                    ControlFlow::Continue(step) => step,
                },
                Ok(ReplProgress::NameLookup(lookup)) => self.look_up(lookup),
                Ok(ReplProgress::OsCall(call)) => self.refuse(call),
                Ok(ReplProgress::ResolveFutures(futures)) => self.refuse_to_await(futures),
            }
        }
    }

    fn run(&mut self, step: impl FnOnce(PrintWriter<'_>) -> Step) -> Step {
        let Executor { gauge, print, .. } = self;
        gauge.watch(|| step(PrintWriter::Callback(print)))
    }

    /// The call for the host; or how the program goes on where the call cannot be made.
    fn call(&mut self, call: ReplFunctionCall) -> ControlFlow<Reported, Step> {
        if call.object_id.is_some() || !self.functions.contains(&call.function_name) {
            let name = call.function_name.clone();
            return ControlFlow::Continue(
                self.run(|print| call.resume(ExtFunctionResult::NotFound(name), print)),
            );
        }
        if self.calls >= self.limits.calls {
            self.stopped = Some(Kind::Calls);
            let error = raised(ExcType::RuntimeError, format!("more than {} calls", self.limits.calls));
            return ControlFlow::Continue(self.run(|print| call.abort(error, print)));
        }
        match self.arguments(&call) {
            Ok((args, kwargs)) => ControlFlow::Break(self.wait(call, args, kwargs)),
            Err(error) => ControlFlow::Continue(self.run(|print| call.resume(error, print))),
        }
    }

    /// The arguments as JSON, or the exception that the program gets for them.
    fn arguments(&self, call: &ReplFunctionCall) -> Result<(Vec<Value>, Map<String, Value>), MontyException> {
        let unsayable = |error: value::Unsayable| {
            raised(ExcType::TypeError, format!("{}(): {error}", call.function_name))
        };
        let args = call.args.iter().map(value::to_json).collect::<Result<Vec<_>, _>>().map_err(unsayable)?;
        let named = |(name, it): &(MontyObject, MontyObject)| Ok((name.to_string(), value::to_json(it)?));
        let kwargs = call.kwargs.iter().map(named).collect::<Result<Map<_, _>, _>>().map_err(unsayable)?;
        let bytes = serde_json::to_vec(&(&args, &kwargs)).map_or(0, |it| it.len()) as u64;
        let most = self.limits.message_bytes;
        if bytes > most {
            let message = format!("{}(): {bytes} bytes of arguments, at most {most}", call.function_name);
            return Err(raised(ExcType::ValueError, message));
        }
        Ok((args, kwargs))
    }

    fn wait(&mut self, call: ReplFunctionCall, args: Vec<Value>, kwargs: Map<String, Value>) -> Reported {
        self.calls += 1;
        let function = call.function_name.clone();
        let progress = ReplProgress::FunctionCall(call);
        let state = self.saved_waiting(&progress);
        self.waiting = progress.into_function_call();
        let printed = self.print.take();
        (Report::Call(Calling { call: self.calls, function, args, kwargs, printed }), state)
    }

    fn save_waiting(&mut self) -> Reported {
        let Some(call) = self.waiting.take() else { return unusable("no program waits") };
        self.save = true;
        let progress = ReplProgress::FunctionCall(call);
        let state = self.saved_waiting(&progress);
        self.waiting = progress.into_function_call();
        (Report::Saved, state)
    }

    fn look_up(&mut self, lookup: ReplNameLookup) -> Step {
        let name = lookup.name.clone();
        let is_ours = lookup.object_id().is_none() && self.functions.contains(&name);
        let found = is_ours.then_some(MontyObject::Function { name, docstring: None });
        self.run(|print| lookup.resume(NameLookupResult::from(found), print))
    }

    /// Ends the program: what it wants is not there, and no handler of its own may hide that.
    fn refuse(&mut self, call: ReplOsCall) -> Step {
        self.stopped = Some(Kind::RefusedOsCall);
        let message = format!("{} is not available to programs", call.function_call.name());
        self.run(|print| call.abort(raised(ExcType::PermissionError, message), print))
    }

    fn refuse_to_await(&mut self, futures: ReplResolveFutures) -> Step {
        self.stopped = Some(Kind::Unsupported);
        let error = raised(ExcType::RuntimeError, "host functions cannot be awaited".into());
        self.run(|print| futures.abort(error, print))
    }

    fn ended(&mut self, repl: MontyRepl, object: &MontyObject) -> Reported {
        let (value, cut_value) = self.shown(object);
        let session = self.saved(SessionRef::Idle(&repl));
        self.idle = Some(repl);
        (Report::Ended { value, cut_value, printed: self.print.take() }, session)
    }

    /// The value of a program, for its reader; or how large it is.
    fn shown(&self, object: &MontyObject) -> (Value, Option<u64>) {
        let most = self.limits.message_bytes;
        let size = object.deep_host_size() as u64;
        // In memory a value is larger than written, but not by more than this.
        if size / 100 > most {
            return (Value::Null, Some(size));
        }
        let value = value::to_json(object).unwrap_or_else(|_| Value::String(value::shown(object)));
        match serde_json::to_vec(&value).map_or(0, |it| it.len()) as u64 {
            bytes if bytes > most => (Value::Null, Some(bytes)),
            _ => (value, None),
        }
    }

    fn failed(&mut self, failed: ReplStartError) -> Reported {
        let ReplStartError { repl, error } = failed;
        let kind = failing::kind(&error, self.stopped, repl.tracker());
        let error = self.program.as_written(error);
        // What a program left that takes up the memory would end the next one as well.
        let kept = kind != Kind::Memory || !self.gauge.exceeds(self.limits.memory_bytes / 2);
        let message = failing::message(&error);
        let report = Report::Failed(Failing {
            kind,
            hint: habits::while_running(&message).filter(|_| self.stopped.is_none()),
            message,
            line: failing::line(&error),
            traceback: failing::traceback(&error),
            printed: self.print.take(),
            kept,
            begun: true,
        });
        let session = if kept { self.saved(SessionRef::Idle(&repl)) } else { Vec::new() };
        self.idle = Some(repl).filter(|_| kept);
        (report, session)
    }

    /// The state as bytes; none if it is not wanted or too long. It is measured before it is written: writing a long
    /// one could take more memory than there is.
    fn saved(&self, state: SessionRef<'_>) -> Vec<u8> {
        self.saved_beside(state, 0)
    }

    /// The same for a program that waits, with its text behind it.
    fn saved_waiting(&self, progress: &ReplProgress) -> Vec<u8> {
        let text = serde_json::to_vec(&self.program).unwrap_or_default();
        let mut saved = self.saved_beside(SessionRef::Suspended(progress), text.len() + LENGTH);
        if !saved.is_empty() {
            saved.extend(&text);
            saved.extend((text.len() as u64).to_le_bytes());
        }
        saved
    }

    fn saved_beside(&self, state: SessionRef<'_>, beside: usize) -> Vec<u8> {
        let length = || postcard::serialize_with_flavor(&state, postcard::ser_flavors::Size::default());
        // The header and the name around it.
        let most = self.limits.state_bytes.saturating_sub(64 + beside as u64);
        if !self.save || length().map_or(true, |length| length as u64 > most) {
            return Vec::new();
        }
        monty::dump("program", None, state).unwrap_or_default()
    }
}

fn unusable(cause: &str) -> Reported {
    (Report::Unusable { cause: cause.to_string() }, Vec::new())
}

fn load_idle(bytes: &[u8]) -> Result<MontyRepl, String> {
    match Dump::load(bytes).map_err(|error| error.to_string())?.state {
        Session::Idle(repl) => Ok(*repl),
        _ => Err("it is a program that waits, not the variables of one".into()),
    }
}

/// The program that waits, and its text.
fn load_waiting(bytes: &[u8]) -> Result<(ReplFunctionCall, habits::Ready), String> {
    let other = || "it is no program that waits for an answer".to_string();
    let (bytes, length) = bytes.split_last_chunk::<LENGTH>().ok_or_else(other)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| other())?;
    let (bytes, text) = bytes.split_at_checked(bytes.len().wrapping_sub(length)).ok_or_else(other)?;
    let program = serde_json::from_slice(text).map_err(|_| other())?;
    match Dump::load(bytes).map_err(|error| error.to_string())?.state {
        Session::Suspended(progress) => Ok((progress.into_function_call().ok_or_else(other)?, program)),
        _ => Err(other()),
    }
}

fn raised(exception: ExcType, message: String) -> MontyException {
    MontyException::new(exception, Some(message))
}

fn result(answer: Answer) -> ExtFunctionResult {
    match answer {
        Answer::Value(it) => ExtFunctionResult::Return(value::from_json(it)),
        Answer::Raise { exception, message } => ExtFunctionResult::Error(raised(python(exception), message)),
    }
}

fn python(exception: Exception) -> ExcType {
    match exception {
        Exception::ValueError => ExcType::ValueError,
        Exception::TypeError => ExcType::TypeError,
        Exception::KeyError => ExcType::KeyError,
        Exception::IndexError => ExcType::IndexError,
        Exception::TimeoutError => ExcType::TimeoutError,
        Exception::PermissionError => ExcType::PermissionError,
        Exception::RuntimeError => ExcType::RuntimeError,
    }
}
