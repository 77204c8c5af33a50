//! Starts the process that a call asks for, or says why that cannot be.
//!
//! What holds for every process, whatever it was started for, is `convoke_process`'s.

use crate::environment::Environment;
use convoke_agent::{Report, Sink};
use convoke_model::{Class, Failure, ScriptCall, reason};
use convoke_process::{Group, NO_ROOM_HINT, OnDrop, Pipes, Surviving, is_shortage};
use convoke_sandbox::Missing;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use tokio_util::sync::CancellationToken;

/// Starts processes that see the same environment. Dropped early, they are killed.
pub struct Launcher {
    environment: Environment,
    processes: convoke_process::Launcher,
}

impl Launcher {
    /// Processes see this environment.
    pub fn new(environment: Environment) -> Launcher {
        let processes = convoke_process::Launcher::new("commands", OnDrop::Kill);
        let processes = match environment.ground() {
            Some(ground) => processes.on(ground.clone()),
            None => processes,
        };
        Launcher { environment, processes }
    }

    /// Starts the process that a call asks for.
    pub async fn start(&self, call: &ScriptCall) -> io::Result<(Group, Pipes)> {
        self.processes.start(command(call, &self.environment)).await
    }

    /// The same, until it is cancelled; `None` if it was not started, and never will be. A wait for room is shown.
    pub async fn start_unless(
        &self,
        call: &ScriptCall,
        cancel: &CancellationToken,
        sink: &dyn Sink,
    ) -> io::Result<Option<(Group, Pipes)>> {
        let waits = |error: &io::Error| {
            sink.report(Report::Progress { text: format!("waits for room to start: {error}") });
        };
        let (command, until) = (command(call, &self.environment), sink.starts_until());
        self.processes.start_unless(command, until, cancel.cancelled(), waits).await
    }
}

impl Launcher {
    /// Starts a process that outlives the engine, until it is cancelled; `None` if it was not started, and never will be.
    pub async fn start_surviving(
        &self,
        call: &ScriptCall,
        surviving: Surviving<'_>,
        cancel: &CancellationToken,
        sink: &dyn Sink,
    ) -> io::Result<Option<Group>> {
        let waits = |error: &io::Error| {
            sink.report(Report::Progress { text: format!("waits for room to start: {error}") });
        };
        let command = command(call, &self.environment);
        self.processes.start_surviving(command, surviving, cancel.cancelled(), waits).await
    }
}

/// What a command that may be repeated hands on to those it works with, so that they notice a repetition.
pub const IDEMPOTENCY_KEY: &str = "CONVOKE_IDEMPOTENCY_KEY";

fn command(call: &ScriptCall, environment: &Environment) -> Command {
    let mut command = Command::new(&call.command);
    command.args(&call.args).env_clear().envs(environment.for_call(call));
    if let Some(folder) = &call.working_dir {
        command.current_dir(folder);
    }
    if let Some(key) = &call.key {
        command.env(IDEMPOTENCY_KEY, &**key);
    }
    command.stdin(if call.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    command
}

/// What to do where a sandbox cannot be had.
const NO_SANDBOX_HINT: &str =
    "`convoke doctor` says what the machine lacks; `--unsafe-no-sandbox` runs commands without one";

/// Why a process could not be started, said so that its author can act.
pub fn refusal(call: &ScriptCall, error: &io::Error) -> Failure {
    let command = &call.command;
    let folder = call.working_dir.as_deref();
    let place = folder.map_or(String::new(), |folder| format!(" in `{folder}`"));
    if is_shortage(error) {
        let message = format!("no room to start command `{command}`: {error}");
        return Failure::new(Class::Capacity, message).reason(reason::NO_ROOM).hint(NO_ROOM_HINT);
    }
    if error.kind() == io::ErrorKind::TimedOut {
        let message = "the process was away for longer than its lease lasts; nothing was started";
        return Failure::new(Class::Cancelled, message).reason(reason::FENCED);
    }
    if let Some(missing) = error.get_ref().and_then(|inner| inner.downcast_ref::<Missing>()) {
        let message = format!("command `{command}` was not started: {missing}");
        return Failure::new(Class::Permission, message).reason("no_sandbox").hint(NO_SANDBOX_HINT);
    }
    let (reason, what) = match error.kind() {
        _ if let Some(folder) = folder.filter(|folder| !Path::new(folder).is_dir()) => {
            ("bad_working_dir", format!("command `{command}` cannot start: there is no folder `{folder}`"))
        }
        io::ErrorKind::NotFound => ("not_found", format!("command `{command}` was not found{place}")),
        io::ErrorKind::PermissionDenied => {
            ("not_executable", format!("command `{command}` is not executable{place}"))
        }
        _ => ("cannot_start", format!("command `{command}` cannot start{place}: {error}")),
    };
    Failure::new(Class::Fatal, what).reason(reason)
}
