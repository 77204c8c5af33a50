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

/// A request whose body never comes, or is far too large, is answered and let go of.
#[test]
fn a_body_that_is_slow_or_endless_is_refused() {
    use std::io::{Read, Write};
    let world = World::with_workflow(SMALL);
    let served = Served::over(&world);
    let begin = |length: usize, beginning: &str| {
        let mut stream = served.connect();
        let mut text = "POST /api/v1/runs HTTP/1.1\r\n".to_owned();
        served.honest().iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{text}Content-Length: {length}\r\n\r\n{beginning}").as_bytes()).unwrap();
        stream
    };
    let answer = |mut stream: std::net::TcpStream| {
        let (mut bytes, mut some) = (Vec::new(), [0; 4096]);
        while !bytes.contains(&b'}') {
            match stream.read(&mut some) {
                Ok(count) if count > 0 => bytes.extend_from_slice(&some[..count]),
                _ => break,
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let slow = begin(20, "{\"file\":");
    let huge = answer(begin(100 << 20, "{"));
    assert!(huge.starts_with("HTTP/1.1 413") && huge.contains("too_large"), "{huge}");
    // Others are served meanwhile.
    served.get("/runs").is(200);
    let slow = answer(slow);
    assert!(slow.starts_with("HTTP/1.1 408"), "{slow}");
    assert!(world.runs().is_empty());
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that did not run must be seen")]
fn connections_of_one_address_have_a_bound() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    use std::io::{Read, Write};
    const MOST: usize = 2_048;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < 5_000) {
        return eprintln!("skipped: this machine allows too few descriptors");
    }
    limit.current = Some(5_000);
    setrlimit(Resource::Nofile, limit).unwrap();
    let world = World::with_workflow(SMALL);
    let served = Served::over(&world);
    // A connection that says nothing is closed after a while: a machine that is busy opens them again.
    let mut all: Vec<std::net::TcpStream> = loop {
        let begin = std::time::Instant::now();
        let all = (0..MOST + 20).map(|_| served.connect()).collect();
        if begin.elapsed() < std::time::Duration::from_secs(8) {
            break all;
        }
    };
    // Those that found no place are closed without an answer; the first ones are served.
    let mut last = all.pop().unwrap();
    let mut nothing = Vec::new();
    last.write_all(b"GET / HTTP/1.1\r\n\r\n").ok();
    last.read_to_end(&mut nothing).ok();
    assert!(nothing.is_empty(), "{}", String::from_utf8_lossy(&nothing));
    let host = &served.address;
    all[0]
        .write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut said = String::new();
    all[0].read_to_string(&mut said).ok();
    assert!(said.starts_with("HTTP/1.1 200"), "{said:.60}");
    // A place that is free again is taken again.
    drop(all);
    until("there is room", || served.get("/runs").status == 200);
}

#[test]
fn a_state_folder_that_is_not_readable_is_said() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let world = World::with_workflow(SMALL);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let served = Served::over(&world);
    let runs = world.state().join("runs");
    // A server that loses it says so, and goes on when it is back.
    std::fs::rename(&runs, world.work().join("away")).unwrap();
    std::fs::write(&runs, "no folder").unwrap();
    assert_eq!(served.get("/runs").is(503).code(), "state");
    assert_eq!(served.get("/inbox").is(503).code(), "state");
    served.get("/session").is(200);
    std::fs::remove_file(&runs).unwrap();
    std::fs::rename(world.work().join("away"), &runs).unwrap();
    served.get("/runs").is(200);
    drop(served);
    // A server that is begun by somebody who may not read it does not begin.
    let closed = world.state().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    let mut command = world.command(&["serve", "--state-dir", closed.to_str().unwrap(), "--folder", "/tmp"]);
    if rustix::process::geteuid().is_root() {
        // Nothing is closed to root.
        command.current_dir("/").uid(65_534).gid(65_534);
    }
    let said = world.said_by(command);
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    said.exits(74).mentions(&["closed"]);
}

/// The HTTP cases of the corpus of attacks, each with the tests that try it: docs/reference/http-api.md has the same table.
#[test]
#[expect(clippy::print_stderr, reason = "a test that did not run must be seen")]
fn every_attack_of_the_corpus_is_tried_by_a_test_that_is_named() {
    let page = include_str!("../../../docs/reference/http-api.md");
    let rows: Vec<(&str, &str)> = page
        .lines()
        .filter(|line| line.starts_with("| SUR-"))
        .map(|line| line.trim_matches(['|', ' ']).split_once(" | ").unwrap())
        .collect();
    let sources = [
        include_str!("serve.rs"),
        include_str!("serve_operation.rs"),
        include_str!("serve_pages.rs"),
        include_str!("../../server/src/access/tokens.rs"),
        include_str!("../../../ui/src/show/markdown.test.ts"),
        include_str!("../../../ui/dev/end-to-end.mjs"),
    ]
    .concat();
    for (id, row) in &rows {
        let tests: Vec<&str> = row.rsplit(" | ").next().unwrap().split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "{id} names no test");
        for test in tests {
            assert!(sources.contains(test), "{id}: there is no test `{test}`");
        }
    }
    let shared = std::env::var("CONVOKE_SHARED").unwrap_or_else(|_| "../../../shared".to_owned());
    let Ok(corpus) = std::fs::read_to_string(format!("{shared}/corpus/surface-attacks.json")) else {
        return eprintln!("skipped: the corpus is not here");
    };
    let corpus: Vec<Value> = serde_json::from_str(&corpus).unwrap();
    let http = corpus.iter().filter(|case| case["kind"] == "http").map(|case| case["id"].as_str().unwrap());
    assert_eq!(rows.iter().map(|(id, _)| *id).collect::<Vec<_>>(), http.collect::<Vec<_>>());
}

#[test]
fn a_server_is_set_up_by_the_configuration_and_options_stand_over_it() {
    let world = World::with_workflow(SMALL);
    std::fs::create_dir(world.work().join("flows")).unwrap();
    world.write("flows/inner.yaml", SMALL);
    world.write(
        "convoke.toml",
        "[serve]\naddr = '127.0.0.1:0'\nfolders = ['flows']\nnames = ['box.example']\n",
    );
    let files = |served: &Served| {
        let all = served.get("/workflows").is(200).json();
        let all = all["workflows"].as_array().unwrap().clone();
        all.into_iter().map(|file| file["file"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let process = world.start(&["serve"]);
    let link = process.await_line();
    let (port, token) = link.strip_prefix("http://box.example:").unwrap().split_once("/#token=").unwrap();
    let served = Served { address: format!("127.0.0.1:{port}"), token: token.to_owned(), process };
    assert_eq!(files(&served), ["inner.yaml"]);
    let process = world.start(&["serve", "--folder", ".", "--name", "localhost"]);
    let link = process.await_line();
    let (address, token) = link.strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
    let served =
        Served { address: address.replace("localhost", "127.0.0.1"), token: token.to_owned(), process };
    assert_eq!(files(&served), ["flows/inner.yaml", "w.yaml"]);
    world.write("convoke.toml", "[serve]\naddr = 'here'\n");
    world.convoke(&["serve"]).exits(2).mentions(&["`serve.addr` is no address", "HOST:PORT"]);
}
