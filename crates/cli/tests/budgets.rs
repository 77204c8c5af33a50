//! What a run may spend, and what follows when it is spent. Answers come from the scripted provider, which says what they
//! used.

use crate::support;

use serde_json::{Value, json};
use support::World;

/// Four steps in a row; each answer costs 100 millionths of a dollar, and at worst 1 000.
fn world(limits: &str) -> World {
    let world = World::with_workflow(&format!(
        "workflow:
  name: spender
  entry_point: a
  runtime: {{provider: {{name: scripted, file: replies.yaml}}, default_model: dear, max_tokens: 1000}}
  limits: {{{limits}}}
  cost: {{pricing: {{dear: {{input_per_mtok: 0, output_per_mtok: 1}}, cheap: {{input_per_mtok: 0, output_per_mtok: 0.001}}}}}}
agents:
  - {{name: a, prompt: p, routes: [{{to: b}}]}}
  - {{name: b, prompt: p, routes: [{{to: c}}]}}
  - {{name: c, prompt: p, routes: [{{to: $end}}]}}
output: {{a: '{{{{ a.output.result }}}}', b: '{{{{ b.output.result }}}}', c: '{{{{ c.output.result }}}}'}}
"
    ));
    world.write("replies.yaml", "default: {say: done, usage: {prompt_tokens: 1, completion_tokens: 100}}\n");
    world
}

fn calls(world: &World) -> usize {
    calls_of(world, &world.run())
}

fn calls_of(world: &World, run: &str) -> usize {
    let events = world.convoke(&["events", run, "--format", "json"]).exits(0);
    events.stdout.lines().filter(|line| line.contains("attempt_finished")).count()
}

#[test]
fn a_call_that_could_pass_the_budget_is_not_made() {
    let world = world("budget_usd: 0.0012, budget_mode: enforce, when_spent: stop");
    // After the first call enough is left for what the second may cost at worst; after that there is not.
    let said = world.convoke(&["run", "w.yaml"]).exits(4).mentions(&["budget of the run", "missing"]);
    let said = said.json();
    assert_eq!((&said["a"], &said["b"], &said["c"]), (&json!("done"), &json!("done"), &Value::Null));
    assert_eq!(said["partial"]["missing"], json!(["c"]), "what is there is given, and marked");
    assert_eq!(calls(&world), 2);
}

#[test]
fn without_a_word_on_what_follows_the_call_that_passes_it_is_the_last() {
    let world = world("budget_usd: 0.00015, budget_mode: enforce");
    world.convoke(&["run", "w.yaml"]).exits(4).mentions(&["budget"]);
    assert_eq!(
        calls(&world),
        2,
        "as Conductor does it: the second call passes the budget, the third is not made"
    );
}

#[test]
fn an_audited_budget_only_reports() {
    let world = world("budget_usd: 0.00015");
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(calls(&world), 3);
}

#[test]
fn a_cheaper_model_takes_over() {
    let world = world("budget_usd: 0.0012, budget_mode: enforce, when_spent: degrade, degrade_to: cheap");
    let said = world.convoke(&["run", "w.yaml"]).exits(0).mentions(&["asking `cheap`"]);
    assert_eq!(said.json(), json!({"a": "done", "b": "done", "c": "done"}));
}

/// How often one model was to take over from another.
fn degraded(world: &World) -> usize {
    let events = world.convoke(&["events", &world.run(), "--format", "json"]).exits(0);
    events.stdout.lines().filter(|line| line.contains("model_degraded")).count()
}

#[test]
fn budgets_that_name_different_models_do_not_send_a_call_to_and_fro() {
    // After `a` the run can pay `nano` and the step can pay neither.
    let world = World::with_workflow(
        "workflow:
  name: fro
  entry_point: a
  runtime: {provider: {name: scripted, file: replies.yaml}, default_model: large, max_tokens: 1000}
  cost: {pricing: {large: {input_per_mtok: 0, output_per_mtok: 1000}, mini: {input_per_mtok: 0, output_per_mtok: 100}, nano: {input_per_mtok: 0, output_per_mtok: 10}}}
  limits: {budget_usd: 1.05, budget_mode: enforce, when_spent: degrade, degrade_to: nano}
agents:
  - {name: a, prompt: hi, routes: [{to: b}]}
  - {name: b, prompt: hi, budget: {usd: 0.005, when_spent: degrade, degrade_to: mini}, routes: [{to: $end}]}
output: {b: '{{ b.output.result }}'}
",
    );
    world.write("replies.yaml", "default: {say: done, usage: {prompt_tokens: 1, completion_tokens: 1000}}\n");
    let said = world.convoke(&["run", "w.yaml"]).mentions(&["cannot pay another call"]);
    assert_ne!(said.code, Some(0));
    assert_eq!(calls(&world), 1);
    assert_eq!(degraded(&world), 2, "each model was offered once");
}

/// A workflow of one step `x` that asks twice, with this budget.
fn of_two_calls(usd: &str) -> String {
    format!(
        "workflow:
  name: two
  entry_point: x
  runtime: {{provider: {{name: scripted, file: replies.yaml}}, default_model: dear, max_tokens: 100}}
  cost: {{pricing: {{dear: {{input_per_mtok: 0, output_per_mtok: 1}}}}}}
agents:
  - {{name: x, prompt: p, budget: {{usd: {usd}}}, routes: [{{to: x, when: '{{{{ context.iteration < 2 }}}}'}}, {{to: $end}}]}}
output: {{x: '{{{{ x.output.result }}}}'}}
"
    )
}

#[test]
fn steps_of_one_name_in_two_files_have_a_budget_each() {
    let world = World::with_workflow(
        "workflow: {name: root, entry_point: rich}
agents:
  - {name: rich, type: workflow, workflow: rich.yaml, routes: [{to: poor}]}
  - {name: poor, type: workflow, workflow: poor.yaml, routes: [{to: $end}]}
output: {x: '{{ poor.output.x }}'}
",
    );
    world.write("replies.yaml", "default: {say: done, usage: {prompt_tokens: 1, completion_tokens: 100}}\n");
    world.write("rich.yaml", of_two_calls("0.05"));
    world.write("poor.yaml", of_two_calls("0.00015"));
    world.convoke(&["run", "w.yaml"]).exits(1).mentions(&["budget of step x of poor.yaml"]);
    assert_eq!(calls(&world), 3, "two of the rich one, one of the poor one");
    let shown = world.convoke(&["show", &world.run()]).exits(0);
    for line in ["step x of rich.yaml: $0.0002 of $0.0500", "step x of poor.yaml: $0.0001 of $0.0001"] {
        assert!(shown.stdout.contains(line), "{}", shown.stdout);
    }
    // The other way round what the first has spent is not the second's.
    world.write(
        "w.yaml",
        world
            .read("w.yaml")
            .replace("rich.yaml", "swap")
            .replace("poor.yaml", "rich.yaml")
            .replace("swap", "alone.yaml"),
    );
    world.write("alone.yaml", of_two_calls("0.0002"));
    world.convoke(&["run", "w.yaml"]).exits(0);
}

#[test]
fn a_run_in_which_a_cheaper_model_took_over_can_be_replayed() {
    let world = world("budget_usd: 0.0012, budget_mode: enforce, when_spent: degrade, degrade_to: cheap");
    let said =
        world.convoke(&["run", "w.yaml", "--record", "cassette"]).exits(0).mentions(&["asking `cheap`"]);
    let cost = |run: &str| {
        world.convoke(&["show", run, "--format", "json"]).exits(0).json()["usage"]["cost_micros"].clone()
    };
    let recorded = world.run();
    world.write("replies.yaml", "replies: {}\n");
    let again = world.convoke(&["run", "w.yaml", "--replay", "cassette"]).exits(0);
    assert_eq!(again.json(), said.json());
    let replayed = world.runs().into_iter().find(|run| *run != recorded).expect("a second run");
    assert_eq!(cost(&replayed), cost(&recorded), "at the price of the model that answered");
    assert!(cost(&recorded).is_u64());
}

#[test]
fn a_person_can_allow_as_much_again() {
    let world = world("budget_usd: 0.0012, budget_mode: enforce, when_spent: ask");
    world.convoke(&["run", "w.yaml"]).exits(5).mentions(&["cannot pay another call"]);
    let run = world.run();
    let said = world.convoke(&["answer", &run, "c", "retry", "--resume"]).exits(0);
    assert_eq!(said.json(), json!({"a": "done", "b": "done", "c": "done"}));
    assert_eq!(calls(&world), 3);
}

#[test]
fn a_person_can_refuse() {
    let world = world("budget_usd: 0.0012, budget_mode: enforce, when_spent: ask");
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    world.convoke(&["answer", &run, "c", "fail", "--resume"]).exits(1).mentions(&["cannot pay another call"]);
}

#[test]
fn what_was_spent_stays_spent_when_a_run_is_resumed() {
    let world = world("budget_usd: 0.0012, budget_mode: enforce, when_spent: stop");
    world.convoke(&["run", "w.yaml"]).exits(4);
    let run = world.run();
    world.convoke(&["resume", &run]).exits(4).mentions(&["budget of the run"]);
    assert_eq!(calls(&world), 2, "nothing was paid twice");
}

#[test]
fn what_was_spent_stays_spent_when_a_changed_file_is_accepted() {
    let world = world("budget_usd: 0.00125, budget_mode: enforce, when_spent: stop");
    let text = world.read("w.yaml").replace("{name: c, prompt: p, routes: [{to: $end}]}", "{name: c, prompt: p, routes: [{to: d}]}\n  - {name: d, type: script, command: ./missing, routes: [{to: $end}]}");
    world.write("w.yaml", &text);
    world.convoke(&["run", "w.yaml"]).exits(1);
    assert_eq!(calls(&world), 3);
    world.write("w.yaml", text.replace("{name: a, prompt: p,", "{name: a, prompt: another,"));
    let run = world.run();
    world.convoke(&["resume", &run, "--accept-changes"]).exits(4).mentions(&["budget of the run"]);
    assert_eq!(calls(&world), 3, "what was thrown away is paid for");
}

/// The reason for which the newest run failed.
fn reason(world: &World) -> Value {
    world.convoke(&["show", &world.runs()[0], "--format", "json"]).exits(0).json()["failure"]["reason"]
        .clone()
}

#[test]
fn a_failure_names_the_unit_that_is_spent() {
    let limits = ["budget_tokens: 1150", "budget_usd: 0.001"];
    for (limit, word) in limits.iter().zip(["budget_tokens", "budget_usd"]) {
        for then in [", when_spent: stop", ""] {
            let world = world(&format!("{limit}, budget_mode: enforce{then}"));
            world.write(
                "replies.yaml",
                world.read("replies.yaml").replace("completion_tokens: 100", "completion_tokens: 1100"),
            );
            world.convoke(&["run", "w.yaml"]).exits(4);
            assert_eq!(reason(&world), word, "{limit}{then}");
        }
    }
}

/// The lines of the newest run about budgets.
fn budget_lines(world: &World) -> Vec<String> {
    let shown = world.convoke(&["show", &world.runs()[0]]).exits(0).stdout;
    let lines = shown.lines().filter_map(|line| line.strip_prefix("budget "));
    lines.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_budget_of_the_configuration_that_is_audited_is_reported() {
    let world = world("");
    world.write("convoke.toml", "[budgets.run]\nusd = 0.00015\nmode = \"audit\"\n");
    world
        .convoke(&["run", "w.yaml"])
        .exits(0)
        .mentions(&["budget of the run (money) passed by $0.0001: $0.0002 of $0.0001"]);
    assert_eq!(budget_lines(&world), ["the run: $0.0003 of $0.0001 (passed; only reported)"]);
}

#[test]
fn every_budget_in_force_has_a_line() {
    let world = world("budget_usd: 0.0012, budget_mode: enforce, when_spent: stop");
    let text =
        world.read("w.yaml").replace("{name: b, prompt: p,", "{name: b, prompt: p, budget: {tokens: 5000},");
    world.write("w.yaml", text.replace("  limits:", "  labels: {tenant: blue}\n  limits:"));
    let configured = "[budgets.day]\nusd = 5\nwhen_spent = \"ask\"\n[budgets.tenants.blue]\ntokens = 9000\nmode = \"audit\"\n";
    world.write("convoke.toml", configured);
    world.convoke(&["run", "w.yaml"]).exits(4);
    let expected = [
        "the run: $0.0002 of $0.0012 (a call could not be paid)",
        "tenant blue: 202 of 9000 tokens by this run (only reported)",
        "the day: $0.0002 of $5.00 by this run (when spent: ask)",
        "step b: 101 of 5000 tokens (when spent: stop)",
    ];
    assert_eq!(budget_lines(&world), expected);
}

#[test]
fn the_configuration_has_a_budget_for_runs_that_say_nothing() {
    let world = world("");
    world.write("convoke.toml", "[budgets.run]\nusd = 0.0012\n");
    world.convoke(&["run", "w.yaml"]).exits(4).mentions(&["budget of the run"]);
    assert_eq!(calls(&world), 2);
}

#[test]
fn a_step_has_a_budget_of_its_own() {
    let world = world("");
    let text =
        world.read("w.yaml").replace("{name: b, prompt: p,", "{name: b, prompt: p, budget: {usd: 0.0001},");
    world.write("w.yaml", text);
    let said = world.convoke(&["run", "w.yaml"]).exits(1).mentions(&["budget of step b"]);
    assert_eq!(said.json()["partial"]["missing"], json!(["b", "c"]));
}

#[test]
fn a_roles_budget_counts_all_its_visits_and_items() {
    let world = World::with_workflow(
        "workflow:
  name: spender
  entry_point: again
  runtime: {provider: {name: scripted, file: replies.yaml}, default_model: dear, max_tokens: 1000}
  cost: {pricing: {dear: {input_per_mtok: 0, output_per_mtok: 1}}}
  input: {items: {type: array, default: [1, 2, 3, 4]}}
agents:
  - {name: again, prompt: p, budget: {usd: 0.00115}, routes: [{to: each, when: '{{ context.iteration >= 2 }}'}, {to: again}]}
for_each:
  - {name: each, type: for_each, source: workflow.input.items, as: item, max_concurrent: 1, agent: {name: worker, prompt: p, budget: {usd: 0.00125}}}
",
    );
    world.write("replies.yaml", "default: {say: done, usage: {prompt_tokens: 1, completion_tokens: 100}}\n");
    world.convoke(&["run", "w.yaml"]).exits(1).mentions(&["budget of step worker"]);
    assert_eq!(calls(&world), 2 + 3, "two visits of the one, and three of four items of the other");
    world.write("w.yaml", world.read("w.yaml").replace("0.00115", "0.00105"));
    world.convoke(&["run", "w.yaml"]).exits(1).mentions(&["budget of step again"]);
    assert_eq!(calls_of(&world, &world.runs()[0]), 1, "the second visit draws from what the first one left");
}

#[test]
fn the_budget_of_a_day_is_that_of_all_runs() {
    let world = world("");
    world.write("convoke.toml", "[budgets.day]\nusd = 0.00115\n");
    world.convoke(&["run", "w.yaml"]).exits(4).mentions(&["budget of the day"]);
    let first = world.run();
    assert_eq!(calls(&world), 2);
    world.convoke(&["run", "w.yaml"]).exits(4).mentions(&["budget of the day"]);
    let second = world.runs().into_iter().find(|run| *run != first).expect("a second run");
    assert_eq!(calls_of(&world, &second), 0, "the day's money is gone, whoever spent it");
    let told = world.convoke(&["run", "w.yaml"]).exits(4);
    told.mentions(&["budget of the day (money) cannot pay another call: $0.0002 of $0.001"]);
    let shown = world.convoke(&["capacity"]).exits(0).stdout;
    let line = shown.lines().find(|line| line.contains("budget of the day")).unwrap_or_default();
    assert!(line.contains("$0.0002"), "what is spent is money: {shown}");
}

#[test]
fn of_a_days_budget_a_person_can_allow_more() {
    let world = world("");
    world.write("convoke.toml", "[budgets.day]\nusd = 0.0012\nwhen_spent = \"ask\"\n");
    world.convoke(&["run", "w.yaml"]).exits(5).mentions(&["budget of the day"]);
    world.convoke(&["answer", &world.run(), "c", "retry", "--resume"]).exits(0);
}

#[test]
fn nobody_waits_for_money_that_never_comes_back() {
    let world = world("budget_usd: 0.0012, budget_mode: enforce, when_spent: queue");
    world.convoke(&["run", "w.yaml"]).exits(4).mentions(&["budget of the run"]);
}

#[test]
fn a_cheaper_model_without_a_price_is_refused_before_anything_starts() {
    // Another address has no list of prices.
    let elsewhere = |limits: &str| {
        let world = world(limits);
        let provider = "{name: openai, base_url: 'http://127.0.0.1:9/v1', api_key: none}";
        world.write("w.yaml", world.read("w.yaml").replace("{name: scripted, file: replies.yaml}", provider));
        world
    };
    let of_file = elsewhere("budget_usd: 1, budget_mode: enforce, when_spent: degrade, degrade_to: free");
    of_file.convoke(&["run", "w.yaml"]).exits(3).mentions(&[
        "workflow::unpriced_model",
        "w.yaml:5",
        "`free`",
    ]);
    let configured = elsewhere("");
    configured
        .write("convoke.toml", "[budgets.day]\nusd = 1\nwhen_spent = \"degrade\"\ndegrade_to = \"free\"\n");
    let said = configured.convoke(&["run", "w.yaml"]).exits(3);
    said.mentions(&["convoke.toml:4: `budgets.day.degrade_to` names `free`", "pricing"]);
    assert!(of_file.runs().is_empty() && configured.runs().is_empty());
    configured.write(
        "convoke.toml",
        configured.read("convoke.toml") + "[pricing.free]\ninput_per_mtok = 0\noutput_per_mtok = 0\n",
    );
    configured.convoke(&["run", "w.yaml", "--dry-run"]).exits(0);
}

#[test]
fn the_cheaper_model_is_the_last_resort() {
    let world = world("budget_usd: 0.0001, budget_mode: enforce, when_spent: degrade, degrade_to: dear");
    world.convoke(&["run", "w.yaml"]).exits(4).mentions(&["budget of the run"]);
}
