//! A run in plain sentences: what was asked, what happened, what it cost, what is open.
//!
//! For people who are no engineers. Steps of the workflow have sentences; what they ask on their way has none. Many items of one
//! fan-out are told by its own sentence. Long runs are told in part, and [`Story::cut`] says so.

use crate::gates::Gates;
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

impl Story {
    /// What a run that goes on has cost so far, and what is open in it. Nothing of a run that has ended: its last event says it.
    pub fn so_far(state: &State, gates: &Gates, seq: u64) -> Vec<Sentence> {
        if seq == 0 || state.status.is_some_and(|status| status.is_end()) {
            return Vec::new();
        }
        let say = |tone, text| Sentence { at: state.last, seq, text, tone, task: None };
        let used = words::usage(&state.usage).map(|used| format!(", with {used}")).unwrap_or_default();
        let worked = words::duration(state.worked(state.last));
        let so_far = match state.ended.total() {
            0 => format!("After {worked} no step has ended yet{used}."),
            _ => format!("So far, after {worked}: {}{used}.", state.ended.words()),
        };
        let asked = gates.open().count() as u64;
        let running = state.running.len() as u64;
        let left = state.total().saturating_sub(state.ended.total()).saturating_sub(running);
        let open = [
            (asked > 0).then(|| format!("{} for a person", words::plural(asked, "question"))),
            (running > 0).then(|| format!("{} at work", words::plural(running, "step"))),
            (left > 0).then(|| format!("{} to come", words::plural(left, "step"))),
        ];
        let open: Vec<String> = open.into_iter().flatten().collect();
        let tone = if asked > 0 { Tone::Ask } else { Tone::Plain };
        let open = (!open.is_empty()).then(|| say(tone, format!("Open: {}.", open.join(", "))));
        std::iter::once(say(Tone::Plain, so_far)).chain(open).collect()
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
        Event::TaskGuided { task, text, by } => {
            plain(Some(task), format!("{by} said to {}: {}", words::task(task), words::first_line(text)))
        }
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
    fn a_run_that_goes_on_says_what_it_has_cost_and_what_is_open() {
        let ask = convoke_model::Payload::Inline(convoke_model::JsonText::of(&1));
        let gate = Event::GateOpened {
            task: convoke_testkit::events::id("ask"),
            question: 1,
            ask,
            shown: None,
            until: None,
        };
        let told = |events: Vec<Event>| {
            let events = stamp(events);
            let (state, gates) = (State::of(&events), Gates::of(&events));
            let said = Story::so_far(&state, &gates, events.len() as u64);
            said.into_iter().map(|sentence| sentence.text).collect::<Vec<_>>()
        };
        assert_eq!(
            told(vec![started(), attempt("a", 1)]),
            ["After 1.0 s no step has ended yet.", "Open: 1 step at work."]
        );
        let open = told(vec![started(), attempt("a", 1), done("a"), attempt("b", 1), gate]);
        assert_eq!(
            open,
            [
                "So far, after 4.0 s: 1 step, with 15 tokens.",
                "Open: 1 question for a person, 1 step at work, 1 step to come."
            ]
        );
        let end = Event::RunFinished { status: RunStatus::Failed, output: None, failure: None };
        assert!(told(vec![started(), end]).is_empty(), "its last sentence says it");
    }

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
