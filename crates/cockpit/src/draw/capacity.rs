//! What processes share: each limit with what is in use, who holds it, and where the limit comes from.

use super::runs::bar;
use super::table::{self, Cells, left, right};
use super::text;
use super::theme::Theme;
use crate::cockpit::Cockpit;
use crate::seen::LimitLine;
use ratatui::Frame;
use ratatui::layout::Rect;

pub fn draw(frame: &mut Frame<'_>, area: Rect, cockpit: &mut Cockpit, theme: Theme) {
    let Some(seen) = &cockpit.capacity else {
        return text::put(frame, area, 1, " looking …", theme.dim());
    };
    if let Some(problem) = &seen.problem {
        return text::put(frame, area, 1, &format!(" {}", text::one_line(problem)), theme.dim());
    }
    let columns = [
        left("LIMIT OF", 0),
        right("IN USE", 10),
        right("LIMIT", 12),
        left("", 8),
        right("QUEUE", 5),
        left("STATE", 12),
        left("FROM", 16),
    ];
    let length = seen.limits.len();
    let shown = (length as u16 + 1).min(area.height * 2 / 3).max(2);
    let mut cursor = cockpit.capacity_cursor;
    table::draw(frame, Rect { height: shown, ..area }, &columns, (&mut cursor, length), theme, |at| {
        row(&seen.limits[at], theme)
    });
    let rest = Rect { y: area.y + shown, height: area.height - shown, ..area };
    text::put(frame, rest, 0, &"─".repeat(area.width.into()), theme.dim());
    let held = seen.limits.get(cursor.at);
    let holders = held.into_iter().flat_map(|limit| {
        let silent = limit.held.iter().map(|held| format!("held by processes that are silent: {held}"));
        let origin = std::iter::once(format!("{}: {}", limit.name, limit.origin));
        origin.chain(silent).chain(limit.holders.iter().map(|holder| format!("  {holder}")))
    });
    let processes = seen.processes.iter().map(|process| format!("process {process}"));
    for (line, words) in (1..rest.height).zip(holders.chain(processes)) {
        text::put(frame, rest, line, &format!(" {}", text::one_line(&words)), theme.plain());
    }
    cockpit.capacity_cursor = cursor;
}

fn row(limit: &LimitLine, theme: Theme) -> Cells {
    let full = limit.permille.is_some_and(|permille| permille >= 1_000);
    let style = if full || limit.queued > 0 { theme.ask() } else { theme.plain() };
    let state = if limit.state == "open" { theme.plain() } else { theme.ask() };
    vec![
        (text::one_line(&limit.name), style),
        (limit.used.clone(), style),
        (limit.limit.clone(), theme.plain()),
        (limit.permille.map(|permille| bar(permille.into(), 1_000)).unwrap_or_default(), style),
        (if limit.queued > 0 { limit.queued.to_string() } else { String::new() }, theme.ask()),
        (limit.state.clone(), state),
        (text::one_line(&limit.origin), theme.dim()),
    ]
}
