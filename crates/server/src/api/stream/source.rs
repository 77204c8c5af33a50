//! What is new to one client, put together when it can take it.

use super::message;
use super::place::Place;
use super::topic::Topic;
use crate::api::{App, at, capacity};
use crate::following::{Follower, Gone, Seen, waiting};
use crate::shapes::{CapacityBody, Heard, RunHead, RunRowBody, TaskRowBody};
use convoke_model::{RunId, TaskId};
use convoke_view::Row;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Rows of one message.
const ROWS: usize = 500;

/// A client to which more rows than these are new is told to read the whole again.
const TOO_MANY: usize = 5_000;

/// Events of one piece of an answer.
const EVENTS: usize = 200;

/// Between two messages about what tasks of a run do.
const DOING: Duration = Duration::from_secs(1);

/// Between two looks at what processes share.
pub(super) const CAPACITY: Duration = Duration::from_secs(1);

/// What one client is told, and how far it has come.
pub(super) struct Source {
    app: Arc<App>,
    place: Place,
    boot: u64,
    /// Topics that were told of, so that one that is new gets a snapshot.
    told: HashSet<Topic>,
    followers: HashMap<RunId, Listening>,
    capacity: Option<(Instant, CapacityBody)>,
    /// Runs that cannot be opened are told of once.
    refused: HashSet<Topic>,
    /// What was told last of what a task says.
    said: HashMap<Topic, u64>,
    board: Option<BoardListening>,
}

/// A run that this client listens to.
struct Listening {
    follower: Arc<Follower>,
    /// The version that was sent last.
    version: u64,
    wants_events: bool,
    /// What it was told that tasks do: no event says that.
    doing: HashMap<TaskId, (u64, Option<String>)>,
    doing_at: Option<Instant>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        if self.wants_events {
            self.follower.listeners.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A client that wants the list of runs.
struct BoardListening(Arc<App>);

impl BoardListening {
    fn new(app: &Arc<App>) -> BoardListening {
        app.hub.board.listeners.fetch_add(1, Ordering::Relaxed);
        BoardListening(app.clone())
    }
}

impl Drop for BoardListening {
    fn drop(&mut self) {
        self.0.hub.board.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Source {
    /// For a client that comes from this place.
    pub fn new(app: Arc<App>, last: &str) -> Source {
        let boot = app.hub.boot;
        let place = Place::read(last, boot);
        Source {
            app,
            place,
            boot,
            told: HashSet::new(),
            followers: HashMap::new(),
            capacity: None,
            refused: HashSet::new(),
            said: HashMap::new(),
            board: None,
        }
    }

    /// Is told whenever something is new to anybody.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.app.hub.changes()
    }

    /// What is new in these topics; empty if nothing is.
    pub async fn collect(&mut self, topics: &[Topic]) -> String {
        self.let_go(topics);
        let mut text = String::new();
        for topic in topics {
            match topic {
                Topic::Runs => text.push_str(&self.runs().await),
                Topic::Inbox => text.push_str(&self.inbox().await),
                Topic::Capacity => text.push_str(&self.shared().await),
                Topic::Run(run) => text.push_str(&self.run(topic, run).await),
                Topic::Events(run) => text.push_str(&self.events(topic, run).await),
                Topic::Task(run, task) => text.push_str(&self.said(topic, run, task).await),
            }
        }
        text
    }

    /// What is no longer wanted is forgotten.
    fn let_go(&mut self, topics: &[Topic]) {
        let wanted: HashSet<&Topic> = topics.iter().collect();
        self.told.retain(|topic| wanted.contains(topic));
        self.refused.retain(|topic| wanted.contains(topic));
        let of_run = |run: &RunId| {
            let is_task = |topic: &Topic| matches!(topic, Topic::Task(of, _) if of == run);
            wanted.contains(&Topic::Run(run.clone()))
                || wanted.contains(&Topic::Events(run.clone()))
                || wanted.iter().any(|topic| is_task(topic))
        };
        self.said.retain(|topic, _| wanted.contains(topic));
        self.followers.retain(|run, _| of_run(run));
        self.place.rows.retain(|run, _| wanted.contains(&Topic::Run(run.clone())));
        self.place.events.retain(|run, _| wanted.contains(&Topic::Events(run.clone())));
        if !wanted.contains(&Topic::Runs) {
            self.place.board = None;
        }
        if !wanted.contains(&Topic::Inbox) {
            self.place.inbox = None;
        }
        match wanted.contains(&Topic::Runs) || wanted.contains(&Topic::Inbox) {
            true if self.board.is_none() => self.board = Some(BoardListening::new(&self.app)),
            true => {}
            false => self.board = None,
        }
    }

    fn say(&self, event: &str, data: &serde_json::Value) -> String {
        message(event, Some(&self.place.text(self.boot)), &data.to_string())
    }

    /// A first look is made for a client that has seen nothing yet.
    async fn first_look(&self) {
        let hub = self.app.hub.clone();
        waiting(move || {
            hub.board.look();
            Ok(())
        })
        .await
        .ok();
    }

    async fn runs(&mut self) -> String {
        let is_new = self.told.insert(Topic::Runs);
        if is_new {
            self.first_look().await;
        }
        let view = self.app.hub.board.view();
        let since = self.place.board.filter(|look| *look <= view.version);
        if since == Some(view.version) {
            return String::new();
        }
        self.place.board = Some(view.version);
        let new = view.runs.iter().filter(|listed| since.is_none_or(|look| listed.changed > look));
        let rows: Vec<RunRowBody> = new
            .map(|listed| RunRowBody::listed(listed).with_problem(self.app.hub.problem_of(&listed.row.id.0)))
            .collect();
        match since {
            None => self.say("snapshot", &json!({ "topic": "runs", "rows": rows, "problem": view.problem })),
            Some(look) => {
                let gone = view.gone.iter().filter(|(at, _)| *at > look);
                let gone: Vec<&str> = gone
                    .filter_map(|(_, gone)| match gone {
                        Gone::Run(run) => Some(&*run.0),
                        Gone::Question(..) => None,
                    })
                    .collect();
                match rows.is_empty() && gone.is_empty() {
                    true => String::new(),
                    false => self.say("runs", &json!({ "rows": rows, "gone": gone })),
                }
            }
        }
    }

    async fn inbox(&mut self) -> String {
        let is_new = self.told.insert(Topic::Inbox);
        if is_new {
            self.first_look().await;
        }
        let view = self.app.hub.board.view();
        let since = self.place.inbox.filter(|look| *look <= view.version);
        if since == Some(view.version) {
            return String::new();
        }
        self.place.inbox = Some(view.version);
        let new = view.questions.iter().filter(|opened| since.is_none_or(|look| opened.changed > look));
        let questions: Vec<_> = new.map(|opened| &*opened.question).collect();
        match since {
            None => {
                self.say("snapshot", &json!({ "topic": "inbox", "questions": questions, "cut": view.is_cut }))
            }
            Some(look) => {
                let gone = view.gone.iter().filter(|(at, _)| *at > look);
                let gone: Vec<String> = gone
                    .filter_map(|(_, gone)| match gone {
                        Gone::Question(run, id) => Some(format!("{run}/{id}")),
                        Gone::Run(_) => None,
                    })
                    .collect();
                match questions.is_empty() && gone.is_empty() {
                    true => String::new(),
                    false => self.say("inbox", &json!({ "questions": questions, "gone": gone })),
                }
            }
        }
    }

    async fn shared(&mut self) -> String {
        if self.capacity.as_ref().is_some_and(|(at, _)| at.elapsed() < CAPACITY) {
            return String::new();
        }
        let Ok(table) = capacity::table(&self.app).await else { return String::new() };
        let is_new = self.told.insert(Topic::Capacity);
        let is_same = self.capacity.as_ref().is_some_and(|(_, before)| *before == table);
        let said = match (is_new, is_same) {
            (true, _) => {
                let mut data = json!(table);
                data["topic"] = json!("capacity");
                self.say("snapshot", &data)
            }
            (false, true) => String::new(),
            (false, false) => self.say("capacity", &json!(table)),
        };
        self.capacity = Some((Instant::now(), table));
        said
    }

    /// The follower of a run; a run that is not there is told of once.
    async fn follower(&mut self, topic: &Topic, run: &RunId) -> Result<Arc<Follower>, String> {
        if let Some(known) = self.followers.get(run) {
            return Ok(known.follower.clone());
        }
        match self.app.hub.open(run).await {
            Ok(follower) => {
                let listening = Listening {
                    follower: follower.clone(),
                    version: 0,
                    wants_events: false,
                    doing: HashMap::new(),
                    doing_at: None,
                };
                self.followers.insert(run.clone(), listening);
                Ok(follower)
            }
            Err(_) if self.refused.contains(topic) => Err(String::new()),
            Err(error) => {
                self.refused.insert(topic.clone());
                let data = json!({ "topic": topic.text(), "code": error.code(), "message": error.message() });
                Err(self.say("problem", &data))
            }
        }
    }

    async fn run(&mut self, topic: &Topic, run: &RunId) -> String {
        let follower = match self.follower(topic, run).await {
            Ok(follower) => follower,
            Err(said) => return said,
        };
        let is_new = self.told.insert(topic.clone());
        let Some(listening) = self.followers.get_mut(run) else { return String::new() };
        let version = follower.look(|seen| seen.version);
        let reached = self.place.rows.get(run).copied();
        let last = follower.look(|seen| seen.position);
        if listening.version == version && !is_new && reached == Some(last) {
            return self.doings(run, &follower);
        }
        listening.version = version;
        let state = self.app.settings.state.clone();
        let head = follower.look(|seen| RunHead::of(&state, run, seen, at::now()));
        let changes = reached.filter(|reached| *reached <= last).map(|reached| changes(&follower, reached));
        match changes {
            Some(Some(changes)) => self.told_changes(run, head, changes),
            // New to it, or so much that it reads the whole again.
            Some(None) | None => {
                self.place.rows.insert(run.clone(), head.position);
                let data =
                    json!({ "topic": topic.text(), "run": run, "position": head.position, "head": head });
                self.say("snapshot", &data)
            }
        }
    }

    /// Rows of tasks that do something else than they were told to do; no event says so. Those that fit into one message.
    fn doings(&mut self, run: &RunId, follower: &Follower) -> String {
        let Some(listening) = self.followers.get_mut(run) else { return String::new() };
        if listening.doing_at.is_some_and(|at| at.elapsed() < DOING) {
            return String::new();
        }
        let (rows, position) = follower.look(|seen| {
            let is_new = |(task, heard): &(&TaskId, &Heard)| {
                listening.doing.get(*task).is_none_or(|(look, _)| *look != heard.look)
            };
            let new: Vec<(&TaskId, &Heard)> = seen.said.iter().filter(is_new).take(ROWS).collect();
            let mut rows = Vec::new();
            for (task, heard) in new {
                let words = heard.words();
                let is_other = listening.doing.get(task).is_none_or(|(_, before)| *before != words);
                listening.doing.insert(task.clone(), (heard.look, words));
                let known = seen.picture.table.get(task).filter(|_| is_other);
                rows.extend(known.map(|(place, row)| row_of(seen, place, row)));
            }
            listening.doing.retain(|task, _| seen.said.contains_key(task));
            (rows, seen.position)
        });
        if rows.is_empty() {
            return String::new();
        }
        listening.doing_at = Some(Instant::now());
        self.say("tasks", &json!({ "run": run, "position": position, "rows": rows, "gone": [] }))
    }

    fn told_changes(&mut self, run: &RunId, head: RunHead, changes: Changes) -> String {
        let mut text = String::new();
        if !changes.rows.is_empty() || !changes.gone.is_empty() {
            self.place.rows.insert(run.clone(), changes.position);
            let data = json!({ "run": run, "position": changes.position, "rows": changes.rows, "gone": changes.gone });
            text.push_str(&self.say("tasks", &data));
        }
        if !changes.is_all {
            // The rest, and the head with it, comes when the client has taken this.
            self.followers.entry(run.clone()).and_modify(|listening| listening.version = 0);
            return text;
        }
        self.place.rows.insert(run.clone(), changes.position.max(head.position));
        text.push_str(&self.say("head", &json!({ "run": run, "head": head })));
        text
    }

    /// What a task says, whole as far as it is kept: the newest is all that counts.
    async fn said(&mut self, topic: &Topic, run: &RunId, task: &TaskId) -> String {
        let follower = match self.follower(topic, run).await {
            Ok(follower) => follower,
            Err(said) => return said,
        };
        let known = self.said.get(topic).copied();
        let now =
            follower.look(|seen| seen.said.get(task).filter(|heard| Some(heard.look) != known).cloned());
        let is_silent = follower.look(|seen| !seen.said.contains_key(task));
        match now {
            Some(Heard { look, saying, .. }) => {
                self.said.insert(topic.clone(), look);
                let data = json!({
                    "run": run, "task": task, "text": saying.text, "dropped": saying.dropped, "tools": saying.tools,
                });
                message("text", None, &data.to_string())
            }
            None if is_silent && known.is_some() => {
                self.said.remove(topic);
                let data = json!({ "run": run, "task": task, "text": "", "dropped": 0, "tools": [] });
                message("text", None, &data.to_string())
            }
            None => String::new(),
        }
    }

    async fn events(&mut self, topic: &Topic, run: &RunId) -> String {
        let follower = match self.follower(topic, run).await {
            Ok(follower) => follower,
            Err(said) => return said,
        };
        if let Some(listening) = self.followers.get_mut(run).filter(|listening| !listening.wants_events) {
            follower.listeners.fetch_add(1, Ordering::Relaxed);
            listening.wants_events = true;
        }
        let reached = self.place.events.get(run).copied().unwrap_or(0);
        if reached >= follower.look(|seen| seen.position) {
            return String::new();
        }
        let pieces = waiting(move || Ok(follower.events(reached + 1, EVENTS)?)).await;
        let mut text = String::new();
        for piece in pieces.unwrap_or_default() {
            self.place.events.insert(run.clone(), piece.seq);
            // The run's name goes into the object that is written already.
            let rest = piece.json.strip_prefix('{').unwrap_or("}");
            let data = format!("{{\"run\":{},{rest}", json!(run));
            text.push_str(&message("event", Some(&self.place.text(self.boot)), &data));
        }
        text
    }
}

fn row_of(seen: &Seen, place: usize, row: &Row) -> TaskRowBody {
    TaskRowBody::of(&seen.picture, place, row, seen.live, seen.said.get(&row.task))
}

/// Rows that are new to a client.
struct Changes {
    rows: Vec<TaskRowBody>,
    gone: Vec<String>,
    /// The client has everything up to here.
    position: u64,
    is_all: bool,
}

/// The rows that events after this one have changed, the oldest change first; `None` if there are too many.
fn changes(follower: &Follower, since: u64) -> Option<Changes> {
    follower.look(|seen| {
        let table = &seen.picture.table;
        let places: Vec<usize> = table.changed_since(since).take(TOO_MANY + 1).collect();
        if places.len() > TOO_MANY {
            return None;
        }
        // Rows that one event has changed go together.
        let end = places.get(ROWS).map(|place| table.rows()[*place].changed);
        let part = places.iter().map(|place| (*place, &table.rows()[*place]));
        let mut changes = Changes { rows: Vec::new(), gone: Vec::new(), position: since, is_all: true };
        for (count, (place, row)) in part.enumerate() {
            if end.is_some_and(|end| row.changed >= end) && count > 0 && row.changed > changes.position {
                changes.is_all = false;
                break;
            }
            changes.position = row.changed;
            match row.gone {
                true => changes.gone.push(row.task.to_string()),
                false => changes.rows.push(row_of(seen, place, row)),
            }
        }
        if changes.is_all {
            changes.position = seen.position;
        }
        Some(changes)
    })
}
