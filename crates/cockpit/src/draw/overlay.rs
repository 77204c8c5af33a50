//! What lies on top: help, a question, a line that is typed, a yes or no.

use super::text;
use super::theme::Theme;
use crate::answering::Answering;
use crate::cockpit::Cockpit;
use crate::overlay::{Act, For, Overlay};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear};

const HELP: &str = "\
1 2 3      runs, inbox, capacity
enter      open what is chosen; in the inbox: answer it
q esc      back; on runs, inbox and capacity q leaves
j k        move; page up and down, home, end too

a          answer what the chosen run or task asks
s  S       stop the run: attempts finish first; S: at once
r          go on with a run, as a process of its own
R          do the chosen task again, and what followed from it
g          say something to the chosen task's agent, or to the run's goal
f          of a run: all, open, running, failed, waiting tasks
           of a task: follow its growing end, or stop following
/          tasks with a word in their name

○ waiting  ◌ blocked  ◐ running  ● done  ✕ failed  ? asks
⊘ skipped  ⊗ cancelled  ↻ retrying  ◇ interrupted";

pub fn draw(frame: &mut Frame<'_>, area: Rect, cockpit: &mut Cockpit, theme: Theme) {
    let alike = match &cockpit.overlay {
        Some(Overlay::Question(answering)) => cockpit.alike(&answering.asked).len(),
        _ => 0,
    };
    match &mut cockpit.overlay {
        None => {}
        Some(Overlay::Help) => help(frame, area, theme),
        Some(Overlay::Typing(of, line)) => typing(frame, area, of, &line.text, theme),
        Some(Overlay::Sure(act)) => sure(frame, area, act, theme),
        Some(Overlay::Question(answering)) => question(frame, area, answering, alike, theme),
    }
}

fn help(frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let lines: Vec<_> = HELP.lines().map(|line| (line.to_owned(), theme.plain())).collect();
    boxed(frame, area, " keys ", &lines, " any key closes this ", theme);
}

fn typing(frame: &mut Frame<'_>, area: Rect, of: &For, typed: &str, theme: Theme) {
    let (title, hint) = match of {
        For::Guidance(_, Some(task)) => (
            format!(" say to {} ", text::one_line(&task.0)),
            " enter says it, before its next turn; esc does not ",
        ),
        For::Guidance(run, None) => {
            (format!(" say to the goal of {} ", text::one_line(&run.0)), " enter says it; esc does not ")
        }
        For::Search => (" tasks with ".to_owned(), " enter keeps it; esc takes it away "),
    };
    let width = usize::from(area.width.min(78)).saturating_sub(4);
    let mut lines: Vec<_> =
        text::wrapped(&format!("{typed}▏"), width).into_iter().map(|line| (line, theme.plain())).collect();
    let last = lines.len().saturating_sub(8);
    lines.drain(..last);
    boxed(frame, area, &title, &lines, hint, theme);
}

fn sure(frame: &mut Frame<'_>, area: Rect, act: &Act, theme: Theme) {
    let words = match act {
        Act::Stop { run, now: false } => format!("stop run {run}? Its attempts finish first."),
        Act::Stop { run, now: true } => format!("stop run {run} at once? What its attempts are at is lost."),
        Act::Resume(run) => format!("go on with run {run}? What failed or was stopped gets another try."),
        Act::Retry { task, effects: None, .. } => {
            format!("do `{task}` again, and what followed from it? Nothing else that is finished.")
        }
        Act::Retry { effects: Some(effects), .. } => format!("{effects}\n\nrepeat that?"),
    };
    let width = usize::from(area.width.min(78)).saturating_sub(4);
    let mut lines: Vec<_> =
        text::wrapped(&words, width).into_iter().map(|line| (line, theme.plain())).collect();
    let room = usize::from(area.height).saturating_sub(4);
    if lines.len() > room {
        lines.truncate(room.saturating_sub(1));
        lines.push(("… more than there is room for: make the window larger".to_owned(), theme.bad()));
    }
    boxed(frame, area, " sure? ", &lines, " y does it; any other key does not ", theme);
}

/// The whole question: its text can be scrolled, its options stand below.
fn question(frame: &mut Frame<'_>, area: Rect, answering: &mut Answering, alike: usize, theme: Theme) {
    let width = usize::from(area.width).saturating_sub(4);
    let asked = &answering.asked;
    let mut lines: Vec<(String, Style)> = Vec::new();
    lines.extend(asked.last_steps.iter().map(|step| (text::fit(&text::one_line(step), width), theme.dim())));
    lines.extend(text::wrapped(&asked.text, width).into_iter().map(|line| (line, theme.plain())));
    let below = below(answering, width, theme);
    let inner = usize::from(area.height).saturating_sub(2);
    let room = inner.saturating_sub(below.len() + 1).max(3);
    let most = lines.len().saturating_sub(room);
    let first = usize::from(answering.scroll).min(most);
    answering.scroll = first as u16;
    let more = lines.len().saturating_sub(first + room);
    let mut shown: Vec<_> = lines.into_iter().skip(first).take(room).collect();
    shown.push(match more {
        0 => (String::new(), theme.plain()),
        more => (format!("… {more} more lines: page down"), theme.ask()),
    });
    shown.extend(below);
    let asked = &answering.asked;
    let title =
        format!(" {} of {} ({}) ", text::one_line(&asked.task.0), text::one_line(&asked.run.0), asked.kind);
    let hint = match (answering.typed.is_some(), alike) {
        (true, _) => " enter hands it in; esc does not ".to_owned(),
        (false, 0) => " j k choose; enter hands it in; esc does not ".to_owned(),
        (false, alike) => format!(" j k choose; enter hands it in; A for {alike} alike too; esc does not "),
    };
    boxed(frame, area, &title, &shown, &hint, theme);
}

/// What may be chosen or typed.
fn below(answering: &Answering, width: usize, theme: Theme) -> Vec<(String, Style)> {
    let mut lines = Vec::new();
    if let Some(field) = answering.current() {
        let must = if field.required { "" } else { " (may stay empty)" };
        let words = format!("{}{must}", field.text);
        lines.extend(text::wrapped(&words, width).into_iter().map(|line| (line, theme.strong())));
    }
    if let Some(typed) = &answering.typed {
        let words = format!("> {}▏", typed.text);
        lines.extend(text::wrapped(&words, width).into_iter().map(|line| (line, theme.plain())));
        return lines;
    }
    for (at, choice) in answering.choices().iter().enumerate() {
        let then = choice.then.as_ref().map(|then| format!(": {then}")).unwrap_or_default();
        let is_chosen = at == answering.choice.at;
        let mark = if is_chosen { ">" } else { " " };
        let words =
            text::fit(&text::one_line(&format!("{} [{}]{then}", choice.label, choice.value)), width - 2);
        lines.push((format!("{mark} {words}"), if is_chosen { theme.chosen() } else { theme.plain() }));
    }
    lines
}

/// A frame in the middle with these lines.
fn boxed(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    lines: &[(String, Style)],
    hint: &str,
    theme: Theme,
) {
    let widest = lines.iter().map(|(line, _)| unicode_width::UnicodeWidthStr::width(line.as_str())).max();
    let wanted = widest.unwrap_or(0).max(title.len()).max(hint.len()).min(1_000) as u16 + 4;
    let (width, height) = (wanted.min(area.width), (lines.len() as u16 + 2).min(area.height));
    let place =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    let block = Block::bordered()
        .title(text::fit(title, width.saturating_sub(2).into()))
        .title_bottom(hint)
        .border_style(theme.strong());
    let inner = block.inner(place);
    frame.render_widget(block, place);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    for (line, (words, style)) in (0..inner.height).zip(lines) {
        text::put(frame, inner, line, words, *style);
    }
}
