//! One run: a head that does not move, and its tasks, of which those in sight are made.

use super::runs::bar;
use super::table::{self, Cells, left, right};
use super::text;
use super::theme::Theme;
use crate::cockpit::{Cockpit, Place};
use crate::seen::RunSeen;
use crate::tasks::{Filter, Tasks};
use convoke_model::{TaskId, Timestamp};
use convoke_view::{Row, words};
use ratatui::Frame;
use ratatui::layout::Rect;

pub fn draw(frame: &mut Frame<'_>, area: Rect, cockpit: &mut Cockpit, theme: Theme) {
    let Some(seen) = &cockpit.run else {
        let Place::Run(run) = &cockpit.place else { return };
        return text::put(frame, area, 0, &format!(" {}: looking …", run.0), theme.dim());
    };
    let used = head(frame, area, seen, theme);
    let area = Rect { y: area.y + used, height: area.height - used, ..area };
    let shown = cockpit.tasks.shown().len();
    let narrowed = narrowed(&cockpit.tasks, shown);
    text::put(frame, area, 0, &narrowed, theme.dim());
    let columns = [
        left("", 1),
        left("STATE", 11),
        left("TASK", 0),
        right("TIME", 9),
        left("DOES", 0),
        right("TRIES", 5),
        right("COST", 8),
    ];
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    cockpit.height = usize::from(list.height.saturating_sub(1));
    let (live, now) = (seen.live, cockpit.now);
    let mut cursor = cockpit.tasks.cursor;
    let tasks = &cockpit.tasks;
    table::draw(frame, list, &columns, (&mut cursor, shown), theme, |at| {
        match tasks.row(tasks.shown()[at]) {
            Some(found) => row(found, tasks, live, now, theme),
            None => Vec::new(),
        }
    });
    cockpit.tasks.cursor = cursor;
}

fn narrowed(tasks: &Tasks, shown: usize) -> String {
    let search = if tasks.search.is_empty() { String::new() } else { format!(", with `{}`", tasks.search) };
    match (tasks.filter, search.is_empty()) {
        (Filter::All, true) => format!(" {}", words::plural(shown as u64, "task")),
        (filter, _) => format!(" {} ({}{search})", words::plural(shown as u64, "task"), filter.word()),
    }
}

/// The head of a run; how many lines it took.
pub(super) fn head(frame: &mut Frame<'_>, area: Rect, seen: &RunSeen, theme: Theme) -> u16 {
    let (sign, style) = theme.status(seen.status);
    let mut parts = vec![
        format!("{} · {} {}", seen.workflow, seen.status.word().replace('_', " "), seen.worked),
        format!("{} {}/{}", bar(seen.ended, seen.total), words::count(seen.ended), words::count(seen.total)),
    ];
    parts.extend((seen.running > 0).then(|| format!("{} at work", words::count(seen.running))));
    parts.extend((seen.failed > 0).then(|| format!("{} failed", words::count(seen.failed))));
    parts.extend(seen.eta.as_ref().map(|eta| format!("about {eta} left")));
    parts.extend(seen.spent.clone());
    let line = format!(" {sign} {}", text::one_line(&parts.join(" · ")));
    text::put(frame, area, 0, &line, style);
    let notice = match (&seen.problem, &seen.notice) {
        (Some(problem), _) => Some((format!(" ! its journal cannot be read on: {problem}"), theme.bad())),
        (None, Some(notice)) => Some((format!(" {notice}"), theme.ask())),
        (None, None) => None,
    };
    if let Some((words, style)) = &notice {
        text::put(frame, area, 1, &text::one_line(words), *style);
    }
    1 + u16::from(notice.is_some())
}

fn row(row: &Row, tasks: &Tasks, live: bool, now: Timestamp, theme: Theme) -> Cells {
    let standing = match row.standing {
        convoke_view::Standing::Running if !live && row.attempts > 0 => convoke_view::Standing::Interrupted,
        standing => standing,
    };
    let (sign, style) = theme.standing(standing);
    let time = match (row.started, row.ended) {
        (Some(started), Some(ended)) => words::duration(ended.since(started)),
        (Some(_), None) if standing == convoke_view::Standing::Running => {
            words::duration(now.since(row.since))
        }
        _ => String::new(),
    };
    let does = tasks.doing.get(&row.task).or(row.failure.as_ref()).or(row.waits.as_ref());
    vec![
        (sign.to_owned(), style),
        (standing.word().to_owned(), style),
        (name(&row.task), theme.plain()),
        (time, theme.dim()),
        (text::one_line(does.map_or("", String::as_str)), theme.dim()),
        (if row.attempts > 1 { row.attempts.to_string() } else { String::new() }, theme.ask()),
        (words::cost(&row.usage).unwrap_or_default(), theme.dim()),
    ]
}

/// The last part of a task's path, moved in by how deep it stands.
fn name(task: &TaskId) -> String {
    let above = task.segments().count().saturating_sub(1);
    let Some(last) = task.segments().last() else { return String::new() };
    let key = last.key.map(|key| format!("[{key}]")).unwrap_or_default();
    let visit = if last.visit > 1 { format!("#{}", last.visit) } else { String::new() };
    let name = text::plain(&format!("{}{key}{visit}", last.node)).replace('\n', " ");
    format!("{}{name}", "  ".repeat(above.min(6)))
}
