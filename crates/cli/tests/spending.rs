//! What was spent stays spent: through kills, resumes, changed files and new tables. The judge is a service that wants its money
//! for every request it gets, answered or not.

mod support;

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

/// Asks the service once for each of 200 items, five at once.
fn many(model: &Model, limits: &str, group: &str) -> World {
    World::with_workflow(&format!(
        "workflow:
  name: spender
  entry_point: items
  runtime: {{provider: {{name: openai, base_url: '{url}', api_key: none}}, default_model: dear, max_tokens: 5}}
  limits: {{{limits}}}
  cost: {{pricing: {{dear: {{input_per_mtok: 0, output_per_mtok: 200}}}}}}
agents:
  - {{name: items, type: set, values: {{list: '{{{{ range(200) | list | tojson }}}}'}}, routes: [{{to: all}}]}}
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
    for budget in ["[budgets.day]\nusd = 0.0055\n", "[budgets.tenants.blue]\ntokens = 80\n"] {
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
