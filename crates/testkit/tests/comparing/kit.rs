//! Runs of every shape with timing of their own, and one thing that can be planted in each.

use crate::goals::kit as goals;
use convoke_engine::compare::{Comparison, Side, compare};
use convoke_model::{
    Answer, Assignment, Class, Digest, Event, JsonText, Payload, RunId, Stamped, TaskId, Usage, Work,
};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, Random, World, plan_of};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// A run that can be made again with something changed.
#[derive(Clone)]
pub struct Setup {
    pub text: String,
    pub child: String,
    pub inputs: Value,
    /// How the gate is answered.
    pub choice: &'static str,
    /// Tasks that answer something else.
    pub answers: Vec<&'static str>,
    /// Tasks whose first attempts fail, with how many and how.
    pub faults: Vec<(&'static str, u32, Class)>,
    /// Tasks that end before or after all others.
    pub first: Option<&'static str>,
    /// What the tool of an agent on its way gives.
    pub tool_gave: &'static str,
    pub configuration: Option<(&'static str, &'static str)>,
    pub guidance: Option<&'static str>,
    pub limit: u32,
    /// Commits after which the run is cut off, or stopped by a person.
    pub cut: Option<usize>,
    pub stop: Option<usize>,
}

impl Setup {
    pub fn of(text: &str) -> Setup {
        Setup {
            text: text.to_owned(),
            child: CHILD.to_owned(),
            inputs: json!({"topic": "rain"}),
            choice: "y",
            answers: Vec::new(),
            faults: Vec::new(),
            first: None,
            tool_gave: "12 degrees",
            configuration: None,
            guidance: None,
            limit: 8,
            cut: None,
            stop: None,
        }
    }

    /// The same with another text in place of one.
    pub fn with(&self, old: &str, new: &str) -> Setup {
        let mut other = self.clone();
        (other.text, other.child) = (self.text.replacen(old, new, 1), self.child.replacen(old, new, 1));
        assert!(other.text != self.text || other.child != self.child, "nothing says {old}:\n{}", self.text);
        other
    }

    /// Runs it with the timing of a seed.
    pub fn run(&self, seed: u64) -> Ran {
        let plan = plan_of(&self.text, &[("child.yaml", &self.child)]);
        let mut world = World::new(plan.clone(), self.inputs.clone(), self.limit, seed, self.script(seed));
        world
            .answers
            .insert("*".into(), Answer::Choice { value: self.choice.into(), input: Default::default() });
        match (self.cut, self.stop) {
            (Some(cut), _) => drop(world.run(cut)),
            (None, Some(stop)) if world.run(stop).is_none() => drop(world.stop(true)),
            _ => {
                if let Some(words) = self.guidance {
                    drop(world.run(5));
                    world.guide(words);
                }
                world.finish();
            }
        }
        let mut events: Vec<Stamped> = world.events().cloned().collect();
        self.name_run(&mut events, seed);
        let events = with_turns(events, self.tool_gave);
        Ran { plan, events, world }
    }

    fn name_run(&self, events: &mut [Stamped], seed: u64) {
        if let Some(Event::RunStarted(started)) = events.first_mut().map(|first| &mut first.event) {
            started.run = RunId(format!("run-{seed}").into());
            let more = self.configuration.iter().map(|(key, value)| (key.to_string(), value.to_string()));
            started.configuration.extend(more);
        }
    }

    fn script(&self, seed: u64) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
        let (setup, mut random) = (self.clone(), Random::new(seed));
        Box::new(move |assignment| {
            let task = assignment.task.to_string();
            let takes = match setup.first {
                Some(first) if first == task => 1,
                Some(_) => 500 + random.below(100),
                // Longer than the shortest timeout there is.
                None if task == "both/c" => 2_000,
                None => 10 + random.below(200),
            };
            let takes = Duration::from_millis(takes);
            if let Some((_, _, class)) =
                setup.faults.iter().find(|(of, attempts, _)| *of == task && assignment.attempt <= *attempts)
            {
                return Behaviour::fails(takes, *class);
            }
            match answer(assignment, setup.answers.contains(&task.as_str())) {
                Ok(value) => Behaviour::gives(takes, value),
                Err(class) => Behaviour::fails(takes, class),
            }
        })
    }
}

/// What a worker answers: it depends on everything that it was asked, and on nothing else unless another answer is planted.
fn answer(assignment: &Assignment, is_other: bool) -> Result<Value, Class> {
    let task = assignment.task.to_string();
    let (asked, model) = match &assignment.work {
        Work::Agent(call) => (format!("{:?}{}", call.system, call.prompt), call.model.clone()),
        Work::Script(call) => (format!("{:?}", call.args), String::new()),
        Work::Tool(call) => (call.arguments.as_str().to_owned(), String::new()),
        Work::Program(call) => (call.agent.prompt.clone(), String::new()),
        Work::Probe(_) => unreachable!("nothing is cut off between a claim and its end"),
    };
    let mark = if is_other { "other " } else { "" };
    let words = Digest::of(format!("{asked}{model}").as_bytes()).to_string();
    let words = format!("{mark}{task} says {}", &words[..8]);
    if task.starts_with("g/") {
        let Work::Agent(call) = &assignment.work else { unreachable!("goals ask models") };
        let mut value = goals::report(&task, &call.prompt)?;
        if is_other && let Some(result) = value.get_mut("result") {
            *result = json!(words);
        }
        return Ok(value);
    }
    Ok(match &assignment.work {
        Work::Script(_) => json!({"stdout": words, "stderr": "", "exit_code": 0}),
        _ if task.contains("/try[") => {
            json!({"status": "success", "payload": {"by": words}})
        }
        _ => json!({"result": words, "said": words}),
    })
}

/// A run as `diff` reads it.
pub struct Ran {
    pub plan: Arc<Plan>,
    pub events: Vec<Stamped>,
    world: World,
}

pub fn compared(old: &Ran, new: &Ran) -> Comparison {
    let blobs = [&old.world, &new.world].map(|world| move |digest: &Digest| world.kept(digest));
    let sides = [
        Side { plan: &old.plan, events: &old.events, blob: &blobs[0] },
        Side { plan: &new.plan, events: &new.events, blob: &blobs[1] },
    ];
    compare(sides).expect("simulated journals can be folded")
}

/// Agents named `tooled` have called a tool on their way.
fn with_turns(events: Vec<Stamped>, gave: &str) -> Vec<Stamped> {
    let mut all: Vec<Stamped> = Vec::new();
    let mut turns: HashMap<TaskId, u32> = HashMap::new();
    for stamped in events {
        let (at, event) = (stamped.at, stamped.event);
        let started = match &event {
            Event::AttemptStarted { task, attempt, .. } if task.0.starts_with("tooled") => {
                Some((task.clone(), *attempt))
            }
            _ => None,
        };
        all.push(Stamped { seq: all.len() as u64 + 1, at, event });
        if let Some((task, attempt)) = started {
            *turns.entry(task.clone()).or_default() += 1;
            let piece = Payload::Inline(JsonText::of(&piece(gave)));
            let event =
                Event::TurnRecorded { task, attempt, piece, kept: Vec::new(), usage: Usage::default() };
            all.push(Stamped { seq: all.len() as u64 + 1, at, event });
        }
    }
    all
}

fn piece(gave: &str) -> Value {
    json!({
        "about": Digest::of(b"x"),
        "changes": [{"splice": {"at": 1, "remove": 0, "insert": [
            {"role": "assistant", "text": "", "tool_calls": [{"id": "c1", "name": "weather", "arguments": {}}]},
            {"role": "tool", "text": gave, "result_of": {"id": "c1", "name": "weather"}},
        ]}}],
        "state": {},
    })
}

const CHILD: &str = "
workflow: {name: child, entry_point: first, input: {n: {type: string}}}
agents:
  - {name: first, prompt: 'first of {{ workflow.input.n }}', routes: [{to: second}]}
  - {name: second, prompt: 'second of {{ first.output.said }}'}
output: {n: '{{ second.output.said }}'}
";

pub const WORKFLOW: &str = "
workflow: {name: w, input: {topic: {type: string}}, runtime: {provider: scripted}, limits: {max_iterations: 1000}}
parallel: [{name: both, agents: [a, b, c], failure_mode: continue_on_error, max_concurrent: 3}]
for_each:
  - {name: each, type: for_each, items: [x, y, z], as: it, max_concurrent: 3, failure_mode: continue_on_error, agent: {name: one, prompt: 'one {{ it }} of {{ both.outputs.b.said }}'}, needs: [both]}
agents:
  - {name: a, prompt: 'a about {{ workflow.input.topic }}', model: m1, retry: {max_attempts: 3, delay_seconds: 0.01}}
  - {name: b, prompt: 'b stays', model: m1}
  - {name: c, prompt: 'c stays', timeout_seconds: 900, retry: {max_attempts: 3, delay_seconds: 0.01}}
  - {name: build, type: script, command: make, args: ['{{ both.outputs.a.said }}'], needs: [both]}
  - {name: sub, type: workflow, workflow: child.yaml, input_mapping: {n: '{{ build.output.stdout }}'}, needs: [build]}
  - {name: tooled, prompt: 'look at {{ both.outputs.c.said }}', needs: [both]}
  - {name: last, prompt: 'last {{ each.outputs | json }} {{ sub.output | json }} {{ tooled.output.said }}', needs: [each, sub, tooled]}
output: {answer: '{{ last.output.said }}'}
";

pub const ROUTES: &str = "
workflow: {name: r, entry_point: draft, input: {topic: {type: string}}, runtime: {provider: scripted}}
agents:
  - {name: draft, prompt: 'draft {{ workflow.input.topic }}', model: m1, routes: [{to: review, when: \"{{ output.said != 'x' }}\"}, {to: $end}]}
  - {name: review, prompt: 'review {{ draft.output.said }}', routes: [{to: review, when: '{{ context.iteration < 3 }}'}, {to: ask}]}
  - {name: ask, type: human_gate, prompt: 'go?', options: [{label: Yes, value: y, route: publish}, {label: No, value: n, route: archive}]}
  - {name: publish, prompt: 'publish {{ review.output.said }}', routes: [{to: $end}]}
  - {name: archive, prompt: 'archive {{ review.output.said }}', routes: [{to: $end}]}
output: {said: '{{ draft.output.said }}'}
";

pub const RACE: &str = "
workflow: {name: race, input: {topic: {type: string}}, runtime: {provider: scripted}, limits: {max_concurrency: 8}}
agents:
  - {name: a, prompt: 'a', retry: {max_attempts: 3, delay_seconds: 1}}
  - {name: b, prompt: 'b', retry: {max_attempts: 3, delay_seconds: 1}}
  - {name: c, prompt: 'c', retry: {max_attempts: 3, delay_seconds: 1}}
  - {name: pick, prompt: 'pick {{ a.output.said if a is defined else b.output.said if b is defined else c.output.said }}', needs: [a, b, c], join: any}
  - {name: after, prompt: 'after {{ pick.output.said }}', needs: [pick]}
output: {won: '{{ after.output.said }}'}
";

pub const GOAL: &str = "
workflow: {name: w, entry_point: g, input: {topic: {type: string}}, runtime: {provider: scripted}}
agents:
  - {name: g, type: goal, goal: 'write the report about {{ workflow.input.topic }}', policies: {fatal: [decompose, fail]}}
output: {answer: '{{ g.output | json }}'}
";

pub const PIPELINE: &str = "
schemaVersion: '1'
name: small
topologies: [sequential, parallel]
personas:
  - {id: p, displayName: P, systemPromptTemplate: You are p.}
  - {id: q, displayName: Q, systemPromptTemplate: You are q.}
  - {id: r, displayName: R, systemPromptTemplate: You are r.}
pipeline:
  entryNodeId: plan
  nodes:
    - {id: plan, actorId: model, personaId: p}
    - {id: build, actorId: model, personaId: q, constraints: {maxRetries: 2}}
    - {id: docs, actorId: model, personaId: q}
    - {id: release, actorId: model, personaId: r}
  edges:
    - {from: plan, to: build}
    - {from: plan, to: docs}
    - {from: build, to: release}
    - {from: docs, to: release}
";

pub const MERGE: &str = "
workflow: {name: w, input: {topic: {type: string}}, runtime: {provider: scripted}, limits: {max_concurrency: 60}}
for_each:
  - {name: a, type: for_each, items: [1, 2, 3, 4, 5, 6], as: n, max_concurrent: 10, failure_mode: continue_on_error, agent: {name: one, prompt: 'say {{ n }}'}}
agents:
  - {name: s, type: reduce, needs: [{step: a, requires: any}], strategy: hierarchical, ratio: 2}
  - {name: end, prompt: 'end {{ s.output | json }}', needs: [s]}
output: {answer: '{{ end.output.said }}'}
";

pub const TOOLS: &str = "
workflow:
  name: t
  input: {topic: {type: string}}
  runtime: {provider: scripted, mcp_servers: {fs: {command: npx, args: [-y, server], tools: [read, list]}}}
agents:
  - {name: fetch, type: tool, server: fs, tool: read, arguments: {path: '{{ workflow.input.topic }}'}}
  - {name: other, type: tool, server: fs, tool: list, arguments: {path: x}}
  - {name: tooled, prompt: 'use {{ fetch.output | json }}', needs: [fetch]}
  - {name: close, prompt: 'close {{ tooled.output.said }} {{ other.output | json }}', needs: [tooled, other]}
output: {answer: '{{ close.output.said }}'}
";
