//! An agent at work: its program, the connection to it, its session and the turn that is under way.
//!
//! Dropped in the middle of a turn, it cancels the turn and ends the program.

use super::Begin;
use super::connection::{self, Connection, Files, Happening};
use super::files::Folder;
use super::permission::{Decision, PermissionRequest};
use super::session::{self, Session};
use super::trouble::Trouble;
use super::turn::Telling;
use crate::phases::Phase;
use crate::program::Running;
use agent_client_protocol::v1::schema::{
    AuthMethod, CancelNotification, ContentBlock, PromptRequest, PromptResponse, RequestPermissionOutcome,
    RequestPermissionResponse, SessionId, StopReason, TextContent,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Error, UntypedMessage};
use convoke_agent::{Finish, Reply, Report, Request, Sink, tokens_in};
use convoke_model::excerpt;
use convoke_model::{Class, Contract, Failure, Permissions, Program, Usage};
use futures::future::BoxFuture;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an agent whose turn is cancelled may take to say so before its program is ended.
const FAREWELL: Duration = Duration::from_millis(50);

/// A message this long is no answer.
const MOST_BYTES: usize = 64 << 20;

/// Longer than any turn: while a tool runs only the whole request has a limit.
const UNBOUNDED: Duration = Duration::from_secs(365 * 24 * 3600);

type Answer = BoxFuture<'static, Result<Value, Error>>;

/// An agent at work.
pub struct Live {
    /// The agent's name in messages.
    name: String,
    permissions: Permissions,
    parts: Option<Parts>,
    session: SessionId,
    ways_in: Vec<AuthMethod>,
    telling: Telling,
    /// What the agent waits for.
    pending: Option<(PermissionRequest, Responder<RequestPermissionResponse>)>,
    /// What people have decided in this turn.
    decided: Vec<Decision>,
    /// Decisions of an earlier process that are to be applied when the agent asks again.
    foreseen: Vec<Decision>,
    /// What was denied last.
    denied: Option<String>,
}

/// What must be there until the last word is said.
struct Parts {
    connection: Connection,
    running: Running,
    /// The answer to the prompt; absent once it has come.
    answer: Option<Answer>,
}

/// Why following stops.
pub enum Pause {
    /// The turn has ended.
    Ended(Value),
    /// A person must decide.
    Permission(PermissionRequest),
}

/// What a contract may call reading and changing files, which agents have us do.
const READING: [&str; 3] = ["read", "read_file", "read_text_file"];
const WRITING: [&str; 4] = ["edit", "write", "write_file", "write_text_file"];

fn files_for(program: &Program, folder: &Path, request: &Request<'_>) -> Files {
    let has_room = |words: &[&str]| request.contract.is_none_or(|contract| contract.admits_words(words));
    let writable = program.permissions != Permissions::Deny && has_room(&WRITING);
    Files { folder: Folder::new(folder), readable: has_room(&READING), writable, mask: request.mask.clone() }
}

impl Live {
    /// Begins a turn with a program that has just been started.
    pub async fn begin(
        mut running: Running,
        program: &Program,
        folder: PathBuf,
        request: &Request<'_>,
        begin: Begin,
        sink: &dyn Sink,
    ) -> Result<Live, Failure> {
        let name = format!("agent `{}`", program.command);
        let files = files_for(program, &folder, request);
        let mut ways_in = Vec::new();
        let streams = running.streams();
        let ready = async {
            let mut connection = connection::open(streams, files.clone()).await?;
            let greeting = session::greet(&connection.to, &files, program, request.timeouts.connect).await?;
            ways_in.clone_from(&greeting.ways_in);
            let opening = |to| session::open(to, &greeting, folder, &begin, request, sink);
            let session = unheard(&mut connection, opening).await?;
            Ok((connection, session))
        };
        let (connection, session) = match ready.await {
            Ok(ready) => ready,
            Err(trouble) => return Err(Trouble::failure(trouble, &name, &mut running, &ways_in).await),
        };
        let answer = Some(prompted(&connection, &session, begin.prompt(request.messages, session.is_loaded)));
        let (decided, foreseen) = begin.decisions(session.is_loaded);
        Ok(Live {
            name,
            permissions: program.permissions,
            parts: Some(Parts { connection, running, answer }),
            session: session.id,
            ways_in,
            telling: Telling::default(),
            pending: None,
            decided,
            foreseen,
            denied: None,
        })
    }

    /// Its session's id.
    pub fn session(&self) -> String {
        self.session.to_string()
    }

    /// What people have decided in this turn.
    pub fn decisions(&self) -> Vec<Decision> {
        self.decided.clone()
    }

    /// Tells that its program runs.
    pub fn announce(&self, sink: &dyn Sink) {
        if let Some(parts) = &self.parts {
            parts.running.announce(sink);
        }
    }

    /// Answers the request that it waits for; `false` if it waits for another one, or is gone.
    pub fn answer(&mut self, permission: &PermissionRequest, decision: &Decision, sink: &dyn Sink) -> bool {
        let is_there = self.parts.as_ref().is_some_and(|parts| !parts.connection.to.is_incoming_closed());
        match self.pending.take() {
            Some((open, responder)) if is_there && open == *permission => {
                self.decided.push(decision.clone());
                let outcome = open.outcome(decision);
                self.respond(&open, responder, outcome, sink);
                true
            }
            _ => false,
        }
    }

    /// Follows the turn until it ends or a person must decide.
    pub async fn follow(&mut self, request: &Request<'_>, sink: &dyn Sink) -> Result<Pause, Failure> {
        loop {
            let next = match self.next(request).await {
                Ok(next) => next,
                Err(trouble) => return Err(self.failure(trouble).await),
            };
            match next {
                Next::Happened(happening) => {
                    if let Some(permission) = self.happened(happening, request.contract, sink) {
                        return Ok(Pause::Permission(permission));
                    }
                    self.is_bounded()?;
                }
                Next::Answered(answer) => {
                    self.hear_the_rest(sink);
                    return Ok(Pause::Ended(answer));
                }
            }
        }
    }

    async fn next(&mut self, request: &Request<'_>) -> Result<Next, Trouble> {
        let (phase, limit) = self.patience(request);
        let parts = self.parts.as_mut().expect("taken only when it is dropped");
        let answer =
            parts.answer.as_mut().expect("a turn is followed until its answer has come, and no longer");
        // What was told before the answer is in the queue before the answer is there.
        let next = tokio::select! {
            biased;
            Some(happening) = parts.connection.happenings.recv() => return Ok(Next::Happened(happening)),
            answered = answer => answered,
            () = tokio::time::sleep(limit) => return Err(Trouble::TimedOut(phase, limit)),
        };
        parts.answer = None;
        Ok(Next::Answered(next?))
    }

    /// How long it may be silent: in the middle of a message not for long, but while a tool runs, or the model thinks,
    /// there is nothing to say.
    fn patience(&self, request: &Request<'_>) -> (Phase, Duration) {
        match (self.telling.is_at_work(), self.telling.is_speaking()) {
            (true, _) => (Phase::Total, UNBOUNDED),
            (false, true) => (Phase::Idle, request.timeouts.idle),
            (false, false) => (Phase::FirstToken, request.timeouts.first_token),
        }
    }

    fn happened(
        &mut self,
        happening: Happening,
        contract: Option<&Contract>,
        sink: &dyn Sink,
    ) -> Option<PermissionRequest> {
        let (request, responder) = match happening {
            Happening::Permission(asked) => *asked,
            Happening::Update(update) => {
                self.telling.take(*update, sink);
                return None;
            }
        };
        let permission = PermissionRequest::new(request, &self.telling.tools);
        match permission.settled(self.permissions, contract).or_else(|| self.foresaw(&permission)) {
            Some(outcome) => {
                self.respond(&permission, responder, outcome, sink);
                None
            }
            None => {
                self.pending = Some((permission.clone(), responder));
                Some(permission)
            }
        }
    }

    fn foresaw(&mut self, permission: &PermissionRequest) -> Option<RequestPermissionOutcome> {
        let at = self.foreseen.iter().position(|decision| permission.is_like(decision))?;
        Some(permission.outcome(&self.foreseen.remove(at)))
    }

    fn respond(
        &mut self,
        permission: &PermissionRequest,
        responder: Responder<RequestPermissionResponse>,
        outcome: RequestPermissionOutcome,
        sink: &dyn Sink,
    ) {
        if permission.is_denied_by(&outcome) {
            let message = format!("{} may not {}", self.name, permission.in_words());
            sink.report(Report::Noted { code: "permission_denied", message });
            self.denied = Some(permission.in_words());
        }
        // An agent that is gone is noticed where its answer is waited for.
        let _ = responder.respond(RequestPermissionResponse::new(outcome));
    }

    fn hear_the_rest(&mut self, sink: &dyn Sink) {
        let Some(parts) = &mut self.parts else { return };
        while let Ok(happening) = parts.connection.happenings.try_recv() {
            if let Happening::Update(update) = happening {
                self.telling.take(*update, sink);
            }
        }
    }

    fn is_bounded(&self) -> Result<(), Failure> {
        if self.telling.message().len() <= MOST_BYTES {
            return Ok(());
        }
        let message = format!("{}: its message is longer than {MOST_BYTES} bytes", self.name);
        Err(Failure::new(Class::InvalidOutput, message).reason("too_long"))
    }

    async fn failure(&mut self, trouble: Trouble) -> Failure {
        let parts = self.parts.as_mut().expect("taken only when it is dropped");
        trouble.failure(&self.name, &mut parts.running, &self.ways_in).await
    }

    /// The reply that a turn's answer makes.
    pub fn reply(self, request: &Request<'_>, answer: Value) -> Result<Reply, Failure> {
        let usage = self.usage(request, &answer);
        let ended: PromptResponse = serde_json::from_value(answer).map_err(|error| {
            let message = format!("{}: the end of its turn cannot be read: {error}", self.name);
            Failure::new(Class::Transient, message).reason("unreadable")
        })?;
        let finish = self.finish(ended.stop_reason)?;
        Ok(Reply::said(self.telling.message(), finish, usage, request.model))
    }

    fn finish(&self, reason: StopReason) -> Result<Finish, Failure> {
        let failed = |class, reason: &str, why: &str| {
            Err(Failure::new(class, format!("{} {why}", self.name)).reason(reason))
        };
        match reason {
            StopReason::EndTurn => Ok(Finish::Stop),
            StopReason::MaxTokens => Ok(Finish::Length),
            StopReason::Refusal => Ok(Finish::Refusal),
            StopReason::MaxTurnRequests => failed(
                Class::Budget,
                "max_turn_requests",
                "used all the requests that it allows itself in a turn",
            ),
            StopReason::Cancelled if self.denied.is_some() => failed(
                Class::Permission,
                "permission_denied",
                &format!("stopped, because it may not {}", self.denied.as_deref().unwrap_or_default()),
            ),
            _ => failed(Class::Cancelled, "cancelled", "says that its turn was cancelled"),
        }
    }

    fn usage(&self, request: &Request<'_>, answer: &Value) -> Usage {
        let stated = answer.get("usage");
        let tokens = |key: &str| stated.and_then(|usage| usage.get(key)).and_then(Value::as_u64);
        let cost_micros = self.telling.cost_micros;
        match tokens("inputTokens").zip(tokens("outputTokens")) {
            Some((input_tokens, output_tokens)) => Usage {
                calls: 1,
                input_tokens,
                output_tokens,
                cache_read_tokens: tokens("cachedReadTokens").unwrap_or(0),
                cache_write_tokens: tokens("cachedWriteTokens").unwrap_or(0),
                cost_micros,
                unpriced_calls: 0,
                estimated: false,
            },
            None => Usage {
                calls: 1,
                input_tokens: tokens_in(request.messages),
                output_tokens: excerpt::tokens(self.telling.message()),
                cost_micros,
                estimated: true,
                ..Usage::default()
            },
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let Some(mut parts) = self.parts.take() else { return };
        let Some(answer) = parts.answer.take() else { return };
        let _ = parts.connection.to.send_notification(CancelNotification::new(self.session.clone()));
        if let Some((_, responder)) = self.pending.take() {
            let _ = responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled));
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = tokio::time::timeout(FAREWELL, answer).await;
                drop(parts);
            });
        }
    }
}

/// What comes next of a turn.
enum Next {
    Happened(Happening),
    Answered(Value),
}

/// Does something during which the agent may tell what was before. That was heard already and is dropped.
pub async fn unheard<T, F: Future<Output = Result<T, Trouble>>>(
    connection: &mut Connection,
    work: impl FnOnce(ConnectionTo<Agent>) -> F,
) -> Result<T, Trouble> {
    let mut work = std::pin::pin!(work(connection.to.clone()));
    let done = loop {
        tokio::select! {
            biased;
            done = &mut work => break done,
            Some(_) = connection.happenings.recv() => {}
        }
    };
    while connection.happenings.try_recv().is_ok() {}
    done
}

/// Sends the prompt. The response is taken as it is, because what it says about tokens is not yet in the protocol.
fn prompted(connection: &Connection, session: &Session, text: String) -> Answer {
    let prompt = PromptRequest::new(session.id.clone(), vec![ContentBlock::Text(TextContent::new(text))]);
    let message = UntypedMessage::new("session/prompt", prompt).expect("a prompt is JSON");
    Box::pin(connection.to.send_request(message).block_task())
}
