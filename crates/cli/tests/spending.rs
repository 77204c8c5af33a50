//! What was spent stays spent: through kills, resumes, changed files and new tables. The judge is a service that wants its money
//! for every request it gets, answered or not.

use crate::support;

use serde_json::{Value, json};
use support::World;
use support::model::Model;
use support::process::until;

/// What the service wants for a request, in millionths of a dollar: five tokens, the most that are asked for.
const PRICE: usize = 1000;

/// A service that takes so long for each answer.
fn service(delay_ms: u64) -> Model {
    let reply = json!({"dear": {"say": "done", "delay_ms": delay_ms}});
    Model::start(reply.as_object().expect("an object"))
}

/// Asks the service once for each of 200 items, five at once. All their prompts are of one length, so that all calls cost the same.
fn many(model: &Model, limits: &str, group: &str) -> World {
    World::with_workflow(&format!(
        "workflow:
  name: spender
  entry_point: items
  runtime: {{provider: {{name: openai, base_url: '{url}', api_key: none}}, default_model: dear, max_tokens: 5}}
  limits: {{{limits}}}
  cost: {{pricing: {{dear: {{input_per_mtok: 0, output_per_mtok: 200}}}}}}
agents:
  - {{name: items, type: set, values: {{list: '{{{{ range(100, 300) | list | tojson }}}}'}}, routes: [{{to: all}}]}}
for_each:
  - {{name: all, type: for_each, source: items.output.list, as: item, max_concurrent: 5{group}, agent: {{name: one, prompt: 'p {{{{ item }}}}'}}}}
",
        url = model.url()
    ))
}

/// Kills and resumes a run, each time after further requests, until it ends by itself. Says how often, and the exit code.
fn kill_again_and_again(world: &World, model: &Model, most: u32) -> (u32, Option<i32>) {
    let mut kills = 0;
    loop {
        let mut process = match world.runs().first() {
            Some(run) => world.start(&["resume", run]),
            None => world.start(&["run", "w.yaml"]),
        };
        let before = model.asked().len();
        let further = 1 + kills as usize % 4;
        if kills < most {
            until("further requests", || model.asked().len() >= before + further || process.has_ended());
            if process.kill() {
                kills += 1;
                continue;
            }
        }
        return (kills, process.wait().code);
    }
}

#[test]
fn however_often_a_run_is_killed_its_budget_holds() {
    let model = service(60);
    let world = many(&model, "budget_usd: 0.15, budget_mode: enforce, when_spent: stop", "");
    let (kills, code) = kill_again_and_again(&world, &model, 20);
    assert_eq!((kills, code), (20, Some(4)), "the budget ends the run, not the kills");
    let paid = model.asked().len() * PRICE;
    assert!(paid <= 150_000, "{paid} of 150000 millionths");
}

#[test]
fn a_budget_of_a_group_or_a_day_counts_calls_that_a_kill_cut_off() {
    for (group, day) in [(", budget: {usd: 0.02}", ""), ("", "[budgets.day]\nusd = 0.02\n")] {
        let model = service(60);
        let world = many(&model, "", group);
        world.write("convoke.toml", day);
        let (kills, code) = kill_again_and_again(&world, &model, 3);
        assert!(kills == 3 && code != Some(0), "{kills} {code:?}");
        let paid = model.asked().len() * PRICE;
        assert!(paid <= 20_000, "{paid} of 20000 millionths {group}{day}");
    }
}

#[test]
fn calls_whose_end_nobody_knows_are_on_record_at_their_worst() {
    let model = service(60_000);
    let world = many(&model, "budget_usd: 0.0035, budget_mode: enforce, when_spent: stop", "");
    let mut process = world.start(&["run", "w.yaml"]);
    until("three requests", || model.asked().len() >= 3);
    process.kill();
    let run = world.run();
    world.convoke(&["resume", &run]).exits(4).mentions(&["budget of the run"]);
    assert_eq!(model.asked().len(), 3, "what may have been paid is not paid again");
    let events = world.convoke(&["events", &run, "--format", "json"]).exits(0).stdout;
    let lost = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lost = lost.filter_map(|line| line["event"]["call_lost"]["worst"]["cost_micros"].as_u64());
    assert_eq!(lost.sum::<u64>(), 3000);
}

#[test]
fn a_day_goes_on_after_the_machine_was_started_anew() {
    for budget in ["[budgets.day]\nusd = 0.0055\n", "[budgets.tenants.blue]\ntokens = 400\n"] {
        let model = service(0);
        let world = many(&model, "", "");
        world.write("w.yaml", world.read("w.yaml").replace("  cost:", "  labels: {tenant: blue}\n  cost:"));
        world.write("convoke.toml", budget);
        world.convoke(&["run", "w.yaml"]).exits(4).mentions(&["budget of "]);
        let paid = model.asked().len();
        assert!(paid > 0, "{budget}");
        // What a new boot makes of it.
        std::fs::remove_file(world.state().join("capacity")).expect("there is a table");
        world.convoke(&["run", "w.yaml"]).exits(4).mentions(&["budget of "]);
        assert_eq!(model.asked().len(), paid, "the day's money is gone, whoever counts it: {budget}");
        world.convoke(&["run", "w.yaml"]).exits(4);
        assert_eq!(model.asked().len(), paid, "and it is counted once");
    }
}

#[test]
fn a_run_that_is_stopping_makes_no_further_call() {
    let model = service(0);
    let world = many(&model, "", "");
    world.write("convoke.toml", "[limits.models.openai]\nrequests_per_minute = 2\n");
    let process = world.start(&["run", "w.yaml"]);
    let run = || world.runs().first().cloned().unwrap_or_default();
    let waits = || world.convoke(&["events", &run()]).stdout.contains("waits for requests:openai");
    until("calls wait for the minute to pass", || model.asked().len() == 2 && waits());
    world.convoke(&["stop", &run()]).exits(0);
    process.wait().exits(130).mentions(&["convoke resume"]);
    assert_eq!(model.asked().len(), 2, "who waited was not asked");
    world.write("convoke.toml", "");
    world.convoke(&["resume", &run()]).exits(0);
    assert_eq!(model.asked().len(), 200, "nothing was asked twice, and nothing forgotten");
}

#[test]
fn the_command_line_chooses_the_model_of_every_agent() {
    let replies = json!({"cheap": "done"});
    let model = Model::start(replies.as_object().expect("an object"));
    let world = World::with_workflow(&format!(
        "workflow:
  name: w
  entry_point: a
  runtime: {{provider: {{name: openai, base_url: '{url}', api_key: none}}, default_model: dear}}
agents:
  - {{name: a, prompt: hi, routes: [{{to: b}}]}}
  - {{name: b, models: [dearer, dearest], prompt: hi, success_criteria: {{criteria: it is done, model: dear}}}}
",
        url = model.url()
    ));
    world.convoke(&["run", "w.yaml", "-m", "cheap"]);
    let asked = model.asked();
    assert!(asked.len() > 2 && asked.iter().all(|asked| asked.model == "cheap"), "{asked:?}");
}

/// A service that counts a token for each byte, as for dense text, and one that counts far more. Both want 10 dollars for a million
/// of them.
fn counting(tokens: Value) -> (Model, World) {
    let reply = json!({"dear": {"say": "done", "tokens": tokens, "delay_ms": 20}});
    let model = Model::start(reply.as_object().expect("an object"));
    let dense = "7f3a9c1e".repeat(250);
    let world = many(&model, "LIMITS", "GROUP");
    let text = world.read("w.yaml").replace("prompt: 'p ", &format!("prompt: '{dense} "));
    let text =
        text.replace("input_per_mtok: 0, output_per_mtok: 200", "input_per_mtok: 10, output_per_mtok: 10");
    world.write("w.yaml", text);
    (model, world)
}

#[test]
fn no_budget_is_passed_by_a_service_that_counts_every_byte() {
    let places = [
        ("budget_usd: 0.1, budget_mode: enforce, when_spent: stop", "", ""),
        ("budget_tokens: 10000, budget_mode: enforce, when_spent: stop", "", ""),
        ("", ", budget: {usd: 0.1}", ""),
        ("", "", "[budgets.run]\nusd = 0.1\n"),
        ("", "", "[budgets.day]\nusd = 0.1\n"),
        ("", "", "[budgets.tenants.blue]\ntokens = 10000\n"),
    ];
    for (limits, group, settings) in places {
        let (model, world) = counting(json!("bytes"));
        let text = world.read("w.yaml").replace("LIMITS", limits).replace("GROUP", group);
        world.write("w.yaml", text.replace("  cost:", "  labels: {tenant: blue}\n  cost:"));
        world.write("convoke.toml", settings);
        let said = world.convoke(&["run", "w.yaml"]);
        assert_ne!(said.code, Some(0), "{said}");
        let spent: u64 = model.asked().iter().map(|asked| asked.text.len() as u64 + 5).sum();
        // The text of a request has the role of its only message before it, and a line's end behind.
        let spent = spent - model.asked().len() as u64 * "user: \n".len() as u64;
        assert!(spent <= 10_000, "{spent} of 10000 tokens: {limits}{group}{settings}");
        assert!(spent > 6_000, "most of it was of use: {spent} tokens, {limits}{group}{settings}");
    }
}

#[test]
fn what_a_service_counts_beyond_a_request_is_told_and_ends_the_run() {
    for (limits, settings) in [
        ("budget_usd: 0.1, budget_mode: enforce, when_spent: stop", ""),
        ("", "[budgets.run]\nusd = 0.1\n"),
        ("", "[budgets.day]\nusd = 0.1\n"),
    ] {
        let (model, world) = counting(json!(30_000));
        let text = world.read("w.yaml").replace("LIMITS", limits).replace("GROUP", "");
        world.write("w.yaml", text);
        world.write("convoke.toml", settings);
        let said = world.convoke(&["run", "w.yaml"]).exits(4);
        // The calls that were under way when the first one was settled could not be called back.
        assert!(model.asked().len() <= 5, "{} calls", model.asked().len());
        match settings.is_empty() {
            true => said.mentions(&["of its budget of $0.1000"]),
            false => said.mentions(&[" passed by $"]),
        };
    }
}

/// One step that asks a model of a service, in a group; each part may say more.
fn one_step(model: &Model, limits: &str, group: &str, step: &str) -> World {
    World::with_workflow(&format!(
        "workflow:
  name: one
  entry_point: both
  runtime: {{provider: {{name: openai, base_url: '{url}', api_key: none}}, default_model: dear}}
  limits: {{{limits}}}
agents:
  - {{name: a, prompt: p{step}}}
  - {{name: b, type: set, value: '1'}}
parallel:
  - {{name: both, agents: [a, b]{group}, routes: [{{to: $end}}]}}
",
        url = model.url()
    ))
}

const PRICED: &str = "[pricing.dear]\ninput_per_mtok = 1\noutput_per_mtok = 1\n";

#[test]
fn wherever_a_dollar_budget_stands_a_model_without_a_price_is_refused_before_anything_is_sent() {
    let places = [
        ("budget_usd: 5, budget_mode: enforce", "", "", ""),
        ("", ", budget: {usd: 5}", "", ""),
        ("", "", ", budget: {usd: 5}", ""),
        ("", "", "", "[budgets.run]\nusd = 5\n"),
        ("", "", "", "[budgets.day]\nusd = 5\n"),
        ("", "", ", labels: {tenant: blue}", "[budgets.tenants.blue]\nusd = 5\n"),
    ];
    for (limits, group, step, settings) in places {
        let model = service(0);
        let world = one_step(&model, limits, group, step);
        world.write("convoke.toml", settings);
        let said = world.convoke(&["run", "w.yaml"]).exits(3);
        said.mentions(&["cannot be kept", "`dear`", "[pricing.\"dear\"]", "input_per_mtok"]);
        assert!(world.runs().is_empty() && model.asked().is_empty(), "{limits}{group}{step}{settings}");
        world.write("convoke.toml", format!("{settings}{PRICED}"));
        world.convoke(&["run", "w.yaml"]).exits(0);
    }
}

/// Files in which a model without a price is asked after one with, and the tenant's label stands somewhere around the step.
fn labelled(model: &Model) -> Vec<(&'static str, World)> {
    let blue = ", labels: {tenant: blue}";
    let file = |labels: &str, next: &str, rest: &str| {
        format!(
            "workflow:
  name: f
  entry_point: w
  runtime: {{provider: {{name: openai, base_url: '{url}', api_key: none}}, default_model: cheap}}
{labels}agents:
  - {{name: w, prompt: hi, routes: [{{to: {next}}}]}}
{rest}
",
            url = model.url()
        )
    };
    let asks = "  - {name: x, prompt: hi, model: other}";
    let both = format!("{asks}\n  - {{name: y, type: set, value: '1'}}");
    let of_file = "  labels: {tenant: blue}\n";
    let group = |labels: &str| format!("{both}\nparallel: [{{name: all, agents: [x, y]{labels}}}]");
    let each = |labels: &str, own: &str| {
        format!(
            "for_each: [{{name: all, type: for_each, items: [1], as: i{labels}, agent: {{name: x, prompt: hi, model: other{own}}}}}]"
        )
    };
    let calls =
        |file: &str, labels: &str| format!("  - {{name: x, type: workflow, workflow: {file}{labels}}}");
    let world = |text: String| {
        let world = World::with_workflow(&text);
        world.write("called.yaml", file("", "x", asks));
        world.write("blue.yaml", file(of_file, "x", asks));
        world
    };
    vec![
        ("workflow", world(file(of_file, "x", asks))),
        ("group", world(file("", "all", &group(blue)))),
        ("for_each", world(file("", "all", &each(blue, "")))),
        ("item", world(file("", "all", &each("", blue)))),
        ("calling step", world(file("", "x", &calls("called.yaml", blue)))),
        ("sub-workflow", world(file("", "x", &calls("blue.yaml", "")))),
    ]
}

#[test]
fn a_tenants_budget_needs_prices_wherever_its_label_stands() {
    let model = service(0);
    for (place, world) in labelled(&model) {
        world.write(
            "convoke.toml",
            "[budgets.tenants.blue]\nusd = 5\n[pricing.cheap]\ninput_per_mtok = 1\noutput_per_mtok = 1\n",
        );
        let said = world.convoke(&["run", "w.yaml"]).exits(3);
        said.mentions(&["`other`", "cannot be kept", "nothing was spent"]);
        assert!(world.runs().is_empty() && model.asked().is_empty(), "label of the {place}");
        // What is nearer goes over it: then another tenant pays.
        let other = world.read("w.yaml").replace("labels: {tenant: blue}", "labels: {tenant: green}");
        world.write("w.yaml", other);
        world.write("blue.yaml", world.read("called.yaml"));
        world.convoke(&["run", "w.yaml", "--dry-run"]).exits(0);
    }
}

#[test]
fn a_goals_dollar_budget_needs_a_price_when_it_starts_and_when_it_goes_on() {
    let model = service(0);
    let settings = format!(
        "[provider]\nname = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\nmodel = \"dear\"\n[goal]\nretry.max_attempts = 1\n",
        model.url()
    );
    let world = World::new();
    world.write("convoke.toml", &settings);
    let key = ["`--budget` cannot be kept", "[pricing.\"dear\"]"];
    world.convoke(&["goal", "count", "--budget", "5"]).exits(3).mentions(&key);
    assert!(world.runs().is_empty() && model.asked().is_empty());
    // Without a budget it begins, and what the model says is no plan.
    world.convoke(&["goal", "count"]).exits(1);
    let asked = model.asked().len();
    assert!(asked > 0);
    world.convoke(&["resume", &world.run(), "--budget", "5"]).exits(3).mentions(&key);
    assert_eq!(model.asked().len(), asked);
    world.write("convoke.toml", format!("{settings}{PRICED}"));
    world.convoke(&["resume", &world.run(), "--budget", "5"]).exits(1);
    assert!(model.asked().len() > asked, "now it is asked");
}

#[test]
fn a_model_whose_name_is_rendered_is_not_asked_without_a_price() {
    let model = service(0);
    let world =
        one_step(&model, "budget_usd: 5, budget_mode: enforce", "", ", model: '{{ \"de\" ~ \"ar\" }}'");
    world.convoke(&["run", "w.yaml"]).exits(1).mentions(&["cannot be kept", "[pricing.\"dear\"]"]);
    assert!(model.asked().is_empty());
    world.write("convoke.toml", PRICED);
    world.convoke(&["run", "w.yaml"]).exits(0);
}

#[test]
fn a_cost_that_nobody_knows_is_unknown_wherever_it_is_told() {
    let model = service(0);
    let world = one_step(&model, "budget_usd: 5", "", "");
    world.convoke(&["run", "w.yaml", "--dry-run"]).exits(0).mentions(&["unknown cost"]);
    let said = world.convoke(&["run", "w.yaml"]).exits(0).mentions(&["cost unknown", "no price is known"]);
    assert!(!said.stderr.contains("$0"), "{said}");
    let text = world.convoke(&["show", &world.run()]).exits(0);
    assert!(text.stdout.contains("cost unknown") && text.stdout.contains("the run: unknown of $5"), "{text}");
    let shown = world.convoke(&["show", &world.run(), "--format", "json"]).exits(0).json();
    let task = shown["tasks"].as_array().and_then(|all| all.iter().find(|task| task["task"] == "both/a"));
    assert_eq!(
        (&shown["usage"]["cost_usd"], &task.expect("it ran")["usage"]["cost_usd"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(shown["usage"]["unpriced_calls"], 1);
    let metrics = world.convoke(&["metrics"]).exits(0).stdout;
    assert!(metrics.contains("convoke_unpriced_calls_total{workflow=\"one\"} 1"), "{metrics}");
    assert!(!metrics.contains("convoke_cost_dollars_total{"), "{metrics}");
    let unpriced = world.run();
    world.write("convoke.toml", PRICED);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let differences = world.convoke(&["diff", &unpriced, &world.runs()[0]]);
    let cost = differences.stdout.lines().find(|line| line.trim_start().starts_with("cost "));
    let words: Vec<_> = cost.unwrap_or_default().split_whitespace().collect();
    assert_eq!(words[..2], ["cost", "unknown"], "{differences}");
    let metrics = world.convoke(&["metrics"]).exits(0).stdout;
    assert!(
        metrics.contains("convoke_cost_dollars_total{workflow=\"one\"} 0."),
        "what is known of it: {metrics}"
    );
    let shown = world.convoke(&["show", &world.runs()[0], "--format", "json"]).exits(0).json();
    assert!(shown["usage"]["cost_usd"].is_number(), "{}", shown["usage"]);
}

#[test]
fn a_local_provider_costs_nothing_and_a_list_holds_at_its_own_address() {
    let model = service(0);
    let world = one_step(&model, "budget_usd: 5, budget_mode: enforce", "", "");
    let remote = world.read("w.yaml");
    world.write("w.yaml", remote.replace("name: openai", "name: vllm"));
    world.convoke(&["run", "w.yaml"]).exits(0);
    let shown = world.convoke(&["show", &world.run(), "--format", "json"]).exits(0).json();
    assert_eq!(shown["usage"]["cost_usd"], 0.0);
    let listed = remote.replace("default_model: dear", "default_model: gpt-4o");
    world.write("w.yaml", &listed);
    world
        .convoke(&["check", "w.yaml"])
        .exits(3)
        .mentions(&["prices of `openai` hold at its own address only"]);
    world.write("w.yaml", listed.replace(&format!("base_url: '{}', ", model.url()), ""));
    world.convoke(&["check", "w.yaml"]).exits(0);
}

#[test]
fn a_price_list_can_be_shown_stated_replaced_and_forgotten() {
    let world = World::with_workflow(
        "workflow:
  name: w
  entry_point: a
  runtime: {provider: {name: openai, api_key: none}, default_model: house-9}
  limits: {budget_usd: 5, budget_mode: enforce}
agents: [{name: a, prompt: p}]
",
    );
    world.convoke(&["check", "w.yaml"]).exits(3);
    let shown = world.convoke(&["prices", "gpt-4o-mini"]).exits(0);
    assert!(shown.stdout.contains("openai/gpt-4o-mini ") && shown.stdout.contains("built in, 20"), "{shown}");
    world.convoke(&["prices", "set", "openai/house-9", "input=2"]).exits(2).mentions(&["output"]);
    world.convoke(&["prices", "set", "openai/house-9", "input=2", "output=8"]).exits(0);
    world.convoke(&["check", "w.yaml"]).exits(0);
    let list = world.convoke(&["prices", "--format", "tsv"]).exits(0).stdout;
    world.convoke(&["prices", "forget"]).exits(0);
    world.convoke(&["check", "w.yaml"]).exits(3);
    world.write("list.tsv", list);
    world.convoke(&["prices", "update", "list.tsv"]).exits(0);
    world.convoke(&["check", "w.yaml"]).exits(0);
    world.write("list.tsv", "provider,model\n");
    world.convoke(&["prices", "update", "list.tsv"]).exits(3).mentions(&["line 1"]);
    world.convoke(&["check", "w.yaml"]).exits(0);
}

#[test]
fn no_request_goes_out_without_a_model() {
    let model = service(0);
    let world = one_step(&model, "", "", "");
    world.write("w.yaml", world.read("w.yaml").replace(", default_model: dear", ""));
    for command in ["check", "run"] {
        let said = world.convoke(&[command, "w.yaml"]).exits(3);
        said.mentions(&["workflow::no_model", "step `a` names no model", "w.yaml:7"]);
    }
    for command in ["check", "plan"] {
        world.convoke(&[command, "w.yaml", "-m", "dear"]).exits(0);
        world.convoke(&[command, "w.yaml", "-p", "scripted"]).exits(0);
    }
    // A name that comes out empty is known only when the step runs.
    let named = world.read("w.yaml").replace("prompt: p", "prompt: p, model: '{{ \"\" }}'");
    world.write("w.yaml", named);
    world.convoke(&["run", "w.yaml"]).exits(1).mentions(&["which model to ask"]);
    assert!(model.asked().is_empty(), "{:?}", model.asked());
    let url = model.url();
    world.write("convoke.toml", format!("[providers.house]\nname = \"openai\"\nbase_url = \"{url}\"\napi_key = \"none\"\nmodel = \"dear\"\n"));
    world.write(
        "w.yaml",
        "workflow: {name: w, entry_point: a, runtime: {provider: house}}\nagents: [{name: a, prompt: p}]\n",
    );
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(model.asked().iter().map(|asked| asked.model.as_str()).collect::<Vec<_>>(), ["dear"]);
}
