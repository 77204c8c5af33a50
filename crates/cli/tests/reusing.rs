//! `--reuse`: a change of one step of two hundred runs exactly what it affects, judged by a model service that counts.

use crate::support;

use serde_json::{Value, json};
use std::collections::BTreeSet;
use support::World;
use support::model::Model;

const STEPS: usize = 200;

/// The steps that each step needs: up to three before it, by a generator of our own so that the graph is always the same.
fn graph() -> Vec<Vec<usize>> {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let needs = |step: usize, next: &mut dyn FnMut(usize) -> usize| {
        let count = if step == 0 { 0 } else { next(4) };
        (0..count).map(|_| next(step)).collect::<BTreeSet<_>>().into_iter().collect()
    };
    (0..STEPS).map(|step| needs(step, &mut next)).collect()
}

/// The file: each step has its number in its prompt, and the answers of those that it needs.
fn workflow(url: &str, graph: &[Vec<usize>], changed: impl Fn(usize) -> (String, &'static str)) -> String {
    let mut text = format!(
        "workflow: {{name: w, input: {{word: {{type: string, default: w}}}}, runtime: {{provider: {{name: openai, base_url: '{url}', api_key: none}}, default_model: m}}}}\nagents:\n"
    );
    for (step, needs) in graph.iter().enumerate() {
        let (words, model) = changed(step);
        let read: String = needs.iter().map(|need| format!(" {{{{ s{need}.output.result }}}}")).collect();
        let input = if step % 50 == 7 { " {{ workflow.input.word }}" } else { "" };
        let names: Vec<String> = needs.iter().map(|need| format!("s{need}")).collect();
        text.push_str(&format!(
            "  - {{name: s{step}, model: {model}, prompt: 'step <{step}> {words}{input}:{read}', needs: [{}]}}\n",
            names.join(", ")
        ));
    }
    text + "output: {last: '{{ s199.output.result }}'}\n"
}

fn prompt(request: &Value) -> String {
    request["messages"].to_string()
}

/// A digest of the whole prompt, so that every change goes on to all that follow; but a step that is asked to be `same` says
/// what it said before.
fn answer(request: &Value) -> Value {
    let prompt = prompt(request);
    let number = prompt.split('<').nth(1).and_then(|rest| rest.split('>').next()).unwrap_or("?").to_owned();
    let words = prompt.replace("same", "plain");
    let sum = words.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    json!(format!("a{number}-{sum:x}-{}", request["model"].as_str().unwrap_or_default()))
}

/// The steps that were asked for since `before` requests.
fn asked(model: &Model, before: usize) -> BTreeSet<usize> {
    let requests = model.asked();
    let number = |text: &str| text.split('<').nth(1)?.split('>').next()?.parse::<usize>().ok();
    let steps: Vec<usize> = requests[before..].iter().filter_map(|request| number(&request.text)).collect();
    let set: BTreeSet<usize> = steps.iter().copied().collect();
    assert_eq!(set.len(), steps.len(), "no step is asked twice");
    set
}

/// All steps that can be reached from some.
fn reached(graph: &[Vec<usize>], from: &[usize]) -> BTreeSet<usize> {
    let mut found: BTreeSet<usize> = from.iter().copied().collect();
    for (step, needs) in graph.iter().enumerate() {
        if needs.iter().any(|need| found.contains(need)) {
            found.insert(step);
        }
    }
    found
}

#[test]
fn a_change_of_one_step_of_two_hundred_runs_exactly_what_it_affects() {
    let (model, graph) = (Model::answering(answer), graph());
    let plain = |_: usize| ("plain".to_owned(), "m");
    let world = World::with_workflow(&workflow(&model.url(), &graph, plain));
    world.convoke(&["run", "w.yaml"]).exits(0);
    let base = world.run();
    assert_eq!(asked(&model, 0).len(), STEPS);
    let reuse = |text: &str, more: &[&str]| {
        world.write("now.yaml", text);
        let before = model.asked().len();
        let args = [&["run", "now.yaml", "--reuse", &base, "--explain"], more].concat();
        let said = world.convoke(&args).exits(0);
        (asked(&model, before), said.stderr)
    };
    for changed in [0, 31, 77, 150, 199] {
        let prompt = |step: usize| (if step == changed { "other" } else { "plain" }.to_owned(), "m");
        let (ran, said) = reuse(&workflow(&model.url(), &graph, prompt), &[]);
        assert_eq!(ran, reached(&graph, &[changed]), "the prompt of s{changed} changed");
        assert!(said.contains(&format!("s{changed} ran: prompt changed")), "{said}");
        let other = |step: usize| ("plain".to_owned(), if step == changed { "n" } else { "m" });
        let (ran, said) = reuse(&workflow(&model.url(), &graph, other), &[]);
        assert_eq!(ran, reached(&graph, &[changed]), "the model of s{changed} changed");
        assert!(said.contains(&format!("s{changed} ran: model changed")), "{said}");
        // Asked otherwise, it answers as before: nothing behind it is asked.
        let same = |step: usize| (if step == changed { "same" } else { "plain" }.to_owned(), "m");
        let (ran, _) = reuse(&workflow(&model.url(), &graph, same), &[]);
        assert_eq!(ran, BTreeSet::from([changed]), "s{changed} came out the same");
    }
    let (ran, said) = reuse(&workflow(&model.url(), &graph, plain), &["-i", "word=v"]);
    assert_eq!(ran, reached(&graph, &[7, 57, 107, 157]), "an input changed");
    assert!(said.contains("s7 ran: input `word` changed"), "{said}");
    let (ran, said) = reuse(&workflow(&model.url(), &graph, plain), &[]);
    assert_eq!(ran, BTreeSet::new(), "nothing changed");
    assert!(said.contains("0 ran, 200 reused"), "{said}");
}

#[test]
fn scripts_are_reused_and_repeated_only_when_that_is_said() {
    let text = |word: &str| {
        format!(
            "workflow: {{name: w, entry_point: s}}\nagents:\n  - {{name: s, type: script, command: sh, args: [-c, 'echo {word} >>marks; echo {word}']}}\noutput: {{said: '{{{{ s.output.stdout }}}}'}}\n"
        )
    };
    let world = World::with_workflow(&text("one"));
    world.convoke(&["run", "w.yaml"]).exits(0);
    let base = world.run();
    world.convoke(&["run", "w.yaml", "--reuse", &base]).exits(0);
    assert_eq!(world.read("marks"), "one\n", "its output was taken");
    let kept = world.convoke(&["prune", "--keep-last", "1"]).exits(0);
    assert!(kept.stderr.contains("or took outputs of it"), "{}", kept.stderr);
    assert!(world.runs().contains(&base), "the base of a reuse is kept");
    world.write("w.yaml", text("two"));
    world.convoke(&["run", "w.yaml", "--reuse", &base]).exits(3).mentions(&["may have it done again", "s:"]);
    world.convoke(&["run", "w.yaml", "--reuse", &base, "--repeat-effects"]).exits(0);
    assert_eq!(world.read("marks"), "one\ntwo\n");
}

#[test]
fn a_script_that_reads_a_variable_runs_again() {
    let text = "workflow: {name: w, entry_point: s}\nagents:\n  - {name: s, type: script, idempotent: true, command: sh, env: {X: '${SHOE:-none}'}, args: [-c, 'echo $X']}\noutput: {said: '{{ s.output.stdout | trim }}'}\n";
    let world = World::with_workflow(text);
    assert_eq!(world.convoke(&["run", "w.yaml"]).exits(0).json(), json!({"said": "none"}));
    let world = world.env("SHOE", "left");
    let again = world.convoke(&["run", "w.yaml", "--reuse", "last", "--explain"]).exits(0);
    assert_eq!(again.json(), json!({"said": "left"}));
    assert!(again.stderr.contains("it reads the variable SHOE"), "{}", again.stderr);
}

#[test]
fn items_are_found_by_what_they_are_asked() {
    let text = "
workflow: {name: w, entry_point: each, input: {items: {type: array}}, runtime: {provider: scripted, default_model: m}}
for_each:
  - {name: each, type: for_each, source: workflow.input.items, as: it, agent: {name: a, prompt: 'item {{ it }}'}, routes: [{to: end}]}
agents: [{name: end, prompt: done}]
output: {n: '{{ each.count }}'}
";
    let world = World::with_workflow(text);
    world.convoke(&["run", "w.yaml", "-i", r#"items=["x","y","z"]"#]).exits(0);
    let base = world.run();
    let moved = r#"items=["new","z","x","y"]"#;
    let said = world.convoke(&["run", "w.yaml", "--reuse", &base, "--explain", "-i", moved]).exits(0);
    assert!(said.stderr.contains("1 ran, 4 reused"), "{said}");
}

/// What a person set in a fork is nobody's answer, and the reason says that it is not taken for one.
#[test]
fn an_output_that_was_set_is_not_reused_and_the_reason_says_so() {
    let text = "
workflow: {name: w, entry_point: judge}
agents:
  - {name: judge, type: script, idempotent: true, command: sh, args: [-c, 'echo 1'], routes: [{to: next}]}
  - {name: next, type: script, idempotent: true, command: sh, args: [-c, 'echo 2']}
output: {said: '{{ judge.output.exit_code }}'}
";
    let world = World::with_workflow(text);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let base = world.run();
    let set = ["--set", "judge.output={\"stdout\": \"x\", \"stderr\": \"\", \"exit_code\": 7}"];
    for at in [&["--at", "judge"][..], &[]] {
        let fork = [&["fork", &base][..], at, &set[..]].concat();
        world.convoke(&fork).exits(0);
        let forked = world.runs()[0].clone();
        let again = world.convoke(&["run", "w.yaml", "--reuse", &forked, "--explain"]).exits(0);
        assert!(again.stderr.contains("judge ran: its output was set by a person there"), "{}", again.stderr);
        assert_eq!(again.json(), json!({"said": 0}));
    }
}
