//! When each task waited and ran, as columns: a hundred thousand rows are one message that a page can draw from.

use crate::api::RunAt;
use convoke_model::{TaskId, Timestamp};
use convoke_view::{Picture, Row, Standing, owner};
use serde::Serialize;
use std::collections::HashMap;
use std::time::Duration;
use utoipa::ToSchema;

/// A timeline.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TimelineBody {
    #[schema(value_type = u64)]
    pub from: Timestamp,
    #[schema(value_type = u64)]
    pub to: Timestamp,
    pub position: u64,
    /// Stretches in which nothing ran, each as its beginning and its end.
    #[schema(value_type = Vec<Vec<u64>>)]
    pub idle: Vec<[Timestamp; 2]>,
    /// Rows by which the end came when it did, from the first to the last.
    pub critical: Vec<usize>,
    pub rows: TimelineRows,
    /// Why the journal cannot be read on.
    pub problem: Option<String>,
}

/// Its rows, a column each.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct TimelineRows {
    pub task: Vec<String>,
    pub state: Vec<String>,
    /// Milliseconds in the queue, those of a wait that is not over as well.
    pub queued: Vec<u64>,
    /// 0 where it has not: it waits still, or will come.
    #[schema(value_type = Vec<u64>)]
    pub started: Vec<Timestamp>,
    /// 0 where it has not ended.
    #[schema(value_type = Vec<u64>)]
    pub ended: Vec<Timestamp>,
    #[schema(value_type = Vec<Vec<u64>>)]
    pub retries: Vec<Vec<Timestamp>>,
}

/// A stretch of so many millionths of a second is idle, where nothing runs in it.
const IDLE: u64 = 10_000_000;

impl TimelineBody {
    /// Of a run, as far as it has come.
    pub fn of(shown: &RunAt<'_>) -> TimelineBody {
        let (picture, position) = (shown.picture, shown.position);
        let (from, to) = (picture.state.started, picture.state.last);
        let rows: Vec<&Row> = picture.table.rows().iter().filter(|row| !row.gone).collect();
        let mut columns = TimelineRows::default();
        for row in &rows {
            columns.task.push(row.task.to_string());
            columns.state.push(row.standing.word().to_owned());
            columns.queued.push(super::task::millis(row.queued + still_queued(picture, row, to)));
            columns.started.push(row.started.unwrap_or_default());
            columns.ended.push(row.ended.unwrap_or_default());
            columns.retries.push(row.retries.clone());
        }
        let (idle, critical) = (idle(&rows, from, to), critical(picture, &rows));
        let problem = shown.problem.map(str::to_owned);
        TimelineBody { from, to, position, idle, critical, rows: columns, problem }
    }

    /// The same with its first rows only.
    pub fn cut_to(mut self, most: usize) -> TimelineBody {
        let rows = &mut self.rows;
        rows.task.truncate(most);
        rows.state.truncate(most);
        [&mut rows.started, &mut rows.ended].into_iter().for_each(|column| column.truncate(most));
        rows.queued.truncate(most);
        rows.retries.truncate(most);
        self.critical.retain(|at| *at < most);
        self
    }
}

/// How long a task waits already for what has not come: since it was told so, or since everything that it needs is there.
fn still_queued(picture: &Picture, row: &Row, to: Timestamp) -> Duration {
    let ended = |need: &TaskId| picture.table.get(need).and_then(|(_, row)| row.ended);
    let since = match (row.standing, row.started) {
        (Standing::Blocked, _) => Some(row.since),
        (Standing::Waiting, None) if picture.state.status.is_none_or(|status| !status.is_end()) => {
            let needs = picture.state.outline.steps.get(&row.task).filter(|needs| !needs.is_empty());
            let ends: Option<Vec<Timestamp>> = needs.and_then(|needs| needs.iter().map(ended).collect());
            ends.and_then(|ends| ends.into_iter().max())
        }
        _ => None,
    };
    since.map(|since| to.since(since)).unwrap_or_default()
}

fn idle(rows: &[&Row], from: Timestamp, to: Timestamp) -> Vec<[Timestamp; 2]> {
    let worked = rows.iter().filter(|row| row.attempts > 0);
    let mut spans: Vec<(u64, u64)> =
        worked.map(|row| (row.started.unwrap_or_default().0, row.ended.unwrap_or(to).0)).collect();
    spans.sort_unstable();
    let (mut idle, mut reached) = (Vec::new(), from.0);
    for (start, end) in spans {
        if start > reached + IDLE {
            idle.push([Timestamp(reached), Timestamp(start)]);
        }
        reached = reached.max(end);
    }
    if to.0 > reached + IDLE {
        idle.push([Timestamp(reached), to]);
    }
    idle
}

/// From the step that ended last back over the need of each that ended last, and within each of them the parts that kept it.
fn critical(picture: &Picture, rows: &[&Row]) -> Vec<usize> {
    let parts = Parts::of(rows);
    let places: HashMap<&TaskId, usize> = rows.iter().enumerate().map(|(at, row)| (&row.task, at)).collect();
    let ended = |at: &usize| rows[*at].ended.unwrap_or_default();
    let mut next = parts.below(None).iter().copied().max_by_key(ended);
    let mut path = Vec::new();
    while let Some(at) = next.filter(|at| !path.contains(at)) {
        path.push(at);
        let needs = picture.state.outline.steps.get(&rows[at].task).into_iter().flatten();
        let needs: Vec<usize> = needs.filter_map(|need| places.get(need).copied()).collect();
        // Steps that routes lead to have no needs: the one that ended just before is what they came from.
        let before = || parts.just_before(None, rows[at].started.unwrap_or_default());
        next = needs.into_iter().max_by_key(ended).or_else(before);
    }
    path.reverse();
    let mut all = Vec::new();
    path.into_iter().for_each(|at| parts.with_inner(at, &mut all));
    all
}

/// Rows by what they stand in, those that ended first at the front.
struct Parts<'a> {
    rows: &'a [&'a Row],
    of: HashMap<Option<TaskId>, Vec<usize>>,
}

impl<'a> Parts<'a> {
    fn of(rows: &'a [&'a Row]) -> Parts<'a> {
        let mut of: HashMap<Option<TaskId>, Vec<usize>> = HashMap::new();
        for (at, row) in rows.iter().enumerate().filter(|(_, row)| !row.aside) {
            of.entry(owner(&row.task)).or_default().push(at);
        }
        of.values_mut().for_each(|those| those.sort_by_key(|at| rows[*at].ended.unwrap_or_default()));
        Parts { rows, of }
    }

    fn below(&self, task: Option<&TaskId>) -> &[usize] {
        self.of.get(&task.cloned()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The part that ended last at this moment or before.
    fn just_before(&self, task: Option<&TaskId>, moment: Timestamp) -> Option<usize> {
        let those = self.below(task);
        let ended = |at: &usize| self.rows[*at].ended.unwrap_or_default();
        let count = those.partition_point(|at| ended(at) <= moment);
        those[..count].last().copied().filter(|at| self.rows[*at].ended.is_some())
    }

    /// A row, and the chain of its parts: the one that ended last, the one that ended just before that began, and so on.
    fn with_inner(&self, at: usize, path: &mut Vec<usize>) {
        path.push(at);
        let task = &self.rows[at].task;
        let mut next = self.below(Some(task)).last().copied().filter(|at| self.rows[*at].ended.is_some());
        let mut chain = Vec::new();
        while let Some(part) = next {
            chain.push(part);
            let began = self.rows[part].started.unwrap_or_default();
            let ended = self.rows[part].ended.unwrap_or_default();
            // One that took no time would be found before itself.
            next = self.just_before(Some(task), began).filter(|other| began < ended && *other != part);
        }
        chain.into_iter().rev().for_each(|part| self.with_inner(part, path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Event, JsonText, Payload};
    use convoke_testkit::events::{attempt, done, fan_out, group, id, stamp, started};
    use std::collections::HashMap;

    fn timeline(events: Vec<Event>) -> TimelineBody {
        let mut picture = Picture::default();
        stamp(events).iter().for_each(|stamped| picture.apply(stamped));
        let said = HashMap::new();
        TimelineBody::of(&RunAt { picture: &picture, position: 1, live: false, problem: None, said: &said })
    }

    fn path(timeline: &TimelineBody) -> Vec<&str> {
        timeline.critical.iter().map(|at| timeline.rows.task[*at].as_str()).collect()
    }

    fn succeeded(task: &str) -> Event {
        Event::TaskSucceeded { task: id(task), output: Payload::Inline(JsonText::of(&1)) }
    }

    #[test]
    fn the_critical_path_goes_on_inside_of_a_group() {
        let timeline = timeline(vec![
            started(),
            group("g"),
            fan_out("g", 3),
            attempt("g[0]", 1),
            attempt("g[1]", 1),
            done("g[0]"),
            attempt("g[2]", 1),
            done("g[1]"),
            done("g[2]"),
            succeeded("g"),
            attempt("after", 1),
            done("after"),
        ]);
        assert_eq!(path(&timeline), ["g", "g[0]", "g[2]", "after"], "g[1] ended before g[2]");
        let cut = timeline.cut_to(2);
        assert_eq!((path(&cut), cut.rows.queued.len(), cut.rows.retries.len()), (vec!["g", "g[0]"], 2, 2));
    }

    #[test]
    fn parts_without_a_length_are_a_path_with_an_end() {
        let task = |at: usize| format!("s{}", at / 2);
        let all = (0..100).map(|at| if at % 2 == 0 { attempt(&task(at), 1) } else { done(&task(at)) });
        let mut picture = Picture::default();
        for mut stamped in stamp(std::iter::once(started()).chain(all).collect()) {
            stamped.at = Timestamp(1);
            picture.apply(&stamped);
        }
        let said = HashMap::new();
        let body = TimelineBody::of(&RunAt {
            picture: &picture,
            position: 1,
            live: false,
            problem: None,
            said: &said,
        });
        assert!(!body.critical.is_empty() && body.critical.len() <= 50);
    }
}
