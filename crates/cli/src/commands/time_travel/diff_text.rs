//! The difference between two runs in words: the first cause, the others, what follows, and what it cost.

use crate::difference::difference;
use crate::paint::Paint;
use crate::view::format;
use convoke_engine::compare::{Cause, Change, Comparison, Consequence, RunTotals, Since, parting};
use indexmap::IndexMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Consequences of one step that are listed one by one.
const MOST_OF_STEP: usize = 8;
/// Steps whose consequences are listed, and tasks whose costs are.
const MOST_STEPS: usize = 30;
/// Values of one cause that are shown.
const MOST_CHANGES: usize = 4;

/// The whole comparison.
pub fn text(comparison: &Comparison, paint: Paint, full: bool) -> String {
    let mut out = String::new();
    match comparison.causes.split_first() {
        None => out.push_str("the runs are equal: same questions, same answers, same decisions\n"),
        Some((first, others)) => {
            let _ = writeln!(out, "{}", paint.strong(&format!("the runs part {}", headline(first))));
            out.push_str(&changes(&first.changes, full));
            let (effective, rest): (Vec<_>, Vec<_>) = others.iter().partition(|cause| cause.has_effect);
            out.push_str(&causes("other causes, which do not follow from it:", &effective, full));
            out.push_str(&causes(
                "different in the plan or at the start, without a visible effect:",
                &rest,
                full,
            ));
        }
    }
    out.push_str(&consequences(comparison, full));
    out.push_str(&circumstances(&comparison.circumstances));
    out.push_str(&totals(comparison, full));
    out
}

fn headline(cause: &Cause) -> String {
    let events = events(cause.events);
    let place = if events.is_empty() { "nowhere that shows".to_owned() } else { format!("at {events}") };
    format!("{place}: {}", named(cause))
}

fn named(cause: &Cause) -> String {
    let subject = cause.task.as_ref().map(|task| format!(" of {task}")).unwrap_or_default();
    let also = match cause.also.len() {
        0 => String::new(),
        1 => format!(" (also {})", cause.also[0]),
        more => format!(" (also {} and {} more)", cause.also[0], more - 1),
    };
    format!("{}{subject}: {}{also}", cause.kind.word(), cause.what)
}

/// `event 5 of the first run, 7 of the second`.
fn events(events: [Option<u64>; 2]) -> String {
    match events {
        [Some(old), Some(new)] if old == new => format!("event {old} of both"),
        [Some(old), Some(new)] => format!("event {old} of the first run, {new} of the second"),
        [Some(old), None] => format!("event {old} of the first run"),
        [None, Some(new)] => format!("event {new} of the second run"),
        [None, None] => String::new(),
    }
}

fn causes(heading: &str, causes: &[&Cause], full: bool) -> String {
    if causes.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{heading}\n");
    for cause in causes {
        let place = events(cause.events);
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        let _ = writeln!(out, "  {}{place}", named(cause));
        out.push_str(&changes(&cause.changes, full));
    }
    out
}

fn changes(changes: &[Change], full: bool) -> String {
    let most = if full { usize::MAX } else { MOST_CHANGES };
    let mut out: String = changes.iter().take(most).map(|change| one(change, full)).collect();
    if changes.len() > most {
        let _ = writeln!(out, "    … {} more values; --full shows all", changes.len() - most);
    }
    out
}

fn one(change: &Change, full: bool) -> String {
    let Change { field, before, after } = change;
    let (old, new) = (before.as_deref().unwrap_or(""), after.as_deref().unwrap_or(""));
    if full && (old.contains('\n') || new.contains('\n')) {
        return format!("    {field}:\n{}", indented(&difference(old, new)));
    }
    let (old, new) = if full { (old.to_owned(), new.to_owned()) } else { parting(old, new) };
    let side = |mark: &str, value: &Option<String>, text: &str| match value {
        Some(_) => format!("    {mark} {field}: {text}\n"),
        None => String::new(),
    };
    side("-", before, &old) + &side("+", after, &new)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// By step of the run; what is said of many tasks of a step is said once.
fn consequences(comparison: &Comparison, full: bool) -> String {
    let all = &comparison.consequences;
    if all.is_empty() {
        return String::new();
    }
    let mut steps: IndexMap<&str, Vec<&Consequence>> = IndexMap::new();
    for one in all {
        let task = one.task.as_deref().unwrap_or("the run");
        steps.entry(task.split(['/', '[', '#']).next().unwrap_or(task)).or_default().push(one);
    }
    let mut out = format!("\n{}:\n", format::plural(all.len() as u64, "consequence"));
    let most = if full { usize::MAX } else { MOST_STEPS };
    for (step, ones) in steps.iter().take(most) {
        if full || ones.len() <= MOST_OF_STEP {
            ones.iter().for_each(|one| out.push_str(&listed(one, full)));
        } else {
            out.push_str(&folded(step, ones));
        }
    }
    if steps.len() > most {
        let _ = writeln!(out, "  … {} more steps; --full shows all", steps.len() - most);
    }
    out
}

fn listed(one: &Consequence, full: bool) -> String {
    let task = one.task.as_deref().unwrap_or("the run");
    let since = match &one.follows_from {
        Since::Task(task) => format!(", since {task} differs"),
        Since::Cause => String::new(),
    };
    let depth = task.matches('/').count();
    let mut out = format!("  {}{task}: {}{since}\n", "  ".repeat(depth), one.what);
    if full {
        out.push_str(&changes(&one.changes, true));
    }
    out
}

fn folded(step: &str, ones: &[&Consequence]) -> String {
    let mut counts: IndexMap<&str, u64> = IndexMap::new();
    ones.iter().for_each(|one| *counts.entry(one.what.as_str()).or_default() += 1);
    let said: Vec<String> =
        counts.iter().map(|(what, count)| format!("{}: {what}", format::plural(*count, "task"))).collect();
    format!("  {step}: {}\n", said.join("; "))
}

fn circumstances(changes: &[Change]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let lines = changes
        .iter()
        .map(|change| format!("  {}: {} -> {}\n", change.field, text(&change.before), text(&change.after)));
    format!("\nalso different:\n{}", lines.collect::<String>())
}

fn totals(comparison: &Comparison, full: bool) -> String {
    let [old, new] = &comparison.runs;
    let name = |run: &RunTotals| run.run.as_ref().map(|run| run.to_string()).unwrap_or_default();
    let word = |run: &RunTotals| run.status.map_or("unknown", |status| status.word()).to_owned();
    let time = |run: &RunTotals| format::duration(Duration::from_millis(run.totals.ms));
    let mut rows = vec![
        ["run".to_owned(), name(old), name(new)],
        ["status".to_owned(), word(old), word(new)],
        ["events".to_owned(), old.events.to_string(), new.events.to_string()],
        ["time".to_owned(), time(old), time(new)],
        ["attempts".to_owned(), old.totals.attempts.to_string(), new.totals.attempts.to_string()],
        ["tokens".to_owned(), tokens(old), tokens(new)],
        ["cost".to_owned(), cost(old), cost(new)],
    ];
    let most = if full { usize::MAX } else { MOST_STEPS };
    for one in comparison.tasks.iter().take(most) {
        let side = |side: usize| {
            one.totals[side].map_or("not there".to_owned(), |totals| {
                let paid = format::usage(&totals.usage).map(|paid| format!(", {paid}")).unwrap_or_default();
                format!("{}{paid}", format::plural(totals.attempts.into(), "attempt"))
            })
        };
        let [old, new] = [side(0), side(1)];
        if old != new {
            rows.push([one.task.to_string(), old, new]);
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    let lines = rows.iter().map(|[name, old, new]| {
        let line = format!("  {}  {}  {new}", format::pad(name, first), format::pad(old, second));
        format!("{}\n", line.trim_end())
    });
    format!("\n{}", lines.collect::<String>())
}

fn tokens(run: &RunTotals) -> String {
    format::count(run.totals.usage.tokens())
}

fn cost(run: &RunTotals) -> String {
    match &run.totals.usage {
        usage if usage.cost_micros == 0 && usage.unpriced_calls > 0 => "unknown".to_owned(),
        usage => format::cost(usage).unwrap_or_else(|| "none".to_owned()),
    }
}
