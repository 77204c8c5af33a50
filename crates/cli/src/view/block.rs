//! The live view as lines of text: the totals, what waits for a person, what runs, what waits for what.
//!
//! Pure: the state, the time and the size of the window give the lines. However many tasks there are, at most
//! `height` lines come out; what does not fit is counted. Invariant: no line is wider than the window, and where one
//! must be cut, the name is, before the words that say how it stands.

use super::format;
use super::rows::{Row, fan_out, folded};
use crate::escape;
use crate::paint::Paint;
use convoke_model::{TaskId, Timestamp, Usage};
use convoke_view::{Phase, State, Task, Wait};
use std::collections::HashSet;
use std::time::Duration;

/// Columns of a name, where there are that many.
const NAME: usize = 32;

/// The fewest columns of a name.
const SHORT_NAME: usize = 12;

/// The fewest columns in which the end of an answer is worth showing.
const TAIL: usize = 12;

/// The lines of the live view.
pub fn block(state: &State, now: Timestamp, width: usize, height: usize, paint: Paint) -> Vec<String> {
    let view = View { state, now, width };
    let height = height.max(4);
    let mut lines = vec![paint.strong(&view.headline())];
    let room = height - 1;
    let (people, others): (Vec<_>, Vec<_>) = state.waiting.values().partition(|task| view.is_asking(task));
    lines.extend(view.section(
        (room / 4).max(1),
        people.into_iter().map(Row::One).collect(),
        "asking",
        View::waiting,
    ));
    let running = folded(state, state.running.values());
    let told: HashSet<TaskId> = running.iter().filter_map(Row::fan_out).cloned().collect();
    lines.extend(view.section(room / 2, running, "running", View::running));
    lines.extend(view.groups(room / 4, &told));
    let left = room.saturating_sub(lines.len()).max(1);
    let waiting = folded(state, others.into_iter());
    lines.extend(view.section(left, waiting, "waiting", View::waiting));
    let left = height.saturating_sub(lines.len());
    let not_ready: Vec<_> = state.not_ready().map(|(task, needs)| view.not_ready(task, &needs)).collect();
    lines.extend(view.counted(left, not_ready.into_iter().map(|line| (line, 1)).collect(), "not started"));
    lines.truncate(height);
    lines
}

/// What is looked at, when, and in how wide a window.
struct View<'a> {
    state: &'a State,
    now: Timestamp,
    width: usize,
}

impl View<'_> {
    /// Workflow, time, how many are done, run and wait, failures, tokens, cost.
    fn headline(&self) -> String {
        let state = self.state;
        let mut parts = vec![format::duration(state.worked(self.now))];
        parts.extend(state.blocked.map(|on| format!("blocked: {}", on.word())));
        parts.push(format!("{}/{} done", format::count(state.ended.total()), format::count(state.total())));
        let counts = [
            (state.ended.failed, "failed"),
            (state.ended.skipped + state.ended.cancelled, "skipped"),
            (state.running.len() as u64, "running"),
            (state.waiting.len() as u64, "waiting"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        parts.extend(counts.map(|(count, word)| format!("{} {word}", format::count(*count))));
        parts.extend(format::usage(&with(state.usage, state.activity.tokens())));
        // In a narrow window the last ones are left out whole.
        let room = self.width.saturating_sub(escape::columns(&state.workflow).min(SHORT_NAME) + 3);
        while parts.len() > 2 + usize::from(state.blocked.is_some())
            && escape::columns(&parts.join(" · ")) > room
        {
            parts.pop();
        }
        let totals = parts.join(" · ");
        let name = self.width.saturating_sub(escape::columns(&totals) + 3).max(SHORT_NAME);
        format::fit(&format!("{} · {totals}", format::fit(&state.workflow, name)), self.width)
    }

    fn is_asking(&self, task: &TaskId) -> bool {
        matches!(self.state.tasks.get(task), Some(Task { phase: Phase::Waiting(Wait::Person(_)), .. }))
    }

    /// Rows of one kind, as many as there is room for; the rest is counted.
    fn section(
        &self,
        room: usize,
        rows: Vec<Row<'_>>,
        word: &str,
        line: impl Fn(&Self, &Row<'_>) -> String,
    ) -> Vec<String> {
        // Only what is shown is put into words: there may be thousands.
        let drawn = |(i, row): (usize, &Row<'_>)| match i < room.max(1) {
            true => (line(self, row), row.tasks()),
            false => (String::new(), row.tasks()),
        };
        self.counted(room, rows.iter().enumerate().map(drawn).collect(), word)
    }

    /// Lines with the number of tasks behind each; the last line counts what does not fit.
    fn counted(&self, room: usize, rows: Vec<(String, usize)>, word: &str) -> Vec<String> {
        if room == 0 {
            return Vec::new();
        }
        let shown = if rows.len() > room { room - 1 } else { rows.len() };
        let hidden: usize = rows[shown..].iter().map(|(_, tasks)| tasks).sum();
        let mut lines: Vec<_> = rows.into_iter().take(shown).map(|(line, _)| line).collect();
        if hidden > 0 {
            lines.push(format::fit(&format!("  … {} more {word}", format::count(hidden as u64)), self.width));
        }
        lines
    }

    /// What a task is called: its own words, or its path with names as they were written.
    fn name(&self, task: &TaskId, columns: usize) -> String {
        match self.state.titles.of(task) {
            Some(title) => format::fit(title, columns),
            None => format::fit_path(&format::task(task), columns),
        }
    }

    /// A row: the name gives way to how it stands, and what else can be told takes what is left.
    fn row(&self, mark: char, name: impl Fn(usize) -> String, stands: &str, tail: &str) -> String {
        let stands = escape::line(stands);
        let taken = 4 + 1 + escape::columns(&stands);
        let columns = NAME.max(self.width.saturating_sub(taken + tail.len().min(2 * NAME) + 2));
        let room = self.width.saturating_sub(taken);
        let columns = columns.min(room).max(SHORT_NAME);
        // A short name is not padded at the cost of how it stands.
        let line = format!("  {mark} {} {stands}", format::pad(&name(columns), NAME.min(columns).min(room)));
        let left = self.width.saturating_sub(escape::columns(&line) + 2);
        match left >= TAIL && !tail.trim().is_empty() {
            true => format!("{line}  {}", format::fit_end(tail, left)),
            false => format::fit(line.trim_end(), self.width),
        }
    }

    fn running(&self, row: &Row<'_>) -> String {
        match row {
            Row::One(task) => self.running_task(task),
            Row::Many { of, first, count } => {
                let oldest = self.since(first).map(|since| format!(", oldest {since}")).unwrap_or_default();
                let done = self.members(of).map(|done| format!("{done}, ")).unwrap_or_default();
                let stands = format!("{done}{} running{oldest}", format::count(*count as u64));
                self.row('▸', |columns| self.name(of, columns), &stands, "")
            }
        }
    }

    fn running_task(&self, id: &TaskId) -> String {
        let now = self.state.activity.of(id);
        let Some(task) = self.state.tasks.get(id) else {
            return self.row('▸', |columns| self.name(id, columns), "", "");
        };
        let mut parts: Vec<_> = self.state.kind(id).map(|kind| format::pad(kind, 9)).into_iter().collect();
        parts.extend(self.since(id));
        if task.attempts > 1 {
            parts.push(format!("attempt {}", task.attempts));
        }
        parts.extend(now.and_then(|now| tools(&now.tools)));
        parts.extend(format::usage(&with(task.usage, now.map_or(0, |now| now.tokens()))));
        let tail = now.map_or("", |now| now.tail.as_str());
        self.row('▸', |columns| self.name(id, columns), &parts.join("  "), tail)
    }

    fn since(&self, id: &TaskId) -> Option<String> {
        match self.state.tasks.get(id)?.phase {
            Phase::Running(since) => Some(format::duration(self.now.since(since))),
            _ => None,
        }
    }

    /// Open groups with their numbers, unless a row of their running items tells these. An item of a fan-out is in the
    /// numbers of that.
    fn groups(&self, room: usize, told: &HashSet<TaskId>) -> Vec<String> {
        let groups = self.state.holding.values().filter(|task| !told.contains(*task));
        let shown = groups.filter(|task| {
            // What a goal's task is doing stands among the running ones, unless it was split.
            let is_told = self.state.titles.of(task).is_some() && !self.is_split(task);
            !is_told && fan_out(self.state, task).is_none()
        });
        let rows: Vec<_> = shown.filter_map(|task| self.group(task)).map(|line| (line, 1)).collect();
        self.counted(room.max(1), rows, "open")
    }

    fn is_split(&self, task: &TaskId) -> bool {
        matches!(self.state.tasks.get(task), Some(Task { phase: Phase::Holding(members), .. }) if members.steps > 0)
    }

    /// How many members of a group have ended, of how many.
    fn members(&self, id: &TaskId) -> Option<String> {
        let Phase::Holding(members) = &self.state.tasks.get(id)?.phase else { return None };
        let total = members.total.unwrap_or(members.seen);
        (total > 0).then(|| format!("{}/{total}", members.ended))
    }

    /// A group with its numbers, a merge with its text so far; those without any are left to their own tasks.
    fn group(&self, id: &TaskId) -> Option<String> {
        let members = self.members(id)?;
        let head = self.state.partial_merges.get(id).and_then(|so_far| so_far.head.as_deref());
        let kind = self.state.kind(id).map(|kind| format::pad(kind, 10)).unwrap_or_default();
        let stands = format!("{kind}{members}");
        let line = self.row('▪', |columns| self.name(id, columns), &stands, "");
        Some(match head {
            Some(head) => format::fit(&format!("{line}  {head}"), self.width),
            None => line,
        })
    }

    fn waiting(&self, row: &Row<'_>) -> String {
        match row {
            Row::One(task) => self.row('◦', |columns| self.name(task, columns), &self.waits(task), ""),
            Row::Many { of, first, count } => {
                let stands = format!("{} items: {}", format::count(*count as u64), self.waits(first));
                self.row('◦', |columns| self.name(of, columns), &stands, "")
            }
        }
    }

    fn waits(&self, id: &TaskId) -> String {
        let Some(Task { phase: Phase::Waiting(wait), .. }) = self.state.tasks.get(id) else {
            return String::new();
        };
        let left = |moment: Timestamp| {
            format::duration(Duration::from_secs(moment.since(self.now).as_secs_f64().ceil() as u64))
        };
        match wait {
            Wait::Person(0) => "waits for a person".to_owned(),
            Wait::Person(number) => format!("waits for a person (~{number})"),
            Wait::Capacity(on) => format!("waits for {on}"),
            Wait::Retry(at) => format!("tries again in {}", left(*at)),
            Wait::Until(at) => format!("waits {} more", left(*at)),
            Wait::Children => "waits for its children".to_owned(),
        }
    }

    fn not_ready(&self, id: &TaskId, needs: &[&TaskId]) -> String {
        let shown: Vec<_> = needs.iter().take(3).map(|need| self.name(need, NAME)).collect();
        let more = if needs.len() > 3 { format!(" and {} more", needs.len() - 3) } else { String::new() };
        let stands = format!("waits for {}{more}", shown.join(", "));
        self.row('◦', |columns| self.name(id, columns), &stands, "")
    }
}

/// What was used, and what has come in besides.
fn with(used: Usage, tokens: u64) -> Usage {
    Usage { output_tokens: used.output_tokens + tokens, estimated: used.estimated || tokens > 0, ..used }
}

/// The tools that run: the first by name.
fn tools(running: &[String]) -> Option<String> {
    match running {
        [] => None,
        [tool] => Some(format!("calls {tool}")),
        [tool, others @ ..] => Some(format!("calls {tool} and {} more", others.len())),
    }
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
