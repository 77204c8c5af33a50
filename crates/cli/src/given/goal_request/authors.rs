//! The authors of the parts of a goal's workflow, for findings: there is no file `goal:` to point at.
//!
//! Each part of that workflow comes from a flag, a key of the configuration or a prompt file, and a finding about it is
//! told there. What was made by ourselves is not at fault.

use super::{FILE, PromptFile};
use crate::args::GoalArgs;
use crate::config::{Entry, Origin};
use crate::diagnostics::Tally;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::Role;
use convoke_plan::Diagnostic;
use convoke_plan::diagnostic::{Label, SourceFile, Span};
use convoke_plan::source::{Located, locate};
use std::path::PathBuf;
use std::sync::Arc;

/// The author of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Author {
    /// Words of the command line, by the flag that took them.
    Flag(&'static str),
    /// A key of the configuration.
    Key(String),
    /// The prompt of a role.
    Prompt(Role),
}

/// All authors of a goal request.
pub struct Authors<'a> {
    /// The command line.
    pub args: &'a GoalArgs,
    /// The configuration, with its origins.
    pub entries: &'a [Entry],
    /// The prompts that were found.
    pub prompts: &'a [PromptFile],
}

impl Authors<'_> {
    /// The same findings, each at the place that its author knows.
    pub fn blame(&self, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        found.into_iter().map(|one| self.told(one)).collect()
    }

    /// The failure of a goal whose parts are refused. Mistakes of the configuration are mistakes of usage.
    pub fn refusal(&self, found: &[Diagnostic], strict: bool) -> CommandFailure {
        let tally = Tally::of(found);
        let mut files: Vec<String> = found
            .iter()
            .filter_map(|one| Some(format!("`{}`", one.labels.first()?.span.file.path)))
            .collect();
        files.dedup();
        let only_prompts = !files.is_empty()
            && found.iter().all(|one| {
                let file = one.labels.first().map(|label| label.span.file.path.as_str());
                self.prompts.iter().any(|prompt| Some(prompt.path.display().to_string().as_str()) == file)
            });
        let whose = if files.is_empty() { "the command line".to_owned() } else { files.join(", ") };
        let strictly = if strict && tally.errors == 0 { " (--strict)" } else { "" };
        let refused = only_prompts || found.iter().all(is_about_providers);
        let exit = if refused { Exit::Refused } else { Exit::Usage };
        CommandFailure::new(exit, format!("{whose} is refused: {}{strictly}", tally.words()))
    }

    fn told(&self, found: Diagnostic) -> Diagnostic {
        let at = found.labels.first().and_then(|label| within_made(&label.span));
        let Some((author, at)) = at.and_then(|at| Some((self.author(&at.path)?, at))) else {
            return about_providers(found, self.args.bounds.budget.is_some());
        };
        match author {
            Author::Flag(flag) => nowhere(found, flag),
            Author::Prompt(role) => self.in_prompt(found, role, &at),
            Author::Key(key) => match self.line_of(&key) {
                Some(span) => moved(found, span, Some(&key)),
                None => nowhere(found, &format!("`{key}`")),
            },
        }
    }

    fn in_prompt(&self, found: Diagnostic, role: Role, at: &Located) -> Diagnostic {
        let Some(prompt) = self.prompts.iter().find(|prompt| prompt.role == role) else { return found };
        let file =
            Arc::new(SourceFile { path: prompt.path.display().to_string(), text: prompt.text.clone() });
        let start = at.offset.unwrap_or(0).min(file.text.len());
        let length = found.labels.first().map_or(0, |label| label.span.range.len());
        let end = file.text[start..].find('\n').map_or(file.text.len(), |end| start + end);
        let range = start..(start + length).min(end);
        moved(found, Span { file, range }, None)
    }

    /// The line of a file that sets a key, or the first one below it.
    fn line_of(&self, key: &str) -> Option<Span> {
        let below = format!("{key}.");
        let is_it = |entry: &&Entry| entry.key == key || entry.key.starts_with(&below);
        let Origin::File { path, line } = &self.entries.iter().find(is_it)?.origin else { return None };
        line_span(path, *line)
    }

    fn author(&self, path: &[String]) -> Option<Author> {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path.as_slice() {
            ["agents", _, "roles", role, "prompt", ..] => {
                Role::ALL.into_iter().find(|known| known.word() == *role).map(Author::Prompt)
            }
            ["agents", _, "policies", class, ..] => Some(Author::Key(format!("goal.policies.{class}"))),
            ["agents", _, table @ ("spawn" | "retry"), key, ..] => {
                Some(Author::Key(format!("goal.{table}.{key}")))
            }
            ["agents", _, key, ..] => self.of_step(key),
            ["workflow", "runtime", "default_model", ..] => {
                Some(either(self.args.flags.model.is_some(), "--model", "goal.model"))
            }
            ["workflow", "limits", "timeout_seconds", ..] => {
                Some(either(self.args.bounds.timeout.is_some(), "--timeout", "goal.timeout_seconds"))
            }
            ["workflow", "limits", key, ..] => {
                Some(either(self.args.bounds.budget.is_some(), "--budget", &format!("goal.{key}")))
            }
            ["workflow", "runtime", "mcp_servers", "scripts", "scripts", rest @ ..] => {
                Some(Author::Key(join("goal.scripts", rest, 2)))
            }
            ["workflow", "runtime", "mcp_servers", "scripts", ..] => {
                Some(Author::Key("goal.scripts".to_owned()))
            }
            ["workflow", "runtime", "mcp_servers", rest @ ..] => {
                Some(Author::Key(join("goal.mcp_servers", rest, 3)))
            }
            _ => None,
        }
    }

    fn of_step(&self, key: &str) -> Option<Author> {
        let args = self.args;
        let (stated, flag) = match key {
            "goal" => (true, "the goal"),
            "context" => (true, "--context"),
            "plan" => (true, "--plan"),
            "tools" => (!args.tools.is_empty(), "--tools"),
            "max_depth" => (args.bounds.max_depth.is_some(), "--max-depth"),
            "max_children" => (args.bounds.max_children.is_some(), "--max-children"),
            "max_tasks" => (args.bounds.max_tasks.is_some(), "--max-tasks"),
            "max_subagents" => (args.bounds.max_subagents.is_some(), "--max-subagents"),
            "max_rounds" => (args.bounds.max_rounds.is_some(), "--max-rounds"),
            "max_recoveries" => (args.bounds.max_recoveries.is_some(), "--max-recoveries"),
            "policies" | "skip_threshold" | "backoff" | "spawn" | "retry" => (false, ""),
            _ => return None,
        };
        Some(either(stated, flag, &format!("goal.{key}")))
    }
}

/// A place of the workflow that was made, as the keys that lead to it.
fn within_made(span: &Span) -> Option<Located> {
    (span.file.path == FILE).then(|| locate(&span.file.text, span.range.start)).flatten()
}

fn either(stated: bool, flag: &'static str, key: &str) -> Author {
    if stated { Author::Flag(flag) } else { Author::Key(key.to_owned()) }
}

/// A dotted key; what lies deeper than keys go is inside a value.
fn join(table: &str, parts: &[&str], most: usize) -> String {
    std::iter::once(table).chain(parts.iter().copied().take(most)).collect::<Vec<_>>().join(".")
}

fn line_span(path: &PathBuf, line: usize) -> Option<Span> {
    let text = std::fs::read_to_string(path).ok()?;
    let start =
        line.checked_sub(1).map(|before| text.split_inclusive('\n').take(before).map(str::len).sum())?;
    let end = text[start..].find('\n').map_or(text.len(), |end| start + end);
    Some(Span { file: Arc::new(SourceFile { path: path.display().to_string(), text }), range: start..end })
}

/// The finding at another place; further places in the generated text mean nothing to its readers.
fn moved(mut found: Diagnostic, span: Span, key: Option<&str>) -> Diagnostic {
    let text = found.labels.first().map(|label| label.text.clone()).unwrap_or_default();
    found.labels = vec![Label { span, text }];
    match key {
        Some(key) => named(found, &format!("`{key}`")),
        None => found,
    }
}

/// Whether a finding is about the provider, which no part of the request names.
fn is_about_providers(found: &Diagnostic) -> bool {
    matches!(found.code, "workflow::unpriced_model" | "workflow::no_model")
}

/// A finding about the provider, in the words of the command line: its reader does not know the generated text. Others stay.
pub fn about_providers(mut found: Diagnostic, by_flag: bool) -> Diagnostic {
    if !is_about_providers(&found) {
        return found;
    }
    let budget = if by_flag { "`--budget`" } else { "`goal.budget_usd`" };
    found.message = found.message.replace("`limits.budget_usd`", budget);
    if found.code == "workflow::no_model" {
        found.help = Some("name one with `--model`, or set `goal.model` or `provider.model`".to_owned());
    }
    found.labels.clear();
    found
}

/// A finding about something that stands in no file.
fn nowhere(mut found: Diagnostic, author: &str) -> Diagnostic {
    found.labels.clear();
    named(found, author)
}

fn named(mut found: Diagnostic, author: &str) -> Diagnostic {
    found.message = format!("{author}: {}", found.message);
    found
}
