//! `convoke capacity set NAME=N`: another limit, for every live process at once.
//!
//! All or nothing: a name that does not exist, or a number that makes no sense, leaves every limit as it was.

use super::{NOTHING_SHARED, look};
use crate::console::Console;
use crate::driving::machine_capacity::MACHINE;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_capacity::{Capacity, Identity, Options, Snapshot};

/// The most of anything.
const MOST: u32 = 1_000_000_000;

/// The most attempts at once, as in the configuration.
const MOST_ATTEMPTS: u32 = 1_000_000;

/// Changes limits and says what they were.
pub fn run(console: &Console, limits: &[(String, String)]) -> Result<Exit, CommandFailure> {
    let (path, snapshot) = look(console)?;
    let Some(snapshot) = snapshot else {
        return Err(CommandFailure::new(
            Exit::Usage,
            format!("there is no limit to change: {NOTHING_SHARED}"),
        )
        .hint("a limit can be set once a run has used it; until then the configuration states it: machine_concurrency, limits.…"));
    };
    let requested: Vec<_> = limits
        .iter()
        .map(|(name, number)| requested_limit(console, name, number, &snapshot))
        .collect::<Result<_, _>>()?;
    let identity = Identity { label: "capacity set".to_owned(), ..Identity::default() };
    let table = Capacity::open(&path, &identity, Options::default())?;
    let origin = stored::actor("convoke capacity set");
    for (name, limit) in requested {
        match table.set_limit(&name, limit, &origin)? {
            Some(before) => console.data(&format!("{name}: {before} -> {limit}"))?,
            None => return Err(unknown(console, &name, &snapshot)),
        }
    }
    console.say("for every process of this state folder, until the machine restarts");
    Ok(Exit::Success)
}

/// Changes one limit, for a caller that is not at this terminal; what it was.
pub(crate) fn one(console: &Console, name: &str, value: u32, origin: &str) -> Result<u32, CommandFailure> {
    let (path, snapshot) = look(console)?;
    let nothing =
        || CommandFailure::new(Exit::Usage, format!("there is no limit to change: {NOTHING_SHARED}"));
    let snapshot = snapshot.ok_or_else(nothing)?;
    let (name, limit) = requested_limit(console, name, &value.to_string(), &snapshot)?;
    let identity = Identity { label: "capacity set".to_owned(), ..Identity::default() };
    let table = Capacity::open(&path, &identity, Options::default())?;
    table.set_limit(&name, limit, origin)?.ok_or_else(|| unknown(console, &name, &snapshot))
}

/// The limit that was asked for, checked.
fn requested_limit(
    console: &Console,
    name: &str,
    number: &str,
    snapshot: &Snapshot,
) -> Result<(String, u32), CommandFailure> {
    let name = known(name, snapshot).ok_or_else(|| unknown(console, name, snapshot))?;
    let most = if name == MACHINE { MOST_ATTEMPTS } else { MOST };
    match number.trim().parse::<u32>() {
        Ok(limit) if (1..=most).contains(&limit) => Ok((name, limit)),
        Ok(0) => {
            Err(CommandFailure::new(Exit::Usage, format!("{name}: with 0 everything would wait for ever"))
                .hint("`convoke stop RUN` stops a run"))
        }
        _ => Err(CommandFailure::new(
            Exit::Usage,
            format!("{name}: expected a whole number from 1 to {most}, found `{}`", number.trim()),
        )),
    }
}

/// The limit's whole name. What it is a limit of is enough, as the configuration says it, where there is only one such.
fn known(name: &str, snapshot: &Snapshot) -> Option<String> {
    let names = || snapshot.resources.iter().map(|resource| resource.name.as_str());
    if names().any(|known| known == name) {
        return Some(name.to_owned());
    }
    let unmarked = |known: &str| known.split('#').next().unwrap_or_default().to_owned();
    let mut alike = names().filter(|known| {
        let whole = unmarked(known);
        whole == name || whole.split_once(':').is_some_and(|(_, rest)| rest == name)
    });
    match (alike.next(), alike.next()) {
        (Some(only), None) => Some(only.to_owned()),
        _ => None,
    }
}

fn unknown(console: &Console, name: &str, snapshot: &Snapshot) -> CommandFailure {
    let names: Vec<_> = snapshot.resources.iter().map(|resource| resource.name.as_str()).collect();
    let failure = CommandFailure::new(Exit::Usage, format!("there is no limit `{name}`"));
    let resource = name.strip_prefix("resource:").unwrap_or(name);
    if console.config.limits.resources.iter().any(|(configured, _)| configured == resource) {
        return failure.hint(format!(
            "`{resource}` is configured; its limit can be set once a run has used it since the machine started"
        ));
    }
    let failure = match convoke_model::nearest(name, names.iter().copied()) {
        Some(near) => return failure.hint(format!("did you mean `{near}`?")),
        None if names.is_empty() => failure.hint("no process uses any limit at this moment"),
        None => failure.hint(format!("limits in use: {}", names.join(", "))),
    };
    match is_name(resource) {
        true => failure.hint(format!(
            "a resource that steps need gets its limit in convoke.toml: limits.resources.{resource} = N"
        )),
        false => failure,
    }
}

/// Whether the configuration can have a resource of this name; names of services have other characters.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
