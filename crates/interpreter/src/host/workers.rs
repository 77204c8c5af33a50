//! Starts workers. Each is a process of its own, with an empty environment, that dies with the host.

use super::interpreter::Interpreter;
use super::link::{Ending, Link};
use crate::error::Error;
use crate::frame::Bounds;
use crate::limits::Limits;
use crate::protocol::{Report, Request, VERSION};
use crate::sandbox::Sandbox;
use convoke_process::{Launcher, OnDrop};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a worker may take to confine itself. It takes milliseconds; a machine that is out of breath may need more.
const GREETING: Duration = Duration::from_secs(30);

/// How a worker is started: the program must do nothing but call [`crate::worker::serve`].
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// Starts workers.
pub struct Workers {
    launcher: Launcher,
    command: WorkerCommand,
    allow_unsandboxed: bool,
}

impl Workers {
    /// Workers that are started like this, and that run nothing where they cannot be confined.
    pub fn new(command: WorkerCommand) -> Workers {
        Workers { launcher: Launcher::new("interpreter", OnDrop::Kill), command, allow_unsandboxed: false }
    }

    /// The same, but they run programs unconfined if they must. Only for programs that are trusted.
    pub fn allow_unsandboxed(self) -> Workers {
        Workers { allow_unsandboxed: true, ..self }
    }

    /// Starts a worker and sees it confined.
    pub async fn start(&self, limits: Limits) -> Result<Interpreter, Error> {
        let (group, pipes) = self.launcher.start(self.command()).await.map_err(Error::Start)?;
        let mut link = Link::new(group, pipes).map_err(Error::Start)?;
        let hello = Request::Hello {
            version: VERSION,
            limits: limits.clone(),
            allow_unsandboxed: self.allow_unsandboxed,
        };
        let report = link.exchange(&hello, &[], Bounds::GREETING, GREETING).await;
        let sandbox = self.accepted(report.map(|(report, _)| report))?;
        Ok(Interpreter::new(link, limits, sandbox))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.command.program);
        command.args(&self.command.args).env_clear().current_dir("/").stdin(Stdio::piped());
        command
    }

    /// What the worker enforced, if that is enough.
    fn accepted(&self, report: Result<Report, Ending>) -> Result<Sandbox, Error> {
        match report {
            Ok(Report::Ready { version: VERSION, sandbox }) => {
                let enough = sandbox.holds() || self.allow_unsandboxed;
                if enough { Ok(sandbox) } else { Err(Error::Sandbox(sandbox)) }
            }
            Ok(Report::Ready { version, .. }) => {
                Err(Error::Nonsense(format!("speaks version {version}, and we speak {VERSION}")))
            }
            Ok(_) => Err(Error::Nonsense("did not greet".into())),
            Err(Ending::Nonsense(what)) => Err(Error::Nonsense(what)),
            Err(Ending::Died(death, complaint)) => {
                let cause = format!("it ended before it was ready ({death}): {complaint}");
                Err(Error::Start(std::io::Error::other(cause)))
            }
        }
    }
}
