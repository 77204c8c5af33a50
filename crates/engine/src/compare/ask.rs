//! What an attempt is asked, field by field, without what differs from run to run: keys, addresses, prices.

use convoke_model::{AgentCall, Assignment, Work};
use serde_json::{Map, Value, json};

/// The fields of an assignment that change its answer. `folder` is where the run was started.
pub fn fields(assignment: &Assignment, folder: &str) -> Map<String, Value> {
    let value = match &assignment.work {
        Work::Agent(call) => agent(call, folder),
        Work::Program(call) => {
            let mut value = agent(&call.agent, folder);
            let names: Vec<String> = call.sources.iter().map(|source| json!(source).to_string()).collect();
            value["outputs"] = json!(names);
            value["answers"] = json!(call.answers);
            value
        }
        Work::Script(call) => json!({
            "command": call.command,
            "args": call.args,
            "env": call.env,
            "working_dir": place(call.working_dir.as_deref(), folder),
            "stdin": call.stdin,
        }),
        Work::Tool(call) => json!({"server": call.server, "tool": call.tool, "arguments": call.arguments}),
        // Asked after a crash alone, about the attempt before it.
        Work::Probe(_) => json!({"probe": true}),
    };
    let Value::Object(mut fields) = value else { unreachable!("made of fields") };
    fields.retain(|_, value| !value.is_null());
    fields
}

fn agent(call: &AgentCall, folder: &str) -> Value {
    let settings = &call.settings;
    json!({
        "prompt": call.prompt,
        "system": call.system,
        "model": call.model,
        "provider": settings.provider.name,
        "reasoning_effort": call.reasoning_effort,
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "tools": settings.tools,
        "schema": settings.schema,
        "working_dir": place(call.working_dir.as_deref(), folder),
    })
}

/// A folder as it is called in every run: below the one where the run was started.
fn place(working_dir: Option<&str>, folder: &str) -> Option<String> {
    let below = |dir: &str| dir.strip_prefix(folder).map(|rest| format!(".{rest}"));
    working_dir.map(|dir| below(dir).unwrap_or_else(|| dir.to_owned()))
}
