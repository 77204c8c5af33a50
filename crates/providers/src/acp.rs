//! Any agent that speaks the Agent Client Protocol, as a provider.
//!
//! One request is one prompt turn: the agent's program is started, told what is asked, and followed until it stops. What
//! it does to files and with tools is its own business, except for what it asks us for: files inside its folder
//! (`files`) and permissions (`permission`). Where a person decides, the program and its open question stay alive here
//! until the answer comes; where they are gone by then, the turn is begun anew and the person's decisions are applied to
//! the same permission requests. A dropped request cancels the turn and ends the program.

mod choices;
mod connection;
mod files;
mod listing;
mod live;
mod past;
mod permission;
pub(crate) mod prompt;
mod session;
mod trouble;
mod turn;

use crate::phases::{Phase, timed_out};
use crate::program::{Programs, Running, folder};
use convoke_agent::{
    Answered, Asks, Finish, Message, NoReply, Provider, Purpose, Reply, Report, Request, Sink,
};
use convoke_model::{Answer, Class, Failure, JsonText, Program, ProviderSettings, TaskId, Usage};
use futures::future::BoxFuture;
use indexmap::IndexMap;
use live::{Live, Pause};
use past::Past;
use permission::{Decision, PermissionRequest};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Programs that wait for people hold no permit, so their number has a bound of its own. Beyond it the one that has waited
/// longest is ended, and begun anew when its answer comes.
const MOST_WAITING: usize = 32;

/// An agent that speaks the Agent Client Protocol.
pub struct Acp {
    name: String,
    program: Program,
    programs: Arc<Programs>,
    /// Agents that wait for a person, the longest first.
    waiting: Mutex<IndexMap<TaskId, Live>>,
    past: Past,
}

/// What is needed to go on after a person has answered, also in another process.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    session: String,
    permission: PermissionRequest,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<Decision>,
}

/// How a turn is begun.
enum Begin {
    /// With nothing before it.
    Fresh,
    /// As the next question of a conversation: the session that knows it, and how many messages of it.
    Further(String, usize),
    /// After an interruption: the session that there was, and what people have decided in it, the newest last.
    Again(String, Vec<Decision>),
}

impl Begin {
    /// The session to go on with, where the agent can.
    fn session(&self) -> Option<&str> {
        match self {
            Begin::Fresh => None,
            Begin::Further(session, _) | Begin::Again(session, _) => Some(session),
        }
    }

    /// What the agent is told.
    fn prompt(&self, messages: &[Message], is_loaded: bool) -> String {
        match self {
            Begin::Further(_, known) if is_loaded => prompt::of(&messages[*known..]),
            Begin::Again(..) if is_loaded => prompt::again(messages),
            _ => prompt::of(messages),
        }
    }

    /// What has been decided so far, and what of it is to be applied again: all of it if everything is done again, but
    /// only the newest if the agent goes on where it waited for that.
    fn decisions(self, is_loaded: bool) -> (Vec<Decision>, Vec<Decision>) {
        let Begin::Again(_, decided) = self else { return (Vec::new(), Vec::new()) };
        let done = if is_loaded { decided.len().saturating_sub(1) } else { 0 };
        let foreseen = decided[done..].to_vec();
        (decided, foreseen)
    }
}

impl Acp {
    /// The agent that the settings name.
    pub fn new(settings: &ProviderSettings, programs: Arc<Programs>) -> Result<Acp, Failure> {
        let (name, program) = (settings.name.clone(), program_of(settings)?);
        // What is missing is said before anything starts.
        programs.given(&name, &program)?;
        Ok(Acp { name, program, programs, waiting: Mutex::default(), past: Past::default() })
    }

    async fn ask(&self, request: &Request<'_>, sink: &dyn Sink) -> Result<Reply, Failure> {
        let mut live = self.live(request, sink).await?;
        match live.follow(request, sink).await? {
            Pause::Ended(answer) => {
                let session = live.session();
                let reply = live.reply(request, answer)?;
                if request.purpose == Purpose::Answer {
                    self.past.remember(request, session, &reply);
                }
                Ok(reply)
            }
            Pause::Permission(permission) => Ok(self.park(request, live, permission)),
        }
    }

    /// The agent whose turn goes on: the one that waits for this answer, or one that has just been started.
    async fn live(&self, request: &Request<'_>, sink: &dyn Sink) -> Result<Live, Failure> {
        let parked = self.unpark(request);
        let Some(answered) = request.answered else {
            return self.begin(request, self.next(request), sink).await;
        };
        let (state, decision) = decided(answered)?;
        if let Some(mut live) = parked
            && live.answer(&state.permission, &decision, sink)
        {
            live.announce(sink);
            return Ok(live);
        }
        let decisions = state.decisions.into_iter().chain([decision]).collect();
        self.begin(request, Begin::Again(state.session, decisions), sink).await
    }

    /// How a question that answers nothing is begun.
    fn next(&self, request: &Request<'_>) -> Begin {
        let known = (request.purpose == Purpose::Answer).then(|| self.past.of(request)).flatten();
        known.map_or(Begin::Fresh, |(session, known)| Begin::Further(session, known))
    }

    async fn begin(&self, request: &Request<'_>, begin: Begin, sink: &dyn Sink) -> Result<Live, Failure> {
        note_tools(request, sink);
        let folder: PathBuf = folder(request.working_dir);
        let running = self.start(&folder, (request.trace, sink.starts_until())).await?;
        running.announce(sink);
        Live::begin(running, &self.program, folder, request, begin, sink).await
    }

    async fn start(
        &self,
        folder: &Path,
        limits: (Option<&str>, Option<Instant>),
    ) -> Result<Running, Failure> {
        let given = self.programs.given(&self.name, &self.program)?;
        self.programs.start(&self.name, &self.program, given, folder, limits).await
    }

    /// Takes the agent of the task that waits for a person. Graders have none.
    fn unpark(&self, request: &Request<'_>) -> Option<Live> {
        if request.purpose != Purpose::Answer {
            return None;
        }
        self.waiting.lock().expect("a panic poisoned this lock").shift_remove(request.task)
    }

    fn park(&self, request: &Request<'_>, live: Live, permission: PermissionRequest) -> Reply {
        let ask = permission.question(request.step);
        let (session, decisions) = (live.session(), live.decisions());
        let state = JsonText::of(&State { session, permission, decisions });
        if request.purpose == Purpose::Answer {
            let mut waiting = self.waiting.lock().expect("a panic poisoned this lock");
            waiting.insert(request.task.clone(), live);
            if waiting.len() > MOST_WAITING {
                waiting.shift_remove_index(0);
            }
        }
        let reply = Reply::said("", Finish::Stop, Usage::default(), request.model);
        Reply { asks: Some(Box::new(Asks { ask, state })), ..reply }
    }
}

impl Provider for Acp {
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
            let answered = tokio::time::timeout(total, self.ask(request, sink)).await;
            Ok(answered.unwrap_or_else(|_| Err(timed_out(&self.name, Phase::Total, total)))?)
        })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        Box::pin(async {
            let folder = folder(None);
            let running = self.start(&folder, (None, None)).await?;
            listing::models(running, &self.program, folder).await
        })
    }
}

/// Says, once a step, that a coding agent has tools of its own and gets no others.
pub fn note_tools(request: &Request<'_>, sink: &dyn Sink) {
    if !request.tools.is_empty() && (request.attempt, request.call) == (1, 1) {
        let message = format!(
            "`{}` is a coding agent with tools of its own; those of the workflow are not offered",
            request.step
        );
        sink.report(Report::Noted { code: "tools_not_offered", message });
    }
}

/// The program that settings of `acp` and `cli` must name.
pub fn program_of(settings: &ProviderSettings) -> Result<Program, Failure> {
    let named = settings.program.as_deref().filter(|program| !program.command.is_empty());
    named.cloned().ok_or_else(|| {
        let message = format!("provider {}: no program is named", settings.name);
        Failure::new(Class::Fatal, message)
            .reason("no_program")
            .hint("say which one with `command`, and its arguments with `args`")
    })
}

/// What was asked, and what the person decided.
fn decided(answered: &Answered) -> Result<(State, Decision), Failure> {
    let unusable = |why: String| {
        Failure::new(Class::Fatal, format!("provider acp: the answer cannot be used: {why}"))
            .reason("bad_answer")
    };
    let state: State =
        serde_json::from_str(answered.state.as_str()).map_err(|error| unusable(error.to_string()))?;
    let Answer::Choice { value, .. } = &answered.answer else {
        return Err(unusable("it chooses nothing".into()));
    };
    let decision =
        state.permission.decided(value).ok_or_else(|| unusable(format!("`{value}` was no option")))?;
    Ok((state, decision))
}
