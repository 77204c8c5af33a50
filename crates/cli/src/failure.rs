//! Every error becomes a message, its causes, advice and an exit code, here and nowhere else.
//!
//! Libraries say what went wrong; this file decides which hint to give and with which exit code the command ends.

use crate::config::ConfigError;
use crate::exit::Exit;
use crate::paint::Paint;
use convoke_capacity::Error as CapacityError;
use convoke_engine::EngineError;
use convoke_journal::Error as JournalError;
use std::error::Error;
use std::fmt::Write as _;

/// Why a command did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFailure {
    /// Lower case, no full stop: the thing, then the cause. Empty if everything was said before.
    pub message: String,
    /// What led to it, nearest first.
    pub causes: Vec<String>,
    /// What to do about it.
    pub hints: Vec<String>,
    /// How the command ends.
    pub exit: Exit,
}

impl CommandFailure {
    /// A failure with a message.
    pub fn new(exit: Exit, message: impl Into<String>) -> CommandFailure {
        CommandFailure { message: message.into(), causes: Vec::new(), hints: Vec::new(), exit }
    }

    /// An end that has been explained already.
    pub fn explained(exit: Exit) -> CommandFailure {
        CommandFailure::new(exit, "")
    }

    /// Adds advice.
    pub fn hint(mut self, hint: impl Into<String>) -> CommandFailure {
        self.hints.push(hint.into());
        self
    }

    /// The message of an error and of everything below it.
    pub fn from_error(exit: Exit, error: &dyn Error) -> CommandFailure {
        let mut failure = CommandFailure::new(exit, error.to_string());
        let mut below = error.source();
        while let Some(cause) = below {
            failure.causes.push(cause.to_string());
            below = cause.source();
        }
        failure
    }

    /// The lines for standard error, without a final line break; empty if there is nothing to say.
    pub fn render(&self, paint: Paint) -> String {
        let mut text = String::new();
        if !self.message.is_empty() {
            write!(text, "{} {}", paint.bad("error:"), self.message).expect("text takes text");
        }
        for cause in &self.causes {
            write!(text, "\n  caused by: {cause}").expect("text takes text");
        }
        for hint in &self.hints {
            write!(text, "\n{} {hint}", paint.advice("hint:")).expect("text takes text");
        }
        text.trim_start_matches('\n').to_owned()
    }
}

impl From<ConfigError> for CommandFailure {
    fn from(error: ConfigError) -> Self {
        let hint = match &error {
            ConfigError::NoHome => Some("set CONVOKE_STATE_DIR or --state-dir"),
            ConfigError::Distrusted { .. } => Some(
                "it decides where prompts and keys go: make it yours (chown), and yours alone to write (chmod go-w)",
            ),
            _ => None,
        };
        let exit = match &error {
            ConfigError::Distrusted { .. } => Exit::Refused,
            _ => Exit::Usage,
        };
        let failure = CommandFailure::from_error(exit, &error);
        hint.into_iter().fold(failure, CommandFailure::hint)
    }
}

impl From<CapacityError> for CommandFailure {
    fn from(error: CapacityError) -> Self {
        // Its words hold the cause already.
        let failure = CommandFailure::new(Exit::State, error.to_string());
        match &error {
            CapacityError::Stuck { pid, .. } if *pid > 0 => {
                failure.hint(crate::commands::capacity::advice(*pid))
            }
            CapacityError::Foreign { .. } | CapacityError::Truncated { .. } => {
                failure.hint("remove the file, or choose another folder with --state-dir")
            }
            CapacityError::Io { source, .. } if is_full(source) => failure.hint(FREE_SPACE),
            _ => failure,
        }
    }
}

/// Advice for a disk without room.
const FREE_SPACE: &str =
    "free some space, or choose another folder with --state-dir; nothing that was finished is lost";

fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

impl From<JournalError> for CommandFailure {
    fn from(error: JournalError) -> Self {
        let exit = journal_exit(&error);
        let hint = journal_hint(&error).or(error.hint());
        hint.into_iter().fold(CommandFailure::from_error(exit, &error), CommandFailure::hint)
    }
}

impl From<EngineError> for CommandFailure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Journal(error) => error.into(),
            EngineError::History(_) => CommandFailure::from_error(Exit::Failed, &error).hint(
                "`convoke verify RUN` checks the journal; a newer version of convoke may be able to go on",
            ),
            _ => CommandFailure::from_error(Exit::Refused, &error),
        }
    }
}

fn journal_exit(error: &JournalError) -> Exit {
    use JournalError::*;
    match error {
        UnknownRun { .. } | AmbiguousRun { .. } => Exit::Usage,
        Owned { .. } | Fenced { .. } | RunExists { .. } => Exit::Owned,
        Archive { .. } | Newer { .. } | NoFormat { .. } | Foreign { .. } | Project { .. } => Exit::Refused,
        StateDir { .. } | Poisoned { .. } | DiskFull { .. } | Busy { .. } | Io { .. } | Database { .. } => {
            Exit::State
        }
        _ => Exit::Failed,
    }
}

/// Advice that only the command line can give: the library does not know its commands and flags.
fn journal_hint(error: &JournalError) -> Option<&'static str> {
    match error {
        JournalError::UnknownRun { .. } => Some("`convoke runs` lists the runs"),
        JournalError::AmbiguousRun { .. } => Some("give more of the run's name"),
        JournalError::StateDir { .. } => Some("choose another folder with --state-dir or CONVOKE_STATE_DIR"),
        JournalError::Project { .. } => Some("correct the file, or name another one with project.context"),
        JournalError::DiskFull { .. } => Some(FREE_SPACE),
        JournalError::Database { .. } => {
            Some("check the disk and its free space, or choose another folder with --state-dir")
        }
        JournalError::Owned { .. } => Some("wait for it to end, or stop it with `convoke stop RUN`"),
        _ => None,
    }
}

impl From<std::io::Error> for CommandFailure {
    /// Only for writing our own output; everything else names its file.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return CommandFailure::explained(Exit::Failed);
        }
        CommandFailure::new(Exit::Failed, format!("cannot write the output: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::RunId;

    #[test]
    fn a_failure_shows_message_causes_and_advice() {
        let source = std::io::Error::other("disk on fire");
        let error = JournalError::Io { doing: "open", path: "x".into(), source };
        let failure = CommandFailure::from(error).hint("buy another");
        assert_eq!(failure.exit, Exit::State);
        let text = failure.render(Paint::off());
        assert_eq!(text, "error: cannot open `x`\n  caused by: disk on fire\nhint: buy another");
    }

    #[test]
    fn each_kind_of_error_has_its_exit_code() {
        let run = RunId("r".into());
        let exit = |error: JournalError| CommandFailure::from(error).exit;
        assert_eq!(exit(JournalError::UnknownRun { name: "r".into(), nearest: None }), Exit::Usage);
        assert_eq!(exit(JournalError::Owned { run: run.clone(), holder: Default::default() }), Exit::Owned);
        assert_eq!(exit(JournalError::Newer { path: "j".into(), found: 2, known: 1 }), Exit::Refused);
        assert_eq!(exit(JournalError::DiskFull { path: "j".into() }), Exit::State);
        assert_eq!(exit(JournalError::Lost { run, last: 1, acknowledged: 2 }), Exit::Failed);
    }

    #[test]
    fn a_full_disk_is_told_as_one_whoever_notices_it() {
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        let table = CapacityError::Io { doing: "grow", path: "t".into(), source: full() };
        let failures = [table.into(), JournalError::DiskFull { path: "j".into() }.into()];
        for failure in failures.map(|failure: CommandFailure| failure) {
            assert_eq!(failure.hints, [FREE_SPACE], "{failure:?}");
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_message() {
        let failure = CommandFailure::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert_eq!(failure.render(Paint::off()), "");
    }
}
