//! `convoke knowledge`: the graph of everything that was run.
//!
//! Brought up to date before it is asked; every query runs in a worker.

mod ask;
mod export;
mod table;

use crate::args::{KnowledgeCommand, QueryArgs, RebuildArgs, TableFormat};
use crate::console::Console;
use crate::driving::queries;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::view::format::plural;
use convoke_journal::StateDir;
use convoke_knowledge::Error;
use convoke_knowledge::ask::{Answer, Bounds, Form, Question, View};
use convoke_knowledge::project::Telling;
use convoke_knowledge::update::{self, Updated};
use std::io::Read as _;
use std::time::Duration;

/// How long a command waits for another process that brings the graph up to date.
const PATIENCE: Duration = Duration::from_secs(30);

/// Does what was asked.
pub fn run(console: &Console, command: &KnowledgeCommand) -> Result<Exit, CommandFailure> {
    match command {
        KnowledgeCommand::Ask(args) => ask::run(console, args),
        KnowledgeCommand::Query(args) => query(console, args),
        KnowledgeCommand::Export(args) => export::run(console, args),
        KnowledgeCommand::Rebuild(args) => rebuild(console, args),
    }
}

fn rebuild(console: &Console, args: &RebuildArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let telling = Telling { contents: args.contents };
    let updated = update::rebuild(&state, telling, PATIENCE).map_err(|error| refusal(&error))?;
    if updated.by_another {
        return Err(CommandFailure::new(
            Exit::Owned,
            "another process brings the graph up to date at this moment",
        ));
    }
    console.conclude(&format!("the graph was made anew: {}", plural(updated.changes, "change")));
    Ok(Exit::Success)
}

fn query(console: &Console, args: &QueryArgs) -> Result<Exit, CommandFailure> {
    let bounds = Bounds { time_ms: args.timeout * 1000, rows: args.limit, ..Bounds::PERSON };
    let (view, form) = (View::All, form(args.format));
    let question = Question { query: text(&args.query)?, bounds, view, form, given: None };
    let answer = answered(console, &question)?;
    print(console, &answer, args.format)?;
    Ok(Exit::Success)
}

/// The query itself, a file that has it, or standard input.
fn text(query: &str) -> Result<String, CommandFailure> {
    let refuse = |error: std::io::Error| {
        CommandFailure::new(Exit::Usage, format!("the query cannot be read: {error}"))
    };
    if query == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(refuse)?;
        return Ok(text);
    }
    let is_file = !query.contains(['{', '\n']) && std::path::Path::new(query).is_file();
    if is_file { std::fs::read_to_string(query).map_err(refuse) } else { Ok(query.to_owned()) }
}

/// The form in which a worker answers, for a format.
pub(super) fn form(format: TableFormat) -> Form {
    match format {
        TableFormat::Table => Form::Rows,
        TableFormat::Json => Form::Json,
        TableFormat::Csv => Form::Csv,
        TableFormat::Tsv => Form::Tsv,
    }
}

/// Brings the graph up to date and asks.
pub(super) fn answered(console: &Console, question: &Question) -> Result<Answer, CommandFailure> {
    let state = stored::for_writing(console)?;
    bring_up_to_date(console, &state)?;
    queries::worker(&state).ask(question).map_err(|error| refusal(&error))
}

/// Takes in what is new.
pub(super) fn bring_up_to_date(console: &Console, state: &StateDir) -> Result<(), CommandFailure> {
    let Updated { by_another, .. } = update::update(state, PATIENCE).map_err(|error| refusal(&error))?;
    if by_another {
        console.warn("another process brings the graph up to date: what is newest may be missing");
    }
    Ok(())
}

/// Prints what a worker answered.
pub(super) fn print(console: &Console, answer: &Answer, format: TableFormat) -> Result<(), CommandFailure> {
    match format {
        TableFormat::Table if answer.media == "application/json" => {
            console.data(&table::text(&answer.body))?
        }
        _ => console.exact(&ended(&answer.body))?,
    }
    if answer.truncated {
        console.warn(&format!("there is more: only {} are shown", plural(answer.rows as u64, "row")));
    }
    Ok(())
}

fn ended(body: &str) -> String {
    if body.ends_with('\n') || body.is_empty() { body.to_owned() } else { format!("{body}\n") }
}

/// A query that is refused or stopped, and a graph that cannot be used.
pub(super) fn refusal(error: &Error) -> CommandFailure {
    match error {
        Error::Refused(_) => CommandFailure::new(Exit::Refused, error.to_string()),
        Error::Stopped(_) => CommandFailure::new(Exit::Limit, error.to_string())
            .hint("`--timeout` gives a query more time; LIMIT and more bound parts make it smaller"),
        Error::Store { .. } if error.is_full_disk() => CommandFailure::new(Exit::State, error.to_string())
            .hint("free some space; `convoke knowledge rebuild` makes the graph anew if it is damaged"),
        Error::Store { .. } => CommandFailure::new(Exit::State, error.to_string())
            .hint("`convoke knowledge rebuild` makes it anew"),
        Error::Follow(_) | Error::Journal(_) | Error::Io(_) => {
            CommandFailure::new(Exit::State, error.to_string())
        }
    }
}
