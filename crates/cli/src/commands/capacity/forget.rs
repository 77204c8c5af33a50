//! `convoke capacity forget [SERVICE]`: what was learned of services is learned anew.
//!
//! What is learned stands in the table, for processes that live, and in a file, for those that come later. Both are forgotten.

use super::look;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_capacity::{Capacity, Identity, Options, Snapshot};
use convoke_engine::LearnedStatistics;
use convoke_journal::StateDir;
use std::collections::{BTreeMap, BTreeSet};

/// What the table calls a limit that was learned.
const LEARNED: &str = "learned:";

/// What the table has for a service of which nothing is known.
const NO_LIMIT: u32 = u32::MAX;

/// Forgets and says what was known.
pub fn run(console: &Console, service: Option<&str>) -> Result<Exit, CommandFailure> {
    let (path, snapshot) = look(console)?;
    let state = stored::for_reading(console);
    let known = known(&state, snapshot.as_ref());
    let names: BTreeSet<String> =
        known.keys().filter(|name| service.is_none_or(|service| means(service, name))).cloned().collect();
    if names.is_empty() {
        return nothing(console, service, &known);
    }
    if snapshot.is_some() {
        let identity = Identity { label: "capacity forget".to_owned(), ..Identity::default() };
        let table = Capacity::open(&path, &identity, Options::default())?;
        for name in &names {
            table.unlearn(&format!("{LEARNED}{name}"), NO_LIMIT, "service")?;
        }
    }
    LearnedStatistics::forget(&state, &names);
    for name in &names {
        console.data(&format!("{name}: {} -> unknown", known[name]))?;
    }
    Ok(Exit::Success)
}

/// What was learned of each service: what later processes begin with, and what the table has now.
pub fn known(state: &StateDir, snapshot: Option<&Snapshot>) -> BTreeMap<String, u64> {
    let kept = LearnedStatistics::load(state).services;
    let mut known: BTreeMap<String, u64> =
        kept.0.iter().map(|(name, learned)| (name.clone(), learned.limit)).collect();
    let resources = snapshot.into_iter().flat_map(|snapshot| &snapshot.resources);
    let in_force = resources.filter(|resource| resource.limit != NO_LIMIT);
    let in_force =
        in_force.filter_map(|resource| Some((resource.name.strip_prefix(LEARNED)?, resource.limit)));
    known.extend(in_force.map(|(name, limit)| (name.to_owned(), u64::from(limit))));
    known
}

/// Whether a person means this service: its whole name, with or without what kind of name it is and the mark of its key.
fn means(service: &str, name: &str) -> bool {
    let service = service.strip_prefix(LEARNED).unwrap_or(service);
    let unmarked = name.split('#').next().unwrap_or_default();
    let bare = |name: &str| name.split_once(':').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    service == name || service == unmarked || service == bare(name) || service == bare(unmarked)
}

fn nothing(
    console: &Console,
    service: Option<&str>,
    known: &BTreeMap<String, u64>,
) -> Result<Exit, CommandFailure> {
    let Some(service) = service else {
        console.say("nothing was learned of any service");
        return Ok(Exit::Success);
    };
    let failure = CommandFailure::new(Exit::Usage, format!("nothing was learned of `{service}`"));
    let names: Vec<_> = known.keys().map(String::as_str).collect();
    Err(match convoke_model::nearest(service, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None if names.is_empty() => failure.hint("nothing was learned of any service"),
        None => failure.hint(format!("services of which something was learned: {}", names.join(", "))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_meant_by_its_name_or_as_files_say_it() {
        let name = "model:vllm/m#6fd19b65";
        for said in ["vllm/m", "model:vllm/m", "vllm/m#6fd19b65", name, "learned:model:vllm/m"] {
            assert!(means(said, name), "{said}");
        }
        assert!(!means("vllm", name) && !means("m", name));
    }
}
