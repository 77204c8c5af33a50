//! The tasks of a run, some at a time.

use super::Shared;
use super::at::{RunAt, look};
use super::query::{FromQuery, OfRun, after, cursor, limit};
use crate::access::Session;
use crate::error::{Answer, ApiError, ErrorBody};
use crate::shapes::{TaskRowBody, TasksBody, parent_of};
use axum::Json;
use convoke_model::TaskId;
use convoke_view::{Row, Standing};
use serde::Deserialize;
use utoipa::IntoParams;

/// Which tasks.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(crate) struct Which {
    /// Those that stand in this task.
    parent: Option<String>,
    /// Those of this node of the graph.
    node: Option<String>,
    /// Words for how they stand, with commas between them.
    state: Option<String>,
    /// A part of their path, title or failure.
    q: Option<String>,
    /// `order` (usual), `task`, `started`, `ran`, `queued`, `cost`, `attempts` or `changed`; with `-` before it the other way.
    sort: Option<String>,
    /// At most so many (200, and never more than 2000).
    limit: Option<usize>,
    /// Where the list before this one ended.
    cursor: Option<String>,
    /// The number of an event: the tasks as they stood after it.
    at: Option<u64>,
}

/// Tasks of a run
#[utoipa::path(get, path = "/runs/{run}/tasks", tag = "tasks", params(("run" = String, Path), Which), responses(
    (status = 200, body = TasksBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn tasks(
    app: Shared,
    _caller: Session,
    OfRun(run): OfRun,
    FromQuery(which): FromQuery<Which>,
) -> Answer<TasksBody> {
    let body = look(&app, &run, which.at, move |_, shown| page(&which, &shown));
    Ok(Json(body.await?))
}

fn page(which: &Which, shown: &RunAt<'_>) -> Result<TasksBody, ApiError> {
    let (from, most) = (cursor(which.cursor.as_deref())?, limit(which.limit, 200, 2_000));
    let wanted = Wanted::of(which)?;
    let rows = shown.picture.table.rows().iter().enumerate().filter(|(_, row)| !row.gone);
    let mut rows: Vec<(usize, &Row)> = rows.filter(|(_, row)| wanted.takes(shown, row)).collect();
    sort(&mut rows, which.sort.as_deref().unwrap_or("order"))?;
    let total = rows.len();
    let page = rows.iter().skip(from).take(most);
    let body = |(place, row): &(usize, &Row)| {
        TaskRowBody::of(shown.picture, *place, row, shown.live, shown.said.get(&row.task))
    };
    let tasks = page.map(body).collect();
    let next = after(from, most, total);
    let problem = shown.problem.map(str::to_owned);
    Ok(TasksBody { tasks, total, next, position: shown.position, problem })
}

struct Wanted {
    parent: Option<TaskId>,
    node: Option<String>,
    standings: Vec<Standing>,
    words: Option<String>,
}

impl Wanted {
    fn of(which: &Which) -> Result<Wanted, ApiError> {
        let words = which.state.as_deref().unwrap_or_default().split(',').filter(|word| !word.is_empty());
        let standings = words.map(|word| {
            let known = Standing::ALL.into_iter().find(|standing| standing.word() == word);
            known.ok_or_else(|| ApiError::bad_request(format!("`{word}` is no word for how a task stands")))
        });
        Ok(Wanted {
            parent: which.parent.as_deref().map(|parent| TaskId(parent.into())),
            node: which.node.clone(),
            standings: standings.collect::<Result<_, _>>()?,
            words: which.q.as_deref().map(str::to_lowercase),
        })
    }

    fn takes(&self, shown: &RunAt<'_>, row: &Row) -> bool {
        let stands = self.standings.is_empty() || self.standings.contains(&row.standing);
        let parent = self.parent.as_ref();
        let is_inside =
            || parent.is_none_or(|parent| parent_of(shown.picture, &row.task).as_ref() == Some(parent));
        let is_of = || self.node.as_ref().is_none_or(|node| shown.picture.graph.nearest(&row.task) == *node);
        let says = |words: &String| {
            let title = shown.picture.state.titles.of(&row.task).unwrap_or_default();
            let texts = [&*row.task.0, title, row.failure.as_deref().unwrap_or_default()];
            texts.iter().any(|text| text.to_lowercase().contains(words))
        };
        stands && is_inside() && is_of() && self.words.as_ref().is_none_or(says)
    }
}

fn sort(rows: &mut [(usize, &Row)], by: &str) -> Result<(), ApiError> {
    let (by, turned) = by.strip_prefix('-').map_or((by, false), |by| (by, true));
    match by {
        "order" => {}
        "task" => rows.sort_by(|a, b| a.1.task.cmp(&b.1.task)),
        "started" => rows.sort_by_key(|(_, row)| row.started.unwrap_or_default()),
        "ran" => rows.sort_by_key(|(_, row)| row.ran),
        "queued" => rows.sort_by_key(|(_, row)| row.queued),
        "cost" => rows.sort_by_key(|(_, row)| row.usage.cost_micros),
        "attempts" => rows.sort_by_key(|(_, row)| row.attempts),
        "changed" => rows.sort_by_key(|(_, row)| row.changed),
        _ => return Err(ApiError::bad_request(format!("tasks cannot be sorted by `{by}`"))),
    }
    if turned {
        rows.reverse();
    }
    Ok(())
}
