//! What of a run is in the file, and how much of it.
//!
//! Rows, graph, story and timeline come first, as far as the page would read them of a server. What is said of single tasks follows, those
//! that a person looks for first at the front, until its room is used; then the places of the time slider.

use super::masked;
use super::past;
use super::{Offline, OfflineError, OfflineRun};
use crate::api::{self, RunAt, now};
use crate::following::{Follower, Hub};
use crate::shapes::{PromptBody, RunHead, TaskDetail, TaskRowBody, TimelineBody};
use convoke_agent::redaction::Scrubber;
use convoke_model::{Stamped, TaskId};
use convoke_view::{Row, Standing};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

/// Rows of tasks; the page reads as many of a server.
const MOST_ROWS: usize = 20_000;

/// Rows of the timeline.
const MOST_TIMELINE: usize = 100_000;

/// Bytes of what is said of single tasks.
const DETAILS: usize = 16 << 20;

/// Events that are in memory at once; each is at most a few kilobytes, as longer values are blobs.
const EVENTS_AT_ONCE: usize = 8_000;

/// Bytes of prompts that are kept until they are written.
const PROMPTS: usize = 16 << 20;

/// Bytes of what goals, phases and merges tell.
const TOLD: usize = 4 << 20;

/// Bytes of the places of the time slider.
const PAST: usize = 8 << 20;

/// Steps that work through others; the page reads their own events.
const COMPOSITE: [&str; 4] = ["goal", "phase", "reduce", "verify"];

/// Room for texts of one kind.
pub(super) struct Room<'a> {
    scrubber: &'a Scrubber,
    left: usize,
}

impl<'a> Room<'a> {
    fn new(scrubber: &'a Scrubber, bytes: usize) -> Room<'a> {
        Room { scrubber, left: bytes }
    }

    /// A thing as it stands in the file, if there is room for it.
    pub fn take(&mut self, thing: &impl Serialize) -> Option<String> {
        let text = masked::json(self.scrubber, thing);
        self.left = self.left.checked_sub(text.len())?;
        Some(text)
    }
}

/// Writes it as one JSON object.
pub(super) fn write(
    of: &OfflineRun<'_>,
    hub: &Arc<Hub>,
    follower: &Follower,
    out: &mut dyn Write,
) -> Result<Offline, OfflineError> {
    let made = now();
    let head = follower.look(|seen| RunHead::of(of.state, of.run, seen, made));
    let position = head.position;
    let mut left_out = Vec::new();
    let mut fields = Fields { out, scrubber: of.scrubber, is_first: true };
    fields.begin()?;
    fields.put("format", &1)?;
    fields.put("version", &of.version)?;
    fields.put("made", &made)?;
    fields.put("head", &head)?;

    let (rows, total) = rows(follower);
    let end = if rows.len() < total { rows.last().map_or(0, |(place, _)| place + 1) } else { usize::MAX };
    let finals = past::Finals { rows: rows.iter().map(|(place, row)| (*place, json!(row))).collect(), end };
    let bodies: Vec<&TaskRowBody> = rows.iter().map(|(_, row)| row).collect();
    left_out.extend(less("rows of the table and the graph", bodies.len(), total));
    fields.put("tasks", &json!({ "tasks": bodies, "total": total }))?;

    let (graph, timeline) = follower.look(|seen| {
        let (live, problem) = (seen.live, seen.problem.as_deref());
        let shown = RunAt { picture: &seen.picture, position, live, problem, said: &seen.said };
        (api::graph_of(&shown), TimelineBody::of(&shown))
    });
    fields.put("graph", &graph)?;
    left_out.extend(less(
        "rows of the timeline",
        timeline.rows.task.len().min(MOST_TIMELINE),
        timeline.rows.task.len(),
    ));
    fields.put("timeline", &timeline.cut_to(MOST_TIMELINE))?;
    fields.put("story", &api::story_of(follower, Some(position))?)?;
    let markers = api::markers_of(follower, Some(position))?;
    fields.put("markers", &markers)?;

    let order = in_order(follower, &rows);
    let details = details(of, hub, follower, &order)?;
    left_out.extend(less("tasks with prompt, answer and conversation", details.texts.len(), order.len()));
    left_out.extend(details.left_out);
    fields.object("details", details.texts)?;
    let (told, all) = told(of, follower, &rows)?;
    left_out.extend(less("goals, phases and merges with their decisions", told.len(), all));
    fields.object("told", told)?;

    let at = past::chosen(markers.places(), position, total);
    let mut room = Room::new(of.scrubber, PAST);
    let places = past::places(follower, &head, &finals, &at, &mut room)?;
    left_out.extend(less(
        "moments of the time slider, beside the last one",
        places.len(),
        position.saturating_sub(1) as usize,
    ));
    fields.array("places", places)?;
    fields.put("left_out", &left_out)?;
    fields.end()?;
    Ok(Offline { bytes: 0, events: position, tasks: rows.len(), live: head.row.live, left_out })
}

/// Says that less of something is there than there was.
fn less(what: &str, kept: usize, of: usize) -> Option<String> {
    let count = |number: usize| convoke_view::words::count(number as u64);
    (kept < of).then(|| format!("{what}: {} of {}", count(kept), count(of)))
}

/// Rows by their place, and how many there are.
fn rows(follower: &Follower) -> (Vec<(usize, TaskRowBody)>, usize) {
    follower.look(|seen| {
        let table = &seen.picture.table;
        let there = || table.rows().iter().enumerate().filter(|(_, row)| !row.gone);
        let body = |(place, row): (usize, &Row)| {
            let heard = seen.said.get(&row.task);
            (place, TaskRowBody::of(&seen.picture, place, row, seen.live, heard))
        };
        (there().take(MOST_ROWS).map(body).collect(), there().count())
    })
}

/// Tasks of which anything can be told: what failed and what asks, then the steps of the plan, then what stands inside them.
fn in_order(follower: &Follower, rows: &[(usize, TaskRowBody)]) -> Vec<TaskId> {
    follower.look(|seen| {
        let all = seen.picture.table.rows();
        let rank = |row: &Row| match row.standing {
            Standing::Failed | Standing::Asks | Standing::Interrupted | Standing::Retrying => 0,
            _ if !row.task.0.contains(['/', '[']) => 1,
            Standing::Running => 2,
            _ => 3,
        };
        let mut those: Vec<&Row> =
            rows.iter().map(|(place, _)| &all[*place]).filter(|row| !row.is_expected()).collect();
        those.sort_by_key(|row| rank(row));
        those.into_iter().map(|row| row.task.clone()).collect()
    })
}

/// What is said of single tasks, each as a field.
struct Details {
    texts: Vec<(String, String)>,
    left_out: Vec<String>,
}

fn details(
    of: &OfflineRun<'_>,
    hub: &Arc<Hub>,
    follower: &Follower,
    order: &[TaskId],
) -> Result<Details, OfflineError> {
    let mut prompts = Prompts::of(of);
    let mut room = Room::new(of.scrubber, DETAILS);
    let (mut texts, mut beginnings) = (Vec::new(), 0);
    each_with_events(follower, order, &mut |task, events| {
        let detail = api::task_by(hub, follower, task, events)?;
        let detail = TaskDetail { prompt: prompts.take(task), ..detail };
        let is_cut = detail.output.iter().chain(&detail.partial).any(|value| value.cut);
        let Some(text) = room.take(&detail) else { return Ok(false) };
        beginnings += usize::from(is_cut);
        texts.push((task.to_string(), text));
        Ok(true)
    })?;
    let mut left_out = Vec::new();
    if beginnings > 0 {
        let words = convoke_view::words::plural(beginnings as u64, "answer");
        left_out.push(format!("{words} longer than 64 000 characters: their beginnings"));
    }
    left_out.extend(prompts.left_out);
    Ok(Details { texts, left_out })
}

/// What tasks were asked, as far as there is room.
struct Prompts {
    known: HashMap<TaskId, PromptBody>,
    left_out: Option<String>,
}

impl Prompts {
    /// Rendered again in one go through the journal.
    fn of(of: &OfflineRun<'_>) -> Prompts {
        let (mut known, mut left, mut skipped) = (HashMap::new(), PROMPTS, 0_usize);
        of.host.prompts(of.run, &mut |_, task, parts| {
            let parts: Vec<_> =
                parts.iter().map(|(name, text)| api::prompt_part((*name).to_owned(), text)).collect();
            let bytes = parts.iter().map(|part| part.text.len()).sum();
            match left.checked_sub(bytes) {
                Some(rest) => {
                    left = rest;
                    known.insert(task.clone(), PromptBody { parts });
                }
                None => skipped += 1,
            }
            true
        });
        let all = known.len() + skipped;
        Prompts { left_out: less("prompts", known.len(), all), known }
    }

    fn take(&mut self, task: &TaskId) -> Option<PromptBody> {
        self.known.remove(task)
    }
}

/// The own events of steps that work through others, and how many such steps there are.
fn told(
    of: &OfflineRun<'_>,
    follower: &Follower,
    rows: &[(usize, TaskRowBody)],
) -> Result<(Vec<(String, String)>, usize), OfflineError> {
    let is_composite =
        |row: &&(usize, TaskRowBody)| row.1.kind.as_deref().is_some_and(|kind| COMPOSITE.contains(&kind));
    let of_row = |(_, row): &(usize, TaskRowBody)| TaskId(row.task.as_str().into());
    let those: Vec<TaskId> = rows.iter().filter(is_composite).map(of_row).collect();
    let mut room = Room::new(of.scrubber, TOLD);
    let mut texts = Vec::new();
    each_with_events(follower, &those, &mut |task, events| {
        let page: Value = serde_json::from_str(&api::events_of_task(follower, events)).unwrap_or_default();
        let text = room.take(&page);
        let has_room = text.is_some();
        texts.extend(text.map(|text| (task.to_string(), text)));
        Ok(has_room)
    })?;
    Ok((texts, those.len()))
}

/// Takes a task with its events; says whether it wants more.
type TakeTask<'a> = dyn FnMut(&TaskId, &[Stamped]) -> Result<bool, OfflineError> + 'a;

/// Gives each task with its events, for as long as `take` wants more. Only the events of one portion are in memory.
fn each_with_events(
    follower: &Follower,
    tasks: &[TaskId],
    take: &mut TakeTask<'_>,
) -> Result<(), OfflineError> {
    let mut rest = tasks;
    while !rest.is_empty() {
        let mut room = EVENTS_AT_ONCE;
        let fits = rest.iter().take_while(|task| {
            let left = room.checked_sub(follower.count_of(task));
            room = left.unwrap_or_default();
            left.is_some()
        });
        // A task with more events than that is a portion of its own.
        let (portion, later) = rest.split_at(fits.count().max(1));
        let events = follower.events_of_each(portion, u64::MAX)?;
        for task in portion {
            if !take(task, &events[task])? {
                return Ok(());
            }
        }
        rest = later;
    }
    Ok(())
}

/// An object that is written field by field.
struct Fields<'a> {
    out: &'a mut dyn Write,
    scrubber: &'a Scrubber,
    is_first: bool,
}

impl Fields<'_> {
    fn begin(&mut self) -> Result<(), OfflineError> {
        Ok(self.out.write_all(b"{")?)
    }

    fn end(&mut self) -> Result<(), OfflineError> {
        Ok(self.out.write_all(b"}")?)
    }

    fn name(&mut self, name: &str) -> Result<(), OfflineError> {
        let between = if std::mem::take(&mut self.is_first) { "" } else { "," };
        Ok(write!(self.out, "{between}{}:", json!(name))?)
    }

    fn put(&mut self, name: &str, thing: &impl Serialize) -> Result<(), OfflineError> {
        self.name(name)?;
        Ok(self.out.write_all(masked::json(self.scrubber, thing).as_bytes())?)
    }

    /// Texts that are masked already.
    fn array(&mut self, name: &str, texts: Vec<String>) -> Result<(), OfflineError> {
        self.name(name)?;
        Ok(write!(self.out, "[{}]", texts.join(","))?)
    }

    /// The same, with names that are not.
    fn object(&mut self, name: &str, texts: Vec<(String, String)>) -> Result<(), OfflineError> {
        self.name(name)?;
        let named = texts.iter().map(|(name, text)| format!("{}:{text}", masked::json(self.scrubber, name)));
        Ok(write!(self.out, "{{{}}}", named.collect::<Vec<_>>().join(","))?)
    }
}
