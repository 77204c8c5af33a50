//! What the lines of well-known commands mean.
//!
//! One reader per command; each takes the lines that only it could have printed and leaves the rest to the next. What no
//! reader knows may still carry an answer by the general rule, which is the last one.

use convoke_model::Usage;
use serde_json::Value;

/// What a line tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Sign {
    /// A piece of a message.
    Piece(String),
    /// A whole message, or what a message became with its last piece.
    Message(String),
    /// The answer itself, whatever was said before.
    Answer(String),
    /// A tool has been started.
    ToolStarted {
        /// The id under which it will be said to have ended.
        id: String,
        /// Its name; some say it only here.
        name: String,
    },
    /// A tool has ended: its id or name, and whether it failed.
    ToolEnded {
        /// The id under which it was started; its name where it was not announced.
        id: String,
        /// Its name.
        name: String,
        /// Whether it went wrong.
        failed: bool,
    },
    /// Tokens and money that come on top of what was told before.
    Used(Usage),
    /// Tokens and money of everything.
    UsedInAll(Usage),
    /// The model that answers.
    Model(String),
    /// Something went wrong, and the run may go on all the same.
    Warned(Value),
    /// Something went wrong, and that was the end.
    Failed(Value),
}

/// How one command prints.
pub struct Shape {
    /// Reads a line that is its own.
    pub read: fn(&Value) -> Option<Vec<Sign>>,
    /// Whether it is the rule for commands without a rule of their own.
    pub is_general: bool,
}

const fn known(read: fn(&Value) -> Option<Vec<Sign>>) -> Shape {
    Shape { read, is_general: false }
}

/// All commands that are known, the general rule last.
pub const ALL: &[Shape] = &[
    known(codex),
    known(claude),
    known(opencode),
    known(pi),
    known(gemini),
    Shape { read: anything, is_general: true },
];

/// `codex exec --json`
fn codex(line: &Value) -> Option<Vec<Sign>> {
    let item = line.get("item");
    let of_item = |key: &str| item.and_then(|item| item.get(key)).and_then(Value::as_str).unwrap_or_default();
    let id = || of_item("id").to_owned();
    Some(match (kind(line), of_item("type")) {
        ("thread.started" | "turn.started", _) => vec![],
        ("item.completed", "agent_message") => vec![Sign::Message(of_item("text").to_owned())],
        ("item.completed", "error") => vec![Sign::Warned(item?.clone())],
        ("item.started" | "item.updated" | "item.completed", "reasoning" | "agent_message" | "todo_list") => {
            vec![]
        }
        ("item.started", _) => vec![Sign::ToolStarted { id: id(), name: codex_tool(item?) }],
        ("item.completed", _) => {
            vec![Sign::ToolEnded { id: id(), name: codex_tool(item?), failed: of_item("status") == "failed" }]
        }
        ("item.updated", _) => vec![],
        ("turn.completed", _) => {
            let usage = line.get("usage")?;
            let of = |key: &str| number(usage, key);
            let (read, written) = (of("cached_input_tokens"), of("cache_write_input_tokens"));
            vec![Sign::Used(tokens(of("input_tokens"), of("output_tokens"), read, written))]
        }
        ("turn.failed", _) => vec![Sign::Failed(line.get("error")?.clone())],
        ("error", _)
            if line.get("message").is_some_and(Value::is_string) && line.get("severity").is_none() =>
        {
            vec![Sign::Warned(line.clone())]
        }
        _ => return None,
    })
}

/// Tools of servers have names of their own, everything else is known by its kind.
fn codex_tool(item: &Value) -> String {
    match (text_at(item, "server"), text_at(item, "tool")) {
        (Some(server), Some(tool)) => format!("{server}__{tool}"),
        _ => kind(item).to_owned(),
    }
}

/// `claude -p --output-format stream-json --verbose`, and the last line alone with `json`
fn claude(line: &Value) -> Option<Vec<Sign>> {
    match kind(line) {
        "system" => {
            line.get("subtype")?;
            Some(text_at(line, "model").map(|model| Sign::Model(model.to_owned())).into_iter().collect())
        }
        "assistant" => Some(claude_message(line.get("message")?)),
        "user" => {
            let ended = blocks(line.get("message")?).iter().filter_map(|block| {
                let id = text_at(block, "tool_use_id")?.to_owned();
                let failed = block.get("is_error") == Some(&Value::Bool(true));
                Some(Sign::ToolEnded { name: String::new(), id, failed })
            });
            Some(ended.collect())
        }
        "result" if line.get("subtype").is_some() => Some(claude_result(line)),
        _ => None,
    }
}

fn claude_message(message: &Value) -> Vec<Sign> {
    let mut signs: Vec<Sign> = Vec::new();
    for block in blocks(message) {
        match kind(block) {
            "text" => signs.push(Sign::Message(text_at(block, "text").unwrap_or_default().to_owned())),
            "tool_use" => {
                let word = |key: &str| text_at(block, key).unwrap_or_default().to_owned();
                signs.push(Sign::ToolStarted { id: word("id"), name: word("name") });
            }
            _ => {}
        }
    }
    signs
}

fn claude_result(line: &Value) -> Vec<Sign> {
    let usage = line.get("usage").unwrap_or(&Value::Null);
    let of = |key: &str| number(usage, key);
    let (read, written) = (of("cache_read_input_tokens"), of("cache_creation_input_tokens"));
    let cost = line.get("total_cost_usd").and_then(Value::as_f64).unwrap_or(0.0);
    let mut signs = Vec::new();
    if line.get("usage").is_some() {
        let used = tokens(of("input_tokens") + read + written, of("output_tokens"), read, written);
        signs.push(Sign::UsedInAll(Usage { cost_micros: micros(cost), ..used }));
    }
    if line.get("is_error") == Some(&Value::Bool(true)) || text_at(line, "subtype") != Some("success") {
        signs.push(Sign::Failed(line.clone()));
    } else if let Some(shaped) = line.get("structured_output").filter(|shaped| !shaped.is_null()) {
        signs.push(Sign::Answer(shaped.to_string()));
    } else if let Some(text) = text_at(line, "result") {
        signs.push(Sign::Answer(text.to_owned()));
    }
    signs
}

/// `opencode run --format json`
fn opencode(line: &Value) -> Option<Vec<Sign>> {
    line.get("sessionID")?;
    let part = line.get("part").unwrap_or(&Value::Null);
    Some(match kind(line) {
        "text" => vec![Sign::Message(text_at(part, "text")?.to_owned())],
        "tool_use" => {
            let name = text_at(part, "tool").unwrap_or_default().to_owned();
            let failed = part.pointer("/state/status").and_then(Value::as_str) == Some("error");
            vec![Sign::ToolEnded { id: String::new(), name, failed }]
        }
        "step_finish" => {
            let tokens_of = |path: &str| part.pointer(path).and_then(Value::as_u64).unwrap_or(0);
            let (read, written) = (tokens_of("/tokens/cache/read"), tokens_of("/tokens/cache/write"));
            let output = tokens_of("/tokens/output") + tokens_of("/tokens/reasoning");
            let used = tokens(tokens_of("/tokens/input") + read + written, output, read, written);
            let cost = part.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
            vec![Sign::Used(Usage { cost_micros: micros(cost), ..used })]
        }
        "error" => {
            let error = line.get("error")?;
            vec![Sign::Failed(error.get("data").unwrap_or(error).clone())]
        }
        _ => vec![],
    })
}

/// `pi -p --mode json`
fn pi(line: &Value) -> Option<Vec<Sign>> {
    let word = |key: &str| text_at(line, key).unwrap_or_default().to_owned();
    Some(match kind(line) {
        "session"
        | "agent_start"
        | "agent_end"
        | "turn_start"
        | "turn_end"
        | "message_start"
        | "tool_execution_update" => vec![],
        "message_update" => {
            let event = line.get("assistantMessageEvent")?;
            let delta = text_at(event, "delta").filter(|_| kind(event) == "text_delta");
            delta.map(|delta| Sign::Piece(delta.to_owned())).into_iter().collect()
        }
        "message_end" => pi_message(line.get("message")?),
        "tool_execution_start" => {
            vec![Sign::ToolStarted { id: word("toolCallId"), name: word("toolName") }]
        }
        "tool_execution_end" => {
            let failed = line.get("isError") == Some(&Value::Bool(true));
            vec![Sign::ToolEnded { id: word("toolCallId"), name: word("toolName"), failed }]
        }
        _ => return None,
    })
}

fn pi_message(message: &Value) -> Vec<Sign> {
    if text_at(message, "role") != Some("assistant") {
        return vec![];
    }
    let mut signs = Vec::new();
    let text: String = blocks(message).iter().filter_map(|block| text_at(block, "text")).collect();
    if !text.is_empty() {
        signs.push(Sign::Message(text));
    }
    signs.extend(text_at(message, "model").map(|model| Sign::Model(model.to_owned())));
    if let Some(usage) = message.get("usage") {
        let of = |key: &str| number(usage, key);
        let (read, written) = (of("cacheRead"), of("cacheWrite"));
        let cost = usage.pointer("/cost/total").and_then(Value::as_f64).unwrap_or(0.0);
        let used = tokens(of("input") + read + written, of("output"), read, written);
        signs.push(Sign::Used(Usage { cost_micros: micros(cost), ..used }));
    }
    if matches!(text_at(message, "stopReason"), Some("error" | "aborted")) {
        let words = text_at(message, "errorMessage").unwrap_or("it stopped with an error");
        signs.push(Sign::Failed(serde_json::json!({"message": words})));
    }
    signs
}

/// `gemini -p --output-format stream-json`, and the one object of `json`
fn gemini(line: &Value) -> Option<Vec<Sign>> {
    let word = |key: &str| text_at(line, key).unwrap_or_default().to_owned();
    Some(match kind(line) {
        "init" => vec![Sign::Model(word("model"))],
        "message" if word("role") == "assistant" => match line.get("delta") {
            Some(Value::Bool(true)) => vec![Sign::Piece(text_at(line, "content")?.to_owned())],
            _ => vec![Sign::Message(text_at(line, "content")?.to_owned())],
        },
        "message" if line.get("role").is_some() => vec![],
        "tool_use" if line.get("tool_name").is_some() => {
            vec![Sign::ToolStarted { id: word("tool_id"), name: word("tool_name") }]
        }
        "tool_result" if line.get("tool_id").is_some() => {
            vec![Sign::ToolEnded {
                id: word("tool_id"),
                name: String::new(),
                failed: word("status") == "error",
            }]
        }
        "error" if line.get("severity").is_some() => vec![Sign::Warned(line.clone())],
        "result" if line.get("status").is_some() => {
            let stats = line.get("stats").unwrap_or(&Value::Null);
            let of = |key: &str| number(stats, key);
            let used = tokens(of("input_tokens"), of("output_tokens"), of("cached"), 0);
            let failed = line.get("error").map(|error| Sign::Failed(error.clone()));
            let known = stats.get("input_tokens").map(|_| Sign::UsedInAll(used));
            known.into_iter().chain(failed).collect()
        }
        "" if line.get("stats").is_some() || line.get("response").is_some_and(Value::is_string) => {
            gemini_whole(line)
        }
        _ => return None,
    })
}

fn gemini_whole(line: &Value) -> Vec<Sign> {
    let mut signs: Vec<Sign> = Vec::new();
    let models = line.pointer("/stats/models").and_then(Value::as_object);
    for (name, model) in models.into_iter().flatten() {
        let Some(stated) = model.get("tokens") else { continue };
        let of = |key: &str| number(stated, key);
        signs.push(Sign::Model(name.clone()));
        signs.push(Sign::Used(tokens(of("prompt"), of("candidates") + of("thoughts"), of("cached"), 0)));
    }
    signs.extend(text_at(line, "response").map(|text| Sign::Answer(text.to_owned())));
    signs
        .extend(line.get("error").filter(|error| error.is_object()).map(|error| Sign::Failed(error.clone())));
    signs
}

/// Whatever carries a text under a usual name.
fn anything(line: &Value) -> Option<Vec<Sign>> {
    let text = ["result", "text", "message", "content", "response"].iter().find_map(|key| text_at(line, key));
    Some(text.map(|text| Sign::Message(text.to_owned())).into_iter().collect())
}

fn kind(line: &Value) -> &str {
    text_at(line, "type").unwrap_or_default()
}

fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn blocks(message: &Value) -> &[Value] {
    message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

fn micros(dollars: f64) -> u64 {
    (dollars.max(0.0) * 1e6).round() as u64
}

fn tokens(input: u64, output: u64, read: u64, written: u64) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: written,
        ..Usage::default()
    }
}
