//! How a command speaks: data to standard output, everything else to standard error, as loudly as the user wants.

use crate::args::{Command, DetachedFrom, Global};
use crate::config::{Config, Consent};
use crate::failure::CommandFailure;
use crate::paint::Paint;
use crate::stdio;
use crate::{diagnostics, json_log};
use convoke_plan::diagnostic::Diagnostic;
use serde::Serialize;
use std::path::Path;

/// How much is said on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Voice {
    /// Nothing but errors.
    Silent,
    /// Warnings and how it ended.
    Quiet,
    /// What happens.
    Normal,
}

/// What every command needs: the configuration and a way to speak.
#[derive(Clone)]
pub struct Console {
    /// The configuration.
    pub config: Config,
    /// How much is said.
    pub voice: Voice,
    /// Colours of standard error.
    pub paint: Paint,
    /// Whether this process goes on for one that `--detach` was said to.
    pub detached: Option<DetachedFrom>,
    /// The flags that go over every file.
    flags: Global,
}

impl Console {
    /// Reads the configuration.
    pub fn open(global: &Global, command: &Command) -> Result<Console, CommandFailure> {
        let folder = std::env::current_dir().unwrap_or_else(|_| ".".into());
        let config = Config::load(global, &folder, &Consent::Files(&command.named_files()))?;
        let voice = match (global.silent, config.quiet) {
            (true, _) => Voice::Silent,
            (_, true) => Voice::Quiet,
            _ => Voice::Normal,
        };
        // What a detached process says ends up in a file.
        let paint = if global.detached.is_some() || json_log::is_on() {
            Paint::off()
        } else {
            Paint::for_stderr(config.color)
        };
        Ok(Console { paint, config, voice, detached: global.detached, flags: global.clone() })
    }

    /// The same for a run of another folder: with that folder's configuration, and the state folder that the run was found
    /// in. Variables and flags that hold relative paths mean those of the folder that the command was called in, so this
    /// comes before the run's folder is entered.
    pub fn for_folder(&self, folder: &Path, consent: &Consent<'_>) -> Result<Console, CommandFailure> {
        let config = Config::load(&self.flags, folder, consent)?;
        let config = Config {
            state_dir: self.config.state_dir.clone(),
            cluster: self.config.cluster.clone(),
            ..config
        };
        Ok(Console { config, ..self.clone() })
    }

    /// Writes text for people to standard output.
    pub fn data(&self, text: &str) -> Result<(), CommandFailure> {
        Ok(stdio::out(text)?)
    }

    /// Writes requested text to standard output: exact, unless a person reads it there.
    pub fn exact(&self, text: &str) -> Result<(), CommandFailure> {
        Ok(stdio::exact(text)?)
    }

    /// Writes a value as JSON, two spaces of indent, to standard output.
    pub fn json(&self, value: &(impl Serialize + ?Sized)) -> Result<(), CommandFailure> {
        Ok(stdio::json(&serde_json::to_string_pretty(value).expect("our types are JSON"))?)
    }

    /// Writes values as JSON, each on a line of its own, to standard output.
    pub fn json_lines(&self, lines: &str) -> Result<(), CommandFailure> {
        Ok(stdio::json(lines)?)
    }

    /// Says how things stand.
    pub fn say(&self, text: &str) {
        self.speak(Voice::Normal, text);
    }

    /// Says how it ended.
    pub fn conclude(&self, text: &str) {
        self.speak(Voice::Quiet, text);
    }

    /// Says what is odd.
    pub fn warn(&self, text: &str) {
        self.speak(Voice::Quiet, &format!("{} {text}", self.paint.warn("warning:")));
    }

    /// Says what to do.
    pub fn hint(&self, text: &str) {
        self.speak(Voice::Quiet, &format!("{} {text}", self.paint.advice("hint:")));
    }

    /// Says what went wrong, whatever the user wants.
    pub fn complain(&self, text: &str) {
        self.speak(Voice::Silent, text);
    }

    /// Shows a finding with its place: whatever the user wants where it refuses a file.
    pub fn finding(&self, found: &Diagnostic, refuses: bool) {
        let text = match json_log::is_on() {
            true => json_log::finding(found),
            false => diagnostics::draw(found, self.width(), self.paint),
        };
        self.speak(if refuses { Voice::Silent } else { Voice::Quiet }, &text);
    }

    fn speak(&self, least: Voice, text: &str) {
        if self.voice >= least && !text.is_empty() {
            stdio::err(text);
        }
    }

    /// Whether a person is at a terminal, here or where the run was detached.
    pub fn is_attended(&self) -> bool {
        crate::gate::is_attended() || self.detached == Some(DetachedFrom::Terminal)
    }

    /// The width of messages.
    pub fn width(&self) -> usize {
        if stdio::err_is_terminal() {
            return crate::view::size().0;
        }
        let stated = crate::env::get(crate::env::COLUMNS).and_then(|text| text.parse().ok());
        stated.unwrap_or(100)
    }
}
