//! The keys that a configuration may have, and the nearest one to a key that it may not.

use super::layer::Scalar;
use crate::args::{age, size};
use convoke_model::ApprovalLevel;
use convoke_plan::value::check_schema;

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A path; a relative one begins at the folder of the project's configuration.
    Path,
    /// A program; one that is named by a relative path is found as a path is.
    Command,
    /// A whole number, at least this.
    Count(u64),
    /// A whole number, at least and at most these.
    Within(u64, u64),
    /// `true` or `false`.
    Switch,
    /// A number that may have a fraction, not below nothing.
    Price,
    /// Dollars to spend: more than nothing, and no absurd sum.
    Money,
    /// Seconds, which may have a fraction: more than nothing, at most a year.
    Seconds,
    /// A length of time with its unit, such as `30d`.
    Age,
    /// A size on the disk with its unit, such as `5GB`.
    Size,
    /// A list of texts.
    List,
    /// A list of some of these words.
    SomeOf(&'static [&'static str]),
    /// A JSON Schema, written as text.
    Schema,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// What becomes of a coding agent's permission requests.
const PERMISSIONS: &[&str] = &["ask", "allow", "deny"];

/// What happens to work that a budget can no longer pay.
const WHEN_SPENT: &[&str] = &["queue", "degrade", "ask", "stop"];

/// Whether a budget holds work back.
const BUDGET_MODE: &[&str] = &["enforce", "audit"];

/// Slots and rates; more is a slip of the finger.
const AMOUNT: Kind = Kind::Within(1, 1_000_000_000);

/// Attempts at once; more than any machine can drive.
const ATTEMPTS: Kind = Kind::Within(1, 1_000_000);

/// Levels of work that is handed down.
const BOUND: Kind = Kind::Within(1, 1_000);

/// How a run may have ended.
const ENDS: &[&str] = &["succeeded", "partial", "failed", "skipped_all", "cancelled"];

/// What a person may be told of.
const TOPICS: &[&str] = &["end", "gate", "budget", "stall", "failure", "paused"];

/// What a receiver may be sent.
const SIGNALS: &[&str] = &["traces", "metrics", "logs"];

/// The longest time in seconds.
const YEAR: f64 = 31_536_000.0;

/// How outputs are merged.
const STRATEGIES: &[&str] =
    &["auto", "flat", "hierarchical", "progressive", "rlm", "vote", "judge", "tournament"];

/// The most dollars of a budget.
pub const MOST_DOLLARS: f64 = 1e9;

/// The least, one of the millionths that budgets are counted in.
pub const LEAST_DOLLARS: f64 = 1e-6;

/// The keys, as dotted paths; `*` stands for a name that the user chooses.
pub const KEYS: &[(&str, Kind)] = &[
    ("state_dir", Kind::Path),
    ("state", Kind::Text),
    ("machine_concurrency", ATTEMPTS),
    ("lease_seconds", Kind::Within(1, 600)),
    ("disk_wait_seconds", Kind::Within(0, 86_400)),
    ("color", Kind::OneOf(&["auto", "always", "never"])),
    ("notify.bell", Kind::Switch),
    ("notify.command", Kind::List),
    ("notify.desktop", Kind::Switch),
    ("notify.on", Kind::SomeOf(TOPICS)),
    ("notify.workflows", Kind::List),
    ("notify.stall_minutes", Kind::Within(1, 100_000)),
    ("notify.webhooks.*.url", Kind::Text),
    ("notify.webhooks.*.secret", Kind::Text),
    ("notify.webhooks.*.on", Kind::SomeOf(TOPICS)),
    ("notify.webhooks.*.workflows", Kind::List),
    ("notify.webhooks.*.headers.*", Kind::Text),
    ("telemetry.preset", Kind::OneOf(&["langfuse", "phoenix"])),
    ("telemetry.endpoint", Kind::Text),
    ("telemetry.headers.*", Kind::Text),
    ("telemetry.signals", Kind::SomeOf(SIGNALS)),
    ("telemetry.metrics.endpoint", Kind::Text),
    ("telemetry.metrics.headers.*", Kind::Text),
    ("telemetry.logs.endpoint", Kind::Text),
    ("telemetry.logs.headers.*", Kind::Text),
    ("telemetry.contents", Kind::Switch),
    ("telemetry.service_name", Kind::Text),
    ("telemetry.attributes.*", Kind::Text),
    ("sandbox.level", Kind::OneOf(&["trusted", "full"])),
    ("sandbox.state", Kind::OneOf(&["hidden", "visible"])),
    ("sandbox.hidden", Kind::List),
    ("sandbox.protected", Kind::List),
    ("sandbox.readable", Kind::List),
    ("sandbox.writable", Kind::List),
    ("trust.folders", Kind::List),
    ("secrets.*.env", Kind::Text),
    ("secrets.*.file", Kind::Path),
    ("secrets.*.command", Kind::List),
    ("secrets.*.inherit", Kind::List),
    ("secrets.*.vault", Kind::Text),
    ("project.context", Kind::Path),
    ("policy", Kind::Text),
    ("approvals.level", Kind::OneOf(ApprovalLevel::WORDS)),
    ("approvals.tools", Kind::List),
    ("approvals.within", Kind::Age),
    ("serve.addr", Kind::Text),
    ("serve.folders", Kind::List),
    ("serve.names", Kind::List),
    ("retention.older_than", Kind::Age),
    ("retention.keep_last", Kind::Count(0)),
    ("retention.max_size", Kind::Size),
    ("retention.status", Kind::SomeOf(ENDS)),
    ("retention.every", Kind::Age),
    ("run.quiet", Kind::Switch),
    ("run.strict", Kind::Switch),
    ("run.max_concurrency", ATTEMPTS),
    ("provider.name", Kind::Text),
    ("provider.base_url", Kind::Text),
    ("provider.api_key", Kind::Text),
    ("provider.api_key_file", Kind::Path),
    ("provider.headers.*", Kind::Text),
    ("provider.model", Kind::Text),
    ("provider.file", Kind::Path),
    ("provider.latency_ms", Kind::Count(0)),
    ("provider.command", Kind::Command),
    ("provider.args", Kind::List),
    ("provider.env.*", Kind::Text),
    ("provider.permissions", Kind::OneOf(PERMISSIONS)),
    ("providers.*.name", Kind::Text),
    ("providers.*.base_url", Kind::Text),
    ("providers.*.api_key", Kind::Text),
    ("providers.*.api_key_file", Kind::Path),
    ("providers.*.headers.*", Kind::Text),
    ("providers.*.model", Kind::Text),
    ("providers.*.file", Kind::Path),
    ("providers.*.latency_ms", Kind::Count(0)),
    ("providers.*.command", Kind::Command),
    ("providers.*.args", Kind::List),
    ("providers.*.env.*", Kind::Text),
    ("providers.*.permissions", Kind::OneOf(PERMISSIONS)),
    ("pricing.*.input_per_mtok", Kind::Price),
    ("pricing.*.output_per_mtok", Kind::Price),
    ("pricing.*.cache_read_per_mtok", Kind::Price),
    ("pricing.*.cache_write_per_mtok", Kind::Price),
    ("goal.model", Kind::Text),
    ("goal.tools", Kind::List),
    ("goal.approve", Kind::OneOf(&["terminal", "always", "never"])),
    ("goal.max_depth", Kind::Within(1, 10)),
    ("goal.max_children", Kind::Within(1, 100)),
    ("goal.max_tasks", Kind::Within(1, 10_000)),
    ("goal.max_rounds", Kind::Within(1, 100)),
    ("goal.max_subagents", Kind::Within(0, 10_000)),
    ("goal.timeout_seconds", Kind::Within(1, 31_536_000)),
    ("goal.max_recoveries", Kind::Within(0, 100)),
    ("goal.skip_threshold", Kind::Within(1, 100)),
    ("goal.backoff", Kind::Text),
    ("goal.retry.max_attempts", Kind::Within(1, 10)),
    ("goal.spawn.tokens", Kind::Within(1, 1_000_000_000)),
    ("goal.spawn.seconds", Kind::Within(1, 31_536_000)),
    ("goal.spawn.tools", Kind::Within(1, 1000)),
    ("goal.budget_usd", Kind::Money),
    ("goal.budget_tokens", Kind::Within(1, 1_000_000_000_000_000)),
    ("goal.policies.*", Kind::List),
    ("goal.mcp_servers.*.type", Kind::OneOf(&["stdio", "http"])),
    ("goal.mcp_servers.*.command", Kind::Command),
    ("goal.mcp_servers.*.args", Kind::List),
    ("goal.mcp_servers.*.env.*", Kind::Text),
    ("goal.mcp_servers.*.working_dir", Kind::Path),
    ("goal.mcp_servers.*.url", Kind::Text),
    ("goal.mcp_servers.*.headers.*", Kind::Text),
    ("goal.mcp_servers.*.timeout", Kind::Count(1)),
    ("goal.mcp_servers.*.tools", Kind::List),
    ("goal.scripts.*.command", Kind::Command),
    ("goal.scripts.*.args", Kind::List),
    ("goal.scripts.*.description", Kind::Text),
    ("goal.scripts.*.input", Kind::Schema),
    ("goal.scripts.*.output", Kind::Schema),
    ("goal.scripts.*.idempotent", Kind::Switch),
    ("goal.scripts_timeout", Kind::Count(1)),
    ("limits.models.*.concurrency", AMOUNT),
    ("limits.models.*.requests_per_minute", AMOUNT),
    ("limits.models.*.tokens_per_minute", AMOUNT),
    ("limits.tenants.*.concurrency", ATTEMPTS),
    ("limits.tenants.*.weight", Kind::Within(1, 1_000)),
    ("limits.resources.*", AMOUNT),
    ("limits.orchestrations", ATTEMPTS),
    ("limits.queue", AMOUNT),
    ("limits.age_turn", ATTEMPTS),
    ("limits.max_wait_seconds", Kind::Within(1, 31_536_000)),
    ("limits.breaker.failures", Kind::Within(0, 1_000_000)),
    ("limits.breaker.successes", ATTEMPTS),
    ("limits.breaker.cool_down_seconds", Kind::Within(1, 86_400)),
    ("limits.breaker.max_wait_seconds", Kind::Within(1, 31_536_000)),
    ("limits.breaker.per", Kind::OneOf(&["role", "model", "provider"])),
    ("manifests.max_concurrency", Kind::Within(1, 100_000)),
    ("manifests.batch_size", Kind::Within(1, 100_000)),
    ("manifests.timeout_seconds", Kind::Seconds),
    ("manifests.synthesis.strategy", Kind::OneOf(STRATEGIES)),
    ("manifests.synthesis.ratio", Kind::Within(2, 100)),
    ("manifests.synthesis.progressive", Kind::Switch),
    ("pipelines.recursive_depth", BOUND),
    ("pipelines.topology_depth", BOUND),
    ("pipelines.topology_retries", Kind::Within(0, 1_000)),
    ("pipelines.relationship_children", Kind::Within(1, 10_000)),
    ("pipelines.max_concurrency", ATTEMPTS),
    ("pipelines.security_violation", Kind::OneOf(&["hard_abort", "validation_fail"])),
    ("budgets.day.usd", Kind::Money),
    ("budgets.day.tokens", Kind::Within(1, 1_000_000_000_000_000)),
    ("budgets.day.mode", Kind::OneOf(BUDGET_MODE)),
    ("budgets.day.when_spent", Kind::OneOf(WHEN_SPENT)),
    ("budgets.day.degrade_to", Kind::Text),
    ("budgets.run.usd", Kind::Money),
    ("budgets.run.tokens", Kind::Within(1, 1_000_000_000_000_000)),
    ("budgets.run.mode", Kind::OneOf(BUDGET_MODE)),
    ("budgets.run.when_spent", Kind::OneOf(WHEN_SPENT)),
    ("budgets.run.degrade_to", Kind::Text),
    ("budgets.tenants.*.usd", Kind::Money),
    ("budgets.tenants.*.tokens", Kind::Within(1, 1_000_000_000_000_000)),
    ("budgets.tenants.*.mode", Kind::OneOf(BUDGET_MODE)),
    ("budgets.tenants.*.when_spent", Kind::OneOf(WHEN_SPENT)),
    ("budgets.tenants.*.degrade_to", Kind::Text),
];

/// What a key takes, if it is a key.
pub fn kind_of(path: &[&str]) -> Option<Kind> {
    KEYS.iter().find(|(key, _)| matches(key, path)).map(|(_, kind)| *kind)
}

/// Whether keys lie below a path, so that a table may stand there.
pub fn is_table(path: &[&str]) -> bool {
    KEYS.iter().any(|(key, _)| {
        let mut parts = key.split('.');
        begins(&mut parts, path) && parts.next().is_some()
    })
}

/// The known key that is most like an unknown one, if any is like it.
pub fn nearest(path: &[&str]) -> Option<String> {
    // A table may be misspelt as well as a key of it.
    let as_deep = |key: &str| key.splitn(path.len() + 1, '.').take(path.len()).collect::<Vec<_>>().join(".");
    let tables = KEYS.iter().map(|(key, _)| as_deep(key));
    let candidates = KEYS.iter().map(|(key, _)| (*key).to_owned()).chain(tables);
    let candidates: Vec<_> = candidates.map(|key| with_name(&key, path)).collect();
    convoke_model::nearest(&path.join("."), candidates.iter().map(String::as_str)).map(str::to_owned)
}

/// What may stand in the table that a key is in, for people.
pub fn siblings(path: &[&str]) -> String {
    let above = &path[..path.len().saturating_sub(1)];
    let mut known: Vec<&str> = Vec::new();
    for (key, _) in KEYS {
        let parts: Vec<_> = key.split('.').collect();
        let is_here =
            parts.len() > above.len() && above.iter().zip(&parts).all(|(have, want)| fits(want, have));
        if is_here && !known.contains(&parts[above.len()]) {
            known.push(parts[above.len()]);
        }
    }
    known.join(", ")
}

/// What is wrong with a value, if something is.
pub fn mismatch(kind: Kind, value: &Scalar) -> Option<String> {
    match (kind, value) {
        (Kind::Text | Kind::Path | Kind::Command, Scalar::Text(_)) => None,
        (Kind::Switch, Scalar::Switch(_)) | (Kind::List, Scalar::List(_)) => None,
        (Kind::Count(least), Scalar::Number(number)) if u64::try_from(*number).is_ok_and(|n| n >= least) => {
            None
        }
        (Kind::Within(least, most), Scalar::Number(number))
            if u64::try_from(*number).is_ok_and(|n| (least..=most).contains(&n)) =>
        {
            None
        }
        (Kind::Price, value) if fraction(value).is_some_and(|price| price >= 0.0) => None,
        (Kind::Money, value)
            if fraction(value).is_some_and(|usd| (LEAST_DOLLARS..=MOST_DOLLARS).contains(&usd)) =>
        {
            None
        }
        (Kind::Seconds, value) if fraction(value).is_some_and(|time| (0.001..=YEAR).contains(&time)) => None,
        (Kind::Age, Scalar::Text(text)) if age(text).is_ok_and(|age| !age.is_zero()) => None,
        (Kind::Size, Scalar::Text(text)) if size(text).is_ok() => None,
        (Kind::SomeOf(words), Scalar::List(texts))
            if texts.iter().all(|text| words.contains(&text.as_str())) =>
        {
            None
        }
        (Kind::Schema, Scalar::Text(text)) if is_json_object(text) => no_schema(text),
        (Kind::OneOf(words), Scalar::Text(word)) if words.contains(&word.as_str()) => None,
        (kind, value) => Some(format!("expected {}, found {value}{}", expected(kind), instead(kind, value))),
    }
}

/// The word that a misspelt one was meant to be.
fn instead(kind: Kind, value: &Scalar) -> String {
    let (Kind::OneOf(words), Scalar::Text(word)) = (kind, value) else { return String::new() };
    let near = convoke_model::nearest(word, words.iter().copied());
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

fn is_json_object(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.is_object())
}

/// What is wrong with a schema that is written as it must be.
fn no_schema(text: &str) -> Option<String> {
    let fault = check_schema(&serde_json::from_str(text).ok()?).err()?;
    let at = if fault.path.is_empty() { String::new() } else { format!(" (at /{})", fault.path.join("/")) };
    Some(format!("{fault}{at}"))
}

/// A number, with or without a fraction, that can be reckoned with.
pub fn fraction(value: &Scalar) -> Option<f64> {
    let number = match value {
        Scalar::Number(number) => Some(*number as f64),
        // TOML writes 1_000.5 as people do.
        Scalar::Fraction(text) => text.replace('_', "").parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// What a key takes, in words.
pub fn expected(kind: Kind) -> String {
    match kind {
        Kind::Text | Kind::Path | Kind::Command => "text".to_owned(),
        Kind::Count(least) => format!("a whole number from {least}"),
        Kind::Within(least, most) => format!("a whole number from {least} to {most}"),
        Kind::Switch => "true or false".to_owned(),
        Kind::Price => "a number from 0".to_owned(),
        Kind::Money => format!("dollars, from {LEAST_DOLLARS} to {MOST_DOLLARS}"),
        Kind::Seconds => format!("seconds, from 0.001 to {YEAR}"),
        Kind::Age => "a number and d, h, m or s, such as 30d".to_owned(),
        Kind::Size => "a number and kB, MB, GB or TB, such as 5GB".to_owned(),
        Kind::List => "a list of texts".to_owned(),
        Kind::SomeOf(words) => format!("a list of some of {}", words.join(", ")),
        Kind::Schema => "a JSON Schema, as text that holds a JSON object".to_owned(),
        Kind::OneOf(words) => format!("one of {}", words.join(", ")),
    }
}

fn matches(key: &str, path: &[&str]) -> bool {
    let mut parts = key.split('.');
    begins(&mut parts, path) && parts.next().is_none()
}

/// Whether parts of a key begin with a path, which is taken from them. Every run asks this some thousand times.
fn begins<'a>(parts: &mut impl Iterator<Item = &'a str>, path: &[&str]) -> bool {
    path.iter().all(|have| parts.next().is_some_and(|want| fits(want, have)))
}

fn fits(want: &str, have: &str) -> bool {
    want == "*" || want == have
}

/// The key with the names that the user chose in place of `*`, so that only the mistake counts.
fn with_name(key: &str, path: &[&str]) -> String {
    let name = |(at, part)| if part == "*" { path.get(at).copied().unwrap_or("NAME") } else { part };
    key.split('.').enumerate().map(name).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_finds_its_key() {
        assert_eq!(nearest(&["machine_concurency"]).as_deref(), Some("machine_concurrency"));
        assert_eq!(nearest(&["providers", "mine", "base_ulr"]).as_deref(), Some("providers.mine.base_url"));
        let deep = nearest(&["limits", "tenants", "blue", "wieght"]);
        assert_eq!(deep.as_deref(), Some("limits.tenants.blue.weight"));
        assert_eq!(nearest(&["zzzzzzzz"]), None);
        assert_eq!(nearest(&["runn"]).as_deref(), Some("run"));
        assert_eq!(nearest(&["provder"]).as_deref(), Some("provider"));
        assert_eq!(nearest(&["limits", "model"]).as_deref(), Some("limits.models"));
    }

    #[test]
    fn names_are_free_and_keys_are_not() {
        assert_eq!(kind_of(&["providers", "anything", "model"]), Some(Kind::Text));
        assert_eq!(kind_of(&["providers", "anything", "modell"]), None);
        assert!(is_table(&["providers"]) && is_table(&["providers", "x"]) && !is_table(&["state_dir"]));
    }

    #[test]
    fn nonsense_numbers_do_not_pass() {
        let wrong = |kind, value| mismatch(kind, &value).is_some();
        let number = Scalar::Number;
        let text = |text: &str| Scalar::Fraction(text.into());
        assert!(
            wrong(AMOUNT, number(0)) && wrong(AMOUNT, number(-1)) && wrong(AMOUNT, number(1_000_000_001))
        );
        assert!(
            wrong(Kind::Money, number(0))
                && wrong(Kind::Money, text("inf"))
                && wrong(Kind::Price, text("nan"))
        );
        assert!(!wrong(Kind::Money, text("1_000.5")) && !wrong(AMOUNT, number(1_000_000_000)));
    }

    #[test]
    fn what_may_stand_somewhere_can_be_told() {
        assert_eq!(
            siblings(&["limits", "x"]),
            "models, tenants, resources, orchestrations, queue, age_turn, max_wait_seconds, breaker"
        );
        assert_eq!(siblings(&["limits", "tenants", "blue", "x"]), "concurrency, weight");
    }
}
