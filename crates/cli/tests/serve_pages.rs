//! What the pages show of a run: what led to a question and what follows, what an agent does, why something waits, what is to come.

use crate::serving::{Served, slow_service};
use crate::support::World;
use crate::support::process::until;
use serde_json::{Value, json};

const GATED: &str = "\
workflow: {name: gated, entry_point: first}
agents:
  - {name: first, type: script, command: echo, args: [one], routes: [{to: ask}]}
  - name: ask
    type: human_gate
    prompt: shall the walrus go on?
    options:
      - {label: Yes, value: 'yes', route: last}
      - {label: Again, value: again, route: first}
      - {label: No, value: 'no', route: $end}
  - {name: last, type: set, value: '1'}
";

fn detached(world: &World, file: &str) -> String {
    world.convoke(&["run", "--detach", file]).exits(0).stdout.trim().to_owned()
}

fn only_question(served: &Served) -> Value {
    until("a question waits", || served.get("/inbox").is(200).json()["questions"][0].is_object());
    served.get("/inbox").json()["questions"][0].clone()
}

#[test]
fn a_question_says_what_led_to_it_and_what_each_answer_leads_to() {
    let world = World::with_workflow(GATED);
    let run = detached(&world, "w.yaml");
    let served = Served::over(&world);
    let question = only_question(&served);
    assert_eq!(question["last_steps"], json!(["first is done"]));
    assert_eq!(question["by_agent"], false);
    let then: Vec<_> = question["options"].as_array().unwrap().iter().map(|option| &option["then"]).collect();
    assert_eq!(then, ["last comes next", "back to first", "the run goes to its end"]);
    let detail = served.get(&format!("/runs/{run}/task?task=ask")).is(200).json();
    for field in ["options", "last_steps", "by_agent", "group_key"] {
        assert_eq!(detail["question"][field], question[field], "the page of the task says the same: {field}");
    }
    // The story ends with what is open, as long as something is.
    let told = |served: &Served| -> Vec<String> {
        let story = served.get(&format!("/runs/{run}/story")).is(200).json();
        let sentences = story["sentences"].as_array().unwrap().iter();
        sentences.map(|sentence| sentence["text"].as_str().unwrap().to_owned()).collect()
    };
    assert!(
        told(&served).last().unwrap().starts_with("Open: 1 question for a person"),
        "{:?}",
        told(&served)
    );
    // What is asked is found.
    let found = served.get(&format!("/runs/{run}/search?q=walrus")).is(200).json();
    assert_eq!((&found["hits"][0]["where"], &found["hits"][0]["task"]), (&json!("question"), &json!("ask")));
    // What will come has a row in the timeline, and has not begun.
    let rows = served.get(&format!("/runs/{run}/timeline")).is(200).json()["rows"].clone();
    let at = rows["task"].as_array().unwrap().iter().position(|task| task == "last").expect("it is there");
    assert_eq!((&rows["started"][at], &rows["state"][at]), (&json!(0), &json!("waiting")), "{rows}");
    let body = json!({"question": question["id"], "shown": question["shown"], "answer": "yes"});
    served.post(&format!("/runs/{run}/answer"), body).is(200);
    until("it ends", || served.get(&format!("/runs/{run}")).json()["status"] == "succeeded");
    assert!(told(&served).last().unwrap().starts_with("The run has succeeded"), "{:?}", told(&served));
}

#[test]
fn what_an_agent_writes_is_seen_in_its_row_and_is_a_sign_of_life() {
    let (url, go) = slow_service();
    let world = World::with_workflow(&format!(
        "workflow: {{name: w, entry_point: a, runtime: {{provider: {{name: openai, base_url: '{url}'}}}}}}\nagents:\n  - {{name: a, model: m, prompt: tell of the walrus}}\n"
    ))
    .env("OPENAI_API_KEY", "sk-test");
    let run = detached(&world, "w.yaml");
    let served = Served::over(&world);
    let mut stream = served.listen(&format!("run:{run}"), None);
    let is_doing = |row: &Value| row["doing"] == "writes Once upon a time";
    let told = stream
        .until(|told| told.event == "tasks" && told.data["rows"].as_array().unwrap().iter().any(is_doing));
    let row = told.last().unwrap().data["rows"][0].clone();
    assert!(row["last_sign"].as_u64() > row["since"].as_u64(), "{row}");
    let rows = served.get(&format!("/runs/{run}/tasks")).is(200).json();
    assert!(is_doing(&rows["tasks"][0]), "{rows}");
    assert!(is_doing(&served.get(&format!("/runs/{run}/task?task=a")).is(200).json()));
    go.send(()).unwrap();
    until("it ends", || served.get(&format!("/runs/{run}")).json()["status"] == "succeeded");
    assert_eq!(served.get(&format!("/runs/{run}/tasks")).json()["tasks"][0]["doing"], Value::Null);
    // The prompt was rendered, and is in no event: it is found all the same.
    let found = served.get(&format!("/runs/{run}/search?q=the+WALRUS")).is(200).json();
    assert_eq!(
        (&found["hits"][0]["where"], &found["hits"][0]["task"]),
        (&json!("prompt"), &json!("a")),
        "{found}"
    );
}

#[test]
fn a_task_that_waits_says_for_what_and_who_holds_it() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: hold}\nagents:\n  - {name: hold, type: script, command: sh, args: [-c, 'until test -f go; do sleep 0.05; done']}\n",
    )
    .env("CONVOKE_MACHINE_CONCURRENCY", "1");
    let first = detached(&world, "w.yaml");
    let served = Served::over(&world);
    until("the first holds it", || {
        served.get(&format!("/runs/{first}/tasks?state=running")).json()["total"] == 1
    });
    let second = detached(&world, "w.yaml");
    let detail = || served.get(&format!("/runs/{second}/task?task=hold")).is(200).json();
    until("the second waits", || detail()["waits_for"][0]["holders"][0].is_object());
    let waits = detail()["waits_for"].clone();
    assert_eq!(waits.as_array().unwrap().len(), 1, "{waits}");
    assert!(waits[0]["text"].as_str().unwrap().contains("1 of 1 in use, 1 waiting"), "{waits}");
    let holder = &waits[0]["holders"][0];
    assert_eq!((&holder["run"], &holder["task"]), (&json!(first), &json!("hold")), "{waits}");
    assert_eq!(waits[0]["until"], Value::Null, "nothing like it has ended yet: it is not known");
    let timeline = served.get(&format!("/runs/{second}/timeline")).json();
    assert_eq!(timeline["rows"]["task"][0], "hold", "{timeline}");
    world.write("go", "");
    for run in [first, second] {
        until("it ends", || served.get(&format!("/runs/{run}")).json()["status"] == "succeeded");
    }
}

#[test]
fn money_is_shown_and_changed_as_money() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a, runtime: {provider: scripted}}\nagents:\n  - {name: a, model: m, prompt: hello}\n",
    );
    world.write(
        "convoke.toml",
        "[budgets.day]\nusd = 5\n[pricing.m]\ninput_per_mtok = 1\noutput_per_mtok = 1\n",
    );
    world.convoke(&["run", "w.yaml"]).exits(0);
    let served = Served::over(&world);
    let limit = || {
        let all = served.get("/capacity").is(200).json();
        let all = all["limits"].as_array().unwrap().clone();
        all.into_iter().find(|limit| limit["name"] == "budget of the day (money)").expect("it is there")
    };
    assert_eq!((&limit()["unit"], &limit()["limit"]), (&json!("usd_micros"), &json!(5_000_000)));
    let changed = served.send(
        "PUT",
        "/api/v1/capacity/budget%20of%20the%20day%20(money)",
        &served.honest(),
        &json!({"value": 6_000_000}).to_string(),
    );
    let changed = changed.is(200).json();
    assert_eq!((&changed["before"], &changed["value"]), (&json!(5_000_000), &json!(6_000_000)));
    assert_eq!(limit()["limit"], 6_000_000);
    assert!(served.get("/capacity").json()["limits"][0]["unit"].is_string());
}

/// A slider goes forth and back; what it shows of a moment does not depend on where it was before.
#[test]
fn a_moment_looks_the_same_from_wherever_one_comes() {
    let world = World::with_workflow(GATED);
    world.convoke(&["run", "w.yaml", "--skip-gates"]).exits(0);
    let run = world.run();
    let served = Served::over(&world);
    let last = served.get(&format!("/runs/{run}")).is(200).json()["position"].as_u64().unwrap();
    let look = |at: u64| {
        let parts = ["", "/tasks", "/timeline", "/task"];
        parts.map(|part| {
            let more = if part == "/task" { "&task=first" } else { "" };
            served.get(&format!("/runs/{run}{part}?at={at}{more}")).body
        })
    };
    let forth: Vec<_> = (1..last).map(look).collect();
    let back: Vec<_> = (1..last).rev().map(look).collect();
    assert!(forth.iter().eq(back.iter().rev()));
    assert!(forth.windows(2).all(|pair| pair[0] != pair[1]), "each event changes something");
}
