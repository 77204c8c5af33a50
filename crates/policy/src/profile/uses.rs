//! What one call of a program does, as far as its profile knows: the paths and hosts that it names, and what its plan needs.

use super::Argument;
use super::table::Role;
use crate::plan::PlannedWord;
use crate::reading::word::Pattern;
use crate::verdict::{Reason, Rule};
use crate::world::Access;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Something that a call touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use<'a> {
    /// A path, as it was written.
    Path(Cow<'a, str>, Access),
    /// A pattern that the shell expands; every name of it is touched.
    Pattern(&'a str, &'a Pattern, Access),
    /// A path of git; may hold wildcards of git's own.
    Pathspec(&'a str, Access),
    /// A revision of git, or a path.
    Revision(&'a str),
    /// Where something goes: the path, or, if that is a folder, the second one in it.
    Target(&'a str, String),
    /// An address.
    Url(String),
}

/// What one call does.
#[derive(Debug, Default)]
pub struct Uses<'a> {
    /// What it touches.
    pub touched: Vec<Use<'a>>,
    /// What is wrong with it.
    pub reasons: Vec<Reason>,
    /// Variables that are set for it.
    pub env: Option<&'static Arc<BTreeMap<String, String>>>,
    /// Arguments that are added behind the first so many words of it.
    pub added: Vec<(usize, PlannedWord)>,
    /// Whether code of the project runs.
    pub runs_project_code: bool,
    /// Whether it may put other files in the place of many.
    pub changes_tree: bool,
    /// Folders that it writes to, beside the paths it names.
    pub writes: Vec<String>,
    /// Whether it writes anywhere in the working tree.
    pub writes_tree: bool,
    /// The folder that it enters: `cd`.
    pub enters: Option<String>,
    /// Whether it succeeds whatever happens (`true`), or fails (`false`).
    pub always: Option<bool>,
}

impl<'a> Uses<'a> {
    /// Something is wrong with an argument.
    pub fn refuse(&mut self, message: impl Into<String>) {
        self.reasons.push(Reason::new(Rule::Argument, message));
    }

    /// It touches a path.
    pub fn path(&mut self, path: impl Into<Cow<'a, str>>, access: Access) {
        self.touched.push(Use::Path(path.into(), access));
    }

    /// It takes a value in a role.
    pub fn value(&mut self, role: Role, argument: &Argument<'a>) {
        match (argument.pattern, role) {
            (None, _) => self.text(role, argument.text),
            // The words come from the names of files: only a program that reads files is given any.
            (Some(pattern), Role::Read | Role::Look) => {
                let access = if role == Role::Read { Access::Read } else { Access::Look };
                self.touched.push(Use::Pattern(argument.text, pattern, access));
            }
            (Some(_), Role::Pattern) => self.refuse(format!(
                "`{}` is a pattern that the shell may expand before the program sees it; put it in single quotes",
                argument.text
            )),
            (Some(_), _) => self.refuse(format!(
                "`{}` is a pattern, so what it stands for depends on the files that are there; name the files, or put it in single quotes",
                argument.text
            )),
        }
    }

    /// It takes a text in a role.
    pub fn text(&mut self, role: Role, text: &'a str) {
        match role {
            Role::Text | Role::Pattern => {}
            Role::Number => self.number(text),
            Role::Look => self.path(text, Access::Look),
            Role::Read if text == "-" => {}
            Role::Read => self.path(text, Access::Read),
            Role::Write => self.path(text, Access::Write),
            Role::Replace => self.path(text, Access::Replace),
            Role::Revision => self.touched.push(Use::Revision(text)),
            Role::Pathspec => self.touched.push(Use::Pathspec(text, Access::Read)),
            Role::WrittenPathspec => self.touched.push(Use::Pathspec(text, Access::Replace)),
        }
    }

    fn number(&mut self, text: &str) {
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | ',' | ':' | '%');
        if !text.chars().all(fine) {
            self.refuse(format!("`{text}` is no number"));
        }
    }
}
