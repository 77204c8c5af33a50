//! All runs: how each stands, how far it is, what it costs, whether it wants a person.

use super::table::{self, Cells, left, right};
use super::text;
use super::theme::Theme;
use crate::cockpit::Cockpit;
use crate::seen::RunLine;
use convoke_model::Timestamp;
use convoke_view::words;
use ratatui::Frame;
use ratatui::layout::Rect;
use std::time::Duration;

/// Columns of a bar.
const BAR: u64 = 8;

pub fn draw(frame: &mut Frame<'_>, area: Rect, cockpit: &mut Cockpit, theme: Theme) {
    if cockpit.runs.runs.is_empty() {
        let words = match (cockpit.has_looked, &cockpit.runs.problem) {
            (false, _) => "looking …",
            (true, Some(_)) => "no run can be shown",
            (true, None) => "no run yet: `convoke run FILE` starts one",
        };
        return text::put(frame, area, 1, &format!(" {words}"), theme.dim());
    }
    let columns = [
        left("", 1),
        left("STATUS", 11),
        left("WORKFLOW", 0),
        left("STEPS", 20),
        right("AGE", 9),
        right("COST", 9),
        left("RUN", 20),
    ];
    let length = cockpit.runs.runs.len();
    let mut cursor = cockpit.runs_cursor;
    let (runs, now) = (&cockpit.runs.runs, cockpit.now);
    table::draw(frame, area, &columns, (&mut cursor, length), theme, |at| row(&runs[at], now, theme));
    cockpit.runs_cursor = cursor;
}

fn row(line: &RunLine, now: Timestamp, theme: Theme) -> Cells {
    let (sign, style) = theme.status(line.status);
    let status = match line.asks {
        0 => line.status.word().replace('_', " "),
        asks => format!("asks {asks}"),
    };
    let (sign, style) = match (&line.problem, line.asks) {
        (Some(_), _) => ("!", theme.bad()),
        (None, 0) => (sign, style),
        (None, _) => ("?", theme.ask()),
    };
    let name = match &line.problem {
        Some(problem) => format!("{}: {}", line.workflow, problem),
        None => line.workflow.clone(),
    };
    vec![
        (sign.to_owned(), style),
        (status, style),
        (text::one_line(&name), theme.plain()),
        (steps(line), theme.plain()),
        (age(line.started, now), theme.dim()),
        (line.cost.clone().unwrap_or_default(), theme.plain()),
        (text::plain(&line.run.0), theme.dim()),
    ]
}

/// A bar by what is known of the whole, and the counts.
fn steps(line: &RunLine) -> String {
    let failed = if line.failed > 0 { format!(" {}✕", words::count(line.failed)) } else { String::new() };
    format!(
        "{} {}/{}{failed}",
        bar(line.done + line.failed, line.total),
        words::count(line.done),
        words::count(line.total)
    )
}

/// So much of the whole, drawn.
pub(super) fn bar(part: u64, whole: u64) -> String {
    let full = (part * BAR).checked_div(whole).unwrap_or(0).min(BAR);
    let (full, rest) = (full as usize, (BAR - full) as usize);
    format!("{}{}", "█".repeat(full), "░".repeat(rest))
}

/// How long ago, short.
pub(super) fn age(at: Timestamp, now: Timestamp) -> String {
    let time = now.since(at);
    match time.as_secs() {
        0..86_400 => words::duration(Duration::from_secs(time.as_secs())).replace(".0 s", " s"),
        seconds => format!("{} d", seconds / 86_400),
    }
}
