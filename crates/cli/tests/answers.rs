//! One answer of many, as people see it: what it names, what is said when something is missing, what is refused before
//! anything is spent.

use crate::support;

use serde_json::{Value, json};
use support::World;

/// A world with a manifest whose agents answer from a file.
fn scripted(manifest: &str, replies: &str) -> World {
    let world =
        World::with_workflow(&format!("provider: {{name: scripted, file: replies.yaml}}\n{manifest}"));
    world.write("replies.yaml", replies);
    world
}

const PAIR: &str = "agents:\n  - {id: a, task: t, max_retries: 0}\n  - {id: b, task: t, max_retries: 0}\n";

fn cited(result: &Value) -> Vec<bool> {
    let sources = result["sources"].as_array().unwrap_or_else(|| panic!("no sources in {result}"));
    sources.iter().map(|source| source["cited"].as_bool().expect("cited")).collect()
}

const FINDING: &str = "{findings: [{kind: unsupported_claim, severity: critical, claim: it is C, explanation: no, correction: it is B}]}";

#[test]
fn sources_are_those_that_the_corrected_answer_names() {
    let world = scripted(
        &format!("query: q\nsynthesis: hierarchical\nverify: true\n{PAIR}"),
        &format!(
            "replies:\n  a: A\n  b: B\n  synthesis/merge: C [S1]\n  verification/assess: [{FINDING}, {{findings: []}}]\n  verification/correct: B [S2] and [S99]\n"
        ),
    );
    let result = world.convoke(&["run", "w.yaml", "--silent"]).exits(0).json();
    assert_eq!(result["answer"], "B [S2] and [S99]");
    assert_eq!(cited(&result), [false, true]);
    assert_eq!(result["verification"]["verdict"], "corrected");
    assert_eq!(result["verification"]["notes"], json!(["the answer cites [S99], which is no source"]));
}

#[test]
fn sources_of_an_answer_that_was_joined_stay_as_they_were() {
    let world = scripted(
        &format!("query: q\nsynthesis: flat\nverify: true\n{PAIR}"),
        &format!(
            "replies:\n  a: A\n  b: B\n  verification/assess: [{FINDING}, {{findings: []}}]\n  verification/correct: better\n"
        ),
    );
    let result = world.convoke(&["run", "w.yaml", "--silent"]).exits(0).json();
    assert_eq!((&result["answer"], cited(&result)), (&json!("better"), vec![true, true]));
}

#[test]
fn findings_that_remain_are_said_and_listed_once() {
    let world = scripted(
        &format!("query: q\nsynthesis: hierarchical\nverify: {{rounds: 1}}\n{PAIR}"),
        &format!(
            "replies:\n  a: A\n  b: B\n  synthesis/merge: C [S1]\n  verification/assess: [{FINDING}]\n  verification/correct: still C\n"
        ),
    );
    let said = world.convoke(&["run", "w.yaml"]).exits(0);
    let said = said.mentions(&["note: verification: 1 finding remains open, the worst is critical: it is C"]);
    let verification = said.json()["verification"].take();
    assert_eq!(verification["verdict"], "open");
    let findings = verification["findings"].as_array().unwrap();
    assert_eq!(
        (findings.len(), &findings[0]["status"], &findings[0]["round"]),
        (1, &json!("open"), &json!(1))
    );
}

#[test]
fn a_correction_that_failed_is_said() {
    let world = scripted(
        &format!("query: q\nsynthesis: hierarchical\nverify: true\n{PAIR}"),
        &format!(
            "replies:\n  a: A\n  b: B\n  synthesis/merge: C [S1]\n  verification/assess: [{FINDING}]\n  verification/correct: {{fail: fatal, message: no corrector}}\n"
        ),
    );
    let said = world.convoke(&["run", "w.yaml"]).exits(0);
    let said = said.mentions(&["note: verification: correction 1 failed", "no corrector"]);
    let notes = said.json()["verification"]["notes"].take();
    assert!(notes[0].as_str().unwrap().contains("no corrector"), "{notes}");
}

#[test]
fn an_answer_that_nobody_could_examine_is_shown_the_way_to() {
    let world = scripted(
        &format!("query: q\nverify: true\n{PAIR}"),
        "replies:\n  a: A\n  b: B\n  verification/assess: {fail: fatal, message: no assessor}\n",
    );
    let said = world
        .convoke(&["run", "w.yaml"])
        .exits(1)
        .mentions(&["failed (fatal): no assessor", "could not be examined (see above)"]);
    said.mentions(&[&format!("hint: `convoke show {} synthesis`", world.run())]);
}

#[test]
fn what_was_chosen_for_the_run_goes_over_every_provider_of_a_manifest() {
    let world = World::with_workflow(
        "query: q
model: openai:big
model_roles: {f: 'openai:z'}
synthesis: {strategy: hierarchical, model: 'anthropic:y'}
agents:
  - {id: a, task: t, provider: openai}
  - {id: b, task: t, model: 'openai:x'}
  - {id: c, task: t, model_role: f}
  - {id: d, task: t, provider: {name: openai, base_url: 'http://127.0.0.1:9', api_key: k}}
",
    );
    world.convoke(&["run", "w.yaml", "--silent"]).exits(3);
    let result = world.convoke(&["run", "w.yaml", "-p", "scripted", "--silent"]).exits(0).json();
    assert_eq!((&result["agent_count"], &result["strategy"]), (&json!(4), &json!("hierarchical")));
}

#[test]
fn an_agent_of_a_workflow_keeps_the_provider_that_it_names() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: x, provider: scripted}\n",
    );
    world.convoke(&["run", "w.yaml", "-p", "openai"]).exits(0);
}

fn priced(count: usize, limits: &str) -> World {
    let topics: Vec<String> = (0..count).map(|n| format!("t{n}")).collect();
    scripted(
        &format!(
            "model: dear\nlimits: {{{limits}}}\ncost: {{pricing: {{dear: {{input_per_mtok: 1000, output_per_mtok: 1000}}}}}}\nagents:\n  - {{id: a, task: 'forty characters that everybody is told {{{{ partition }}}}', partitions: [{}]}}\n",
            topics.join(", ")
        ),
        "default: {say: ok, usage: {prompt_tokens: 1, completion_tokens: 1}}\n",
    )
}

#[test]
fn a_manifest_that_is_certain_to_pass_its_budget_is_refused_before_anything_is_spent() {
    let world = priced(100, "budget_usd: 0.01, budget_mode: enforce");
    let said = world.convoke(&["run", "w.yaml"]).exits(4).prints_nothing();
    said.mentions(&[
        "the run costs at least $",
        "the workflow's budget allows $0.0100",
        "nothing was spent",
        "101 model calls",
    ]);
    assert_eq!(world.runs(), Vec::<String>::new());
    let audited = priced(2, "budget_usd: 0.000001");
    audited.convoke(&["run", "w.yaml", "--silent"]).exits(0);
    let enough = priced(2, "budget_usd: 5, budget_mode: enforce");
    enough.convoke(&["run", "w.yaml", "--silent"]).exits(0);
}

#[test]
fn items_that_a_budget_leaves_out_are_counted_not_listed() {
    // They send nothing that costs, so no estimate knows them.
    let world = priced(300, "budget_usd: 0.01, budget_mode: enforce");
    world.write("w.yaml", world.read("w.yaml").replace("input_per_mtok: 1000", "input_per_mtok: 0"));
    let said = world.convoke(&["run", "w.yaml", "--max-concurrency", "8"]).exits(4);
    let skipped: Vec<&str> = said.stderr.lines().filter(|line| line.contains("skipped: ")).collect();
    assert!(skipped.len() < 30 && skipped.iter().any(|line| line.contains("more skipped: ")), "{skipped:#?}");
}

#[test]
fn why_there_is_nothing_to_merge_is_said() {
    let world =
        scripted(PAIR, "replies: {a: {status: 401, message: bad key}, b: {fail: fatal, message: kaput}}\n");
    let said = world.convoke(&["run", "w.yaml"]).exits(1);
    let said = said.mentions(&["none of the 2 outputs that it merges is there", "bad key", "kaput"]);
    let error = said.stderr.lines().find(|line| line.starts_with("error:")).expect("an error line");
    // Words that a line above has told already are referred to, and which task fails first is not ours to say.
    assert!(error.contains("a failed") && error.contains("b failed"), "{error}");
    assert!(!error.contains("min_sources"), "{error}");
}

#[test]
fn who_was_skipped_says_why_in_the_answer() {
    let world = scripted(
        "agents:\n  - {id: a, task: t, max_retries: 0}\n  - {id: b, task: t, depends_on: [a]}\n  - {id: c, task: t}\n",
        "replies: {a: {fail: fatal, message: broke}, c: fine}\n",
    );
    let result = world.convoke(&["run", "w.yaml", "--silent"]).exits(1).json();
    let causes: Vec<&str> =
        result["missing"].as_array().unwrap().iter().filter_map(|one| one["cause"].as_str()).collect();
    assert_eq!(causes, ["failed: broke", "skipped: something it needs failed (a)"]);
}

#[test]
fn a_partitioned_agent_is_shown_with_its_partitions() {
    let world =
        scripted("agents:\n  - {id: scout, task: t, partitions: [rents, sights]}\n", "default: [ok]\n");
    world.convoke(&["run", "w.yaml", "--silent"]).exits(0);
    let run = world.run();
    let shown = world.convoke(&["show", &run, "scout"]).exits(0).stdout;
    assert!(shown.contains("scout[rents]") && shown.contains("scout[sights]"), "{shown}");
    let shown = world.convoke(&["show", &run, "scout", "--format", "json"]).exits(0).json();
    assert_eq!(shown["tasks"], json!(["scout[rents]", "scout[sights]"]));
}

#[test]
fn the_repair_of_an_input_is_told_with_what_was_wrong_with_it() {
    let workflow =
        "workflow: {name: w, entry_point: extract, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: extract, prompt: x, output: {total: {type: string}}, routes: [{to: book}]}
  - name: book
    prompt: '{{ extract.output.total }}'
    expects: {extract: {total: {type: number, minimum: 0}}}
    REPAIR
";
    let world = World::with_workflow(&workflow.replace("REPAIR", ""));
    world.write(
        "replies.yaml",
        "replies: {extract: {total: many}, book: ok, book/repair_input: {total: -1}}\n",
    );
    world.convoke(&["run", "w.yaml"]).exits(1).mentions(&["hint: `repair_input: true`"]);
    world.write("w.yaml", workflow.replace("REPAIR", "repair_input: true"));
    let said = world.convoke(&["run", "w.yaml"]).exits(1);
    said.mentions(&["also after a repair", "the repair failed", "-1"]);
    let shown = world.convoke(&["show", &world.runs()[0], "book/repair_input"]).exits(0);
    assert!(shown.stdout.starts_with("book/repair_input[extract] failed"), "{shown}");
}

#[test]
fn the_name_of_a_preset_alone_is_answered_with_its_whole_name() {
    let world = World::new();
    world
        .convoke(&["run", "debate"])
        .exits(3)
        .mentions(&["hint: there is a preset of that name: preset:debate"]);
}

/// A last step that fails for good: the run is partial, says why, and can be resumed.
fn lost_at_the_last_step(world: &World, replies: &str, why: &str) -> Value {
    let said = world.convoke(&["run", "w.yaml"]).exits(1).mentions(&[why, "convoke resume"]);
    let result = said.json();
    assert_eq!(world.status(), "partial");
    assert!(result["partial"]["reason"].as_str().is_some_and(|reason| reason.contains(why)), "{result}");
    world.write("replies.yaml", replies);
    let resumed = world.convoke(&["resume", &world.run()]).exits(0).json();
    assert_eq!((&resumed["answer"], &resumed["partial"]), (&json!("C [S1]"), &Value::Null));
    result
}

#[test]
fn a_synthesis_that_fails_for_good_gives_its_sources() {
    let broken = "replies: {a: [A], b: [B], synthesis/merge: {fail: fatal}}\n";
    let world = scripted(&format!("query: q\nsynthesis: hierarchical\n{PAIR}"), broken);
    let whole = "replies: {a: {fail: fatal}, b: {fail: fatal}, synthesis/merge: 'C [S1]'}\n";
    let result = lost_at_the_last_step(&world, whole, "its last question failed");
    assert_eq!(result["answer"], "## a\n\nA\n\n---\n\n## b\n\nB");
}

#[test]
fn an_answer_that_could_not_be_verified_is_given() {
    let broken = "replies: {a: [A], b: [B], synthesis/merge: 'C [S1]', verification/assess: {fail: fatal}}\n";
    let world = scripted(&format!("query: q\nsynthesis: hierarchical\nverify: true\n{PAIR}"), broken);
    let whole = "replies: {a: {fail: fatal}, b: {fail: fatal}, verification/assess: {findings: []}}\n";
    let result = lost_at_the_last_step(&world, whole, "could not be examined");
    assert_eq!(
        (&result["answer"], &result["verification"]["verdict"]),
        (&json!("C [S1]"), &json!("unverified"))
    );
}

#[test]
fn a_failed_run_prints_what_was_done_and_one_without_outputs_prints_an_object() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: a, prompt: p, routes: [{to: b}]}
  - {name: b, prompt: p, routes: [{to: c}]}
  - {name: c, prompt: p, retry: {max_attempts: 1}}
",
    );
    world.write("replies.yaml", "replies: {a: A, b: B, c: {fail: fatal, message: no more}}\n");
    let said = world.convoke(&["run", "w.yaml"]).exits(1).json();
    assert_eq!(said["partial"]["steps"], json!({"b": {"result": "B"}}), "the last step that was done");
    assert!(said["partial"]["reason"].as_str().unwrap().contains("no more"), "{said}");
    assert_eq!(world.status(), "failed");
    world.write("replies.yaml", "replies: {a: {fail: fatal}, b: {fail: fatal}, c: C}\n");
    let resumed =
        world.convoke(&["resume", &world.run()]).exits(0).mentions(&["no `output:`", "convoke show"]);
    assert_eq!(resumed.json(), json!({}));
    world.write("replies.yaml", "replies: {a: {fail: fatal}}\n");
    world.convoke(&["run", "w.yaml"]).exits(1).prints_nothing();
}

#[test]
fn an_output_that_cannot_be_rendered_does_not_take_the_others_with_it() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents: [{name: a, prompt: p}]
output: {good: '{{ a.output.result }}', bad: '{{ a.output.result }}{{ 1 // 0 }}'}
",
    );
    world.write("replies.yaml", "replies: {a: A}\n");
    let said = world.convoke(&["run", "w.yaml"]).exits(1).json();
    assert_eq!((&said["good"], &said["partial"]["missing"]), (&json!("A"), &json!(["bad"])));
}
