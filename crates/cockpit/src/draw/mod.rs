//! Draws the model: a head, a place, a line of words, a line of keys; what lies on top over it.
//!
//! Drawing decides nothing. It tells the model how much room a place had, so that the next key moves by it.

mod capacity;
mod inbox;
mod overlay;
mod run;
mod runs;
mod table;
mod task;
mod text;
mod theme;

pub use theme::Theme;

use crate::cockpit::{Cockpit, Place};
use convoke_view::words;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// What a screen must have at least.
const SMALLEST: (u16, u16) = (40, 8);

/// How long words stand at the bottom, in microseconds.
const SAID: u64 = 15_000_000;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, cockpit: &mut Cockpit, theme: Theme) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let (width, height) = SMALLEST;
        return text::put(frame, area, 0, &format!("too small: {width} x {height} at least"), theme.plain());
    }
    let body = Rect { y: 1, height: area.height - 3, ..area };
    head(frame, area, cockpit, theme);
    cockpit.height = usize::from(body.height.saturating_sub(2));
    match cockpit.place.clone() {
        Place::Runs => runs::draw(frame, body, cockpit, theme),
        Place::Inbox => inbox::draw(frame, body, cockpit, theme),
        Place::Capacity => capacity::draw(frame, body, cockpit, theme),
        Place::Run(_) => run::draw(frame, body, cockpit, theme),
        Place::Task(..) => task::draw(frame, body, cockpit, theme),
    }
    foot(frame, area, cockpit, theme);
    overlay::draw(frame, Rect { height: area.height - 1, ..area }, cockpit, theme);
}

/// Where it is, and what wants a person.
fn head(frame: &mut Frame<'_>, area: Rect, cockpit: &Cockpit, theme: Theme) {
    let asks = cockpit.runs.questions.len();
    let live = cockpit.runs.runs.iter().filter(|line| line.live).count();
    let at = |wanted: &Place| {
        let root = cockpit.before.first().unwrap_or(&cockpit.place);
        if root == wanted { theme.chosen() } else { theme.plain() }
    };
    let inbox = match asks {
        0 => " 2 inbox ".to_owned(),
        asks => format!(" 2 inbox ({asks}{}) ", if cockpit.runs.is_cut { "+" } else { "" }),
    };
    let attention =
        if asks > 0 && *at_root(cockpit) != Place::Inbox { theme.ask() } else { at(&Place::Inbox) };
    let left = Line::from(vec![
        Span::styled(" convoke ", theme.strong()),
        Span::styled(" 1 runs ", at(&Place::Runs)),
        Span::styled(inbox, attention),
        Span::styled(" 3 capacity ", at(&Place::Capacity)),
        Span::styled(format!("  {live} live"), theme.dim()),
    ]);
    let clock = format!("{}Z ", words::clock(cockpit.now));
    let right = format!("{} {clock}", text::tail(&text::plain(&cockpit.state), 24));
    let width = left.width() as u16;
    frame.buffer_mut().set_line(area.x, area.y, &left, area.width);
    let line = Rect { height: 1, ..area };
    let whole = usize::from(width) + right.chars().count() < usize::from(area.width);
    text::put_right(frame, line, width, if whole { &right } else { &clock }, theme.dim());
}

fn at_root(cockpit: &Cockpit) -> &Place {
    cockpit.before.first().unwrap_or(&cockpit.place)
}

/// What was said last, and the keys of the place.
fn foot(frame: &mut Frame<'_>, area: Rect, cockpit: &Cockpit, theme: Theme) {
    let said = cockpit.message.as_ref().filter(|(_, _, at)| cockpit.now.0.saturating_sub(at.0) < SAID);
    let line = area.height - 2;
    match (&said, &cockpit.runs.problem) {
        (Some((good, words, _)), _) => {
            let (mark, style) = if *good { ("", theme.good()) } else { ("! ", theme.bad()) };
            text::put(frame, area, line, &format!(" {mark}{}", text::one_line(words)), style);
        }
        (None, Some(problem)) => {
            let words = format!(" ! the runs cannot be read: {}", text::one_line(problem));
            text::put(frame, area, line, &words, theme.bad());
        }
        (None, None) => {}
    }
    text::put(frame, area, area.height - 1, keys(cockpit), theme.dim());
}

fn keys(cockpit: &Cockpit) -> &'static str {
    match &cockpit.place {
        Place::Runs => " enter open  a answer  s stop  r resume  g guide goal  j/k move  ? help  q quit",
        Place::Inbox => " enter answer  j/k move  1 runs  3 capacity  ? help  q quit",
        Place::Capacity => " j/k move  1 runs  2 inbox  ? help  q quit",
        Place::Run(_) => " enter open  f filter  / search  a answer  g guide  R retry  s stop  ? help  q",
        Place::Task(..) => " f follow  j/k scroll  a answer  g guide  R retry  s stop  ? help  q",
    }
}
