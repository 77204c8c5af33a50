//! Tells a person who may be elsewhere that a run needs them: a gate opened, or a full disk pauses the run.
//!
//! Two ways, both as configured: a bell and a line on the terminal that a detached run was started from, and a command of the
//! person's own (`notify.command`). Neither is ever waited for, and neither can fail a run.

use crate::config::Notify;
use crate::escape;
use crate::view::words;
use convoke_model::{Ask, Event, Payload, RunId, Stamped, TaskId};
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

/// Rings the bell of a terminal.
const BELL: &str = "\x07";

/// Tells of one run.
pub struct Notifier {
    run: RunId,
    notify: Notify,
    /// The terminal that a detached run was started from.
    terminal: Option<File>,
}

impl Notifier {
    /// Tells as configured, and on this terminal.
    pub fn new(run: &RunId, notify: &Notify, terminal: Option<File>) -> Notifier {
        Notifier { run: run.clone(), notify: notify.clone(), terminal }
    }

    /// Tells of every gate that these events opened and left open.
    pub fn observe(&self, events: &[Stamped]) {
        let answered: HashSet<&TaskId> =
            events.iter().filter_map(|stamped| answered(&stamped.event)).collect();
        for stamped in events {
            if let Event::GateOpened { task, ask } = &stamped.event
                && !answered.contains(task)
            {
                self.tell("gate", &task.to_string(), &format!("`{task}` waits for you{}", question(ask)));
            }
        }
    }

    /// Tells that the run waits for room on the disk.
    pub fn paused(&self, why: &str) {
        self.tell("paused", "", &format!("the run pauses: {why}"));
    }

    fn tell(&self, event: &'static str, step: &str, message: &str) {
        let message = escape::line(message);
        let run = &self.run;
        if let Some(mut terminal) = self.terminal.as_ref() {
            let bell = if self.notify.bell { BELL } else { "" };
            // A terminal is left where the person's cursor stands: a line of its own, and none of theirs changed.
            write!(terminal, "{bell}\r\nconvoke: run {run}: {message}\r\n  convoke attach {run}\r\n").ok();
        }
        let [program, arguments @ ..] = &self.notify.command[..] else { return };
        let mut command = Command::new(program);
        command.args(arguments).arg(format!("run {run}: {message}"));
        command.env("CONVOKE_RUN", &*run.0).env("CONVOKE_EVENT", event).env("CONVOKE_STEP", step);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Its end is waited for on a thread, so that it leaves no zombie; how it ends is its own business.
        std::thread::spawn(move || command.status());
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
    prompt.map(|prompt| format!(": {}", words::first_line(&prompt))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{JsonText, Timestamp};
    use std::io::{Read, Seek, SeekFrom};

    fn opened(task: &str, prompt: &str) -> Event {
        let ask = Ask::Choice { prompt: prompt.into(), options: Vec::new() };
        Event::GateOpened { task: TaskId(task.into()), ask: Payload::Inline(JsonText::of(&ask)) }
    }

    fn told(events: Vec<Event>) -> String {
        let mut terminal = tempfile::tempfile().unwrap();
        let notify = Notify { bell: true, command: Vec::new() };
        let notifier = Notifier::new(&RunId("r".into()), &notify, Some(terminal.try_clone().unwrap()));
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
    fn a_gate_that_is_answered_at_once_is_nobodys_business() {
        let answer = Payload::Inline(JsonText::of(&1));
        let answered = Event::GateAnswered { task: TaskId("a".into()), answer, by: "--skip-gates".into() };
        assert_eq!(told(vec![opened("a", "go?"), answered]), "");
    }
}
