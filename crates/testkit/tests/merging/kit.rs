//! A world in which models say what a function gives, runs in it, and resumes at every cut.

use convoke_model::{Assignment, Class, Work};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

pub const TICK: Duration = Duration::from_millis(50);

pub type Says = fn(&str, &str) -> Option<Value>;

/// Every model call takes a tick and answers what `says` gives for task and prompt; nothing is a failure.
pub fn world(says: Says) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| {
        let prompt = match &assignment.work {
            Work::Agent(call) => call.prompt.clone(),
            _ => String::new(),
        };
        match says(&assignment.task.to_string(), &prompt) {
            Some(value) => Behaviour::gives(TICK, value),
            None => Behaviour::fails(TICK, Class::Fatal),
        }
    })
}

pub fn run(plan: &Arc<Plan>, inputs: Value, limit: u32, says: Says) -> (Ended, World) {
    let mut world = World::new(plan.clone(), inputs, limit, 1, world(says));
    (world.finish(), world)
}

/// Cuts the run off after every commit and resumes it: the end is the same, and nothing that had ended is done again.
pub fn resumes_everywhere(plan: &Arc<Plan>, inputs: Value, limit: u32, says: Says, expected: &Ended) {
    let (_, whole) = run(plan, inputs.clone(), limit, says);
    for cut in 1..whole.commits.len() {
        let left = whole.commits[..cut].to_vec();
        let done: HashSet<String> = left
            .iter()
            .flatten()
            .filter_map(|stamped| match &stamped.event {
                convoke_model::Event::AttemptFinished { task, .. } => Some(task.to_string()),
                _ => None,
            })
            .collect();
        let mut again = World::resumed(plan.clone(), limit, left, &whole, world(says));
        let ended = again.finish();
        assert_eq!((ended.status, &ended.output), (expected.status, &expected.output), "cut after {cut}");
        let twice = again.launches.iter().find(|(task, _)| done.contains(&task.to_string()));
        assert_eq!(twice, None, "cut after {cut}: done twice");
    }
}

pub fn many(count: usize, more: &str) -> Arc<Plan> {
    let text = format!(
        "
workflow: {{name: w, runtime: {{provider: scripted}}, limits: {{max_concurrency: 60}}}}
for_each:
  - {{name: a, type: for_each, items: [{}], as: n, max_concurrent: 1000, failure_mode: continue_on_error, agent: {{name: one, prompt: 'say {{{{ n }}}}'}}}}
agents:
  - {{name: s, type: reduce, needs: [{{step: a, requires: any}}], {more}}}
output: {{answer: '{{{{ s.output | json }}}}'}}
",
        (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
    );
    plan_of(&text, &[])
}

pub fn answer(ended: &Ended) -> Value {
    ended.output.as_ref().unwrap_or_else(|| panic!("{ended:?}"))["answer"].clone()
}

pub fn words(task: &str, prompt: &str) -> Option<Value> {
    match task.starts_with("s/") {
        true => Some(json!({ "result": format!("merged {} [S1]", prompt.matches("### ").count()) })),
        false => Some(json!({ "result": format!("words about {prompt}") })),
    }
}

pub const CHECKED: &str = "
workflow: {name: w, runtime: {provider: scripted}, entry_point: writer}
agents:
  - {name: writer, prompt: write}
  - {name: checked, type: verify, needs: [writer], query: 'How tall?', rounds: 2}
output: {answer: '{{ checked.output | json }}'}
";

pub const EXPECTING: &str = "
workflow: {name: w, runtime: {provider: scripted}, entry_point: maker}
agents:
  - {name: maker, prompt: make}
  - name: user
    prompt: 'use {{ maker.output.price }}'
    needs: [maker]
    expects: {maker: {price: {type: number}}}
    repair_input: true
output: {answer: '{{ user.output.result }}'}
";

/// What a command line gives to every manifest.
pub fn given() -> Value {
    json!({ "query": "q", "context": "" })
}
