//! A run in plain sentences: what was asked, what happened, what it cost, what is open.
//!
//! For people who are no engineers. Steps of the workflow have sentences; what they ask on their way has none. Many items of one
//! fan-out are told by its own sentence. Long runs are told in part, and [`Story::cut`] says so.

use crate::state::State;
use crate::words;
use convoke_model::{Ending, Event, RunStarted, RunStatus, Stamped, TaskId, Timestamp};

/// The most sentences.
const MOST: usize = 600;

/// How a sentence is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Something happened.
    Plain,
    /// It went well.
    Good,
    /// It went badly.
    Bad,
    /// A person is asked.
    Ask,
}

impl Tone {
    /// The word for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Tone::Plain => "plain",
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Ask => "ask",
        }
    }
}

/// One sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// When.
    pub at: Timestamp,
    /// By which event.
    pub seq: u64,
    /// The words.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// The task that it is about.
    pub task: Option<TaskId>,
}

/// The sentences of a run, in order.
#[derive(Debug, Clone, Default)]
pub struct Story {
    /// The sentences.
    pub sentences: Vec<Sentence>,
    /// How many were left out.
    pub cut: u64,
}

impl Story {
    /// Takes the next event, given the state before it.
    pub fn take(&mut self, before: &State, stamped: &Stamped) {
        let Some((tone, task, text)) = sentence(before, stamped) else { return };
        if self.sentences.len() >= MOST && !matches!(stamped.event, Event::RunFinished { .. }) {
            self.cut += 1;
            return;
        }
        let (at, seq) = (stamped.at, stamped.seq);
        self.sentences.push(Sentence { at, seq, text, tone, task: task.cloned() });
    }
}

type Wording<'a> = (Tone, Option<&'a TaskId>, String);

fn sentence<'a>(before: &State, stamped: &'a Stamped) -> Option<Wording<'a>> {
    use Tone::{Ask, Bad, Good, Plain};
    let name = |task: &TaskId| called(before, task);
    let plain = |task: Option<&'a TaskId>, text: String| Some((Plain, task, text));
    match &stamped.event {
        Event::RunStarted(started) => plain(None, began(started)),
        Event::RunOwned { epoch, .. } if *epoch > 1 => plain(None, "The run was taken up again.".to_owned()),
        Event::RunReopened(reopened) => {
            plain(None, format!("{} got another chance.", words::plural(reopened.tasks.len() as u64, "task")))
        }
        Event::RunForked(forked) => plain(None, format!("The run goes on from run {}.", forked.run)),
        Event::PlanChanged(_) => plain(None, "A changed workflow file was accepted.".to_owned()),
        Event::FannedOut { task, count, .. } => plain(
            Some(task),
            format!("{} has {} to work on.", name(task), words::plural((*count).into(), "item")),
        ),
        Event::GoalDecided(decided) => plain(
            Some(&decided.task),
            format!("{}: {} ({}).", name(&decided.task), decided.chosen, decided.reason),
        ),
        Event::PhaseDecided(decided) => plain(
            Some(&decided.task),
            format!("{}: {} ({}).", name(&decided.task), decided.chosen, decided.reason),
        ),
        Event::Guided { text, by } => plain(None, format!("{by} said: {}", words::first_line(text))),
        Event::AttemptFinished { task, .. } | Event::TaskSucceeded { task, .. } if is_step(before, task) => {
            Some((Good, Some(task), format!("{} is done{}.", name(task), took(before, task, stamped.at))))
        }
        Event::OutputTaken { task, .. } if is_step(before, task) => {
            Some((Good, Some(task), format!("{} took a result that was there already.", name(task))))
        }
        Event::TaskFailed { task, failure } if is_told(before, task) => {
            Some((Bad, Some(task), format!("{} failed: {}", name(task), words::first_line(&failure.message))))
        }
        Event::RetryScheduled { task, .. } if is_step(before, task) => {
            plain(Some(task), format!("{} is tried again.", name(task)))
        }
        Event::TaskSkipped { task, cause } if is_step(before, task) => {
            plain(Some(task), format!("{} was skipped: {cause}.", name(task)))
        }
        Event::TaskCancelled { task, cause } if is_step(before, task) => {
            plain(Some(task), format!("{} was stopped: {cause}.", name(task)))
        }
        Event::GateOpened { task, .. } => Some((Ask, Some(task), format!("{} asks a person.", name(task)))),
        Event::GateAnswered { task, by, .. } => plain(Some(task), format!("{by} answered {}.", name(task))),
        Event::BudgetExceeded { spent_micros, budget_micros } => Some((
            Bad,
            None,
            format!(
                "{} of a budget of {} were spent.",
                words::money(*spent_micros),
                words::money(*budget_micros)
            ),
        )),
        Event::WorkflowEnding { within: None, ending: Ending::Failed { task: Some(task), .. } } => {
            Some((Bad, Some(task), format!("The run ends because {} failed.", name(task))))
        }
        Event::Noted { task, message, .. } => {
            plain(task.as_ref(), format!("{}.", words::first_line(message)))
        }
        Event::StopRequested { by, .. } => plain(None, format!("{by} asked the run to stop.")),
        Event::MachineSlept { ms } => {
            let slept = words::duration(std::time::Duration::from_millis(*ms));
            plain(None, format!("The machine slept for {slept}."))
        }
        Event::RunParked { waiting } => {
            Some((Ask, None, format!("The run waits for {}.", words::plural(waiting.len() as u64, "answer"))))
        }
        Event::RunInterrupted { by } => Some((Bad, None, format!("The run was interrupted by {by}."))),
        Event::RunFinished { status, .. } => Some(finished(before, *status, stamped.at)),
        _ => None,
    }
}

fn began(started: &RunStarted) -> String {
    match started.sentence() {
        Some(goal) => format!("The run was asked: {}", words::first_line(goal)),
        None => format!("The workflow {} began.", started.workflow),
    }
}

fn finished<'a>(before: &State, status: RunStatus, at: Timestamp) -> Wording<'a> {
    let worked = words::duration(before.worked(at));
    let cost = words::usage(&before.usage).map(|used| format!(", with {used}")).unwrap_or_default();
    let (tone, how) = match status {
        RunStatus::Succeeded => (Tone::Good, "has succeeded"),
        RunStatus::Partial => (Tone::Bad, "has succeeded in part"),
        RunStatus::Cancelled => (Tone::Bad, "was stopped"),
        RunStatus::SkippedAll => (Tone::Plain, "has skipped every step"),
        _ => (Tone::Bad, "has failed"),
    };
    (tone, None, format!("The run {how} after {worked}: {}{cost}.", before.ended.words()))
}

/// Steps of the workflow, and tasks of goals.
fn is_step(before: &State, task: &TaskId) -> bool {
    before.tasks.get(task).is_none_or(|task| !task.aside) && !task.0.contains('[')
}

/// Failures of items are told, too.
fn is_told(before: &State, task: &TaskId) -> bool {
    before.tasks.get(task).is_none_or(|task| !task.aside)
}

fn took(before: &State, task: &TaskId, at: Timestamp) -> String {
    let Some(known) = before.tasks.get(task) else { return String::new() };
    format!(" after {}", words::duration(before.absences.worked(known.started, at)))
}

fn called(before: &State, task: &TaskId) -> String {
    match before.titles.of(task) {
        Some(title) => format!("“{title}”"),
        None => words::task(task),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_testkit::events::{attempt, done, fan_out, group, stamp, started};

    #[test]
    fn a_run_is_told_in_sentences_and_items_are_told_by_their_fan_out() {
        let finished = Event::RunFinished { status: RunStatus::Succeeded, output: None, failure: None };
        let events = vec![
            started(),
            group("g"),
            fan_out("g", 2),
            attempt("g[0]", 1),
            done("g[0]"),
            attempt("a", 1),
            done("a"),
            finished,
        ];
        let (mut state, mut story) = (State::default(), Story::default());
        for stamped in stamp(events) {
            story.take(&state, &stamped);
            state.apply(&stamped);
        }
        let told: Vec<_> = story.sentences.iter().map(|sentence| sentence.text.as_str()).collect();
        let expected = [
            "The workflow w began.",
            "g has 2 items to work on.",
            "a is done after 1.0 s.",
            "The run has succeeded after 7.0 s: 2 steps, with 30 tokens.",
        ];
        assert_eq!(told, expected);
    }
}
