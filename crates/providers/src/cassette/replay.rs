//! Answers from a cassette instead of asking anybody: no network, no key, no waiting for a model.
//!
//! Who is answered when is decided in `turns`; here calls wait for that and get their replies. Whoever drives the run
//! passes its events on to [`Replay::observe`] as they are committed.

use super::call::{Call, Outcome, identity, normalised};
use super::file::Content;
use super::nearest::{difference, nearest};
use super::shelf::Shelf;
use super::turns::{Slot, Turns};
use super::{ReplayTools, Scrubber, file};
use convoke_agent::{Provider, Providers, Reply, Request, Sink};
use convoke_model::{Class, Failure, ProviderSettings, Stamped};
use futures::future::BoxFuture;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// Providers that answer from a cassette.
pub struct Replay {
    player: Arc<Player>,
}

/// The cassette and who waits for it.
pub(super) struct Player {
    /// Where it lies, for messages.
    pub folder: String,
    calls: Vec<Call>,
    /// What keeps secrets out of comparisons.
    pub scrubber: Scrubber,
    /// Lists and calls of tools.
    pub shelf: Shelf,
    stage: Mutex<Stage>,
}

#[derive(Default)]
struct Stage {
    turns: Turns,
    waiting: HashMap<usize, oneshot::Sender<()>>,
    /// Calls of tools that nobody answered when they were recorded.
    parked: BTreeMap<u64, oneshot::Sender<()>>,
    parkings: u64,
}

impl Replay {
    /// Reads the cassette in a folder.
    pub fn load(folder: &Path, scrubber: Scrubber) -> Result<Replay, Failure> {
        Ok(Replay::of(folder.display().to_string(), file::load(folder)?, scrubber))
    }

    fn of(folder: String, content: Content, scrubber: Scrubber) -> Replay {
        let Content { calls, tools } = content;
        let slots = calls.iter().map(|call| {
            let attempt = (call.task.clone(), call.attempt);
            (identity(&call.request), Slot::new(attempt, call.outcome == Outcome::CutOff))
        });
        let stage = Mutex::new(Stage { turns: Turns::new(slots), ..Stage::default() });
        let shelf = Shelf::new(tools);
        Replay { player: Arc::new(Player { folder, calls, scrubber, shelf, stage }) }
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
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(self.player.answer(request))
    }

    fn has_native_schema(&self, model: &str) -> bool {
        self.player.calls.iter().any(|call| call.native_schema && call.request["model"] == model)
    }
}

impl Player {
    async fn answer(&self, request: &Request<'_>) -> Result<Reply, Failure> {
        let (place, turn) = self.queue(request)?;
        let place = Place { player: self, at: place };
        // Its sender is dropped only after it was used, or with the player, which we hold.
        turn.await.ok();
        match &self.calls[place.at].outcome {
            Outcome::Reply(said) => Ok(said.clone().into()),
            Outcome::Failure(failure) => Err(failure.clone()),
            Outcome::CutOff => Err(cut_off()),
        }
    }

    /// Finds the recorded call and waits for its turn.
    fn queue(&self, request: &Request<'_>) -> Result<(usize, oneshot::Receiver<()>), Failure> {
        let asked = normalised(request, &self.scrubber);
        let key = identity(&asked);
        let asker = (request.task.clone(), request.attempt);
        let (sender, receiver) = oneshot::channel();
        let found = self.change(|stage| {
            let at = stage.turns.ask(&key, &asker).ok_or_else(|| stage.turns.recorded(&key))?;
            stage.waiting.insert(at, sender);
            Ok(at)
        });
        match found {
            Ok(at) => Ok((at, receiver)),
            Err(recorded) => Err(self.missing(request.step, &asked, recorded)),
        }
    }

    /// Changes who waits, and answers whoever's turn it is now.
    fn change<T>(&self, change: impl FnOnce(&mut Stage) -> T) -> T {
        let mut stage = self.stage.lock().expect("nobody panics while holding it");
        let result = change(&mut stage);
        while let Some(at) = stage.turns.next() {
            if let Some(sender) = stage.waiting.remove(&at) {
                // Whoever stopped waiting has left the queue, or is about to.
                sender.send(()).ok();
            }
        }
        if stage.turns.only_parked()
            && let Some((_, sender)) = stage.parked.pop_first()
        {
            stage.turns.unpark();
            sender.send(()).ok();
        }
        result
    }

    /// Waits until nothing else can happen; a call that was cut off is cut off again before that, as a rule.
    pub async fn park(&self) {
        let (sender, receiver) = oneshot::channel();
        let at = self.change(|stage| {
            stage.parkings += 1;
            stage.parked.insert(stage.parkings, sender);
            stage.turns.park();
            stage.parkings
        });
        let _leaving = Parked { player: self, at };
        receiver.await.ok();
    }

    fn missing(&self, step: &str, asked: &serde_json::Value, recorded: usize) -> Failure {
        let folder = &self.folder;
        let why = match nearest(&self.calls, |call| (call.step == step, &call.request), asked) {
            _ if recorded == 1 => "it was recorded once and is asked for again".to_owned(),
            _ if recorded > 1 => format!("it was recorded {recorded} times and is asked for once more"),
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
}

/// The failure of something that was not recorded.
pub(super) fn not_recorded(message: String) -> Failure {
    Failure::new(Class::Fatal, message)
        .reason("not_on_cassette")
        .hint("record the run again if the change is meant")
}

/// The failure of something whose answer nobody waited for when it was recorded.
pub(super) fn cut_off() -> Failure {
    let message = "the recording was cut off before this request was answered";
    Failure::new(Class::Timeout, message).reason("cut_off")
}

/// A place in the queue; whoever is dropped while waiting leaves it.
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

/// A call of a tool that waits; dropped, it does so no longer.
struct Parked<'a> {
    player: &'a Player,
    at: u64,
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.player.change(|stage| {
            if stage.parked.remove(&self.at).is_some() {
                stage.turns.unpark();
            }
        });
    }
}
