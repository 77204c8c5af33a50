//! `[goal]`: what goals may use, and how far they may go.
//!
//! The tools of a goal are what a person wrote down here: servers, and commands with their arguments.

use super::values::Values;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What the configuration says about goals.
#[derive(Debug, Clone, Default)]
pub struct GoalSettings {
    /// The model of all roles.
    pub model: Option<String>,
    /// When a person approves the plan.
    pub approve: Approval,
    /// Keys of the step: bounds, tools, policies.
    pub keys: Map<String, Value>,
    /// What it may cost, as `limits` of a workflow says it.
    pub limits: Map<String, Value>,
    /// Servers and scripts, as `mcp_servers` of a workflow says them.
    pub servers: Map<String, Value>,
}

/// When a person approves a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Approval {
    /// Where one sits at a terminal.
    #[default]
    Terminal,
    /// Always; elsewhere the run is parked.
    Always,
    /// Never.
    Never,
}

/// The server under whose name scripts are tools.
const SCRIPTS: &str = "scripts";

/// Numbers that are keys of the step.
const BOUNDS: [&str; 7] = [
    "max_depth",
    "max_children",
    "max_tasks",
    "max_subagents",
    "max_rounds",
    "max_recoveries",
    "skip_threshold",
];

/// Reads the table.
pub fn read(values: &Values) -> GoalSettings {
    GoalSettings {
        model: values.text("goal.model"),
        approve: match values.text("goal.approve").as_deref() {
            Some("always") => Approval::Always,
            Some("never") => Approval::Never,
            _ => Approval::Terminal,
        },
        keys: keys(values),
        limits: limits(values),
        servers: servers(values),
    }
}

fn keys(values: &Values) -> Map<String, Value> {
    let mut keys = Map::new();
    for bound in BOUNDS {
        put(&mut keys, bound, values.number(&format!("goal.{bound}")));
    }
    put(&mut keys, "tools", values.list("goal.tools"));
    put(&mut keys, "backoff", values.text("goal.backoff"));
    put(&mut keys, "spawn", numbers(values, "spawn", &["tokens", "seconds", "tools"]));
    put(&mut keys, "retry", numbers(values, "retry", &["max_attempts"]));
    let classes = values.0.keys().filter_map(|key| key.strip_prefix("goal.policies."));
    let policies: Map<String, Value> = classes
        .map(|class| (class.to_owned(), json!(values.list(&format!("goal.policies.{class}")))))
        .collect();
    put(&mut keys, "policies", Some(policies).filter(|policies| !policies.is_empty()));
    keys
}

/// A table of numbers, if any of them is stated.
fn numbers(values: &Values, table: &str, names: &[&str]) -> Option<Map<String, Value>> {
    let mut found = Map::new();
    for name in names {
        put(&mut found, name, values.number(&format!("goal.{table}.{name}")));
    }
    Some(found).filter(|found| !found.is_empty())
}

fn limits(values: &Values) -> Map<String, Value> {
    let mut limits = Map::new();
    put(&mut limits, "budget_usd", values.fraction("goal.budget_usd"));
    put(&mut limits, "budget_tokens", values.number("goal.budget_tokens"));
    if !limits.is_empty() {
        limits.insert("budget_mode".into(), json!("enforce"));
    }
    put(&mut limits, "timeout_seconds", values.number("goal.timeout_seconds"));
    limits
}

fn servers(values: &Values) -> Map<String, Value> {
    let mut servers: Map<String, Value> =
        names(values, "goal.mcp_servers").into_iter().map(|name| server(values, name)).collect();
    let scripts: Map<String, Value> =
        names(values, "goal.scripts").into_iter().map(|name| script(values, name)).collect();
    if !scripts.is_empty() {
        let mut all = json!({ "type": "scripts", "scripts": scripts });
        if let Some(limit) = values.number("goal.scripts_timeout") {
            all["timeout"] = json!(limit);
        }
        servers.insert(SCRIPTS.to_owned(), all);
    }
    servers
}

fn server(values: &Values, name: String) -> (String, Value) {
    let below = format!("goal.mcp_servers.{name}");
    let mut server = Map::new();
    for key in ["type", "command", "working_dir", "url"] {
        put(&mut server, key, values.text(&format!("{below}.{key}")));
    }
    for key in ["args", "tools"] {
        put(&mut server, key, values.list(&format!("{below}.{key}")));
    }
    for key in ["env", "headers"] {
        let table: Map<_, _> =
            values.texts_below(&below, key).into_iter().map(|(name, text)| (name, json!(text))).collect();
        put(&mut server, key, Some(table).filter(|table| !table.is_empty()));
    }
    put(&mut server, "timeout", values.number(&format!("{below}.timeout")));
    (name, Value::Object(server))
}

fn script(values: &Values, name: String) -> (String, Value) {
    let below = format!("goal.scripts.{name}");
    let mut script = Map::new();
    for key in ["command", "description"] {
        put(&mut script, key, values.text(&format!("{below}.{key}")));
    }
    put(&mut script, "args", values.list(&format!("{below}.args")));
    for key in ["input", "output"] {
        // That it is an object was seen when the file was read.
        let schema = values.text(&format!("{below}.{key}"));
        put(&mut script, key, schema.and_then(|text| serde_json::from_str::<Value>(&text).ok()));
    }
    put(&mut script, "idempotent", Some(values.switch(&format!("{below}.idempotent"))).filter(|on| *on));
    (name, Value::Object(script))
}

/// The names that the user chose below a table; the keys below them may have one more level.
fn names(values: &Values, table: &str) -> BTreeSet<String> {
    let below =
        |key: &String| Some(key.strip_prefix(table)?.strip_prefix('.')?.split_once('.')?.0.to_owned());
    values.0.keys().filter_map(below).collect()
}

fn put(map: &mut Map<String, Value>, key: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), json!(value));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{refusals, resolve};
    use super::*;

    #[test]
    fn tools_are_what_a_person_wrote_down() {
        let config = resolve(&["[goal]\nmax_depth = 2\ntools = ['scripts__count']\nbudget_usd = 1.5\n\
             policies.timeout = ['retry', 'fail']\nbackoff = '3s'\nspawn.tokens = 9\nretry.max_attempts = 2\n[goal.mcp_servers.files]\ncommand = 'serve'\nenv.ROOT = '${HOME}'\n\
             [goal.scripts.count]\ncommand = 'wc'\nargs = ['-w']\ninput = '{\"type\": \"object\"}'\n"]);
        let goal = config.goal;
        assert_eq!(goal.keys["max_depth"], json!(2));
        assert_eq!(goal.keys["policies"], json!({"timeout": ["retry", "fail"]}));
        assert_eq!((&goal.keys["backoff"], &goal.keys["spawn"]), (&json!("3s"), &json!({"tokens": 9})));
        assert_eq!(goal.keys["retry"], json!({"max_attempts": 2}));
        assert_eq!(goal.limits, *json!({"budget_usd": 1.5, "budget_mode": "enforce"}).as_object().unwrap());
        assert_eq!(goal.servers["files"], json!({"command": "serve", "env": {"ROOT": "${HOME}"}}));
        assert_eq!(goal.servers["scripts"]["scripts"]["count"]["input"], json!({"type": "object"}));
    }

    #[test]
    fn a_schema_that_is_none_is_refused_with_its_place() {
        let refused = refusals(&["[goal.scripts.count]\ncommand = 'wc'\ninput = 'text'\n"]);
        assert_eq!(refused.len(), 1);
        assert!(
            refused[0].starts_with("f.toml:3: `goal.scripts.count.input`: expected a JSON Schema"),
            "{refused:?}"
        );
        let schema = r#"{"properties": {"n": {"type": "nubmer"}}}"#;
        let refused = refusals(&[&format!("[goal.scripts.count]\ncommand = 'wc'\noutput = '{schema}'\n")]);
        let words = "f.toml:3: `goal.scripts.count.output`: no JSON Schema:";
        assert!(refused.len() == 1 && refused[0].starts_with(words), "{refused:?}");
        assert!(refused[0].contains("(at /properties/n/type)"), "{refused:?}");
    }
}
