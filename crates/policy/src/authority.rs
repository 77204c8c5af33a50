//! Another authority beside a policy file: rules of a firm in a language of their own, such as Cedar.
//!
//! A policy names a file of rules (`cedar: FILE`), and a caller that can read the language passes a reader to [`Policy::parse_with`].
//! Judging asks the rules one question for each action: who, what, on which path, host or tool. The stricter verdict wins. This crate
//! knows no such language. A policy whose rules cannot be read is refused, so no rule is ever passed over.
//!
//! [`Policy::parse_with`]: crate::Policy::parse_with

use crate::judging::Host;
use crate::verdict::{Reason, Rule};
use crate::world::Access;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug, Display, Formatter};
use std::sync::Arc;

/// Who does something, and by which right.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Actor {
    /// The persona, if it is one.
    pub persona: Option<String>,
    /// The step.
    pub step: String,
    /// The contract of the attempt, as data.
    pub contract: serde_json::Value,
    /// The tool that names paths, where it is no command.
    pub tool: Option<String>,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A command: the program, or the program and its sub-command with a blank between them.
    Command(String),
    /// A tool, by its name.
    Tool(String),
}

/// To what it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// A path from the root; empty for the root itself.
    Path(String),
    /// A host.
    Host(Host),
    /// A tool itself; a command is run by the tool `shell`.
    Tool(String),
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Action::Command(key) => write!(f, "command `{key}`"),
            Action::Tool(name) => write!(f, "tool `{name}`"),
        }
    }
}

impl Display for Resource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Path(path) if path.is_empty() => f.write_str("path `.`"),
            Resource::Path(path) => write!(f, "path `{path}`"),
            Resource::Host(host) => write!(f, "host `{host}`"),
            Resource::Tool(name) => write!(f, "tool `{name}`"),
        }
    }
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is done.
    pub action: Action,
    /// To what.
    pub resource: Resource,
    /// How a path is used.
    pub access: Option<Access>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether it is permitted.
    pub permitted: bool,
    /// The rules behind it, or what went wrong.
    pub because: Vec<String>,
}

/// Somebody who can be asked. Pure: the same question has the same answer.
pub trait Authority: Send + Sync {
    /// Answers a question.
    fn answer(&self, actor: &Actor, question: &Question) -> Answer;
    /// Its rules, one text each, for people.
    fn rules(&self) -> Vec<String>;
    /// What it was read from, for comparing two of them.
    fn source(&self) -> &str;
}

/// Reads the file that a policy names.
pub trait Authorities {
    /// The authority of a file; the error says why there is none.
    fn read(&self, name: &str) -> Result<Arc<dyn Authority>, String>;
}

/// Nobody who reads such files.
pub struct NoAuthorities;

impl Authorities for NoAuthorities {
    fn read(&self, _: &str) -> Result<Arc<dyn Authority>, String> {
        Err("this program was built without Cedar (cargo feature `cedar`)".to_owned())
    }
}

/// The authority of a policy, by the name of its file.
#[derive(Clone)]
pub struct Named {
    /// The file, as the policy names it.
    pub name: String,
    /// The authority.
    pub authority: Arc<dyn Authority>,
}

impl Debug for Named {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Named").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Named) -> bool {
        self.name == other.name && self.authority.source() == other.authority.source()
    }
}

/// What an authority said to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    /// The file of its rules.
    pub by: String,
    /// What is done.
    pub action: String,
    /// To what.
    pub resource: String,
    /// How a path is used: `look`, `read`, `write` or `replace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// Whether it is permitted.
    pub permitted: bool,
    /// The rules behind it.
    pub because: Vec<String>,
}

impl Named {
    /// Puts questions, each once; what is not permitted is a reason.
    pub(crate) fn ask(
        &self,
        actor: &Actor,
        questions: Vec<Question>,
        reasons: &mut Vec<Reason>,
    ) -> Vec<Opinion> {
        let mut opinions: Vec<Opinion> = Vec::new();
        for question in questions {
            let Answer { permitted, because } = self.authority.answer(actor, &question);
            let opinion = Opinion {
                by: self.name.clone(),
                action: question.action.to_string(),
                resource: question.resource.to_string(),
                access: question.access.map(|access| access.word().to_owned()),
                permitted,
                because,
            };
            if opinions.contains(&opinion) {
                continue;
            }
            if !permitted {
                reasons.push(Reason::new(Rule::Authority, refusal(&opinion)));
            }
            opinions.push(opinion);
        }
        opinions
    }
}

fn refusal(opinion: &Opinion) -> String {
    let Opinion { by, action, resource, access, because, .. } = opinion;
    let use_of = access.as_ref().map(|access| format!(" ({access})")).unwrap_or_default();
    let why = match because.as_slice() {
        [] => "no rule permits it".to_owned(),
        rules => rules.join(", "),
    };
    format!("`{by}` does not permit the {action} on the {resource}{use_of}: {why}")
}
