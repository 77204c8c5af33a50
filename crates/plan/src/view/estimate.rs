//! What a plan will ask for, as far as that is known before it runs.
//!
//! Two numbers: the least that is certain (steps that run whatever is answered, with the texts that stand in the file),
//! and the most (every step once, whole answers). Loops count as one round. Fan-outs over lists that are not known yet
//! are named, not guessed.

use crate::plan::{
    Agent, Condition, ForEach, Kind, Node, NodeIx, On, Plan, Reduce, Strategy, Text, Trigger, Workflow,
};
use convoke_model::Role;
use convoke_model::excerpt::tokens_of_bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Tokens of an answer where none are stated.
const ANSWER_TOKENS: u64 = 4096;

/// What a run will need.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Tasks that run whatever is answered.
    pub tasks: u64,
    /// Model calls among them.
    pub calls: u64,
    /// Tokens that will be sent at least.
    pub least_tokens: u64,
    /// Millionths of a dollar that will be spent at least, on calls whose price is known.
    pub least_micros: u64,
    /// Millionths of a dollar with whole answers, tools and further turns not counted.
    pub most_micros: u64,
    /// Calls whose price is not known.
    pub unpriced_calls: u64,
    /// Fan-outs whose lists are not known yet.
    pub unknown: Vec<String>,
}

/// A workflow whose written `max_iterations` is less than every run of it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooFewIterations {
    /// The workflow.
    pub workflow: String,
    /// Its limit.
    pub limit: u64,
    /// What it needs at least.
    pub needed: u64,
}

/// The first workflow of a plan that cannot stay within its `max_iterations`, as far as the file and the inputs tell.
pub fn too_few_iterations(plan: &Plan, inputs: &Map<String, Value>) -> Option<TooFewIterations> {
    let look = Look { plan, inputs, found: Estimate::default() };
    let written = plan.workflows.iter().enumerate().filter(|(_, workflow)| workflow.limits.iterations_stated);
    let found = written.map(|(at, workflow)| TooFewIterations {
        workflow: workflow.name.to_string(),
        limit: u64::from(workflow.limits.max_iterations),
        needed: look.iterations(workflow, u32::from(!std::ptr::eq(workflow, plan.root()) || at > 0)),
    });
    found.into_iter().find(|found| found.needed > found.limit)
}

/// Looks at a plan and the inputs it is given.
pub fn estimate(plan: &Plan, inputs: &Map<String, Value>) -> Estimate {
    let mut look = Look { plan, inputs, found: Estimate::default() };
    look.workflow(plan.root(), 1, 0);
    look.found
}

struct Look<'a> {
    plan: &'a Plan,
    inputs: &'a Map<String, Value>,
    found: Estimate,
}

/// Sub-workflows below this depth are not looked into: one may call itself.
const DEEPEST: u32 = 10;

impl Look<'_> {
    fn workflow(&mut self, workflow: &Workflow, times: u64, depth: u32) {
        for ix in certain(workflow) {
            self.node(workflow, ix, times, depth);
        }
    }

    /// What a workflow counts whatever is answered: steps on routes, members of groups, items of lists that are known.
    fn iterations(&self, workflow: &Workflow, depth: u32) -> u64 {
        let alone = workflow.entry.len() == 1;
        let count = |ix: NodeIx| {
            let node = workflow.node(ix);
            match &node.kind {
                Kind::Parallel(group) => group.members.len() as u64,
                Kind::ForEach(each) => self.count(each, depth).unwrap_or(0),
                // Steps that wait for others, or merely stand side by side at the beginning, are on no route.
                _ if !node.needs.is_empty() => 0,
                _ if workflow.entry.contains(&ix) && !alone && node.routes.is_empty() => 0,
                _ => 1,
            }
        };
        on_every_way(workflow).into_iter().map(count).fold(0, u64::saturating_add)
    }

    fn node(&mut self, workflow: &Workflow, ix: NodeIx, times: u64, depth: u32) {
        let node = workflow.node(ix);
        self.found.tasks = self.found.tasks.saturating_add(times);
        match &node.kind {
            Kind::Agent(agent) => self.agent(agent, times),
            Kind::Parallel(group) => {
                group.members.iter().for_each(|member| self.node(workflow, *member, times, depth));
            }
            Kind::ForEach(each) => match self.count(each, depth) {
                Some(items) => self.node(workflow, each.body, times.saturating_mul(items), depth),
                None => self.found.unknown.push(node.name.to_string()),
            },
            Kind::SubPlan(sub) if depth < DEEPEST => {
                self.workflow(self.plan.workflow(sub.workflow), times, depth + 1);
            }
            Kind::Reduce(reduce) => self.reduce(workflow, reduce, times, depth),
            Kind::Goal(goal) => {
                let plans = goal.plan.is_none().then_some(Role::Plan);
                let answers = (!goal.plan_only).then_some(Role::Finalise);
                let sure = plans.into_iter().chain(answers).filter_map(|role| goal.roles.get(&role));
                sure.for_each(|role| self.node(workflow, *role, times, depth));
            }
            Kind::Verify(verify) => self.node(workflow, verify.assessor, times, depth),
            Kind::Phase(phase) => self.node(workflow, phase.worker, times, depth),
            _ => {}
        }
    }

    /// What a merge asks where all its outputs are there and short enough for groups of `ratio`.
    fn reduce(&mut self, workflow: &Workflow, reduce: &Reduce, times: u64, depth: u32) {
        let counts = reduce.of.iter().map(|of| self.outputs(workflow, *of, depth));
        let count = counts.sum::<Option<u64>>();
        let questions = match count {
            Some(count) => questions(reduce, count),
            None => u64::from(reduce.strategy == Strategy::Judge),
        };
        let programs = count.filter(|count| *count > 1).map(|count| reduce.strategy.resolve(count as usize));
        if let (Some(Strategy::Rlm), Some(rlm)) = (programs, &reduce.rlm) {
            self.writer(workflow, rlm.writer, times);
        }
        if questions > 0 {
            reduce.merger.iter().for_each(|merger| {
                self.node(workflow, *merger, times.saturating_mul(questions), depth);
            });
        }
    }

    /// A merge by programs asks for its first program itself.
    fn writer(&mut self, workflow: &Workflow, writer: NodeIx, times: u64) {
        if let Kind::Agent(agent) = &workflow.node(writer).kind {
            self.agent(agent, times);
        }
    }

    /// How many outputs a node stands for.
    fn outputs(&self, workflow: &Workflow, ix: NodeIx, depth: u32) -> Option<u64> {
        match &workflow.node(ix).kind {
            Kind::Parallel(group) => {
                group.members.iter().map(|member| self.outputs(workflow, *member, depth)).sum()
            }
            Kind::ForEach(each) => {
                // An item is one output, whatever it is.
                self.count(each, depth)
            }
            _ => Some(1),
        }
    }

    fn agent(&mut self, agent: &Agent, times: u64) {
        let tokens = |text: &Text| tokens(self.plan, text);
        let sent = tokens(&agent.prompt) + agent.system.as_ref().map_or(0, tokens);
        let answer = agent.settings.max_tokens.unwrap_or(ANSWER_TOKENS);
        let price = match &agent.model {
            Some(Text::Literal(model)) => agent.settings.pricing.get(model).copied(),
            Some(Text::Template(_)) => None,
            None => agent.settings.pricing.get("").copied(),
        };
        if price.is_none() {
            self.found.unpriced_calls = self.found.unpriced_calls.saturating_add(times);
        }
        let price = price.unwrap_or_default();
        let least = sent as f64 * price.input_per_mtok;
        let most = least + answer as f64 * price.output_per_mtok;
        // A judge is asked once for each answer; what that costs depends on the answer.
        let judges = agent.settings.validator.iter().count() + agent.settings.success_criteria.iter().count();
        self.found.calls = self.found.calls.saturating_add(times.saturating_mul(1 + judges as u64));
        self.found.least_tokens = self.found.least_tokens.saturating_add(sent.saturating_mul(times));
        self.found.least_micros = self.found.least_micros.saturating_add((least * times as f64) as u64);
        self.found.most_micros = self.found.most_micros.saturating_add((most * times as f64) as u64);
    }

    /// How many items there are, where the file or the inputs say.
    fn count(&self, each: &ForEach, depth: u32) -> Option<u64> {
        if let Some(items) = &each.items {
            return Some(items.len() as u64);
        }
        let path: Vec<&str> = each.source.iter().map(String::as_str).collect();
        let ["workflow", "input", rest @ ..] = path.as_slice() else { return None };
        let first = self.inputs.get(*rest.first()?).filter(|_| depth == 0)?;
        let list = rest[1..].iter().try_fold(first, |value, key| value.get(key))?;
        let parsed = list.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        parsed.as_ref().unwrap_or(list).as_array().map(|items| items.len() as u64)
    }
}

/// How many questions a merge of so many outputs asks at least.
fn questions(reduce: &Reduce, outputs: u64) -> u64 {
    match reduce.strategy.resolve(outputs as usize) {
        _ if outputs < 2 => 0,
        Strategy::Hierarchical => by_levels(outputs, u64::from(reduce.ratio)),
        Strategy::Tournament => outputs - 1,
        Strategy::Judge | Strategy::Progressive => 1,
        Strategy::Rlm | Strategy::Flat | Strategy::Vote | Strategy::Auto => 0,
    }
}

/// Groups of at most `ratio`, and groups of what these come to, until one is left; one alone is not asked about.
fn by_levels(mut outputs: u64, ratio: u64) -> u64 {
    let mut asked = 0;
    while outputs > 1 {
        let (whole, rest) = (outputs / ratio, outputs % ratio);
        asked += whole + u64::from(rest > 1);
        outputs = whole + u64::from(rest > 0);
    }
    asked
}

/// The least that a text comes to: the bytes outside its braces, nothing where a part may be left out.
fn tokens(plan: &Plan, text: &Text) -> u64 {
    let bytes = match text {
        Text::Literal(text) => text.len(),
        Text::Template(id) => certain_bytes(&plan.templates[id.0 as usize].text),
    };
    tokens_of_bytes(bytes as u64)
}

fn certain_bytes(template: &str) -> usize {
    if template.contains("{%") || template.contains("{#") {
        return 0;
    }
    let outside = |part: &str| part.split_once("}}").map_or(0, |(_, rest)| rest.len());
    let mut parts = template.split("{{");
    let first = parts.next().map_or(0, |part| part.len());
    first + parts.map(outside).sum::<usize>()
}

/// Steps that run whatever is answered: where the workflow begins, and what needs nothing but such steps.
fn certain(workflow: &Workflow) -> Vec<NodeIx> {
    let mut sure: Vec<NodeIx> = workflow.entry.clone();
    let mut known: HashSet<NodeIx> = sure.iter().copied().collect();
    loop {
        let next: Vec<NodeIx> = workflow
            .indexed()
            .filter(|(ix, node)| {
                let met = node.needs.iter().all(|need| known.contains(&need.node));
                !known.contains(ix) && !node.needs.is_empty() && met && is_started(node, &known)
            })
            .map(|(ix, _)| ix)
            .collect();
        if next.is_empty() {
            return sure;
        }
        known.extend(next.iter().copied());
        sure.extend(next);
    }
}

/// Steps that run whatever is answered, those that routes without a condition lead to included; each once.
fn on_every_way(workflow: &Workflow) -> Vec<NodeIx> {
    let mut sure = certain(workflow);
    let mut known: HashSet<NodeIx> = sure.iter().copied().collect();
    let mut at = 0;
    while let Some(node) = sure.get(at).map(|ix| workflow.node(*ix)) {
        let asks = matches!(node.kind, Kind::Gate(_) | Kind::Questions(_));
        let route = node.routes.first().filter(|route| route.when.is_none() && !asks);
        sure.extend(route.and_then(|route| route.to).filter(|to| known.insert(*to)));
        at += 1;
    }
    sure
}

/// Whether a step that edges lead to starts whatever is answered: one of them asks for nothing.
fn is_started(node: &Node, known: &HashSet<NodeIx>) -> bool {
    let asks_nothing = |edge: &Trigger| {
        let met = edge.when.iter().all(|condition| matches!(condition, Condition::Always));
        edge.on == Some(On::Always) && edge.event.is_none() && met && known.contains(&edge.from)
    };
    node.triggers.is_empty() || node.triggers.iter().any(asks_nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sources;
    use serde_json::json;

    struct Only(&'static str);

    impl Sources for Only {
        fn read(&self, _: &str) -> Result<Vec<u8>, crate::source::SourceReadError> {
            Ok(self.0.as_bytes().to_vec())
        }
        fn env(&self, _: &str) -> Option<String> {
            None
        }
    }

    fn plan(text: &'static str) -> Plan {
        crate::compile::compile("w.yaml", &Only(text), &Default::default()).plan.expect("it compiles")
    }

    #[test]
    fn only_what_is_certain_counts() {
        let text = "
workflow:
  name: w
  runtime: {provider: scripted, default_model: m}
  input: {list: {type: array}}
  cost: {pricing: {m: {input_per_mtok: 1000, output_per_mtok: 1000}}}
for_each:
  - {name: known, type: for_each, items: [1, 2, 3], as: n, agent: {name: a, prompt: 'twelve chars {{ n }}', max_tokens: 10}}
  - {name: given, type: for_each, needs: [known], source: workflow.input.list, as: n, agent: {name: b, prompt: x}}
  - {name: later, type: for_each, needs: [known], source: known.outputs.x, as: n, agent: {name: c, prompt: x}}
agents:
  - {name: start, type: set, value: '1', routes: [{to: maybe, when: 'output > 3'}, {to: $end}]}
  - {name: maybe, prompt: x}
";
        let text: &'static str =
            Box::leak(text.replace("name: w\n", "name: w\n  entry_point: [known, start]\n").into_boxed_str());
        let inputs = json!({ "list": [1, 2] });
        let found = estimate(&plan(text), inputs.as_object().unwrap());
        assert_eq!((found.tasks, found.calls), (1 + 3 + 1 + 2 + 1 + 1, 5));
        assert_eq!(found.unknown, ["later"]);
        // Thirteen bytes are four tokens, three times; one for each of the two others.
        assert_eq!(found.least_tokens, 14);
        assert_eq!(found.least_micros, 14_000);
        assert_eq!(found.most_micros, 14_000 + 3 * 10_000 + 2 * 4096 * 1000);
    }

    #[test]
    fn merges_examinations_and_judges_count() {
        let asked = |agents: usize, rest: &str| {
            let agents: String = (0..agents).map(|n| format!("  - {{id: a{n}, task: t}}\n")).collect();
            let text = format!("provider: scripted\n{rest}\nagents:\n{agents}");
            let found = estimate(&plan(Box::leak(text.into_boxed_str())), &Map::new());
            (found.tasks, found.calls)
        };
        // Agents and the step that merges; then what it asks.
        assert_eq!(asked(5, "synthesis: flat"), (6, 5));
        assert_eq!(asked(5, "synthesis: hierarchical"), (7, 6));
        assert_eq!(asked(30, "synthesis: hierarchical"), (30 + 1 + 4, 34));
        assert_eq!(asked(4, "synthesis: tournament"), (4 + 1 + 3, 7));
        assert_eq!(asked(4, "synthesis: judge\nverify: true"), (4 + 2 + 2, 6));
        assert_eq!(asked(1, "synthesis: hierarchical"), (2, 1), "one output alone is the answer as it is");
        assert_eq!((by_levels(300, 10), by_levels(11, 10), by_levels(2, 2)), (34, 2, 1));
    }

    #[test]
    fn of_a_pipeline_the_phases_count_that_start_whatever_is_answered() {
        let text = "
schemaVersion: '1'
provider: scripted
personas: [{id: p, displayName: P, systemPromptTemplate: You do it.}]
topologies: []
pipeline:
  entryNodeId: a
  nodes:
    - {id: a, actorId: model, personaId: p}
    - {id: b, actorId: model, personaId: p}
    - {id: c, actorId: model, personaId: p}
    - {id: d, actorId: program, personaId: p}
  edges:
    - {from: a, to: b, on: always}
    - {from: a, to: c, on: failure}
    - {from: b, to: d, on: always}
    - {from: c, to: d}
actors: {program: {type: script, command: 'true'}}
";
        let found = estimate(&plan(text), &Map::new());
        // `a` and `b` with a try each, which is a call; whether `d` starts is decided when `c` has ended, which may never run.
        assert_eq!((found.tasks, found.calls), (4, 2));
    }
}
