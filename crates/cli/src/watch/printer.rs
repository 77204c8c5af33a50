//! Puts what came in on standard error: a live block, or one line per event, or only what must be known.

use super::event_feed::{EventFeed, FRAME};
use crate::console::Voice;
use crate::json_log;
use crate::paint::Paint;
use crate::stdio;
use crate::view::{Screen, block, format, size};
use convoke_model::{Event, Timestamp};
use std::io::Stderr;
use std::time::{Duration, Instant};

/// Lines above the live block per frame; more would scroll away unread.
const MOST_ABOVE: usize = 24;

/// How time passes for the watcher.
#[derive(Debug, Clone, Copy, Default)]
pub enum Pace {
    /// As it does: the run goes on now.
    #[default]
    Live,
    /// The run is over and is shown again.
    Replayed {
        /// How many times quicker; 0: no time passes between events.
        speed: f64,
        /// Its first event.
        since: Timestamp,
    },
}

impl Pace {
    /// How much of the run's time has passed in so much of ours.
    fn passed(self, ours: Duration) -> Duration {
        match self {
            Pace::Live => ours,
            Pace::Replayed { speed, .. } => ours.mul_f64(speed),
        }
    }
}

/// Which events become lines, and how they look.
#[derive(Debug, Clone, Copy)]
pub struct Wants {
    voice: Voice,
    live: bool,
    pace: Pace,
    /// Colours.
    pub paint: Paint,
}

impl Wants {
    /// Every event that has a line.
    #[cfg(test)]
    pub fn everything(paint: Paint) -> Wants {
        Wants { voice: Voice::Normal, live: false, pace: Pace::Live, paint }
    }

    /// Whether an event becomes a line.
    pub fn line_for(&self, event: &Event) -> bool {
        match self.voice {
            Voice::Silent => false,
            Voice::Quiet => is_warning(event),
            Voice::Normal => !is_concluded_later(event) && (!self.live || stays_on_screen(event)),
        }
    }

    /// Whether an event becomes a record, where every event is one.
    pub fn record_for(&self, event: &Event) -> bool {
        match self.voice {
            Voice::Silent => false,
            Voice::Quiet => is_warning(event),
            Voice::Normal => true,
        }
    }

    /// A warning that is no event, unless nothing is said at all.
    pub fn remark(&self, words: String) -> Option<String> {
        (self.voice != Voice::Silent).then(|| format!("{} {words}", self.paint.warn("note:")))
    }

    /// The line with the time of day, where lines make a log; of a past run, with the time since its start.
    pub fn dated(&self, at: Timestamp, text: String) -> String {
        match self.pace {
            _ if self.live => text,
            Pace::Live => format!("{} {text}", format::clock(at)),
            Pace::Replayed { since, .. } => format!("{:>9} {text}", format::duration(at.since(since))),
        }
    }
}

fn is_warning(event: &Event) -> bool {
    matches!(
        event,
        Event::Noted { .. }
            | Event::BudgetExceeded { .. }
            | Event::BudgetSpent { .. }
            | Event::TaskFailed { .. }
            | Event::AttemptLost { .. }
            | Event::Fenced { .. }
            | Event::HookRendered { failed: true, .. }
    )
}

/// What the block itself does not show.
fn stays_on_screen(event: &Event) -> bool {
    !matches!(
        event,
        Event::TaskStarted { .. }
            | Event::AttemptStarted { .. }
            | Event::AttemptTaken { .. }
            | Event::FannedOut { .. }
            | Event::MergeStarted { .. }
            | Event::ChildrenSpawned { .. }
            | Event::RouteTaken { .. }
            | Event::RetryScheduled { .. }
            | Event::Blocked { .. }
    )
}

/// The command says these itself when everything else is printed.
fn is_concluded_later(event: &Event) -> bool {
    matches!(event, Event::RunFinished { .. } | Event::RunParked { .. } | Event::RunInterrupted { .. })
}

/// Prints on standard error.
pub struct Printer {
    wants: Wants,
    screen: Screen<Stderr>,
    drawn: Option<Instant>,
    /// The engine's clock against ours, so that times go on between two events.
    last: Option<(Timestamp, Instant)>,
}

impl Printer {
    /// A printer that has printed nothing.
    pub fn new(voice: Voice, paint: Paint, live: bool, pace: Pace) -> Printer {
        let wants = Wants { voice, live, pace, paint };
        Printer { wants, screen: Screen::new(stdio::screen()), drawn: None, last: None }
    }

    /// What it prints.
    pub fn wants(&self) -> Wants {
        self.wants
    }

    /// Prints what is due. A terminal that cannot be written to must not end the run, so errors are dropped.
    pub fn print(&mut self, feed: &mut EventFeed) {
        match self.wants.live {
            false => self.print_lines(feed),
            true if self.drawn.is_none_or(|at| at.elapsed() >= FRAME) => self.draw(feed),
            true => {}
        }
    }

    /// Takes the block away and prints what is left, so that something else can use the terminal.
    pub fn pause(&mut self, feed: &mut EventFeed) {
        self.screen.clear(size().0).ok();
        self.drawn = None;
        feed.lines = self.shown(std::mem::take(&mut feed.lines));
        self.print_lines(feed);
    }

    fn shown(&self, lines: Vec<String>) -> Vec<String> {
        if self.wants.live { shortened(lines) } else { lines }
    }

    fn print_lines(&self, feed: &mut EventFeed) {
        if feed.lines.is_empty() {
            return;
        }
        if json_log::is_on() {
            return feed.lines.drain(..).for_each(|line| stdio::err(&line));
        }
        let text = feed.lines.join("\n");
        feed.lines.clear();
        stdio::err(&text);
    }

    fn draw(&mut self, feed: &mut EventFeed) {
        let (width, height) = size();
        let above = shortened(std::mem::take(&mut feed.lines));
        let now = self.now(feed.state.last);
        // One row stays free for the cursor, and a third of the window for what scrolls above.
        let block = block(&feed.state, now, width, (height * 2 / 3).max(4), self.wants.paint);
        self.screen.draw(&above, &block, width).ok();
        self.drawn = Some(Instant::now());
    }

    fn now(&mut self, last: Timestamp) -> Timestamp {
        let known = self.last.filter(|(at, _)| *at == last);
        let (at, seen) = known.unwrap_or((last, Instant::now()));
        self.last = Some((at, seen));
        at + self.wants.pace.passed(seen.elapsed())
    }
}

/// At most a screenful of lines; what is left out is counted.
fn shortened(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() <= MOST_ABOVE {
        return lines;
    }
    let bad = |line: &String| line.contains("failed") || line.contains("note:");
    let (mut kept, rest): (Vec<_>, Vec<_>) = lines.drain(..).partition(bad);
    let room = MOST_ABOVE.saturating_sub(kept.len());
    let skipped = rest.len().saturating_sub(room);
    if skipped > 0 {
        kept.push(format!("… {} more lines", format::count(skipped as u64)));
    }
    kept.extend(rest.into_iter().skip(skipped));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_lines_is_counted_but_failures_stay() {
        let mut lines: Vec<_> = (0..500).map(|i| format!("g[{i}] done")).collect();
        lines.push("g[7] failed (timeout): slow".to_owned());
        let short = shortened(lines);
        assert_eq!(short.len(), MOST_ABOVE + 1);
        assert!(short[0].contains("failed"));
        assert_eq!(short[1], "… 477 more lines");
        assert_eq!(short.last().unwrap(), "g[499] done");
    }

    #[test]
    fn quiet_says_only_what_must_be_known() {
        let wants = Wants { voice: Voice::Quiet, live: false, pace: Pace::Live, paint: Paint::off() };
        assert!(!wants.line_for(&Event::RunParked { waiting: vec![] }));
        assert!(wants.line_for(&Event::Noted { task: None, code: "x".into(), message: "y".into() }));
    }
}
