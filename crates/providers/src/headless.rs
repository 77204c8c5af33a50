//! Coding agents without a protocol: a command that runs once per request and prints what it does as JSON lines.
//!
//! What is asked goes into the arguments (`arguments`), or to standard input. What the lines mean is in `shapes`; here
//! they are read, shown and put together. A dropped request ends the program.

mod arguments;
mod heard;
mod shapes;

use crate::acp::{note_tools, program_of};
use crate::phases::{Phase, timed_out};
use crate::program::{End, Lines, Programs, Running, folder};
use arguments::Arguments;
use convoke_agent::{NoReply, Provider, Reply, Request, Sink};
use convoke_model::{Class, Failure, Program, ProviderSettings};
use futures::future::{BoxFuture, FutureExt};
use heard::Heard;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

/// More output than this is no answer.
const MOST_BYTES: usize = 64 << 20;

/// How long output that is still on its way is waited for once the program has ended.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// Longer than any run: between two messages only the whole request has a limit.
const UNBOUNDED: Duration = Duration::from_secs(365 * 24 * 3600);

/// A coding agent that is run once per request.
pub struct Headless {
    name: String,
    program: Program,
    programs: Arc<Programs>,
}

impl Headless {
    /// The command that the settings name.
    pub fn new(settings: &ProviderSettings, programs: Arc<Programs>) -> Result<Headless, Failure> {
        let program = program_of(settings)?;
        // What is missing is said before anything starts.
        programs.given(&settings.name, &program)?;
        Ok(Headless { name: settings.name.clone(), program, programs })
    }

    async fn ask(&self, request: &Request<'_>, sink: &dyn Sink) -> Result<Reply, Failure> {
        note_tools(request, sink);
        let given = self.programs.given(&self.name, &self.program)?;
        let Arguments { list, input } = Arguments::new(&given.args, request);
        let (given, folder) = (given.with_args(list), folder(request.working_dir));
        let limits = (request.trace, sink.starts_until());
        let mut running = self.programs.start(&self.name, &self.program, given, &folder, limits).await?;
        running.announce(sink);
        let (stdin, stdout) = running.streams();
        let mut heard = Heard::default();
        let listening = self.listen(&mut heard, stdout, request, sink);
        attend(&running, feed(stdin, input), listening).await?;
        let end = running.end().await;
        heard.finish();
        match heard.fault(end.is_success()) {
            None => Ok(heard.reply(request)),
            Some(fault) => Err(running.without_secrets(self.failure(fault, &end))),
        }
    }

    /// Takes what is printed until nothing more comes.
    async fn listen(
        &self,
        heard: &mut Heard,
        stdout: pipe::Receiver,
        request: &Request<'_>,
        sink: &dyn Sink,
    ) -> Result<(), Failure> {
        let mut lines = Lines::new(stdout);
        let mut length = 0;
        loop {
            let (phase, limit) = patience(heard, request);
            let line = match timeout(limit, lines.next()).await {
                Ok(Ok(Some(line))) => line,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => return Err(self.unreadable(&error.to_string())),
                Err(_) => return Err(timed_out(&self.agent(), phase, limit)),
            };
            length += line.len();
            if length > MOST_BYTES {
                return Err(self.unreadable(&format!("it is longer than {MOST_BYTES} bytes")));
            }
            heard.take(line, sink);
        }
    }

    fn agent(&self) -> String {
        format!("agent `{}`", self.program.command)
    }

    fn unreadable(&self, why: &str) -> Failure {
        let message = format!("{}: its output cannot be read: {why}", self.agent());
        Failure::new(Class::InvalidOutput, message).reason("unreadable")
    }

    fn failure(&self, fault: heard::Wrong, end: &End) -> Failure {
        let agent = self.agent();
        let message = match (&fault.message[..], end.is_success()) {
            ("", _) => format!("{agent} failed ({})", end.told()),
            (words, true) => format!("{agent} failed: {words}"),
            (words, false) => format!("{agent} failed: {words} ({})", end.told()),
        };
        let failure = Failure::new(fault.class, message).reason(fault.reason);
        Failure { retry_after_ms: fault.retry_after_ms, ..failure }
    }
}

impl Provider for Headless {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        Box::pin(async move {
            let total = request.timeouts.total;
            let answered = timeout(total, self.ask(request, sink)).await;
            Ok(answered.unwrap_or_else(|_| Err(timed_out(&self.agent(), Phase::Total, total)))?)
        })
    }

    /// Commands list no models; that this one is there is all that can be said without running it.
    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        let found = self.programs.find(&self.name, &self.program).map(|()| Vec::new());
        Box::pin(std::future::ready(found))
    }

    fn has_native_schema(&self, _model: &str) -> bool {
        self.program.args.iter().any(|arg| arg.contains("{schema}"))
    }
}

/// How long it may be silent: in the middle of a message not for long, but while a tool runs, or the model thinks, there is
/// nothing to say, and few commands tell which it is.
fn patience(heard: &Heard, request: &Request<'_>) -> (Phase, Duration) {
    match (heard.has_begun(), heard.is_speaking()) {
        (false, _) => (Phase::FirstToken, request.timeouts.first_token),
        (true, true) => (Phase::Idle, request.timeouts.idle),
        (true, false) => (Phase::Total, UNBOUNDED),
    }
}

/// Listens while the input is fed, until all is said. Processes that the program left behind may keep its output open; once
/// the program has ended, they are given `LAST_WORDS` and no more.
async fn attend(
    running: &Running,
    feeding: impl Future<Output = ()>,
    listening: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    let mut listening = pin!(listening);
    let (mut feeding, mut ending) = (pin!(feeding.fuse()), pin!(running.group.leader_ends().fuse()));
    loop {
        tokio::select! {
            biased;
            listened = &mut listening => return listened,
            () = &mut feeding => {}
            () = &mut ending => return timeout(LAST_WORDS, listening).await.unwrap_or(Ok(())),
        }
    }
}

async fn feed(mut stdin: pipe::Sender, input: Option<String>) {
    // A command that does not read its input to the end is free to do so.
    let _ = stdin.write_all(input.unwrap_or_default().as_bytes()).await;
}
