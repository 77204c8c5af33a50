//! One event as one line, for logs and for what scrolls above the live view.

use super::format;
use crate::cassette;
use crate::escape;
use crate::gate;
use crate::goal_request::origin;
use crate::paint::Paint;
use crate::reusing::explain;
use convoke_model::{
    BudgetAction, BudgetSpent, ChildSpec, Event, Failure, GateId, LimitAdapted, LimitReason, LimitSetting,
    MergeStrategy, Missing, ProbeVerdict, RunStarted, RunStatus, Stamped, TaskId, Timestamp, Usage, WaitsFor,
    reason,
};
use convoke_view::{ABOVE, Phase, State, Wait};
use std::time::Duration;

/// Columns of a task's own words on a line.
const TITLE: usize = 60;

/// Columns of the beginning of a text that grows.
const HEAD: usize = 120;

/// The line for an event, given the state before it; `None` for events that people need not see.
pub fn line(state: &State, stamped: &Stamped, paint: Paint) -> Option<String> {
    let at = stamped.at;
    let name = |task: &TaskId| called(state, task);
    let text = match &stamped.event {
        Event::RunStarted(started) => run_started(started),
        Event::RunOwned { epoch, .. } if *epoch > 1 => "resumed".to_owned(),
        Event::RunReopened(reopened) => {
            format!("reopened {}", format::plural(reopened.tasks.len() as u64, "task"))
        }
        Event::PlanChanged(changed) => plan_changed(&changed.dropped),
        Event::RunForked(forked) => format!("forked from {} after event {}", forked.run, forked.seq),
        Event::OutputTaken { task, from, .. } => format!("{}: {}", name(task), explain::origin(from)),
        Event::TaskAffected { task, because } => {
            format!("{} runs: {}", name(task), explain::reasons(because))
        }
        Event::TaskStarted { task, until, .. } => task_started(&name(task), *until, at),
        Event::FannedOut { task, count, .. } => {
            format!("{}: {}", name(task), format::plural((*count).into(), "item"))
        }
        Event::MergeStarted { task, strategy, sources, missing, .. } => {
            merge_started(&name(task), *strategy, sources, missing)
        }
        Event::ChildrenSpawned { task, children } => children_spawned(&name(task), children),
        Event::GoalDecided(decided) => {
            let about = decided.about.as_ref().unwrap_or(&decided.task);
            format!("{}: {} ({})", name(about), decided.chosen, decided.reason)
        }
        Event::PhaseDecided(decided) => {
            format!("{}: {} ({})", name(&decided.task), decided.chosen, decided.reason)
        }
        Event::Guided { text, by } => format!("guidance of {by}: {}", format::first_line(text)),
        Event::TaskGuided { task, text, by } => {
            format!("guidance of {by} for {task}: {}", format::first_line(text))
        }
        Event::Announced { task, kind, .. } => format!("{} announces {kind}", name(task)),
        Event::OutputsMissed { task, missing } => {
            format!("{} does without {}", name(task), format::plural(missing.len() as u64, "output"))
        }
        Event::AttemptStarted { task, attempt, .. } => attempt_started(state, task, *attempt),
        Event::AttemptFinished { task, usage, .. } => finished(state, task, *usage, at, paint),
        Event::AttemptFailed { task, attempt, failure, .. } => {
            attempt_failed(state, task, *attempt, failure, paint)
        }
        Event::ToolCalled { task, tool, ms, failed, .. } => {
            tool_called(&name(task), tool, *ms, *failed, paint)
        }
        Event::AttemptSuspended { task, waits_for: WaitsFor::Children(_), .. } => {
            format!("{} waits for its questions", name(task))
        }
        Event::AttemptSuspended { task, .. } => format!("{} is parked", name(task)),
        Event::AttemptTaken { task, pid, .. } => format!("{} is performed by process {pid}", name(task)),
        Event::AttemptLost { task, .. } => format!("{} was cut off", name(task)),
        Event::AttemptDetached { task, .. } => format!("{} goes on without Convoke", name(task)),
        Event::ProbeStarted { task, .. } => format!("{} is probed: did it have its effect?", name(task)),
        Event::EffectProbed { task, verdict, .. } => probed(&name(task), verdict),
        Event::CallLost { task, worst, .. } => call_lost(&name(task), worst),
        Event::RetryScheduled { task, at: when } => {
            format!("{} again in {}", name(task), format::duration(when.since(at)))
        }
        Event::TaskSucceeded { task, .. } => finished(state, task, Usage::default(), at, paint),
        Event::TaskFailed { task, failure } => task_failed(state, task, failure, paint),
        Event::TaskSkipped { task, cause } => format!("{} skipped: {cause}", name(task)),
        Event::TaskCancelled { task, cause } => format!("{} cancelled: {cause}", name(task)),
        Event::RouteTaken { from, to: Some(to), on_error, .. } => route(from, to, *on_error),
        Event::GateOpened { task, question, .. } => {
            let gate = GateId { task: task.clone(), question: *question };
            paint.warn(&format!("{} waits for a person ({})", name(task), escape::line(&gate.to_string())))
        }
        Event::GateAnswered { task, by, from, .. } => {
            format!("{} answered by {}", name(task), gate::author(by, from.as_deref()))
        }
        Event::Blocked { task, on } => format!("{} waits for {on}", name(task)),
        Event::Fenced { task, .. } => {
            let name = name(task);
            format!("{name} begins again: this process was away for longer than its lease lasts")
        }
        Event::LimitAdapted(change) => adapted(change, at),
        Event::BudgetExceeded { spent_micros, budget_micros } => {
            over_budget(*spent_micros, *budget_micros, paint)
        }
        Event::BudgetSpent(spent) => budget_spent(spent, paint),
        Event::ContextTrimmed { task, strategy, steps } => trimmed(&name(task), strategy, steps),
        Event::HookRendered { hook, text, .. } => format!("{}: {}", hook.word(), format::first_line(text)),
        Event::Noted { task, message, .. } => noted(task.as_ref().map(name), message, paint),
        Event::StopRequested { now, by } => stop_requested(*now, by),
        Event::MachineSlept { ms } => {
            format!("the machine slept for {}", format::duration(Duration::from_millis(*ms)))
        }
        Event::RunParked { waiting } => parked(waiting),
        Event::RunInterrupted { by } => format!("interrupted by {by}"),
        Event::RunFinished { status, .. } => run_finished(state, *status, at),
        _ => return None,
    };
    Some(escape::line(&text).into_owned())
}

/// A task as a line names it: its path, by which every command knows it, and its own words where it has some.
fn called(state: &State, task: &TaskId) -> String {
    match state.titles.of(task) {
        Some(title) => format!("{} ({})", format::task(task), format::fit(title, TITLE)),
        None => format::task(task),
    }
}

fn merge_started(task: &str, strategy: MergeStrategy, sources: &[TaskId], missing: &[Missing]) -> String {
    let lacks = match missing.len() {
        0 => String::new(),
        count => format!(", {count} missing"),
    };
    match (strategy, sources) {
        (MergeStrategy::Verify, [answer, ..]) => format!("{task} examines {}", format::task(answer)),
        (MergeStrategy::Progressive, []) => format!("{task} merges outputs as they arrive{lacks}"),
        _ => {
            let outputs = format::plural(sources.len() as u64, "output");
            format!("{task} merges {outputs}{lacks} ({})", strategy.word())
        }
    }
}

fn children_spawned(task: &str, children: &[ChildSpec]) -> String {
    let word = children.first().map_or("", |child| child.kind.word());
    format!("{task} asks {} ({word})", format::plural(children.len() as u64, "question"))
}

/// How a text begins that has just grown.
pub fn grown(state: &State, question: &TaskId) -> Option<String> {
    let task = state.partial_merges.asker(question)?;
    let so_far = state.partial_merges.get(&task)?;
    let merges = format::plural(so_far.merges.into(), "merge");
    let task = format::task(&task);
    let head = format::fit(so_far.head.as_deref()?, HEAD);
    Some(escape::line(&format!("{task} so far ({merges}): {head}")).into_owned())
}

fn call_lost(task: &str, worst: &Usage) -> String {
    let worst = format::usage(worst).unwrap_or_else(|| "nothing".to_owned());
    format!("{task}: the outcome of a call is unknown; {worst}, its upper bound, counts as spent")
}

fn run_started(started: &RunStarted) -> String {
    let cassette = cassette::words(&started.metadata);
    format!("run {} of {} ({}){cassette}", started.run, started.workflow, origin(&started.file))
}

fn plan_changed(dropped: &[TaskId]) -> String {
    format!(
        "the workflow file changed: {} start from the beginning",
        format::plural(dropped.len() as u64, "task")
    )
}

fn task_started(task: &str, until: Option<Timestamp>, at: Timestamp) -> String {
    match until {
        Some(moment) => format!("{task} waits {}", format::duration(moment.since(at))),
        None => format!("{task} started"),
    }
}

fn attempt_started(state: &State, task: &TaskId, attempt: u32) -> String {
    let phase = state.tasks.get(task).map(|task| &task.phase);
    let name = called(state, task);
    match attempt {
        0 | 1 => format!("{name} started"),
        // Nothing failed: it has the answers that it waited for.
        _ if matches!(phase, Some(Phase::Holding(_) | Phase::Waiting(Wait::Children))) => {
            format!("{name} goes on")
        }
        _ => format!("{name} started, attempt {attempt}"),
    }
}

/// `used` is what this event brings; what came before it is in the state.
fn finished(state: &State, task: &TaskId, used: Usage, at: Timestamp, paint: Paint) -> String {
    let mut text = format!("{} {}", called(state, task), paint.good("done"));
    let Some(known) = state.tasks.get(task) else { return text };
    text.push_str(&format!(" in {}", format::duration(state.absences.worked(known.started, at))));
    let mut all = known.usage;
    all += used;
    if let Some(used) = format::usage(&all) {
        text.push_str(&format!(", {used}"));
    }
    text
}

fn adapted(change: &LimitAdapted, at: Timestamp) -> String {
    let LimitAdapted { resource, setting, from, to, reason, .. } = change;
    let why = change.why().replace('_', " ");
    match (setting, *to) {
        (LimitSetting::PausedUntil, 0) => format!("{resource} is open again ({why})"),
        (LimitSetting::PausedUntil, until) => {
            format!("{resource} waits {} ({why})", format::duration(Timestamp(until).since(at)))
        }
        _ if resource.ends_with("(money)") => {
            let dollars = |micros: u64| format!("${:.4}", micros as f64 / 1e6);
            format!("{resource}: {} instead of {} ({why})", dollars(*to), dollars(*from))
        }
        _ if is_amount(resource) => format!("{resource}: {to} instead of {from} ({why})"),
        _ if from == to => format!("{resource}: {to} at once, as before ({why})"),
        // Calls go well again, with fewer at once than were tried before.
        _ if to < from && *reason == LimitReason::Recovered => {
            format!("{resource}: {to} at once instead of {from} (known to be good)")
        }
        _ => format!("{resource}: {to} at once instead of {from} ({why})"),
    }
}

/// Whether a limit is of what is used, and not of how much goes on at once.
fn is_amount(resource: &str) -> bool {
    resource.ends_with("(tokens)") || resource.starts_with("requests:") || resource.starts_with("tokens:")
}

fn tool_called(task: &str, tool: &str, ms: u64, failed: bool, paint: Paint) -> String {
    let took = format::duration(std::time::Duration::from_millis(ms));
    let end = if failed { format!(", {}", paint.warn("failed")) } else { String::new() };
    format!("{task} called {tool} in {took}{end}")
}

fn attempt_failed(state: &State, task: &TaskId, attempt: u32, failure: &Failure, paint: Paint) -> String {
    let name = called(state, task);
    match failure.reason.as_deref() {
        Some(reason::INTERRUPTED_UNSTARTED) => return format!("{name} stopped; it is tried again on resume"),
        Some(reason::INTERRUPTED) => {
            return format!(
                "{name} stopped; resume tries it again, or asks where its step may not be repeated"
            );
        }
        _ => {}
    }
    let words = match state.shown_failures.is_as_before(task, &failure.message) {
        true => ", as before".to_owned(),
        false => format!(": {}", format::first_line(&failure.message)),
    };
    format!("{name} {} attempt {attempt} ({}){words}", paint.warn("failed"), failure.class)
}

/// Words of what failed inside, which have a line of their own already, are not repeated.
fn task_failed(state: &State, task: &TaskId, failure: &Failure, paint: Paint) -> String {
    let message = state.shown_failures.refer(Some(task), &failure.message, ABOVE);
    let words = match (state.shown_failures.alike(task, &failure.message), format::first_line(&message)) {
        (Some(other), _) => format!(", as {}", format::task(other)),
        (None, words) if words.is_empty() => words,
        (None, words) => format!(": {words}"),
    };
    format!("{} {} ({}){words}", called(state, task), paint.bad("failed"), failure.class)
}

fn route(from: &TaskId, to: &TaskId, on_error: bool) -> String {
    let why = if on_error { " (on_error)" } else { "" };
    format!("{} -> {}{why}", format::task(from), format::task(to))
}

fn over_budget(spent: u64, budget: u64, paint: Paint) -> String {
    let words = format!("budget exceeded: {} of {}", format::money(spent), format::money(budget));
    paint.warn(&words)
}

fn budget_spent(spent: &BudgetSpent, paint: Paint) -> String {
    let budget = &spent.budget;
    let amount =
        |amount: u64| if budget.ends_with("(money)") { format::money(amount) } else { format::count(amount) };
    let (used, limit) = (amount(spent.used), amount(spent.limit));
    match spent.then {
        BudgetAction::Report => {
            let by = amount(spent.used.saturating_sub(spent.limit));
            paint.warn(&format!("{budget} passed by {by}: {used} of {limit}"))
        }
        _ => format!("{budget} cannot pay another call: {used} of {limit} are spent or set aside"),
    }
}

fn trimmed(task: &str, strategy: &str, steps: &[String]) -> String {
    format!("{task}: context made smaller ({strategy}): {}", steps.join(", "))
}

fn noted(task: Option<String>, message: &str, paint: Paint) -> String {
    let about = task.map(|task| format!("{task}: ")).unwrap_or_default();
    format!("{} {about}{}", paint.warn("note:"), format::first_line(message))
}

fn stop_requested(now: bool, by: &str) -> String {
    format!("stopping{} ({by})", if now { " now" } else { "" })
}

fn parked(waiting: &[TaskId]) -> String {
    let names: Vec<_> = waiting.iter().map(format::task).collect();
    format!("parked: waiting for {}", names.join(", "))
}

fn run_finished(state: &State, status: RunStatus, at: Timestamp) -> String {
    format!(
        "{} {} in {}",
        state.workflow,
        status.word().replace('_', " "),
        format::duration(state.worked(at))
    )
}

fn probed(name: &str, verdict: &ProbeVerdict) -> String {
    match verdict {
        ProbeVerdict::Happened { .. } => format!("{name} had its effect, says its probe"),
        ProbeVerdict::Absent => format!("{name} had no effect, says its probe"),
        ProbeVerdict::Unclear { why } => format!("{name}: its probe cannot say: {}", format::first_line(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_changed_is_told_as_what_it_is() {
        let told = |from, to, reason| {
            let (resource, setting) = ("model:m".to_owned(), LimitSetting::Limit);
            let change = LimitAdapted { resource, setting, from, to, reason, origin: None };
            adapted(&change, Timestamp(1))
        };
        assert_eq!(told(4, 2, LimitReason::RateLimited), "model:m: 2 at once instead of 4 (rate limited)");
        assert_eq!(told(2, 3, LimitReason::Recovered), "model:m: 3 at once instead of 2 (recovered)");
        assert_eq!(told(1, 1, LimitReason::RateLimited), "model:m: 1 at once, as before (rate limited)");
        assert_eq!(told(4, 3, LimitReason::Recovered), "model:m: 3 at once instead of 4 (known to be good)");
    }
}
