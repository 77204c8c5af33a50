//! A server that runs as a process of ours, from its start to the end of everything it started.
//!
//! It is told to end by the end of its input, as the protocol has it; then asked by a signal, then made to.

use super::settings::{Means, Resolved, Secrets};
use super::tail::Tail;
use super::trouble::{self, Who};
use crate::launch::refusal;
use convoke_failpoint::failpoint;
use convoke_model::{Failure, ScriptCall};
use convoke_process::Group;
use futures::future::join;
use std::time::Duration;
use tokio::net::unix::pipe;
use tokio_util::task::AbortOnDropHandle;

/// How long a server has to end by itself once its input has ended.
const MOMENT: Duration = Duration::from_millis(500);
/// How long it then has to tidy up.
const GRACE: Duration = Duration::from_secs(2);
/// How long the kernel may take to end what was killed.
const DYING: Duration = Duration::from_secs(1);
/// How long the last words of one that died may be on their way.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// A server's process. Dropped, it is killed.
pub struct Child {
    group: Group,
    tail: Tail,
    secrets: Secrets,
    _drain: AbortOnDropHandle<()>,
}

/// What a server writes and reads.
pub type Streams = (pipe::Receiver, pipe::Sender);

/// How a server is started.
pub struct Program<'a> {
    /// The command.
    pub command: &'a str,
    /// Its arguments.
    pub args: &'a [String],
    /// Variables that are references.
    pub env: &'a [(String, String)],
    /// Where it runs.
    pub working_dir: Option<&'a str>,
}

impl Child {
    /// Starts it.
    pub async fn start(program: &Program<'_>, means: &Means, who: &Who) -> Result<(Child, Streams), Failure> {
        let Resolved { values, secrets } = Resolved::of(program.env, &means.lookup, who)?;
        let args = Resolved::of_all(program.args, "args", &means.lookup, who)?;
        let call = ScriptCall {
            command: program.command.to_owned(),
            args: args.texts(),
            env: values,
            working_dir: program.working_dir.map(str::to_owned),
            // A server reads from us; nothing is written before it speaks the protocol.
            stdin: Some(String::new()),
            schema: None,
            key: None,
            survival: None,
            idle: None,
        };
        let started = means.launcher().start(&call).await;
        let (group, pipes) =
            started.map_err(|error| trouble::unavailable(who, &refusal(&call, &error).message))?;
        failpoint!("mcp.server.started");
        let stdin = pipes.stdin.expect("asked for above");
        let (tail, secrets) = (Tail::default(), secrets.with(args.secrets));
        let drain = AbortOnDropHandle::new(tokio::spawn(tail.clone().drain(pipes.stderr)));
        Ok((Child { group, tail, secrets, _drain: drain }, (pipes.stdout, stdin)))
    }

    /// What must not appear in messages.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Why it is not there any more, as far as that can be known, with its last words.
    pub async fn obituary(&self) -> String {
        let settled = join(self.group.leader_ends(), self.tail.ended());
        let _ = tokio::time::timeout(LAST_WORDS, settled).await;
        format!("{}{}", self.end_in_words(), self.last_words())
    }

    /// What it wrote to its standard error last, to follow a sentence.
    pub fn last_words(&self) -> String {
        match &self.tail.lines()[..] {
            [] => String::new(),
            lines => format!("; it said: {}", self.secrets.hide(&lines.join(" | "))),
        }
    }

    fn end_in_words(&self) -> String {
        match self.group.leader_status().map(|status| (status.exit_status(), status.terminating_signal())) {
            None => "it closed its output".to_owned(),
            Some((Some(code), _)) => format!("it ended with exit code {code}"),
            Some((_, Some(signal))) => format!("it was ended by signal {signal}"),
            Some(_) => "it ended".to_owned(),
        }
    }

    /// Ends it and everything it started. Its input must have ended already.
    pub async fn end(&self) {
        convoke_process::within(MOMENT, self.group.leader_ends()).await;
        if !self.group.is_gone() {
            self.group.ask_to_end(GRACE).await;
        }
        self.group.kill();
        self.group.kill_escaped();
        self.group.gone(DYING).await;
    }
}
