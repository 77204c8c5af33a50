//! Kills runs of every front-end at random moments: no effect is repeated without a word, and nothing fails as stuck.
//!
//! Every script and every tool here is one that may not be repeated. The judge is a file outside the engine, to which each
//! effect appends its key. A key may stand there twice only if a person was asked about that very step and said `retry`. A
//! model that is told that the outcome of its call is unknown leaves it at that, so its keys stand there once at most.
//!
//!     CONVOKE_FRONT_END_KILLS=500 cargo nextest run -p convoke kill::front_ends --no-capture

use super::support::World;
use super::support::goals::{answer, done};
use super::support::journal::Events;
use super::support::model::Model;
use super::support::process::{Process, until};
use super::{Random, fresh_seed, number};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Kills of each front-end, unless told otherwise.
const FEW: u64 = 2;

/// The most kills of one run.
const MOST_KILLS: u64 = 4;

/// Takes a moment, has its effect, takes a moment.
const ACT: &str = "key=$1; [ -n \"$key\" ] || key=$(sed 's/.*\"key\": *\"\\([^\"]*\\)\".*/\\1/')\n\
                   sleep 0.02; echo \"$key\" >>witness; sleep 0.02; echo '{\"ok\": true}'\n";

const SERVERS: &str = "mcp_servers: {box: {type: scripts, scripts: {act: {command: sh, args: [act.sh], description: acts, \
                       input: {type: object, properties: {key: {type: string}}, required: [key]}}}}}";

/// One way to write down work.
struct FrontEnd {
    name: &'static str,
    /// What is run, but for the model's address.
    file: String,
    args: &'static [&'static str],
    /// The keys of effects that steps have, and of those that models call for.
    steps: Vec<String>,
    calls: Vec<String>,
}

fn script(name: &str) -> String {
    format!("{{name: {name}, type: script, command: sh, args: [act.sh, {name}]}}")
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}{n}")).collect()
}

fn prompt(keys: &[String]) -> String {
    keys.iter().map(|key| format!("KEY:{key}")).collect::<Vec<_>>().join(" ")
}

fn front_ends() -> Vec<FrontEnd> {
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

fn workflow() -> FrontEnd {
    let steps = names("s", 6);
    let agents: String = steps.iter().map(|name| format!("  - {}\n", script(name))).collect();
    let file = format!(
        "workflow: {{name: w, entry_point: s0}}\nagents:\n{}parallel: [{{name: rest, agents: [s1, s2, s3, s4, s5]}}]\n",
        agents.replacen("s0]}", "s0], routes: [{to: rest}]}", 1)
    );
    FrontEnd { name: "workflow", file, args: &["run", "w.yaml"], steps, calls: vec![] }
}

fn for_each() -> FrontEnd {
    let steps = names("e", 6);
    let file = format!(
        "workflow: {{name: w, entry_point: list}}\nagents:\n  - {{name: list, type: set, values: {{items: '{}'}}, routes: [{{to: each}}]}}\n\
         for_each:\n  - name: each\n    type: for_each\n    source: list.output.items\n    as: item\n    max_concurrent: 3\n    \
         agent: {{name: one, type: script, command: sh, args: [act.sh, '{{{{ item }}}}']}}\n",
        json!(steps)
    );
    FrontEnd { name: "for_each", file, args: &["run", "w.yaml"], steps, calls: vec![] }
}

fn sub_workflows() -> FrontEnd {
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

fn tools() -> FrontEnd {
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
fn many_calls() -> FrontEnd {
    let calls = names("c", 8);
    let file = format!(
        "workflow: {{name: w, entry_point: a, runtime: {{{SERVERS}}}}}\nagents:\n  - {{name: a, prompt: '{}'}}\n",
        prompt(&calls)
    );
    FrontEnd { name: "agent", file, args: &["run", "w.yaml"], steps: vec![], calls }
}

fn manifest(strategy: &str, name: &'static str) -> FrontEnd {
    let calls = names("m", 6);
    let file = format!(
        "query: q\nsynthesis: {{strategy: {strategy}, model: root}}\n{SERVERS}\nagents:\n  - {{id: a, task: '{}'}}\n  - {{id: b, task: '{}'}}\n",
        prompt(&calls[..3]),
        prompt(&calls[3..])
    );
    FrontEnd { name, file, args: &["run", "w.yaml"], steps: vec![], calls }
}

fn goal() -> FrontEnd {
    let file = format!(
        "workflow: {{name: w, entry_point: g, runtime: {{{SERVERS}}}}}\nagents:\n  - {{name: g, type: goal, goal: make it}}\n"
    );
    FrontEnd { name: "goal", file, args: &["run", "w.yaml"], steps: vec![], calls: names("g", 4) }
}

fn personas() -> FrontEnd {
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
fn model() -> Model {
    Model::answering(|request| {
        let messages = request["messages"].as_array().expect("messages");
        let prompt =
            messages.iter().find(|message| message["role"] == "user").map(|m| m["content"].to_string());
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
    })
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

fn world(front_end: &FrontEnd, model: &Model) -> World {
    let world = World::with_workflow(&front_end.file);
    let provider = format!("name = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\n", model.url());
    world.write("convoke.toml", format!("[provider]\n{provider}model = \"m\"\n"));
    world.write("act.sh", ACT);
    world.write("child.yaml", child("x"));
    world.write("other.yaml", child("y"));
    world
}

/// How often each key stands in the witness.
fn effects(world: &World) -> BTreeMap<String, u64> {
    let mut effects = BTreeMap::new();
    for key in world.read("witness").lines() {
        *effects.entry(key.to_owned()).or_default() += 1;
    }
    effects
}

/// One run, killed once or more.
struct Trial<'a> {
    front_end: &'a FrontEnd,
    world: World,
    random: Random,
    name: String,
    kills: u64,
    /// How often a person let the step of a key be repeated.
    allowed: BTreeMap<String, u64>,
}

impl Trial<'_> {
    fn run_to_its_end(&mut self, usual: Duration) {
        let planned = 1 + self.random.below(MOST_KILLS);
        for _ in 0..200 {
            let mut process = self.start();
            if self.kills < planned {
                let after = usual.mul_f64(self.random.below(1000) as f64 / 1000.0);
                let line =
                    self.random.below(2 * (self.front_end.steps.len() + self.front_end.calls.len()) as u64);
                self.await_some_moment(&mut process, after, line);
                if process.kill() {
                    self.kills += 1;
                    continue;
                }
            }
            let said = process.wait();
            assert!(!said.stderr.contains("stuck"), "{}: failed as stuck\n{said}", self.name);
            match said.code {
                Some(0) => return,
                Some(5) => self.let_it_be_repeated(),
                _ => panic!("{}\n{said}", self.name),
            }
        }
        panic!("{}: it does not come to an end", self.name);
    }

    fn start(&self) -> Process {
        match self.world.runs().first() {
            Some(run) => self.world.start(&["resume", run, "--silent"]),
            None => self.world.start(&[self.front_end.args, &["--silent"]].concat()),
        }
    }

    fn await_some_moment(&mut self, process: &mut Process, after: Duration, line: u64) {
        let by_time = self.random.below(2) == 0;
        let begin = Instant::now();
        until(&format!("{}: a moment to kill", self.name), || {
            let lines = || self.world.read("witness").lines().count() as u64;
            let reached = if by_time { begin.elapsed() >= after } else { lines() > line };
            reached || process.has_ended()
        });
    }

    /// Says `retry` to every question, and remembers which effects that allows once more.
    fn let_it_be_repeated(&mut self) {
        let run = self.world.run();
        let waiting = waiting(&Events::of(&self.world, &run));
        assert!(!waiting.is_empty(), "{}: it waits for nobody", self.name);
        for task in waiting {
            self.world.convoke(&["answer", &run, &task, "retry"]).exits(0);
            *self.allowed.entry(key_of(&task)).or_default() += 1;
        }
    }

    fn judge(&self) {
        let effects = effects(&self.world);
        for (key, times) in &effects {
            let allowed = 1 + self.allowed.get(key).copied().unwrap_or(0);
            assert!(*times <= allowed, "{}: `{key}` happened {times} times, allowed {allowed}", self.name);
        }
        for step in &self.front_end.steps {
            assert!(effects.contains_key(step), "{}: `{step}` never happened", self.name);
        }
        let events = Events::of(&self.world, &self.world.run());
        let text = Value::Array(events.0).to_string();
        assert!(!text.contains("stuck_loop"), "{}: failed as stuck", self.name);
        for call in self.front_end.calls.iter().filter(|call| !effects.contains_key(*call)) {
            assert!(text.contains("outcome_unknown"), "{}: `{call}` was left out without a word", self.name);
        }
    }
}

/// The tasks whose last question is open.
fn waiting(events: &Events) -> Vec<String> {
    let mut waiting: Vec<String> = Vec::new();
    for event in &events.0 {
        let task = |kind: &str| event["event"][kind]["task"].as_str().map(str::to_owned);
        waiting.retain(|open| task("gate_answered").as_ref() != Some(open));
        waiting.extend(task("gate_opened"));
    }
    waiting
}

/// `both/x/x1` has the effect `x1`, and `each[2]` that of its item, `e2`.
fn key_of(task: &str) -> String {
    let last = task.rsplit('/').next().unwrap_or(task);
    match last.split_once('[') {
        Some((name, index)) => format!("{}{}", &name[..1], index.trim_end_matches(']')),
        None => last.to_owned(),
    }
}

#[test]
fn no_effect_is_repeated_without_a_word_whatever_front_end_is_killed() {
    let front_ends = front_ends();
    let each = number("CONVOKE_FRONT_END_KILLS").map_or(FEW, |all| all.div_ceil(front_ends.len() as u64));
    let mut seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
    for front_end in &front_ends {
        let model = model();
        let usual = usual(front_end, &model);
        let (mut kills, mut trials, mut asked, mut repeated) = (0, 0, 0, 0);
        while kills < each {
            let name = format!("CONVOKE_SEED={seed} {}", front_end.name);
            let world = world(front_end, &model);
            let random = Random(seed);
            let mut trial = Trial { front_end, world, random, name, kills: 0, allowed: BTreeMap::new() };
            trial.run_to_its_end(usual);
            trial.judge();
            (kills, trials, seed) = (kills + trial.kills, trials + 1, seed + 1);
            asked += trial.allowed.values().sum::<u64>();
            repeated += effects(&trial.world).values().map(|times| times - 1).sum::<u64>();
            assert!(trials <= each * 3 + 10, "{trials} trials gave only {kills} kills");
        }
        eprintln!(
            "{}: {kills} kills in {trials} runs, {asked} questions, {repeated} repeated when told so, 0 without a word, 0 stuck",
            front_end.name
        );
    }
}

/// How long an undisturbed run takes; each effect happens once.
fn usual(front_end: &FrontEnd, model: &Model) -> Duration {
    let world = world(front_end, model);
    let begin = Instant::now();
    world.convoke(&[front_end.args, &["--silent"]].concat()).exits(0);
    let wanted: BTreeMap<String, u64> =
        front_end.steps.iter().chain(&front_end.calls).map(|key| (key.clone(), 1)).collect();
    assert_eq!(effects(&world), wanted, "{}: each effect happens once", front_end.name);
    begin.elapsed()
}
