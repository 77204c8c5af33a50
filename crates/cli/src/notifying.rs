//! Tells a person away from the terminal that a run needs them: a gate opened, or a full disk pauses the run. Of a detached run,
//! which has no terminal to say so on, its end is told too.
//!
//! Two ways, both as configured: a bell and a line on the terminal that a detached run was started from, and a command of the
//! person's own (`notify.command`). Neither is ever waited for, and neither can fail a run. A command that cannot be started is
//! for the log.

use crate::args::DetachedFrom;
use crate::config::Notify;
use crate::escape;
use crate::view::format;
use convoke_model::{Ask, Event, Payload, RunId, RunStatus, Stamped, TaskId};
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Rings the bell of a terminal.
const BELL: &str = "\x07";

/// Tells of one run.
pub struct Notifier {
    run: RunId,
    notify: Notify,
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
    /// Tells as configured, of a run that is watched where it was started.
    pub fn new(run: &RunId, notify: &Notify) -> Notifier {
        let (run, notify) = (run.clone(), notify.clone());
        Notifier {
            run,
            notify,
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

    /// Tells of every gate that these events opened and left open, and of the end of a detached run. Gives back what could
    /// not be told, for the log.
    pub fn observe(&self, events: &[Stamped]) -> Vec<String> {
        let mut untold = Vec::new();
        let answered: HashSet<&TaskId> =
            events.iter().filter_map(|stamped| answered(&stamped.event)).collect();
        for stamped in events {
            match &stamped.event {
                Event::GateOpened { task, ask, .. } if self.gates && !answered.contains(task) => {
                    let message = format!("`{task}` waits for you{}", question(ask));
                    untold.extend(self.tell(("gate", &task.to_string()), &message, "attach"));
                }
                event => untold.extend(self.ended(event)),
            }
        }
        untold
    }

    /// The end of a detached run.
    fn ended(&self, event: &Event) -> Option<String> {
        self.detached?;
        let (message, next) = match event {
            Event::RunFinished { status, failure, .. } => {
                let why = failure.as_ref().map(|failure| format::first_line(&failure.message));
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                (format!("it {}{why}", ended_as(*status)), "show")
            }
            Event::RunParked { .. } => ("it is parked".to_owned(), "resume"),
            Event::RunInterrupted { by } => (format!("it was interrupted by {by}"), "resume"),
            _ => return None,
        };
        self.tell(("ended", ""), &message, next)
    }

    /// Tells that the run waits for room on the disk. Gives back what could not be told.
    pub fn paused(&self, why: &str) -> Option<String> {
        self.tell(("paused", ""), &format!("the run pauses: {why}"), "attach")
    }

    /// Tells what happened, at which step, and which command shows more.
    fn tell(&self, (event, step): (&str, &str), message: &str, next: &str) -> Option<String> {
        let message = escape::line(message);
        let run = &self.run;
        if let Some(mut terminal) = self.terminal.as_ref() {
            let bell = if self.notify.bell { BELL } else { "" };
            // A terminal is left where the person's cursor stands: a line of its own, and none of theirs changed.
            write!(terminal, "{bell}\r\nconvoke: run {run}: {message}\r\n  convoke {next} {run}\r\n").ok();
        }
        let [program, arguments @ ..] = &self.notify.command[..] else { return None };
        let mut command = Command::new(program);
        command.args(arguments).arg(format!("run {run}: {message}"));
        command.env("CONVOKE_RUN", &*run.0).env("CONVOKE_EVENT", event).env("CONVOKE_STEP", step);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            // Its end is waited for on a thread, so that it leaves no zombie; how it ends is its own business.
            Ok(mut child) => {
                std::thread::spawn(move || child.wait());
                None
            }
            Err(_) if self.complained.swap(true, Ordering::Relaxed) => None,
            Err(error) => Some(format!("`notify.command`: `{program}` cannot be started: {error}")),
        }
    }
}

/// How a run ended, behind its name.
fn ended_as(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Succeeded => "succeeded",
        RunStatus::Partial => "ended in part",
        RunStatus::SkippedAll => "skipped everything",
        RunStatus::Cancelled => "was stopped",
        _ => "failed",
    }
}

fn answered(event: &Event) -> Option<&TaskId> {
    match event {
        Event::GateAnswered { task, .. } => Some(task),
        _ => None,
    }
}

/// The question's first line, where the event itself holds it.
fn question(ask: &Payload) -> String {
    let Payload::Inline(text) = ask else { return String::new() };
    let prompt = match serde_json::from_str(text.as_str()) {
        Ok(Ask::Choice { prompt, .. } | Ask::Plan { prompt, .. } | Ask::Unknown { prompt }) => Some(prompt),
        Ok(Ask::Questions { prompt, .. }) => prompt,
        Err(_) => None,
    };
    prompt.map(|prompt| format!(": {}", format::first_line(&prompt))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{JsonText, Timestamp};
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
        let notify = Notify { bell: true, command: Vec::new() };
        let notifier = Notifier::new(&RunId("r".into()), &notify)
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
        let notify = Notify { bell: false, command: vec!["no-such-program-anywhere".into()] };
        let notifier = Notifier::new(&RunId("r".into()), &notify);
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
        let told_by_command = Notify { bell: true, command: vec!["no-such-program-anywhere".into()] };
        let watched = Notifier::new(&RunId("r".into()), &told_by_command);
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
}
