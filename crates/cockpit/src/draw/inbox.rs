//! The questions of all runs, oldest first; the chosen one with what it asks.

use super::runs::age;
use super::table::{self, Cells, left, right};
use super::text;
use super::theme::Theme;
use crate::cockpit::Cockpit;
use crate::seen::Asked;
use convoke_model::Timestamp;
use convoke_view::words;
use ratatui::Frame;
use ratatui::layout::Rect;

pub fn draw(frame: &mut Frame<'_>, area: Rect, cockpit: &mut Cockpit, theme: Theme) {
    let length = cockpit.runs.questions.len();
    if length == 0 {
        let words = match &cockpit.runs.problem {
            Some(_) => "no question can be shown",
            None => "nothing wants a person",
        };
        return text::put(frame, area, 1, &format!(" {words}"), theme.dim());
    }
    let shown = (length as u16 + 1).min(area.height / 2).max(2);
    let list = Rect { height: shown, ..area };
    let columns = [
        left("", 1),
        left("KIND", 9),
        left("TASK", 0),
        left("WORKFLOW", 16),
        right("ALIKE", 5),
        right("WAITS", 9),
        right("UNTIL", 9),
    ];
    let mut cursor = cockpit.inbox_cursor;
    let (questions, now) = (&cockpit.runs.questions, cockpit.now);
    let alike = |asked: &Asked| questions.iter().filter(|other| other.alike == asked.alike).count();
    table::draw(frame, list, &columns, (&mut cursor, length), theme, |at| {
        row(&questions[at], alike(&questions[at]), now, theme)
    });
    cockpit.inbox_cursor = cursor;
    let rest = Rect { y: area.y + shown, height: area.height - shown, ..area };
    if let Some(asked) = cockpit.runs.questions.get(cursor.at) {
        preview(frame, rest, asked, theme);
    }
}

fn row(asked: &Asked, alike: usize, now: Timestamp, theme: Theme) -> Cells {
    let until = asked.until.map(|until| age(now, until)).unwrap_or_default();
    vec![
        ("?".to_owned(), theme.ask()),
        (asked.kind.clone(), theme.plain()),
        (text::one_line(&words::task(&asked.task)), theme.plain()),
        (text::one_line(&asked.workflow), theme.dim()),
        (if alike > 1 { alike.to_string() } else { String::new() }, theme.dim()),
        (age(asked.opened, now), theme.dim()),
        (until, theme.ask()),
    ]
}

fn preview(frame: &mut Frame<'_>, area: Rect, asked: &Asked, theme: Theme) {
    text::put(frame, area, 0, &"─".repeat(area.width.into()), theme.dim());
    let mut lines = Vec::new();
    lines.extend(asked.last_steps.iter().map(|step| (format!("  {}", text::one_line(step)), theme.dim())));
    let width = usize::from(area.width).saturating_sub(2);
    lines.extend(
        text::wrapped(&asked.text, width).into_iter().map(|line| (format!(" {line}"), theme.plain())),
    );
    for choice in &asked.options {
        let then = choice.then.as_ref().map(|then| format!(": {then}")).unwrap_or_default();
        let words = text::one_line(&format!("[{}]{then}", choice.label));
        lines.push((format!("  {words}"), theme.strong()));
    }
    let room = usize::from(area.height.saturating_sub(1));
    let cut = lines.len() > room;
    for (line, (words, style)) in
        (1..).zip(lines.iter().take(if cut { room.saturating_sub(1) } else { room }))
    {
        text::put(frame, area, line, words, *style);
    }
    if cut {
        text::put(frame, area, area.height - 1, " … enter shows the whole question", theme.dim());
    }
}
