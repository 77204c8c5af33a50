//! The live view as lines of text: a headline, what runs, what waits for what.
//!
//! Pure: the state, the time and the size of the window give the lines. However many tasks there are, at most
//! `height` lines come out; what does not fit is counted.

use super::task::{Phase, Task, Wait};
use super::{State, words};
use crate::paint::Paint;
use convoke_model::{TaskId, Timestamp};
use std::time::Duration;

/// The lines of the live view.
pub fn block(state: &State, now: Timestamp, width: usize, height: usize, paint: Paint) -> Vec<String> {
    let room = height.max(4) - 1;
    let mut lines = vec![paint.strong(&words::fit(&headline(state, now), width))];
    let running = rows(room / 2, state.running.values().map(|task| running(state, task, now)));
    let open = rows(room / 4, state.holding.values().filter_map(|task| holding(state, task)));
    lines.extend(limited(running, state.running.len(), "running"));
    lines.extend(limited(open, 0, "open"));
    let left = room.saturating_sub(lines.len()).max(1);
    let waits = state.waiting.values().map(|task| waiting(state, task, now));
    let not_ready = state.not_ready().map(|(task, needs)| not_ready(task, &needs));
    let waiting_rows = rows(left.saturating_sub(1).max(1), waits.chain(not_ready));
    let waiting_total = state.waiting.len() + state.not_ready().count();
    lines.extend(limited(waiting_rows, waiting_total, "waiting"));
    lines.truncate(height.max(4));
    fitted(lines, width)
}

fn rows(at_most: usize, rows: impl Iterator<Item = String>) -> Vec<String> {
    rows.take(at_most.max(1)).collect()
}

fn limited(mut rows: Vec<String>, total: usize, word: &str) -> Vec<String> {
    if total > rows.len() {
        rows.push(format!("  … {} more {word}", words::count((total - rows.len()) as u64)));
    }
    rows
}

/// All but the headline, which may hold colours and was fitted before.
fn fitted(lines: Vec<String>, width: usize) -> Vec<String> {
    let mut lines = lines.into_iter();
    let first = lines.next();
    first.into_iter().chain(lines.map(|line| words::fit(&line, width))).collect()
}

/// Workflow, time, done of total, failures, tokens, cost.
fn headline(state: &State, now: Timestamp) -> String {
    let mut parts = vec![state.workflow.clone(), words::duration(state.worked(now))];
    parts.push(format!("{}/{} done", words::count(state.ended.total()), words::count(state.total())));
    if state.ended.failed > 0 {
        parts.push(format!("{} failed", words::count(state.ended.failed)));
    }
    if state.ended.skipped + state.ended.cancelled > 0 {
        parts.push(format!("{} skipped", words::count(state.ended.skipped + state.ended.cancelled)));
    }
    parts.extend(words::usage(&state.usage));
    parts.join(" · ")
}

fn running(state: &State, id: &TaskId, now: Timestamp) -> String {
    let kind = state.kind(id).unwrap_or("");
    let Some(task) = state.tasks.get(id) else { return format!("  ▸ {id}") };
    let since = match task.phase {
        Phase::Running(since) => words::duration(now.since(since)),
        _ => String::new(),
    };
    let attempt = if task.attempts > 1 { format!("  attempt {}", task.attempts) } else { String::new() };
    format!("  ▸ {:<32} {kind:<9} {since}{attempt}", id.to_string())
}

/// A group with its numbers, a merge with its text so far; sub-workflows and others without any are left to their own tasks.
fn holding(state: &State, id: &TaskId) -> Option<String> {
    let Phase::Holding(members) = &state.tasks.get(id)?.phase else { return None };
    let total = members.total.unwrap_or(members.seen);
    let head = state.growing.get(id).and_then(|so_far| so_far.head.as_deref());
    let text = head.map(|head| format!("  {head}")).unwrap_or_default();
    (total > 0).then(|| {
        let kind = state.kind(id).unwrap_or("");
        format!("  ▪ {:<32} {kind:<9} {}/{total}{text}", id.to_string(), members.ended)
    })
}

fn waiting(state: &State, id: &TaskId, now: Timestamp) -> String {
    let Some(Task { phase: Phase::Waiting(wait), .. }) = state.tasks.get(id) else {
        return format!("  ◦ {id}");
    };
    let left = |moment: Timestamp| {
        words::duration(Duration::from_secs(moment.since(now).as_secs_f64().ceil() as u64))
    };
    let what = match wait {
        Wait::Person => "waits for a person".to_owned(),
        Wait::Capacity(on) => format!("waits for {on}"),
        Wait::Retry(at) => format!("tries again in {}", left(*at)),
        Wait::Until(at) => format!("waits {} more", left(*at)),
        Wait::Children => "waits for its children".to_owned(),
    };
    format!("  ◦ {:<32} {what}", id.to_string())
}

fn not_ready(id: &TaskId, needs: &[&TaskId]) -> String {
    let shown: Vec<_> = needs.iter().take(3).map(|need| need.to_string()).collect();
    let more = if needs.len() > 3 { format!(" and {} more", needs.len() - 3) } else { String::new() };
    format!("  ◦ {:<32} waits for {}{more}", id.to_string(), shown.join(", "))
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
