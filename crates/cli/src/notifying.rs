//! Tells a person away from the terminal that a run needs them: a gate opened, or a full disk pauses the run. Of a detached run,
//! which has no terminal to say so on, its end is told too; `notify.on` asks for more, or less.
//!
//! Three ways, all as configured: a bell and a line on the terminal that a detached run was started from, a command of the person's own
//! (`notify.command`), and the desktop. None is ever waited for, and none can fail a run. A command that cannot be started is
//! for the log. A program that is started here counts as one of the run's: it does not answer what the run asks. What there is to tell is found by `convoke_telemetry::notices`, as it is for webhooks.

use crate::args::DetachedFrom;
use crate::config::Notify;
use crate::escape;
use convoke_follow::{Fold, Standing};
use convoke_model::{Event, RunId, Stamped, TaskId, Timestamp};
use convoke_telemetry::notices::{Notice, RunNotices, Topic};
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Rings the bell of a terminal.
const BELL: &str = "\x07";

/// Shows something on the desktop, where it is installed.
const DESKTOP: [&str; 3] = ["notify-send", "--app-name=convoke", "convoke"];

/// Tells of one run.
pub struct Notifier {
    run: RunId,
    notify: Notify,
    notices: Mutex<RunNotices>,
    /// Whether gates wait for people.
    gates: bool,
    /// What the run was detached from, if it was.
    detached: Option<DetachedFrom>,
    /// The terminal that a detached run was started from.
    terminal: Option<File>,
    /// Whether it was said that the command cannot be started: once is enough.
    complained: AtomicBool,
}

impl Notifier {
    /// Tells as configured, of a run that is watched where it was started. Silence of so long is told where that is asked for.
    pub fn new(run: &RunId, workflow: &str, notify: &Notify, stall: Duration) -> Notifier {
        Notifier {
            run: run.clone(),
            notify: notify.clone(),
            notices: Mutex::new(RunNotices::new(run, stall).of_workflow(workflow)),
            gates: true,
            detached: None,
            terminal: None,
            complained: AtomicBool::new(false),
        }
    }

    /// The same for a run that was detached, from this terminal if it was one.
    pub fn detached(self, from: Option<DetachedFrom>, terminal: Option<File>) -> Notifier {
        Notifier { detached: from, terminal, ..self }
    }

    /// Whether gates are told of: not where no person is asked.
    pub fn with_gates(self, gates: bool) -> Notifier {
        Notifier { gates, ..self }
    }

    /// Tells what there is to hear of these events: of gates that they opened and left open, of the end of a detached run, and what
    /// else is asked for. Gives back what could not be told, for the log.
    pub fn observe(&self, events: &[Stamped]) -> Vec<String> {
        let answered: HashSet<&TaskId> =
            events.iter().filter_map(|stamped| answered(&stamped.event)).collect();
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        let found: Vec<Notice> = events.iter().filter_map(|stamped| notices.notice(stamped)).collect();
        let workflow = notices.workflow().to_owned();
        drop(notices);
        let is_open = |notice: &&Notice| notice.task.as_ref().is_none_or(|task| !answered.contains(task));
        let told = found.iter().filter(|notice| notice.topic != Topic::Gate || self.gates && is_open(notice));
        told.filter_map(|notice| self.tell(&workflow, notice)).collect()
    }

    /// Looks whether the run has been silent for long. Gives back what could not be told.
    pub fn look(&self, now: Timestamp) -> Vec<String> {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        notices.stand(&Standing { now, live: true, blocked: None }, &mut found);
        let workflow = notices.workflow().to_owned();
        drop(notices);
        found.iter().filter_map(|notice| self.tell(&workflow, notice)).collect()
    }

    /// Tells that the run waits for room on the disk. Gives back what could not be told.
    pub fn paused(&self, why: &str) -> Option<String> {
        let workflow = self.notices.lock().unwrap_or_else(PoisonError::into_inner).workflow().to_owned();
        let message = format!("the run pauses: {why}");
        self.say(&workflow, Topic::Paused, "", &message, "attach")
    }

    fn tell(&self, workflow: &str, notice: &Notice) -> Option<String> {
        let task = notice.task.as_ref().map(TaskId::to_string).unwrap_or_default();
        let is_over = notice.status.is_none_or(convoke_model::RunStatus::is_end);
        let next = match notice.topic {
            Topic::Gate | Topic::Paused => "attach",
            Topic::End if !is_over => "resume",
            Topic::End | Topic::Budget | Topic::Stall | Topic::Failure => "show",
        };
        self.say(workflow, notice.topic, &task, &notice.message, next)
    }

    /// Whether something is told where nothing else is asked for.
    fn is_usual(&self, topic: Topic) -> bool {
        match topic {
            Topic::Gate | Topic::Paused => true,
            Topic::End => self.detached.is_some(),
            Topic::Budget | Topic::Stall | Topic::Failure => false,
        }
    }

    /// Tells what happened, at which step, and which command shows more.
    fn say(&self, workflow: &str, topic: Topic, step: &str, message: &str, next: &str) -> Option<String> {
        let message = escape::line(message);
        let run = &self.run;
        if let Some(mut terminal) = self.terminal.as_ref().filter(|_| self.is_usual(topic)) {
            let bell = if self.notify.bell { BELL } else { "" };
            // A terminal is left where the person's cursor stands: a line of its own, and none of theirs changed.
            write!(terminal, "{bell}\r\nconvoke: run {run}: {message}\r\n  convoke {next} {run}\r\n").ok();
        }
        let topics = &self.notify.topics;
        let is_wanted = topics.on.as_ref().map_or_else(|| self.is_usual(topic), |on| on.contains(&topic));
        if !is_wanted || !topics.names(workflow) {
            return None;
        }
        let words = format!("run {run}: {message}");
        if self.notify.desktop {
            // A machine without a desktop has nothing to show it on, which is no fault.
            self.start(&DESKTOP.map(str::to_owned), topic, step, &words).ok();
        }
        if self.notify.command.is_empty() {
            return None;
        }
        let refused = self.start(&self.notify.command, topic, step, &words).err()?;
        (!self.complained.swap(true, Ordering::Relaxed)).then_some(refused)
    }

    fn start(&self, command: &[String], topic: Topic, step: &str, words: &str) -> Result<(), String> {
        let [program, arguments @ ..] = command else { return Ok(()) };
        let mut command = Command::new(program);
        command.args(arguments).arg(words).envs(std::env::vars_os());
        // The end was called so before there were topics.
        let event = if topic == Topic::End { "ended" } else { topic.word() };
        command.env("CONVOKE_RUN", &*self.run.0).env("CONVOKE_EVENT", event).env("CONVOKE_STEP", step);
        convoke_tools::start_beside(command)
            .map_err(|error| format!("`notify.command`: `{program}` cannot be started: {error}"))
    }
}

fn answered(event: &Event) -> Option<&TaskId> {
    match event {
        Event::GateAnswered { task, .. } => Some(task),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Ask, Class, Failure, JsonText, Payload, RunStatus};
    use std::io::{Read, Seek, SeekFrom};

    fn opened(task: &str, prompt: &str) -> Event {
        let ask = Ask::Choice { prompt: prompt.into(), options: Vec::new(), default: None };
        Event::GateOpened {
            task: TaskId(task.into()),
            question: 1,
            ask: Payload::Inline(JsonText::of(&ask)),
            shown: None,
            until: None,
        }
    }

    fn told(events: Vec<Event>) -> String {
        let mut terminal = tempfile::tempfile().unwrap();
        let notify = Notify { bell: true, ..Notify::default() };
        let notifier = Notifier::new(&RunId("r".into()), "w", &notify, Duration::from_secs(60))
            .detached(Some(DetachedFrom::Terminal), Some(terminal.try_clone().unwrap()));
        let stamp = |(n, event)| Stamped { seq: n as u64, at: Timestamp(1), event };
        notifier.observe(&events.into_iter().enumerate().map(stamp).collect::<Vec<_>>());
        terminal.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        terminal.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_gate_that_opens_rings_and_says_how_to_get_there() {
        let text = told(vec![opened("approve", "ship\x1b[2J it?\nreally?")]);
        assert!(
            text.starts_with(BELL) && text.contains("`approve` waits for you: ship\\u{1b}[2J it?"),
            "{text:?}"
        );
        assert!(text.contains("convoke attach r"), "{text:?}");
        assert!(!text.contains('\x1b'), "{text:?}");
    }

    #[test]
    fn a_command_that_cannot_be_started_is_said_once() {
        let notify = Notify { command: vec!["no-such-program-anywhere".into()], ..Notify::default() };
        let notifier = Notifier::new(&RunId("r".into()), "w", &notify, Duration::from_secs(60));
        let said = notifier.paused("the disk is full").expect("it cannot be started");
        assert!(
            said.starts_with("`notify.command`: `no-such-program-anywhere` cannot be started: "),
            "{said}"
        );
        assert_eq!(notifier.paused("the disk is full"), None);
    }

    #[test]
    fn the_end_of_a_detached_run_is_told_and_of_no_other() {
        let ended = || Event::RunFinished { status: RunStatus::Succeeded, output: None, failure: None };
        let text = told(vec![ended()]);
        assert!(text.contains("convoke: run r: it succeeded\r\n  convoke show r"), "{text:?}");
        let told_by_command =
            Notify { command: vec!["no-such-program-anywhere".into()], ..Notify::default() };
        let watched = Notifier::new(&RunId("r".into()), "w", &told_by_command, Duration::from_secs(60));
        assert!(watched.observe(&[Stamped { seq: 1, at: Timestamp(1), event: ended() }]).is_empty());
    }

    #[test]
    fn a_gate_that_is_answered_at_once_is_nobodys_business() {
        let answer = Payload::Inline(JsonText::of(&1));
        let answered = Event::GateAnswered {
            task: TaskId("a".into()),
            question: 1,
            answer,
            by: "--skip-gates".into(),
            from: None,
        };
        assert_eq!(told(vec![opened("a", "go?"), answered]), "");
    }

    #[test]
    fn what_is_asked_for_is_told_and_nothing_else() {
        let failed = || {
            let failure = Failure::new(Class::Fatal, "it melted");
            vec![Stamped {
                seq: 1,
                at: Timestamp(1),
                event: Event::TaskFailed { task: TaskId("a".into()), failure },
            }]
        };
        let notify = |on: Option<Vec<Topic>>| Notify {
            command: vec!["no-such-program-anywhere".into()],
            topics: crate::config::Topics { on, workflows: Vec::new() },
            ..Notify::default()
        };
        let told = |on| {
            Notifier::new(&RunId("r".into()), "w", &notify(on), Duration::from_secs(60))
                .observe(&failed())
                .len()
        };
        assert_eq!((told(None), told(Some(vec![Topic::Gate])), told(Some(vec![Topic::Failure]))), (0, 0, 1));
        let elsewhere = Notify {
            topics: crate::config::Topics {
                on: Some(vec![Topic::Failure]),
                workflows: vec!["nightly".into()],
            },
            ..notify(None)
        };
        let notifier = Notifier::new(&RunId("r".into()), "w", &elsewhere, Duration::from_secs(60));
        assert!(notifier.observe(&failed()).is_empty(), "another workflow");
    }
}
