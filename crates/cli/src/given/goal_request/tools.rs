//! Which of the configured tools a goal may use. A name that means none of them is a slip, and told with the flag or key that it stands in.

use crate::args::GoalArgs;
use crate::config::{Config, GoalSettings};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::{OwnEntry, own_entry};
use convoke_plan::generate::goal::GoalRequest;
use serde_json::{Map, Value, json};

/// The key that says which tools there are for goals.
const KEY: &str = "goal.tools";

/// The flag narrows what the configuration offers; it cannot add anything.
pub fn state(request: &mut GoalRequest, args: &GoalArgs, config: &Config) -> Result<(), CommandFailure> {
    refuse_clash(config)?;
    let offered = configured(&config.goal);
    if let Some(name) = offered.iter().flatten().find(|name| !is_there(&config.goal.servers, name)) {
        let origin = config.entries.iter().find(|entry| entry.key == KEY).map(|entry| &entry.origin);
        let place = origin.map(|origin| format!("{origin}: ")).unwrap_or_default();
        return Err(unknown(&format!("{place}`{KEY}`"), name, &config.goal.servers));
    }
    match args.tools.as_slice() {
        [] => {}
        [word] if word == "none" => {
            request.servers.clear();
            request.keys.remove("tools");
        }
        names => {
            if let Some(name) = names.iter().find(|name| !is_there(&config.goal.servers, name)) {
                return Err(unknown("--tools", name, &config.goal.servers));
            }
            let is_offered =
                |name: &str| offered.as_ref().is_none_or(|all| all.iter().any(|one| fits(one, name)));
            if let Some(name) = names.iter().find(|name| !is_offered(name)) {
                let message =
                    format!("--tools: `{name}` is not among the tools of the configuration ({KEY})");
                return Err(
                    CommandFailure::new(Exit::Usage, message).hint("add it to goal.tools in convoke.toml")
                );
            }
            request.keys.insert("tools".to_owned(), json!(names));
        }
    }
    // Only tools of our own need no server.
    let stated = request.keys.get("tools").and_then(Value::as_array);
    let has_own = stated.into_iter().flatten().filter_map(Value::as_str).any(is_own);
    if request.servers.is_empty() && !has_own {
        request.keys.remove("tools");
    }
    Ok(())
}

/// Scripts are tools of a server of their own name: another server of that name would be lost without a word.
fn refuse_clash(config: &Config) -> Result<(), CommandFailure> {
    let below = |table: &str| config.entries.iter().find(|entry| entry.key.starts_with(table));
    let (Some(server), Some(_)) = (below("goal.mcp_servers.scripts."), below("goal.scripts.")) else {
        return Ok(());
    };
    let message = format!(
        "{}: `goal.mcp_servers.scripts` has the name under which the scripts of `goal.scripts` are tools",
        server.origin
    );
    Err(CommandFailure::new(Exit::Usage, message).hint("give the server another name"))
}

/// The tools that the configuration names, if it names any.
fn configured(settings: &GoalSettings) -> Option<Vec<&str>> {
    let named = settings.keys.get("tools").and_then(Value::as_array)?;
    Some(named.iter().filter_map(Value::as_str).collect())
}

/// Whether a name lies within an entry of the configuration: `count`, `scripts__count`, `scripts__*`.
fn fits(entry: &str, name: &str) -> bool {
    if let (OwnEntry::Tools { names: all, .. }, OwnEntry::Tools { names, .. }) =
        (own_entry(entry), own_entry(name))
    {
        return names.iter().all(|name| all.contains(name));
    }
    match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == entry || name.ends_with(&format!("__{entry}")),
    }
}

/// Whether a name is that of tools of our own, which are always there.
fn is_own(name: &str) -> bool {
    matches!(own_entry(name), OwnEntry::Tools { .. })
}

/// Whether a name stands for tools of our own, or some server has such a tool, or may have it: what a server without a list has, only it knows.
fn is_there(servers: &Map<String, Value>, name: &str) -> bool {
    is_own(name)
        || servers.iter().any(|(server, stated)| {
            let own = name.strip_prefix(&format!("{server}__"));
            match tools_of(stated) {
                None => own.is_some() || !name.contains("__"),
                Some(tools) => tools.iter().any(|tool| matches(own.unwrap_or(name), tool)),
            }
        })
}

fn matches(wanted: &str, tool: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => tool == wanted || tool == "*",
    }
}

/// The tools of a server as far as they are written down.
fn tools_of(server: &Value) -> Option<Vec<&str>> {
    let scripts = server.get("scripts").and_then(Value::as_object);
    let listed = server.get("tools").and_then(Value::as_array);
    match (scripts, listed) {
        (Some(scripts), _) => Some(scripts.keys().map(String::as_str).collect()),
        (None, Some(listed)) => Some(listed.iter().filter_map(Value::as_str).collect()),
        (None, None) => None,
    }
}

fn unknown(author: &str, name: &str, servers: &Map<String, Value>) -> CommandFailure {
    let failure = CommandFailure::new(Exit::Usage, format!("{author}: there is no tool `{name}`"));
    let known: Vec<String> = servers.iter().flat_map(|(server, stated)| names(server, stated)).collect();
    match known.is_empty() {
        true => failure.hint("no tools are configured: [goal.mcp_servers.NAME] or [goal.scripts.NAME]; `files` and `shell` need none"),
        false => failure.hint(format!("the configuration has {}", known.join(", "))),
    }
}

fn names(server: &str, stated: &Value) -> Vec<String> {
    let tools = tools_of(stated).unwrap_or_else(|| vec!["*"]);
    tools.iter().map(|tool| format!("{server}__{tool}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_there_if_a_server_has_it_or_may_have_it() {
        let servers = json!({
            "scripts": {"type": "scripts", "scripts": {"count": {"command": "wc"}}},
            "files": {"command": "serve", "tools": ["read"]},
        });
        let servers = servers.as_object().unwrap();
        for name in ["count", "scripts__count", "scripts__*", "scripts__c*", "files__read", "read"] {
            assert!(is_there(servers, name), "{name}");
        }
        for name in ["cuont", "files__count", "files__write", "nope__read", "nope__*"] {
            assert!(!is_there(servers, name), "{name}");
        }
        let open = json!({"web": {"url": "http://127.0.0.1:1"}});
        let open = open.as_object().unwrap();
        assert!(is_there(open, "web__search") && is_there(open, "search") && !is_there(open, "wbe__search"));
        assert!(!is_there(&Map::new(), "search"));
        assert!(is_there(&Map::new(), "files") && is_there(&Map::new(), "convoke__shell"));
        assert!(fits("files", "read_file") && fits("files", "convoke__files") && !fits("read_file", "files"));
    }
}
