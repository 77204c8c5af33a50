//! A run and its tasks, for people.

use super::capacity::{self, Fared};
use super::conversation::{self, Extent};
use super::try_outcome::TryOutcome;
use super::{InspectedRun, word};
use crate::failure::CommandFailure;
use crate::gate;
use crate::goal_request::origin;
use crate::paint::Paint;
use crate::view::format;
use convoke_engine::report::{AttemptReport, TaskReport, TaskWord, ToolReport};
use convoke_model::{BaseKind, Event, Failure, GateId, JsonText, RunStatus, TaskId, Timestamp};
use convoke_view::{ABOVE, ShownFailures, State};
use serde_json::Value;
use std::fmt::Write as _;
use std::time::Duration;

/// Rows of the task list; the rest is counted. `--format json` has all of them.
const MOST_TASKS: usize = 200;

/// Characters of a goal; `--format json` has all of it.
const LONGEST_GOAL: usize = 200;

impl InspectedRun {
    /// The run that this one was made from, and what that means.
    fn comes_from(&self) -> Option<String> {
        let base = self.report.started.as_ref()?.base.as_ref()?;
        Some(match base.how {
            BaseKind::Reuse => format!("takes outputs of {}", base.run),
            BaseKind::Fork { seq, .. } => {
                let used = format::usage(&self.report.inherited);
                let used = used.map(|used| format!("; {used} before that, not counted here"));
                format!("fork of {} after event {seq}{}", base.run, used.unwrap_or_default())
            }
        })
    }

    pub(super) fn run_text(&self, paint: Paint) -> Result<String, CommandFailure> {
        let report = &self.report;
        let mut text = String::new();
        let mut field =
            |name: &str, value: String| writeln!(text, "{name:<9} {value}").expect("text takes text");
        field("run", self.stored.run.to_string());
        if let Some(started) = &report.started {
            field(
                "workflow",
                format!("{} ({} in {})", started.workflow, origin(&started.file), started.folder),
            );
        }
        if let Some(goal) = report.started.as_ref().and_then(|started| started.sentence()) {
            field("goal", format::fit(&format::first_line(goal), LONGEST_GOAL));
        }
        if let Some(from) = self.comes_from() {
            field("from", from);
        }
        field("status", paint.strong(&self.status.word().replace('_', " ")));
        self.blocked.iter().for_each(|on| field("blocked", on.to_string()));
        if let Some(start) = report.started_at {
            field("started", start.rfc3339());
            self.worked().into_iter().for_each(|time| field("took", format::duration(time)));
        }
        field("steps", State::of(&self.stored.events).ended.short_words());
        self.proven_words().into_iter().for_each(|words| field("proven", words));
        if let Some(used) = format::usage(&report.usage) {
            field("used", used);
        }
        self.budget_lines().for_each(|line| field("budget", line));
        if let Some(now) =
            self.metrics.as_ref().filter(|_| self.status == RunStatus::Running).and_then(capacity::now)
        {
            field("now", now);
        }
        let fared = Fared::of(&self.stored.events, self.metrics.as_ref());
        fared.fields().into_iter().for_each(|(name, value)| field(name, value));
        text.push('\n');
        let told = told(report.tasks.iter().take(MOST_TASKS));
        for (id, task) in report.tasks.iter().take(MOST_TASKS) {
            text.push_str(&self.row(id, task, &told)?);
        }
        if report.tasks.len() > MOST_TASKS {
            text.push_str(&format!("… and {}\n", more(report.tasks.len() - MOST_TASKS)));
        }
        text.push_str(&self.goals_text());
        text.push_str(&self.notes_text());
        text.push_str(&self.questions_text()?);
        if let Some(failure) = &report.failure {
            let message = told.refer(None, &failure.message, ABOVE);
            let failed = self.failed_step().or_else(|| told.teller(&failure.message).cloned());
            let failed = failed.filter(|_| message.is_empty());
            let message = failed.map_or(message, |task| format!("step `{task}`{ABOVE}").into());
            text.push_str(&format!("\nfailed: {message} ({})\n", failure.class));
        }
        section(&mut text, "output", self.value(report.output.as_ref())?.as_ref());
        Ok(text)
    }

    /// Open questions to people, and the commands that answer them; empty without any.
    fn questions_text(&self) -> Result<String, CommandFailure> {
        let mut text = String::new();
        if self.status.is_end() {
            return Ok(text);
        }
        for question in self.stored.questions() {
            let ask = self.stored.ask(&question)?;
            write!(text, "\n{}", gate::explain(&self.stored.run, &question, &ask)).expect("text takes text");
        }
        Ok(text)
    }

    pub(super) fn task_text(
        &self,
        id: &TaskId,
        task: &TaskReport,
        asked: Option<&Value>,
        extent: Extent,
        paint: Paint,
    ) -> Result<String, CommandFailure> {
        let superseded =
            if task.superseded { " (the lines below are from before it was restarted)" } else { "" };
        let came = self.try_outcome(id, task)?;
        let stands = came.as_ref().map_or(word(task.state, self.status), |came| came.word);
        let mut text = format!("{} {stands}{superseded}\n", paint.strong(&id.to_string()));
        let before = std::iter::once(None).chain(task.attempts.iter().map(Some));
        for (attempt, before) in task.attempts.iter().zip(before) {
            text.push_str(&attempt_row(attempt, before.and_then(|before| before.failure.as_ref())));
        }
        task.tools.iter().for_each(|(name, calls)| text.push_str(&tool_row(name, calls)));
        if let Some(because) = self.because(id, task) {
            text.push_str(&format!("because {because}\n"));
        }
        text.push_str(&self.started_text(id, task));
        if let Some(failure) = task.failure.as_ref().filter(|failure| !ended_by_attempt(task, failure)) {
            text.push_str(&format!("failed: {}\n", failed(failure)));
        }
        if let Some(TryOutcome { word, why: Some(why) }) = &came {
            text.push_str(&format!("{word}: {why}\n"));
        }
        text.push_str(&self.task_guidance_text(id));
        text.push_str(&self.proof_text(id, task)?);
        text.push_str(&self.task_notes_text(id));
        text.push_str(&self.contract_text(id));
        for (name, value) in asked.and_then(Value::as_object).into_iter().flatten() {
            text.push_str(&asked_section(name, value));
        }
        let command = format!("convoke show {} '{id}'", self.stored.run);
        text.push_str(&conversation::text(&self.conversations(id)?, task.state, extent, &command));
        for attempt in &task.attempts {
            let left = self.value(attempt.partial.as_ref())?;
            section(&mut text, &format!("what attempt {} left", attempt.attempt), left.as_ref());
        }
        section(&mut text, "question", self.value(task.ask.as_ref())?.as_ref());
        text.push_str(&self.answers_text(id));
        section(&mut text, "answer", self.value(self.answer(id).map(|(answer, _)| answer))?.as_ref());
        text.push_str(&self.below_text(id)?);
        if let Some(so_far) = self.so_far(id)? {
            let merges = format::plural(so_far["merges"].as_u64().unwrap_or(0), "merge");
            text.push_str(&asked_section(&format!("so far ({merges})"), &so_far["text"]));
        }
        section(&mut text, "output", self.value(task.output.as_ref())?.as_ref());
        Ok(text)
    }
}

impl InspectedRun {
    /// Which questions of a task were answered, when, by whom and from where.
    fn answers_text(&self, id: &TaskId) -> String {
        let mut text = String::new();
        for stamped in &self.stored.events {
            let Event::GateAnswered { task, question, by, from, .. } = &stamped.event else { continue };
            if task != id {
                continue;
            }
            let gate = GateId { task: task.clone(), question: *question };
            let source = from.as_ref().map(|from| format!(" ({from})")).unwrap_or_default();
            let at = stamped.at.rfc3339();
            writeln!(text, "{gate} answered by {by}{source} at {at}").expect("text takes text");
        }
        text
    }

    fn row(&self, id: &TaskId, task: &TaskReport, told: &ShownFailures) -> Result<String, CommandFailure> {
        let took = self.worked_on(task).map(format::duration).unwrap_or_default();
        let stands = word(task.state, self.status);
        let failed = task.failure.as_ref().map(|failure| told.refer(Some(id), &failure.message, ""));
        let proven = (self.proven(id, task) == Some(true)).then(|| "proven".to_owned());
        let why = failed.map(|words| words.into_owned()).or_else(|| self.because(id, task)).or(proven);
        Ok(row(id, task, (stands, &took), self.try_outcome(id, task)?.as_ref(), why.as_deref()))
    }

    /// The step whose failure ended the run.
    fn failed_step(&self) -> Option<TaskId> {
        State::of(&self.stored.events).failed_step
    }

    /// How long the run was worked on so far, or to its end.
    pub(super) fn worked(&self) -> Option<Duration> {
        let report = &self.report;
        let now = || match self.status {
            RunStatus::Running => Some(crate::clock::now()),
            _ => self.stored.events.last().map(|stamped| stamped.at),
        };
        Some(report.absences.worked(report.started_at?, report.finished_at.or_else(now)?))
    }

    /// How long a task that has ended was worked on.
    pub(super) fn worked_on(&self, task: &TaskReport) -> Option<Duration> {
        Some(self.report.absences.worked(task.started_at?, task.ended_at?))
    }

    /// What is inside, each with the name by which it is shown.
    fn below_text(&self, id: &TaskId) -> Result<String, CommandFailure> {
        let told = told(self.below(id));
        let rows = self.below(id).map(|(id, task)| Ok(format!("  {}", self.row(id, task, &told)?)));
        let rows = rows.collect::<Result<Vec<String>, CommandFailure>>()?;
        if rows.is_empty() {
            return Ok(String::new());
        }
        let left = rows.len().saturating_sub(MOST_TASKS);
        let rest = if left > 0 { format!("  … and {}\n", more(left)) } else { String::new() };
        let shown: String = rows.into_iter().take(MOST_TASKS).collect();
        Ok(format!("\ntasks (convoke show {} TASK):\n{shown}{rest}", self.stored.run))
    }
}

/// The failures that rows of a list tell.
fn told<'a>(rows: impl Iterator<Item = (&'a TaskId, &'a TaskReport)>) -> ShownFailures {
    let mut told = ShownFailures::default();
    for (id, task) in rows {
        task.failure.iter().for_each(|failure| told.tell(id, &failure.message));
    }
    told
}

/// Whether the last attempt's line has the words of the task's failure.
fn ended_by_attempt(task: &TaskReport, failure: &Failure) -> bool {
    let last = task.attempts.last().and_then(|attempt| attempt.failure.as_ref());
    last.is_some_and(|last| last.message == failure.message && last.class == failure.class)
}

fn more(left: usize) -> String {
    format::plural(left as u64, "more task")
}

fn row(
    id: &TaskId,
    task: &TaskReport,
    (stands, took): (&str, &str),
    came: Option<&TryOutcome>,
    because: Option<&str>,
) -> String {
    // What did not run took no time, not even none.
    let took = if task.state != TaskWord::Skipped { took } else { "" };
    // One that stopped to wait for answers and went on is no other try.
    let tries = task.attempts.iter().filter(|attempt| !attempt.suspended).count();
    let tries = if tries > 1 { format!("  {tries} attempts") } else { String::new() };
    let used = format::usage(&task.usage).map(|used| format!("  {used}")).unwrap_or_default();
    let why = because.or_else(|| came.and_then(|came| came.why.as_deref())).map(said).unwrap_or_default();
    let stands = came.map_or(stands, |came| came.word);
    let before = if task.superseded { "  superseded" } else { "" };
    let line = format!("{:<32} {:<10} {took:>9}{tries}{used}{why}{before}", id.to_string(), stands);
    format!("{}\n", line.trim_end())
}

fn said(why: &str) -> String {
    format!("  {}", format::first_line(why))
}

fn attempt_row(attempt: &AttemptReport, before: Option<&Failure>) -> String {
    let how = match (&attempt.failure, attempt.ended_at) {
        (Some(_), _) => "failed after",
        (None, Some(_)) if attempt.suspended => "stopped to wait for answers after",
        (None, Some(_)) => "took",
        (None, None) => "has no end",
    };
    let took = took(Some(attempt.started_at), attempt.ended_at);
    let by = attempt.taken_by.map(|pid| format!(", performed by process {pid}")).unwrap_or_default();
    let used = format::usage(&attempt.usage).map(|used| format!(", {used}")).unwrap_or_default();
    let why = match &attempt.failure {
        Some(failure) if before.is_some_and(|before| before.message == failure.message) => {
            ", as before".to_owned()
        }
        failure => failure.as_ref().map(|failure| format!(": {}", failed(failure))).unwrap_or_default(),
    };
    let took = if took.is_empty() { took } else { format!(" {took}") };
    format!("attempt {} {how}{took}{by}{used}{why}\n", attempt.attempt)
}

fn tool_row(name: &str, calls: &ToolReport) -> String {
    let took = format::duration(std::time::Duration::from_millis(calls.ms));
    let failed = if calls.failed > 0 { format!(", {} failed", calls.failed) } else { String::new() };
    format!("tool {name}: {} in {took}{failed}\n", format::plural(calls.calls.into(), "call"))
}

fn took(start: Option<Timestamp>, end: Option<Timestamp>) -> String {
    start.zip(end).map(|(start, end)| format::duration(end.since(start))).unwrap_or_default()
}

fn failed(failure: &Failure) -> String {
    format!("{} ({})", failure.message, failure.class)
}

fn asked_section(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(words) if words.is_empty() => String::new(),
        Value::String(words) => format!("\n{name}:\n{}", indented(words)),
        other => format!("\n{name}:\n{}", indented(&other.to_string())),
    }
}

fn section(text: &mut String, name: &str, value: Option<&JsonText>) {
    let Some(value) = value else { return };
    let pretty = serde_json::to_string_pretty(&value.value()).expect("it was JSON before");
    text.push_str(&format!("\n{name}:\n{}", indented(&pretty)));
}

fn indented(words: &str) -> String {
    words.lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::Usage;

    #[test]
    fn what_was_skipped_took_no_time() {
        let skipped = TaskReport {
            state: TaskWord::Skipped,
            started_at: Some(Timestamp(5)),
            ended_at: Some(Timestamp(5)),
            ..TaskReport::default()
        };
        assert_eq!(
            row(&TaskId("a".into()), &skipped, ("skipped", "0 ms"), None, None),
            format!("{:<32} skipped\n", "a")
        );
        let ended = TaskReport { state: TaskWord::Succeeded, ..skipped };
        assert!(row(&TaskId("a".into()), &ended, ("succeeded", "0 ms"), None, None).ends_with("0 ms\n"));
    }

    #[test]
    fn an_attempt_without_an_end_says_so_and_nothing_more() {
        let attempt = AttemptReport {
            attempt: 1,
            started_at: Timestamp(0),
            taken_by: None,
            ended_at: None,
            suspended: false,
            failure: None,
            partial: None,
            usage: Usage::default(),
        };
        assert_eq!(attempt_row(&attempt, None), "attempt 1 has no end\n");
        let ended = AttemptReport { ended_at: Some(Timestamp(20_000)), ..attempt };
        assert_eq!(attempt_row(&ended, None), "attempt 1 took 20 ms\n");
        let waits = AttemptReport { suspended: true, ..ended };
        assert_eq!(attempt_row(&waits, None), "attempt 1 stopped to wait for answers after 20 ms\n");
    }
}
