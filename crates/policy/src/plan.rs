//! What a command text means, as an engine executes it: argument vectors, never a shell.
//!
//! A plan is a value that can be shown, stored and compared. Its canonical text is what a person approves, and its hash is what an
//! approval is bound to. Invariant: two plans that differ in anything that is executed have different hashes.

use crate::reading::script::Join;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter, Write as _};
use std::sync::Arc;

/// What would be executed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandPlan {
    /// Pipelines, one after another.
    pub pipelines: Vec<PlannedPipeline>,
    /// Files and folders that may be written; of a folder, everything in it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub writes: BTreeSet<String>,
    /// Hosts that may be reached, each as `scheme://host:port`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hosts: BTreeSet<String>,
    /// Whether programs of the project run, whose doings no plan holds: sandbox only, network off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_project_code: bool,
}

/// Commands that run at once, each reading what the one before it writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPipeline {
    /// When it is executed, seen from the one before.
    pub join: Join,
    /// The commands.
    pub commands: Vec<PlannedCommand>,
}

/// A word of a planned command: its own, or one that a profile adds to every command of its kind.
pub type PlannedWord = Cow<'static, str>;

/// One process, or a change of the working directory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlannedCommand {
    /// The program and its arguments.
    pub argv: Vec<PlannedWord>,
    /// Where it runs.
    pub cwd: String,
    /// Variables that are set for it, beside those that the policy passes.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub env: Arc<BTreeMap<String, String>>,
    /// Redirects, in the order in which they are done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<PlannedRedirect>,
    /// For `cd`: nothing is executed, but it fails if this is no folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enters: Option<String>,
}

/// A redirect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannedRedirect {
    /// A file is opened for reading.
    Read {
        /// The descriptor.
        fd: u8,
        /// The file, absolute.
        path: String,
    },
    /// A file is made or emptied, and written.
    Write {
        /// The descriptor.
        fd: u8,
        /// The file, absolute.
        path: String,
    },
    /// A file is made where it is missing, and written at its end.
    Append {
        /// The descriptor.
        fd: u8,
        /// The file, absolute.
        path: String,
    },
    /// A descriptor becomes the same as another.
    Copy {
        /// The descriptor.
        fd: u8,
        /// The other.
        from: u8,
    },
    /// A descriptor is closed.
    Close {
        /// The descriptor.
        fd: u8,
    },
    /// A text is read.
    Text {
        /// The descriptor.
        fd: u8,
        /// The text.
        text: String,
    },
}

fn is_empty(variables: &BTreeMap<String, String>) -> bool {
    variables.is_empty()
}

impl CommandPlan {
    /// What an approval is bound to: a hash of everything that is executed.
    pub fn hash(&self) -> String {
        let bytes = serde_json::to_vec(self).expect("a plan holds texts and numbers");
        blake3::hash(&bytes).to_hex().to_string()
    }

    /// The same plan without the variables that programs get, for people who look at what it does.
    pub fn without_env(&self) -> CommandPlan {
        let mut plan = self.clone();
        let commands = plan.pipelines.iter_mut().flat_map(|pipeline| &mut pipeline.commands);
        commands.for_each(|command| command.env = Arc::default());
        plan
    }

    /// Every command, in order.
    pub fn commands(&self) -> impl Iterator<Item = &PlannedCommand> {
        self.pipelines.iter().flat_map(|pipeline| &pipeline.commands)
    }
}

/// The canonical text: one line per pipeline, words quoted where they need it, controls escaped, what is implied spelled out.
impl Display for CommandPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, pipeline) in self.pipelines.iter().enumerate() {
            match (at, pipeline.join) {
                (0, _) => {}
                (_, Join::Then) => f.write_str("\n")?,
                (_, Join::And) => f.write_str("\n&& ")?,
                (_, Join::Or) => f.write_str("\n|| ")?,
            }
            for (at, command) in pipeline.commands.iter().enumerate() {
                if at > 0 {
                    f.write_str(" | ")?;
                }
                command.fmt(f)?;
            }
        }
        for path in &self.writes {
            write!(f, "\n# may write {}", quote(path))?;
        }
        for host in &self.hosts {
            write!(f, "\n# may reach {}", quote(host))?;
        }
        if self.runs_project_code {
            f.write_str("\n# runs code of the project: only in the sandbox, without network")?;
        }
        Ok(())
    }
}

impl Display for PlannedCommand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] ", quote(&self.cwd))?;
        for (name, value) in self.env.iter() {
            write!(f, "{name}={} ", quote(value))?;
        }
        for (at, word) in self.argv.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { " " } else { "" }, quote(word))?;
        }
        self.redirects.iter().try_for_each(|redirect| write!(f, " {redirect}"))
    }
}

impl Display for PlannedRedirect {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PlannedRedirect::Read { fd, path } => write!(f, "{fd}<{}", quote(path)),
            PlannedRedirect::Write { fd, path } => write!(f, "{fd}>{}", quote(path)),
            PlannedRedirect::Append { fd, path } => write!(f, "{fd}>>{}", quote(path)),
            PlannedRedirect::Copy { fd, from } => write!(f, "{fd}>&{from}"),
            PlannedRedirect::Close { fd } => write!(f, "{fd}>&-"),
            PlannedRedirect::Text { fd, text } => write!(f, "{fd}<<<{}", quote(text)),
        }
    }
}

/// A word as a shell would need it written, on one line, with what a terminal obeys spelled out.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word.chars().any(|c| c.is_control() || (!c.is_ascii() && !c.is_alphanumeric())) {
        let mut text = String::from("$'");
        for c in word.chars() {
            match c {
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\'' | '\\' => {
                    text.push('\\');
                    text.push(c);
                }
                c if c.is_control() || (!c.is_ascii() && !c.is_alphanumeric()) => {
                    write!(text, "\\U{:08x}", u32::from(c)).expect("text takes text");
                }
                c => text.push(c),
            }
        }
        return text + "'";
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_they_need_it() {
        assert_eq!(quote("src/lib.rs"), "src/lib.rs");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(quote("a\nb\u{1b}[2K"), "$'a\\nb\\U0000001b[2K'");
    }

    #[test]
    fn every_difference_changes_the_hash() {
        let command =
            PlannedCommand { argv: vec!["ls".into()], cwd: "/w".into(), ..PlannedCommand::default() };
        let plan = |command: PlannedCommand| CommandPlan {
            pipelines: vec![PlannedPipeline { join: Join::Then, commands: vec![command] }],
            ..CommandPlan::default()
        };
        let base = plan(command.clone());
        let other_cwd = plan(PlannedCommand { cwd: "/x".into(), ..command.clone() });
        let other_env =
            plan(PlannedCommand { env: Arc::new([("A".into(), "b".into())].into()), ..command.clone() });
        let two_words = plan(PlannedCommand { argv: vec!["l".into(), "s".into()], ..command });
        let hashes: BTreeSet<_> = [&base, &other_cwd, &other_env, &two_words].map(CommandPlan::hash).into();
        assert_eq!(hashes.len(), 4);
        let back: CommandPlan = serde_json::from_str(&serde_json::to_string(&base).unwrap()).unwrap();
        assert_eq!(back, base);
    }
}
