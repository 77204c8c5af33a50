//! What those rely on who keep a server: its numbers, its receivers, its tokens and addresses, and what it says of what is broken.

use crate::serving::Served;
use crate::support::World;
use crate::support::goals::{scripted, two_tasks};
use crate::support::process::until;
use crate::support::receiver::Receiver;
use rusqlite::Connection;
use serde_json::{Value, json};

const SMALL: &str =
    "workflow: {name: small, entry_point: a}\nagents:\n  - {name: a, type: set, value: '1'}\n";

const GATED: &str = "\
workflow: {name: gated, entry_point: ask}
agents:
  - {name: ask, type: human_gate, prompt: go on?, options: [{label: Yes, value: 'yes', route: $end}]}
";

fn plain(served: &Served, path: &str) -> crate::serving::Answered {
    served.send("GET", path, &served.honest(), "")
}

#[test]
fn prometheus_reads_the_numbers_of_all_runs_with_a_token() {
    let world = World::with_workflow(SMALL);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let served = Served::over(&world);
    let page = plain(&served, "/metrics").is(200);
    assert!(page.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"), "{page:?}");
    assert!(
        page.body.contains("convoke_runs_total{workflow=\"small\",status=\"succeeded\"} 1\n"),
        "{page:?}"
    );
    // It is the page that the command prints.
    let names = |text: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&page.body), names(&world.convoke(&["metrics"]).exits(0).stdout));
    served.send("GET", "/metrics", &served.honest()[..1], "").is(401);
    // What cannot be counted is said, and is no empty page.
    let table = world.state().join("capacity.table");
    let _ = std::fs::remove_file(&table);
    std::fs::remove_dir_all(world.state().join("runs")).unwrap();
    std::fs::write(world.state().join("runs"), "no folder").unwrap();
    assert_eq!(plain(&served, "/metrics").is(503).code(), "state");
}

#[test]
fn what_could_not_be_delivered_is_delivered_by_a_server() {
    use crate::support::receiver::Fate;
    let receiver = Receiver::start();
    receiver.usually(Fate::Status(503));
    let world = World::with_workflow(SMALL);
    world.write("convoke.toml", format!("[telemetry]\nendpoint = '{}'\n", receiver.url()));
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert!(receiver.spans().is_empty());
    receiver.usually(Fate::Taken);
    let _served = Served::over(&world);
    until("the trace has come", || receiver.spans().iter().any(|(_, name)| name == "invoke_workflow small"));
}

#[test]
fn a_place_in_a_list_may_be_any_number() {
    let world = World::with_workflow(SMALL);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let (run, served) = (world.run(), Served::over(&world));
    let most = u64::MAX;
    let listed = served.get(&format!("/runs?cursor={most}")).is(200).json();
    assert_eq!((&listed["runs"], &listed["next"]), (&json!([]), &Value::Null));
    let tasks = served.get(&format!("/runs/{run}/tasks?cursor={most}&limit=5")).is(200).json();
    assert_eq!((&tasks["tasks"], &tasks["next"]), (&json!([]), &Value::Null));
    for path in
        ["events?from={}", "tasks?at={}", "timeline?at={}", "story?at={}", "task?task=a&at={}", "?at={}"]
    {
        served
            .get(&format!("/runs/{run}/{}", path.replace("{}", &most.to_string())).replace("/?", "?"))
            .is(200);
    }
}

#[test]
fn what_today_has_cost_does_not_depend_on_what_is_looked_for() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, model: m, prompt: hello}\n",
    );
    world.write("convoke.toml", "[pricing.m]\ninput_per_mtok = 1000\noutput_per_mtok = 1000\n");
    world.convoke(&["run", "w.yaml", "-p", "scripted"]).exits(0);
    let served = Served::over(&world);
    let cost = |query: &str| served.get(&format!("/runs{query}")).is(200).json()["totals"].clone();
    assert!(cost("")["cost_micros_today"].as_u64().unwrap() > 0, "{}", cost(""));
    assert_eq!(cost("?q=nothing")["cost_micros_today"], cost("")["cost_micros_today"]);
    assert_eq!(cost("?q=nothing")["by_status"], json!({}), "only what was found is counted");
}

#[test]
fn a_stream_ends_when_its_token_is_revoked() {
    let world = World::with_workflow(GATED);
    let token = world.convoke(&["serve", "token", "add", "eyes"]).exits(0).stdout.trim().to_owned();
    let mut served = Served::over(&world);
    served.token = token;
    let mut stream = served.listen("runs,inbox", None);
    stream.until(|told| told.event == "snapshot" && told.data["topic"] == "inbox");
    world.convoke(&["serve", "token", "revoke", "eyes"]).exits(0);
    until("the token is refused", || served.get("/session").status == 401);
    let said = stream.rest();
    assert!(said.iter().all(|told| told.event == "ping"), "{said:?}");
}

#[test]
fn a_goal_that_is_spent_goes_on_from_the_page() {
    let world = scripted(&two_tasks(), "");
    world.write("w.yaml", SMALL);
    world.convoke(&["goal", "count", "--budget", "900t"]).exits(4);
    let run = world.run();
    let served = Served::over(&world);
    assert_eq!(served.get(&format!("/runs/{run}")).json()["file"], "goal:");
    served.post(&format!("/runs/{run}/resume"), json!({"budget": 5.0})).is(202);
    until("the goal is reached", || served.get(&format!("/runs/{run}")).json()["status"] == "succeeded");
    // A run of a file has its budget there.
    let refused = served.post("/runs", json!({"file": "w.yaml", "options": {"budget": 5.0}})).is(422);
    assert!(refused.body.contains("limits.budget_usd"), "{refused:?}");
}

#[test]
fn a_journal_that_cannot_be_read_is_said_wherever_it_is_shown() {
    let world = World::with_workflow(SMALL);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let run = world.run();
    let connection = Connection::open(world.state().join("runs").join(&run).join("journal.db")).unwrap();
    connection.execute("UPDATE records SET hash = zeroblob(32)", []).unwrap();
    drop(connection);
    let served = Served::over(&world);
    let head = served.get(&format!("/runs/{run}")).is(200).json();
    assert_eq!((&head["workflow"], &head["cost_micros"]), (&json!("small"), &Value::Null), "{head}");
    assert!(head["problem"].is_string(), "{head}");
    for part in ["tasks", "graph", "timeline", "events"] {
        let shown = served.get(&format!("/runs/{run}/{part}")).is(200).json();
        assert_eq!(shown["problem"], head["problem"], "{part}: {shown}");
    }
    let listed = served.get("/runs").is(200).json();
    assert_eq!(listed["runs"][0]["problem"], head["problem"], "it is known by now: {listed}");
}

#[test]
fn a_link_is_not_written_into_a_log() {
    let world = World::with_workflow(SMALL);
    let said = world.convoke(&["run", "w.yaml", "--web", "--log-format", "json"]).exits(0);
    assert!(said.stderr.contains("is shown at http://") && said.stderr.contains("token add"), "{said}");
    assert!(!said.stderr.contains("cvk_") && !said.stdout.contains("cvk_"), "{said}");
}

/// An address of this machine that other machines could call; none where it has no network.
fn own_address() -> Option<String> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("203.0.113.1:9").ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then(|| ip.to_string())
}

/// With a certificate the server is reached from everywhere, and a step of a run that calls it by an address of the machine decides nothing.
#[test]
#[expect(clippy::print_stderr, reason = "a test that did not run must be seen")]
fn a_step_does_not_act_over_another_address_of_the_machine() {
    let world = World::with_workflow(GATED);
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=box.example", "-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(world.work())
        .output();
    let (Some(own), true) = (own_address(), made.is_ok_and(|made| made.status.success())) else {
        return eprintln!("skipped: no network, or no openssl");
    };
    let process = world.start(&[
        "serve",
        "--addr",
        "0.0.0.0:0",
        "--tls-cert",
        "cert.pem",
        "--tls-key",
        "key.pem",
        "--name",
        &own,
    ]);
    let link = process.await_line();
    let (address, token) = link.strip_prefix("https://").unwrap().split_once("/#token=").unwrap();
    let (host, port) = address.rsplit_once(':').expect("the link names the port");
    assert_eq!(host, own);
    let call = |method: &str, path: &str, body: &str| {
        format!(
            "exec curl -sk -o /dev/null -w '%{{http_code}}' -X {method} -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' \
             --data '{body}' https://{own}:{port}/api/v1{path}"
        )
    };
    world.write("look.sh", call("GET", "/runs", "").replace("--data ''", ""));
    world.write("act.sh", call("POST", "/check", "{\"file\":\"w.yaml\"}"));
    // A person's own shell may.
    let mine = |file: &str| {
        let said = std::process::Command::new("bash").arg(file).current_dir(world.work()).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    assert_eq!((mine("look.sh").as_str(), mine("act.sh").as_str()), ("200", "200"));
    world.write(
        "inside.yaml",
        "\
workflow: {name: inside, entry_point: all}
parallel:
  - {name: all, agents: [look, act]}
agents:
  - {name: look, type: script, command: bash, args: [look.sh]}
  - {name: act, type: script, command: bash, args: [act.sh]}
output: {look: '{{ all.outputs.look.stdout }}', act: '{{ all.outputs.act.stdout }}'}
",
    );
    let said = world.convoke(&["run", "inside.yaml"]).exits(0).json();
    let text = |step: &str| said[step].to_string().trim_matches('"').to_owned();
    assert_eq!((text("look").as_str(), text("act").as_str()), ("200", "403"), "{said}");
}
