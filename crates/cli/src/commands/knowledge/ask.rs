//! `convoke knowledge ask`: prepared questions.

use super::{answered, form, print};
use crate::args::AskArgs;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_knowledge::ask::{Bounds, Parameter, Prepared, Question, View, find, prepared};
use convoke_model::nearest;

/// Asks, or lists what can be asked.
pub fn run(console: &Console, args: &AskArgs) -> Result<Exit, CommandFailure> {
    let Some(name) = &args.name else {
        console.data(&list())?;
        return Ok(Exit::Success);
    };
    let Some(question) = find(name) else {
        let failure = CommandFailure::new(Exit::Usage, format!("there is no question `{name}`"));
        return Err(match nearest(name, prepared().iter().map(|one| one.name)) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("`convoke knowledge ask` lists them"),
        });
    };
    let values = values(console, question, &args.values)?;
    let query = question.query(&values).map_err(|why| {
        CommandFailure::new(Exit::Usage, why)
            .hint(format!("write `convoke knowledge ask {}`", usage(question)))
    })?;
    let (bounds, view, form) = (Bounds::PERSON, View::All, form(args.format));
    let asked = Question { query, bounds, view, form, given: None };
    print(console, &answered(console, &asked)?, args.format)?;
    Ok(Exit::Success)
}

/// What was given, by name; runs by their whole names.
fn values(
    console: &Console,
    question: &Prepared,
    given: &[String],
) -> Result<Vec<(String, String)>, CommandFailure> {
    let mut values: Vec<(String, String)> = Vec::new();
    for word in given {
        let named = word
            .split_once('=')
            .filter(|(name, _)| question.parameters.iter().any(|known| known.name == *name));
        let (name, value) = match named {
            Some((name, value)) => (name.to_owned(), value),
            None => {
                let is_free = |known: &&Parameter| !values.iter().any(|(name, _)| name == known.name);
                let Some(free) = question.parameters.iter().find(is_free) else {
                    let words = format!("question `{}` takes no further value: `{word}`", question.name);
                    return Err(CommandFailure::new(Exit::Usage, words));
                };
                (free.name.to_owned(), word.as_str())
            }
        };
        let value = match name.as_str() {
            "run" | "other" => stored::find(&stored::for_reading(console), value)?.to_string(),
            _ => value.to_owned(),
        };
        values.push((name, value));
    }
    Ok(values)
}

fn list() -> String {
    let width = prepared().iter().map(|one| usage(one).len()).max().unwrap_or(0);
    prepared().iter().map(|one| format!("{:<width$}  {}\n", usage(one), one.about)).collect()
}

/// The name with what it takes.
fn usage(one: &Prepared) -> String {
    let word = |parameter: &Parameter| {
        let name = parameter.name.to_uppercase();
        if parameter.default.is_some() { format!(" [{name}]") } else { format!(" {name}") }
    };
    one.name.to_owned() + &one.parameters.iter().map(word).collect::<String>()
}
