//! Runs: the list, and what is shown of one as a whole.

use super::at::{At, RunAt, look, now};
use super::query::{FromQuery, OfRun, after, cursor, limit};
use super::{App, Shared};
use crate::access::Session;
use crate::error::{Answer, ApiError, ErrorBody};
use crate::following::{Follower, waiting};
use crate::shapes::{GraphBody, RunHead, RunRowBody, RunsBody, TimelineBody, TotalsBody};
use axum::Json;
use convoke_journal::{Index, RunRow, Search};
use convoke_model::{Event, RunStatus, Stamped, Timestamp};
use convoke_view::{Gates, Phase, Sentence, State, Story};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Which runs.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(crate) struct Which {
    /// Status words, with commas between them.
    status: Option<String>,
    /// A part of the workflow's name.
    workflow: Option<String>,
    /// Words that stand in the run's name, workflow, file, folder, metadata or inputs.
    q: Option<String>,
    /// Started at this moment or later: microseconds since 1970.
    since: Option<u64>,
    /// At most so many (50, and never more than 500).
    limit: Option<usize>,
    /// Where the list before this one ended.
    cursor: Option<String>,
}

/// All runs, newest first
#[utoipa::path(get, path = "/runs", tag = "runs", params(Which), responses(
    (status = 200, body = RunsBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn list(
    app: Shared,
    _caller: Session,
    FromQuery(which): FromQuery<Which>,
) -> Answer<RunsBody> {
    let search = search(&which)?;
    let (from, most) = (cursor(which.cursor.as_deref())?, limit(which.limit, 50, 500));
    let (hub, asks) = (app.hub.clone(), app.hub.board.view().asks());
    let state = app.settings.state.clone();
    let body = waiting(move || {
        let mut index = Index::open(&state)?;
        let rows = index.find(&search)?;
        let today = index.find(&Search { since: Some(midnight()), ..Search::default() })?;
        let totals = totals(&rows, &today);
        let next = after(from, most, rows.len());
        let page = rows.iter().skip(from).take(most);
        let runs = page.map(|row| {
            let listed = RunRowBody::of(row, asks.get(&*row.id.0).copied().unwrap_or(0));
            listed.with_problem(hub.problem_of(&row.id.0))
        });
        let runs = runs.collect();
        Ok(RunsBody { runs, next, totals })
    });
    Ok(Json(body.await?))
}

fn search(which: &Which) -> Result<Search, ApiError> {
    let words = which.status.as_deref().unwrap_or_default().split(',').filter(|word| !word.is_empty());
    let status = words
        .map(|word| {
            serde_json::from_value::<RunStatus>(word.into())
                .map_err(|_| ApiError::bad_request(format!("`{word}` is no status of a run")))
        })
        .collect::<Result<_, _>>()?;
    let words = which.q.as_deref().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    let since = which.since.map(|since| Timestamp(since.min(i64::MAX as u64)));
    Ok(Search { status, workflow: which.workflow.clone(), since, words, ..Search::default() })
}

/// When this day began (UTC).
fn midnight() -> Timestamp {
    const DAY: u64 = 86_400_000_000;
    Timestamp(now().0 / DAY * DAY)
}

/// What the runs that were found are, and what all of today have cost, whether they were looked for or not.
fn totals(found: &[RunRow], today: &[RunRow]) -> TotalsBody {
    let mut by_status = BTreeMap::new();
    found.iter().for_each(|row| *by_status.entry(row.status.word().to_owned()).or_insert(0) += 1);
    let known: u64 = today.iter().map(|row| row.usage.cost_micros).sum();
    let is_known = today.iter().all(|row| row.usage.unpriced_calls == 0);
    TotalsBody { by_status, cost_micros_today: is_known.then_some(known) }
}

/// The head of a run's page
#[utoipa::path(get, path = "/runs/{run}", tag = "runs", params(("run" = String, Path), At), responses(
    (status = 200, body = RunHead), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn head(
    app: Shared,
    _caller: Session,
    OfRun(run): OfRun,
    FromQuery(at): FromQuery<At>,
) -> Answer<RunHead> {
    let follower = app.hub.open(&run).await?;
    let state = app.settings.state.clone();
    let body = waiting(move || {
        let whole = follower.look(|seen| RunHead::of(&state, &run, seen, now()));
        match at.at.filter(|at| *at < whole.position) {
            None => Ok(whole),
            Some(position) => Ok(follower.at(position, |picture| whole.back_at(picture, position))?),
        }
    });
    Ok(Json(body.await?))
}

/// The plan of a run as a graph
#[utoipa::path(get, path = "/runs/{run}/graph", tag = "runs", params(("run" = String, Path)), responses(
    (status = 200, body = GraphBody), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn graph(app: Shared, _caller: Session, OfRun(run): OfRun) -> Answer<GraphBody> {
    Ok(Json(look(&app, &run, None, |_, shown| Ok(graph_of(&shown))).await?))
}

/// The plan as a graph, with the items of its fan-outs as far as they are known.
pub(crate) fn graph_of(shown: &RunAt<'_>) -> GraphBody {
    let tasks = &shown.picture.state.tasks;
    let holding = tasks.iter().filter_map(|(task, known)| match &known.phase {
        Phase::Holding(members) => Some((task, members.total?)),
        _ => None,
    });
    let mut counts: HashMap<String, u64> = HashMap::new();
    for (task, total) in holding {
        *counts.entry(convoke_view::node_of(task)).or_default() += u64::from(total);
    }
    // A fan-out that has ended has the items that were seen.
    for row in shown.picture.table.rows().iter().filter(|row| !row.gone) {
        let node = convoke_view::node_of(&row.task);
        if let Some(of) = node.strip_suffix("[]").filter(|of| !counts.contains_key(*of)) {
            *counts.entry(format!("{of}\u{0}")).or_default() += 1;
        }
    }
    let count = |id: &str| counts.get(id).or_else(|| counts.get(&format!("{id}\u{0}"))).copied();
    GraphBody::of(&shown.picture.graph, &count, shown.problem)
}

/// When each task waited and ran
#[utoipa::path(get, path = "/runs/{run}/timeline", tag = "runs", params(("run" = String, Path), At), responses(
    (status = 200, body = TimelineBody), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn timeline(
    app: Shared,
    _caller: Session,
    OfRun(run): OfRun,
    FromQuery(at): FromQuery<At>,
) -> Answer<TimelineBody> {
    Ok(Json(look(&app, &run, at.at, |_, shown| Ok(TimelineBody::of(&shown))).await?))
}

/// A run in sentences.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StoryBody {
    sentences: Vec<SentenceBody>,
    /// How many were left out.
    cut: u64,
}

/// A sentence.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SentenceBody {
    #[schema(value_type = u64)]
    at: Timestamp,
    seq: u64,
    text: String,
    /// `plain`, `good`, `bad` or `ask`.
    tone: String,
    task: Option<String>,
}

/// A run in plain sentences
#[utoipa::path(get, path = "/runs/{run}/story", tag = "runs", params(("run" = String, Path), At), responses(
    (status = 200, body = StoryBody), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn story(
    app: Shared,
    _caller: Session,
    OfRun(run): OfRun,
    FromQuery(at): FromQuery<At>,
) -> Answer<StoryBody> {
    Ok(Json(reread(&app, &run, move |follower| story_of(follower, at.at)).await?))
}

/// The sentences of a run, up to one of its events.
pub(crate) fn story_of(follower: &Follower, at: Option<u64>) -> Result<StoryBody, ApiError> {
    let outline = follower.look(|seen| seen.picture.state.outline.clone());
    let (mut state, mut story) = (State::new(outline), Story::default());
    let (mut gates, mut last) = (Gates::default(), 0);
    each(follower, at, &mut |stamped| {
        story.take(&state, stamped);
        state.apply(stamped);
        gates.apply(stamped);
        last = stamped.seq;
    })?;
    let so_far = Story::so_far(&state, &gates, last);
    let sentences = story.sentences.into_iter().chain(so_far).map(SentenceBody::of);
    Ok(StoryBody { sentences: sentences.collect(), cut: story.cut })
}

impl SentenceBody {
    /// Of a sentence.
    pub fn of(sentence: Sentence) -> SentenceBody {
        SentenceBody {
            at: sentence.at,
            seq: sentence.seq,
            text: sentence.text,
            tone: sentence.tone.word().to_owned(),
            task: sentence.task.map(|task| task.to_string()),
        }
    }
}

/// Moments of a run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MarkersBody {
    markers: Vec<MarkerBody>,
    /// Whether there are more.
    cut: bool,
}

/// A moment that a time slider marks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MarkerBody {
    seq: u64,
    #[schema(value_type = u64)]
    at: Timestamp,
    /// `failure`, `gate`, `answer`, `limit`, `budget`, `owner`, `stop`, `note` or `end`.
    kind: String,
    text: String,
    task: Option<String>,
}

/// The most markers.
const MOST_MARKERS: usize = 2_000;

/// Moments that a time slider marks
#[utoipa::path(get, path = "/runs/{run}/markers", tag = "runs", params(("run" = String, Path)), responses(
    (status = 200, body = MarkersBody), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn markers(app: Shared, _caller: Session, OfRun(run): OfRun) -> Answer<MarkersBody> {
    Ok(Json(reread(&app, &run, |follower| markers_of(follower, None)).await?))
}

/// The moments of a run that a time slider marks.
pub(crate) fn markers_of(follower: &Follower, at: Option<u64>) -> Result<MarkersBody, ApiError> {
    let mut body = MarkersBody { markers: Vec::new(), cut: false };
    each(follower, at, &mut |stamped| {
        let Some((kind, text)) = marker(&stamped.event) else { return };
        body.cut |= body.markers.len() >= MOST_MARKERS;
        if !body.cut {
            let task = convoke_schedule::task_of(&stamped.event).map(ToString::to_string);
            let (seq, at, kind) = (stamped.seq, stamped.at, kind.to_owned());
            body.markers.push(MarkerBody { seq, at, kind, text, task });
        }
    })?;
    Ok(body)
}

impl MarkersBody {
    /// The numbers of the events that they stand at.
    pub fn places(&self) -> impl Iterator<Item = u64> {
        self.markers.iter().map(|marker| marker.seq)
    }
}

fn marker(event: &Event) -> Option<(&'static str, String)> {
    Some(match event {
        Event::TaskFailed { failure, .. } => ("failure", convoke_view::words::first_line(&failure.message)),
        Event::GateOpened { .. } => ("gate", "a person is asked".to_owned()),
        Event::GateAnswered { by, .. } => ("answer", format!("answered by {by}")),
        Event::LimitAdapted(change) => ("limit", format!("{}: {}", change.resource, change.why())),
        Event::BudgetExceeded { .. } => ("budget", "more was spent than the budget says".to_owned()),
        Event::BudgetSpent(_) => ("budget", "a budget is spent".to_owned()),
        Event::RunOwned { epoch, pid, .. } if *epoch > 1 => ("owner", format!("taken up by process {pid}")),
        Event::StopRequested { by, .. } => ("stop", format!("{by} asked it to stop")),
        Event::RunInterrupted { by } => ("stop", format!("interrupted by {by}")),
        Event::Noted { message, .. } => ("note", convoke_view::words::first_line(message)),
        Event::RunFinished { status, .. } => ("end", status.word().to_owned()),
        _ => return None,
    })
}

/// Reads the journal of a run again, for what is not kept.
async fn reread<R: Send + 'static>(
    app: &Arc<App>,
    run: &convoke_model::RunId,
    read: impl FnOnce(&Follower) -> Result<R, ApiError> + Send + 'static,
) -> Result<R, ApiError> {
    let follower = app.hub.open(run).await?;
    waiting(move || read(&follower)).await
}

/// Every event up to one of them.
fn each(follower: &Follower, at: Option<u64>, take: &mut dyn FnMut(&Stamped)) -> Result<(), ApiError> {
    let last = at.unwrap_or(u64::MAX);
    follower.with_reader(|reader| {
        reader.read_while(1, &mut |stamped| {
            let is_in = stamped.seq <= last;
            if is_in {
                take(&stamped);
            }
            is_in
        })
    })?;
    Ok(())
}
