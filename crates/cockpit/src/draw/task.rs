//! One task: what is known of it, and its texts, the growing one followed to its end.

use super::run;
use super::text;
use super::theme::Theme;
use crate::cockpit::{Cockpit, Place};
use crate::seen::TaskSeen;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

pub fn draw(frame: &mut Frame<'_>, area: Rect, cockpit: &mut Cockpit, theme: Theme) {
    let used = cockpit.run.as_ref().map_or(0, |seen| run::head(frame, area, seen, theme));
    let area = Rect { y: area.y + used, height: area.height - used, ..area };
    let Place::Task(_, task) = &cockpit.place else { return };
    let follows = cockpit.scroll.is_none();
    let words = format!(" {}{}", text::one_line(&task.0), if follows { "  (following its end)" } else { "" });
    text::put(frame, area, 0, &words, theme.strong());
    let page = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let Some(seen) = &cockpit.task else {
        cockpit.page = (0, page.height.into());
        return text::put(frame, page, 0, " looking …", theme.dim());
    };
    let lines = lines(seen, page.width.into(), theme);
    let height = usize::from(page.height);
    let last = lines.len().saturating_sub(height);
    let first = cockpit.scroll.unwrap_or(last).min(last);
    for (line, (words, style)) in (0..page.height).zip(&lines[first..]) {
        text::put(frame, page, line, words, *style);
    }
    if last > 0 {
        let place = format!(" {}% ", (first + height).min(lines.len()) * 100 / lines.len());
        text::put_right(frame, Rect { height: 1, ..area }, text_width(&words), &place, theme.dim());
    }
    cockpit.page = (lines.len(), height);
}

fn text_width(words: &str) -> u16 {
    unicode_width::UnicodeWidthStr::width(words) as u16
}

fn lines(seen: &TaskSeen, width: usize, theme: Theme) -> Vec<(String, Style)> {
    let mut lines = Vec::new();
    for (name, value) in &seen.facts {
        let value = text::wrapped(value, width.saturating_sub(14));
        for (at, part) in value.into_iter().enumerate() {
            let name = if at == 0 { name.as_str() } else { "" };
            lines.push((format!(" {name:<12} {part}"), theme.plain()));
        }
    }
    for section in &seen.sections {
        let grows = if section.grows { " (grows)" } else { "" };
        lines.push((String::new(), theme.plain()));
        lines.push((format!(" ── {}{grows}", section.name), theme.strong()));
        let text = text::wrapped(&section.text, width.saturating_sub(2));
        lines.extend(text.into_iter().map(|line| (format!(" {line}"), theme.plain())));
    }
    lines
}
