//! Work written down in every way that there is, with a witness of its effects.
//!
//! Every script and every tool here is one that may not be repeated. The judge is a file outside the engine, `witness`, to which
//! each effect appends its key.

use super::World;
use super::goals::{answer, done};
use super::journal::Events;
use super::model::Model;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Takes a moment, has its effect, takes a moment.
pub const ACT: &str = "key=$1; [ -n \"$key\" ] || key=$(sed 's/.*\"key\": *\"\\([^\"]*\\)\".*/\\1/')\n\
                   sleep 0.02; echo \"$key\" >>witness; sleep 0.02; echo '{\"ok\": true}'\n";

pub const SERVERS: &str = "mcp_servers: {box: {type: scripts, scripts: {act: {command: sh, args: [act.sh], description: acts, \
                       input: {type: object, properties: {key: {type: string}}, required: [key]}}}}}";

/// One way to write down work.
pub struct FrontEnd {
    /// Its name in messages.
    pub name: &'static str,
    /// What is run, but for the model's address.
    pub file: String,
    /// The command.
    pub args: &'static [&'static str],
    /// The keys of effects that steps have, and of those that models call for.
    pub steps: Vec<String>,
    pub calls: Vec<String>,
}

pub fn script(name: &str) -> String {
    format!("{{name: {name}, type: script, command: sh, args: [act.sh, {name}]}}")
}

pub fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}{n}")).collect()
}

pub fn prompt(keys: &[String]) -> String {
    keys.iter().map(|key| format!("KEY:{key}")).collect::<Vec<_>>().join(" ")
}

pub fn front_ends() -> Vec<FrontEnd> {
    vec![
        workflow(),
        for_each(),
        sub_workflows(),
        tools(),
        many_calls(),
        manifest("flat", "manifest"),
        manifest("rlm", "rlm"),
        goal(),
        personas(),
    ]
}

pub fn workflow() -> FrontEnd {
    let steps = names("s", 6);
    let agents: String = steps.iter().map(|name| format!("  - {}\n", script(name))).collect();
    let file = format!(
        "workflow: {{name: w, entry_point: s0}}\nagents:\n{}parallel: [{{name: rest, agents: [s1, s2, s3, s4, s5]}}]\n",
        agents.replacen("s0]}", "s0], routes: [{to: rest}]}", 1)
    );
    FrontEnd { name: "workflow", file, args: &["run", "w.yaml"], steps, calls: vec![] }
}

pub fn for_each() -> FrontEnd {
    let steps = names("e", 6);
    let file = format!(
        "workflow: {{name: w, entry_point: list}}\nagents:\n  - {{name: list, type: set, values: {{items: '{}'}}, routes: [{{to: each}}]}}\n\
         for_each:\n  - name: each\n    type: for_each\n    source: list.output.items\n    as: item\n    max_concurrent: 3\n    \
         agent: {{name: one, type: script, command: sh, args: [act.sh, '{{{{ item }}}}']}}\n",
        json!(steps)
    );
    FrontEnd { name: "for_each", file, args: &["run", "w.yaml"], steps, calls: vec![] }
}

pub fn sub_workflows() -> FrontEnd {
    let file = "workflow: {name: w, entry_point: both}\nagents:\n  - {name: x, type: workflow, workflow: child.yaml}\n  \
                - {name: y, type: workflow, workflow: other.yaml}\nparallel: [{name: both, agents: [x, y]}]\n";
    FrontEnd {
        name: "sub-workflows",
        file: file.into(),
        args: &["run", "w.yaml"],
        steps: names("x", 2).into_iter().chain(names("y", 2)).collect(),
        calls: vec![],
    }
}

fn child(prefix: &str) -> String {
    let [first, second] = ["0", "1"].map(|n| script(&format!("{prefix}{n}")));
    let first = first.replace("]}", &format!("], routes: [{{to: {prefix}1}}]}}"));
    format!("workflow: {{name: child, entry_point: {prefix}0}}\nagents:\n  - {first}\n  - {second}\n")
}

pub fn tools() -> FrontEnd {
    let steps = names("t", 4);
    let tool = |name: &String| {
        format!("  - {{name: {name}, type: tool, server: box, tool: act, arguments: {{key: {name}}}}}\n")
    };
    let file = format!(
        "workflow: {{name: w, entry_point: all, runtime: {{{SERVERS}}}}}\nagents:\n{}parallel: [{{name: all, agents: [{}]}}]\n",
        steps.iter().map(tool).collect::<String>(),
        steps.join(", ")
    );
    FrontEnd { name: "tools", file, args: &["run", "w.yaml"], steps, calls: vec![] }
}

/// Eight calls in one turn.
pub fn many_calls() -> FrontEnd {
    let calls = names("c", 8);
    let file = format!(
        "workflow: {{name: w, entry_point: a, runtime: {{{SERVERS}}}}}\nagents:\n  - {{name: a, prompt: '{}'}}\n",
        prompt(&calls)
    );
    FrontEnd { name: "agent", file, args: &["run", "w.yaml"], steps: vec![], calls }
}

pub fn manifest(strategy: &str, name: &'static str) -> FrontEnd {
    let calls = names("m", 6);
    let file = format!(
        "query: q\nsynthesis: {{strategy: {strategy}, model: root}}\n{SERVERS}\nagents:\n  - {{id: a, task: '{}'}}\n  - {{id: b, task: '{}'}}\n",
        prompt(&calls[..3]),
        prompt(&calls[3..])
    );
    FrontEnd { name, file, args: &["run", "w.yaml"], steps: vec![], calls }
}

pub fn goal() -> FrontEnd {
    let file = format!(
        "workflow: {{name: w, entry_point: g, runtime: {{{SERVERS}}}}}\nagents:\n  - {{name: g, type: goal, goal: make it}}\n"
    );
    FrontEnd { name: "goal", file, args: &["run", "w.yaml"], steps: vec![], calls: names("g", 4) }
}

pub fn personas() -> FrontEnd {
    let calls = names("p", 6);
    let file = format!(
        "schemaVersion: '1'\nproject: false\n{SERVERS}\npersonas:\n  - {{id: coder, displayName: Coder, systemPromptTemplate: You code.}}\n\
         pipeline:\n  entryNodeId: one\n  nodes:\n    - {{id: one, actorId: m, personaId: coder, task: '{}'}}\n    \
         - {{id: two, actorId: m, personaId: coder, task: '{}'}}\n  edges:\n    - {{from: one, to: two}}\n",
        prompt(&calls[..3]),
        prompt(&calls[3..])
    );
    FrontEnd { name: "personas", file, args: &["run", "w.yaml"], steps: vec![], calls }
}

/// Calls for what its prompt names and was not called for yet, then answers as it is asked to.
pub fn model() -> Model {
    Model::answering(reply)
}

/// What such a model says.
pub fn reply(request: &Value) -> Value {
    let messages = request["messages"].as_array().expect("messages");
    let prompt = messages.iter().find(|message| message["role"] == "user").map(|m| m["content"].to_string());
    let prompt = prompt.unwrap_or_default();
    let spoke = messages.iter().any(|message| message["role"] == "assistant");
    let keys = prompt.split("KEY:").skip(1).map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
    let keys: Vec<&str> = keys.flatten().collect();
    let offers = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    if request["model"] == "root" {
        return json!("```python\nfinal(llm('merge them'))\n```");
    }
    if offers && !spoke && !keys.is_empty() && !prompt.contains("Make a plan") {
        let call = |key: &&str| json!({"name": "box__act", "arguments": {"key": key}});
        return json!({"call": keys.iter().map(call).collect::<Vec<_>>(), "delay_ms": 10});
    }
    let all = request["messages"].to_string();
    let said = match () {
        () if all.contains("Make a plan") => planned(),
        () if all.contains("Answer the person") => answer("It is made."),
        () if all.contains("goal_achieved") => done("made"),
        () if all.contains("You code.") => json!({"status": "success", "payload": {"n": 1}}),
        () => return json!({"say": "all is well", "delay_ms": 10}),
    };
    json!({"say": said.to_string(), "delay_ms": 10})
}

fn planned() -> Value {
    let task = |id: &str, keys: &str, inputs: &[&str]| {
        json!({
            "id": id, "description": format!("do {keys}"), "inputs": inputs, "tools": ["box__act"],
            "skip_probability": 0, "estimated_tokens": 100, "estimated_seconds": 1,
        })
    };
    json!({"tasks": [task("a", "KEY:g0 KEY:g1", &[]), task("b", "KEY:g2", &[]), task("c", "KEY:g3", &[])]})
}

pub fn world(front_end: &FrontEnd, model: &Model) -> World {
    let world = World::with_workflow(&front_end.file);
    let provider = format!("name = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\n", model.url());
    world.write("convoke.toml", format!("[provider]\n{provider}model = \"m\"\n"));
    world.write("act.sh", ACT);
    world.write("child.yaml", child("x"));
    world.write("other.yaml", child("y"));
    world
}

/// How often each key stands in the witness.
pub fn effects(world: &World) -> BTreeMap<String, u64> {
    let mut effects = BTreeMap::new();
    for key in world.read("witness").lines() {
        *effects.entry(key.to_owned()).or_default() += 1;
    }
    effects
}

/// The tasks whose last question is open.
pub fn waiting(events: &Events) -> Vec<String> {
    let mut waiting: Vec<String> = Vec::new();
    for event in &events.0 {
        let task = |kind: &str| event["event"][kind]["task"].as_str().map(str::to_owned);
        waiting.retain(|open| task("gate_answered").as_ref() != Some(open));
        waiting.extend(task("gate_opened"));
    }
    waiting
}

/// `both/x/x1` has the effect `x1`, `each[2]` that of its item, `e2`, and `round#3`, the third visit of a step, that of the step.
pub fn key_of(task: &str) -> String {
    let last = task.rsplit('/').next().unwrap_or(task);
    let last = last.split_once('#').map_or(last, |(step, _)| step);
    match last.split_once('[') {
        Some((name, index)) => format!("{}{}", &name[..1], index.trim_end_matches(']')),
        None => last.to_owned(),
    }
}
