//! The worker's half: a process that confines itself, then runs one program after the other.
//!
//! It trusts its first message, which comes from the process that started it, and nothing after it. It ends when its input does.

mod confine;
mod executor;
mod failing;
mod habits;
mod memory;
mod print;
mod seccomp;

use crate::frame::{self, Bounds};
use crate::limits::Limits;
use crate::protocol::{Report, Request, VERSION};
use executor::Executor;
use memory::Gauge;
use std::io;
use std::process::ExitCode;
use std::thread;

/// Room for programs that call deep and values that are nested deep; it is only used if needed.
const STACK: usize = 256 * 1024 * 1024;

/// The exit code of a worker that was refused, that failed, or whose program made the interpreter panic.
const FAILED: u8 = 70;

/// Serves programs on standard input and output until the input ends. Call it first thing in a process that has no other
/// thread and nothing else to do: descriptors are closed, and system calls taken away for good.
pub fn serve() -> ExitCode {
    match greet().and_then(|(limits, lenient)| start(limits, lenient)) {
        Ok(code) => code,
        // There is no channel left: the host sees that the worker is gone.
        Err(_) => ExitCode::from(FAILED),
    }
}

/// Hears how to be confined.
fn greet() -> io::Result<(Limits, bool)> {
    match frame::read(&mut io::stdin().lock(), Bounds::GREETING)? {
        Some((Request::Hello { version: VERSION, limits, allow_unsandboxed }, _)) => {
            Ok((limits, allow_unsandboxed))
        }
        _ => Err(io::Error::other("no greeting that we understand")),
    }
}

/// Runs programs in a thread that has room; this one only waits for it.
fn start(limits: Limits, lenient: bool) -> io::Result<ExitCode> {
    let mut sandbox = confine::before_threads();
    let gauge = Gauge::open()?;
    confine::landlock(&mut sandbox);
    let gauge = gauge.start()?;
    let programs = move || -> io::Result<ExitCode> {
        confine::after_threads(&mut sandbox, &limits, &gauge);
        let runs = sandbox.holds() || lenient;
        frame::write(&mut io::stdout().lock(), &Report::Ready { version: VERSION, sandbox }, &[])?;
        if !runs {
            return Ok(ExitCode::from(FAILED));
        }
        gauge.set_baseline();
        execute_requests(Executor::new(limits, gauge))
    };
    let thread = thread::Builder::new().name("programs".into()).stack_size(STACK).spawn(programs)?;
    thread.join().unwrap_or_else(|_| Ok(ExitCode::from(FAILED)))
}

fn execute_requests(mut executor: Executor) -> io::Result<ExitCode> {
    let bounds = executor.bounds();
    while let Some((request, attached)) = frame::read(&mut io::stdin().lock(), bounds)? {
        let (report, attachment) = executor.execute(request, attached);
        frame::write(&mut io::stdout().lock(), &report, &attachment)?;
    }
    Ok(ExitCode::SUCCESS)
}
