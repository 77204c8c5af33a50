//! Files that were broken on purpose: whatever is left of them, compiling ends with a plan or with an error, never otherwise.

use crate::world;

use convoke_plan::view::{dot, levels, mermaid};
use proptest::prelude::*;
use std::collections::BTreeMap;
use world::{World, compiled};

const RICH: &str = "workflow:
  name: rich
  entry_point: start
  input:
    topic: {type: string}
    items: {type: array, required: false}
  context: {mode: explicit, max_tokens: 100, trim_strategy: summarize}
  limits: {max_iterations: 20}
  hooks:
    on_start: 'begin {{ workflow.name }}'
    on_complete: {command: echo, args: ['{{ workflow.dir }}']}
    on_error: {run: tidy}
parallel:
  - {name: both, agents: [left, right], routes: [{to: each}]}
  - {name: outer, agents: [both2, each2], routes: [{to: merge}]}
  - {name: both2, agents: [left, deep]}
for_each:
  - name: each
    type: for_each
    source: both.outputs.left
    as: it
    key_by: id
    agent: {name: body, prompt: '{{ it }} {{ _key }}'}
    routes:
      - {to: ask, when: 'output.count > 1'}
      - {to: $end, output: {n: '{{ output.count }}'}}
  - {name: each2, type: for_each, source: workflow.input.items, as: x, run: child}
agents:
  - {name: start, type: set, values: {a: '1', b: '{{ workflow.input.topic }}'}, routes: [{to: both}]}
  - {name: left, prompt: 'x', input: [start.output.a], output: {score: {type: number}}}
  - {name: right, prompt: '{{ left.output.score }}', needs: [left], input: [left.output]}
  - {name: deep, type: wait, duration: 5s}
  - name: ask
    type: human_gate
    prompt: 'ok {{ each.count }}?'
    options:
      - {label: 'Yes', value: y, route: check}
      - {label: 'No', value: n, route: stop}
  - {name: check, type: script, command: ls, routes: [{to: start, when: 'exit_code == 1'}, {to: later}]}
  - {name: later, type: questions, source: each.outputs.list, allow_abort: true, abort_route: stop, routes: [{to: outer}]}
  - {name: stop, type: terminate, status: failed, reason: 'because {{ ask.output.selected }}'}
  - {name: tidy, type: script, command: rm}
  - {name: merge, type: reduce, of: [outer, ask], strategy: judge, query: 'which', routes: [{to: verified}]}
  - {name: verified, type: verify, of: merge, model: m, repairer: {model: n}, routes: [{to: use}]}
  - {name: use, type: script, command: cat, expects: {merge: {result: {type: string}}}, repair_input: true}
  - {name: child, type: workflow, workflow: child.yaml, input_mapping: {t: '{{ workflow.input.topic }}'}}
output:
  r: '{{ each.outputs | json }}'
";

const PERSONAS: &str = "schemaVersion: '1'
topologies: [sequential, hierarchical]
events:
  - deployed
  - {type: billed, schema: {amount: {type: number}}}
actors:
  suite: {type: script, command: ./suite, args: [-x], timeout: 5m}
  model: {provider: openai, model: big, temperature: 1}
personas:
  - {id: lead, displayName: Lead, systemPromptTemplate: 'You lead {{ phase.id }}.'}
  - {id: coder, systemPromptTemplate: Code., modelConstraint: m, toolClearance: {allowlist: [a, b], banlist: [b]}}
  - {id: tester, systemPromptTemplate: Test., actorId: suite}
relationships:
  - {parentPersonaId: lead, childPersonaId: coder, constraints: {maxDepth: 2, maxChildren: 3}}
  - {parentPersonaId: coder, childPersonaId: tester}
pipeline:
  entryNodeId: plan
  nodes:
    - {id: plan, actorId: model, personaId: lead, task: 'Plan {{ workflow.input.what }}.'}
    - {id: code, actorId: model, personaId: coder, constraints: {maxRetries: 2}, topology: {kind: sequential, blockId: x}}
    - {id: test, actorId: suite, personaId: tester, topology: {kind: sequential, blockId: x}}
    - {id: tell, actorId: other, personaId: lead, budget: {tokens: 100}}
  edges:
    - {from: plan, to: code, event: billed}
    - {from: plan, to: test, on: always, when: 'state.flags.ready'}
    - {from: code, to: test, when: [{type: state_flag, key: x, equals: true}, {type: file_exists, path: out}]}
    - {from: test, to: tell, on: validation_fail, when: {type: expression, expr: 'plan.output.payload.n > 1'}}
    - {from: code, to: tell, on: failure, when: {type: history_has_event, event: deployed}}
topologyConstraints: {maxDepth: 2, maxRetries: 1}
";
const WORDS: &[&str] =
    &["start", "each", "both", "$end", "{{", "", "left", "outer", "child.yaml", "main.yaml"];
const NAMES: &[&str] = &["plan", "code", "lead", "tester", "{{", "", "suite", "true", "script", "2"];

/// What happens to one line.
#[derive(Debug, Clone)]
enum Damage {
    Remove(usize),
    Repeat(usize),
    Swap(usize, usize),
    Word(usize, &'static str),
}

fn damages(text: &str, words: &'static [&'static str]) -> impl Strategy<Value = Vec<Damage>> {
    let lines = text.lines().count();
    let one = prop_oneof![
        (0..lines).prop_map(Damage::Remove),
        (0..lines).prop_map(Damage::Repeat),
        (0..lines, 0..lines).prop_map(|(a, b)| Damage::Swap(a, b)),
        (0..lines, prop::sample::select(words.to_vec())).prop_map(|(line, word)| Damage::Word(line, word)),
    ];
    prop::collection::vec(one, 0..4)
}

fn damaged(text: &str, damages: &[Damage]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for damage in damages {
        let count = lines.len();
        match damage {
            Damage::Remove(at) => drop(lines.remove(at % count)),
            Damage::Repeat(at) => lines.insert(at % count, lines[at % count].clone()),
            Damage::Swap(a, b) => lines.swap(a % count, b % count),
            Damage::Word(at, word) => {
                let line = &mut lines[at % count];
                let last =
                    line.rfind(|c: char| !c.is_alphanumeric() && c != '}' && c != ']').map_or(0, |at| at + 1);
                let end = line[last..].find(['}', ']']).map_or(line.len(), |at| last + at);
                line.replace_range(last..end, word);
            }
        }
    }
    lines.join("\n") + "\n"
}

fn files(root: &str) -> World {
    let child = "workflow: {name: c, entry_point: x, input: {t: {type: string}}}\nagents:\n  - {name: x, prompt: hi}\n";
    World::default().file("main.yaml", root).file("child.yaml", child)
}

#[test]
fn the_rich_files_are_fine_by_themselves() {
    for text in [RICH, PERSONAS] {
        let result = files(text).compile();
        assert!(result.plan.is_some(), "{}", world::shown(&result));
    }
}

proptest! {
    #[test]
    fn a_broken_file_gives_a_plan_or_an_error(damages in damages(RICH, WORDS)) {
        let result = files(&damaged(RICH, &damages)).compile();
        prop_assert_eq!(result.plan.is_none(), result.errors() > 0, "{}", world::shown(&result));
        if let Some(plan) = &result.plan {
            mermaid(plan);
            dot(plan);
            levels(plan, plan.root(), &BTreeMap::new());
        }
    }

    #[test]
    fn a_broken_persona_manifest_gives_a_plan_or_an_error(damages in damages(PERSONAS, NAMES)) {
        let result = files(&damaged(PERSONAS, &damages)).compile();
        prop_assert_eq!(result.plan.is_none(), result.errors() > 0, "{}", world::shown(&result));
        if let Some(plan) = &result.plan {
            mermaid(plan);
            levels(plan, plan.root(), &BTreeMap::new());
        }
    }

    #[test]
    fn any_text_gives_a_plan_or_an_error(text in ".{0,200}") {
        let result = compiled(&text);
        prop_assert_eq!(result.plan.is_none(), result.errors() > 0);
    }
}
