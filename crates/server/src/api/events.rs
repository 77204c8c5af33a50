//! The events of a run as they are written, and a search through what was said in it.

use super::Shared;
use super::query::{FromQuery, OfRun, limit};
use crate::access::Session;
use crate::error::{Answer, ApiError, ErrorBody};
use crate::following::{Follower, waiting};
use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use convoke_journal::Reader;
use convoke_model::excerpt::{first_chars, place_of};
use convoke_model::{Event, Payload, Stamped, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

/// Which events.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(crate) struct Which {
    /// From this number on (1).
    pub from: Option<u64>,
    /// At most so many (500, and never more than 5000).
    pub limit: Option<usize>,
    /// Those of one task.
    pub task: Option<String>,
}

/// Events.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventsBody {
    events: Vec<StampedBody>,
    /// The `from` of those that follow; null where there are none yet.
    next: Option<u64>,
    /// Why the journal cannot be read on.
    problem: Option<String>,
}

/// An event with its place and time.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StampedBody {
    seq: u64,
    at: u64,
    /// The event as the journal has it: an object with one key, or a word.
    #[schema(value_type = Value)]
    event: Value,
}

/// Events of a run
#[utoipa::path(get, path = "/runs/{run}/events", tag = "events", params(("run" = String, Path), Which), responses(
    (status = 200, body = EventsBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn events(
    app: Shared,
    _caller: Session,
    OfRun(run): OfRun,
    FromQuery(which): FromQuery<Which>,
) -> Result<Response, ApiError> {
    let follower = app.hub.open(&run).await?;
    let text = waiting(move || page(&follower, &which)).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// Written piece by piece: what the journal holds is not taken apart and put together again.
fn page(follower: &Follower, which: &Which) -> Result<String, ApiError> {
    let (from, most) = (which.from.unwrap_or(1).max(1), limit(which.limit, 500, MOST_EVENTS));
    if let Some(task) = &which.task {
        let last = follower.look(|seen| seen.position);
        let events = follower.events_of(&TaskId(task.as_str().into()), last)?;
        return Ok(page_of_task(follower, &events, from, most));
    }
    let last = follower.look(|seen| seen.position);
    let pieces = follower.events(from, most)?;
    let end = pieces.last().map_or(from, |piece| piece.seq + 1);
    let texts = pieces.into_iter().map(|piece| piece.json.to_string()).collect();
    Ok(written(follower, texts, (end <= last).then_some(end)))
}

/// The first page of the events of a task, which the caller has read.
pub(crate) fn of_task(follower: &Follower, events: &[Stamped]) -> String {
    page_of_task(follower, events, 1, MOST_EVENTS)
}

fn page_of_task(follower: &Follower, events: &[Stamped], from: u64, most: usize) -> String {
    let wanted: Vec<&Stamped> = events.iter().filter(|stamped| stamped.seq >= from).take(most).collect();
    let is_cut = wanted.len() == most;
    let next = wanted.last().filter(|_| is_cut).map(|stamped| stamped.seq + 1);
    let next = next.filter(|next| *next <= follower.look(|seen| seen.position));
    written(
        follower,
        wanted.into_iter().filter_map(|stamped| serde_json::to_string(stamped).ok()).collect(),
        next,
    )
}

fn written(follower: &Follower, events: Vec<String>, next: Option<u64>) -> String {
    let next = json!(next);
    let problem = json!(follower.look(|seen| seen.problem.clone()));
    format!("{{\"events\":[{}],\"next\":{next},\"problem\":{problem}}}", events.join(","))
}

/// What is looked for.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(crate) struct Sought {
    /// The words.
    q: String,
}

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FoundBody {
    hits: Vec<Hit>,
    /// Whether there is more.
    cut: bool,
}

/// A place where the words stand.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Hit {
    task: Option<String>,
    /// `output`, `conversation`, `prompt`, `question`, `answer`, `failure`, `tool`, `task` or `note`.
    #[serde(rename = "where")]
    place: String,
    excerpt: String,
    seq: u64,
}

/// The most events of a page.
const MOST_EVENTS: usize = 5_000;

/// The most places.
const MOST_HITS: usize = 200;

/// Characters on each side of the words.
const AROUND: usize = 80;

/// Search inside a run
#[utoipa::path(get, path = "/runs/{run}/search", tag = "events", params(("run" = String, Path), Sought), responses(
    (status = 200, body = FoundBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn search(
    app: Shared,
    _caller: Session,
    OfRun(run): OfRun,
    FromQuery(sought): FromQuery<Sought>,
) -> Answer<FoundBody> {
    let words = sought.q.trim().to_lowercase();
    if words.is_empty() {
        return Err(ApiError::bad_request("`q` has no words to look for"));
    }
    let follower = app.hub.open(&run).await?;
    let hub = app.hub.clone();
    let body = waiting(move || {
        let mut found = FoundBody { hits: Vec::new(), cut: false };
        follower.with_reader(|reader| {
            reader.read_while(1, &mut |stamped| {
                look_through(reader, &stamped, &words, &mut found);
                !found.cut
            })
        })?;
        if !found.cut {
            hub.host.prompts(&run, &mut |seq, task, parts| {
                let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
                found.take("prompt", Some(task), seq, &texts.join("\n"), &words);
                !found.cut
            });
            found.hits.sort_by_key(|hit| hit.seq);
        }
        Ok(found)
    });
    Ok(Json(body.await?))
}

impl FoundBody {
    fn take(&mut self, place: &str, task: Option<&TaskId>, seq: u64, text: &str, words: &str) {
        let Some(excerpt) = excerpt(text, words).filter(|_| !self.cut) else { return };
        if self.hits.len() == MOST_HITS {
            self.cut = true;
            return;
        }
        let (task, place) = (task.map(ToString::to_string), place.to_owned());
        self.hits.push(Hit { task, place, excerpt, seq });
    }
}

fn look_through(reader: &Reader, stamped: &Stamped, words: &str, found: &mut FoundBody) {
    let task = convoke_schedule::task_of(&stamped.event);
    for (place, text) in texts(reader, &stamped.event) {
        found.take(place, task, stamped.seq, &text, words);
    }
    if let Some(task) = task.filter(|task| {
        matches!(stamped.event, Event::AttemptStarted { attempt: 1, .. })
            && task.0.to_lowercase().contains(words)
    }) {
        let (task, place) = (task.to_string(), "task".to_owned());
        found.hits.push(Hit { excerpt: task.clone(), task: Some(task), place, seq: stamped.seq });
    }
}

fn texts(reader: &Reader, event: &Event) -> Vec<(&'static str, String)> {
    let value = |place, payload: &Payload| {
        let text = payload.text(|digest| reader.blob(digest).ok().flatten());
        text.map(|text| (place, text.as_str().replace("\\n", " "))).into_iter().collect::<Vec<_>>()
    };
    match event {
        Event::AttemptFinished { output, .. } | Event::TaskSucceeded { output, .. } => {
            value("output", output)
        }
        Event::TurnRecorded { piece, .. } => value("conversation", piece),
        Event::GateOpened { ask, .. } => value("question", ask),
        Event::GateAnswered { answer, .. } => value("answer", answer),
        Event::AttemptFailed { failure, .. } | Event::TaskFailed { failure, .. } => {
            vec![("failure", failure.message.clone())]
        }
        Event::ToolCalled { tool, .. } => vec![("tool", tool.clone())],
        Event::Noted { message, .. } => vec![("note", message.clone())],
        Event::Guided { text, .. } | Event::TaskGuided { text, .. } => vec![("note", text.clone())],
        _ => Vec::new(),
    }
}

fn excerpt(text: &str, words: &str) -> Option<String> {
    // Small letters may take more bytes than capitals, so places are looked for in characters.
    let small: Vec<char> = text.chars().flat_map(|c| c.to_lowercase().next()).collect();
    let wanted: Vec<char> = words.chars().collect();
    let at = small.windows(wanted.len()).position(|window| window == wanted)?;
    let from = at.saturating_sub(AROUND);
    let rest = &text[place_of(text, from)..];
    Some(first_chars(rest, at - from + wanted.len() + AROUND).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whatever_their_letters_and_shown_with_what_stands_around() {
        assert_eq!(excerpt("The Quick brown fox", "quick").as_deref(), Some("The Quick brown fox"));
        let long = format!("{}İNEEDLEé{}", "a".repeat(200), "b".repeat(200));
        let found = excerpt(&long, "needle").unwrap();
        assert!(found.contains("NEEDLE") && found.chars().count() == 6 + 2 * AROUND, "{found}");
        assert_eq!(excerpt("nothing", "needle"), None);
    }
}
