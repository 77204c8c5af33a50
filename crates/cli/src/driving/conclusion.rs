//! How a run ended, said to the caller: output, words, exit code, and how to go on.

use super::{Signal, goal_answer};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::gate;
use crate::stored::Stored;
use crate::view::format;
use convoke_engine::Outcome;
use convoke_journal::StateDir;
use convoke_model::{Ask, Failure, RunId, RunStatus, TaskId, reason};
use convoke_schedule::NOT_ACHIEVED;
use convoke_view::{ABOVE, State};

/// A run that is no longer driven.
pub struct Ended<'a> {
    /// How we speak.
    pub console: &'a Console,
    /// Where runs are kept.
    pub state: &'a StateDir,
    /// The run.
    pub run: &'a RunId,
    /// What the engine says.
    pub outcome: Outcome,
    /// What the watcher saw.
    pub view: State,
    /// The first signal that came.
    pub signal: Option<Signal>,
    /// A run that ended in part is a success.
    pub allow_partial: bool,
    /// The output is shown in words, where it is the answer to a goal.
    pub in_words: bool,
    /// Gates take their first option.
    pub skip_gates: bool,
}

impl Ended<'_> {
    /// Prints the output and everything else there is to say.
    pub fn conclude(self) -> Result<Exit, CommandFailure> {
        self.print_output()?;
        let exit = self.exit();
        match self.outcome.status {
            RunStatus::Succeeded => {
                self.console.conclude(&self.summary("succeeded"));
                self.tell_of_outputs();
            }
            RunStatus::Partial | RunStatus::SkippedAll => self.ended_in_part(exit),
            RunStatus::Parked => self.parked()?,
            RunStatus::Blocked => self.interrupted("blocked (disk)"),
            RunStatus::Interrupted => self.interrupted("interrupted"),
            RunStatus::Cancelled => self.interrupted("stopped"),
            RunStatus::Failed | RunStatus::Running => self.failed(),
        }
        Ok(exit)
    }

    /// The result of a run that ended. A run that ended well without an `output` prints `{}`: a program that reads
    /// standard output always finds JSON there.
    fn print_output(&self) -> Result<(), CommandFailure> {
        let ended_well =
            matches!(self.outcome.status, RunStatus::Succeeded | RunStatus::Partial | RunStatus::SkippedAll);
        match &self.outcome.output {
            Some(output) => {
                let output = output.value();
                match goal_answer::of(&output).filter(|_| self.in_words) {
                    Some(words) => self.console.data(&words),
                    None => self.console.json(&output),
                }
            }
            None if ended_well => self.console.json(&serde_json::json!({})),
            None => Ok(()),
        }
    }

    /// Says how to print more, after a run of a workflow that declares no output.
    fn tell_of_outputs(&self) {
        if self.outcome.output.is_none() {
            let run = self.run;
            self.console.hint(&format!(
                "this workflow declares no `output:`; add one, or read a step's output: convoke show {run} STEP"
            ));
        }
    }

    fn exit(&self) -> Exit {
        match self.outcome.status {
            RunStatus::Succeeded => Exit::Success,
            RunStatus::Partial if self.allow_partial && !self.lost_its_goals() => Exit::Success,
            RunStatus::Parked => Exit::Waiting,
            RunStatus::Blocked => Exit::State,
            RunStatus::Interrupted | RunStatus::Cancelled => {
                self.signal.map_or(Exit::Interrupted, Signal::exit)
            }
            _ if self.outcome.limit().is_some() => Exit::Limit,
            _ => Exit::Failed,
        }
    }

    /// Whether a goal failed or left everything out: what else was done does not make up for it.
    fn lost_its_goals(&self) -> bool {
        let failure = self.outcome.failure.as_ref();
        failure.and_then(|failure| failure.reason.as_deref()) == Some(NOT_ACHIEVED)
    }

    /// `w succeeded in 2.1 s: 12 steps, 1.2k tokens, $0.01 (run …)`.
    fn summary(&self, word: &str) -> String {
        let view = &self.view;
        let paint = self.console.paint;
        let painted = if word == "succeeded" { paint.good(word) } else { paint.warn(word) };
        let took = format::duration(view.worked(view.last));
        let mut parts = vec![view.ended.words()];
        parts.extend(format::usage(&view.usage));
        // A run that waits has not done what it is for in this time; it has worked for so long.
        let within = if word == "succeeded" { "in" } else { "after" };
        format!("{} {painted} {within} {took}: {} (run {})", view.workflow, parts.join(", "), self.run)
    }

    fn ended_in_part(&self, exit: Exit) {
        let word =
            if self.outcome.status == RunStatus::Partial { "ended in part" } else { "skipped everything" };
        self.console.conclude(&self.summary(word));
        if let Some(failure) = &self.outcome.failure {
            self.explain(failure);
        }
        if exit != Exit::Success {
            self.console.hint(&format!("convoke resume {}", self.run));
        }
    }

    fn interrupted(&self, word: &str) {
        self.console.conclude(&self.summary(word));
        self.console.hint(&format!("convoke resume {}", self.run));
    }

    fn failed(&self) {
        match &self.outcome.failure {
            Some(failure) => self.explain(failure),
            None => self.console.complain(&format!("{} the run failed", self.console.paint.bad("error:"))),
        }
        self.console.conclude(&self.summary("failed"));
        if self.ended_by_a_template() {
            let run = &self.run;
            return self.console.hint(&format!(
                "correct the file, then convoke resume {run} --accept-changes; a missing input is given to a new run with -i"
            ));
        }
        if self.ended_by_its_file() {
            return self.console.hint(&format!("then convoke resume {} --accept-changes", self.run));
        }
        if !self.ended_by_its_author() && !self.ended_by_its_budget() {
            self.console.hint(&format!("convoke resume {}", self.run));
        }
    }

    /// A text that cannot be rendered cannot be rendered again, unless the file changes.
    fn ended_by_a_template(&self) -> bool {
        let failure = self.outcome.failure.as_ref();
        failure.and_then(|failure| failure.reason.as_deref()) == Some(reason::TEMPLATE)
    }

    /// A limit that the file states ends the run again, until the file states another.
    fn ended_by_its_file(&self) -> bool {
        let failure = self.outcome.failure.as_ref();
        let reason = failure.and_then(|failure| failure.reason.as_deref());
        matches!(reason, Some(reason::MAX_ITERATIONS | reason::MAX_TASKS))
    }

    /// A `terminate` step is final: there is nothing to resume.
    fn ended_by_its_author(&self) -> bool {
        let failure = self.outcome.failure.as_ref();
        failure.and_then(|failure| failure.reason.as_deref()) == Some(reason::TERMINATED)
    }

    /// Until it is raised, it ends the run again; the failure's own advice says how to raise it.
    fn ended_by_its_budget(&self) -> bool {
        let failure = self.outcome.failure.as_ref();
        let reason = failure.and_then(|failure| failure.reason.as_deref());
        matches!(reason, Some(reason::BUDGET | reason::BUDGET_TOKENS))
    }

    /// Which step, what kind of failure, its words and its advice. Words that a line above has told are not repeated.
    fn explain(&self, failure: &Failure) {
        let paint = self.console.paint;
        let message = self.view.shown_failures.refer(None, &failure.message, ABOVE);
        let step =
            self.view.failed_step.as_ref().or_else(|| self.view.shown_failures.teller(&failure.message));
        let step = step.filter(|task| !mentions(&message, task));
        let what = match (step, message.is_empty()) {
            (Some(task), true) => format!("step `{task}` failed{ABOVE}"),
            (None, true) => format!("the run failed{ABOVE}"),
            (Some(task), false) => format!("step `{task}`: {message}"),
            (None, false) => message.into_owned(),
        };
        let reason = failure.reason.as_ref().map(|reason| format!(", {reason}")).unwrap_or_default();
        let text = format!("{} {what} ({}{reason})", paint.bad("error:"), failure.class);
        self.console.complain(&text);
        if let Some(hint) = &failure.hint {
            // Advice is written without knowing the run's name.
            self.console.hint(&hint.replace(" RUN ", &format!(" {} ", self.run)));
        }
    }

    /// Why the question was not asked here.
    fn why_nobody_was_asked(&self, can_be_skipped: bool) -> String {
        if self.skip_gates {
            return "--skip-gates does not decide this: it takes the first option of gates only".to_owned();
        }
        let why = match gate::is_attended() {
            true => "no answer was given at this terminal (Ctrl-D, or --no-interactive)",
            false => "gates are asked where standard input and standard error are a terminal",
        };
        match can_be_skipped {
            true => format!("{why}; --skip-gates takes the first option of every gate"),
            false => why.to_owned(),
        }
    }

    fn parked(&self) -> Result<(), CommandFailure> {
        self.console.conclude(&self.summary("parked"));
        let stored = Stored::open(self.state, &self.run.0)?;
        let mut can_be_skipped = false;
        for task in &self.outcome.waiting {
            let Ok(question) = stored.question(&task.0) else { continue };
            let ask = stored.ask(&question)?;
            can_be_skipped |= !matches!(ask, Ask::Unknown { .. } | Ask::Approval { .. });
            // A person cannot answer without these lines, so `--silent` does not hide them.
            self.console.complain(&gate::explain(self.run, &question, &ask));
        }
        self.console.hint(&self.why_nobody_was_asked(can_be_skipped));
        self.console.hint(&format!("convoke resume {}", self.run));
        Ok(())
    }
}

fn mentions(message: &str, task: &TaskId) -> bool {
    message.contains(&format!("`{}`", format::node(task))) || message.contains(&format!("`{task}`"))
}
