//! Answers from a cassette instead of asking a service: no network, no key, no waiting for a model.
//!
//! `turns` decides which call is answered when; here calls wait for that and get their replies. The driver of the run
//! passes its events on to [`Replay::observe`] as they are committed.

use super::call::{Call, Outcome, identity, normalised};
use super::file::{Called, Content};
use super::nearest::{difference, nearest};
use super::shelf::Shelf;
use super::tool_call::{CallLine, CallOutcome, asked};
use super::turns::{Attempt, Slot, Turns};
use super::{ReplayProver, ReplayTools, file};
use convoke_agent::redaction::Scrubber;
use convoke_agent::{Asker, NoReply, Provider, Providers, Reply, Request, Sink, Tool, ToolResult};
use convoke_model::{Class, Failure, JsonText, ProviderSettings, Stamped};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// Providers that answer from a cassette.
pub struct Replay {
    player: Arc<Player>,
}

/// The cassette and the calls that wait for it.
pub(super) struct Player {
    /// Where it lies, for messages.
    pub folder: String,
    calls: Vec<Call>,
    tool_calls: Vec<CallLine>,
    /// Which call has which turn.
    order: Vec<Called>,
    /// What keeps secrets out of comparisons.
    pub scrubber: Scrubber,
    /// Lists of tools.
    pub shelf: Shelf,
    stage: Mutex<Stage>,
}

#[derive(Default)]
struct Stage {
    turns: Turns,
    waiting: HashMap<usize, oneshot::Sender<()>>,
}

impl Replay {
    /// Reads the cassette in a folder.
    pub fn load(folder: &Path, scrubber: Scrubber) -> Result<Replay, Failure> {
        Ok(Replay::of(folder.display().to_string(), file::load(folder)?, scrubber))
    }

    fn of(folder: String, content: Content, scrubber: Scrubber) -> Replay {
        let Content { calls, tool_calls, lists, order } = content;
        let turns = Turns::new(order.iter().map(|called| match called {
            Called::Model(at) => slot_of_model(&calls[*at]),
            Called::Tool(at) => slot_of_tool(&tool_calls[*at]),
        }));
        let stage = Mutex::new(Stage { turns, ..Stage::default() });
        let shelf = Shelf::new(lists);
        Replay { player: Arc::new(Player { folder, calls, tool_calls, order, scrubber, shelf, stage }) }
    }

    /// What was found about work, as the same cassette plays it: no file is looked at.
    pub fn prover(&self) -> ReplayProver {
        ReplayProver::new(self.player.clone())
    }

    /// The tools as the same cassette plays them: no server is started.
    pub fn tools(&self) -> ReplayTools {
        ReplayTools::new(self.player.clone())
    }

    /// Takes note of what the run has written down; answers wait for it.
    pub fn observe(&self, events: &[Stamped]) {
        self.player.change(|stage| events.iter().for_each(|stamped| stage.turns.see(&stamped.event)));
    }
}

impl Providers for Replay {
    fn get(&self, settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        Ok(Arc::new(Played { name: settings.name.clone(), player: self.player.clone() }))
    }
}

/// One provider as the cassette plays it.
struct Played {
    name: String,
    player: Arc<Player>,
}

impl Provider for Played {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        _sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        Box::pin(async move { Ok(self.player.answer(request).await?) })
    }

    fn stand_in(&self, request: &Request<'_>) -> Option<String> {
        let of_task = |call: &&Call| call.meant.is_some() && call.task == *request.task;
        let mut calls = self.player.calls.iter().filter(of_task).peekable();
        calls.peek()?;
        let key = identity(&normalised(request, &self.player.scrubber));
        calls.find(|call| call.key() == key)?.stand_in().map(str::to_owned)
    }

    fn has_native_schema(&self, model: &str) -> bool {
        self.player.calls.iter().any(|call| call.native_schema && call.is_to(model))
    }
}

impl Player {
    async fn answer(&self, request: &Request<'_>) -> Result<Reply, Failure> {
        let asked = normalised(request, &self.scrubber);
        let asker = (request.task.clone(), request.attempt);
        match self.turn(&identity(&asked), &asker).await {
            Ok(Called::Model(at)) => self.calls[at].outcome.clone().into_reply(),
            Ok(Called::Tool(_)) => unreachable!("keys of tools begin otherwise"),
            Err(recorded) => Err(self.missing(request.step, &asked, recorded)),
        }
    }

    /// What a call of a tool gave.
    pub async fn result(
        &self,
        asker: Asker<'_>,
        tool: &Tool,
        arguments: &JsonText,
    ) -> Result<ToolResult, Failure> {
        let asked = asked(tool, arguments, &self.scrubber);
        match self.turn(&tool_key(&asked), &(asker.task.clone(), asker.attempt)).await {
            Ok(Called::Tool(at)) => self.tool_calls[at].outcome.clone().into_result(),
            Ok(Called::Model(_)) => unreachable!("keys of models begin otherwise"),
            Err(recorded) => Err(self.missing_tool(&tool.spec.name, &asked, recorded)),
        }
    }

    /// Finds the recorded call and waits for its turn; if there is none left, how often it was recorded.
    async fn turn(&self, key: &str, asker: &Attempt) -> Result<Called, usize> {
        let (sender, turn) = oneshot::channel();
        let at = self.change(|stage| {
            let at = stage.turns.ask(key, asker).ok_or_else(|| stage.turns.recorded(key))?;
            stage.waiting.insert(at, sender);
            Ok::<usize, usize>(at)
        })?;
        let place = Place { player: self, at };
        // Its sender is dropped only after it was used, or with the player, which we hold.
        turn.await.ok();
        Ok(self.order[place.at])
    }

    /// Changes which calls wait, and answers those whose turn it is now.
    fn change<T>(&self, change: impl FnOnce(&mut Stage) -> T) -> T {
        let mut stage = self.stage.lock().expect("a panic poisoned this lock");
        let result = change(&mut stage);
        while let Some(at) = stage.turns.next() {
            if let Some(sender) = stage.waiting.remove(&at) {
                // A call that stopped waiting has left the queue, or is about to.
                sender.send(()).ok();
            }
        }
        result
    }

    fn missing(&self, step: &str, asked: &serde_json::Value, recorded: usize) -> Failure {
        let folder = &self.folder;
        let why = match nearest(&self.calls, |call| (call.step == step, &call.request), asked) {
            _ if recorded > 0 => too_often(recorded),
            None => "the cassette has no calls".to_owned(),
            Some((at, call)) => {
                let difference = difference(&call.request, asked);
                format!(
                    "the nearest is call {} of step `{}`, which differs at {difference}",
                    at + 1,
                    call.step
                )
            }
        };
        not_recorded(format!("this request is not on the cassette `{folder}`: {why}"))
    }

    fn missing_tool(&self, name: &str, asked: &serde_json::Value, recorded: usize) -> Failure {
        let folder = &self.folder;
        let is_same = |line: &CallLine| ["server", "tool"].iter().all(|key| line.request[key] == asked[key]);
        let why = match nearest(&self.tool_calls, |line| (is_same(line), &line.request), asked) {
            _ if recorded > 0 => too_often(recorded),
            None => "the cassette has no calls of tools".to_owned(),
            Some((at, line)) => {
                let tool = line.request["tool"].as_str().unwrap_or_default();
                let difference = difference(&line.request, asked);
                format!(
                    "the nearest is call {} of a tool, of `{tool}`, which differs at {difference}",
                    at + 1
                )
            }
        };
        not_recorded(format!("this call of `{name}` is not on the cassette `{folder}`: {why}"))
    }
}

impl Outcome {
    fn into_reply(self) -> Result<Reply, Failure> {
        match self {
            Outcome::Reply(said) => Ok(said.into()),
            Outcome::Failure(failure) => Err(failure),
            Outcome::CutOff => Err(cut_off()),
        }
    }
}

impl CallOutcome {
    fn into_result(self) -> Result<ToolResult, Failure> {
        match self {
            CallOutcome::Result(given) => Ok(given.into()),
            CallOutcome::Failure(failure) => Err(failure),
            CallOutcome::CutOff => Err(cut_off()),
        }
    }
}

fn slot_of_model(call: &Call) -> (String, Slot) {
    let by = (call.task.clone(), call.attempt);
    (call.key(), Slot::of_model(by, call.outcome == Outcome::CutOff))
}

fn slot_of_tool(line: &CallLine) -> (String, Slot) {
    let by = line.task.clone().map(|task| (task, line.attempt));
    (tool_key(&line.request), Slot::of_tool(by, line.outcome == CallOutcome::CutOff, line.begun))
}

/// A text that no request to a model is known by.
fn tool_key(request: &serde_json::Value) -> String {
    format!("tool {}", identity(request))
}

fn too_often(recorded: usize) -> String {
    match recorded {
        1 => "it was recorded once and is asked for again".to_owned(),
        many => format!("it was recorded {many} times and is asked for once more"),
    }
}

/// The failure of something that was not recorded.
pub(super) fn not_recorded(message: String) -> Failure {
    Failure::new(Class::Fatal, message)
        .reason("not_on_cassette")
        .hint("record the run again if the change is meant")
}

/// The failure of a call whose attempt did not wait for the answer when it was recorded.
fn cut_off() -> Failure {
    let message = "the recording was cut off before this request was answered";
    Failure::new(Class::Timeout, message).reason("cut_off")
}

/// A place in the queue; a call that is dropped while it waits leaves it.
struct Place<'a> {
    player: &'a Player,
    at: usize,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.player.change(|stage| {
            stage.waiting.remove(&self.at);
            stage.turns.leave(self.at);
        });
    }
}
