//! `convoke complete`: the names that may stand next on a command line. Completion scripts ask for them; no answer means that the
//! script knows better (commands, flags, files).

use crate::args::{Cli, CompleteArgs};
use crate::commands::capacity;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::presets;
use crate::stored::{self, Stored};
use clap::CommandFactory;
use convoke_engine::report::fold;
use convoke_providers::preset;

/// Commands that take a file, or a preset in its place.
const WITH_FILE: [&str; 3] = ["run", "check", "plan"];
/// Prints one name a line. Errors are not shown: they would stand in the line that is completed.
pub fn run(console: &Console, args: &CompleteArgs) -> Result<Exit, CommandFailure> {
    let names = names(console, &args.words).unwrap_or_default();
    if !names.is_empty() {
        console.data(&names.join("\n"))?;
    }
    Ok(Exit::Success)
}

fn names(console: &Console, words: &[String]) -> Option<Vec<String>> {
    let (typed, before) = words.split_last()?;
    match before.last().map(String::as_str) {
        Some("-p" | "--provider") => return Some(providers(console)),
        Some(flag) if takes_value(flag) => {}
        _ if typed.starts_with('-') => return None,
        _ => {}
    }
    let (cli, places) = (Cli::command(), places(before));
    let (command, given) = command(&cli, &places);
    match before.last() {
        Some(flag) if takes_value(flag) => {
            value(console, command.get_arguments().find(|arg| is_flag(arg, flag))?, given)
        }
        _ => match command.get_name() {
            name if WITH_FILE.contains(&name) => files(typed, given),
            "presets" if given.is_empty() => Some(preset_names()),
            _ => value(console, command.get_positionals().nth(given.len())?, given),
        },
    }
}

/// The command that the places name, however deep, and what was given to it.
fn command<'a, 'b>(cli: &'a clap::Command, places: &'b [&'b str]) -> (&'a clap::Command, &'b [&'b str]) {
    let (mut command, mut given) = (cli, places);
    while let Some((name, rest)) = given.split_first() {
        let Some(below) = command.find_subcommand(name) else { break };
        (command, given) = (below, rest);
    }
    (command, given)
}

/// The names that an argument takes. What it stands for is in its name, as help shows it.
fn value(console: &Console, arg: &clap::Arg, given: &[&str]) -> Option<Vec<String>> {
    let kinds = arg.get_value_names()?.first()?;
    let names = kinds.split('|').filter_map(|kind| match kind {
        "RUN" => runs(console),
        "TASK" => tasks(console, given.first()?),
        "GATE" => gates(console, given.first()?),
        "SERVICE" => services(console),
        _ => None,
    });
    names.reduce(|one, other| [one, other].concat())
}

/// The command and what was given to it by place: words that are neither flags nor their values.
fn places(words: &[String]) -> Vec<&str> {
    let mut places = Vec::new();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            flag if takes_value(flag) => drop(words.next()),
            flag if flag.starts_with('-') => {}
            place => places.push(place),
        }
    }
    places
}

/// Whether the next word is a flag's value, as some command of ours takes it.
fn takes_value(flag: &str) -> bool {
    let cli = Cli::command();
    let commands = std::iter::once(&cli).chain(cli.get_subcommands());
    let takes = |arg: &clap::Arg| is_flag(arg, flag) && arg.get_action().takes_values();
    commands.flat_map(clap::Command::get_arguments).any(takes)
}

fn is_flag(arg: &clap::Arg, flag: &str) -> bool {
    let long = arg.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long));
    long || arg.get_short().is_some_and(|short| flag.strip_prefix('-') == Some(&*short.to_string()))
}

fn runs(console: &Console) -> Option<Vec<String>> {
    let rows = stored::list(&stored::for_reading(console)).ok()?;
    let last = rows.iter().any(|row| row.folder == stored::folder()).then(|| stored::LAST.to_owned());
    Some(last.into_iter().chain(rows.iter().map(|row| row.id.to_string())).collect())
}

fn tasks(console: &Console, run: &str) -> Option<Vec<String>> {
    let stored = Stored::open(&stored::for_reading(console), run).ok()?;
    Some(fold(&stored.events).tasks.keys().map(ToString::to_string).collect())
}

fn gates(console: &Console, run: &str) -> Option<Vec<String>> {
    let stored = Stored::open(&stored::for_reading(console), run).ok()?;
    Some(stored.questions().iter().map(|question| question.id.to_string()).collect())
}

/// Services of which something was learned, as files say them.
fn services(console: &Console) -> Option<Vec<String>> {
    let (_, snapshot) = capacity::look(console).ok()?;
    let known = capacity::forget::known(&stored::for_reading(console), snapshot.as_ref());
    Some(known.into_keys().collect())
}

/// A preset's name once its prefix was typed; before that, files are as likely, and the shell knows those. Bash takes the colon
/// for a word of its own.
fn files(typed: &str, given: &[&str]) -> Option<Vec<String>> {
    let whole = || preset_names().into_iter().map(|name| format!("{}{name}", presets::PREFIX)).collect();
    let prefix = presets::PREFIX.trim_end_matches(':');
    match given {
        [] if typed.starts_with(prefix) => Some(whole()),
        [word] if *word == prefix && typed == ":" => Some(preset_names()),
        [word, ":"] if *word == prefix => Some(preset_names()),
        _ => None,
    }
}

fn preset_names() -> Vec<String> {
    presets::all().iter().map(|preset| preset.name().to_owned()).collect()
}

/// Every name that `-p` takes: what is built in, and what the configuration adds.
fn providers(console: &Console) -> Vec<String> {
    let mut names: Vec<String> = preset::names().map(str::to_owned).collect();
    names.extend(console.config.providers.keys().cloned());
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_their_values_take_no_place() {
        let words = ["-q", "show", "-p", "openai", "--format", "json", "last"].map(str::to_owned);
        assert_eq!(places(&words), ["show", "last"]);
        let words = ["run", "--max-subagents", "3", "--since", "1h", "--strict", "w.yaml"].map(str::to_owned);
        assert_eq!(places(&words), ["run", "w.yaml"]);
    }
}
