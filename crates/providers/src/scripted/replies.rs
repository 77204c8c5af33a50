//! The file of replies.
//!
//! ```yaml
//! latency_ms: 5                 # every answer takes this long
//! replies:                      # per step, or of one task by its id, which goes before its step;
//!                               # `NAME/validator`, `NAME/verifier` and `NAME/repair` are helpers of a step
//!   writer:
//!     - "plain text"
//!     - {title: "an object is a structured answer"}
//!     - {say: "text", delay_ms: 300, repeat: 2}
//!     - {json: {n: 1}, usage: {prompt_tokens: 10, completion_tokens: 5}}
//!     - {status: 429, retry_after: 1, message: "slow down"}
//!     - {tool_calls: [{name: count, arguments: {of: "x"}}], say: "beside the calls"}
//!     - {drop: true}
//!     - {fail: timeout, message: "any class of failure"}
//! match:                        # for steps that are not listed, by what they ask
//!   - {pattern: "(?i)translate", replies: ["Bonjour"]}
//! default: ["anything else"]
//! ```

use convoke_agent::{Purpose, Request, Role};
use convoke_model::{Class, Failure, TaskId};
use regex::Regex;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Keys that make an object an instruction to us instead of an answer.
const CONTROL: [&str; 8] = ["say", "json", "tool_calls", "drop", "delay_ms", "fail", "repeat", "retry_after"];

/// All replies of a file.
pub struct Script {
    pub latency_ms: Option<u64>,
    steps: HashMap<String, Replies>,
    patterns: Vec<(Regex, Replies)>,
    default: Option<Replies>,
}

/// One list and how far it has been used.
struct Replies {
    entries: Vec<Entry>,
    next: AtomicUsize,
}

/// One reply.
#[derive(Debug, Clone)]
pub struct Entry {
    pub outcome: Outcome,
    pub delay_ms: Option<u64>,
    /// Tokens sent and received.
    pub usage: Option<(u64, u64)>,
}

impl Entry {
    /// What is said while it takes its time.
    pub fn text(&self) -> &str {
        match &self.outcome {
            Outcome::Say(text) | Outcome::Call(_, text) => text,
            Outcome::Fail(_) => "",
        }
    }
}

/// What a reply does.
#[derive(Debug, Clone)]
pub enum Outcome {
    Say(String),
    /// Tools that are asked for, with what is said beside them.
    Call(Vec<Wanted>, String),
    Fail(Failure),
}

/// One tool that is asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub name: String,
    pub arguments: Value,
}

impl Script {
    /// Reads a file's text; an error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Script, String> {
        // As workflow files are read: `no` and `y` are what a model says, not booleans.
        let options = serde_saphyr::options! { strict_booleans: true };
        let file: Value =
            serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())?;
        let Value::Object(mut file) = file else { return Err("it is no map".into()) };
        let latency_ms = file.remove("latency_ms").and_then(|value| value.as_u64());
        let patterns = file.remove("match").map(patterns).transpose()?.unwrap_or_default();
        let default = file.remove("default").map(|value| list("default", value)).transpose()?;
        let steps = match file.remove("replies") {
            Some(Value::Object(steps)) if file.is_empty() => steps,
            Some(_) => {
                return Err("beside `replies`, a map, only latency_ms, match and default may stand".into());
            }
            // A file may also be nothing but the lists.
            None => file,
        };
        let steps = steps.into_iter().map(|(step, value)| Ok((step.clone(), list(&step, value)?)));
        Ok(Script { latency_ms, steps: steps.collect::<Result<_, String>>()?, patterns, default })
    }

    /// The tools that the replies to a task can ask for: those of its own lists, else of every list that can answer it.
    pub fn tools_of(&self, step: &str, task: &TaskId) -> Vec<String> {
        let own: Vec<&Replies> = [&*task.0, step].iter().filter_map(|name| self.steps.get(*name)).collect();
        let others = || self.patterns.iter().map(|(_, replies)| replies).chain(&self.default).collect();
        let lists = if own.is_empty() { others() } else { own };
        let entries = lists.iter().flat_map(|replies| &replies.entries);
        let calls = entries.filter_map(|entry| match &entry.outcome {
            Outcome::Call(calls, _) => Some(calls),
            Outcome::Say(_) | Outcome::Fail(_) => None,
        });
        calls.flatten().map(|wanted| wanted.name.clone()).collect()
    }

    /// The next reply to a request.
    pub fn next(&self, request: &Request<'_>, prompt: &str) -> Option<&Entry> {
        if !matches!(request.purpose, Purpose::Answer | Purpose::Program) {
            // How often a helper was asked cannot be told from the task.
            return self.steps.get(&name(request))?.take(0);
        }
        let by_pattern = || self.patterns.iter().find(|(pattern, _)| pattern.is_match(prompt));
        let listed = self.steps.get(&*request.task.0).or_else(|| self.steps.get(request.step));
        let replies = listed.or_else(|| by_pattern().map(|(_, replies)| replies));
        replies.or(self.default.as_ref())?.take(used_before(request))
    }
}

/// The name under which the replies to a request are listed.
pub fn name(request: &Request<'_>) -> String {
    let helper = match request.purpose {
        Purpose::Answer | Purpose::Program => "",
        Purpose::Grade => "/validator",
        Purpose::Verify => "/verifier",
        Purpose::Repair => "/repair",
    };
    format!("{}{helper}", request.step)
}

/// How many replies must have been used: by earlier visits and attempts of the task, and by the conversation so far.
fn used_before(request: &Request<'_>) -> usize {
    let turns = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    if request.purpose == Purpose::Program {
        // Most of its attempts only went on with what others answered.
        return turns;
    }
    let visits = request.task.segments().last().map_or(1, |segment| segment.visit);
    // An attempt that was cut off has used no answer.
    let before = visits.saturating_sub(1) + request.attempt.saturating_sub(1 + request.cut_off);
    turns.max(before as usize)
}

impl Replies {
    fn take(&self, at_least: usize) -> Option<&Entry> {
        let advance = |next: usize| Some(next.max(at_least) + 1);
        let before = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance);
        let index = before.unwrap_or(0).max(at_least);
        self.entries.get(index.min(self.entries.len().checked_sub(1)?))
    }
}

fn patterns(value: Value) -> Result<Vec<(Regex, Replies)>, String> {
    let Value::Array(items) = value else { return Err("`match` is no list".into()) };
    items.into_iter().map(pattern).collect()
}

fn pattern(item: Value) -> Result<(Regex, Replies), String> {
    let text = item.get("pattern").and_then(Value::as_str).ok_or("an entry of `match` has no `pattern`")?;
    let regex = Regex::new(text).map_err(|error| format!("pattern `{text}`: {error}"))?;
    let replies = item.get("replies").cloned().ok_or_else(|| format!("pattern `{text}` has no `replies`"))?;
    Ok((regex, list(text, replies)?))
}

/// A list of replies, or one that stands alone.
fn list(name: &str, value: Value) -> Result<Replies, String> {
    let items = match value {
        Value::Array(items) => items,
        one => vec![one],
    };
    let mut entries = Vec::with_capacity(items.len());
    for item in items {
        let (entry, times) = entry(item).map_err(|why| format!("replies of `{name}`: {why}"))?;
        entries.extend(std::iter::repeat_n(entry, times));
    }
    if entries.is_empty() {
        return Err(format!("replies of `{name}`: there are none"));
    }
    Ok(Replies { entries, next: AtomicUsize::new(0) })
}

fn entry(value: Value) -> Result<(Entry, usize), String> {
    match value {
        Value::Object(object) if is_control(&object) => controlled(&object),
        Value::String(text) => Ok((says(text), 1)),
        other => Ok((says(other.to_string()), 1)),
    }
}

fn is_control(object: &Map<String, Value>) -> bool {
    CONTROL.iter().any(|key| object.contains_key(*key)) || object.get("status").is_some_and(Value::is_u64)
}

fn says(text: String) -> Entry {
    Entry { outcome: Outcome::Say(text), delay_ms: None, usage: None }
}

fn controlled(object: &Map<String, Value>) -> Result<(Entry, usize), String> {
    let number = |key: &str| object.get(key).and_then(Value::as_u64);
    let tokens = |key: &str| object.get("usage").and_then(|usage| usage.get(key)).and_then(Value::as_u64);
    let usage = tokens("prompt_tokens").zip(tokens("completion_tokens"));
    let entry = Entry { outcome: outcome(object)?, delay_ms: number("delay_ms"), usage };
    Ok((entry, number("repeat").unwrap_or(1) as usize))
}

fn outcome(object: &Map<String, Value>) -> Result<Outcome, String> {
    let message = object.get("message").and_then(Value::as_str);
    if object.get("drop") == Some(&Value::Bool(true)) {
        let message = message.unwrap_or("scripted: the connection was lost");
        return Ok(Outcome::Fail(Failure::new(Class::Transient, message).reason("connection_lost")));
    }
    if let Some(word) = object.get("fail").and_then(Value::as_str) {
        let class = Class::from_word(word).ok_or_else(|| format!("`{word}` is no class of failure"))?;
        let message = message.unwrap_or("scripted failure");
        return Ok(Outcome::Fail(retried_after(Failure::new(class, message), object)));
    }
    if let Some(status) = object.get("status").and_then(Value::as_u64).filter(|status| *status != 200) {
        let words = message.map_or_else(String::new, |message| format!(": {message}"));
        let failure = Failure::new(class_of(status), format!("scripted answered {status}{words}"));
        return Ok(Outcome::Fail(retried_after(failure, object)));
    }
    let text = match (object.get("say"), object.get("json")) {
        (Some(Value::String(text)), _) => Some(text.clone()),
        (Some(other), _) | (None, Some(other)) => Some(other.to_string()),
        (None, None) => None,
    };
    match (object.get("tool_calls"), text) {
        (Some(calls), text) => Ok(Outcome::Call(wanted(calls)?, text.unwrap_or_default())),
        (None, Some(text)) => Ok(Outcome::Say(text)),
        (None, None) => Err("an entry with a delay or a repeat needs `say`, `json` or `tool_calls`".into()),
    }
}

fn wanted(calls: &Value) -> Result<Vec<Wanted>, String> {
    let calls =
        calls.as_array().filter(|calls| !calls.is_empty()).ok_or("`tool_calls` is no list of calls")?;
    let call = |call: &Value| {
        let name =
            call.get("name").and_then(Value::as_str).ok_or("an entry of `tool_calls` has no `name`")?;
        let arguments = call.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        Ok(Wanted { name: name.to_owned(), arguments })
    };
    calls.iter().map(call).collect()
}

fn retried_after(mut failure: Failure, object: &Map<String, Value>) -> Failure {
    let seconds = object.get("retry_after").and_then(Value::as_f64);
    failure.retry_after_ms = seconds.map(|seconds| (seconds.max(0.0) * 1000.0) as u64);
    failure
}

fn class_of(status: u64) -> Class {
    match status {
        429 => Class::RateLimit,
        503 | 529 => Class::Capacity,
        408 => Class::Timeout,
        401 | 403 => Class::Permission,
        402 => Class::Budget,
        500.. => Class::Transient,
        _ => Class::Fatal,
    }
}
