//! One call of a program: wrappers taken off, rules asked, arguments told apart, everything it touches judged.

use super::address::parse_address;
use super::listed::{Listed, is_of};
use super::{expand, place};
use crate::authority::{Action, Question, Resource};
use crate::plan::{PlannedCommand, PlannedWord};
use crate::policy::Policy;
use crate::profile::uses::{Use, Uses};
use crate::profile::{Argument, Runner, examine, is_known, key, runs_others, wrappers};
use crate::protected;
use crate::reading::script::Simple;
use crate::reading::word::Pattern;
use crate::verdict::{Reason, Rule};
use crate::world::{Access, Kind, Place, World};
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

/// Wrappers around wrappers.
const DEEPEST: usize = 8;

/// What is said of a call.
#[derive(Debug, Default)]
pub struct Said {
    /// The process.
    pub command: PlannedCommand,
    /// What is wrong.
    pub reasons: Vec<Reason>,
    /// Files and folders that it may write.
    pub writes: BTreeSet<String>,
    /// Hosts that it may reach.
    pub hosts: BTreeSet<String>,
    /// Whether code of the project runs.
    pub runs_project_code: bool,
    /// Whether files may change places.
    pub changes_tree: bool,
    /// The folder that it enters, and whether it is known to be there.
    pub enters: Option<(String, bool)>,
    /// Whether it always ends alike.
    pub always: Option<bool>,
    /// The name by which the program has its rule.
    pub key: String,
    /// What another authority is asked about it.
    pub questions: Vec<Question>,
    /// What patterns stand for, in the order in which they were looked up: the words of the process need them once more.
    expanded: VecDeque<(String, Result<Vec<String>, Reason>)>,
}

impl Said {
    fn asks(&mut self, policy: &Policy, resource: impl FnOnce() -> Resource, access: Option<Access>) {
        if policy.authority.is_some() {
            let action = Action::Command(self.key.clone());
            self.questions.push(Question { action, resource: resource(), access });
        }
    }

    /// Another authority is asked about a path.
    pub fn asks_about_path(&mut self, policy: &Policy, beneath: &Path, access: Access) {
        self.asks(policy, || Resource::Path(beneath.to_string_lossy().into_owned()), Some(access));
    }
}

/// What is known where a call stands.
pub struct Scene<'a> {
    /// The rules.
    pub policy: &'a Policy,
    /// The disk.
    pub world: &'a dyn World,
    /// The programs of the rules.
    pub listed: &'a Listed<'a>,
    /// The working directory.
    pub folder: &'a str,
    /// Whether an earlier command of the text may have put other files in their places.
    pub tree_changed: bool,
}

impl Scene<'_> {
    /// Judges a simple command; its redirects are judged elsewhere.
    pub fn call(&self, simple: &Simple<'_>) -> Said {
        let mut said = Said::default();
        said.command.cwd = self.folder.to_owned();
        if !self.policy.environment.set.is_empty() {
            said.command.env = Arc::new(self.policy.environment.set.clone());
        }
        for (name, value) in &simple.assignments {
            self.assign(name, &value.text, &mut said);
        }
        let words: Vec<Argument<'_>> = simple.words.iter().map(Argument::from).collect();
        self.unwrap(&words, &mut said);
        said
    }

    fn assign(&self, name: &str, value: &str, said: &mut Said) {
        if !self.policy.environment.assign.iter().any(|known| known == name) {
            said.reasons.push(Reason::new(
                Rule::Environment,
                format!(
                    "the variable `{name}` may not be set: it is not in `environment.assign` of the policy"
                ),
            ));
        }
        Arc::make_mut(&mut said.command.env).insert(name.to_owned(), value.to_owned());
    }

    /// Takes wrappers off until a program is left.
    fn unwrap(&self, words: &[Argument<'_>], said: &mut Said) {
        let (mut inner, mut adds_words) = (words, false);
        for _ in 0..=DEEPEST {
            let Some(program) = inner.first() else { return };
            let name = program.text;
            if !self.name_is_fine(program, said) {
                return;
            }
            let key = key(inner);
            said.key.clone_from(&key.0);
            said.asks(self.policy, || Resource::Tool("shell".to_owned()), None);
            if self.denied(&key.0, name, said) {
                return;
            }
            if !wrappers::is_wrapper(name) {
                self.program(inner, &key, adds_words, said);
                return;
            }
            self.listed(name, name, said);
            let unwrapped = match wrappers::unwrap(inner) {
                Ok(unwrapped) => unwrapped,
                Err(why) => return said.reasons.push(Reason::new(Rule::Argument, why)),
            };
            if unwrapped.inner.is_empty() {
                let why = match name {
                    "env" => "`env` without a command prints the environment, which may hold keys".to_owned(),
                    "xargs" => "`xargs` without a command runs echo; name the command".to_owned(),
                    _ => format!("`{name}` without a command has no effect that a plan can hold"),
                };
                return said.reasons.push(Reason::new(Rule::Argument, why));
            }
            for (name, value) in &unwrapped.assignments {
                self.assign(name, value, said);
                // It is set by the wrapper itself.
                Arc::make_mut(&mut said.command.env).remove(name);
            }
            for path in &unwrapped.reads {
                self.path(path, Access::Read, said);
            }
            adds_words |= unwrapped.adds_words;
            let own = inner.len() - unwrapped.inner.len();
            if unwrapped.stays {
                said.command.argv.extend(inner[..own].iter().map(|word| word.text.to_owned().into()));
            }
            inner = unwrapped.inner;
        }
        said.reasons.push(Reason::new(
            Rule::Argument,
            format!("more than {DEEPEST} programs run each other in one command; run the innermost one"),
        ));
    }

    /// A program is named by letters, without a folder.
    fn name_is_fine(&self, program: &Argument<'_>, said: &mut Said) -> bool {
        let name = program.text;
        if program.is_pattern || name.is_empty() {
            said.reasons.push(Reason::new(
                Rule::Complex,
                "the name of the command is a pattern or empty; write its name",
            ));
            return false;
        }
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.+[:/".contains(&byte)) {
            said.reasons.push(Reason::new(
                Rule::Complex,
                format!(
                    "`{}` is no name of a program: it has other characters than letters, digits and dashes",
                    name.escape_debug()
                ),
            ));
            return false;
        }
        if name.contains('/') && !self.listed.takes(name) {
            // A deny rule holds for the program wherever it is.
            let base = name.rsplit('/').next().unwrap_or(name);
            self.denied(base, base, said);
            let rule = if self.listed.all { Rule::Complex } else { Rule::Program };
            said.reasons.push(Reason::new(
                rule,
                format!(
                    "`{name}` names a program by its place, which may be any program; write its name alone"
                ),
            ));
            return false;
        }
        true
    }

    /// Deny rules, however the program is spelled.
    fn denied(&self, key: &str, name: &str, said: &mut Said) -> bool {
        let Some(rule) = self.listed.denies(key, name) else { return false };
        said.reasons
            .push(Reason::new(Rule::Denied, format!("`{name}` is denied by `binaries.deny: {rule}`")));
        true
    }

    /// Whether the policy lists a program.
    fn listed(&self, key: &str, name: &str, said: &mut Said) -> bool {
        if self.listed.all || self.listed.takes(name) || self.listed.takes(key) {
            return true;
        }
        let allow = &self.policy.binaries.allow;
        let known: Vec<&str> = allow.iter().map(String::as_str).filter(|entry| is_of(name, entry)).collect();
        let advice = match (known.is_empty(), runs_others(name)) {
            (false, _) => format!("; allowed: {}", known.join(", ")),
            (true, Some(Runner::Shell)) => "; it changes the shell itself, which no plan can hold".to_owned(),
            (true, Some(_)) => "; it runs what it is given".to_owned(),
            (true, None) => String::new(),
        };
        let what = if known.is_empty() { name } else { key };
        said.reasons.push(Reason::new(
            Rule::Program,
            format!("`{what}` is not among the programs that the policy allows{advice}"),
        ));
        false
    }

    /// The program that is left.
    fn program(
        &self,
        words: &[Argument<'_>],
        (key, taken): &(String, usize),
        adds_words: bool,
        said: &mut Said,
    ) {
        let name = words[0].text;
        let trusted = self.policy.binaries.trust.iter().any(|entry| entry == name);
        if !trusted && !self.listed(key, name, said) {
            said.command.argv.extend(words.iter().map(|word| word.text.to_owned().into()));
            return;
        }
        if trusted || (self.listed.all && !is_known(key)) {
            self.unprofiled(words, trusted, said);
            return;
        }
        if self.listed.all && wants_more(words, &self.policy.binaries.deny) {
            said.reasons
                .push(Reason::new(Rule::Argument, format!("`{name}` is given the name of a denied program")));
        }
        let uses = examine(key, &words[*taken..], *taken);
        if self.listed.all && !self.policy.binaries.deny.is_empty() && uses.runs_project_code {
            said.reasons.push(Reason::new(
                Rule::Complex,
                format!("`{name}` runs code of the project, in which a denied program may be hidden; list `{key}` by name to allow it"),
            ));
        }
        if adds_words {
            self.added_words(key, said);
        }
        let wrapped = !said.command.argv.is_empty();
        self.touched(&uses, said);
        self.arguments(words, &uses, said);
        self.effects(name, uses, wrapped, said);
    }

    /// Words that come from an input are not known; only a program to which they are nothing may get them.
    fn added_words(&self, key: &str, said: &mut Said) {
        if !matches!(key, "echo" | "basename" | "dirname" | "true") {
            said.reasons.push(Reason::new(
                Rule::Argument,
                format!(
                    "`xargs {key}` takes its operands from its input, which nobody has judged; name the files"
                ),
            ));
        }
    }

    /// A program of which nothing is known but that the policy lets it run.
    fn unprofiled(&self, words: &[Argument<'_>], trusted: bool, said: &mut Said) {
        let name = words[0].text;
        if !trusted && runs_others(name).is_some() {
            said.reasons.push(Reason::new(
                Rule::Complex,
                format!(
                    "`{name}` runs what it is given, so what it does is not known; run that program itself"
                ),
            ));
        } else if !trusted && wants_more(words, &self.policy.binaries.deny) {
            said.reasons
                .push(Reason::new(Rule::Argument, format!("`{name}` is given the name of a denied program")));
        }
        if let Some(pattern) = words.iter().find(|word| word.is_pattern) {
            let why = format!(
                "`{}` is a pattern, and nothing is known of what `{name}` does with names",
                pattern.text
            );
            said.reasons.push(Reason::new(Rule::Complex, why));
        }
        said.runs_project_code = true;
        said.changes_tree = true;
        said.command.argv.extend(words.iter().map(|word| word.text.to_owned().into()));
        said.writes.insert(self.world.root().display().to_string());
    }

    fn touched(&self, uses: &Uses<'_>, said: &mut Said) {
        for touched in &uses.touched {
            match touched {
                Use::Path(path, access) => self.path(path, *access, said),
                Use::Pattern(text, pattern, access) => self.pattern(text, pattern, *access, said),
                Use::Pathspec(text, access) => self.pathspec(text, *access, said),
                Use::Revision(text) => self.revision(text, said),
                Use::Target(path, inside) => self.target(path, inside, said),
                Use::Url(text) => self.url(text, said),
            }
        }
    }

    fn path(&self, text: &str, access: Access, said: &mut Said) {
        match place::judge(self.policy, self.world, Path::new(self.folder), text, access) {
            Err(reason) => said.reasons.push(reason),
            Ok(None) => {}
            Ok(Some(found)) => {
                if self.tree_changed && (access.changes() || found.kind == Kind::Absent) {
                    said.reasons.push(Reason::new(
                        Rule::Path,
                        format!("an earlier command may put something else at `{text}`; run this in a command of its own"),
                    ));
                }
                said.asks_about_path(self.policy, &found.beneath, access);
                if access.changes() {
                    said.writes.insert(self.world.root().join(&found.beneath).display().to_string());
                }
            }
        }
    }

    /// Where something goes: into a folder if there is one.
    fn target(&self, path: &str, inside: &str, said: &mut Said) {
        let found = self.world.resolve(&Path::new(self.folder).join(path), Access::Look);
        match (found.place, found.kind) {
            (Place::Beneath(_), Kind::Folder) => self.path(inside, Access::Replace, said),
            _ => self.path(path, Access::Replace, said),
        }
    }

    fn pattern(&self, text: &str, pattern: &Pattern, access: Access, said: &mut Said) {
        let expanded = expand::expand(self.world, Path::new(self.folder), text, pattern);
        match &expanded {
            Err(reason) => said.reasons.push(reason.clone()),
            Ok(paths) => paths.iter().for_each(|path| self.path(path, access, said)),
        }
        said.expanded.push_back((text.to_owned(), expanded));
    }

    /// A path of git: wildcards are git's own, `:` begins something else.
    fn pathspec(&self, text: &str, access: Access, said: &mut Said) {
        let plain = text.strip_prefix(":!").or_else(|| text.strip_prefix(":^")).unwrap_or(text);
        if plain.starts_with(':') {
            said.reasons.push(Reason::new(
                Rule::Argument,
                format!("`{text}` is a path with conditions of git; write the path"),
            ));
            return;
        }
        if plain.len() > expand::LONGEST && plain.contains(['*', '?', '[']) {
            let why =
                format!("`{text}` is a pattern that is longer than any that is looked up; name the files");
            return said.reasons.push(Reason::new(Rule::Argument, why));
        }
        let pattern = Pattern::of_text(plain);
        if !pattern.is_literal() && text == plain {
            if let Some(secret) = protected::pattern_reaches_secret(&pattern) {
                let why = format!("`{text}` may stand for a secret file (`{secret}`); name the files");
                said.reasons.push(Reason::new(Rule::Protected, why));
            }
            if access.changes() {
                let why = format!("`{text}` stands for files that would be written; name them");
                said.reasons.push(Reason::new(Rule::Path, why));
            }
        }
        // The whole tree may be restored; what it holds is git's.
        if access.changes() && matches!(plain, "." | "./") {
            return;
        }
        self.path(plain, access, said);
    }

    /// A revision, or a path: judged as both.
    fn revision(&self, text: &str, said: &mut Said) {
        let fine = |c: char| !c.is_control() && !matches!(c, '*' | '?' | '[' | '\\' | ' ');
        if !text.chars().all(fine) || text.starts_with(':') {
            said.reasons
                .push(Reason::new(Rule::Argument, format!("`{text}` is no revision; put -- before paths")));
            return;
        }
        // `HEAD:src/lib.rs` is a file of a revision.
        if let Some((_, path)) = text.split_once(':') {
            self.path(if path.is_empty() { "." } else { path }, Access::Read, said);
            return;
        }
        self.path(text, Access::Read, said);
    }

    fn url(&self, text: &str, said: &mut Said) {
        match parse_address(text) {
            Err(why) => said.reasons.push(Reason::new(
                Rule::Network,
                format!("`{text}` is no address that may be reached: {why}"),
            )),
            Ok(host) if self.policy.hosts.contains(&host) => {
                said.asks(self.policy, || Resource::Host(host.clone()), None);
                said.hosts.insert(host.to_string());
            }
            Ok(host) => {
                let listed: Vec<String> = self.policy.hosts.iter().map(ToString::to_string).collect();
                let listed = if listed.is_empty() {
                    "it lists none".to_owned()
                } else {
                    format!("it lists {}", listed.join(", "))
                };
                said.reasons.push(Reason::new(
                    Rule::Network,
                    format!("`{host}` is not among the hosts of the policy (`network.hosts`); {listed}"),
                ));
            }
        }
    }

    /// The words of the process: patterns become names, and what the profile adds stands behind the program.
    fn arguments(&self, words: &[Argument<'_>], uses: &Uses<'_>, said: &mut Said) {
        let start = said.command.argv.len();
        said.command.argv.reserve(words.len() + uses.added.len());
        for word in words {
            match word.pattern {
                Some(pattern) if word.text.starts_with('-') => {
                    // An option whose value is a pattern: no file is named like it, so it stays as it is.
                    let names = self.world.names(Path::new(self.folder), pattern);
                    if names.is_none_or(|names| !names.is_empty()) {
                        let why = format!(
                            "`{}` is a pattern that the shell may expand; put it in single quotes",
                            word.text
                        );
                        said.reasons.push(Reason::new(Rule::Complex, why));
                    }
                    said.command.argv.push(word.text.to_owned().into());
                }
                Some(pattern) => {
                    let known = said.expanded.pop_front_if(|(text, _)| text == word.text);
                    let expanded = known.map(|(_, expanded)| expanded);
                    let expand = || expand::expand(self.world, Path::new(self.folder), word.text, pattern);
                    match expanded.unwrap_or_else(expand) {
                        Ok(paths) => said.command.argv.extend(paths.into_iter().map(PlannedWord::from)),
                        Err(_) => said.command.argv.push(word.text.to_owned().into()),
                    }
                }
                None => said.command.argv.push(word.text.to_owned().into()),
            }
        }
        for added in uses.added.chunk_by(|one, other| one.0 == other.0).rev() {
            let at = start + added[0].0;
            said.command.argv.splice(at..at, added.iter().map(|(_, word)| word.clone()));
        }
    }

    fn effects(&self, name: &str, uses: Uses<'_>, wrapped: bool, said: &mut Said) {
        said.reasons.extend(uses.reasons);
        match uses.env {
            Some(variables) if said.command.env.is_empty() => said.command.env = Arc::clone(variables),
            Some(variables) => {
                let all = variables.iter().map(|(name, value)| (name.clone(), value.clone()));
                Arc::make_mut(&mut said.command.env).extend(all);
            }
            None => {}
        }
        said.runs_project_code |= uses.runs_project_code;
        said.changes_tree |= uses.changes_tree;
        said.always = uses.always.filter(|_| !wrapped);
        for folder in &uses.writes {
            if let Place::Beneath(path) =
                self.world.resolve(&Path::new(self.folder).join(folder), Access::Look).place
            {
                said.writes.insert(self.world.root().join(path).display().to_string());
            }
        }
        if uses.writes_tree {
            if self.policy.paths.write.is_empty() {
                let why = format!("`{name}` would change files, and this policy only reads");
                said.reasons.push(Reason::new(Rule::Path, why));
            }
            said.writes.extend(self.writable(name == "git"));
        }
        if let Some(to) = &uses.enters {
            match wrapped {
                false => self.enter(to, said),
                true => said.reasons.push(Reason::new(
                    Rule::Argument,
                    "`cd` behind another program enters nothing; write it alone",
                )),
            }
        }
    }

    /// The folders that the policy lets be written as a whole; what git keeps of a repository is git's to write.
    fn writable(&self, git: bool) -> BTreeSet<String> {
        let root = self.world.root();
        let folder = |beneath: &str| match beneath {
            "" => root.display().to_string(),
            beneath => root.join(beneath).display().to_string(),
        };
        let mut folders: BTreeSet<String> =
            self.policy.paths.write.iter().map(|pattern| folder(&pattern.folder())).collect();
        if git {
            folders.insert(folder(".git"));
        }
        if folders.contains(&folder("")) {
            folders.retain(|path| *path == folder(""));
        }
        folders
    }

    fn enter(&self, to: &str, said: &mut Said) {
        let path = Path::new(self.folder).join(to);
        let found = self.world.resolve(&path, Access::Look);
        let Place::Beneath(beneath) = found.place else {
            let why = format!("`cd {to}` leads out of `{}`", self.world.root().display());
            return said.reasons.push(Reason::new(Rule::Path, why));
        };
        let target = self.world.root().join(&beneath);
        // Where a link leads, the shell and the system disagree on what `..` is.
        if lexical(&path) != target {
            let why = format!("`cd {to}` goes through a symbolic link; enter the folder that it leads to");
            return said.reasons.push(Reason::new(Rule::Path, why));
        }
        if self.tree_changed {
            let why = format!(
                "an earlier command may put something else at `{to}`; run this in a command of its own"
            );
            said.reasons.push(Reason::new(Rule::Path, why));
        }
        let target = target.display().to_string();
        said.command.enters = Some(target.clone());
        said.enters = Some((target, found.kind == Kind::Folder));
    }
}

/// A path without dots, as a shell follows `cd`.
fn lexical(path: &Path) -> std::path::PathBuf {
    let mut clean = std::path::PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::ParentDir => drop(clean.pop()),
            std::path::Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

/// Whether an argument has the name of a denied program in it, as options that run programs do.
fn wants_more(words: &[Argument<'_>], deny: &[String]) -> bool {
    let names = deny.iter().filter_map(|rule| rule.split(' ').next()).filter(|name| *name != "git");
    let names: Vec<&str> = names.collect();
    let parts = words[1..]
        .iter()
        .flat_map(|word| word.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_'));
    let starts_program =
        words[1..].iter().any(|word| word.text.contains("exec=") || word.text.starts_with("--"));
    starts_program && parts.into_iter().any(|part| names.contains(&part))
}
